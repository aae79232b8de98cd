//! Tokens of a query string, by which it is split into statements, normalised, and read by hand.
//!
//! Whitespace and comments (nested ones too) are dropped. Operators come as single characters; a reader of longer
//! operators joins them. Offsets are in bytes; [`character_position`] turns them into the positions of error messages.

use crate::memory::Room;
use crate::schema::LONGEST_NAME;
use crate::{MemoryLimit, SqlError, state};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword or an identifier without quotes.
    Word,
    /// An identifier in double quotes.
    Quoted,
    /// An unsigned number.
    Number,
    /// A plain string in single quotes.
    String,
    /// A string of another kind: `E''`, `U&''`, `B''`, `X''`, `N''`, dollar-quoted.
    OtherString,
    /// A parameter, such as `$1`.
    Parameter,
    /// Any other character, such as `(`, `;` or one character of an operator.
    Symbol(u8),
}

/// A token: its kind and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The offset of the token's first byte.
    pub start: usize,
    /// The offset of the byte after the token's last.
    pub end: usize,
}

impl Token {
    /// Returns the token's own text.
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        &sql[self.start..self.end]
    }

    /// Whether the token is this keyword, in any case.
    pub fn is(&self, sql: &str, keyword: &str) -> bool {
        self.kind == TokenKind::Word && self.text(sql).eq_ignore_ascii_case(keyword)
    }

    /// Whether the token is this character.
    pub fn is_symbol(&self, symbol: u8) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }
}

/// Returns the position in characters, from 1, of a byte offset.
pub fn character_position(sql: &str, offset: usize) -> u32 {
    let offset = offset.min(sql.len());
    let characters = sql.as_bytes()[..offset].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    u32::try_from(characters).unwrap_or(u32::MAX - 1) + 1
}

/// Appends all tokens of `sql` to `tokens`.
///
/// # Errors
/// 42601 if a string, a quoted identifier or a comment has no end, or if a letter follows directly after a number or a
/// parameter.
pub fn tokenize(sql: &str, tokens: &mut Vec<Token>) -> Result<(), SqlError> {
    let mut lexer = Lexer { sql, bytes: sql.as_bytes(), at: 0 };
    while let Some(token) = lexer.next_token()? {
        tokens.push(token);
    }
    Ok(())
}

/// Appends the tokens of a client's text to `tokens`, as [`tokenize`] does, and sets aside the memory that reading and
/// planning it may take.
///
/// # Errors
/// 53200 if there is not enough memory, and the errors of [`tokenize`].
pub fn tokenize_within(sql: &str, tokens: &mut Vec<Token>, memory: MemoryLimit) -> Result<Room, SqlError> {
    /// The number of tokens after which the memory limit is checked again.
    const TOKENS: usize = 64 << 10;
    let mut lexer = Lexer { sql, bytes: sql.as_bytes(), at: 0 };
    while let Some(token) = lexer.next_token()? {
        tokens.push(token);
        if tokens.len().is_multiple_of(TOKENS) {
            drop(memory.set_aside(sql, tokens)?);
        }
    }
    memory.set_aside(sql, tokens)
}

/// Returns the value of a plain string token: the text without its quotes, and with single quotes in place of doubled
/// ones.
pub fn string_value(text: &str) -> String {
    text[1..text.len() - 1].replace("''", "'")
}

/// Cuts a name to the greatest length of a name, at the end of a character.
pub fn cut_name(mut name: String) -> String {
    if name.len() > LONGEST_NAME {
        name.truncate(name.floor_char_boundary(LONGEST_NAME));
    }
    name
}

/// Returns the names among the tokens that are too long, each with its cut form.
pub fn long_names<'t>(sql: &'t str, tokens: &'t [Token]) -> impl Iterator<Item = (String, String)> + 't {
    let is_name = |token: &&Token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
    let long = tokens.iter().filter(|token| token.end - token.start > LONGEST_NAME).filter(is_name);
    let names = long.map(|token| whole_identifier(token, sql)).filter(|name| name.len() > LONGEST_NAME);
    names.map(|name| (name.clone(), cut_name(name)))
}

/// Returns the name that a token means: a word in lower case, or a quoted identifier as it is. The name is cut if it is
/// too long.
pub fn identifier(token: &Token, sql: &str) -> String {
    cut_name(whole_identifier(token, sql))
}

fn whole_identifier(token: &Token, sql: &str) -> String {
    let text = token.text(sql);
    match token.kind {
        TokenKind::Quoted => text[1..text.len() - 1].replace("\"\"", "\""),
        _ => text.to_lowercase(),
    }
}

struct Lexer<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn error(&self, what: &str, start: usize) -> SqlError {
        let rest = self.sql[start..].lines().next().unwrap_or_default();
        SqlError::new(state::SYNTAX_ERROR, format!("{what} at or near \"{rest}\""))
            .at(character_position(self.sql, start))
    }

    /// Returns an error if a letter follows directly after the token that ends here.
    fn refuse_junk(&self, what: &str, start: usize) -> Result<(), SqlError> {
        let Some(letter) = self.sql[self.at..].chars().next().filter(|_| is_word_start(self.peek(0))) else {
            return Ok(());
        };
        let found = &self.sql[start..self.at + letter.len_utf8()];
        let message = format!("trailing junk after {what} at or near \"{found}\"");
        Err(SqlError::new(state::SYNTAX_ERROR, message).at(character_position(self.sql, start)))
    }

    fn next_token(&mut self) -> Result<Option<Token>, SqlError> {
        self.skip_blanks()?;
        let start = self.at;
        if start >= self.bytes.len() {
            return Ok(None);
        }
        let kind = match self.peek(0) {
            b'\'' => {
                self.quoted(b'\'', false, start)?;
                TokenKind::String
            }
            b'"' => {
                self.quoted(b'"', false, start)?;
                TokenKind::Quoted
            }
            b'$' => self.dollar(start)?,
            byte if byte.is_ascii_digit() || (byte == b'.' && self.peek(1).is_ascii_digit() && !self.ends_range()) => {
                self.number();
                self.refuse_junk("numeric literal", start)?;
                TokenKind::Number
            }
            byte if is_word_start(byte) => self.word(start)?,
            byte => {
                self.at += 1;
                TokenKind::Symbol(byte)
            }
        };
        Ok(Some(Token { kind, start, end: self.at }))
    }

    fn skip_blanks(&mut self) -> Result<(), SqlError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C, _) => self.at += 1,
                (b'-', b'-') => {
                    while self.at < self.bytes.len() && !matches!(self.peek(0), b'\n' | b'\r') {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => self.block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), SqlError> {
        let start = self.at;
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ if self.at >= self.bytes.len() => return Err(self.error("unterminated /* comment", start)),
                _ => self.at += 1,
            }
        }
    }

    /// Reads up to the closing quote. `self.at` is the position of the opening one.
    fn quoted(&mut self, quote: u8, escapes: bool, start: usize) -> Result<(), SqlError> {
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            if (byte == b'\\' && escapes) || (byte == quote && self.peek(1) == quote) {
                self.at += 2;
            } else if byte == quote {
                self.at += 1;
                return Ok(());
            } else {
                self.at += 1;
            }
        }
        self.at = self.bytes.len();
        let what = if quote == b'"' { "unterminated quoted identifier" } else { "unterminated quoted string" };
        Err(self.error(what, start))
    }

    fn dollar(&mut self, start: usize) -> Result<TokenKind, SqlError> {
        let mut end = self.at + 1;
        if self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
            while self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            self.at = end;
            self.refuse_junk("parameter", start)?;
            return Ok(TokenKind::Parameter);
        }
        while self.bytes.get(end).is_some_and(|&byte| is_word_start(byte) || byte.is_ascii_digit()) {
            end += 1;
        }
        if self.bytes.get(end) != Some(&b'$') {
            self.at += 1;
            return Ok(TokenKind::Symbol(b'$'));
        }
        let tag = &self.sql[start..=end];
        match self.sql[end + 1..].find(tag) {
            Some(length) => {
                self.at = end + 1 + length + tag.len();
                Ok(TokenKind::OtherString)
            }
            None => Err(self.error("unterminated dollar-quoted string", start)),
        }
    }

    /// Whether the next character is the second of the two points of a range.
    fn ends_range(&self) -> bool {
        self.at > 0 && self.bytes[self.at - 1] == b'.'
    }

    fn number(&mut self) {
        let digits = |lexer: &mut Self| {
            while lexer.peek(0).is_ascii_digit() {
                lexer.at += 1;
            }
        };
        digits(self);
        // Two points are those of a range, as in FOR i IN 1..10.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            self.at += 1;
            digits(self);
        }
        let exponent = match (self.peek(1), self.peek(2)) {
            (digit, _) if digit.is_ascii_digit() => 1,
            (b'+' | b'-', digit) if digit.is_ascii_digit() => 2,
            _ => 0,
        };
        if matches!(self.peek(0), b'e' | b'E') && exponent > 0 {
            self.at += exponent;
            digits(self);
        }
    }

    fn word(&mut self, start: usize) -> Result<TokenKind, SqlError> {
        let prefixed = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'e' | b'E', b'\'', _) => Some((1, true)),
            (b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'', _) => Some((1, false)),
            (b'u' | b'U', b'&', b'\'') => Some((2, false)),
            _ => None,
        };
        if let Some((skip, escapes)) = prefixed {
            self.at += skip;
            self.quoted(b'\'', escapes, start)?;
            return Ok(TokenKind::OtherString);
        }
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            if !(is_word_start(byte) || byte.is_ascii_digit() || byte == b'$') {
                break;
            }
            self.at += 1;
        }
        Ok(TokenKind::Word)
    }
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        let mut tokens = Vec::new();
        tokenize(sql, &mut tokens).expect("tokens");
        tokens.iter().map(|token| token.text(sql)).collect()
    }

    #[test]
    fn tokens_are_found_among_comments_and_quotes() {
        let cases: [(&str, &[&str]); 8] = [
            ("select 1", &["select", "1"]),
            ("a--b\n;c", &["a", ";", "c"]),
            ("a/* x /* y */ ; */b", &["a", "b"]),
            ("'it''s;' \"a\"\"b\"", &["'it''s;'", "\"a\"\"b\""]),
            ("$1 $$a;b$$ $x$ $$ $x$", &["$1", "$$a;b$$", "$x$ $$ $x$"]),
            (r"E'a\'b' x'1F'", &[r"E'a\'b'", "x'1F'"]),
            ("1.5e-3 .5 2 e 7..8", &["1.5e-3", ".5", "2", "e", "7", ".", ".", "8"]),
            ("größe=ü1", &["größe", "=", "ü1"]),
        ];
        for (sql, expected) in cases {
            assert_eq!(texts(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_is_not_closed_is_refused_where_it_begins() {
        for (sql, position) in [
            ("select 1abc", 8),
            ("2e", 1),
            ("0x1F", 1),
            ("$1a", 1),
            ("select 'abc", 8),
            ("/* x", 1),
            ("é \"x", 3),
            ("$a$ x", 1),
            ("E'\\", 1),
        ] {
            let error = tokenize(sql, &mut Vec::new()).expect_err(sql);
            assert_eq!((error.state, error.position), (state::SYNTAX_ERROR, Some(position)), "{sql}");
        }
    }
}
