//! What clients say: contents of messages, read with a check at every step.

use hotrow_sql::types::utf8;
use hotrow_sql::{SqlError, state};

/// A message's content, read from its beginning. Nothing is copied.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    /// The content of a message.
    pub fn new(content: &'a [u8]) -> Self {
        Self { rest: content }
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], SqlError> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| malformed("insufficient data left in message"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SqlError> {
        Ok(self.bytes(N)?.try_into().expect("as many bytes as were asked for"))
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8, SqlError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes: a count.
    pub fn u16(&mut self) -> Result<u16, SqlError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four bytes with a sign.
    pub fn i32(&mut self) -> Result<i32, SqlError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Four bytes without a sign.
    pub fn u32(&mut self) -> Result<u32, SqlError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Text up to a zero byte.
    pub fn text(&mut self) -> Result<&'a str, SqlError> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or_else(|| malformed("invalid string in message"))?;
        let text = utf8(&self.rest[..end])?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A length and as many bytes; `None` for the length -1.
    pub fn value(&mut self) -> Result<Option<&'a [u8]>, SqlError> {
        match self.i32()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => Err(malformed("invalid length of a value in message")),
            },
        }
    }

    /// A count and as many format codes.
    pub fn formats(&mut self) -> Result<Formats<'a>, SqlError> {
        let count = usize::from(self.u16()?);
        Ok(Formats { codes: self.bytes(count * 2)? })
    }

    /// Says that this was all.
    pub fn end(self) -> Result<(), SqlError> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed("invalid message format")) }
    }
}

/// Format codes, of two bytes each.
#[derive(Clone, Copy)]
pub struct Formats<'a> {
    codes: &'a [u8],
}

impl Formats<'_> {
    /// How many there are. None means text for all, and one holds for all.
    pub fn len(&self) -> usize {
        self.codes.len() / 2
    }

    /// Whether the value at a position is binary.
    pub fn is_binary(&self, position: usize) -> Result<bool, SqlError> {
        let at = if self.len() == 1 { 0 } else { position * 2 };
        match self.codes.get(at..at + 2) {
            None | Some([0, 0]) => Ok(false),
            Some([0, 1]) => Ok(true),
            Some(code) => {
                let code = u16::from_be_bytes([code[0], code[1]]);
                Err(SqlError::new(state::INVALID_PARAMETER_VALUE, format!("unsupported format code: {code}")))
            }
        }
    }
}

/// An error about a message whose content is not what its letter promises.
pub fn malformed(message: &str) -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, message)
}
