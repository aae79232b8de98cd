//! Checks of the repository's sources, run as a test: `cargo test -p xtask` fails if a file breaks a rule of `STYLE.md`
//! or of `ARCHITECTURE.md`.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`tree`] | the files of the repository, read once |
//! | [`tokens`] | a Rust file as a flat list of tokens, and the paths in it |
//! | [`modules`] | which files of a crate use which others |
//! | [`checks`] | one file per family of rules; each rule is a function from files to [`Violation`]s |
//!
//! A rule never edits a file. Each has tests, in the same file, which show that it finds violations.

pub mod checks;
pub mod modules;
pub mod tokens;
pub mod tree;

use std::fmt;

/// A violation of a rule, at a line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file's path from the root of the repository.
    pub path: String,
    /// The number of the line, from one.
    pub line: usize,
    /// The message, which names the mistake and how to correct it.
    pub message: String,
}

impl Violation {
    /// Makes a violation at a line of a file.
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}
