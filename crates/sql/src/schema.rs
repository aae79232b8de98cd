//! Schemas and the names of relations. `search_path` decides which relation a name without a schema means.

pub use crate::full_name::{PUBLIC, full, plain, shown, split};

use crate::{SqlError, state};
use std::fmt;

/// The setting that lists the schemas in which relations are looked up.
pub(crate) const SEARCH_PATH: &str = "search_path";

/// The name of the database that is always there.
pub const DATABASE: &str = "postgres";

/// The OID of the database that is always there.
pub const DATABASE_NUMBER: u32 = 5;

/// The maximum length of a name, in bytes.
pub const LONGEST_NAME: usize = 63;

/// The properties of a schema. The schema's relations are not listed here: their full names contain the schema's name.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The comment that COMMENT ON SCHEMA has set.
    pub comment: Option<String>,
    /// Whether the schema has been dropped. Only the schema `public` has a definition for this, because it exists
    /// without a definition.
    pub is_dropped: bool,
}

/// The name of a relation as a statement writes it, with or without a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelationName {
    /// The database's name, if the statement writes one.
    pub database: Option<String>,
    /// The schema's name, if the statement writes one.
    pub schema: Option<String>,
    /// The relation's name without the schema.
    pub name: String,
}

impl RelationName {
    /// Returns the name of a relation in a schema.
    pub fn within(schema: &str, name: &str) -> Self {
        Self { database: None, schema: Some(schema.to_owned()), name: name.to_owned() }
    }

    /// Returns the name of a relation that is written without a schema.
    pub fn alone(name: &str) -> Self {
        Self { database: None, schema: None, name: name.to_owned() }
    }

    /// Returns the name as SQL writes it: its parts are quoted where necessary.
    pub fn quoted(&self) -> String {
        self.parts().iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".")
    }

    /// Returns the parts of the name: the database and the schema, if they are written, and the name.
    pub fn parts(&self) -> Vec<String> {
        self.database.iter().chain(&self.schema).chain([&self.name]).cloned().collect()
    }
}

impl fmt::Display for RelationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().join("."))
    }
}

/// Returns candidates for the name of an object that belongs to a table and some of its columns: `t_a_b_key`,
/// `t_a_b_key1` and so on. The caller takes the first name that is free. If a candidate would be too long, the longer
/// of the table's name and the columns' names is cut.
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

/// Returns the beginning of a text, at most `bytes` bytes long.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A search path: the schemas in which a relation is looked up if its name is written without a schema.
#[derive(Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The schemas, in the order in which relations are looked up in them. Not all of them need exist.
    pub schemas: Vec<String>,
    /// Whether the first schema is that of the session's temporary relations, which the setting does not contain. New
    /// relations are not created there.
    pub starts_implicitly: bool,
    /// The version of the session's temporary relations. It changes whenever names may get another meaning through
    /// them.
    pub version: u64,
}

impl SearchPath {
    /// Appends the path's part of the key of a cached plan. Two paths by which a name may have different meanings have
    /// different keys.
    pub fn push_key(&self, key: &mut String) {
        for schema in &self.schemas {
            key.push_str(schema);
            key.push('\0');
        }
        if self.version > 0 {
            key.push_str(&self.version.to_string());
        }
        key.push('\0');
    }
}

/// Returns the names of the schemas in a value of `search_path`, or `None` if the text is no list of identifiers.
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

/// Returns the name under which the catalog keeps the OID of a schema. No relation has such a name.
pub fn numbered(schema: &str) -> String {
    format!("\0schema\0{schema}")
}

/// Returns error 3F000, which says that there is no schema of this name.
pub fn undefined_schema(name: &str) -> SqlError {
    SqlError::new(state::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

/// Returns error 42P01, which says that there is no relation of this full name.
pub(crate) fn undefined_table(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", shown(name)))
}

/// Returns the error 42809 with this message, for an operation that materialized views do not support.
pub(crate) fn not_for_materialized(message: String) -> SqlError {
    SqlError::new(state::WRONG_OBJECT_TYPE, message).detail("This operation is not supported for materialized views.")
}

/// Returns error 42P07, which says that there is already a relation of this name.
pub(crate) fn duplicate_table(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// Returns a name as SQL writes it: in double quotes if it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |(at, byte): (usize, u8)| matches!(byte, b'a'..=b'z' | b'_') || (at > 0 && byte.is_ascii_digit());
    let plain = !name.is_empty() && name.bytes().enumerate().all(is_plain);
    if plain && RESERVED.binary_search(&name).is_err() {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The words that must be quoted when they are names, in alphabetical order.
#[rustfmt::skip]
const RESERVED: [&str; 151] = [
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization", "between",
    "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character", "check", "coalesce",
    "collate", "collation", "column", "concurrently", "constraint", "create", "cross", "current_catalog",
    "current_date", "current_role", "current_schema", "current_time", "current_timestamp", "current_user", "dec",
    "decimal", "default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "exists", "extract",
    "false", "fetch", "float", "for", "foreign", "freeze", "from", "full", "grant", "greatest", "group", "grouping",
    "having", "ilike", "in", "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into", "is",
    "isnull", "join", "lateral", "leading", "least", "left", "like", "limit", "localtime", "localtimestamp",
    "national", "natural", "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric", "offset",
    "on", "only", "or", "order", "out", "outer", "overlaps", "overlay", "placing", "position", "precision",
    "primary", "real", "references", "returning", "right", "row", "select", "session_user", "setof", "similar",
    "smallint", "some", "substring", "symmetric", "table", "tablesample", "then", "time", "timestamp", "to",
    "trailing", "treat", "trim", "true", "union", "unique", "user", "using", "values", "varchar", "variadic",
    "verbose", "when", "where", "window", "with", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists",
    "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

#[cfg(test)]
mod tests {
    use super::*;

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
