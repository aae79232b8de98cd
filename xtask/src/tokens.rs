//! The tokens of a Rust file, as a flat list, and the paths among them.
//!
//! Comments and white space are gone, groups are flat (an opening and a closing token), and the operators that the
//! rules look for are one token each.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word: a name or a keyword.
    Word,
    /// A literal as in the source, quotes included. The text of a doc comment is a literal, too.
    Literal,
    /// One of the operators `::`, `=>`, `==` and `!=`, or a single character of another operator.
    Punct,
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
}

/// A token of a Rust file, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token's kind.
    pub kind: Kind,
    /// The token's text, as in the source.
    pub text: String,
    /// The number of the token's line, from one.
    pub line: usize,
}

impl Token {
    /// Whether the token has this text and is not a literal.
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Literal && self.text == text
    }
}

/// Operators of two characters that are kept together.
const JOINED: [&str; 4] = ["::", "=>", "==", "!="];

/// Returns the tokens of a Rust source, without white space and ordinary comments, or `None` if the source is not valid
/// Rust tokens.
pub fn tokenize(source: &str) -> Option<Vec<Token>> {
    let stream: TokenStream = source.parse().ok()?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Some(tokens)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut joint = false;
    for tree in stream {
        let line = tree.span().start().line;
        let was_joint = std::mem::take(&mut joint);
        match tree {
            TokenTree::Ident(word) => push(tokens, Kind::Word, word.to_string(), line),
            TokenTree::Literal(literal) => push(tokens, Kind::Literal, literal.to_string(), line),
            TokenTree::Punct(punct) => {
                joint = punct.spacing() == Spacing::Joint;
                match tokens.last_mut() {
                    Some(last) if was_joint && JOINED.contains(&format!("{}{punct}", last.text).as_str()) => {
                        last.text.push(punct.as_char());
                        joint = false;
                    }
                    _ => push(tokens, Kind::Punct, punct.to_string(), line),
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                push(tokens, Kind::Open, open.to_owned(), line);
                flatten(group.stream(), tokens);
                push(tokens, Kind::Close, close.to_owned(), group.span_close().end().line);
            }
        }
    }
}

fn push(tokens: &mut Vec<Token>, kind: Kind, text: String, line: usize) {
    tokens.push(Token { kind, text, line });
}

/// Returns the position of the bracket that closes the one at position `open`, or the length of the list if there is
/// none.
pub fn close_of(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return at,
            Kind::Close => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// A path in a source, such as `std::sync::Arc`. A group, as in `use std::{fmt, io}`, counts as one path for each of
/// its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathUse {
    /// The names in the path. The last one may be `*`.
    pub segments: Vec<String>,
    /// The number of the line with the path's last name, from one.
    pub line: usize,
}

impl PathUse {
    /// Whether the path begins with these names.
    pub fn starts_with(&self, words: &[&str]) -> bool {
        self.segments.len() >= words.len() && self.segments.iter().zip(words).all(|(a, b)| a == b)
    }
}

/// Returns all paths of two or more names that occur among the tokens.
pub fn paths(tokens: &[Token]) -> Vec<PathUse> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = tokens[at].kind == Kind::Word && tokens.get(at + 1).is_some_and(|next| next.is("::"));
        at = if begins { expand(tokens, at, &[], &mut found) } else { at + 1 };
    }
    found
}

/// Adds to `found` the path, or the paths of a group, whose next word is at `at` and whose first words are `prefix`.
/// Returns the position after them.
fn expand(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Vec<PathUse>) -> usize {
    let mut segments = prefix.to_vec();
    let mut line = 0;
    while let Some(token) = tokens.get(at) {
        if token.kind == Kind::Word || token.is("*") {
            segments.push(token.text.clone());
            line = token.line;
            at += 1;
            if tokens.get(at).is_some_and(|next| next.is("::")) {
                at += 1;
                continue;
            }
        } else if token.is("{") {
            return expand_group(tokens, at, &segments, found);
        }
        break;
    }
    found.push(PathUse { segments, line });
    at
}

fn expand_group(tokens: &[Token], open: usize, prefix: &[String], found: &mut Vec<PathUse>) -> usize {
    let close = close_of(tokens, open);
    let mut at = open + 1;
    while at < close {
        at = expand(tokens, at, prefix, found).max(at + 1);
        while at < close && !tokens[at].is(",") {
            at += 1;
        }
        at += 1;
    }
    close + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[&str]) {
        let found = paths(&tokenize(source).unwrap());
        let found: Vec<String> = found.into_iter().map(|path| path.segments.join("::")).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn paths_are_found_and_groups_are_spread_out() {
        check("use std::sync::Arc;", &["std::sync::Arc"]);
        check(
            "use std::{fmt, sync::{Arc, Mutex as M}, thread};",
            &["std::fmt", "std::sync::Arc", "std::sync::Mutex", "std::thread"],
        );
        check("use super::*; let x = a::b::<u8>::new(c::d);", &["super::*", "a::b", "c::d"]);
        check("// std::thread\n let text = \"std::thread\";", &[]);
    }

    #[test]
    fn operators_stay_whole_and_lines_are_right() {
        let tokens = tokenize("a\n=> b == c").unwrap();
        let seen: Vec<_> = tokens.iter().map(|token| (token.text.as_str(), token.line)).collect();
        assert_eq!(seen, [("a", 1), ("=>", 2), ("b", 2), ("==", 2), ("c", 2)]);
    }
}
