//! The names that code may use: `storage` names no protocol, a protocol names no other protocol, and only the registry
//! compares the names of engines.

use crate::Violation;
use crate::tokens::{Kind, Token, paths};
use crate::tree::{File, Tree};
use std::collections::BTreeSet;

const PROTOCOLS: &str = "crates/protocols/src/";

/// Folders below [`PROTOCOLS`] that belong to no protocol.
const SHARED_FOLDERS: [&str; 1] = ["shared"];

/// Words of protocols and papers, in lower case, that storage may not contain.
const PROTOCOL_WORDS: [&str; 13] = [
    "2pl",
    "two_phase",
    "waitdie",
    "wait_die",
    "dreadlocks",
    "vll",
    "orthrus",
    "hstore",
    "partition_store",
    "ilock",
    "hekaton",
    "mvcc",
    "sli",
];

/// Names of engines that are everyday words and have other meanings in SQL.
const EVERYDAY_NAMES: [&str; 3] = ["none", "serial", "bare"];
/// Crates in which an engine's everyday name can only mean the engine.
const CRATES_THAT_TAKE_ENGINES: [&str; 5] = ["runtime", "server", "workloads", "bench", "hotrow"];

/// Refuses names of protocols and papers in crate `storage`, in code and in comments, because storage must suit every
/// protocol.
pub fn storage_names_no_protocol(tree: &Tree) -> Vec<Violation> {
    tree.rust().filter(|file| file.path.starts_with("crates/storage/src/")).flat_map(check_storage).collect()
}

/// Refuses uses of one protocol's modules by another protocol. Code that both need belongs in `shared`.
pub fn protocols_are_strangers(tree: &Tree) -> Vec<Violation> {
    let folders = protocol_folders(tree);
    tree.rust().flat_map(|file| check_stranger(file, &folders)).collect()
}

/// Refuses code that compares a text with the name of an engine, outside of the registry of engines and of tests.
pub fn engines_are_not_matched(tree: &Tree) -> Vec<Violation> {
    let names = engine_names(tree);
    let files = tree.rust().filter(|file| !file.is_test_target() && !file.path.starts_with("xtask/"));
    files.flat_map(|file| check_engine_match(file, &names)).collect()
}

/// Returns the names of all engines, as found in the `EngineInfo` literals in the sources of the protocols.
pub fn engine_names(tree: &Tree) -> BTreeSet<String> {
    let sources = tree.rust().filter(|file| file.path.starts_with(PROTOCOLS));
    sources.flat_map(|file| names_in(&file.tokens())).collect()
}

/// Returns the value of `name: "…"` in each `EngineInfo { … }`.
fn names_in(tokens: &[Token]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let begins = token.is("EngineInfo") && tokens.get(at + 1).is_some_and(|next| next.is("{"));
        let Some([name, colon, value]) = tokens.get(at + 2..at + 5).filter(|_| begins) else { continue };
        if name.is("name") && colon.is(":") && value.kind == Kind::Literal {
            names.push(value.text.trim_matches('"').to_owned());
        }
    }
    names
}

fn check_storage(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (line, text) in file.lines() {
        let text = text.to_ascii_lowercase();
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| PROTOCOL_WORDS.contains(word)) {
            let message = format!("storage names no protocol, but here is {word:?}: say what it does for any of them");
            violations.push(Violation::new(&file.path, line, message));
        }
    }
    violations
}

fn protocol_folders(tree: &Tree) -> BTreeSet<String> {
    let inside = tree.rust().filter_map(|file| file.path.strip_prefix(PROTOCOLS)?.split_once('/'));
    inside.map(|(folder, _)| folder.to_owned()).filter(|folder| !SHARED_FOLDERS.contains(&folder.as_str())).collect()
}

fn check_stranger(file: &File, folders: &BTreeSet<String>) -> Vec<Violation> {
    let Some((home, _)) = file.path.strip_prefix(PROTOCOLS).and_then(|path| path.split_once('/')) else {
        return Vec::new();
    };
    let is_other = |word: &String| folders.contains(word) && word != home;
    let own = paths(&file.tokens()).into_iter().filter(|path| ["crate", "super"].contains(&path.segments[0].as_str()));
    own.filter_map(|path| {
        let other = path.segments.iter().find(|word| is_other(word))?;
        let message = format!("{home} names {other}: what two protocols need belongs to shared/");
        Some(Violation::new(&file.path, path.line, message))
    })
    .collect()
}

fn check_engine_match(file: &File, names: &BTreeSet<String>) -> Vec<Violation> {
    let may_be_everyday = !file.crate_folder().is_some_and(|folder| CRATES_THAT_TAKE_ENGINES.contains(&folder));
    if file.path.starts_with(PROTOCOLS) && !file.path[PROTOCOLS.len()..].contains('/') {
        return Vec::new();
    }
    let tokens = outside_tests(file.tokens());
    let is_engine = |token: &Token| {
        let name = token.text.trim_matches('"');
        let quoted = token.kind == Kind::Literal && token.text.starts_with('"');
        quoted && names.contains(name) && !(may_be_everyday && EVERYDAY_NAMES.contains(&name))
    };
    let compares =
        |token: Option<&Token>| token.is_some_and(|token| ["=>", "|", "==", "!="].iter().any(|op| token.is(op)));
    let found = tokens.iter().enumerate().filter(|(at, token)| {
        is_engine(token)
            && (compares(tokens.get(at + 1)) || at.checked_sub(1).is_some_and(|before| compares(tokens.get(before))))
    });
    found
        .map(|(_, token)| {
            let message =
                format!("{} is compared here: an engine's name becomes a type in the registry only", token.text);
            Violation::new(&file.path, token.line, message)
        })
        .collect()
}

/// Returns the tokens up to the module of unit tests, which stands last in a file.
fn outside_tests(mut tokens: Vec<Token>) -> Vec<Token> {
    let starts = tokens.windows(5).position(|five| {
        let words: Vec<&str> = five.iter().map(|token| token.text.as_str()).collect();
        words == ["cfg", "(", "test", ")", "]"]
    });
    tokens.truncate(starts.unwrap_or(tokens.len()));
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn lines(violations: &[Violation]) -> Vec<usize> {
        violations.iter().map(|violation| violation.line).collect()
    }

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Tree { root: PathBuf::new(), files }
    }

    #[test]
    fn protocol_words_in_storage_are_caught() {
        let cases: &[(&str, &[usize])] = &[
            ("//! Rows.\n// serializable, locked, slice\n", &[]),
            ("//! Rows.\n// as VLL does\n", &[2]),
            ("use crate::two_phase::X;\n", &[1]),
            ("//! A page of SLI.\n", &[1]),
        ];
        for (text, expected) in cases {
            assert_eq!(lines(&check_storage(&File::new("crates/storage/src/a.rs", text))), *expected, "{text}");
        }
    }

    #[test]
    fn a_protocol_that_names_another_is_caught() {
        let check = |path: &str, text: &str| {
            let tree = tree(&[
                (path, text),
                ("crates/protocols/src/vll/mod.rs", ""),
                ("crates/protocols/src/serial/mod.rs", ""),
            ]);
            lines(&protocols_are_strangers(&tree))
        };
        assert_eq!(check("crates/protocols/src/vll/queue.rs", "use crate::shared::Table;\nuse super::record::R;"), []);
        assert_eq!(check("crates/protocols/src/vll/queue.rs", "\nuse crate::serial::Serial;"), [2]);
        assert_eq!(check("crates/protocols/src/vll/queue.rs", "use super::super::{shared, serial};"), [1]);
        assert_eq!(check("crates/protocols/src/shared/table.rs", "use crate::vll::X;"), [1]);
        assert_eq!(check("crates/protocols/src/registry.rs", "use crate::vll::X;"), []);
    }

    #[test]
    fn an_engine_name_that_is_compared_is_caught() {
        let info = "const INFO: EngineInfo = EngineInfo { name: \"2pl-x\", source: \"\" };\nconst B: EngineInfo = EngineInfo { name: \"none\" };";
        let check = |path: &str, text: &str| {
            lines(&engines_are_not_matched(&tree(&[("crates/protocols/src/x/mod.rs", info), (path, text)])))
        };
        assert_eq!(check("crates/bench/src/a.rs", "let engine = open(\"2pl-x\");"), []);
        assert_eq!(check("crates/bench/src/a.rs", "match name { \"2pl-x\" => 1, _ => 2 }"), [1]);
        assert_eq!(check("crates/bench/src/a.rs", "\nif name == \"none\" {}"), [2]);
        assert_eq!(check("crates/sql/src/a.rs", "if name == \"none\" {}"), []);
        assert_eq!(check("crates/bench/tests/a.rs", "if name == \"2pl-x\" {}"), []);
        assert_eq!(check("crates/bench/src/a.rs", "#[cfg(test)]\nmod tests { fn f() { name == \"2pl-x\" } }"), []);
        assert_eq!(check("crates/protocols/src/registry.rs", "match name { \"2pl-x\" => 1, _ => 2 }"), []);
    }
}
