//! The rules of `STYLE.md` and `ARCHITECTURE.md` that a program can check, one file for each group of rules.

pub mod attributes;
pub mod circles;
pub mod crate_edges;
pub mod documents;
pub mod facade;
pub mod layers;
pub mod lengths;
pub mod prose;
pub mod sizes;
pub mod text;
pub mod unsafe_code;
pub mod vocabulary;

use crate::tree::File;

/// Whether the line, or one of the `above` lines before it, has a comment that `is_reason` accepts.
fn has_comment_near(file: &File, line: usize, above: usize, is_reason: impl Fn(&str) -> bool) -> bool {
    let first = line.saturating_sub(above).max(1);
    file.lines()
        .skip(first - 1)
        .take(line + 1 - first)
        .filter_map(|(_, text)| text.find("//").map(|at| &text[at..]))
        .any(is_reason)
}
