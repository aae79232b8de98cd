//! Strings with escapes or between dollars.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

/// Returns the value of a string such as `E'…'`, `U&'…'` or `$$…$$`. Returns `None` if an escape is wrong, and for a
/// string of bits.
pub(super) fn special_string_value(text: &str) -> Option<String> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
    match tokens.as_slice() {
        [Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text)] => Some(text.clone()),
        [Token::DollarQuotedString(quoted)] => Some(quoted.value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_replaced() {
        for (text, value) in [
            (r"E'a\tb\\\'\x41\u00e9'", Some("a\tb\\'Aé")),
            (r"e'it''s'", Some("it's")),
            (r"U&'\00e9'", Some("é")),
            ("$$it's$$", Some("it's")),
            ("$x$ $$ $x$", Some(" $$ ")),
            ("x'ff'", None),
            ("b'1'", None),
            (r"E'\u00'", None),
        ] {
            assert_eq!(special_string_value(text).as_deref(), value, "{text}");
        }
    }
}
