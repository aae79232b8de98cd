//! The readability of comments and documents: the width of lines, the subjects of first sentences, and tables of
//! modules that name them all.

use crate::Violation;
use crate::tokens::{Kind, Token};
use crate::tree::{File, Tree};

/// The greatest number of columns in a line of a comment or a document.
pub const COLUMNS: usize = 120;

/// Pronouns with which a doc may not begin, because then it leans on the item's name, or on another doc.
const PRONOUNS: [&str; 25] = [
    "The same",
    "The other",
    "The one",
    "Another one",
    "All of them",
    "Each of them",
    "He",
    "It",
    "Its",
    "None",
    "Ones",
    "That",
    "These",
    "They",
    "Their",
    "Those",
    "What",
    "Whatever",
    "Which",
    "Whichever",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
    "This one",
];

/// Modules that a table of modules need not name.
const UNLISTED_MODULES: [&str; 2] = ["tests", "model"];

/// Refuses lines of comments and Markdown documents that have more than [`COLUMNS`] columns, except for tables, code,
/// headings and single words.
pub fn width(tree: &Tree) -> Vec<Violation> {
    tree.files.iter().flat_map(check_width).collect()
}

/// Refuses doc comments that begin with a pronoun, because they cannot be read without the name of the item.
pub fn fragments(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(check_fragments).collect()
}

/// Refuses module docs with a table of submodules that does not name all of them.
pub fn module_tables(tree: &Tree) -> Vec<Violation> {
    tree.rust().filter_map(check_module_table).collect()
}

fn check_width(file: &File) -> Vec<Violation> {
    let is_document = file.path.ends_with(".md");
    let mut in_code = false;
    let mut is_prose = |text: &str| match text.trim_start() {
        text if file.is_rust() => text.starts_with("//"),
        text => {
            in_code ^= text.starts_with("```");
            is_document && !in_code && !text.starts_with('|')
        }
    };
    let is_too_long = |text: &str| text.chars().count() > COLUMNS && can_be_broken(text);
    let lines: Vec<_> = file.lines().filter(|(_, text)| is_prose(text) && is_too_long(text)).collect();
    let refuse = |(line, text): (usize, &str)| {
        let message = format!("{} columns: {COLUMNS} are the limit for comments and documents", text.chars().count());
        Violation::new(&file.path, line, message)
    };
    lines.into_iter().map(refuse).collect()
}

/// Whether a line of prose can be broken into two. Headings, rows of tables and lines of one word, such as links,
/// cannot.
fn can_be_broken(text: &str) -> bool {
    let words = text.trim_start().trim_start_matches(['/', '!', '-', '>']).trim_start();
    !words.starts_with(['|', '#']) && words.contains(' ')
}

fn check_fragments(file: &File) -> Vec<Violation> {
    let refuse = |(line, text)| {
        let message = format!("the doc begins with {:?}: name what it is about", begins_with_pronoun(text)?);
        Some(Violation::new(&file.path, line, message))
    };
    first_lines(file).filter_map(refuse).collect()
}

/// Returns the first line of each doc comment, with its number.
fn first_lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let doc = |text: &'static str, line: &str| line.trim_start().starts_with(text);
    let mut before = "";
    file.lines().filter_map(move |(line, text)| {
        let above = std::mem::replace(&mut before, text);
        let kind = ["///", "//!"].into_iter().find(|kind| doc(kind, text) && !doc(kind, above))?;
        Some((line, text.trim_start().strip_prefix(kind)?.trim_start()))
    })
}

fn begins_with_pronoun(text: &str) -> Option<&'static str> {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '\'' || next == '-');
    PRONOUNS.into_iter().find(|pronoun| text.strip_prefix(pronoun).is_some_and(ends))
}

fn check_module_table(file: &File) -> Option<Violation> {
    let modules = declared_modules(&file.tokens());
    let rows = file.text.lines().filter_map(|line| line.strip_prefix("//! |")).filter(|row| row.contains('`'));
    let rows: Vec<Vec<&str>> = rows.map(|row| names_of_cell(row.split('|').next().unwrap_or("")).collect()).collect();
    let is_of_module = |names: &&Vec<&str>| names.iter().any(|name| modules.iter().any(|module| module == name));
    let of_modules = rows.iter().filter(is_of_module).count();
    // Other tables list nouns, of which some are modules.
    if of_modules < 2 || of_modules * 2 < rows.len() {
        return None;
    }
    let is_missing = |module: &&String| !rows.iter().flatten().any(|name| name == module);
    let unnamed: Vec<&str> = modules.iter().filter(is_missing).map(String::as_str).collect();
    (!unnamed.is_empty())
        .then(|| Violation::new(&file.path, 1, format!("the table of modules does not name {}", unnamed.join(", "))))
}

/// Returns the names in back quotes that the cell of a table has, without their leading path and without `.rs`.
fn names_of_cell(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(|name| name.rsplit("::").next().unwrap_or(name).trim_end_matches(".rs").trim_end_matches('/'))
}

/// Returns the modules that have files of their own and that a file declares, without those of tests.
fn declared_modules(tokens: &[Token]) -> Vec<String> {
    let declared = tokens.windows(3).filter(|three| three[0].is("mod") && three[2].is(";"));
    let names = declared.map(|three| &three[1]).filter(|name| name.kind == Kind::Word).map(|name| name.text.clone());
    names.filter(|name| !UNLISTED_MODULES.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_of_prose_are_caught() {
        let long = "a ".repeat(60) + "b";
        let link = format!("https://example.org/{}", "a".repeat(120));
        let cases: &[(&str, String, usize)] = &[
            ("a.rs", format!("// {long}\n"), 1),
            ("a.rs", format!("    /// {long}\n//! {long}\n"), 2),
            ("a.rs", format!("let a = \"{long}\";\n"), 0),
            ("a.rs", format!("//! | {long} |\n/// {link}\n"), 0),
            ("a.md", format!("{long}\n| {long} |\n```\n{long}\n```\n- {long}\n"), 2),
            ("a.toml", format!("# {long}\n"), 0),
        ];
        for (path, text, expected) in cases {
            assert_eq!(check_width(&File::new(path, text)).len(), *expected, "{path} {text}");
        }
    }

    #[test]
    fn docs_that_begin_with_a_pronoun_are_caught() {
        let cases: &[(&str, &[usize])] = &[
            ("/// Returns it.\n/// It goes on.\n/// Onerous.\n\n// What.\n/// One-shot.\n", &[]),
            (
                "//! Whole.\n\n/// Those of it.\n/// What goes on.\nfn f() {}\n    /// The same.\n    fn g() {}\n",
                &[3, 6],
            ),
            ("//! What it is.\n", &[1]),
            ("//! Whoever comes.\n/// None.\n/// Nonetheless.\n", &[1, 2]),
        ];
        for (text, expected) in cases {
            let found = check_fragments(&File::new("a.rs", text));
            assert_eq!(found.iter().map(|violation| violation.line).collect::<Vec<_>>(), *expected, "{text}");
        }
    }

    #[test]
    fn a_table_of_modules_that_lacks_one_is_caught() {
        let check = |table: &str, modules: &str| {
            check_module_table(&File::new("lib.rs", &format!("{table}\n\n{modules}\n"))).is_some()
        };
        let table = "//! | [`a`] | one |\n//! | [`b::B`](b), `c` | two |";
        let table = &table.replace("[`b::B`](b)", "[`b`]");
        assert!(!check(table, "mod a; pub mod b; mod c; #[cfg(test)] mod tests;"));
        assert!(check(table, "mod a; mod b; mod c; mod d;"));
        assert!(!check("//! | `a` | one |\n//! | `A` | two |\n//! | `B` | three |", "mod a; mod b;"));
        assert!(!check("//! | `a` | a table of something else |", "mod a; mod b;"));
        assert!(!check("//! No table.", "mod a; mod b;"));
    }
}
