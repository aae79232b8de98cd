//! Random statements from a grammar, and smaller ones from those.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A grammar: for each name the productions that it stands for.
///
/// In its text a line that is not indented is a name, and the indented lines below are its productions. In a production
/// `{name}` is something of that name, `{name:x}` the same and called x, and `{:x}` what is called x once more; `«` and
/// `»` are braces. A production that is there twice is taken twice as often; `-` is the empty one.
pub struct Grammar(BTreeMap<String, Vec<Production>>);

#[derive(Clone)]
enum Symbol {
    Text(String),
    Name { name: String, called: Option<String> },
    Again(String),
}

type Production = Vec<Symbol>;

/// Something that was made from a grammar.
#[derive(Clone, Debug)]
pub struct Node {
    name: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// With what it is called.
    Node(Node, Option<String>),
    Again(String),
}

impl Grammar {
    pub fn parse(text: &str) -> Self {
        let mut grammar = BTreeMap::<String, Vec<Production>>::new();
        let mut name = "";
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            if line.starts_with(' ') {
                grammar.entry(name.to_owned()).or_default().push(production(line.trim()));
            } else {
                name = line.trim();
            }
        }
        for symbol in grammar.values().flatten().flatten() {
            if let Symbol::Name { name, .. } = symbol {
                assert!(grammar.contains_key(name), "the grammar has no {{{name}}}");
            }
        }
        Self(grammar)
    }

    /// Something of this name, nested at most so deep where the grammar lets it end.
    pub fn generate(&self, name: &str, depth: u32, random: &mut fastrand::Rng) -> Node {
        let all = &self.0[name];
        let ends: Vec<_> = all.iter().filter(|production| !self.is_recursive(production)).collect();
        let production = match ends.is_empty() || (depth > 0 && random.u32(..6) > 0) {
            true => &all[random.usize(..all.len())],
            false => ends[random.usize(..ends.len())],
        };
        let part = |symbol: &Symbol| match symbol {
            Symbol::Text(text) => Part::Text(text.clone()),
            Symbol::Name { name, called } => {
                Part::Node(self.generate(name, depth.saturating_sub(1), random), called.clone())
            }
            Symbol::Again(called) => Part::Again(called.clone()),
        };
        Node { name: name.to_owned(), parts: production.iter().map(part).collect() }
    }

    /// Whether something in the production can be nested.
    fn is_recursive(&self, production: &Production) -> bool {
        production.iter().any(|symbol| match symbol {
            Symbol::Name { name, .. } => {
                self.0[name].iter().flatten().any(|symbol| matches!(symbol, Symbol::Name { .. }))
            }
            _ => false,
        })
    }

    /// Things that are smaller in one place, the most promising first.
    pub fn smaller(&self, node: &Node) -> Vec<Node> {
        let mut found = Vec::new();
        node.inner(&node.name, &mut found);
        let ends = self.0[&node.name].iter().filter(|production| {
            let texts = |symbol: &Symbol| matches!(symbol, Symbol::Text(_));
            !node.parts.is_empty()
                && production.iter().all(texts)
                && node.parts.iter().any(|part| !matches!(part, Part::Text(_)))
        });
        found.extend(ends.take(3).map(|production| Node { name: node.name.clone(), parts: texts(production) }));
        for (at, part) in node.parts.iter().enumerate() {
            let Part::Node(inner, called) = part else { continue };
            found.extend(self.smaller(inner).into_iter().map(|smaller| {
                let mut whole = node.clone();
                whole.parts[at] = Part::Node(smaller, called.clone());
                whole
            }));
        }
        found
    }
}

fn texts(production: &Production) -> Vec<Part> {
    let text = |symbol: &Symbol| match symbol {
        Symbol::Text(text) => Part::Text(text.clone()),
        Symbol::Name { .. } | Symbol::Again(_) => unreachable!("the production is of texts"),
    };
    production.iter().map(text).collect()
}

fn production(line: &str) -> Production {
    let text = |text: &str| Symbol::Text(text.replace('«', "{").replace('»', "}"));
    let mut symbols = Vec::new();
    let mut rest = if line == "-" { "" } else { line };
    while let Some((before, after)) = rest.split_once('{') {
        symbols.push(text(before));
        let (inside, after) = after.split_once('}').unwrap_or_else(|| panic!("no }} in {line}"));
        symbols.push(match inside.split_once(':') {
            Some(("", called)) => Symbol::Again(called.to_owned()),
            Some((name, called)) => Symbol::Name { name: name.to_owned(), called: Some(called.to_owned()) },
            None => Symbol::Name { name: inside.to_owned(), called: None },
        });
        rest = after;
    }
    symbols.push(text(rest));
    symbols
}

/// The end of the names of what may be given as a parameter.
const LITERAL: &str = "_literal";

impl Node {
    /// As text; literals become parameters if these are wanted.
    pub fn render(&self, parameters: Option<&mut Vec<String>>) -> String {
        let mut out = String::new();
        let mut parameters = parameters;
        self.write(&mut out, &mut parameters);
        out
    }

    fn write(&self, out: &mut String, parameters: &mut Option<&mut Vec<String>>) {
        for part in &self.parts {
            match part {
                Part::Text(text) if self.name.ends_with(LITERAL) => write_literal(text, out, parameters),
                Part::Text(text) => out.push_str(text),
                Part::Node(node, _) => node.write(out, parameters),
                Part::Again(wanted) => {
                    let again = self.parts.iter().find_map(|part| match part {
                        Part::Node(node, Some(called)) if called == wanted => Some(node),
                        _ => None,
                    });
                    again.expect("what is repeated is in the same production").write(out, parameters);
                }
            }
        }
    }

    /// All things inside, as text.
    pub fn parts(&self, found: &mut Vec<String>) {
        for part in &self.parts {
            if let Part::Node(node, _) = part {
                found.push(node.render(None));
                node.parts(found);
            }
        }
    }

    /// The things inside that have this name.
    fn inner(&self, name: &str, found: &mut Vec<Node>) {
        for part in &self.parts {
            let Part::Node(node, _) = part else { continue };
            if node.name == name {
                found.push(node.clone());
            } else {
                node.inner(name, found);
            }
        }
    }
}

fn write_literal(text: &str, out: &mut String, parameters: &mut Option<&mut Vec<String>>) {
    let value = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match (value, parameters) {
        (Some(value), Some(parameters)) => {
            parameters.push(value.replace("''", "'"));
            write!(out, "${}", parameters.len()).expect("a string grows");
        }
        _ => out.push_str(text),
    }
}
