//! LIKE, and case conversion.

use crate::{SqlError, state};

/// Whether `text` is LIKE `pattern`, or ILIKE it if case is ignored. Parameters and errors are those of
/// [`matches()`].
pub fn is_like(text: &str, pattern: &str, escape: Option<char>, ignore_case: bool) -> Result<bool, SqlError> {
    if ignore_case { matches(&lower(text), &lower(pattern), escape) } else { matches(text, pattern, escape) }
}

/// Whether `text` matches `pattern`. In the pattern, `%` stands for any characters, `_` for one character, and the
/// character after `escape` for itself. The time is at most proportional to the product of both lengths.
///
/// # Errors
/// 22025 if the pattern ends with `escape`.
pub fn matches(text: &str, pattern: &str, escape: Option<char>) -> Result<bool, SqlError> {
    let mut text_at = text;
    let mut pattern_at = pattern;
    // Where to go on when a later part fails: after the last `%`, with one more character of the text given to it.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        let mut rest = pattern_at.chars();
        let matched = match rest.next() {
            Some('%') if escape != Some('%') => {
                pattern_at = rest.as_str();
                retry = Some((text_at, pattern_at));
                continue;
            }
            Some(wanted) => {
                let literal = escape == Some(wanted);
                let wanted = if literal { rest.next().ok_or_else(dangling_escape)? } else { wanted };
                let mut characters = text_at.chars();
                let found = characters.next();
                let same = found.is_some_and(|found| found == wanted || (wanted == '_' && !literal));
                if same {
                    text_at = characters.as_str();
                    pattern_at = rest.as_str();
                }
                same
            }
            None if text_at.is_empty() => return Ok(true),
            None => false,
        };
        if matched {
            continue;
        }
        let Some((from, after)) = retry else { return Ok(false) };
        let mut characters = from.chars();
        if characters.next().is_none() {
            return Ok(false);
        }
        text_at = characters.as_str();
        pattern_at = after;
        retry = Some((text_at, after));
    }
}

/// Converts a text to lower case. A character without a single lower-case character is not changed.
pub(super) fn lower(text: &str) -> String {
    text.chars().map(|character| alone(character.to_lowercase()).unwrap_or(character)).collect()
}

/// Converts a text to upper case. A character without a single upper-case character, such as `ß`, is not changed.
pub(super) fn upper(text: &str) -> String {
    text.chars().map(|character| alone(character.to_uppercase()).unwrap_or(character)).collect()
}

fn alone(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next();
    if characters.next().is_none() { first } else { None }
}

fn dangling_escape() -> SqlError {
    SqlError::new(state::INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_postgresql() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "ab", false),
            ("abc", "_%_%_%_", false),
            ("aXbXc", "a%X%c", true),
            ("", "%", true),
            ("", "_", false),
            ("50%", r"50\%", true),
            ("50x", r"50\%", false),
            ("größe", "gr_ße", true),
            ("aaab", "%aab", true),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(matches(text, pattern, Some('\\')), Ok(expected), "{text} LIKE {pattern}");
        }
        assert!(matches("a", "a\\", Some('\\')).is_err() || matches("a", "\\", Some('\\')).is_err());
        assert_eq!(matches("a%", "ax%", Some('x')), Ok(true));
    }
}
