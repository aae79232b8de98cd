//! A position in a statement's tokens, from which statements are read by hand.

use super::lex::{Token, TokenKind, character_position, identifier, string_value};
use super::string::special_string_value;
use crate::schema::{RelationName, quoted};
use crate::{SqlError, state};
use std::ops::Range;

/// Reads a statement token by token. A method that expects a token which is not next returns a syntax error.
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

    /// Returns the next token in lower case if it is a word.
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

    /// Whether `wanted` is true for a token that stands before the next occurrence of the keyword.
    pub(super) fn precedes(&self, wanted: impl Fn(&Token, &str) -> bool, keyword: &str) -> bool {
        let tokens = self.tokens.get(self.at..).unwrap_or_default();
        tokens.iter().take_while(|token| !token.is(self.sql, keyword)).any(|token| wanted(token, self.sql))
    }

    /// Whether the next token is the last one.
    pub(super) fn is_last(&self) -> bool {
        self.at + 1 == self.tokens.len()
    }

    /// Returns a token's own text.
    pub(super) fn text(&self, token: &Token) -> &'a str {
        token.text(self.sql)
    }

    /// Takes the next token if it is this keyword. Returns whether it was.
    pub(super) fn take(&mut self, keyword: &str) -> bool {
        let found = self.follows(0, keyword);
        self.at += usize::from(found);
        found
    }

    /// Takes the next token if it is this character. Returns whether it was.
    pub(super) fn take_symbol(&mut self, symbol: u8) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is_symbol(symbol));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, keyword: &str) -> Result<(), SqlError> {
        if self.take(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes these symbols, if they are next in this order. Returns whether they were.
    pub(super) fn take_symbols(&mut self, symbols: &[u8]) -> bool {
        let follow = symbols.iter().enumerate().all(|(ahead, symbol)| self.follows_symbol(ahead, &[*symbol]));
        if follow {
            symbols.iter().for_each(|_| self.advance());
        }
        follow
    }

    /// Takes a string between dollars, if it is there, and returns where in the text its contents are.
    pub(super) fn take_body(&mut self) -> Option<Range<usize>> {
        let token = self.tokens.get(self.at).filter(|token| token.kind == TokenKind::OtherString)?;
        let tag = self.text(token).strip_prefix('$')?.find('$')? + 2;
        let (start, end) = (token.start + tag, token.end.checked_sub(tag)?);
        self.at += 1;
        (start <= end).then_some(start..end)
    }

    /// Takes IF EXISTS, if it is there. Returns whether it was.
    pub(super) fn if_exists(&mut self) -> Result<bool, SqlError> {
        let found = self.take("if");
        if found {
            self.expect("exists")?;
        }
        Ok(found)
    }

    pub(super) fn expect_symbol(&mut self, symbol: u8) -> Result<(), SqlError> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_end(&self) -> Result<(), SqlError> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes the next token, whatever it is.
    pub(super) fn any(&mut self) -> Result<Token, SqlError> {
        let token = self.tokens.get(self.at).copied().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(token)
    }

    /// Returns the offset of the next token in bytes, or the end of the text if no token is left.
    pub(super) fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(self.sql.len(), |token| token.start)
    }

    /// Returns the position of the next token in characters, from 1.
    pub(super) fn position(&self) -> u32 {
        character_position(self.sql, self.offset())
    }

    /// Takes a word and returns it in lower case.
    pub(super) fn word(&mut self) -> Result<String, SqlError> {
        let word = self.peek_word().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(word)
    }

    /// Takes an identifier and returns the name that it means.
    pub(super) fn name(&mut self) -> Result<String, SqlError> {
        match self.tokens.get(self.at) {
            Some(token) if self.text(token) == "\"\"" => {
                let message = "zero-length delimited identifier at or near \"\"\"\"";
                Err(SqlError::new(state::SYNTAX_ERROR, message).at(self.position()))
            }
            Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) => {
                self.at += 1;
                Ok(identifier(token, self.sql))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Takes one item or more, each by calling `item`, with commas between them.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, SqlError>,
    ) -> Result<Vec<T>, SqlError> {
        let mut items = vec![item(self)?];
        while self.take_symbol(b',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes names with commas between them.
    pub(super) fn names(&mut self) -> Result<Vec<String>, SqlError> {
        self.list(Self::name)
    }

    /// Takes CASCADE or RESTRICT, if one of them is there. Returns whether it was CASCADE.
    pub(super) fn cascades(&mut self) -> bool {
        let cascade = self.take("cascade");
        if !cascade {
            self.take("restrict");
        }
        cascade
    }

    /// Takes the name of a relation or another object, with or without its schema.
    pub(super) fn qualified_name(&mut self) -> Result<RelationName, SqlError> {
        crate::parse::names::relation_name(&self.dotted_name()?)
    }

    /// Takes names with points between them.
    pub(super) fn dotted_name(&mut self) -> Result<Vec<String>, SqlError> {
        let mut parts = vec![self.name()?];
        while self.take_symbol(b'.') {
            parts.push(self.name()?);
        }
        Ok(parts)
    }

    /// Whether a number is next, with or without a sign.
    pub(super) fn is_at_number(&self) -> bool {
        let ahead = usize::from(self.follows_symbol(0, b"-"));
        self.tokens.get(self.at + ahead).is_some_and(|token| token.kind == TokenKind::Number)
    }

    /// Takes a setting's name and returns it in lower case. The name may contain dots.
    pub(super) fn setting_name(&mut self) -> Result<String, SqlError> {
        let mut name = self.name()?;
        while self.take_symbol(b'.') {
            name.push('.');
            name.push_str(&self.name()?);
        }
        Ok(name.to_lowercase())
    }

    /// Takes a list of schemas. Returns it as a value of `search_path`, or `None` if it is DEFAULT.
    pub(super) fn path(&mut self) -> Result<Option<String>, SqlError> {
        if self.take("default") {
            return Ok(None);
        }
        let mut path = quoted(&self.scalar()?);
        while self.take_symbol(b',') {
            path.push_str(", ");
            path.push_str(&quoted(&self.scalar()?));
        }
        Ok(Some(path))
    }

    /// Takes a word, a string or a number and returns it as text.
    pub(super) fn scalar(&mut self) -> Result<String, SqlError> {
        let sign = if self.take_symbol(b'-') { "-" } else { "" };
        if sign.is_empty() {
            self.take_symbol(b'+');
        }
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

    /// Takes a string and returns its value.
    pub(super) fn string(&mut self) -> Result<String, SqlError> {
        let Some(token) = self.tokens.get(self.at) else { return Err(self.unexpected()) };
        let text = token.text(self.sql);
        let value = match token.kind {
            TokenKind::String => string_value(text),
            TokenKind::OtherString => special_string_value(text).ok_or_else(|| self.unexpected())?,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(value)
    }

    /// Takes a type's name, up to a comma or closing parenthesis, and returns its text.
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

    /// Takes tokens up to the first for which `ends` is true, or up to the parenthesis that closes the surrounding
    /// ones, and returns their text. Tokens in parentheses, in brackets and within CASE … END do not end it. There must
    /// be at least one token.
    pub(super) fn text_until(&mut self, ends: impl Fn(&Token, &str) -> bool) -> Result<String, SqlError> {
        let start = self.offset();
        let (mut depth, mut end) = (0_usize, start);
        while let Some(token) = self.tokens.get(self.at) {
            if depth == 0 && (token.is_symbol(b')') || ends(token, self.sql)) {
                break;
            }
            if token.is_symbol(b'(') || token.is_symbol(b'[') || token.is(self.sql, "case") {
                depth += 1;
            } else if token.is_symbol(b')') || token.is_symbol(b']') || token.is(self.sql, "end") {
                depth = depth.saturating_sub(1);
            }
            end = token.end;
            self.at += 1;
        }
        if end == start { Err(self.unexpected()) } else { Ok(self.sql[start..end].to_owned()) }
    }

    /// Takes the tokens up to the closing parenthesis, and that parenthesis too. Returns the text before it. The
    /// opening parenthesis was taken before.
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

    /// Takes all tokens that are left, and returns their text.
    pub(super) fn rest(&mut self) -> String {
        let range = match (self.tokens.get(self.at), self.tokens.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        };
        self.at = self.tokens.len();
        self.sql[range].to_owned()
    }

    /// Returns the text of the whole statement, and takes no token.
    pub(super) fn whole(&self) -> String {
        let range = match self.tokens {
            [first, .., last] => first.start..last.end,
            _ => 0..0,
        };
        self.sql[range].to_owned()
    }

    /// Takes all tokens that are left. Returns the text from the byte `start` to its end, with the blanks at its
    /// beginning, and the number of characters before it.
    pub(super) fn rest_from(&mut self, start: usize) -> (String, u32) {
        self.at = self.tokens.len();
        let end = self.tokens.last().map_or(start, |last| last.end);
        (self.sql[start..end].to_owned(), character_position(self.sql, start) - 1)
    }

    /// Returns the syntax error that the next token, or the end of the text, is not expected here.
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
