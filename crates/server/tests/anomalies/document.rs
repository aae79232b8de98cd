//! The tables of `docs/anomalies.md`: what the levels promise, and what was seen.
//!
//! They are made from the scripts and from what the plays came to. The test fails when the page says otherwise;
//! `HOTROW_WRITE_DOCS=1` writes it anew.

use crate::script::{POSTGRES_LEVELS, Script, Scripts};
use hotrow_sql::isolation;
use hotrow_txn::Isolation;
use std::fmt::Write;
use std::path::Path;

/// The lines before and after the tables.
const MARKS: [&str; 2] =
    ["<!-- made by the anomaly scripts: begin -->\n", "<!-- made by the anomaly scripts: end -->\n"];

/// For each script and level, whether the anomaly was seen.
pub type Seen = Vec<Vec<bool>>;

/// Checks the page against the scripts and the anomalies that the engines showed.
///
/// # Panics
/// If the page differs from them.
pub fn check(scripts: &Scripts, engines: Vec<(&str, Seen)>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/anomalies.md");
    let page = std::fs::read_to_string(&path).expect("docs/anomalies.md is there");
    let tables = tables(scripts, &families(engines));
    let made = replace(&page, &tables).expect("docs/anomalies.md has both marks");
    if std::env::var_os("HOTROW_WRITE_DOCS").is_some() {
        std::fs::write(&path, made).expect("docs/anomalies.md can be written");
        return;
    }
    assert!(
        page == made,
        "docs/anomalies.md is out of date: run this test with HOTROW_WRITE_DOCS=1, or put there\n{tables}"
    );
}

/// The page with other tables.
fn replace(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some([before, MARKS[0], tables, MARKS[1], after].concat())
}

/// Engines that showed the same.
struct Family<'e> {
    names: Vec<&'e str>,
    seen: Seen,
}

fn families(engines: Vec<(&str, Seen)>) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for (name, seen) in engines {
        match families.iter_mut().find(|family| family.seen == seen) {
            Some(family) => family.names.push(name),
            None => families.push(Family { names: vec![name], seen }),
        }
    }
    families
}

fn tables(scripts: &Scripts, families: &[Family<'_>]) -> String {
    let mut out = String::from("\n## What the levels promise\n\n");
    let levels = Isolation::ALL.map(Isolation::name).join(" | ");
    let _ = writeln!(out, "| anomaly | {levels} |\n| --- | --- | --- | --- | --- |");
    for script in &scripts.scripts {
        let _ = writeln!(
            out,
            "| {} | {} |",
            script.name,
            cells(Isolation::ALL, |_, level| script.possible.contains(&level))
        );
    }
    out += "\n## What was seen\n";
    for family in families {
        let names: Vec<_> = family.names.iter().map(|name| format!("`{name}`")).collect();
        let seen = scripts.scripts.iter().zip(&family.seen).filter(|(_, row)| row.contains(&true));
        let seen: Vec<_> = seen.map(|(script, row)| row_of(script, Isolation::ALL, |at, _| row[at])).collect();
        section(&mut out, &format!("Under {}", names.join(", ")), &Isolation::ALL.map(Isolation::name), &seen);
    }
    let differing = scripts.scripts.iter().filter(|script| !script.postgres().is_empty());
    let rows: Vec<_> = differing
        .map(|script| row_of(script, POSTGRES_LEVELS, |_, level| script.postgres().contains(&level)))
        .collect();
    section(&mut out, "Under PostgreSQL 15", &POSTGRES_LEVELS.map(isolation::name), &rows);
    out.push('\n');
    out
}

fn section(out: &mut String, title: &str, levels: &[&str], rows: &[String]) {
    let _ = writeln!(out, "\n### {title}\n");
    if rows.is_empty() {
        let _ = writeln!(out, "Nothing, whatever level was asked for.");
        return;
    }
    let _ = writeln!(out, "| anomaly | {} |\n|{}", levels.join(" | "), " --- |".repeat(levels.len() + 1));
    let _ = writeln!(out, "{}", rows.join("\n"));
}

fn row_of<const N: usize>(script: &Script, levels: [Isolation; N], seen: impl Fn(usize, Isolation) -> bool) -> String {
    format!("| {} | {} |", script.name, cells(levels, seen))
}

fn cells<const N: usize>(levels: [Isolation; N], possible: impl Fn(usize, Isolation) -> bool) -> String {
    let word = |(at, level)| if possible(at, level) { "possible" } else { "no" };
    levels.into_iter().enumerate().map(word).collect::<Vec<_>>().join(" | ")
}
