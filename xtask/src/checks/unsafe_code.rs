//! The files that may contain `unsafe`, and the reason that each use must have.

use super::has_comment_near;
use crate::Violation;
use crate::tree::{File, Tree};

/// The number of lines above an `unsafe` within which its reason has to begin.
const SAFETY_LINES: usize = 8;
/// The number of lines above an `unsafe fn` within which its `# Safety` section has to begin.
const SAFETY_SECTION_LINES: usize = 30;

/// Refuses `unsafe` outside of crates `sync` and `storage` and the `record.rs` of a protocol. Also refuses unsafe
/// blocks and impls without a `SAFETY:` comment, and unsafe functions and traits without a `# Safety` section.
pub fn unsafe_code(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(check).collect()
}

/// Test files that cannot do without `unsafe`, each with its reason.
const TEST_EXCEPTIONS: &[(&str, &str)] =
    &[("crates/sql/tests/allocator/mod.rs", "it counts with an allocator of its own, and that trait is unsafe")];

fn may_be_unsafe(path: &str) -> bool {
    TEST_EXCEPTIONS.iter().any(|(excepted, _)| *excepted == path)
        || path.starts_with("crates/sync/")
        || path.starts_with("crates/storage/")
        || (path.starts_with("crates/protocols/src/") && path.ends_with("/record.rs"))
}

fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let tokens = file.tokens();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is("unsafe")) {
        let mut refuse = |message: &str| violations.push(Violation::new(&file.path, token.line, message));
        if !may_be_unsafe(&file.path) {
            refuse("unsafe code belongs to crates/sync, crates/storage and the record.rs of a protocol");
            continue;
        }
        let next = |text: &str| tokens.get(at + 1).is_some_and(|next| next.is(text));
        let is_declaration = (next("fn") && tokens.get(at + 2).is_some_and(|name| !name.is("("))) || next("trait");
        if is_declaration {
            let documented = has_comment_near(file, token.line, SAFETY_SECTION_LINES, |text| text.contains("# Safety"));
            let inherited = file.text.contains("unsafe impl");
            if !documented && !inherited {
                refuse("an unsafe function or trait says under `# Safety` what its caller owes");
            }
        } else if (next("{") || next("impl"))
            && !has_comment_near(file, token.line, SAFETY_LINES, |text| text.contains("SAFETY:"))
        {
            refuse("no `SAFETY:` comment near: say who holds what, since when");
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, source: &str) -> Vec<usize> {
        check(&File::new(path, source)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn reasoned_unsafe_in_its_places_passes() {
        let block = "// SAFETY: the latch is held.\nlet x = unsafe { *p };\n";
        for path in ["crates/sync/src/a.rs", "crates/storage/src/a.rs", "crates/protocols/src/vll/record.rs"] {
            assert_eq!(lines(path, block), [], "{path}");
        }
        assert_eq!(lines("crates/sync/src/a.rs", "/// # Safety\n/// `p` is valid.\nunsafe fn f() {}\n"), []);
        assert_eq!(lines("crates/sync/src/a.rs", "type F = unsafe fn(u8);\n"), []);
        assert_eq!(lines("crates/sql/src/a.rs", "// unsafe\nlet text = \"unsafe {\";\n"), []);
    }

    #[test]
    fn unsafe_out_of_place_or_without_reason_is_caught() {
        let block = "// SAFETY: the latch is held.\nlet x = unsafe { *p };\n";
        for path in ["crates/sql/src/a.rs", "crates/protocols/src/vll/queue.rs", "crates/hotrow/tests/a.rs"] {
            assert_eq!(lines(path, block), [2], "{path}");
        }
        assert_eq!(lines("crates/sync/src/a.rs", "\nlet x = unsafe { *p };\n"), [2]);
        assert_eq!(lines("crates/sync/src/a.rs", "unsafe impl Send for X {}\n"), [1]);
        assert_eq!(lines("crates/sync/src/a.rs", "unsafe fn f() {}\n"), [1]);
    }
}
