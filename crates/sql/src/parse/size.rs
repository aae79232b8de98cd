//! The memory that reading a text takes.

use super::lex::{Token, tokenize};
use crate::memory::Room;
use crate::{MemoryLimit, SqlError};

/// The most memory that the syntax and the plan of a text take while they are made, in bytes a token.
const TOKEN_BYTES: usize = 1024;

/// The memory that a query takes beside that of its tokens, in bytes.
const QUERY_BYTES: usize = 20 << 10;

/// The number of tokens below which a text is read without asking the memory limit.
const SMALL_TOKENS: usize = 256;

/// Returns the most memory that the syntax and the plan of a text take while they are made, in bytes.
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
    /// Sets aside the memory that reading and planning a text may take. A small text needs none.
    ///
    /// # Errors
    /// 53200 if there is not enough memory.
    #[inline]
    pub(crate) fn set_aside(self, sql: &str, tokens: &[Token]) -> Result<Room, SqlError> {
        if tokens.len() < SMALL_TOKENS || self == Self::NONE {
            Ok(Room::NOTHING)
        } else {
            self.set_aside_bytes(bytes_of(sql, tokens) as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_text_is_read_without_asking() {
        let limit = MemoryLimit::new(1 << 20);
        let set_aside = |sql: &str| {
            let mut tokens = Vec::new();
            tokenize(sql, &mut tokens).expect("it has no open quotes");
            limit.set_aside(sql, &tokens).map(drop)
        };
        let large = format!("select {}1", "1 + ".repeat(1 << 12));
        assert_eq!(set_aside(&large).expect_err("it takes more than there is").state.as_str(), "53200");
        // Another session has set aside all memory.
        let _room = MemoryLimit::new(usize::MAX).set_aside_bytes(1 << 40).expect("it has no bound");
        assert_eq!(set_aside("delete from t"), Ok(()));
    }
}
