//! The full names of relations, which contain the name of the schema.
//!
//! The catalog identifies a relation of the schema `public` by its name. It identifies a relation of another schema by
//! its *full name*: the name, followed by the schema between two NULs, which no identifier contains. Like PostgreSQL's,
//! messages [leave the schema out](without_schemas). A message that is to contain the schema uses [`shown`].

/// The name of the schema that always exists.
pub const PUBLIC: &str = "public";

/// Returns the full name of a relation, by which the catalog identifies it.
pub fn full(schema: &str, name: &str) -> String {
    if schema == PUBLIC { name.to_owned() } else { format!("{name}\0{schema}\0") }
}

/// Splits a full name into the schema and the name.
pub fn split(full: &str) -> (&str, &str) {
    match full.split_once('\0') {
        Some((name, schema)) => (schema.trim_end_matches('\0'), name),
        None => (PUBLIC, full),
    }
}

/// Returns the relation's name without its schema. `full` is a full name.
pub fn plain(full: &str) -> &str {
    split(full).1
}

/// Converts a full name to the notation of SQL: `t` in `public`, and `s.t` in any other schema. No part is quoted.
pub fn shown(full: &str) -> String {
    match split(full) {
        (PUBLIC | "", name) => name.to_owned(),
        (schema, name) => format!("{schema}.{name}"),
    }
}

/// Removes the schema from each full name in a text, such as the message of an error.
pub fn without_schemas(text: String) -> String {
    if !text.contains('\0') {
        return text;
    }
    // Every second part is a schema: that between the first NUL and the second, and so on.
    text.split('\0').step_by(2).collect()
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
}
