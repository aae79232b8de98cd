//! CREATE, ALTER and DROP TYPE.

use super::cursor::Cursor;
use super::lex::tokenize;
use crate::error::unsupported;
use crate::schema::RelationName;
use crate::{SqlError, state};
use std::ops::Range;

/// The place of a label that ALTER TYPE adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelPlace {
    /// After all other labels.
    Last,
    /// BEFORE a label
    Before(String),
    /// AFTER a label
    After(String),
}

/// The change to a type that an ALTER TYPE statement makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeChange {
    /// ADD VALUE
    AddLabel {
        /// The label.
        label: String,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// The place of the label among the others.
        place: LabelPlace,
    },
    /// RENAME VALUE: the old label and the new one.
    RenameLabel(String, String),
    /// RENAME TO
    Rename(String),
    /// SET SCHEMA
    SetSchema(String),
    /// OWNER TO
    Owner(String),
}

/// A statement about types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeStatement {
    /// CREATE TYPE … AS ENUM: the name and the labels.
    Create(RelationName, Vec<String>),
    /// ALTER TYPE
    Alter(RelationName, TypeChange),
    /// DROP TYPE
    Drop {
        /// The names of the types.
        names: Vec<RelationName>,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
}

/// Reads a statement about types. The cursor is at its first word, and the second is TYPE.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<TypeStatement, SqlError> {
    let verb = cursor.word()?;
    cursor.advance();
    match verb.as_str() {
        "create" => create(cursor),
        "alter" => {
            let name = cursor.qualified_name()?;
            change(cursor).map(|change| TypeStatement::Alter(name, change))
        }
        _ => drop(cursor),
    }
}

fn create(cursor: &mut Cursor<'_>) -> Result<TypeStatement, SqlError> {
    let name = cursor.qualified_name()?;
    if !cursor.take("as") {
        return Err(unsupported("a base type"));
    }
    if cursor.take("range") {
        return Err(unsupported("a range type"));
    }
    if !cursor.take("enum") {
        return Err(unsupported("a composite type"));
    }
    cursor.expect_symbol(b'(')?;
    let mut labels = Vec::new();
    if !cursor.take_symbol(b')') {
        labels.push(cursor.string()?);
        while cursor.take_symbol(b',') {
            labels.push(cursor.string()?);
        }
        cursor.expect_symbol(b')')?;
    }
    Ok(TypeStatement::Create(name, labels))
}

fn change(cursor: &mut Cursor<'_>) -> Result<TypeChange, SqlError> {
    let wrong = cursor.unexpected();
    match cursor.word()?.as_str() {
        "add" if cursor.take("value") => {
            let if_not_exists = cursor.take("if");
            if if_not_exists {
                cursor.expect("not")?;
                cursor.expect("exists")?;
            }
            let label = cursor.string()?;
            let place = if cursor.take("before") {
                LabelPlace::Before(cursor.string()?)
            } else if cursor.take("after") {
                LabelPlace::After(cursor.string()?)
            } else {
                LabelPlace::Last
            };
            Ok(TypeChange::AddLabel { label, if_not_exists, place })
        }
        "rename" if cursor.take("value") => {
            let old = cursor.string()?;
            cursor.expect("to")?;
            Ok(TypeChange::RenameLabel(old, cursor.string()?))
        }
        "rename" if cursor.take("to") => cursor.name().map(TypeChange::Rename),
        "set" if cursor.take("schema") => cursor.name().map(TypeChange::SetSchema),
        "owner" => {
            cursor.expect("to")?;
            cursor.name().map(TypeChange::Owner)
        }
        "add" | "rename" | "alter" | "drop" | "set" => Err(unsupported("this change of a type")),
        _ => Err(wrong),
    }
}

fn drop(cursor: &mut Cursor<'_>) -> Result<TypeStatement, SqlError> {
    let if_exists = cursor.if_exists()?;
    let names = cursor.list(Cursor::qualified_name)?;
    let cascade = cursor.cascades();
    Ok(TypeStatement::Drop { names, if_exists, cascade })
}

/// Checks the length of a label.
///
/// # Errors
/// 42602 if the label is longer than 63 bytes.
pub(crate) fn check_label(label: &str) -> Result<(), SqlError> {
    if label.len() <= crate::schema::LONGEST_NAME {
        return Ok(());
    }
    let message = format!("invalid enum label \"{label}\"");
    Err(SqlError::new(state::INVALID_NAME, message).detail("Labels must be 63 bytes or less."))
}

/// A name of a type in a text.
#[derive(Debug)]
pub(crate) struct TypeName {
    /// The bytes of the text that are the name.
    at: Range<usize>,
    /// The parts of the name: the schema, if it is written, and the name within it.
    pub(crate) parts: Vec<String>,
}

/// Returns the names of types that a text mentions. Such a name stands behind `::`, or behind AS in CAST. A string
/// between dollars is searched, too.
///
/// # Errors
/// 42601 if the text cannot be split into tokens.
pub(crate) fn type_names(text: &str) -> Result<Vec<TypeName>, SqlError> {
    let mut tokens = Vec::new();
    tokenize(text, &mut tokens)?;
    let mut cursor = Cursor::new(text, &tokens);
    let mut names = Vec::new();
    // For each parenthesis that is open, whether CAST stands before it.
    let mut open = Vec::new();
    while !cursor.is_at_end() {
        let is_cast = cursor.take("cast");
        if cursor.take_symbol(b'(') {
            open.push(is_cast);
        } else if cursor.take_symbol(b')') {
            open.pop();
        } else if (open.last() == Some(&true) && cursor.take("as")) || cursor.take_symbols(b"::") {
            let start = cursor.offset();
            if let Ok(parts) = cursor.dotted_name() {
                let end = start + text[start..cursor.offset()].trim_end().len();
                names.push(TypeName { at: start..end, parts });
            }
        } else if let Some(body) = cursor.take_body() {
            let within = type_names(&text[body.clone()])?;
            names.extend(
                within
                    .into_iter()
                    .map(|TypeName { at, parts }| TypeName { at: body.start + at.start..body.start + at.end, parts }),
            );
        } else if !is_cast {
            cursor.advance();
        }
    }
    Ok(names)
}

/// Whether a text has a string that is this label, or an array literal that contains it.
///
/// # Errors
/// 42601 if the text cannot be split into tokens.
pub(crate) fn has_literal(text: &str, label: &str) -> Result<bool, SqlError> {
    let mut tokens = Vec::new();
    tokenize(text, &mut tokens)?;
    let mut cursor = Cursor::new(text, &tokens);
    while !cursor.is_at_end() {
        match cursor.string() {
            Ok(found) if found == label || (found.starts_with('{') && found.contains(label)) => return Ok(true),
            Ok(_) => {}
            Err(_) => cursor.advance(),
        }
    }
    Ok(false)
}

/// Replaces the names of types in a text. `named` returns the new name for the parts of a name, or `None` if the name
/// stays. Returns `None` if all names stay.
///
/// # Errors
/// 42601 if the text cannot be split into tokens.
pub(crate) fn with_type_names(
    text: &str,
    named: impl Fn(&[String]) -> Option<String>,
) -> Result<Option<String>, SqlError> {
    let mut changed = None;
    for TypeName { at, parts } in type_names(text)?.into_iter().rev() {
        if let Some(name) = named(&parts) {
            changed.get_or_insert_with(|| text.to_owned()).replace_range(at, &name);
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_and_renamed_in_casts() {
        let text = "SELECT a AS x, ((CAST(b::text AS s.\"Mood\" ))), d :: mood[], ':: no', cast(f(c) as t) FROM g AS h, \
                    $b$ x :: u $b$, $$::v$$";
        let names: Vec<_> = type_names(text).expect("tokens").iter().map(|name| name.parts.join(".")).collect();
        assert_eq!(names, ["text", "s.Mood", "mood", "t", "u", "v"]);
        let renamed = with_type_names(text, |name| (name != ["text"]).then(|| format!("<{}>", name.join("|"))));
        let expected = "SELECT a AS x, ((CAST(b::text AS <s|Mood> ))), d :: <mood>[], ':: no', cast(f(c) as <t>) \
                        FROM g AS h, $b$ x :: <u> $b$, $$::<v>$$";
        assert_eq!(renamed.expect("tokens").as_deref(), Some(expected));
        assert_eq!(with_type_names("a::b", |_| None), Ok(None));
    }

    #[test]
    fn labels_are_found_in_strings() {
        let cases = [("a = 'it''s'", true), ("b = '{a,it''s}'", true), ("its = 'its'", false), ("'not it''s'", false)];
        for (text, expected) in cases {
            assert_eq!(has_literal(text, "it's"), Ok(expected), "{text}");
        }
    }
}
