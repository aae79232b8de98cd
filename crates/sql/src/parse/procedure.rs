//! CREATE PROCEDURE, DROP PROCEDURE and DO.
//!
//! A procedure's body is a list of statements, each ended by a semicolon. There are three spellings: `BEGIN ATOMIC …
//! END`, a string that holds the list, and a string that holds `[DECLARE …] BEGIN … END`. The body of DO has the last.

use super::body::{BodyKind, BodySyntax, read_body};
use super::cursor::Cursor;
use super::lex::{Token, TokenKind, character_position, string_value};
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::parse::names::procedure_name;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast;

/// CREATE PROCEDURE
#[derive(Clone, Debug)]
pub struct CreateProcedure {
    /// The name of the procedure.
    pub name: String,
    /// OR REPLACE
    pub replace: bool,
    /// The arguments, in order.
    pub arguments: Vec<ArgumentSyntax>,
    /// The body of the procedure.
    pub body: Arc<BodySyntax>,
    /// The text of the statement.
    pub text: String,
}

/// The direction of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentMode {
    /// The argument goes into the procedure.
    In,
    /// The argument comes out of the procedure.
    Out,
    /// The argument goes in and comes out.
    InOut,
}

/// An argument of a procedure, as its definition writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentSyntax {
    /// The name of the argument. An argument without a name is known by its number.
    pub name: Option<String>,
    /// IN, OUT, INOUT
    pub mode: ArgumentMode,
    /// The type of the argument.
    pub ty: ast::DataType,
    /// The value of the argument if the call does not give one.
    pub default: Option<Syntax<ast::Expr>>,
}

/// DROP PROCEDURE
#[derive(Clone, Debug, PartialEq)]
pub struct DropProcedures {
    /// IF EXISTS
    pub if_exists: bool,
    /// The names of the procedures. If a statement lists the types of a procedure's arguments, also the types of those
    /// that go in.
    pub procedures: Vec<(String, Option<Vec<ast::DataType>>)>,
}

/// Whether the tokens begin a CREATE PROCEDURE statement.
pub(super) fn creates_procedure(sql: &str, tokens: &[Token]) -> bool {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is(sql, word));
    is(0, "create") && (is(1, "procedure") || (is(1, "or") && is(2, "replace") && is(3, "procedure")))
}

/// Returns the number of tokens that belong to a CREATE PROCEDURE. Semicolons within BEGIN ATOMIC … END do not end it.
pub(super) fn length(sql: &str, tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let is = |at: usize, words: &[&str]| {
            tokens.get(at).is_some_and(|token| words.iter().any(|word| token.is(sql, word)))
        };
        match token.kind {
            TokenKind::Symbol(b';') if depth == 0 => return at,
            TokenKind::Word if depth == 0 => depth = usize::from(is(at, &["begin"]) && is(at + 1, &["atomic"])),
            TokenKind::Word if is(at, &["case", "loop"]) && !is(at - 1, &["end"]) => depth += 1,
            TokenKind::Word if is(at, &["if", "begin"]) && begins_statement(sql, &tokens[..at]) => depth += 1,
            TokenKind::Word if is(at, &["end"]) => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

fn begins_statement(sql: &str, before: &[Token]) -> bool {
    before.last().is_some_and(|token| {
        token.is_symbol(b';') || ["atomic", "begin", "else", "loop", "then"].iter().any(|word| token.is(sql, word))
    })
}

/// Reads `CREATE [OR REPLACE] PROCEDURE`.
pub(super) fn create(cursor: &mut Cursor<'_>) -> Result<CreateProcedure, SqlError> {
    let text = cursor.whole();
    cursor.expect("create")?;
    let replace = cursor.take("or");
    if replace {
        cursor.expect("replace")?;
    }
    cursor.expect("procedure")?;
    let name = procedure_name(cursor.qualified_name()?)?;
    cursor.expect_symbol(b'(')?;
    let arguments = arguments(cursor)?;
    let (mut language, mut body) = (None, None);
    while !cursor.is_at_end() {
        if cursor.take("language") {
            language = Some(known_language(cursor)?);
        } else if cursor.take("security") {
            cursor.expect("invoker")?;
        } else if body.is_none() && cursor.take("as") {
            body = Some(quoted_body(cursor, BodyKind::Quoted)?);
        } else if body.is_none() && cursor.follows(0, "begin") {
            body = Some(atomic_body(cursor)?);
            language.get_or_insert(());
        } else {
            return Err(cursor.unexpected());
        }
    }
    let wrong = |message: &str| SqlError::new(state::INVALID_FUNCTION_DEFINITION, message);
    let body = body.ok_or_else(|| wrong("no function body specified"))?;
    language.ok_or_else(|| wrong("no language specified"))?;
    Ok(CreateProcedure { name, replace, arguments, body: Arc::new(body), text })
}

fn known_language(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    let name = cursor.scalar()?;
    if ["sql", "plpgsql"].contains(&name.as_str()) {
        return Ok(());
    }
    let error = SqlError::new(state::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"));
    Err(error.hint("There are sql and plpgsql."))
}

/// Reads the arguments after the opening parenthesis.
fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<ArgumentSyntax>, SqlError> {
    let mut arguments = Vec::new();
    if cursor.take_symbol(b')') {
        return Ok(arguments);
    }
    loop {
        arguments.push(argument(cursor)?);
        if cursor.take_symbol(b')') {
            return Ok(arguments);
        }
        cursor.expect_symbol(b',')?;
    }
}

fn argument(cursor: &mut Cursor<'_>) -> Result<ArgumentSyntax, SqlError> {
    if cursor.follows(0, "variadic") {
        return Err(unsupported("a VARIADIC argument").at(cursor.position()));
    }
    let mode = if cursor.take("inout") {
        ArgumentMode::InOut
    } else if cursor.take("out") {
        ArgumentMode::Out
    } else if cursor.take("in") {
        if cursor.take("out") { ArgumentMode::InOut } else { ArgumentMode::In }
    } else {
        ArgumentMode::In
    };
    let name = if begins_type(cursor) { None } else { Some(cursor.name()?) };
    let ty = data_type(cursor)?;
    let default = if cursor.take("default") || cursor.take_symbol(b'=') {
        let text = cursor.text_until(|token, _| token.is_symbol(b','))?;
        Some(super::parse_expr(&text).map_err(|error| SqlError { position: None, ..error })?)
    } else {
        None
    };
    Ok(ArgumentSyntax { name, mode, ty, default })
}

/// Whether the next argument begins with its type, since it has no name.
fn begins_type(cursor: &Cursor<'_>) -> bool {
    let second = ["precision", "varying", "with", "without"].iter().any(|word| cursor.follows(1, word));
    second || cursor.follows_symbol(1, b"(),=") || cursor.follows(1, "default") || cursor.is_last()
}

/// Reads a type, up to a token that can follow a type.
fn data_type(cursor: &mut Cursor<'_>) -> Result<ast::DataType, SqlError> {
    let position = cursor.position();
    let ends = |token: &Token, sql: &str| {
        matches!(token.kind, TokenKind::Symbol(b',' | b';' | b':' | b'=')) || token.is(sql, "default")
    };
    let text = cursor.text_until(ends)?;
    super::parse_type(&text).map_err(|error| error.at(position))
}

/// Reads `BEGIN ATOMIC … END`.
fn atomic_body(cursor: &mut Cursor<'_>) -> Result<BodySyntax, SqlError> {
    cursor.expect("begin")?;
    if !cursor.follows(0, "atomic") {
        return Err(cursor.unexpected());
    }
    let start = cursor.any()?.end;
    let (text, offset) = cursor.rest_from(start);
    read_body(&text, Some(offset), BodyKind::Atomic)
}

/// Reads a string, and the body in it.
fn quoted_body(cursor: &mut Cursor<'_>, kind: BodyKind) -> Result<BodySyntax, SqlError> {
    let position = cursor.position();
    let token = cursor.any()?;
    let quoted = cursor.text(&token);
    let (text, offset) = match token.kind {
        // Doubled quotes become single ones, so places in the text are not places in the statement any more.
        TokenKind::String => (string_value(quoted), None),
        TokenKind::OtherString if quoted.starts_with('$') => {
            let tag = quoted[1..].find('$').map_or(quoted.len(), |end| end + 2);
            let tag_characters = character_position(quoted, tag) - 1;
            (quoted[tag..quoted.len() - tag].to_owned(), Some(position - 1 + tag_characters))
        }
        _ => return Err(unsupported("this kind of string as a procedure's body").at(position)),
    };
    read_body(&text, offset, kind)
}

/// Reads `DO [LANGUAGE plpgsql] 'body'`. The parts may come in either order.
pub(super) fn anonymous(cursor: &mut Cursor<'_>) -> Result<BodySyntax, SqlError> {
    cursor.expect("do")?;
    let mut body = None;
    while !cursor.is_at_end() {
        if cursor.take("language") {
            let name = cursor.scalar()?;
            if name != "plpgsql" {
                let error = SqlError::new(state::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"));
                return Err(error.hint("DO has the language plpgsql."));
            }
        } else if body.is_none() {
            body = Some(quoted_body(cursor, BodyKind::Anonymous)?);
        } else {
            return Err(cursor.unexpected());
        }
    }
    body.ok_or_else(|| SqlError::new(state::SYNTAX_ERROR, "no inline code specified"))
}

/// Reads DROP PROCEDURE.
pub(super) fn drop(cursor: &mut Cursor<'_>) -> Result<DropProcedures, SqlError> {
    cursor.expect("drop")?;
    cursor.expect("procedure")?;
    let if_exists = cursor.take("if");
    if if_exists {
        cursor.expect("exists")?;
    }
    let mut procedures = Vec::new();
    loop {
        let name = procedure_name(cursor.qualified_name()?)?;
        let types = if cursor.take_symbol(b'(') {
            let arguments = arguments(cursor)?.into_iter();
            Some(arguments.filter(|argument| argument.mode != ArgumentMode::Out).map(|argument| argument.ty).collect())
        } else {
            None
        };
        procedures.push((name, types));
        if !cursor.take_symbol(b',') {
            break;
        }
    }
    if !cursor.take("cascade") {
        cursor.take("restrict");
    }
    Ok(DropProcedures { if_exists, procedures })
}
