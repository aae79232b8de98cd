//! `ON CONFLICT (lower(email)) WHERE …`: expressions and a condition, which sqlparser does not know. They are carried
//! through the parser in the name of a single column.

use super::window::is;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The beginning of the name of a column that stands for the target. No name of a client has a NUL.
const CARRIER: &str = "\0conflict ";

/// The separator between the expressions and the condition in the name.
const CONDITION: char = '\0';

/// Returns the texts of the target for which a column stands: the list of expressions in parentheses, and the condition
/// of the index. Returns `None` if the column is a plain one.
pub fn carried(column: &ast::Ident) -> Option<(&str, Option<&str>)> {
    let text = column.value.strip_prefix(CARRIER)?;
    let parts = text.split_once(CONDITION);
    Some(parts.map_or((text, None), |(keys, condition)| (keys, Some(condition))))
}

/// Replaces the target of an INSERT's ON CONFLICT by a column that carries it, if the target has expressions or a
/// condition.
pub(super) fn carry(tokens: &mut Vec<TokenWithSpan>) {
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let words: Vec<usize> = (0..tokens.len()).filter(|&at| !is_blank(&tokens[at])).collect();
    let Some(found) = words.windows(3).position(|three| {
        is(&tokens[three[0]].token, "on")
            && is(&tokens[three[1]].token, "conflict")
            && tokens[three[2]].token == Token::LParen
    }) else {
        return;
    };
    let start = words[found + 2];
    let Some(end) = closing(tokens, start) else { return };
    let after = words.iter().position(|&at| at > end).unwrap_or(words.len());
    let condition = words.get(after).filter(|&&at| is(&tokens[at].token, "where")).and_then(|&place| {
        let end = words[after..].windows(2).find(|two| {
            let ends = is(&tokens[two[0]].token, "do");
            ends && (is(&tokens[two[1]].token, "update") || is(&tokens[two[1]].token, "nothing"))
        })?;
        Some(place + 1..end[0])
    });
    let is_plain = tokens[start + 1..end]
        .iter()
        .all(|token| matches!(token.token, Token::Word(_) | Token::Comma | Token::Whitespace(_)));
    if is_plain && condition.is_none() {
        return;
    }
    let text = |tokens: &[TokenWithSpan]| tokens.iter().map(|token| token.token.to_string()).collect::<String>();
    let mut carrier = format!("{CARRIER}{}", text(&tokens[start..=end]));
    if let Some(condition) = &condition {
        carrier.push(CONDITION);
        carrier.push_str(&text(&tokens[condition.clone()]));
    }
    let column = TokenWithSpan::new(Token::make_word(&carrier, Some('"')), tokens[start].span);
    let last = condition.map_or(end, |condition| condition.end - 1);
    let (open, close) = (tokens[start].clone(), tokens[end].clone());
    tokens.splice(start..=last, [open, column, close]);
}

/// Returns the position of the parenthesis that closes the one at `start`.
fn closing(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().enumerate().skip(start).find_map(|(at, token)| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}
