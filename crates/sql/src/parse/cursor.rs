//! A place in a statement's tokens.

use super::lex::{Token, TokenKind, character_position, identifier, string_value};
use crate::schema::RelationName;
use crate::{SqlError, state};

/// Reads a statement token by token.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    sql: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(sql: &'a str, tokens: &'a [Token]) -> Self {
        Self { sql, tokens, at: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// The next word, in lower case.
    pub(super) fn peek_word(&self) -> Option<String> {
        let token = self.tokens.get(self.at)?;
        (token.kind == TokenKind::Word).then(|| token.text(self.sql).to_ascii_lowercase())
    }

    /// Whether the token that many places ahead is this keyword.
    pub(super) fn follows(&self, ahead: usize, keyword: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| token.is(self.sql, keyword))
    }

    /// Whether the token that many places ahead is one of these characters.
    pub(super) fn follows_symbol(&self, ahead: usize, symbols: &[u8]) -> bool {
        let token = self.tokens.get(self.at + ahead);
        token.is_some_and(|token| matches!(token.kind, TokenKind::Symbol(symbol) if symbols.contains(&symbol)))
    }

    /// Whether the next token is the last one.
    pub(super) fn is_last(&self) -> bool {
        self.at + 1 == self.tokens.len()
    }

    /// A token's own text.
    pub(super) fn text(&self, token: &Token) -> &'a str {
        token.text(self.sql)
    }

    /// Takes a keyword if it is next.
    pub(super) fn take(&mut self, keyword: &str) -> bool {
        let found = self.follows(0, keyword);
        self.at += usize::from(found);
        found
    }

    /// Takes a character if it is next.
    pub(super) fn take_symbol(&mut self, symbol: u8) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is_symbol(symbol));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, keyword: &str) -> Result<(), SqlError> {
        if self.take(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_symbol(&mut self, symbol: u8) -> Result<(), SqlError> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_end(&self) -> Result<(), SqlError> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The next token, whatever it is.
    pub(super) fn any(&mut self) -> Result<Token, SqlError> {
        let token = self.tokens.get(self.at).copied().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(token)
    }

    /// Where the next token stands, in bytes.
    pub(super) fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(self.sql.len(), |token| token.start)
    }

    /// Where the next token stands, in characters.
    pub(super) fn position(&self) -> u32 {
        character_position(self.sql, self.offset())
    }

    /// A word, in lower case.
    pub(super) fn word(&mut self) -> Result<String, SqlError> {
        let word = self.peek_word().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(word)
    }

    /// An identifier.
    pub(super) fn name(&mut self) -> Result<String, SqlError> {
        match self.tokens.get(self.at) {
            Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) => {
                self.at += 1;
                Ok(identifier(token, self.sql))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Names with commas between them.
    pub(super) fn names(&mut self) -> Result<Vec<String>, SqlError> {
        let mut names = vec![self.name()?];
        while self.take_symbol(b',') {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// A table's name, with or without its schema.
    pub(super) fn qualified_name(&mut self) -> Result<RelationName, SqlError> {
        let mut parts = vec![self.name()?];
        while self.take_symbol(b'.') {
            parts.push(self.name()?);
        }
        crate::parse::names::relation_name(&parts)
    }

    /// Whether a number is next, with or without a sign.
    pub(super) fn is_at_number(&self) -> bool {
        let ahead = usize::from(self.follows_symbol(0, b"-"));
        self.tokens.get(self.at + ahead).is_some_and(|token| token.kind == TokenKind::Number)
    }

    /// A setting's name, in lower case: dots belong to it.
    pub(super) fn setting_name(&mut self) -> Result<String, SqlError> {
        let mut name = self.name()?;
        while self.take_symbol(b'.') {
            name.push('.');
            name.push_str(&self.name()?);
        }
        Ok(name.to_lowercase())
    }

    /// A word, string or number as text.
    pub(super) fn scalar(&mut self) -> Result<String, SqlError> {
        let sign = if self.take_symbol(b'-') { "-" } else { "" };
        match self.tokens.get(self.at) {
            Some(token) => {
                let text = token.text(self.sql);
                let value = match token.kind {
                    TokenKind::String => string_value(text),
                    TokenKind::Number => text.to_owned(),
                    TokenKind::Word | TokenKind::Quoted => identifier(token, self.sql),
                    _ => return Err(self.unexpected()),
                };
                self.at += 1;
                Ok(format!("{sign}{value}"))
            }
            None => Err(self.unexpected()),
        }
    }

    /// A string.
    pub(super) fn string(&mut self) -> Result<String, SqlError> {
        let Some(token) = self.tokens.get(self.at) else { return Err(self.unexpected()) };
        let text = token.text(self.sql);
        let value = match token.kind {
            TokenKind::String => string_value(text),
            // E'…' as COPY's options use it: one escaped character, mostly a tab.
            TokenKind::OtherString if text.starts_with(['e', 'E']) => unescape(&string_value(&text[1..])),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(value)
    }

    /// A type's name as it stands, up to a comma or closing parenthesis.
    pub(super) fn type_text(&mut self) -> Result<String, SqlError> {
        let start = self.tokens.get(self.at).map_or(self.sql.len(), |token| token.start);
        let (mut depth, mut end) = (0, start);
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')' | b',') if depth == 0 => break,
                TokenKind::Symbol(b')') => depth -= 1,
                _ => {}
            }
            end = token.end;
            self.at += 1;
        }
        if end == start { Err(self.unexpected()) } else { Ok(self.sql[start..end].to_owned()) }
    }

    /// The text up to a token at which `ends` says so, or the parenthesis that closes what is around: what stands in
    /// parentheses and within CASE … END is passed over. At least one token.
    pub(super) fn text_until(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<String, SqlError> {
        let start = self.offset();
        let (mut depth, mut end) = (0_usize, start);
        while let Some(token) = self.tokens.get(self.at) {
            if depth == 0 && (token.is_symbol(b')') || ends(token, self.sql)) {
                break;
            }
            if token.is_symbol(b'(') || token.is(self.sql, "case") {
                depth += 1;
            } else if token.is_symbol(b')') || token.is(self.sql, "end") {
                depth = depth.saturating_sub(1);
            }
            end = token.end;
            self.at += 1;
        }
        if end == start { Err(self.unexpected()) } else { Ok(self.sql[start..end].to_owned()) }
    }

    /// The text within a pair of parentheses, of which the first was taken; takes the second.
    pub(super) fn parenthesised(&mut self) -> Result<String, SqlError> {
        let start = self.tokens.get(self.at).map_or(self.sql.len(), |token| token.start);
        let mut depth = 1;
        loop {
            let token = self.any()?;
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(self.sql[start..token.start].to_owned());
            }
        }
    }

    /// The text of all that is left, taken.
    pub(super) fn rest(&mut self) -> String {
        let range = match (self.tokens.get(self.at), self.tokens.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        };
        self.at = self.tokens.len();
        self.sql[range].to_owned()
    }

    /// The text from a byte on to the end, blanks before its first token with it, and how many characters stand before
    /// it. All of it is taken.
    pub(super) fn rest_from(&mut self, start: usize) -> (String, u32) {
        self.at = self.tokens.len();
        let end = self.tokens.last().map_or(start, |last| last.end);
        (self.sql[start..end].to_owned(), character_position(self.sql, start) - 1)
    }

    /// The error that the next token is not what it should be.
    pub(super) fn unexpected(&self) -> SqlError {
        match self.tokens.get(self.at) {
            Some(token) => {
                let message = format!("syntax error at or near \"{}\"", token.text(self.sql));
                SqlError::new(state::SYNTAX_ERROR, message).at(self.position())
            }
            None => SqlError::new(state::SYNTAX_ERROR, "syntax error at end of input").at(self.position()),
        }
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}
