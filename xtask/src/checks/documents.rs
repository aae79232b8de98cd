//! The links of Markdown documents, and the table of engines in README.md.

use super::vocabulary::engine_names;
use crate::Violation;
use crate::tree::{File, Tree};
use std::collections::BTreeSet;
use std::path::Path;

/// Refuses relative links in Markdown files whose target file does not exist.
pub fn links(tree: &Tree) -> Vec<Violation> {
    let documents = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    documents.flat_map(|file| check_links(file, |target| tree.root.join(target).exists())).collect()
}

/// Refuses engines without a row in the table of README.md.
pub fn engines_in_readme(tree: &Tree) -> Vec<Violation> {
    let readme = tree.file("README.md").map_or("", |file| &file.text);
    let engines = engine_names(tree);
    if engines.is_empty() {
        return vec![Violation::new(
            "crates/protocols",
            1,
            "no `EngineInfo { name: \"…\"` found: the rules on engines see none",
        )];
    }
    missing_rows(readme, &engines)
}

fn check_links(file: &File, exists: impl Fn(&Path) -> bool) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut in_code = false;
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    for (line, text) in file.lines() {
        in_code ^= text.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or("");
            let is_elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            if !is_elsewhere && !exists(&folder.join(target)) {
                violations.push(Violation::new(&file.path, line, format!("the link to {target:?} leads nowhere")));
            }
        }
    }
    violations
}

fn missing_rows(readme: &str, engines: &BTreeSet<String>) -> Vec<Violation> {
    let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with('|')).collect();
    let missing = engines.iter().filter(|name| !rows.iter().any(|row| row.starts_with(&format!("| `{name}` |"))));
    missing
        .map(|name| {
            Violation::new("README.md", 1, format!("the table of engines has no row that begins with | `{name}` |"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_caught() {
        let cases: &[(&str, usize)] = &[
            ("see [here](here.md), [there](https://example.org/x), [part](#part), [its part](here.md#part)\n", 0),
            ("see [nowhere](nowhere.md)\n", 1),
            ("two: [a](a.md) [b](b.md)\n", 2),
            ("```\n[code](code.md)\n```\n[a](a.md)\n", 1),
        ];
        for (text, expected) in cases {
            let found = check_links(&File::new("docs/x.md", text), |target| target == Path::new("docs/here.md"));
            assert_eq!(found.len(), *expected, "{text}");
        }
    }

    #[test]
    fn an_engine_without_its_row_is_caught() {
        let engines = BTreeSet::from(["serial".to_owned(), "2pl-x".to_owned()]);
        assert_eq!(missing_rows("| `serial` | one |\n| `2pl-x` | two |\n", &engines), []);
        assert_eq!(missing_rows("`2pl-x` in prose\n| `serial` | one |\n", &engines).len(), 1);
    }
}
