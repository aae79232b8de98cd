//! The attributes that silence lints, which need a reason, and those that switch tests off, which are refused.

use super::has_comment_near;
use crate::Violation;
use crate::tokens::close_of;
use crate::tree::{File, Tree};

/// Refuses `#[allow]` and `#[expect]` without a reason in the attribute or in a comment on its line or the line above,
/// and every `#[ignore]`.
pub fn attributes(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(check).collect()
}

fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let tokens = file.tokens();
    for at in 0..tokens.len() {
        let opens = tokens[at].is("[") && at > 0 && (tokens[at - 1].is("#") || tokens[at - 1].is("!"));
        let Some(name) = tokens.get(at + 1).filter(|_| opens) else { continue };
        let attribute = &tokens[at..close_of(&tokens, at).min(tokens.len())];
        if name.is("ignore") {
            violations.push(Violation::new(
                &file.path,
                name.line,
                "an ignored test tests nothing: run it or remove it",
            ));
        }
        let silences = attribute.iter().any(|token| token.is("allow") || token.is("expect"));
        let named = name.is("allow") || name.is("expect") || name.is("cfg_attr");
        let reasoned = attribute.iter().any(|token| token.is("reason"));
        if silences && named && !reasoned && !has_comment_near(file, name.line, 1, |_| true) {
            violations.push(Violation::new(&file.path, name.line, "a silenced lint needs its `reason = \"…\"`"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silenced_lints_and_ignored_tests_are_caught() {
        let cases: &[(&str, &[usize])] = &[
            ("#[expect(dead_code, reason = \"read by the debugger\")]\nfn f() {}", &[]),
            ("// The macro makes it.\n#[allow(dead_code)]\nfn f() {}", &[]),
            ("let expect = allow[ignore];", &[]),
            ("#[allow(dead_code)]\nfn f() {}", &[1]),
            ("#![allow(missing_docs)]", &[1]),
            ("\n\n#[cfg_attr(loom, allow(dead_code))]\nfn f() {}", &[3]),
            ("#[test]\n#[ignore]\nfn f() {}", &[2]),
        ];
        for (source, expected) in cases {
            let found = check(&File::new("crates/sql/src/a.rs", source));
            assert_eq!(found.iter().map(|violation| violation.line).collect::<Vec<_>>(), *expected, "{source}");
        }
    }
}
