//! The grammar of JSON, as a parser that calls a visitor.

use super::MAX_NESTING;
use super::lex::{Lexer, Token};
use crate::{SqlError, state};

/// The receiver of the parts of a JSON text, in the order of the text. [`visit`] calls it.
pub(super) trait Visitor {
    /// Called when an array or object begins.
    fn open(&mut self, is_object: bool) -> Result<(), SqlError>;
    /// Called for a key of the innermost object, as it is written.
    fn key(&mut self, key: &str) -> Result<(), SqlError>;
    /// Called for a string, number or word.
    fn scalar(&mut self, token: Token<'_>) -> Result<(), SqlError>;
    /// Called when the innermost array or object ends.
    fn close(&mut self) -> Result<(), SqlError>;
}

/// A visitor that ignores all parts, for a check of the syntax alone.
struct Nobody;

impl Visitor for Nobody {
    fn open(&mut self, _: bool) -> Result<(), SqlError> {
        Ok(())
    }

    fn key(&mut self, _: &str) -> Result<(), SqlError> {
        Ok(())
    }

    fn scalar(&mut self, _: Token<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
}

/// Checks that a text is JSON.
///
/// # Errors
/// 22P02, with the wrong token and its line, or 54001 if the text nests too deeply.
pub(crate) fn validate(text: &str) -> Result<(), SqlError> {
    visit(text, false, &mut Nobody)
}

/// Parses a text and calls the visitor for its parts. If `strict` is set, strings must consist of characters that a
/// `text` value can contain, as `jsonb` requires.
///
/// # Errors
/// As [`validate`], 22P05 for a zero byte in a string if `strict` is set, and the errors of the visitor.
pub(super) fn visit(text: &str, strict: bool, visitor: &mut impl Visitor) -> Result<(), SqlError> {
    let mut lexer = Lexer::new(text, strict);
    // For each open array or object, whether it is an object.
    let mut around: Vec<bool> = Vec::new();
    let mut token = lexer.next()?;
    loop {
        // A value begins with the present token.
        match token {
            Token::ObjectStart | Token::ArrayStart => {
                let is_object = token == Token::ObjectStart;
                if around.len() >= MAX_NESTING {
                    return Err(too_deep());
                }
                around.push(is_object);
                visitor.open(is_object)?;
                token = lexer.next()?;
                match (is_object, token) {
                    (true, Token::String(key)) => {
                        token = value_of(key, &mut lexer, visitor)?;
                        continue;
                    }
                    (true, Token::ObjectEnd) | (false, Token::ArrayEnd) => {
                        around.pop();
                        visitor.close()?;
                    }
                    (true, _) => return Err(lexer.unexpected("string or \"}\"")),
                    (false, _) => continue,
                }
            }
            Token::String(_) | Token::Number(_) | Token::Word(_) => visitor.scalar(token)?,
            _ => return Err(lexer.unexpected("JSON value")),
        }
        // A value has ended. Another one follows, or the surrounding array or object ends, too.
        loop {
            token = lexer.next()?;
            match (around.last(), token) {
                (None, Token::End) => return Ok(()),
                (None, _) => return Err(lexer.unexpected("end of input")),
                (Some(true), Token::Comma) => match lexer.next()? {
                    Token::String(key) => {
                        token = value_of(key, &mut lexer, visitor)?;
                        break;
                    }
                    _ => return Err(lexer.unexpected("string")),
                },
                (Some(false), Token::Comma) => {
                    token = lexer.next()?;
                    break;
                }
                (Some(true), Token::ObjectEnd) | (Some(false), Token::ArrayEnd) => {
                    around.pop();
                    visitor.close()?;
                }
                (Some(true), _) => return Err(lexer.unexpected("\",\" or \"}\"")),
                (Some(false), _) => return Err(lexer.unexpected("\",\" or \"]\"")),
            }
        }
    }
}

/// Reads the colon after a key, and returns the first token of the key's value.
fn value_of<'t>(key: &str, lexer: &mut Lexer<'t>, visitor: &mut impl Visitor) -> Result<Token<'t>, SqlError> {
    if lexer.next()? != Token::Colon {
        return Err(lexer.unexpected("\":\""));
    }
    visitor.key(key)?;
    lexer.next()
}

fn too_deep() -> SqlError {
    SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .detail(format!("Arrays and objects of JSON may nest {MAX_NESTING} deep."))
}
