//! Names as the syntax has them.

use super::lex::cut_name;
use crate::error::unsupported;
use crate::schema::{RelationName, quoted};
use crate::{SqlError, state};
use sqlparser::ast;

/// Returns the name that an identifier means: in lower case if it has no quotes, and cut to the greatest length of a
/// name.
pub(crate) fn fold(ident: &ast::Ident) -> String {
    cut_name(match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    })
}

/// Returns the names of which a dotted name consists.
pub(crate) fn name_parts(name: &ast::ObjectName) -> Result<Vec<String>, SqlError> {
    let part = |part: &ast::ObjectNamePart| match part {
        ast::ObjectNamePart::Identifier(ident) => Ok(fold(ident)),
        ast::ObjectNamePart::Function(_) => Err(unsupported("a function in a name")),
    };
    name.0.iter().map(part).collect()
}

/// Returns a relation's name from its syntax.
pub(crate) fn object_name(name: &ast::ObjectName) -> Result<RelationName, SqlError> {
    relation_name(&name_parts(name)?)
}

/// Makes a relation's name from the parts of a dotted name: `name`, `schema.name` or `database.schema.name`.
pub(crate) fn relation_name(parts: &[String]) -> Result<RelationName, SqlError> {
    match parts {
        parts if parts.iter().any(|part| part.contains('\0')) => {
            Err(SqlError::new(state::INVALID_NAME, "a name cannot have a NUL in it"))
        }
        [name] => Ok(RelationName::alone(name)),
        [schema, name] => Ok(RelationName::within(schema, name)),
        [database, schema, name] => {
            Ok(RelationName { database: Some(database.clone()), ..RelationName::within(schema, name) })
        }
        [_, _, _, ..] => {
            let message = format!("improper qualified name (too many dotted names): {}", parts.join("."));
            Err(SqlError::new(state::SYNTAX_ERROR, message))
        }
        [] => Err(SqlError::new(state::INVALID_NAME, "a name is missing")),
    }
}

/// Returns the syntax of a name with these parts. They are in double quotes where necessary.
pub(crate) fn syntax_of<'p>(parts: impl IntoIterator<Item = &'p str>) -> ast::ObjectName {
    let ident = |part: &str| match quoted(part) == part {
        true => ast::Ident::new(part),
        false => ast::Ident::with_quote('"', part),
    };
    ast::ObjectName::from(parts.into_iter().map(ident).collect::<Vec<_>>())
}
