//! The language jsonpath: paths that find parts of a `jsonb`, and predicates over them.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this file | the tree of a path, and its text |
//! | `read` | reads a path from its text |
//! | `run` | finds the items of a path in a value |
//! | `compare` | predicates: comparisons, `starts with`, `like_regex` |
//!
//! A path is a text. It is read where it is used; the last path of each thread is kept.

mod compare;
mod read;
mod run;

pub(crate) use run::{Options, exists, matches, query};

use crate::SqlError;
use crate::json::write_string;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// A parsed path or predicate.
#[derive(Debug, PartialEq)]
pub(crate) struct Path {
    /// Whether the path begins with `strict`, so that structural errors are reported.
    strict: bool,
    root: Node,
}

/// A node in the syntax tree of a path.
#[derive(Debug, PartialEq)]
enum Node {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `$name`
    Variable(String),
    /// `last`, within a subscript.
    Last,
    /// A literal, in the notation of JSON.
    Literal(String),
    /// An expression with at least one accessor behind it.
    Steps(Box<Node>, Vec<Step>),
    /// `+a` or `-a`
    Sign(char, Box<Node>),
    /// An arithmetic operation such as `a + b`, with the operator's character.
    Arithmetic(char, Box<(Node, Node)>),
    /// A comparison, with its operator.
    Compare(Comparison, Box<(Node, Node)>),
    /// `a && b`
    And(Box<(Node, Node)>),
    /// `a || b`
    Or(Box<(Node, Node)>),
    /// `!(a)`
    Not(Box<Node>),
    /// `(a) is unknown`
    IsUnknown(Box<Node>),
    /// `exists (a)`
    Exists(Box<Node>),
    /// `a starts with b`
    StartsWith(Box<(Node, Node)>),
    /// `a like_regex "pattern" flag "letters"`
    LikeRegex(Box<Node>, String, String),
}

/// The operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// An accessor, which follows an expression in a path.
#[derive(Debug, PartialEq)]
enum Step {
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `.**`, with the least and the greatest level; `None` is `last`.
    Deep(Option<u32>, Option<u32>),
    /// `[a, b to c]`
    Elements(Vec<(Node, Option<Node>)>),
    /// `[*]`
    AnyElement,
    /// `?(predicate)`
    Filter(Node),
    /// A method such as `.type()`.
    Method(Method),
}

/// A method that a path calls on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Type,
    Size,
    Double,
    Ceiling,
    Floor,
    Abs,
    KeyValue,
}

const METHODS: [(&str, Method); 7] = [
    ("type", Method::Type),
    ("size", Method::Size),
    ("double", Method::Double),
    ("ceiling", Method::Ceiling),
    ("floor", Method::Floor),
    ("abs", Method::Abs),
    ("keyvalue", Method::KeyValue),
];

impl Method {
    fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

impl Comparison {
    fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterEqual => ">=",
        }
    }
}

/// Parses a path and calls `with` with it. Each thread keeps the last path that it parsed.
///
/// # Errors
/// 42601 or 22P02 if the text is no path, 2201B if a pattern in it is wrong, 0A000 if it uses an unsupported feature,
/// 54001 if it is nested too deeply; the errors of `with`.
fn with_path<R>(text: &str, with: impl FnOnce(&Path) -> Result<R, SqlError>) -> Result<R, SqlError> {
    hotrow_sync::thread_local! {
        static LAST: RefCell<Option<(String, Rc<Path>)>> = const { RefCell::new(None) };
    }
    let known = LAST.with(|last| {
        let last = last.borrow();
        last.as_ref().filter(|(known, _)| known == text).map(|(_, path)| path.clone())
    });
    let path = match known {
        Some(path) => path,
        None => {
            let path = Rc::new(read::path(text)?);
            LAST.with(|last| *last.borrow_mut() = Some((text.to_owned(), path.clone())));
            path
        }
    };
    with(&path)
}

/// Returns the text of a path as PostgreSQL prints it.
///
/// # Errors
/// 42601, 22P02, 2201B, 0A000 or 54001 if the text is no valid path.
pub(crate) fn canonical(text: &str) -> Result<String, SqlError> {
    let path = read::path(text)?;
    let mut out = String::new();
    if path.strict {
        out.push_str("strict ");
    }
    path.root.write(true, &mut out);
    Ok(out)
}

impl Node {
    /// Returns the precedence of an operator: the higher it is, the more tightly the operator binds.
    fn priority(&self) -> u8 {
        match self {
            Node::Or(_) => 0,
            Node::And(_) => 1,
            Node::Compare(..) | Node::StartsWith(_) => 2,
            Node::Arithmetic('+' | '-', _) => 3,
            Node::Arithmetic(..) => 4,
            Node::Sign(..) => 5,
            _ => 6,
        }
    }

    /// Writes an expression. If `enclosed` is set, an operator's expression is written in parentheses.
    fn write(&self, enclosed: bool, out: &mut String) {
        let within = |node: &Node, out: &mut String| node.write(node.priority() <= self.priority(), out);
        let between = |operator: &str, (left, right): &(Node, Node), out: &mut String| {
            let (open, close) = if enclosed { ("(", ")") } else { ("", "") };
            out.push_str(open);
            within(left, out);
            out.push_str(operator);
            within(right, out);
            out.push_str(close);
        };
        match self {
            Node::Root => out.push('$'),
            Node::Current => out.push('@'),
            Node::Variable(name) => {
                out.push('$');
                write_string(name, out);
            }
            Node::Last => out.push_str("last"),
            Node::Literal(literal) => out.push_str(literal),
            Node::Steps(base, steps) => {
                let is_number = matches!(&**base, Node::Literal(text) if !text.starts_with(['"', 't', 'f', 'n']));
                if is_number {
                    write!(out, "(").expect("a string grows");
                }
                base.write(true, out);
                if is_number {
                    out.push(')');
                }
                steps.iter().for_each(|step| step.write(out));
            }
            Node::Sign(sign, operand) => {
                let (open, close) = if enclosed { ("(", ")") } else { ("", "") };
                out.push_str(open);
                out.push(*sign);
                within(operand, out);
                out.push_str(close);
            }
            Node::Arithmetic(operator, operands) => between(&format!(" {operator} "), operands, out),
            Node::Compare(comparison, operands) => between(&format!(" {} ", comparison.symbol()), operands, out),
            Node::And(operands) => between(" && ", operands, out),
            Node::Or(operands) => between(" || ", operands, out),
            Node::StartsWith(operands) => between(" starts with ", operands, out),
            Node::Not(operand) => {
                out.push_str("!(");
                operand.write(false, out);
                out.push(')');
            }
            Node::IsUnknown(operand) => {
                out.push('(');
                operand.write(false, out);
                out.push_str(") is unknown");
            }
            Node::Exists(operand) => {
                out.push_str("exists (");
                operand.write(false, out);
                out.push(')');
            }
            Node::LikeRegex(operand, pattern, flags) => {
                let (open, close) = if enclosed { ("(", ")") } else { ("", "") };
                out.push_str(open);
                within(operand, out);
                out.push_str(" like_regex ");
                write_string(pattern, out);
                if !flags.is_empty() {
                    out.push_str(" flag \"");
                    // PostgreSQL prints them in this order, each once.
                    out.extend("ismxq".chars().filter(|flag| flags.contains(*flag)));
                    out.push('"');
                }
                out.push_str(close);
            }
        }
    }
}

impl Step {
    fn write(&self, out: &mut String) {
        let level = |level: &Option<u32>| level.map_or("last".to_owned(), |level| level.to_string());
        match self {
            Step::Key(key) => {
                out.push('.');
                write_string(key, out);
            }
            Step::AnyKey => out.push_str(".*"),
            Step::Deep(Some(0), None) => out.push_str(".**"),
            Step::Deep(from, to) if from == to => out.push_str(&format!(".**{{{}}}", level(from))),
            Step::Deep(from, to) => out.push_str(&format!(".**{{{} to {}}}", level(from), level(to))),
            Step::Elements(list) => {
                out.push('[');
                for (at, (from, to)) in list.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    from.write(false, out);
                    if let Some(to) = to {
                        out.push_str(" to ");
                        to.write(false, out);
                    }
                }
                out.push(']');
            }
            Step::AnyElement => out.push_str("[*]"),
            Step::Filter(condition) => {
                out.push_str("?(");
                condition.write(false, out);
                out.push(')');
            }
            Step::Method(method) => out.push_str(&format!(".{}()", method.name())),
        }
    }
}
