//! The options of views. sqlparser knows neither `WITH CHECK OPTION` behind a view's query nor options without values.
//!
//! Before sqlparser reads a CREATE VIEW, the clause behind the query becomes the option `check_option` of the list
//! before it, and an option without a value gets the value `true`.

use super::cursor::Cursor;
use super::names::fold;
use super::window::is;
use crate::error::unsupported;
use crate::{SqlError, state};
use sqlparser::ast::{self, CreateTableOptions, Expr, SqlOption, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The name of the option that WITH CHECK OPTION sets.
pub const CHECK_OPTION: &str = "check_option";

/// An option of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewOption {
    /// The name.
    pub name: String,
    /// The value, as it was written.
    pub value: String,
}

/// Puts the options of a CREATE VIEW into the form that sqlparser knows.
pub(super) fn carry(tokens: &mut Vec<TokenWithSpan>) {
    let words: Vec<usize> = (0..tokens.len()).filter(|&at| !is_blank(&tokens[at])).collect();
    let is_word = |at: usize, word: &str| words.get(at).is_some_and(|&at| is(&tokens[at].token, word));
    let is_view = |at: &usize| is_word(*at, "view") && !is_word(*at - 1, "materialized");
    let Some(view) = (1..5).find(is_view).filter(|_| is_word(0, "create")) else { return };
    let is_token = |at: usize, token: &Token| words.get(at).is_some_and(|&at| tokens[at].token == *token);
    let (mut depth, mut query, mut list) = (0_usize, None, None);
    for at in view + 1..words.len() {
        if is_token(at, &Token::LParen) {
            depth += 1;
        } else if is_token(at, &Token::RParen) {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && is_word(at, "with") && is_token(at + 1, &Token::LParen) {
            list = Some(at + 1);
        } else if depth == 0 && is_word(at, "as") {
            query = Some(at);
            break;
        }
    }
    let Some(query) = query else { return };
    let end = words.len() - usize::from(is_token(words.len() - 1, &Token::SemiColon));
    let clause = |length: usize| {
        let first = end.checked_sub(length).filter(|&first| first > query)?;
        let fits = is_word(first, "with") && is_word(end - 2, "check") && is_word(end - 1, "option");
        fits.then_some(first)
    };
    let checked = match (clause(3), clause(4)) {
        (Some(first), _) => Some((first, "cascaded")),
        (None, Some(first)) => {
            ["local", "cascaded"].into_iter().find(|value| is_word(first + 1, value)).map(|value| (first, value))
        }
        (None, None) => None,
    };
    let words_of = |texts: &[&str]| texts.iter().map(|text| Token::make_word(text, None)).collect::<Vec<_>>();
    let value_of = |value: &str| [vec![Token::Eq], words_of(&[value])].concat();
    // The places of tokens to add, from the last to the first.
    let mut added: Vec<(usize, Vec<Token>)> = Vec::new();
    if let Some((_, value)) = checked {
        let option = [words_of(&[CHECK_OPTION]), value_of(value)].concat();
        added.push(match list {
            Some(_) => (words[query - 1], [vec![Token::Comma], option].concat()),
            None => (words[query], [words_of(&["with"]), vec![Token::LParen], option, vec![Token::RParen]].concat()),
        });
    }
    if let Some(open) = list {
        let ends = |at: usize| is_token(at, &Token::Comma) || is_token(at, &Token::RParen);
        let is_bare = |at: &usize| {
            let begins = *at == open + 1 || is_token(*at - 1, &Token::Comma);
            begins && matches!(tokens[words[*at]].token, Token::Word(_)) && ends(*at + 1)
        };
        let bare = (open + 1..query).rev().filter(is_bare).map(|at| (words[at + 1], value_of("true")));
        added.extend(bare);
    }
    if let Some((first, _)) = checked {
        tokens.drain(words[first]..=words[end - 1]);
    }
    for (place, new) in added {
        let span = tokens[place].span;
        tokens.splice(place..place, new.into_iter().map(|token| TokenWithSpan::new(token, span)));
    }
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// Returns the options of a CREATE VIEW, in the order in which they are written.
///
/// # Errors
/// 0A000 if the value of an option is neither a word nor a literal.
pub fn options_of(create: &ast::CreateView) -> Result<Vec<ViewOption>, SqlError> {
    let list = match &create.options {
        CreateTableOptions::With(list) => &list[..],
        _ => &[],
    };
    let option = |option: &SqlOption| match option {
        SqlOption::KeyValue { key, value } => Ok(ViewOption { name: fold(key), value: text_of(value)? }),
        other => Err(unsupported(&format!("the option {other} of a view"))),
    };
    list.iter().map(option).collect()
}

fn text_of(value: &Expr) -> Result<String, SqlError> {
    match value {
        Expr::Identifier(name) => Ok(fold(name)),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => Ok(text.clone()),
            Value::Boolean(flag) => Ok(flag.to_string()),
            other => Err(unsupported(&format!("the value {other} of a view's option"))),
        },
        other => Err(unsupported(&format!("the value {other} of a view's option"))),
    }
}

/// Reads the list of options of ALTER VIEW … SET, from its opening parenthesis on.
pub(super) fn options(cursor: &mut Cursor<'_>) -> Result<Vec<ViewOption>, SqlError> {
    let mut options = Vec::new();
    cursor.expect_symbol(b'(')?;
    loop {
        let name = cursor.name()?;
        let value = if cursor.take_symbol(b'=') { cursor.scalar()? } else { "true".to_owned() };
        options.push(ViewOption { name, value });
        if !cursor.take_symbol(b',') {
            break;
        }
    }
    cursor.expect_symbol(b')')?;
    Ok(options)
}

/// Reads the list of names of ALTER VIEW … RESET, from its opening parenthesis on.
///
/// # Errors
/// 42601 if a name has a value.
pub(super) fn names(cursor: &mut Cursor<'_>) -> Result<Vec<String>, SqlError> {
    let mut names = Vec::new();
    cursor.expect_symbol(b'(')?;
    loop {
        names.push(cursor.name()?);
        if cursor.follows_symbol(0, b"=") {
            return Err(SqlError::new(state::SYNTAX_ERROR, "RESET must not include values for parameters"));
        }
        if !cursor.take_symbol(b',') {
            break;
        }
    }
    cursor.expect_symbol(b')')?;
    Ok(names)
}
