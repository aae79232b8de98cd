//! The form of text files: their beginning and end, and the texts that none of them may contain. Every Rust file begins
//! with a module doc.

use crate::Violation;
use crate::tree::{File, Tree};

/// The texts that no file may contain, with the reason. They are joined from parts here, so that this file passes its
/// own check.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of somebody's machine"),
    (concat!("/ro", "ot/"), "a path of somebody's machine"),
    (concat!("/ho", "me/"), "a path of somebody's machine"),
    (concat!("to", "do!"), "a stub called done"),
    (concat!("unimple", "mented!"), "a stub called done"),
    (concat!("FIX", "ME"), "finish it, or open an issue"),
    (concat!("dbg", "!("), "a debugging aid left behind"),
];

/// The endings of files that may contain tabs: tabs have a meaning in them, or their formatter writes tabs.
const MAY_HAVE_TABS: [&str; 5] = [".slt", ".tsv", ".sql", ".go", "Makefile"];

/// Refuses text files with tabs, blanks at the end of a line, forbidden texts such as paths of a machine, or an end
/// other than a single newline.
pub fn text(tree: &Tree) -> Vec<Violation> {
    tree.files.iter().filter(|file| !file.path.ends_with(".svg") && file.path != "Cargo.lock").flat_map(check).collect()
}

/// Refuses Rust files that do not begin with a `//!` doc comment.
pub fn module_docs(tree: &Tree) -> Vec<Violation> {
    tree.rust().filter_map(check_module_doc).collect()
}

fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let tabs_allowed = MAY_HAVE_TABS.iter().any(|end| file.path.ends_with(end));
    for (line, text) in file.lines() {
        let mut refuse = |message: String| violations.push(Violation::new(&file.path, line, message));
        if text.contains('\t') && !tabs_allowed {
            refuse("a tab: indent with spaces".into());
        }
        if text.ends_with([' ', '\t', '\r']) && !tabs_allowed {
            refuse("a blank at the line's end".into());
        }
        for (word, why) in FORBIDDEN.iter().filter(|(word, _)| text.contains(word)) {
            refuse(format!("`{word}` is {why}"));
        }
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        let last = file.text.lines().count();
        violations.push(Violation::new(&file.path, last, "the file ends with exactly one newline"));
    }
    violations
}

fn check_module_doc(file: &File) -> Option<Violation> {
    let documented = file.text.strip_prefix("//! ").is_some_and(|rest| !rest.trim_start().is_empty());
    (!documented).then(|| Violation::new(&file.path, 1, "begins without a `//!` line that says what the file is about"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untidy_text_is_caught() {
        let cases: &[(&str, &str, &[usize])] = &[
            ("a.rs", "//! Fine.\n", &[]),
            ("a.rs", "one\n\ttwo\n", &[2]),
            ("a.rs", "one \ntwo\n", &[1]),
            ("a.rs", "one", &[1]),
            ("a.rs", "one\n\n", &[2]),
            ("a.slt", "a\tb\n", &[]),
            ("a.md", concat!("see /wo", "rk/x\n"), &[1]),
            ("a.rs", concat!("x\nto", "do!()\n"), &[2]),
        ];
        for (path, text, expected) in cases {
            let found = check(&File::new(path, text));
            assert_eq!(found.iter().map(|violation| violation.line).collect::<Vec<_>>(), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_without_its_doc_is_caught() {
        for (text, passes) in [("//! What it is.\n", true), ("//!\n", false), ("use a;\n", false), ("", false)] {
            assert_eq!(check_module_doc(&File::new("a.rs", text)).is_none(), passes, "{text:?}");
        }
    }
}
