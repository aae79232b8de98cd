//! Schemas: what relations are called, and where those are looked for that are written without a schema.
//!
//! The catalog knows a relation of `public` by its name, and one of another schema by its name with the schema behind it, between two
//! NULs, which no identifier has: its *full name*. Messages [leave](without_schemas) the schema out, as PostgreSQL's do; those that
//! are to tell it use [`shown`].

use crate::catalog::View;
use crate::parse::lex::LONGEST_NAME;
use crate::sequence::quoted;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use std::fmt;

/// The schema that there always is.
pub const PUBLIC: &str = "public";

/// The schemas of the system relations.
const OF_SYSTEM: [&str; 2] = ["pg_catalog", "information_schema"];

/// A schema. Which relations are in it, their names say.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// COMMENT ON SCHEMA
    pub comment: Option<String>,
}

/// A relation's name as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationName {
    /// Its schema, if one is written.
    pub schema: Option<String>,
    /// Its own name.
    pub name: String,
}

impl fmt::Display for RelationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A relation's full name.
pub fn full(schema: &str, name: &str) -> String {
    if schema == PUBLIC { name.to_owned() } else { format!("{name}\0{schema}\0") }
}

/// A full name's schema and name.
pub fn split(full: &str) -> (&str, &str) {
    match full.split_once('\0') {
        Some((name, schema)) => (schema.trim_end_matches('\0'), name),
        None => (PUBLIC, full),
    }
}

/// The name without the schema.
pub fn plain(full: &str) -> &str {
    split(full).1
}

/// The names for what belongs to a table and some of its columns, of which the first that is free is taken:
/// `t_a_b_key`, `t_a_b_key1` and so on. Where that is too long, the longer of the two parts before the label is cut.
pub fn made_names<'n>(table: &'n str, columns: &'n [&'n str], label: &'n str) -> impl Iterator<Item = String> + 'n {
    let labels = std::iter::once(label.to_owned()).chain((1..).map(move |number| format!("{label}{number}")));
    let joined = columns.join("_");
    labels.map(move |label| {
        let room = LONGEST_NAME - label.len() - 1 - usize::from(!columns.is_empty());
        let (mut first, mut second) = (table.len(), joined.len());
        while first + second > room {
            if first > second { first -= 1 } else { second -= 1 }
        }
        let (table, columns) = (cut(table, first), cut(&joined, second));
        if joined.is_empty() { format!("{table}_{label}") } else { format!("{table}_{columns}_{label}") }
    })
}

/// The beginning of a text in so many bytes at most.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A full name as people write it: `t` in `public`, else `s.t`.
pub fn shown(full: &str) -> String {
    match split(full) {
        (PUBLIC | "", name) => name.to_owned(),
        (schema, name) => format!("{schema}.{name}"),
    }
}

/// A text with the full names in it replaced by names.
pub fn without_schemas(text: String) -> String {
    if !text.contains('\0') {
        return text;
    }
    // Between the first NUL and the second, and so on, stand schemas.
    text.split('\0').step_by(2).collect()
}

/// The schemas of a `search_path`; none if it is none.
pub fn parse_path(text: &str) -> Option<Vec<String>> {
    let mut path = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Some(path);
    }
    loop {
        let name;
        if let Some(inner) = rest.strip_prefix('"') {
            let mut read = String::new();
            let mut chars = inner.char_indices().peekable();
            let end = loop {
                match chars.next()? {
                    (_, '"') if chars.next_if(|(_, next)| *next == '"').is_some() => read.push('"'),
                    (at, '"') => break at + 1,
                    (_, other) => read.push(other),
                }
            };
            (name, rest) = (read, &inner[end..]);
        } else {
            let end = rest.find(|char: char| char == ',' || char.is_whitespace()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            (name, rest) = (rest[..end].to_lowercase(), &rest[end..]);
        }
        path.push(name);
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(path);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// 3F000
pub fn undefined_schema(name: &str) -> SqlError {
    SqlError::new(state::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

impl View<'_> {
    /// Whether there is a schema of the user, or `public`.
    pub fn has_schema(&self, name: &str) -> bool {
        name == PUBLIC || self.schema(name).is_some()
    }

    /// The full name of the relation that a written name means. If there is none, it is a name that no relation has.
    pub fn find(&self, name: &RelationName) -> String {
        match (&name.schema, self.path) {
            (Some(schema), _) => full(schema, &name.name),
            (None, None) => name.name.clone(),
            (None, Some(path)) => {
                let mut places = path.iter().map(|schema| full(schema, &name.name));
                places.find(|place| self.has_relation(place)).unwrap_or_else(|| full("", &name.name))
            }
        }
    }

    /// The full name of a relation that is to be made.
    ///
    /// # Errors
    /// There is no such schema, or none on the path, or nobody may make anything there.
    pub fn place(&self, name: &RelationName) -> Result<String, SqlError> {
        let schema = match &name.schema {
            Some(schema) if !self.has_schema(schema) && !OF_SYSTEM.contains(&schema.as_str()) => {
                return Err(undefined_schema(schema));
            }
            Some(schema) => schema.as_str(),
            None => self
                .current_schema()
                .ok_or_else(|| SqlError::new(state::INVALID_SCHEMA_NAME, "no schema has been selected to create in"))?,
        };
        if OF_SYSTEM.contains(&schema) {
            let message = format!("permission denied to create \"{schema}.{}\"", name.name);
            return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
                .detail("System catalog modifications are currently disallowed."));
        }
        Ok(full(schema, &name.name))
    }

    /// The first schema of the path that there is.
    pub fn current_schema(&self) -> Option<&str> {
        self.path_schemas().next()
    }

    /// The schemas of the path that there are.
    pub fn path_schemas(&self) -> impl Iterator<Item = &str> {
        let path = self.path.map(|path| &path[..]);
        let public = path.is_none().then_some(PUBLIC);
        let there = |name: &&str| self.has_schema(name) || OF_SYSTEM.contains(name);
        path.unwrap_or_default().iter().map(String::as_str).filter(there).chain(public)
    }

    /// Whether a relation is found by its name without its schema.
    pub fn is_visible(&self, full_name: &str) -> bool {
        let (schema, name) = split(full_name);
        match self.path {
            None => schema == PUBLIC,
            Some(_) => self.find(&RelationName { schema: None, name: name.to_owned() }) == full_name,
        }
    }

    /// A full name as it has to be written here: with its schema if it is not found without.
    pub fn written(&self, full_name: &str) -> String {
        let (schema, name) = split(full_name);
        if self.is_visible(full_name) { quoted(name) } else { format!("{}.{}", quoted(schema), quoted(name)) }
    }
}

/// The path on which relations are looked for; none if that is `public` only.
pub fn effective(setting: &str, user: &str, view: View<'_>) -> Option<Arc<[String]>> {
    let mut path = parse_path(setting).unwrap_or_default();
    path.retain(|name| name != "$user" || view.has_schema(user));
    for name in path.iter_mut().filter(|name| *name == "$user") {
        user.clone_into(name);
    }
    if path == [PUBLIC] { None } else { Some(path.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_are_split_and_left_out_of_messages() {
        assert_eq!(split(&full("s", "t")), ("s", "t"));
        assert_eq!(split(&full(PUBLIC, "t")), (PUBLIC, "t"));
        assert_eq!(shown(&full("s", "t")), "s.t");
        let text = format!("\"{}\" and {}, {}", full("s", "t"), full("public", "u"), full("w", "v"));
        assert_eq!(without_schemas(text), "\"t\" and u, v");
    }

    #[test]
    fn paths_are_lists_of_identifiers() {
        let path = |text: &str| parse_path(text).map(|path| path.join("|"));
        assert_eq!(path("\"$user\", public").as_deref(), Some("$user|public"));
        assert_eq!(path(" A ,\"B\"\"c\"").as_deref(), Some("a|B\"c"));
        assert_eq!(path("\"\"").as_deref(), Some(""));
        assert_eq!(path("").as_deref(), Some(""));
        for wrong in ["a b", "a,", ",a", "\"a"] {
            assert_eq!(path(wrong), None, "{wrong}");
        }
    }
}
