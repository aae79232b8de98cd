//! The writer of COPY data: it makes a piece of data of each row.

use super::options::SIGNATURE;
use super::{CopyFormat, CopyOptions};
use crate::types::{Styles, encode_binary, encode_text};
use bytes::{BufMut, BytesMut};
use hotrow_storage::{Type, Value};

/// A writer of rows as COPY data. The caller calls [`header`](Self::header), then [`row`](Self::row) for each row, and
/// then [`trailer`](Self::trailer). The returned piece is borrowed from the writer until the next call.
pub struct CopyWriter {
    options: CopyOptions,
    types: Vec<Type>,
    styles: Styles,
    piece: BytesMut,
    /// Whether the piece begins with the binary format's header, which drivers expect in one message with the first
    /// row.
    headed: bool,
    value: BytesMut,
}

impl CopyWriter {
    /// Makes a writer of rows with columns of these types. `styles` are those of the session.
    pub fn new(options: CopyOptions, types: Vec<Type>, styles: Styles) -> Self {
        Self { options, types, styles, piece: BytesMut::new(), headed: false, value: BytesMut::new() }
    }

    /// Returns the header with the names of the columns, or `None` if the options ask for none. In the binary format it
    /// also returns `None`: that header is part of the first piece.
    pub fn header<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Option<&[u8]> {
        self.piece.clear();
        match self.options.format {
            CopyFormat::Binary => {
                self.piece.put_slice(SIGNATURE);
                self.piece.put_u64(0);
                self.headed = true;
                return None;
            }
            CopyFormat::Text | CopyFormat::Csv if self.options.header => {
                for (at, name) in names.into_iter().enumerate() {
                    self.separate(at);
                    self.put_string(name.as_bytes(), false);
                }
                self.piece.put_u8(b'\n');
            }
            CopyFormat::Text | CopyFormat::Csv => return None,
        }
        Some(&self.piece)
    }

    /// Returns the data of one row.
    pub fn row(&mut self, values: &[Value<'_>]) -> &[u8] {
        debug_assert_eq!(values.len(), self.types.len());
        self.begin_piece();
        match self.options.format {
            CopyFormat::Binary => self.put_binary(values),
            CopyFormat::Text | CopyFormat::Csv => self.put_line(values),
        }
        &self.piece
    }

    /// Returns the trailer, which only the binary format has.
    pub fn trailer(&mut self) -> Option<&[u8]> {
        self.begin_piece();
        self.piece.put_i16(-1);
        (self.options.format == CopyFormat::Binary).then_some(&self.piece)
    }

    fn begin_piece(&mut self) {
        if !std::mem::take(&mut self.headed) {
            self.piece.clear();
        }
    }

    fn put_binary(&mut self, values: &[Value<'_>]) {
        self.piece.put_u16(values.len() as u16);
        for (value, ty) in values.iter().zip(&self.types) {
            if value.is_null() {
                self.piece.put_i32(-1);
                continue;
            }
            let at = self.piece.len();
            self.piece.put_i32(0);
            encode_binary(value, *ty, &mut self.piece);
            let size = (self.piece.len() - at - 4) as i32;
            self.piece[at..at + 4].copy_from_slice(&size.to_be_bytes());
        }
    }

    fn put_line(&mut self, values: &[Value<'_>]) {
        for (at, value) in values.iter().enumerate() {
            self.separate(at);
            if value.is_null() {
                self.piece.put_slice(self.options.null.as_bytes());
                continue;
            }
            let mut text = std::mem::take(&mut self.value);
            text.clear();
            encode_text(value, self.types[at], self.styles, &mut text);
            self.put_string(&text, values.len() == 1);
            self.value = text;
        }
        self.piece.put_u8(b'\n');
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.piece.put_u8(self.options.delimiter);
        }
    }

    fn put_string(&mut self, text: &[u8], alone: bool) {
        match self.options.format {
            CopyFormat::Csv => self.put_csv(text, alone),
            _ => self.put_escaped(text),
        }
    }

    /// Writes a text with backslashes before the characters that are special in the text format.
    fn put_escaped(&mut self, text: &[u8]) {
        let delimiter = self.options.delimiter;
        let mut done = 0;
        for (at, &byte) in text.iter().enumerate() {
            let escape = match byte {
                b'\\' => b'\\',
                8 => b'b',
                12 => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                11 => b'v',
                byte if byte == delimiter => byte,
                _ => continue,
            };
            self.piece.put_slice(&text[done..at]);
            self.piece.put_slice(&[b'\\', escape]);
            done = at + 1;
        }
        self.piece.put_slice(&text[done..]);
    }

    /// Writes a field, in quotes if it needs them. `alone` says that it is the row's only field, which must not look
    /// like the end of data.
    fn put_csv(&mut self, text: &[u8], alone: bool) {
        let CopyOptions { delimiter, quote, escape, ref null, .. } = self.options;
        let special = |&byte: &u8| byte == delimiter || byte == quote || byte == b'\n' || byte == b'\r';
        let needs_quotes = text == null.as_bytes() || text.iter().any(special) || (alone && text == b"\\.");
        if !needs_quotes {
            return self.piece.put_slice(text);
        }
        self.piece.put_u8(quote);
        for &byte in text {
            if byte == quote || byte == escape {
                self.piece.put_u8(escape);
            }
            self.piece.put_u8(byte);
        }
        self.piece.put_u8(quote);
    }
}
