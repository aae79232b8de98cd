//! The tokens of JSON.

use crate::{SqlError, state};

/// A token of JSON. Strings and numbers are as they are written, strings with their quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Comma,
    Colon,
    String(&'t str),
    Number(&'t str),
    /// `true`, `false` or `null`
    Word(&'t str),
    /// The end of the text.
    End,
}

/// A tokenizer of JSON text.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    /// The offset of the first byte that has not been read.
    at: usize,
    /// Whether escapes must stand for characters that a `text` value can contain, as `jsonb` requires.
    strict: bool,
    /// The number of the line, from 1, and the offset of its first byte.
    line: usize,
    line_start: usize,
    /// The offsets of the last token's first byte and of the byte after it. The errors are about this token.
    start: usize,
    end: usize,
    is_end: bool,
}

const LOW: &str = "Unicode low surrogate must follow a high surrogate.";

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, strict: bool) -> Self {
        Self { text, at: 0, strict, line: 1, line_start: 0, start: 0, end: 0, is_end: false }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the next token.
    ///
    /// # Errors
    /// 22P02 if there is no token at this position, 22P05 for an escape of a character that no `text` value can
    /// contain.
    pub(super) fn next(&mut self) -> Result<Token<'t>, SqlError> {
        while let Some(byte @ (b' ' | b'\t' | b'\n' | b'\r')) = self.byte(self.at) {
            self.at += 1;
            if byte == b'\n' {
                self.line += 1;
                self.line_start = self.at;
            }
        }
        self.start = self.at;
        let Some(first) = self.byte(self.at) else {
            self.end = self.at;
            self.is_end = true;
            return Ok(Token::End);
        };
        let token = match first {
            b'{' => Token::ObjectStart,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayStart,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => {
                self.string()?;
                Token::String(&self.text[self.start..self.end])
            }
            b'-' | b'0'..=b'9' => {
                self.number()?;
                Token::Number(&self.text[self.start..self.end])
            }
            _ => return self.word(),
        };
        if self.at == self.start {
            self.at += 1;
            self.end = self.at;
        }
        Ok(token)
    }

    fn word(&mut self) -> Result<Token<'t>, SqlError> {
        let rest = &self.text[self.start..];
        let length = rest.bytes().take_while(|&byte| is_word(byte)).count();
        self.end = self.start + length.max(1);
        self.at = self.end;
        match &self.text[self.start..self.end] {
            word @ ("true" | "false" | "null") => Ok(Token::Word(word)),
            _ => Err(self.invalid_token()),
        }
    }

    fn number(&mut self) -> Result<(), SqlError> {
        let digits = |mut at: usize| {
            while self.byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
                at += 1;
            }
            at
        };
        let mut at = self.start + usize::from(self.byte(self.start) == Some(b'-'));
        let whole = if self.byte(at) == Some(b'0') { at + 1 } else { digits(at) };
        let mut is_wrong = whole == at;
        at = whole;
        if self.byte(at) == Some(b'.') {
            let fraction = digits(at + 1);
            is_wrong |= fraction == at + 1;
            at = fraction;
        }
        if let Some(b'e' | b'E') = self.byte(at) {
            at += 1 + usize::from(matches!(self.byte(at + 1), Some(b'+' | b'-')));
            let exponent = digits(at);
            is_wrong |= exponent == at;
            at = exponent;
        }
        while self.byte(at).is_some_and(is_word) {
            is_wrong = true;
            at += 1;
        }
        (self.at, self.end) = (at, at);
        if is_wrong { Err(self.invalid_token()) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<(), SqlError> {
        let mut at = self.start + 1;
        // The first half of a character that needs more than 16 bits.
        let mut high = false;
        loop {
            let byte = self.byte(at);
            if high && byte.is_some() && !(byte == Some(b'\\') && matches!(self.byte(at + 1), Some(b'u') | None)) {
                let last = at + usize::from(byte == Some(b'\\'));
                return Err(self.surrogate(last + self.width(last), LOW));
            }
            match byte {
                None => return Err(self.cut(at)),
                Some(b'"') => break,
                Some(b'\\') => match self.byte(at + 1) {
                    None => return Err(self.cut(at + 1)),
                    Some(b'u') => {
                        let code = self.hexadecimal(at + 2)?;
                        at += 6;
                        if self.strict {
                            high = self.follow(code, high, at)?;
                        }
                    }
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                    Some(_) => {
                        self.start = at + 1;
                        self.end = self.start + self.width(self.start);
                        let token = &self.text[self.start..self.end];
                        return Err(self.invalid(&format!("Escape sequence \"\\{token}\" is invalid.")));
                    }
                },
                Some(byte @ 0..32) => {
                    self.end = at;
                    return Err(self.invalid(&format!("Character with value 0x{byte:02x} must be escaped.")));
                }
                Some(_) => at += 1,
            }
        }
        (self.at, self.end) = (at + 1, at + 1);
        Ok(())
    }

    /// Checks one 16-bit code of an escape against the code before it, and returns whether the code is a high
    /// surrogate, which a low one must follow. `high` says whether the code before is one; `end` is the byte after the
    /// code.
    fn follow(&mut self, code: u32, high: bool, end: usize) -> Result<bool, SqlError> {
        match code {
            0xD800..0xDC00 if high => {
                Err(self.surrogate(end, "Unicode high surrogate must not follow a high surrogate."))
            }
            0xD800..0xDC00 => Ok(true),
            0xDC00..0xE000 if high => Ok(false),
            0xDC00..0xE000 => Err(self.surrogate(end, LOW)),
            _ if high => Err(self.surrogate(end, LOW)),
            0 => {
                self.end = end;
                let context = self.context();
                Err(zero().context(context))
            }
            _ => Ok(false),
        }
    }

    fn hexadecimal(&mut self, from: usize) -> Result<u32, SqlError> {
        let mut code = 0;
        for at in from..from + 4 {
            let Some(byte) = self.byte(at) else { return Err(self.cut(at)) };
            let Some(digit) = char::from(byte).to_digit(16) else {
                self.end = at + self.width(at);
                return Err(self.invalid("\"\\u\" must be followed by four hexadecimal digits."));
            };
            code = code * 16 + digit;
        }
        Ok(code)
    }

    /// Returns the size of the character at an offset of the text, in bytes.
    fn width(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    /// Returns the error for a text that ends within a string.
    fn cut(&mut self, at: usize) -> SqlError {
        self.end = at;
        self.invalid_token()
    }

    fn surrogate(&mut self, end: usize, detail: &str) -> SqlError {
        self.end = end;
        self.invalid(detail)
    }

    fn invalid_token(&self) -> SqlError {
        self.invalid(&format!("Token \"{}\" is invalid.", self.token()))
    }

    fn token(&self) -> &'t str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns error 22P02 for the last token, at whose position the grammar requires `expected`.
    pub(super) fn unexpected(&self, expected: &str) -> SqlError {
        match self.is_end {
            true => self.invalid("The input string ended unexpectedly."),
            false => self.invalid(&format!("Expected {expected}, but found \"{}\".", self.token())),
        }
    }

    fn invalid(&self, detail: &str) -> SqlError {
        let error = SqlError::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json");
        error.detail(detail).context(self.context())
    }

    /// Returns the context of an error: the line up to the token, or the last fifty bytes of it if it is longer.
    fn context(&self) -> String {
        let mut start = self.line_start.min(self.end);
        while self.end - start >= 50 {
            start += self.width(start);
        }
        if start - self.line_start.min(start) <= 3 {
            start = self.line_start.min(self.end);
        }
        let before = if start > self.line_start { "..." } else { "" };
        let goes_on = !self.is_end && self.byte(self.end).is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
        let after = if goes_on { "..." } else { "" };
        let shown = self.text.get(start..self.end).unwrap_or_default();
        format!("JSON data, line {}: {before}{shown}{after}", self.line)
    }
}

/// Returns error 22P05 for an escape of a zero byte, which no `text` value can contain.
pub(super) fn zero() -> SqlError {
    SqlError::new(state::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
        .detail("\\u0000 cannot be converted to text.")
}
