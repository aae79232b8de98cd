//! The lengths of files and functions. A file holds one noun and a function does one thing, so their lengths may only
//! fall.
//!
//! `xtask/ratchet.toml` lists the files and functions that are longer than the limits today. An entry that allows more
//! than the code needs is refused, so a file or function that was shortened cannot grow again.

use crate::Violation;
use crate::tokens::{Kind, Token, close_of};
use crate::tree::{File, Tree};
use std::collections::BTreeMap;

/// The greatest number of lines in a Rust file.
pub const FILE_LINES: usize = 700;
/// The greatest number of lines in a function, its signature included.
pub const FUNCTION_LINES: usize = 100;

const RATCHET: &str = "xtask/ratchet.toml";

/// The files and functions that may exceed the limits: `path` or `path::function`, each with its allowed length in
/// lines.
type Allowances = BTreeMap<String, usize>;

/// Refuses files and functions that are longer than the limit or, if `xtask/ratchet.toml` has an entry for them, than
/// the entry allows. Also refuses entries that allow more lines than are needed.
pub fn lengths(tree: &Tree) -> Vec<Violation> {
    let ratchet = tree.file(RATCHET).map_or("", |file| &file.text);
    match ratchet.parse::<toml::Table>() {
        Ok(table) => {
            let entries = table.into_iter().filter_map(|(name, value)| Some((name, value.as_integer()?)));
            let entries = entries.map(|(name, lines)| (name, usize::try_from(lines).unwrap_or(0)));
            check(&measure(tree.rust()), &entries.collect())
        }
        Err(error) => vec![Violation::new(RATCHET, 1, format!("not a table of lengths: {error}"))],
    }
}

/// A file or a function with its length, in lines.
struct Measured {
    name: String,
    path: String,
    line: usize,
    lines: usize,
    limit: usize,
}

fn measure<'a>(files: impl Iterator<Item = &'a File>) -> Vec<Measured> {
    let mut measured = Vec::new();
    for file in files {
        let path = file.path.clone();
        let lines = file.text.lines().count();
        measured.push(Measured { name: path.clone(), path: path.clone(), line: 1, lines, limit: FILE_LINES });
        for (function, line, lines) in functions(&file.tokens()) {
            let name = format!("{path}::{function}");
            measured.push(Measured { name, path: path.clone(), line, lines, limit: FUNCTION_LINES });
        }
    }
    measured
}

/// Returns the name, the first line and the length, in lines, of each function that has a body.
fn functions(tokens: &[Token]) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is("fn")) {
        let Some(name) = tokens.get(at + 1).filter(|name| name.kind == Kind::Word) else { continue };
        let mut body = at + 2;
        while body < tokens.len() && !tokens[body].is("{") && !tokens[body].is(";") && tokens[body].kind != Kind::Close
        {
            body = if tokens[body].kind == Kind::Open { close_of(tokens, body) + 1 } else { body + 1 };
        }
        if tokens.get(body).is_some_and(|token| token.is("{"))
            && let Some(close) = tokens.get(close_of(tokens, body))
        {
            found.push((name.text.clone(), token.line, close.line + 1 - token.line));
        }
    }
    found
}

fn check(measured: &[Measured], allowances: &Allowances) -> Vec<Violation> {
    let mut violations = Vec::new();
    for item in measured {
        let allowed = allowances.get(&item.name).copied().unwrap_or(item.limit);
        if item.lines > allowed {
            let message = format!(
                "{} has {} lines, {allowed} are allowed: which noun in it wants a place of its own?",
                item.name, item.lines
            );
            violations.push(Violation::new(&item.path, item.line, message));
        }
    }
    for (name, &allowed) in allowances {
        let longest = measured.iter().filter(|item| item.name == *name).map(|item| item.lines).max().unwrap_or(0);
        let limit = measured.iter().find(|item| item.name == *name).map_or(0, |item| item.limit);
        if longest <= limit {
            violations.push(Violation::new(
                RATCHET,
                1,
                format!("{name:?} is within the limit now: take its entry out"),
            ));
        } else if longest < allowed {
            violations.push(Violation::new(
                RATCHET,
                1,
                format!("{name:?} has {longest} lines now: lower its entry from {allowed}"),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(lines: usize, allowances: &[(&str, usize)]) -> String {
        let body = "    f();\n".repeat(lines - 3);
        let file = File::new("a.rs", &format!("//! Doc.\nfn long<T: A<[u8; 2]>>(f: fn(T)) {{\n{body}}}\n"));
        let allowances = allowances.iter().map(|&(name, lines)| (name.to_owned(), lines)).collect();
        let found = check(&measure([&file].into_iter()), &allowances);
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn long_files_and_functions_are_caught() {
        assert_eq!(messages(101, &[]), "");
        assert!(messages(102, &[]).contains("a.rs:2: a.rs::long has 101 lines"));
        assert!(messages(701, &[("a.rs::long", 700)]).contains("a.rs:1: a.rs has 701 lines"));
    }

    #[test]
    fn the_ratchet_only_tightens() {
        assert_eq!(messages(151, &[("a.rs::long", 150)]), "");
        assert!(messages(152, &[("a.rs::long", 150)]).contains("150 are allowed"));
        assert!(messages(150, &[("a.rs::long", 150)]).contains("lower its entry"));
        assert!(messages(50, &[("a.rs::long", 150)]).contains("take its entry out"));
        assert!(messages(50, &[("gone.rs", 900)]).contains("take its entry out"));
    }

    #[test]
    fn functions_are_found_with_their_lengths() {
        let source =
            "trait T { fn none(&self); fn default(&self) -> [u8; 2] {\n [1, 2]\n } }\nfn f(g: fn(u8)) where A: B {}\n";
        let tokens = crate::tokens::tokenize(source).unwrap();
        assert_eq!(functions(&tokens), [("default".to_owned(), 1, 3), ("f".to_owned(), 4, 1)]);
    }
}
