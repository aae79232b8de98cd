//! CREATE and DROP of procedures and functions, and DO.
//!
//! A body is a list of statements, each ended by a semicolon. There are three spellings: `BEGIN ATOMIC … END`, a string
//! that holds the list, and a string that holds `[DECLARE …] BEGIN … END`. The body of DO has the last. A function may
//! also have `RETURN value` in place of a body.

use super::body::{BodyKind, BodySyntax, read_body};
use super::cursor::Cursor;
use super::lex::{Token, TokenKind, character_position, string_value};
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::schema::{RelationName, SEARCH_PATH};
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast;

/// A CREATE PROCEDURE or CREATE FUNCTION statement.
#[derive(Clone, Debug)]
pub struct CreateProcedure {
    /// The name of the procedure or function.
    pub name: RelationName,
    /// The properties that only functions have; `None` for a procedure.
    pub function: Option<FunctionSyntax>,
    /// SET search_path: the search path of the body.
    pub path: Option<String>,
    /// The language of the body.
    pub language: Language,
    /// OR REPLACE
    pub replace: bool,
    /// The arguments, in order.
    pub arguments: Vec<ArgumentSyntax>,
    /// The body of the procedure.
    pub body: Arc<BodySyntax>,
    /// The text of the statement.
    pub text: String,
}

impl CreateProcedure {
    /// Returns the statement's command tag.
    pub fn tag(&self) -> &'static str {
        if self.function.is_some() { "CREATE FUNCTION" } else { "CREATE PROCEDURE" }
    }
}

/// The properties of a function, as CREATE FUNCTION writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSyntax {
    /// RETURNS. `None` if there is no RETURNS, or if it is RETURNS TABLE. The OUT, INOUT and TABLE arguments are then
    /// the result of the function.
    pub returns: Option<ReturnsSyntax>,
    /// SETOF or TABLE: the function returns any number of rows.
    pub is_set: bool,
    /// How far the result may change from call to call.
    pub volatility: Volatility,
    /// STRICT: the result is NULL if an argument is, and the body does not run.
    pub strict: bool,
}

/// The type after RETURNS.
#[derive(Clone, Debug, PartialEq)]
pub enum ReturnsSyntax {
    /// `void`
    Nothing,
    /// `trigger`
    Trigger,
    /// `record`: a row of the OUT and INOUT arguments.
    Record,
    /// A value of a type, or a row of a table or view.
    Value(ast::DataType),
}

/// How far the result of a function may change from call to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// The result depends on the arguments alone.
    Immutable,
    /// The result stays the same while a statement runs.
    Stable,
    /// The result may change at any time.
    Volatile,
}

/// The language of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// SQL: the last statement gives the result of a function.
    Sql,
    /// PL/pgSQL: RETURN gives the result of a function.
    PlPgSql,
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
    /// The argument is a column after RETURNS TABLE.
    Table,
}

impl ArgumentMode {
    /// Whether the argument passes a value into the procedure.
    pub fn goes_in(self) -> bool {
        matches!(self, ArgumentMode::In | ArgumentMode::InOut)
    }

    /// Whether the argument returns a value, or is a column of the result.
    pub fn comes_out(self) -> bool {
        self != ArgumentMode::In
    }
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

/// The kind of routine that a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// FUNCTION
    Function,
    /// PROCEDURE
    Procedure,
    /// ROUTINE, which means either.
    Routine,
}

impl RoutineKind {
    /// Returns the keyword of the kind, in lower case.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
            RoutineKind::Routine => "routine",
        }
    }
}

/// The name of a procedure or function, as a statement writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineName {
    /// The name.
    pub name: RelationName,
    /// The types of the IN and INOUT arguments, if the statement lists them.
    pub types: Option<Vec<ast::DataType>>,
}

/// A DROP PROCEDURE, DROP FUNCTION or DROP ROUTINE statement.
#[derive(Clone, Debug, PartialEq)]
pub struct DropProcedures {
    /// The kind of routine that the statement names.
    pub kind: RoutineKind,
    /// IF EXISTS
    pub if_exists: bool,
    /// CASCADE: the triggers that run a dropped function are dropped, too, and the views and defaults that call it.
    pub cascade: bool,
    /// The procedures and functions.
    pub procedures: Vec<RoutineName>,
}

/// An ALTER FUNCTION, ALTER PROCEDURE or ALTER ROUTINE statement.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterProcedure {
    /// The kind of routine that the statement names.
    pub kind: RoutineKind,
    /// The procedure or function.
    pub routine: RoutineName,
    /// The change.
    pub change: RoutineChange,
}

/// The change that ALTER FUNCTION and the like make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutineChange {
    /// OWNER TO
    Owner(String),
    /// RENAME TO
    Rename(String),
    /// SET SCHEMA
    SetSchema(String),
    /// SET search_path; `None` is DEFAULT, or RESET.
    SetPath(Option<String>),
}

impl DropProcedures {
    /// Returns the statement's command tag.
    pub fn tag(&self) -> &'static str {
        match self.kind {
            RoutineKind::Function => "DROP FUNCTION",
            RoutineKind::Procedure => "DROP PROCEDURE",
            RoutineKind::Routine => "DROP ROUTINE",
        }
    }
}

/// Whether the tokens begin a CREATE PROCEDURE or CREATE FUNCTION.
pub(super) fn creates_procedure(cursor: &Cursor<'_>) -> bool {
    let is_routine = |at: usize| cursor.follows(at, "procedure") || cursor.follows(at, "function");
    let replaces = || cursor.follows(1, "or") && cursor.follows(2, "replace");
    cursor.follows(0, "create") && (is_routine(1) || (replaces() && is_routine(3)))
}

/// Returns the number of tokens that belong to a CREATE PROCEDURE or CREATE FUNCTION. Semicolons within BEGIN ATOMIC …
/// END do not end it.
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

/// Reads `CREATE [OR REPLACE] PROCEDURE` or `CREATE [OR REPLACE] FUNCTION`.
pub(super) fn create(cursor: &mut Cursor<'_>) -> Result<CreateProcedure, SqlError> {
    let text = cursor.whole();
    cursor.expect("create")?;
    let replace = cursor.take("or");
    if replace {
        cursor.expect("replace")?;
    }
    let mut function = if cursor.take("function") {
        Some(FunctionSyntax { returns: None, is_set: false, volatility: Volatility::Volatile, strict: false })
    } else {
        cursor.expect("procedure")?;
        None
    };
    let name = cursor.qualified_name()?;
    cursor.expect_symbol(b'(')?;
    let mut arguments = arguments(cursor)?;
    if let Some(function) = &mut function
        && cursor.take("returns")
    {
        if cursor.follows(0, "table") && cursor.follows_symbol(1, b"(") {
            arguments.extend(columns(cursor, &arguments)?);
            function.is_set = true;
        } else {
            function.is_set = cursor.take("setof");
            function.returns = Some(returns(cursor)?);
        }
    }
    let (mut language, mut body, mut path) = (None, None, None);
    while !cursor.is_at_end() {
        if cursor.take("language") {
            language = Some(known_language(cursor)?);
        } else if cursor.take("external") || cursor.follows(0, "security") {
            cursor.expect("security")?;
            // Every role may do everything, so it makes no difference whose privileges the body has.
            if !cursor.take("definer") {
                cursor.expect("invoker")?;
            }
        } else if cursor.follows(0, "set") {
            path = own_path(cursor)?;
        } else if body.is_none() && cursor.take("as") {
            body = Some(quoted_body(cursor, BodyKind::Quoted)?);
        } else if body.is_none() && cursor.follows(0, "begin") {
            body = Some(atomic_body(cursor)?);
            language.get_or_insert(Language::Sql);
        } else if body.is_none() && function.is_some() && cursor.follows(0, "return") {
            let (text, offset) = cursor.rest_from(cursor.offset());
            let read = read_body(&text, Some(offset), BodyKind::Quoted)?;
            body = Some(BodySyntax { is_quoted: false, ..read });
            language.get_or_insert(Language::Sql);
        } else if let Some(function) = &mut function {
            trait_of_function(cursor, function)?;
        } else {
            return Err(cursor.unexpected());
        }
    }
    let wrong = |message: &str| SqlError::new(state::INVALID_FUNCTION_DEFINITION, message);
    let body = body.ok_or_else(|| wrong("no function body specified"))?;
    let language = language.ok_or_else(|| wrong("no language specified"))?;
    Ok(CreateProcedure { name, function, path, language, replace, arguments, body: Arc::new(body), text })
}

/// Reads `SET search_path {TO | =} schema, …`. Returns `None` for DEFAULT.
fn own_path(cursor: &mut Cursor<'_>) -> Result<Option<String>, SqlError> {
    let position = cursor.position();
    cursor.expect("set")?;
    let name = cursor.setting_name()?;
    let is_value = cursor.take_symbol(b'=') || cursor.take("to");
    if name != SEARCH_PATH || !is_value {
        let error = unsupported(&format!("SET {name} of a function")).at(position);
        return Err(error.hint("A function may set search_path to a list of schemas."));
    }
    cursor.path()
}

/// Reads the columns of RETURNS TABLE from TABLE on, as further arguments.
fn columns(cursor: &mut Cursor<'_>, before: &[ArgumentSyntax]) -> Result<Vec<ArgumentSyntax>, SqlError> {
    let position = cursor.position();
    cursor.expect("table")?;
    cursor.expect_symbol(b'(')?;
    if before.iter().any(|argument| argument.mode.comes_out()) {
        let message = "OUT and INOUT arguments aren't allowed in TABLE functions";
        return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
    }
    let mut columns = arguments(cursor)?;
    for column in &mut columns {
        if column.name.is_none() || column.mode != ArgumentMode::In || column.default.is_some() {
            let message = "a column of RETURNS TABLE has a name and a type";
            return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
        }
        column.mode = ArgumentMode::Table;
    }
    match columns.is_empty() {
        true => Err(SqlError::new(state::SYNTAX_ERROR, "RETURNS TABLE has no columns").at(position)),
        false => Ok(columns),
    }
}

/// Reads the type after RETURNS.
fn returns(cursor: &mut Cursor<'_>) -> Result<ReturnsSyntax, SqlError> {
    const AFTER: [&str; 21] = [
        "language",
        "as",
        "immutable",
        "stable",
        "volatile",
        "strict",
        "called",
        "returns",
        "external",
        "security",
        "parallel",
        "cost",
        "rows",
        "set",
        "begin",
        "return",
        "leakproof",
        "not",
        "window",
        "support",
        "transform",
    ];
    if cursor.take("void") {
        return Ok(ReturnsSyntax::Nothing);
    }
    if cursor.take("trigger") {
        return Ok(ReturnsSyntax::Trigger);
    }
    let position = cursor.position();
    let text = cursor.text_until(|token, sql| AFTER.iter().any(|word| token.is(sql, word)))?;
    if text.eq_ignore_ascii_case("record") {
        return Ok(ReturnsSyntax::Record);
    }
    super::parse_type(&text).map(ReturnsSyntax::Value).map_err(|error| error.at(position))
}

/// Reads one of the clauses that only functions have.
fn trait_of_function(cursor: &mut Cursor<'_>, function: &mut FunctionSyntax) -> Result<(), SqlError> {
    let position = cursor.position();
    let word = cursor.word()?;
    match word.as_str() {
        "immutable" => function.volatility = Volatility::Immutable,
        "stable" => function.volatility = Volatility::Stable,
        "volatile" => function.volatility = Volatility::Volatile,
        "strict" => function.strict = true,
        "called" | "returns" => {
            function.strict = word == "returns";
            if function.strict {
                cursor.expect("null")?;
            }
            for word in ["on", "null", "input"] {
                cursor.expect(word)?;
            }
        }
        // The planner does not use what the following clauses promise.
        "leakproof" => {}
        "not" => cursor.expect("leakproof")?,
        "parallel" => {
            if !["safe", "restricted", "unsafe"].iter().any(|word| cursor.take(word)) {
                return Err(cursor.unexpected());
            }
        }
        "cost" | "rows" => {
            if !cursor.is_at_number() {
                return Err(cursor.unexpected());
            }
            cursor.advance();
        }
        "window" | "support" | "transform" => {
            return Err(unsupported(&format!("{} of a function", word.to_uppercase())).at(position));
        }
        _ => {
            let message = format!("syntax error at or near \"{word}\"");
            return Err(SqlError::new(state::SYNTAX_ERROR, message).at(position));
        }
    }
    Ok(())
}

fn known_language(cursor: &mut Cursor<'_>) -> Result<Language, SqlError> {
    let name = cursor.scalar()?;
    match name.as_str() {
        "sql" => Ok(Language::Sql),
        "plpgsql" => Ok(Language::PlPgSql),
        _ => {
            let error = SqlError::new(state::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"));
            Err(error.hint("There are sql and plpgsql."))
        }
    }
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
    second || cursor.follows_symbol(1, b"(),=[.") || cursor.follows(1, "default") || cursor.is_last()
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

/// Reads DROP PROCEDURE, DROP FUNCTION or DROP ROUTINE.
pub(super) fn drop(cursor: &mut Cursor<'_>) -> Result<DropProcedures, SqlError> {
    cursor.expect("drop")?;
    let kinds = [RoutineKind::Function, RoutineKind::Procedure, RoutineKind::Routine];
    let kind = kinds.into_iter().find(|kind| cursor.take(kind.word())).ok_or_else(|| cursor.unexpected())?;
    let if_exists = cursor.if_exists()?;
    let procedures = cursor.list(named)?;
    let cascade = cursor.cascades();
    Ok(DropProcedures { kind, if_exists, cascade, procedures })
}

/// Reads the name of a procedure or function, with the types of its IN and INOUT arguments if they are listed.
pub(super) fn named(cursor: &mut Cursor<'_>) -> Result<RoutineName, SqlError> {
    let name = cursor.qualified_name()?;
    if !cursor.take_symbol(b'(') {
        return Ok(RoutineName { name, types: None });
    }
    let arguments = arguments(cursor)?.into_iter();
    let inputs = arguments.filter(|argument| argument.mode.goes_in());
    Ok(RoutineName { name, types: Some(inputs.map(|argument| argument.ty).collect()) })
}

/// Reads ALTER FUNCTION, ALTER PROCEDURE or ALTER ROUTINE.
pub(super) fn alter(cursor: &mut Cursor<'_>) -> Result<AlterProcedure, SqlError> {
    cursor.expect("alter")?;
    let kinds = [RoutineKind::Function, RoutineKind::Procedure, RoutineKind::Routine];
    let kind = kinds.into_iter().find(|kind| cursor.take(kind.word())).ok_or_else(|| cursor.unexpected())?;
    let routine = named(cursor)?;
    let position = cursor.position();
    let change = if cursor.take("owner") {
        cursor.expect("to")?;
        RoutineChange::Owner(cursor.name()?)
    } else if cursor.take("rename") {
        cursor.expect("to")?;
        RoutineChange::Rename(cursor.name()?)
    } else if cursor.follows(0, "set") && cursor.follows(1, "schema") {
        cursor.advance();
        cursor.advance();
        RoutineChange::SetSchema(cursor.name()?)
    } else if cursor.follows(0, "set") {
        RoutineChange::SetPath(own_path(cursor)?)
    } else if cursor.take("reset") {
        // No function has another setting.
        cursor.setting_name()?;
        RoutineChange::SetPath(None)
    } else {
        return Err(unsupported(&format!("this form of ALTER {}", kind.word().to_uppercase())).at(position));
    };
    Ok(AlterProcedure { kind, routine, change })
}
