//! The parser of COPY data: the caller feeds it with pieces, which may end anywhere, and gets rows.

use super::{CopyFormat, CopyOptions, read_binary, read_csv, read_text};
use crate::{SqlError, state, types};
use std::ops::Range;

/// The number of characters of a line or field that an error shows.
const SHOWN: usize = 100;

/// The greatest size of a row, in bytes.
const MAX_ROW: usize = 1 << 28;

/// A parser of COPY data. The caller [feeds](Self::feed) it a piece, calls [`next_row`](Self::next_row) until it
/// returns no row, and so on, and calls [`finish`](Self::finish) after the last piece.
pub struct CopyReader {
    pub(super) options: CopyOptions,
    table: String,
    pub(super) columns: Vec<String>,
    /// The bytes that were fed. `data[start..]` has not been consumed.
    pub(super) data: Vec<u8>,
    pub(super) start: usize,
    /// The greatest size of an unfinished row, in bytes.
    max_row: usize,
    /// The number of bytes of `data[start..]` in which the end of the row was searched for and not found, and the state
    /// of the search.
    pub(super) searched: usize,
    pub(super) in_quotes: bool,
    /// The fields of the present row within `data`.
    pub(super) fields: Vec<Field>,
    pub(super) line: u64,
    /// The number of lines of the present row: a quoted CSV field may span several.
    pub(super) row_lines: u64,
    pub(super) header_left: bool,
    pub(super) line_end: Option<LineEnd>,
    pub(super) finished: bool,
    pub(super) ended: bool,
}

/// A field's range in the reader's buffer; `None` for NULL.
pub(super) type Field = Option<Range<usize>>;

/// The line ending, which the first line determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    Newline,
    ReturnNewline,
}

/// A row of COPY data: the raw fields, free of escapes and quotes.
pub struct CopyRow<'a> {
    reader: &'a CopyReader,
}

impl CopyReader {
    /// Makes a parser of rows with these columns. `table` is the table's name for error messages.
    pub fn new(options: CopyOptions, table: &str, columns: Vec<String>) -> Self {
        let header_left = options.header || options.format == CopyFormat::Binary;
        Self {
            options,
            table: table.to_owned(),
            fields: Vec::with_capacity(columns.len()),
            columns,
            data: Vec::new(),
            start: 0,
            max_row: MAX_ROW,
            searched: 0,
            in_quotes: false,
            line: 0,
            row_lines: 1,
            header_left,
            line_end: None,
            finished: false,
            ended: false,
        }
    }

    /// Sets the maximum size of a row. If an incomplete row is longer, [`Self::next_row`] fails.
    #[cfg(test)]
    pub(super) fn limit_rows(&mut self, bytes: usize) {
        self.max_row = bytes;
    }

    /// Appends the next piece of data to the buffer. Data after the end-of-data marker is ignored, as by PostgreSQL.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.ended {
            return;
        }
        if self.start > 0 {
            self.data.drain(..self.start);
            self.start = 0;
        }
        self.data.extend_from_slice(piece);
    }

    /// Marks the end of the data, so that a last line without a line end is a row.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Returns the next row. Returns `None` if the parser needs more data or, after [`finish`](Self::finish), if there
    /// are no more rows.
    ///
    /// # Errors
    /// 22P04 if the data is malformed, 54000 if a row is too long.
    pub fn next_row(&mut self) -> Result<Option<CopyRow<'_>>, SqlError> {
        let found = match self.options.format {
            CopyFormat::Text => read_text::next(self),
            CopyFormat::Csv => read_csv::next(self),
            CopyFormat::Binary => read_binary::next(self),
        }?;
        let unfinished = self.data.len() - self.start;
        if !found && !self.ended && unfinished > self.max_row {
            let message = format!("a row of COPY data cannot exceed {} bytes", self.max_row);
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message).context(format!(
                "COPY {}, line {}",
                self.table,
                self.line + 1
            )));
        }
        Ok(found.then_some(CopyRow { reader: self }))
    }

    /// Returns the number of the present line, from 1. In the binary format it is the number of the row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns error 22P04 with the number and the text of the line.
    pub(super) fn line_error(&self, message: impl Into<String>, line: Range<usize>) -> SqlError {
        let shown = shorten(&self.data[line]);
        SqlError::new(state::BAD_COPY_FILE_FORMAT, message)
            .context(format!("COPY {}, line {}: \"{shown}\"", self.table, self.line))
    }

    /// Returns error 22P04 with the number of the row, for the binary format.
    pub(super) fn row_error(&self, message: impl Into<String>) -> SqlError {
        SqlError::new(state::BAD_COPY_FILE_FORMAT, message).context(format!("COPY {}, line {}", self.table, self.line))
    }

    /// Returns error 22P04 unless the row has as many fields as there are columns. `line` is the row's range in the
    /// buffer.
    pub(super) fn check_count(&self, found: usize, line: Range<usize>) -> Result<(), SqlError> {
        if found > self.columns.len() {
            return Err(self.line_error("extra data after last expected column", line));
        }
        match self.columns.get(found) {
            Some(column) => Err(self.line_error(format!("missing data for column \"{column}\""), line)),
            None => Ok(()),
        }
    }
}

impl<'a> CopyRow<'a> {
    /// Returns the raw bytes of a field, or `None` for NULL: a text that is not parsed yet, or a value in the binary
    /// format.
    pub fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.reader.fields[column].clone().map(|range| &self.reader.data[range])
    }

    /// Returns a field as text, or `None` for NULL.
    ///
    /// # Errors
    /// 22021 if the field is not UTF-8.
    pub fn text(&self, column: usize) -> Result<Option<&'a str>, SqlError> {
        let Some(bytes) = self.bytes(column) else { return Ok(None) };
        types::utf8(bytes).map(Some).map_err(|error| self.explain(column, error))
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.reader.fields.len()
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.reader.fields.is_empty()
    }

    /// Returns the number of the row's line, from 1. In the binary format it is the number of the row.
    pub fn line(&self) -> u64 {
        self.reader.line
    }

    /// Adds the line, the column and the text of a field to an error about its value: `COPY t, line 3, column b: "x"`.
    pub fn explain(&self, column: usize, error: SqlError) -> SqlError {
        let CopyReader { table, columns, line, .. } = self.reader;
        let place = format!("COPY {table}, line {line}, column {}", columns[column]);
        let here = match self.bytes(column) {
            None => format!("{place}: null input"),
            Some(_) if self.reader.options.format == CopyFormat::Binary => place,
            Some(bytes) => format!("{place}: \"{}\"", shorten(bytes)),
        };
        // The error may already have a place within the value.
        let context = match &error.context {
            Some(within) => format!("{within}\n{here}"),
            None => here,
        };
        error.context(context)
    }

    /// Adds the line to an error about the row as a whole, such as a violated constraint.
    pub fn explain_row(&self, error: SqlError) -> SqlError {
        let here = format!("COPY {}, line {}", self.reader.table, self.reader.line);
        let context = match &error.context {
            Some(inner) => format!("{inner}\n{here}"),
            None => here,
        };
        error.context(context)
    }
}

fn shorten(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}
