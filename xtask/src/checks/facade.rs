//! Threads, atomics and latches, which must come from `hotrow_sync` so that models can replace them, and the reasons
//! for unusual memory orderings.

use super::has_comment_near;
use crate::Violation;
use crate::tokens::{PathUse, paths};
use crate::tree::{File, Tree};

/// The names of `std::sync` that any code may use: shared ownership, which the models do not need to see.
const FREE_OF_THE_FACADE: [&str; 2] = ["Arc", "Weak"];

/// Test targets that may start threads and use `std::sync` themselves, each with its reason.
const TEST_EXCEPTIONS: &[(&str, &str)] =
    &[("crates/storage/tests/shuttle.rs", "its bookkeeping adds no places to switch at to the model")];

/// The files and folders of unit tests that are models of their module. These tests may name loom and shuttle.
const MODELS: [&str; 2] = ["/model.rs", "/model/"];

/// The number of lines above an ordering or a sleep in which its reason may stand.
const REASON_LINES: usize = 3;

/// Refuses code outside of crate `sync` that uses `std::thread`, or an item of `std::sync` other than `Arc` and `Weak`.
/// Also refuses uses of loom and shuttle outside of tests.
pub fn facade(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(check_facade).collect()
}

/// Refuses uses of `Relaxed` and `SeqCst`, and calls that sleep or park, without a comment on the same line or just
/// above it, which must give the reason.
pub fn reasons(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(check_reasons).collect()
}

fn check_facade(file: &File) -> Vec<Violation> {
    let excepted = TEST_EXCEPTIONS.iter().any(|(path, _)| *path == file.path);
    if file.path.starts_with("crates/sync/") || file.path.starts_with("xtask/") || excepted {
        return Vec::new();
    }
    let is_model = file.is_test_target() || MODELS.iter().any(|model| file.path.contains(model));
    let wrong = |path: &PathUse| {
        let is_std = ["std", "core"].contains(&path.segments[0].as_str());
        let sync = is_std && path.segments[1] == "sync";
        let free = path.segments.get(2).is_some_and(|name| FREE_OF_THE_FACADE.contains(&name.as_str()));
        let thread = is_std && path.segments[1] == "thread";
        let model = ["loom", "shuttle"].contains(&path.segments[0].as_str());
        (sync && !free) || thread || (model && !is_model)
    };
    let found = paths(&file.tokens()).into_iter().filter(wrong);
    found
        .map(|path| {
            let message = format!("{} goes around the facade: take it from hotrow_sync", path.segments.join("::"));
            Violation::new(&file.path, path.line, message)
        })
        .collect()
}

fn check_reasons(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let tokens = file.tokens();
    for (at, token) in tokens.iter().enumerate() {
        let calls = tokens.get(at + 1).is_some_and(|next| next.is("("));
        let what = match token.text.as_str() {
            "Relaxed" | "SeqCst" => format!("Ordering::{}", token.text),
            "sleep" | "park" | "park_timeout" if calls && !file.path.starts_with("crates/sync/") => {
                format!("{}(): waiting goes through Waiter; if it must be,", token.text)
            }
            _ => continue,
        };
        if !token.is(&token.text) || has_comment_near(file, token.line, REASON_LINES, |_| true) {
            continue;
        }
        let message = format!("{what} without its reason in a comment on the same line or just above");
        violations.push(Violation::new(&file.path, token.line, message));
    }
    violations.dedup();
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facade_lines(path: &str, source: &str) -> Vec<usize> {
        check_facade(&File::new(path, source)).iter().map(|violation| violation.line).collect()
    }

    fn reason_lines(source: &str) -> Vec<usize> {
        check_reasons(&File::new("crates/sql/src/a.rs", source)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn ways_around_the_facade_are_caught() {
        let cases: &[(&str, &[usize])] = &[
            ("use std::sync::Arc;", &[]),
            ("use std::sync::{Arc, Weak};", &[]),
            ("use std::{fmt, time};", &[]),
            ("use std::sync::{Arc,\n Mutex};", &[2]),
            ("use std::{fmt, sync::Arc, thread};", &[1]),
            ("use std::sync;", &[1]),
            ("\nuse core::sync::atomic::AtomicU64;", &[2]),
            ("fn f() {\n std::thread::spawn(g);\n}", &[2]),
            ("use std::sync::*;", &[1]),
            ("use loom::thread;", &[1]),
        ];
        for (source, expected) in cases {
            assert_eq!(facade_lines("crates/sql/src/a.rs", source), *expected, "{source}");
        }
        assert_eq!(facade_lines("crates/sync/src/facade.rs", "pub use std::thread;"), []);
        assert_eq!(facade_lines("crates/storage/tests/models.rs", "shuttle::check_random(f, 9);"), []);
        assert_eq!(facade_lines("crates/protocols/src/shared/table/model.rs", "shuttle::check_random(f, 9);"), []);
        assert_eq!(facade_lines("crates/protocols/src/shared/table/model.rs", "std::thread::spawn(f);"), [1]);
        assert_eq!(facade_lines("crates/protocols/src/hekaton/model/keys.rs", "shuttle::check_random(f, 9);"), []);
    }

    #[test]
    fn orderings_and_sleeps_need_a_reason() {
        let cases: &[(&str, &[usize])] = &[
            ("a.load(Ordering::Acquire);", &[]),
            ("a.load(Ordering::Relaxed); // a counter for people", &[]),
            ("// Only a counter.\n\na.load(Ordering::Relaxed);", &[]),
            ("\na.load(Ordering::Relaxed);", &[2]),
            ("// Too far.\n\n\n\na.swap(1, SeqCst);", &[5]),
            ("thread::sleep(wait);", &[1]),
            ("fn sleep_ms() {} let s = \"Relaxed\";", &[]),
        ];
        for (source, expected) in cases {
            assert_eq!(reason_lines(source), *expected, "{source}");
        }
    }
}
