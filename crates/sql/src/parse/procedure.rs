//! CREATE PROCEDURE and DROP PROCEDURE. The frame around a body's statements is read by hand, and each statement by
//! sqlparser.
//!
//! A body is a list of statements, each ended by a semicolon. There are three spellings: `BEGIN ATOMIC … END`, a string
//! that holds the list, and a string that holds `[DECLARE …] BEGIN … END`. If a part is taken out of a statement
//! (INTO), blanks take its place, so that positions stay true.

use super::cursor::Cursor;
use super::lex::{Token, TokenKind, character_position, string_value, tokenize};
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::parse::names::procedure_name;
use crate::{SqlError, state};
use sqlparser::ast;

/// The greatest number of tokens in a body. A thousand tokens take about a megabyte of syntax.
const MOST_TOKENS: usize = 16 << 10;

/// CREATE PROCEDURE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateProcedure {
    /// The name of the procedure.
    pub name: String,
    /// OR REPLACE
    pub replace: bool,
    /// The arguments, in order.
    pub arguments: Vec<ArgumentSyntax>,
    /// The body of the procedure.
    pub body: BodySyntax,
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

/// The body of a procedure, as its definition writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodySyntax {
    /// The variables.
    pub declarations: Vec<Declaration>,
    /// The statements.
    pub steps: Vec<StepSyntax>,
    /// The names of the procedures that the body calls.
    pub calls: Vec<String>,
}

/// A variable that a body declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The line of the body, from one.
    pub line: usize,
    /// The name of the variable.
    pub name: String,
    /// The type of the variable.
    pub ty: ast::DataType,
    /// The first value of the variable, which is NULL by default.
    pub value: Option<Expression>,
}

/// A statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSyntax {
    /// The line of the body, from one.
    pub line: usize,
    /// The kind of the statement, with its parts.
    pub kind: StepKind,
}

/// The kinds of statements in a body.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// Runs a statement and assigns the columns of its first row to variables.
    Run {
        /// The statement without INTO.
        statement: Syntax<ast::Statement>,
        /// The text of the statement.
        text: Fragment,
        /// The variables after INTO.
        into: Vec<String>,
    },
    /// Gives a variable a value.
    Assign {
        /// The variable.
        target: String,
        /// The value.
        value: Expression,
    },
    /// Runs the statements after the first condition that is true.
    If {
        /// IF and ELSIF: each condition with its statements.
        arms: Vec<(Expression, Vec<StepSyntax>)>,
        /// ELSE: the statements if no condition is true.
        otherwise: Vec<StepSyntax>,
    },
    /// Ends the procedure.
    Return,
}

/// An expression with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The syntax.
    pub expr: Syntax<ast::Expr>,
    /// The text of the expression.
    pub text: Fragment,
}

/// A part of a procedure's body, with its place in the text that the client sent. The positions of errors are computed
/// from this place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The text; empty if its place is not known.
    pub text: String,
    /// The number of characters before the part in the text that the client sent.
    pub offset: u32,
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
            TokenKind::Word if is(at, &["case"]) && !is(at - 1, &["end"]) => depth += 1,
            TokenKind::Word if is(at, &["if"]) && begins_statement(sql, &tokens[..at]) => depth += 1,
            TokenKind::Word if is(at, &["end"]) => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

fn begins_statement(sql: &str, before: &[Token]) -> bool {
    before
        .last()
        .is_some_and(|token| token.is_symbol(b';') || ["atomic", "then", "else"].iter().any(|word| token.is(sql, word)))
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
            body = Some(quoted_body(cursor)?);
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
    Ok(CreateProcedure { name, replace, arguments, body, text })
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
    read_body(&text, Some(offset), true)
}

/// Reads the string in `AS $$ … $$`, and the body in it.
fn quoted_body(cursor: &mut Cursor<'_>) -> Result<BodySyntax, SqlError> {
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
    read_body(&text, offset, false)
}

/// Reads a body. `offset` is the number of characters before it in the client's text, if that is known. `ends` says
/// that END closes the body.
fn read_body(text: &str, offset: Option<u32>, ends: bool) -> Result<BodySyntax, SqlError> {
    let mut tokens = Vec::new();
    let body = tokenize(text, &mut tokens)
        .and_then(|()| check_length(&tokens))
        .and_then(|()| super::syntax::check_depth(text, &tokens))
        .and_then(|()| Body::read(text, &tokens, offset, ends));
    body.map_err(|error| match (error.position, offset) {
        (Some(position), Some(offset)) => error.at(position + offset),
        _ => SqlError { position: None, ..error },
    })
}

/// Checks the number of a body's tokens. The check of the whole statement does not cover it, since the body is one
/// token there.
fn check_length(tokens: &[Token]) -> Result<(), SqlError> {
    if tokens.len() <= MOST_TOKENS {
        return Ok(());
    }
    let message = format!("a procedure's body can have at most {MOST_TOKENS} words and signs");
    Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message).hint("Divide it into several procedures."))
}

/// The reader of a body. Positions in its errors are positions in the body's own text.
struct Body<'b> {
    text: &'b str,
    cursor: Cursor<'b>,
    /// The number of characters before the body in the client's text, if it is known.
    offset: Option<u32>,
    calls: Vec<String>,
    /// The present nesting of IF.
    depth: usize,
    /// The place that was computed last.
    place: Place,
}

/// A place in a body. Places are computed in ascending order, each from the one before.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The offset in bytes.
    offset: usize,
    /// The offset in characters.
    characters: u32,
    /// The line, from one.
    line: usize,
}

impl<'b> Body<'b> {
    /// Reads the whole body. `ends` says that END closes it.
    fn read(text: &'b str, tokens: &'b [Token], offset: Option<u32>, ends: bool) -> Result<BodySyntax, SqlError> {
        let place = Place { offset: 0, characters: 0, line: 1 };
        let mut body = Self { text, cursor: Cursor::new(text, tokens), offset, calls: Vec::new(), depth: 0, place };
        let mut declarations = body.declarations()?;
        let mut ends = ends;
        if !ends && body.cursor.take("begin") {
            body.cursor.take("atomic");
            declarations.extend(body.declarations()?);
            ends = true;
        }
        let steps = body.steps()?;
        if ends {
            body.cursor.expect("end")?;
            body.cursor.take_symbol(b';');
        }
        body.cursor.expect_end()?;
        Ok(BodySyntax { declarations, steps, calls: body.calls })
    }

    /// Returns the place of the next token.
    fn place(&mut self) -> Place {
        let offset = self.cursor.offset();
        let passed = &self.text[self.place.offset..offset];
        self.place.characters += character_position(passed, passed.len()) - 1;
        self.place.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        self.place.offset = offset;
        self.place
    }

    /// Reads `DECLARE name type [:= value]; …`.
    fn declarations(&mut self) -> Result<Vec<Declaration>, SqlError> {
        const AFTER: [&str; 13] = [
            "begin", "select", "values", "with", "insert", "update", "delete", "call", "if", "set", "return", "end",
            "declare",
        ];
        let mut declarations = Vec::new();
        while self.cursor.take("declare") {
            loop {
                let (line, name) = (self.place().line, self.cursor.name()?);
                let ty = data_type(&mut self.cursor)?;
                let colon = self.cursor.take_symbol(b':');
                let value = if self.cursor.take_symbol(b'=') || (!colon && self.cursor.take("default")) {
                    Some(self.expression(|token, _| token.is_symbol(b';'))?)
                } else {
                    None
                };
                self.cursor.expect_symbol(b';')?;
                declarations.push(Declaration { line, name, ty, value });
                if self.cursor.is_at_end() || AFTER.iter().any(|word| self.cursor.follows(0, word)) {
                    break;
                }
                // `name :=` or `name =` begins the first statement.
                if self.cursor.follows_symbol(1, b":=") {
                    break;
                }
            }
        }
        Ok(declarations)
    }

    /// Reads statements up to END, ELSE or ELSIF.
    fn steps(&mut self) -> Result<Vec<StepSyntax>, SqlError> {
        let mut steps = Vec::new();
        while !self.cursor.is_at_end()
            && !["end", "else", "elsif", "elseif"].iter().any(|word| self.cursor.follows(0, word))
        {
            let line = self.place().line;
            let kind = self.step()?;
            steps.push(StepSyntax { line, kind });
            // The last statement of a string needs no semicolon.
            if !self.cursor.take_symbol(b';') && !self.cursor.is_at_end() {
                return Err(self.cursor.unexpected());
            }
        }
        Ok(steps)
    }

    fn step(&mut self) -> Result<StepKind, SqlError> {
        if self.cursor.take("if") {
            return self.conditional();
        }
        if self.cursor.take("return") {
            return Ok(StepKind::Return);
        }
        if self.cursor.take("set") || self.cursor.follows_symbol(1, b":=") {
            let target = self.cursor.name()?;
            self.cursor.take_symbol(b':');
            self.cursor.expect_symbol(b'=')?;
            let value = self.expression(|token, _| token.is_symbol(b';'))?;
            return Ok(StepKind::Assign { target, value });
        }
        let word = self.cursor.peek_word().unwrap_or_default();
        if ["select", "values", "with", "insert", "update", "delete", "call"].contains(&word.as_str()) {
            return self.statement();
        }
        Err(match REFUSED.contains(&word.as_str()) {
            true => unsupported(&format!("{} in a procedure", word.to_uppercase())).at(self.cursor.position()),
            false => self.cursor.unexpected(),
        })
    }

    /// Reads IF, whose first word was taken.
    fn conditional(&mut self) -> Result<StepKind, SqlError> {
        self.depth += 1;
        if self.depth > super::syntax::MAX_DEPTH {
            let hint = format!("IF may nest {} deep.", super::syntax::MAX_DEPTH);
            return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(hint));
        }
        let mut arms = Vec::new();
        loop {
            let condition = self.expression(|token, sql| token.is(sql, "then") || token.is_symbol(b';'))?;
            self.cursor.expect("then")?;
            arms.push((condition, self.steps()?));
            if !self.cursor.take("elsif") && !self.cursor.take("elseif") {
                break;
            }
        }
        let otherwise = if self.cursor.take("else") { self.steps()? } else { Vec::new() };
        self.cursor.expect("end")?;
        self.cursor.expect("if")?;
        self.depth -= 1;
        Ok(StepKind::If { arms, otherwise })
    }

    /// Reads a statement by sqlparser, with blanks in place of its INTO.
    fn statement(&mut self) -> Result<StepKind, SqlError> {
        let start = self.place();
        let inserts = self.cursor.follows(0, "insert");
        let mut text = self.cursor.text_until(|token, _| token.is_symbol(b';'))?;
        let mut tokens = Vec::new();
        tokenize(&text, &mut tokens)?;
        let into = take_into(&mut text, &tokens, usize::from(inserts) * 2).map_err(|error| shifted(error, start))?;
        let statement = super::syntax::parse_ast(&text).map_err(|error| shifted(error, start))?;
        if let ast::Statement::Call(function) = &*statement
            && let Ok(name) = crate::parse::names::object_name(&function.name).and_then(procedure_name)
        {
            self.calls.push(name);
        }
        Ok(StepKind::Run { statement, text: self.fragment(text, start), into })
    }

    fn expression(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<Expression, SqlError> {
        let start = self.place();
        let text = self.cursor.text_until(ends)?;
        let expr = super::parse_expr(&text).map_err(|error| shifted(error, start))?;
        Ok(Expression { expr, text: self.fragment(text, start) })
    }

    fn fragment(&self, text: String, start: Place) -> Fragment {
        match self.offset {
            Some(offset) => Fragment { text, offset: offset + start.characters },
            None => Fragment::default(),
        }
    }
}

/// Converts the position of an error within a part of the body to a position within the body.
fn shifted(error: SqlError, start: Place) -> SqlError {
    match error.position {
        Some(position) => error.at(position + start.characters),
        None => error,
    }
}

/// The first words of the statements that a procedure cannot contain.
const REFUSED: [&str; 26] = [
    "abort",
    "alter",
    "analyze",
    "begin",
    "commit",
    "copy",
    "create",
    "deallocate",
    "discard",
    "drop",
    "execute",
    "explain",
    "for",
    "grant",
    "lock",
    "loop",
    "merge",
    "prepare",
    "raise",
    "release",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "truncate",
    "vacuum",
];

/// Takes `INTO a, b` out of a statement's text, leaves blanks in its place, and returns the names. The first `skip`
/// tokens are not searched.
fn take_into(text: &mut String, tokens: &[Token], skip: usize) -> Result<Vec<String>, SqlError> {
    let mut depth = 0_i32;
    let mut found = None;
    for (at, token) in tokens.iter().enumerate().skip(skip) {
        match token.kind {
            TokenKind::Symbol(b'(') => depth += 1,
            TokenKind::Symbol(b')') => depth -= 1,
            TokenKind::Word if depth == 0 && token.is(text, "into") => {
                found = Some(at);
                break;
            }
            _ => {}
        }
    }
    let Some(at) = found else { return Ok(Vec::new()) };
    let mut cursor = Cursor::new(text, &tokens[at + 1..]);
    let mut names = vec![cursor.name()?];
    while cursor.take_symbol(b',') {
        names.push(cursor.name()?);
    }
    // A name and the comma after it are one token each; INTO itself comes before them.
    let range = tokens[at].start..tokens[at + 2 * names.len() - 1].end;
    let blanks: String =
        text[range.clone()].chars().map(|character| if character == '\n' { '\n' } else { ' ' }).collect();
    text.replace_range(range, &blanks);
    Ok(names)
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
