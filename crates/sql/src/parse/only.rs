//! `FROM ONLY table`, which sqlparser does not know. No table has descendants, so the word has no effect.

use super::window::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Takes ONLY out where it stands before the name of a table.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let begins_table = |token: &Token| ["from", "join", "update"].iter().any(|word| is(token, word));
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at].token, "only") {
            let before = tokens[..at].iter().rev().find(|token| !is_blank(token));
            let after = tokens[at + 1..].iter().find(|token| !is_blank(token));
            let is_before_name = after.is_some_and(|token| matches!(token.token, Token::Word(_)));
            if is_before_name && before.is_some_and(|token| begins_table(&token.token)) {
                tokens.remove(at);
                continue;
            }
        }
        at += 1;
    }
}
