//! The number of fields of a type and of methods of a trait. A type with many fields, or a trait with many methods, is
//! several things in one place: they are told apart by what changes them, and when.
//!
//! A type that has more for a reason says so above its declaration, in a comment of the form
//! `// More than 15 fields: …` or `// More than 15 methods: …`.

use crate::Violation;
use crate::tokens::{Kind, Token, close_of};
use crate::tree::{File, Tree};

/// The greatest number of fields in a struct, and of methods in a trait.
pub const MOST: usize = 15;

/// Refuses structs with more than [`MOST`] fields and traits with more than [`MOST`] methods, unless a comment gives
/// the reason (`// More than 15 fields: …`). Also refuses such a comment where it is not needed.
pub fn sizes(tree: &Tree) -> Vec<Violation> {
    tree.rust().flat_map(check).collect()
}

/// A struct or a trait with its number of fields or methods.
struct Declared<'t> {
    name: &'t str,
    line: usize,
    parts: usize,
    /// The word for the parts: fields or methods.
    what: &'static str,
}

fn check(file: &File) -> Vec<Violation> {
    let tokens = file.tokens();
    let judge = |declared: Declared<'_>| {
        let Declared { name, line, parts, what } = declared;
        let message = match (parts > MOST, has_reason(file, line, what)) {
            (true, false) => {
                format!(
                    "{name} has {parts} {what}, {MOST} are allowed: which of them change together, without the others?"
                )
            }
            (false, true) => format!("{name} has {parts} {what}: take out the reason why it has more than {MOST}"),
            _ => return None,
        };
        Some(Violation::new(&file.path, line, message))
    };
    declared(&tokens).into_iter().filter_map(judge).collect()
}

/// Whether the comments and attributes above a declaration have a reason for more parts than [`MOST`].
fn has_reason(file: &File, line: usize, what: &str) -> bool {
    let form = format!("// More than {MOST} {what}: ");
    let above: Vec<&str> = file.text.lines().take(line - 1).map(str::trim_start).collect();
    let above = above.into_iter().rev().take_while(|text| text.starts_with("//") || text.starts_with('#'));
    above.into_iter().any(|text| text.strip_prefix(&*form).is_some_and(|reason| !reason.trim().is_empty()))
}

/// Returns the structs with named fields, and the traits.
fn declared(tokens: &[Token]) -> Vec<Declared<'_>> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is("struct") || token.is("trait")) {
        let Some(name) = tokens.get(at + 1).filter(|name| name.kind == Kind::Word) else { continue };
        let Some(open) = body(tokens, at + 2) else { continue };
        let (mark, what) = if token.is("struct") { (":", "fields") } else { ("fn", "methods") };
        let parts = outer(&tokens[open + 1..close_of(tokens, open)]).filter(|part| part.is(mark)).count();
        found.push(Declared { name: &name.text, line: token.line, parts, what });
    }
    found
}

/// Returns the position of the brace that opens the body of a declaration, or `None` if it has no such body.
fn body(tokens: &[Token], mut at: usize) -> Option<usize> {
    loop {
        match tokens.get(at)? {
            token if token.is("{") => return Some(at),
            token if token.is(";") || token.kind == Kind::Close => return None,
            token if token.kind == Kind::Open => at = close_of(tokens, at) + 1,
            _ => at += 1,
        }
    }
}

/// Returns the tokens that are in no group.
fn outer(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0usize;
    tokens.iter().filter(move |token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ => return depth == 0,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(source: &str) -> Vec<String> {
        check(&File::new("a.rs", source)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn types_with_many_fields_are_caught() {
        let declare = |above: &str, fields: usize| {
            let fields: String =
                (0..fields).map(|at| format!("    /// A field: of some.\n    pub f{at}: [u8; 2],\n")).collect();
            format!("{above}#[derive(Debug)]\npub struct Large<T: A, F: Fn(u8)> where T: B {{\n{fields}}}\n")
        };
        let reason = "/// A doc.\n// More than 15 fields: one owner writes\n// them all.\n";
        assert_eq!(messages(&declare("", 15)), [""; 0]);
        let found = messages(&declare("", 16));
        assert!(found[0].starts_with("a.rs:2: Large has 16 fields, 15 are allowed"), "{found:?}");
        assert_eq!(messages(&declare(reason, 16)), [""; 0]);
        assert_eq!(messages(&declare(&format!("{reason}const A: u8 = 1;\n"), 16)).len(), 1);
        assert_eq!(messages(&declare("// More than 15 fields: \n", 16)).len(), 1);
        assert_eq!(messages(&declare("// More than 15 methods: it is so.\n", 16)).len(), 1);
        assert!(messages(&declare(reason, 3))[0].contains("take out the reason"));
    }

    #[test]
    fn traits_with_many_methods_are_caught() {
        let declare = |above: &str, methods: usize| {
            let methods: String =
                (0..methods).map(|at| format!("    fn f{at}(&self, g: fn(u8)) {{ fn h() {{}} }}\n")).collect();
            format!("{above}pub trait Large: Send {{\n    type T: Send;\n{methods}}}\n")
        };
        assert_eq!(messages(&declare("", 15)), [""; 0]);
        assert!(messages(&declare("", 16))[0].starts_with("a.rs:1: Large has 16 methods"));
        assert_eq!(
            messages(&declare("// More than 15 methods: a client's messages have so many kinds.\n", 16)),
            [""; 0]
        );
    }

    #[test]
    fn fields_are_counted_in_their_own_type() {
        let count = |source: &str| {
            let tokens = crate::tokens::tokenize(source).unwrap();
            declared(&tokens)
                .iter()
                .map(|found| format!("{} {}", found.name, found.parts))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(count("struct A; struct B(u8, u8); struct C { a: B<u8, u8>, b: std::sync::Arc<u8> }"), "C 2");
        assert_eq!(count("macro_rules! m { ($name:ident) => { struct $name { a: u8 } }; }"), "");
        assert_eq!(count("fn f() { struct D { a: (u8, u8) } let d = D { a: (1, 2) }; }"), "D 1");
    }
}
