//! The element `LIKE table INCLUDING …` of CREATE TABLE, which sqlparser knows only where it stands alone. It is read
//! as a column whose name carries the options and whose type is the table.

use super::window::is;
use crate::{SqlError, state};
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The beginning of the name of a column that stands for LIKE. No name of a client has a NUL.
const CARRIER: &str = "\0like";

/// The parts of a table that LIKE copies beside the columns' names, types and NOT NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LikeOptions {
    /// Comments on columns.
    pub comments: bool,
    /// CHECK constraints.
    pub constraints: bool,
    /// The defaults of columns.
    pub defaults: bool,
    /// The expressions of generated columns.
    pub generated: bool,
    /// The identity of columns, with sequences of their own.
    pub identity: bool,
    /// Indexes, PRIMARY KEY and UNIQUE.
    pub indexes: bool,
}

impl LikeOptions {
    /// Returns the options of LIKE if a column of the syntax tree stands for it, or `None` if the column is a plain
    /// one.
    ///
    /// # Errors
    /// 42601 if an option is unknown.
    pub fn carried(column: &ast::ColumnDef) -> Result<Option<Self>, SqlError> {
        let Some(words) = column.name.value.strip_prefix(CARRIER) else { return Ok(None) };
        let mut options = Self::default();
        let mut words = words.split(' ').filter(|word| !word.is_empty());
        while let (Some(way), Some(what)) = (words.next(), words.next()) {
            let is_included = way == "including";
            let Self { comments, constraints, defaults, generated, identity, indexes } = &mut options;
            let named: &mut [&mut bool] = match what {
                "all" => &mut [comments, constraints, defaults, generated, identity, indexes],
                "comments" => &mut [comments],
                "constraints" => &mut [constraints],
                "defaults" => &mut [defaults],
                "generated" => &mut [generated],
                "identity" => &mut [identity],
                "indexes" => &mut [indexes],
                // There are none.
                "compression" | "statistics" | "storage" => &mut [],
                other => {
                    return Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{other}\"")));
                }
            };
            named.iter_mut().for_each(|option| **option = is_included);
        }
        Ok(Some(options))
    }
}

/// Replaces each LIKE element of a CREATE TABLE by a column that carries it.
pub(super) fn carry(tokens: &mut Vec<TokenWithSpan>) {
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let mut words = tokens.iter().filter(|token| !is_blank(token));
    if !words.next().is_some_and(|token| is(&token.token, "create")) {
        return;
    }
    if !words.take(3).any(|token| is(&token.token, "table")) {
        return;
    }
    let (mut depth, mut begins, mut at) = (0_usize, false, 0);
    while at < tokens.len() {
        match &tokens[at].token {
            Token::Whitespace(_) => {}
            Token::LParen => {
                depth += 1;
                begins = depth == 1;
            }
            Token::RParen => (depth, begins) = (depth.saturating_sub(1), false),
            Token::Comma => begins = depth == 1,
            token => {
                if std::mem::take(&mut begins) && is(token, "like") {
                    let end = tokens[at..].iter().position(|token| matches!(token.token, Token::Comma | Token::RParen));
                    let end = end.map_or(tokens.len(), |length| at + length);
                    if let Some(column) = column_of(&tokens[at..end]) {
                        tokens.splice(at..end, column);
                    }
                }
            }
        }
        at += 1;
    }
}

/// Returns the column for `LIKE table INCLUDING …`, or `None` if the element has another form.
fn column_of(element: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words: Vec<_> = element.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let is_option = |token: &TokenWithSpan| is(&token.token, "including") || is(&token.token, "excluding");
    let name_end = words.iter().position(|token| is_option(token)).unwrap_or(words.len());
    let mut carrier = CARRIER.to_owned();
    for word in &words[name_end..] {
        let Token::Word(word) = &word.token else { return None };
        carrier.push(' ');
        carrier.push_str(&word.value.to_lowercase());
    }
    // Each option is a pair of words, and a name is parts with points between them.
    if (words.len() - name_end) % 2 != 0 || name_end < 2 || name_end % 2 != 0 {
        return None;
    }
    let with = |token: Token| TokenWithSpan::new(token, words[0].span);
    let mut column = vec![
        with(Token::make_word(&carrier, Some('"'))),
        with(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space)),
    ];
    for part in &words[1..name_end] {
        column.push(match &part.token {
            // With quotes, the parser takes no name for a built-in type.
            Token::Word(word) if word.quote_style.is_none() => {
                with(Token::make_word(&word.value.to_lowercase(), Some('"')))
            }
            token => with(token.clone()),
        });
    }
    Some(column)
}
