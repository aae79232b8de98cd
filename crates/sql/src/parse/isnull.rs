//! `a ISNULL`, which sqlparser takes for `a AS isnull`. It becomes `a IS NULL`.

use super::window::is;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Puts IS NULL in the place of each ISNULL that is an operator.
pub(super) fn split(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is(&token.token, "isnull")) {
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at].token, "isnull") && follows_operand(&tokens[..at]) && !is_call(&tokens[at + 1..]) {
            let span = tokens[at].span;
            let word = |value: &str, keyword| {
                TokenWithSpan::new(Token::Word(Word { value: value.to_owned(), quote_style: None, keyword }), span)
            };
            tokens.splice(at..=at, [word("IS", Keyword::IS), word("NULL", Keyword::NULL)]);
        }
        at += 1;
    }
}

/// Whether these tokens, which follow a word, begin the arguments of a call.
fn is_call(after: &[TokenWithSpan]) -> bool {
    let next = after.iter().map(|token| &token.token).find(|token| !matches!(token, Token::Whitespace(_)));
    next == Some(&Token::LParen)
}

/// Whether these tokens end with an operand, and not with a word after which a name stands.
fn follows_operand(before: &[TokenWithSpan]) -> bool {
    let last = before.iter().rev().map(|token| &token.token).find(|token| !matches!(token, Token::Whitespace(_)));
    match last {
        Some(Token::RParen | Token::RBracket | Token::Number(..) | Token::Placeholder(_)) => true,
        Some(Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_)) => true,
        Some(word @ Token::Word(_)) => !["as", "select", "by", "table", "column"].iter().any(|other| is(word, other)),
        _ => false,
    }
}
