//! `interval(p) 'text'`, of which sqlparser forgets the number of digits. It becomes `'text'::interval(p)`.

use super::window::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of a literal, without blanks: INTERVAL, three for the number of digits, and the string.
const LITERAL: usize = 5;

/// Moves the string of each interval with a number of digits before its type.
pub(super) fn turn(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is(&token.token, "interval")) {
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        if let Some(string) = string_of(&tokens[at..]) {
            let string = tokens.remove(at + string);
            let span = string.span;
            tokens.splice(at..at, [string, TokenWithSpan { token: Token::DoubleColon, span }]);
            at += LITERAL;
        }
        at += 1;
    }
}

/// Returns the place of the string of an interval literal with a number of digits, which the tokens begin with.
fn string_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let written = tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let written: Vec<_> = written.take(LITERAL).map(|(at, token)| (at, &token.token)).collect();
    match &written[..] {
        [
            (_, first),
            (_, Token::LParen),
            (_, Token::Number(..)),
            (_, Token::RParen),
            (at, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_)),
        ] if is(first, "interval") => Some(*at),
        _ => None,
    }
}
