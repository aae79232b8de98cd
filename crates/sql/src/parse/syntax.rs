//! The use of crate sqlparser: its limits, and its errors in PostgreSQL's words.

use super::lex::{self, Token, TokenKind, character_position};
use super::{
    conflict, grouping, intervals, isnull, like, named_columns, only, row_locks, sequence, signs, trim, view_options,
    window,
};
use crate::depth::{Syntax, with_room};
use crate::{SqlError, state};
use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, TokenWithSpan, Tokenizer};

/// The greatest depth to which expressions and queries may nest.
pub(super) const MAX_DEPTH: usize = 128;

/// The greatest depth that a syntax tree may have. Each word and each operator in a row may add one level.
const MAX_LINKS: usize = 5000;

pub(super) fn parse_ast(text: &str) -> Result<Syntax<ast::Statement>, SqlError> {
    let mut tokens = tokens_of(text)?;
    let overriding = take_overriding(&mut tokens)?;
    window::take_exclusions(&mut tokens);
    row_locks::take_strengths(&mut tokens);
    sequence::sort_identity_clauses(&mut tokens);
    like::carry(&mut tokens);
    named_columns::carry(&mut tokens);
    conflict::carry(&mut tokens);
    only::take(&mut tokens);
    grouping::carry(&mut tokens);
    view_options::carry(&mut tokens);
    let mut parser = parser_of(tokens);
    let mut statement = parser.parse_statement().map_err(|error| from_parser(text, error))?;
    if let ast::Statement::Insert(insert) = &mut statement {
        if insert.overwrite {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"OVERWRITE\""));
        }
        insert.overwrite = overriding;
    }
    let statement = Syntax::new(statement);
    let rest = parser.peek_token();
    if rest.token != sqlparser::tokenizer::Token::EOF {
        return Err(at_or_near(text, rest.span.start));
    }
    Ok(statement)
}

/// Returns sqlparser's tokens of a text. The forms of expressions that sqlparser does not know are replaced by forms
/// that it knows.
fn tokens_of(text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize_with_location()
        .map_err(|error| syntax_error(text, &error.message, Some(error.location)))?;
    signs::take_off(&mut tokens);
    trim::take_from(&mut tokens);
    intervals::turn(&mut tokens);
    isnull::split(&mut tokens);
    Ok(tokens)
}

fn parser_of(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&PostgreSqlDialect {}).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens)
}

/// Whether an INSERT says OVERRIDING SYSTEM VALUE. Its values are then stored in an identity column, which otherwise
/// only the sequence fills.
pub fn overrides_identities(insert: &ast::Insert) -> bool {
    // The syntax tree has no place for the clause. It is carried by the flag of Hive's OVERWRITE, which PostgreSQL does
    // not have.
    insert.overwrite
}

/// Takes OVERRIDING SYSTEM VALUE out of an INSERT, since the parser does not know the clause. Returns whether it was
/// there.
///
/// # Errors
/// 0A000 if the clause is OVERRIDING USER VALUE.
fn take_overriding(tokens: &mut Vec<TokenWithSpan>) -> Result<bool, SqlError> {
    use sqlparser::tokenizer::Token;
    let word = |token: &Token, text: &str| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text));
    let words: Vec<usize> = (0..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_))).collect();
    if !words.first().is_some_and(|&at| word(&tokens[at].token, "insert")) {
        return Ok(false);
    }
    let is = |&at: &usize, text| word(&tokens[at].token, text);
    let overriding =
        words.windows(3).find(|words| is(&words[0], "overriding") && is(&words[2], "value") && !is(&words[1], "from"));
    let Some(&[first, which, last]) = overriding else { return Ok(false) };
    if !is(&which, "system") {
        return Err(crate::error::unsupported("OVERRIDING USER VALUE").hint("Leave the identity's column out."));
    }
    tokens.drain(first..=last);
    Ok(true)
}

/// Parses the text of an argument list, such as `(1, 'a')`. Returns its expressions.
pub fn parse_arguments(text: &str) -> Result<Syntax<Vec<ast::Expr>>, SqlError> {
    let dialect = PostgreSqlDialect {};
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(MAX_DEPTH)
        .try_with_sql(text)
        .map_err(|error| from_parser(text, error))?;
    let parse = |parser: &mut Parser<'_>| {
        parser.expect_token(&sqlparser::tokenizer::Token::LParen)?;
        let list = parser.parse_comma_separated0(Parser::parse_expr, sqlparser::tokenizer::Token::RParen)?;
        parser.expect_token(&sqlparser::tokenizer::Token::RParen)?;
        parser.expect_token(&sqlparser::tokenizer::Token::EOF)?;
        Ok(list)
    };
    with_room(|| parse(&mut parser).map(Syntax::new).map_err(|error| from_parser(text, error)))
}

/// Parses a text that is one query and nothing else.
pub fn parse_query(text: &str) -> Result<Syntax<ast::Query>, SqlError> {
    with_room(|| match &*parse_ast(text)? {
        ast::Statement::Query(query) => Ok(Syntax::new((**query).clone())),
        _ => Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: a query was expected")),
    })
}

/// Parses a text that is one expression and nothing else.
pub fn parse_expr(text: &str) -> Result<Syntax<ast::Expr>, SqlError> {
    with_room(|| parse_expr_in_place(text))
}

fn parse_expr_in_place(text: &str) -> Result<Syntax<ast::Expr>, SqlError> {
    let mut parser = parser_of(tokens_of(text)?);
    let expr = parser.parse_expr().map(Syntax::new).map_err(|error| from_parser(text, error))?;
    let rest = parser.peek_token();
    if rest.token != sqlparser::tokenizer::Token::EOF {
        return Err(at_or_near(text, rest.span.start));
    }
    Ok(expr)
}

/// Parses a text that is the name of a type and nothing else.
pub fn parse_type(text: &str) -> Result<ast::DataType, SqlError> {
    let dialect = PostgreSqlDialect {};
    let mut parser = Parser::new(&dialect).try_with_sql(text).map_err(|error| from_parser(text, error))?;
    let ty = with_room(|| parser.parse_data_type().map_err(|error| from_parser(text, error)))?;
    let rest = parser.peek_token();
    if rest.token != sqlparser::tokenizer::Token::EOF {
        return Err(at_or_near(text, rest.span.start));
    }
    Ok(ty)
}

/// Checks that a text does not nest too deeply for sqlparser. The parser calls itself for nested syntax, and its tree
/// of a chain such as `a + b + c` nests to the left. There is [room](with_room) for neither beyond a certain depth. The
/// check also refuses two strings side by side.
pub(super) fn check_depth(sql: &str, tokens: &[Token]) -> Result<(), SqlError> {
    for pair in tokens.windows(2) {
        if let [Token { kind: TokenKind::String, end, .. }, next @ Token { kind: TokenKind::String, .. }] = pair {
            return Err(adjacent_strings(sql, *end, next));
        }
    }
    let mut outer = Vec::new();
    let mut level = Level::default();
    // The brackets of `int[][][]` stand side by side, but the types that they make nest.
    let (mut brackets, mut after_bracket) = (0, false);
    for token in tokens {
        if token.is_symbol(b'[') {
            brackets = if after_bracket { brackets + 1 } else { 1 };
        }
        after_bracket = token.is_symbol(b']');
        match token.kind {
            TokenKind::Symbol(b'(' | b'[') => outer.push(std::mem::take(&mut level)),
            TokenKind::Symbol(b')' | b']') => {
                let inner = std::mem::replace(&mut level, outer.pop().unwrap_or_default());
                level.links += 1;
                level.inner = level.inner.max(inner.depth());
            }
            TokenKind::Symbol(b',' | b';') => {
                level.before = level.depth();
                (level.links, level.inner) = (0, 0);
            }
            TokenKind::Symbol(_) | TokenKind::Word => level.links += 1,
            _ => {}
        }
        if outer.len().max(brackets) > MAX_DEPTH || level.depth() > MAX_LINKS {
            return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .hint(format!("A statement may nest {MAX_DEPTH} deep and chain {MAX_LINKS} words and operators."))
                .at(character_position(sql, token.start)));
        }
    }
    Ok(())
}

/// The greatest depth that the syntax between two parentheses can have.
#[derive(Debug, Default)]
struct Level {
    /// The number of words and operators since the last comma. Each may put one node above the nodes before it.
    links: usize,
    /// The greatest depth within parentheses since the last comma.
    inner: usize,
    /// The greatest depth before that comma.
    before: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.before.max(self.links + self.inner)
    }
}

/// Returns the error for two strings side by side. PostgreSQL joins strings on different lines, which is not supported
/// here, and refuses strings on one line.
fn adjacent_strings(sql: &str, end: usize, next: &Token) -> SqlError {
    if sql[end..next.start].contains('\n') {
        return crate::error::unsupported("a string continued on another line").hint("Write it as one, or use ||.");
    }
    SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{}\"", next.text(sql)))
        .at(character_position(sql, next.start))
}

fn from_parser(text: &str, error: ParserError) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => {
            SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .hint(format!("A statement may nest {MAX_DEPTH} deep."))
        }
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            let location = location_in(&message);
            match location {
                _ if message.ends_with("found: EOF") => {
                    SqlError::new(state::SYNTAX_ERROR, "syntax error at end of input")
                        .at(character_position(text, text.len()))
                }
                Some(location) if message.contains("found:") => at_or_near(text, location),
                _ => syntax_error(text, &message, location),
            }
        }
    }
}

/// Returns the location at the end of sqlparser's message, which has the form ` at Line: 1, Column: 8`.
fn location_in(message: &str) -> Option<Location> {
    let (_, tail) = message.rsplit_once("Line: ")?;
    let (line, column) = tail.split_once(", Column: ")?;
    Some(Location { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
}

/// Returns PostgreSQL's syntax error at a location, which quotes the token there.
fn at_or_near(text: &str, location: Location) -> SqlError {
    let offset = offset_of(text, location);
    let mut tokens = Vec::new();
    let known = lex::tokenize(text, &mut tokens).is_ok();
    let message = match tokens.iter().find(|token| token.end > offset) {
        Some(token) if known => format!("syntax error at or near \"{}\"", token.text(text)),
        _ => "syntax error at end of input".to_owned(),
    };
    SqlError::new(state::SYNTAX_ERROR, message).at(character_position(text, offset))
}

fn syntax_error(text: &str, message: &str, location: Option<Location>) -> SqlError {
    let message = message.rsplit_once(" at Line: ").map_or(message, |(message, _)| message);
    let error = SqlError::new(state::SYNTAX_ERROR, format!("syntax error: {message}"));
    match location {
        Some(location) => error.at(character_position(text, offset_of(text, location))),
        None => error,
    }
}

/// Returns the position in characters, from 1, of the location of a syntax node. Returns `None` if the node has no
/// location.
pub fn position(text: &str, location: Location) -> Option<u32> {
    (location.line > 0).then(|| character_position(text, offset_of(text, location)))
}

fn offset_of(text: &str, location: Location) -> usize {
    if location.line == 0 {
        return text.len();
    }
    let line_start = match location.line {
        1 => 0,
        line => {
            let newline = text.match_indices('\n').nth(usize::try_from(line - 2).unwrap_or(usize::MAX));
            newline.map_or(text.len(), |(at, _)| at + 1)
        }
    };
    let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = &text[line_start..];
    line_start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}
