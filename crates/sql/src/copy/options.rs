//! The options of COPY.

use crate::{CopyEncoding, SqlError, state};

/// The bytes at the beginning of data in the binary format.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// The format of COPY data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyFormat {
    /// A line for each row, with backslash escapes.
    #[default]
    Text,
    /// Comma-separated values, with quotes.
    Csv,
    /// PostgreSQL's binary format.
    Binary,
}

/// The options of a COPY statement that determine the layout of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// The format.
    pub format: CopyFormat,
    /// The character between two fields.
    pub delimiter: u8,
    /// The text that stands for NULL.
    pub null: String,
    /// Whether the first line contains the names of the columns. It is skipped by COPY FROM and written by COPY TO.
    pub header: bool,
    /// The quote around a CSV field with special characters.
    pub quote: u8,
    /// The character that escapes a quote, or itself, within a quoted CSV field.
    pub escape: u8,
}

impl CopyOptions {
    /// Makes options with PostgreSQL's defaults for a format.
    pub fn new(format: CopyFormat) -> Self {
        let (delimiter, null) = match format {
            CopyFormat::Csv => (b',', ""),
            CopyFormat::Text | CopyFormat::Binary => (b'\t', "\\N"),
        };
        Self { format, delimiter, null: null.to_owned(), header: false, quote: b'"', escape: b'"' }
    }

    /// Returns the encoding that the protocol's messages name for this format.
    pub fn encoding(&self) -> CopyEncoding {
        match self.format {
            CopyFormat::Binary => CopyEncoding::Binary,
            CopyFormat::Text | CopyFormat::Csv => CopyEncoding::Text,
        }
    }

    /// Checks that the options are compatible with each other.
    ///
    /// # Errors
    /// 22023 if they are not.
    pub fn validate(&self) -> Result<(), SqlError> {
        let wrong = |message: &str| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        let csv = self.format == CopyFormat::Csv;
        if self.format == CopyFormat::Binary {
            if self.header {
                return wrong("cannot specify HEADER in BINARY mode");
            }
            return Ok(());
        }
        if !self.delimiter.is_ascii() || matches!(self.delimiter, b'\r' | b'\n' | 0) {
            return wrong(
                "COPY delimiter cannot be newline or carriage return, and must be a single one-byte character",
            );
        }
        if self.null.contains(['\r', '\n']) {
            return wrong("COPY null representation cannot use newline or carriage return");
        }
        if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&self.delimiter) {
            return wrong(&format!("COPY delimiter cannot be \"{}\"", self.delimiter as char));
        }
        if self.null.as_bytes().contains(&self.delimiter) {
            return wrong("COPY delimiter character must not appear in the NULL specification");
        }
        if csv && self.delimiter == self.quote {
            return wrong("COPY delimiter and quote must be different");
        }
        if csv && (!self.quote.is_ascii() || !self.escape.is_ascii()) {
            return wrong("COPY quote and escape must be a single one-byte character");
        }
        if csv && self.null.as_bytes().contains(&self.quote) {
            return wrong("CSV quote character must not appear in the NULL specification");
        }
        Ok(())
    }
}
