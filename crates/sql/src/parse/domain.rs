//! CREATE, ALTER and DROP DOMAIN.

use super::cursor::Cursor;
use super::lex::Token;
use super::{parse_expr, parse_type};
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::schema::RelationName;
use crate::{SqlError, state};
use sqlparser::ast;

/// The words that begin the clauses of CREATE DOMAIN.
const CLAUSES: [&str; 11] = [
    "collate",
    "default",
    "constraint",
    "not",
    "null",
    "check",
    "unique",
    "primary",
    "references",
    "generated",
    "exclude",
];

/// A CHECK constraint as a statement writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckSyntax {
    /// The name of the constraint, if it is written.
    pub name: Option<String>,
    /// The condition.
    pub condition: Syntax<ast::Expr>,
}

/// The clauses of CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    /// The name of the domain.
    pub name: RelationName,
    /// The type of the values.
    pub ty: ast::DataType,
    /// DEFAULT
    pub default: Option<Syntax<ast::Expr>>,
    /// NOT NULL
    pub not_null: bool,
    /// The CHECK constraints.
    pub checks: Vec<CheckSyntax>,
}

/// The change to a domain that an ALTER DOMAIN statement makes.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainChange {
    /// SET DEFAULT, or DROP DEFAULT without an expression.
    Default(Option<Syntax<ast::Expr>>),
    /// SET NOT NULL or DROP NOT NULL
    NotNull(bool),
    /// ADD CONSTRAINT. The flag says that it is not NOT VALID, so that existing values are checked.
    AddCheck(CheckSyntax, bool),
    /// DROP CONSTRAINT: the name, and whether the statement says IF EXISTS.
    DropCheck(String, bool),
    /// RENAME CONSTRAINT: the old name and the new one.
    RenameCheck(String, String),
    /// VALIDATE CONSTRAINT
    Validate(String),
    /// RENAME TO
    Rename(String),
    /// SET SCHEMA
    SetSchema(String),
    /// OWNER TO
    Owner(String),
}

/// A statement about domains.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainStatement {
    /// CREATE DOMAIN
    Create(Box<CreateDomain>),
    /// ALTER DOMAIN
    Alter(RelationName, DomainChange),
    /// DROP DOMAIN
    Drop {
        /// The names of the domains.
        names: Vec<RelationName>,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
}

/// Reads a statement about domains. The cursor is at its first word, and the second is DOMAIN.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<DomainStatement, SqlError> {
    let verb = cursor.word()?;
    cursor.advance();
    match verb.as_str() {
        "create" => create(cursor).map(Box::new).map(DomainStatement::Create),
        "alter" => {
            let name = cursor.qualified_name()?;
            change(cursor).map(|change| DomainStatement::Alter(name, change))
        }
        _ => drop(cursor),
    }
}

fn create(cursor: &mut Cursor<'_>) -> Result<CreateDomain, SqlError> {
    let name = cursor.qualified_name()?;
    cursor.take("as");
    let ty = parse_type(&cursor.text_until(begins_clause)?)?;
    let (mut default, mut nullable, mut checks) = (None, None, Vec::new());
    let wrong = |message: &str| Err(SqlError::new(state::SYNTAX_ERROR, message));
    while !cursor.is_at_end() {
        if cursor.take("collate") {
            let collation = cursor.dotted_name()?;
            if !matches!(collation.last().map(String::as_str), Some("C" | "POSIX" | "default" | "ucs_basic")) {
                return Err(unsupported(&format!("collation \"{}\"", collation.join("\".\""))));
            }
            continue;
        }
        if cursor.take("default") {
            if default.replace(expression(cursor)?).is_some() {
                return wrong("multiple default expressions");
            }
            continue;
        }
        let name = if cursor.take("constraint") { Some(cursor.name()?) } else { None };
        let unexpected = cursor.unexpected();
        let refuses_null = match cursor.word()?.as_str() {
            "not" => {
                cursor.expect("null")?;
                Some(true)
            }
            "null" => Some(false),
            "check" => {
                checks.push(check(cursor, name)?);
                if cursor.follows(0, "no") {
                    let message = "check constraints for domains cannot be marked NO INHERIT";
                    return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
                }
                None
            }
            "unique" => return wrong("unique constraints not possible for domains"),
            "primary" => return wrong("primary key constraints not possible for domains"),
            "references" => return wrong("foreign key constraints not possible for domains"),
            "exclude" => return wrong("exclusion constraints not possible for domains"),
            _ => return Err(unexpected),
        };
        if let Some(refuses) = refuses_null
            && nullable.replace(!refuses).is_some_and(|known| known == refuses)
        {
            return wrong("conflicting NULL/NOT NULL constraints");
        }
    }
    Ok(CreateDomain { name, ty, default, not_null: nullable == Some(false), checks })
}

/// Whether a token begins a clause of CREATE DOMAIN.
fn begins_clause(token: &Token, sql: &str) -> bool {
    CLAUSES.iter().any(|word| token.is(sql, word))
}

/// Reads the expression of a DEFAULT. Its first token may be NULL or NOT.
fn expression(cursor: &mut Cursor<'_>) -> Result<Syntax<ast::Expr>, SqlError> {
    let first = cursor.offset();
    parse_expr(&cursor.text_until(|token, sql| token.start != first && begins_clause(token, sql))?)
}

fn check(cursor: &mut Cursor<'_>, name: Option<String>) -> Result<CheckSyntax, SqlError> {
    cursor.expect_symbol(b'(')?;
    Ok(CheckSyntax { name, condition: parse_expr(&cursor.parenthesised()?)? })
}

fn change(cursor: &mut Cursor<'_>) -> Result<DomainChange, SqlError> {
    let wrong = cursor.unexpected();
    match cursor.word()?.as_str() {
        "set" if cursor.take("default") => {
            parse_expr(&cursor.rest()).map(|default| DomainChange::Default(Some(default)))
        }
        "drop" if cursor.take("default") => Ok(DomainChange::Default(None)),
        word @ ("set" | "drop") if cursor.take("not") => {
            cursor.expect("null")?;
            Ok(DomainChange::NotNull(word == "set"))
        }
        "add" => {
            let name = if cursor.take("constraint") { Some(cursor.name()?) } else { None };
            cursor.expect("check")?;
            let check = check(cursor, name)?;
            let not_valid = cursor.take("not");
            if not_valid {
                cursor.expect("valid")?;
            }
            Ok(DomainChange::AddCheck(check, !not_valid))
        }
        "drop" if cursor.take("constraint") => {
            let if_exists = cursor.if_exists()?;
            let name = cursor.name()?;
            // No other object depends on a constraint of a domain.
            cursor.cascades();
            Ok(DomainChange::DropCheck(name, if_exists))
        }
        "rename" if cursor.take("constraint") => {
            let old = cursor.name()?;
            cursor.expect("to")?;
            Ok(DomainChange::RenameCheck(old, cursor.name()?))
        }
        "rename" => {
            cursor.expect("to")?;
            cursor.name().map(DomainChange::Rename)
        }
        "validate" => {
            cursor.expect("constraint")?;
            cursor.name().map(DomainChange::Validate)
        }
        "set" if cursor.take("schema") => cursor.name().map(DomainChange::SetSchema),
        "owner" => {
            cursor.expect("to")?;
            cursor.name().map(DomainChange::Owner)
        }
        _ => Err(wrong),
    }
}

fn drop(cursor: &mut Cursor<'_>) -> Result<DomainStatement, SqlError> {
    let if_exists = cursor.if_exists()?;
    let names = cursor.list(Cursor::qualified_name)?;
    let cascade = cursor.cascades();
    Ok(DomainStatement::Drop { names, if_exists, cascade })
}

#[cfg(test)]
mod tests {
    use super::super::lex::tokenize;
    use super::*;

    fn parsed(sql: &str) -> Result<DomainStatement, SqlError> {
        let mut tokens = Vec::new();
        tokenize(sql, &mut tokens)?;
        let mut cursor = Cursor::new(sql, &tokens);
        let statement = parse(&mut cursor)?;
        cursor.expect_end().map(|()| statement)
    }

    #[test]
    fn clauses_come_in_any_order() {
        let sql = "create domain s.d timestamp (3) without time zone collate \"C\" check (value > (now())) default null \
                   constraint n not null constraint \"A b\" check (value is not null)";
        let Ok(DomainStatement::Create(create)) = parsed(sql) else { panic!("{sql}") };
        assert_eq!((create.name.to_string(), create.not_null), ("s.d".to_owned(), true));
        assert_eq!(create.ty.to_string(), "TIMESTAMP(3) WITHOUT TIME ZONE");
        assert_eq!(create.default.map(|default| default.to_string()).as_deref(), Some("NULL"));
        let checks = create.checks.iter().map(|check| (check.name.as_deref(), check.condition.to_string()));
        let expected = [(None, "value > (now())"), (Some("A b"), "value IS NOT NULL")];
        assert_eq!(checks.collect::<Vec<_>>(), expected.map(|(name, text)| (name, text.to_owned())));
    }

    #[test]
    fn mistakes_are_errors() {
        for (sql, expected) in [
            ("create domain d as int not null null", "conflicting NULL/NOT NULL constraints"),
            ("create domain d as int default 1 default 2", "multiple default expressions"),
            ("create domain d as int primary key", "primary key constraints not possible for domains"),
            ("create domain d as", "syntax error at end of input"),
            ("create domain d as int check value > 1", "syntax error at or near \"value\""),
            ("alter domain d add check (value > 1) not null", "syntax error at or near \"null\""),
            ("alter domain d drop", "syntax error at or near \"drop\""),
        ] {
            assert_eq!(parsed(sql).expect_err(sql).message, expected, "{sql}");
        }
    }
}
