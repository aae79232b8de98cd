//! The contents of clients' messages, read field by field. Each step checks that the field is there.

use hotrow_sql::types::utf8;
use hotrow_sql::{SqlError, state};

/// A parser of a message's content, from its beginning to its end. Texts and values are borrowed from the content.
///
/// Each method that reads a field fails with error 08P01 ([`malformed`]) if the content ends before the field does.
/// Numbers are big-endian.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    /// Makes a parser at the beginning of a message's content.
    pub fn new(content: &'a [u8]) -> Self {
        Self { rest: content }
    }

    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], SqlError> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| malformed("insufficient data left in message"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SqlError> {
        Ok(self.bytes(N)?.try_into().expect("as many bytes as were asked for"))
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Result<u8, SqlError> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads an unsigned number of two bytes.
    pub fn u16(&mut self) -> Result<u16, SqlError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads a signed number of four bytes.
    pub fn i32(&mut self) -> Result<i32, SqlError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads an unsigned number of four bytes.
    pub fn u32(&mut self) -> Result<u32, SqlError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads a text that ends with a zero byte. Fails if the text is not valid UTF-8.
    pub fn text(&mut self) -> Result<&'a str, SqlError> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or_else(|| malformed("invalid string in message"))?;
        let text = utf8(&self.rest[..end])?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// Reads a value: a length of four bytes, and then as many bytes. Returns `None` for the length -1, which means
    /// NULL.
    pub fn value(&mut self) -> Result<Option<&'a [u8]>, SqlError> {
        match self.i32()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => Err(malformed("invalid length of a value in message")),
            },
        }
    }

    /// Reads a list of format codes: a count of two bytes, and then as many codes.
    pub fn formats(&mut self) -> Result<Formats<'a>, SqlError> {
        let count = usize::from(self.u16()?);
        Ok(Formats { codes: self.bytes(count * 2)? })
    }

    /// Checks that the whole content was read. Fails with error 08P01 if bytes are left.
    pub fn end(self) -> Result<(), SqlError> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed("invalid message format")) }
    }
}

/// The format codes of a list of values: 0 for text, 1 for binary. An empty list means text for all values, and a
/// single code applies to all.
#[derive(Clone, Copy)]
pub struct Formats<'a> {
    codes: &'a [u8],
}

impl Formats<'_> {
    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.codes.len() / 2
    }

    /// Whether the value at this position is in the binary format. Fails if its code is neither 0 nor 1.
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

/// Makes error 08P01, a protocol violation, for a message from a client whose content is malformed.
pub fn malformed(message: &str) -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, message)
}
