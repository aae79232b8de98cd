//! Signs behind operators: `a>-1` is `a > -1`.
//!
//! An operator of PostgreSQL may end with a sign only if it contains one of ``~ ! @ # % ^ & | ` ?``. sqlparser takes
//! every sequence of operator characters for one operator.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Splits the signs off that are at the ends of operators.
pub(super) fn take_off(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| parts(&token.token).is_some()) {
        return;
    }
    let split = |token: TokenWithSpan| match parts(&token.token) {
        Some(parts) => parts.into_iter().map(|part| TokenWithSpan::new(part, token.span)).collect(),
        None => vec![token],
    };
    *tokens = std::mem::take(tokens).into_iter().flat_map(split).collect();
}

/// Returns the operator and the signs of which a token is made, or `None` if it is one operator.
fn parts(token: &Token) -> Option<Vec<Token>> {
    let Token::CustomBinaryOperator(text) = token else { return None };
    if text.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) {
        return None;
    }
    let plain = text.trim_end_matches(['+', '-']);
    let operator = match plain {
        ">" => Token::Gt,
        ">=" => Token::GtEq,
        "<" => Token::Lt,
        "<=" => Token::LtEq,
        "<>" => Token::Neq,
        "=" => Token::Eq,
        "*" => Token::Mul,
        "/" => Token::Div,
        _ => return None,
    };
    let signs = text[plain.len()..].chars().map(|sign| if sign == '-' { Token::Minus } else { Token::Plus });
    Some(std::iter::once(operator).chain(signs).collect())
}
