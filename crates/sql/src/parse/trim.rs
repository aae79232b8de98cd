//! `trim(both from text)`, which sqlparser does not know: it wants the characters before FROM, or no FROM.

use super::window::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Takes FROM out of `trim([BOTH | LEADING | TRAILING] FROM text)`, where it says nothing.
pub(super) fn take_from(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is(&token.token, "trim")) {
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at].token, "from") && follows_trim(&tokens[..at]) {
            tokens.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Whether these tokens end with `trim(`, or with it and the side that is trimmed.
fn follows_trim(before: &[TokenWithSpan]) -> bool {
    let is_side = |token: &Token| ["both", "leading", "trailing"].iter().any(|side| is(token, side));
    let written = before.iter().rev().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut written = written.skip_while(|token| is_side(token));
    written.next() == Some(&Token::LParen) && written.next().is_some_and(|token| is(token, "trim"))
}
