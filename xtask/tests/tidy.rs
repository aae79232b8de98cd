//! The whole tree holds to every rule.

use xtask::Violation;
use xtask::checks::{
    attributes, circles, crate_edges, documents, facade, layers, lengths, prose, sizes, text, unsafe_code, vocabulary,
};
use xtask::tree::Tree;

fn check(rule: fn(&Tree) -> Vec<Violation>) {
    let mut violations = rule(&Tree::of_this_repository());
    violations.sort();
    let report: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(report.is_empty(), "{} violations:\n{}\n", report.len(), report.join("\n"));
}

macro_rules! rules {
    ($($name:ident = $rule:path;)*) => {
        $(#[test] fn $name() { check($rule); })*
    };
}

rules! {
    crates_depend_along_the_arrows = crate_edges::crate_edges;
    modules_use_each_other_along_the_layers = layers::layers;
    files_use_each_other_in_circles_that_have_a_reason = circles::circles;
    third_party_crates_are_explained = crate_edges::crates_are_explained;
    files_begin_with_what_they_are_about = text::module_docs;
    text_is_tidy = text::text;
    unsafe_stands_in_few_places_with_its_reason = unsafe_code::unsafe_code;
    threads_and_atomics_come_from_the_facade = facade::facade;
    unusual_orderings_have_their_reason = facade::reasons;
    lints_are_silenced_with_a_reason = attributes::attributes;
    storage_names_no_protocol = vocabulary::storage_names_no_protocol;
    protocols_do_not_know_each_other = vocabulary::protocols_are_strangers;
    engine_names_are_compared_in_the_registry_only = vocabulary::engines_are_not_matched;
    files_and_functions_are_short = lengths::lengths;
    types_and_traits_are_small = sizes::sizes;
    lines_of_prose_fit = prose::width;
    docs_have_a_subject = prose::fragments;
    tables_of_modules_are_whole = prose::module_tables;
    links_lead_somewhere = documents::links;
    every_engine_is_in_the_readme = documents::engines_in_readme;
}
