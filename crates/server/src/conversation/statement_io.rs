//! Input and output of a running statement: its rows go into the output buffer, its COPY data comes from the input.

use crate::message::{Body, Input, RowShape, backend, malformed};
use bytes::{BufMut, BytesMut};
use hotrow_sql::types::Styles;
use hotrow_sql::{Client, CopyEncoding, Notice, OutputColumn, SqlError, state};
use hotrow_storage::Value;
use std::io::{self, Read, Write};

/// The size of the output buffer, in bytes, at which it is sent even if the answer is not complete.
pub const OUTPUT_LIMIT: usize = 64 << 10;

/// The approximate size of the pieces, in bytes, in which COPY data goes to the statement.
const COPY_PIECE: usize = 64 << 10;

/// The input and output of a connection while a statement runs: the session writes rows to it, and reads COPY data from
/// it.
pub struct StatementIo<'a, S> {
    /// The client's socket.
    pub stream: &'a mut S,
    /// The bytes that have come from the client and are not consumed.
    pub input: &'a mut Input,
    /// The output buffer: messages that are still to be sent.
    pub out: &'a mut BytesMut,
    /// The types and formats of the rows.
    pub shape: &'a mut RowShape,
    /// The longest message that is accepted, in bytes.
    pub limit: usize,
}

/// Sends the messages in the output buffer `out`, and empties it even if that fails. Waits for the client as the stream
/// does.
pub fn flush(stream: &mut impl Write, out: &mut BytesMut) -> io::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let sent = stream.write_all(out).and_then(|()| stream.flush());
    out.clear();
    sent
}

fn gone(error: io::Error) -> SqlError {
    if error.kind() == io::ErrorKind::OutOfMemory {
        // The connection meets the same error when it reads on, and ends.
        return SqlError::new(state::OUT_OF_MEMORY, "out of memory for a long message");
    }
    SqlError::new(state::CONNECTION_FAILURE, format!("connection to client lost: {error}"))
}

impl<S: Read + Write> StatementIo<'_, S> {
    fn flush(&mut self) -> Result<(), SqlError> {
        flush(self.stream, self.out).map_err(gone)
    }

    fn flush_if_full(&mut self) -> Result<(), SqlError> {
        if self.out.len() >= OUTPUT_LIMIT { self.flush() } else { Ok(()) }
    }
}

impl<S: Read + Write> Client for StatementIo<'_, S> {
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.shape.set(columns.iter().map(|column| (column.ty, false)));
        backend::row_description(self.out, columns, |_| false);
        Ok(())
    }

    fn styles(&mut self, styles: Styles) {
        self.shape.styles = styles;
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        backend::data_row(self.out, values, self.shape);
        self.flush_if_full()
    }

    fn complete(&mut self, tag: &str) -> Result<(), SqlError> {
        backend::command_complete(self.out, tag);
        self.flush_if_full()
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        self.out.put_slice(backend::EMPTY_QUERY);
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        backend::notice(self.out, notice.severity, &notice.error);
    }

    fn parameter(&mut self, name: &str, value: &str) {
        backend::parameter_status(self.out, name, value);
    }

    fn copy_in(&mut self, encoding: CopyEncoding, columns: usize) -> Result<(), SqlError> {
        backend::copy_begins(self.out, true, encoding, columns);
        self.flush()
    }

    fn copy_data(&mut self, buffer: &mut Vec<u8>) -> Result<bool, SqlError> {
        buffer.clear();
        loop {
            // A cut frame means that the connection is lost. The connection meets a frame's error again.
            let Some(frame) = self.input.frame(self.limit)? else {
                if !buffer.is_empty() {
                    return Ok(true);
                }
                match self.input.fill(self.stream).map_err(gone)? {
                    0 => return Err(gone(io::ErrorKind::UnexpectedEof.into())),
                    _ => continue,
                }
            };
            match frame.kind {
                b'd' => {
                    buffer.extend_from_slice(self.input.body(&frame));
                    if buffer.len() >= COPY_PIECE {
                        return Ok(true);
                    }
                }
                b'c' if buffer.is_empty() => return Ok(false),
                b'c' | b'f' if !buffer.is_empty() => {
                    self.input.unread_frame(&frame);
                    return Ok(true);
                }
                b'f' => {
                    let reason = Body::new(self.input.body(&frame)).text()?;
                    return Err(SqlError::new(state::QUERY_CANCELED, format!("COPY from stdin failed: {reason}")));
                }
                // A driver sends Sync together with Execute, before it knows that the statement asks for data.
                b'H' | b'S' => {}
                kind => {
                    let message = format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    return Err(malformed(&message));
                }
            }
        }
    }

    fn copy_out(&mut self, encoding: CopyEncoding, columns: usize) -> Result<(), SqlError> {
        backend::copy_begins(self.out, false, encoding, columns);
        Ok(())
    }

    fn copy_piece(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        backend::copy_data(self.out, bytes);
        self.flush_if_full()
    }

    fn copy_out_done(&mut self) -> Result<(), SqlError> {
        self.out.put_slice(backend::COPY_DONE);
        Ok(())
    }
}
