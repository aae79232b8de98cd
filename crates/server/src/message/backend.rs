//! The server's messages. Those that every statement needs are written straight into the buffer; `pgwire` encodes the
//! others.

use bytes::{BufMut, BytesMut};
use hotrow_sql::types::{Styles, encode_binary, encode_text, oid, type_len, typmod};
use hotrow_sql::{CopyEncoding, Notification, OutputColumn, SqlError};
use hotrow_storage::{Type, Value};
use pgwire::error::ErrorInfo;
use pgwire::messages::Message;
use pgwire::messages::copy::{CopyInResponse, CopyOutResponse};
use pgwire::messages::data::ParameterDescription;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};
use pgwire::messages::startup::{Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey};

/// The longest text in an error, in bytes. Clients' libraries refuse very long ones.
const ERROR_TEXT_BYTES: usize = 4096;

/// A whole ParseComplete message.
pub const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
/// A whole BindComplete message.
pub const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
/// A whole CloseComplete message.
pub const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";
/// A whole NoData message.
pub const NO_DATA: &[u8] = b"n\0\0\0\x04";
/// A whole PortalSuspended message.
pub const PORTAL_SUSPENDED: &[u8] = b"s\0\0\0\x04";
/// A whole EmptyQueryResponse message.
pub const EMPTY_QUERY: &[u8] = b"I\0\0\0\x04";
/// A whole CopyDone message.
pub const COPY_DONE: &[u8] = b"c\0\0\0\x04";

/// The types and formats of a result's columns, by which [`data_row`] encodes each row.
#[derive(Default)]
pub struct RowShape {
    columns: Vec<(Type, bool)>,
    /// The styles of dates, intervals and other values in the text format, which are settings of the session.
    pub styles: Styles,
}

impl RowShape {
    /// Replaces the columns. For each, the pair holds its type, and whether its values are sent in the binary format.
    pub fn set(&mut self, columns: impl Iterator<Item = (Type, bool)>) {
        self.columns.clear();
        self.columns.extend(columns);
    }

    /// Whether the values of the column at this position are sent in the binary format. Returns `false` if there is no
    /// such column.
    pub fn is_binary(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|&(_, binary)| binary)
    }
}

/// Writes a DataRow message with the values of a row. There must be one value for each column of `shape`.
pub fn data_row(out: &mut BytesMut, values: &[Value<'_>], shape: &RowShape) {
    debug_assert_eq!(values.len(), shape.columns.len());
    let at = begin(out, b'D');
    out.put_u16(values.len() as u16);
    for (value, &(ty, binary)) in values.iter().zip(&shape.columns) {
        if value.is_null() {
            out.put_i32(-1);
            continue;
        }
        let at = out.len();
        out.put_i32(0);
        if binary {
            encode_binary(value, ty, out);
        } else {
            encode_text(value, ty, shape.styles, out);
        }
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    end(out, at);
}

/// Writes a RowDescription message about the columns of a result. `is_binary` says whether the values of the column at
/// a position are sent in the binary format.
pub fn row_description(out: &mut BytesMut, columns: &[OutputColumn], is_binary: impl Fn(usize) -> bool) {
    let at = begin(out, b'T');
    out.put_u16(columns.len() as u16);
    for (position, column) in columns.iter().enumerate() {
        put_text(out, &column.name);
        out.put_u32(column.origin.map_or(0, |origin| origin.relation));
        out.put_u16(column.origin.map_or(0, |origin| origin.column));
        out.put_u32(oid(column.ty));
        out.put_i16(type_len(column.ty));
        out.put_i32(typmod(column.ty));
        out.put_u16(u16::from(is_binary(position)));
    }
    end(out, at);
}

/// Writes a CommandComplete message: a statement has ended, with the command tag `tag`.
pub fn command_complete(out: &mut BytesMut, tag: &str) {
    let at = begin(out, b'C');
    put_text(out, tag);
    end(out, at);
}

/// Writes a ReadyForQuery message. `status` is `I` outside a transaction block, `T` inside one, or `E` inside one that
/// has failed.
pub fn ready_for_query(out: &mut BytesMut, status: u8) {
    out.put_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// Writes a CopyData message with a piece of COPY data.
pub fn copy_data(out: &mut BytesMut, piece: &[u8]) {
    let at = begin(out, b'd');
    out.put_slice(piece);
    end(out, at);
}

/// Writes the message with which COPY begins: CopyInResponse if `inward`, when the client is to send data, or else
/// CopyOutResponse.
pub fn copy_begins(out: &mut BytesMut, inward: bool, encoding: CopyEncoding, columns: usize) {
    let format = match encoding {
        CopyEncoding::Text => 0,
        CopyEncoding::Binary => 1,
    };
    let formats = vec![i16::from(format); columns];
    if inward {
        put(out, &CopyInResponse::new(format, columns as i16, formats));
    } else {
        put(out, &CopyOutResponse::new(format, columns as i16, formats));
    }
}

/// Writes a ParameterDescription message with the OIDs of the types of a statement's parameters.
pub fn parameter_description(out: &mut BytesMut, oids: Vec<u32>) {
    put(out, &ParameterDescription::new(oids));
}

/// Writes an ErrorResponse message. `severity` is `ERROR`, or `FATAL` if the connection ends. Texts are cut to 4 KiB.
pub fn error(out: &mut BytesMut, severity: &str, error: &SqlError) {
    put(out, &ErrorResponse::from(info(severity, error)));
}

/// Writes a NoticeResponse message. `severity` is a word such as `WARNING` or `NOTICE`. Texts are cut to 4 KiB.
pub fn notice(out: &mut BytesMut, severity: &str, error: &SqlError) {
    put(out, &NoticeResponse::from(info(severity, error)));
}

/// Writes a NotificationResponse message: a notification of a channel on which the session listens.
pub fn notification(out: &mut BytesMut, notification: &Notification) {
    let at = begin(out, b'A');
    out.put_i32(notification.pid);
    put_text(out, &notification.channel);
    put_text(out, &notification.payload);
    end(out, at);
}

/// Writes a ParameterStatus message: the present value of a setting about whose changes clients are informed.
pub fn parameter_status(out: &mut BytesMut, name: &str, value: &str) {
    put(out, &ParameterStatus::new(clean(name), clean(value)));
}

/// Writes an Authentication message: the server's part of one step of the log-in.
pub fn authentication(out: &mut BytesMut, step: &Authentication) {
    put(out, step);
}

/// Writes a BackendKeyData message: the numbers that a cancel request for this session must contain.
pub fn key_data(out: &mut BytesMut, pid: i32, secret: i32) {
    put(out, &BackendKeyData::new(pid, SecretKey::I32(secret)));
}

/// Writes a NegotiateProtocolVersion message: the server supports protocol 3.0 only, and does not know these options.
pub fn negotiate_version(out: &mut BytesMut, unknown_options: Vec<String>) {
    put(out, &NegotiateProtocolVersion::new(0, unknown_options));
}

fn info(severity: &str, error: &SqlError) -> ErrorInfo {
    let mut info = ErrorInfo::new(severity.to_owned(), error.state.as_str().to_owned(), clean(&error.message));
    info.severity_nonlocalized = Some(severity.to_owned());
    info.detail = error.detail.as_deref().map(clean);
    info.hint = error.hint.as_deref().map(clean);
    info.where_context = error.context.as_deref().map(clean);
    info.position = error.position.map(|position| position.to_string());
    info.routine = error.routine().map(str::to_owned);
    if let Some(subject) = &error.subject {
        info.schema = Some(clean(&subject.schema)).filter(|schema| !schema.is_empty());
        info.table = Some(clean(&subject.table)).filter(|table| !table.is_empty());
        info.column = subject.column.as_deref().map(clean);
        info.datatype = subject.datatype.as_deref().map(clean);
        info.constraint = subject.constraint.as_deref().map(clean);
    }
    info
}

/// Returns a text without zero bytes, which would end it, cut to [`ERROR_TEXT_BYTES`].
fn clean(text: &str) -> String {
    let mut end = text.len().min(ERROR_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut clean = text[..end].replace('\0', "\u{fffd}");
    if end < text.len() {
        clean.push('…');
    }
    clean
}

fn put<M: Message>(out: &mut BytesMut, message: &M) {
    let before = out.len();
    if message.encode(out).is_err() {
        // Only a message beyond the limits of `pgwire` fails, and the code above bounds all lengths.
        out.truncate(before);
        debug_assert!(false, "a message was too long");
    }
}

/// Begins a message and returns the place of its length.
fn begin(out: &mut BytesMut, kind: u8) -> usize {
    out.put_u8(kind);
    out.put_u32(0);
    out.len() - 4
}

fn end(out: &mut BytesMut, at: usize) {
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_text(out: &mut BytesMut, text: &str) {
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}
