//! What it takes to read a text.

use super::lex::{Token, tokenize};
use crate::memory::Room;
use crate::{MemoryLimit, SqlError};

/// What the syntax and the plan of a text take at the most while they are made, in bytes a token.
const TOKEN_BYTES: usize = 1024;

/// What a query takes beside its tokens, in bytes.
const QUERY_BYTES: usize = 16 << 10;

/// Texts of fewer tokens are read without asking.
const SMALL_TOKENS: usize = 256;

/// What the syntax and the plan of a text take at the most while they are made, in bytes.
pub fn reading_bytes(sql: &str) -> Result<usize, SqlError> {
    let mut tokens = Vec::new();
    tokenize(sql, &mut tokens)?;
    Ok(bytes_of(sql, &tokens))
}

fn bytes_of(sql: &str, tokens: &[Token]) -> usize {
    let queries = tokens.iter().filter(|token| token.is(sql, "select") || token.is(sql, "values")).count();
    tokens.len().saturating_mul(TOKEN_BYTES).saturating_add(queries.saturating_mul(QUERY_BYTES))
}

impl MemoryLimit {
    /// Sets aside what it may take to read and to plan a text; 53200 if there is not so much.
    #[inline]
    pub(crate) fn set_aside(self, sql: &str, tokens: &[Token]) -> Result<Room, SqlError> {
        if tokens.len() < SMALL_TOKENS || self == Self::NONE {
            Ok(Room::NOTHING)
        } else {
            self.set_aside_bytes(bytes_of(sql, tokens) as u64)
        }
    }
}
