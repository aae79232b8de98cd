//! `CREATE TABLE t (a, b) AS query`, which sqlparser does not know: it wants a type behind each name. The columns get a
//! type that no client can write.

use super::window::is;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// The type of a column that has none. No name of a client has a NUL.
const CARRIER: &str = "\0open";

/// Whether a column of CREATE TABLE has no type.
pub fn is_open(column: &ast::ColumnDef) -> bool {
    matches!(&column.data_type, ast::DataType::Custom(name, _) if name.to_string().contains(CARRIER))
}

/// Gives the columns of a CREATE TABLE AS the type [`CARRIER`], if its list consists of names alone.
pub(super) fn carry(tokens: &mut Vec<TokenWithSpan>) {
    let words: Vec<usize> = (0..tokens.len()).filter(|&at| !is_blank(&tokens[at])).collect();
    let token = |at: usize| words.get(at).map(|&at| &tokens[at].token);
    let is_word = |at: usize, word: &str| token(at).is_some_and(|token| is(token, word));
    let Some(table) = (1..4).find(|&at| is_word(at, "table")).filter(|_| is_word(0, "create")) else { return };
    // The list follows the table's name.
    let is_name = |at: &usize| matches!(token(*at), Some(Token::Word(_) | Token::Period)) && !is_word(*at, "as");
    let open = (table + 1..words.len()).take_while(is_name).last().unwrap_or(table) + 1;
    if token(open) != Some(&Token::LParen) {
        return;
    }
    let mut places = Vec::new();
    let mut at = open + 1;
    loop {
        match (token(at), token(at + 1)) {
            (Some(Token::Word(_)), Some(Token::Comma)) => {
                places.push(words[at]);
                at += 2;
            }
            (Some(Token::Word(_)), Some(Token::RParen)) => {
                places.push(words[at]);
                break;
            }
            _ => return,
        }
    }
    if !(at + 2..words.len()).any(|at| is_word(at, "as")) {
        return;
    }
    for place in places.into_iter().rev() {
        let span = tokens[place].span;
        let with = |token: Token| TokenWithSpan::new(token, span);
        let ty = [with(Token::Whitespace(Whitespace::Space)), with(Token::make_word(CARRIER, Some('"')))];
        tokens.splice(place + 1..place + 1, ty);
    }
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}
