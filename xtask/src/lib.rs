//! Tidiness of the repository, as a test: `cargo test -p xtask` fails where the tree breaks a rule of `STYLE.md` or an
//! arrow of `ARCHITECTURE.md`.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`tree`] | the files of the repository, read once |
//! | [`tokens`] | a Rust file as a flat list of tokens, and the paths in it |
//! | [`modules`] | which files of a crate use which others |
//! | [`checks`] | one file per family of rules; each rule is a function from files to [`Violation`]s |
//!
//! A rule never edits anything, and each rule has tests beside it that it catches what it is there for.

pub mod checks;
pub mod modules;
pub mod tokens;
pub mod tree;

use std::fmt;

/// A place where the tree breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, from the root of the repository.
    pub path: String,
    /// The line, from one.
    pub line: usize,
    /// The message: the mistake and its correction.
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
