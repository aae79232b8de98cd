//! The bytes received from a client, cut into messages.

use hotrow_sql::{MemoryLimit, SqlError, state};
use std::cell::Cell;
use std::io::{self, Read};
use std::ops::Range;

/// The fewest bytes for which one read has room, and the size to which a buffer shrinks after a long message.
const CHUNK: usize = 16 << 10;
/// The size, in bytes, above which a buffer shrinks once it is empty. From this size on a buffer grows only while there
/// is memory.
const KEPT: usize = 256 << 10;

/// The most free buffers that a thread keeps for connections from which bytes come.
const SPARE_BUFFERS: usize = 64;

std::thread_local! {
    /// The thread's free buffers, of `CHUNK` bytes each.
    static SPARE: Cell<Vec<Vec<u8>>> = const { Cell::new(Vec::new()) };
}

/// The input buffer of a connection: the bytes that were received from a client and are not consumed, cut into
/// messages. After [`rest`](Self::rest) an empty input holds no memory; the thread's connections share a pool of free
/// buffers.
pub struct Input {
    data: Vec<u8>,
    start: usize,
    end: usize,
    /// The limit on the memory of the process.
    memory: MemoryLimit,
}

/// A message that has come as a whole. It refers to its content in the [`Input`], and is valid until the next
/// [`fill`](Input::fill).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The message's type: the letter with which it begins.
    pub kind: u8,
    /// The range of the message's content in the buffer.
    pub body: Range<usize>,
}

impl Input {
    /// Makes an empty input. A buffer of 256 KiB or more grows only if the memory that the whole process uses, with the
    /// new buffer, stays within the limit `memory`.
    pub fn new(memory: MemoryLimit) -> Self {
        Self { data: Vec::new(), start: 0, end: 0, memory }
    }

    /// Returns the buffer to the pool of the calling thread, if the input is empty.
    pub fn rest(&mut self) {
        if self.start < self.end {
            return;
        }
        (self.start, self.end) = (0, 0);
        let buffer = std::mem::take(&mut self.data);
        if buffer.len() == CHUNK {
            let mut spare = SPARE.take();
            if spare.len() < SPARE_BUFFERS {
                spare.push(buffer);
            }
            SPARE.set(spare);
        }
    }

    /// Returns the bytes that have not been consumed.
    pub fn unread(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Consumes the first `count` unread bytes.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Returns the content of a message that [`frame`](Self::frame) has returned since the last [`fill`](Self::fill).
    pub fn body(&self, frame: &Frame) -> &[u8] {
        &self.data[frame.body.clone()]
    }

    /// Consumes and returns the next message, or returns `None` if it has not come as a whole.
    ///
    /// # Errors
    /// Error 08P01 if the message's length is invalid or exceeds `limit` bytes. The connection must then end, because
    /// the beginning of the next message is not known.
    pub fn frame(&mut self, limit: usize) -> Result<Option<Frame>, SqlError> {
        let Some((&[kind, a, b, c, d], _)) = self.unread().split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length < 4 {
            return Err(SqlError::new(state::PROTOCOL_VIOLATION, "invalid message length"));
        }
        if length > limit {
            let message = format!("message of {length} bytes is longer than the limit of {limit} bytes");
            return Err(SqlError::new(state::PROTOCOL_VIOLATION, message));
        }
        if self.end - self.start < 1 + length {
            return Ok(None);
        }
        let body = self.start + 5..self.start + 1 + length;
        self.start = body.end;
        Ok(Some(Frame { kind, body }))
    }

    /// Iterates over the whole messages that have come and are not consumed, and returns the type and the content of
    /// each. Consumes none of them.
    pub fn ahead(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let mut rest = self.unread();
        std::iter::from_fn(move || {
            let (&[kind, a, b, c, d], _) = rest.split_first_chunk()?;
            let end = (u32::from_be_bytes([a, b, c, d]) as usize).checked_add(1)?;
            let body = rest.get(5..end)?;
            rest = &rest[end..];
            Some((kind, body))
        })
    }

    /// Whether [`frame`](Self::frame) would return a message or an error, rather than `None`.
    pub fn has_frame(&self, limit: usize) -> bool {
        let Some((&[_, a, b, c, d], _)) = self.unread().split_first_chunk() else { return false };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        !(4..=limit).contains(&length) || self.end - self.start > length
    }

    /// Whether the last read filled the buffer. If so, the socket may hold more bytes.
    pub fn is_full(&self) -> bool {
        self.end == self.data.len()
    }

    /// Whether a Sync message has come, and only Close and Flush messages come before it.
    pub fn sync_follows(&self) -> bool {
        self.ahead().map(|(kind, _)| kind).find(|kind| !matches!(kind, b'C' | b'H')) == Some(b'S')
    }

    /// Undoes the consumption of the last message that [`frame`](Self::frame) has returned.
    pub fn unread_frame(&mut self, frame: &Frame) {
        debug_assert_eq!(self.start, frame.body.end);
        self.start = frame.body.start - 5;
    }

    /// Reads bytes from `stream` into the buffer, with one read, which may wait. Returns their number, or 0 at the end
    /// of the stream. Invalidates all earlier frames.
    ///
    /// # Errors
    /// The stream's errors, and `OutOfMemory` if the buffer must grow for a long message past the memory limit.
    pub fn fill(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        if self.start > 0 {
            self.data.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.end == 0 && self.data.len() > KEPT {
                self.data.truncate(CHUNK);
                self.data.shrink_to_fit();
            }
        }
        if self.data.is_empty() {
            let mut spare = SPARE.take();
            self.data = spare.pop().unwrap_or_else(|| vec![0; CHUNK]);
            SPARE.set(spare);
        } else if self.data.len() - self.end < CHUNK {
            // The buffer grows with the bytes that have come. A length in a message alone does not make it grow.
            let grown = (self.data.len() * 2).max(CHUNK);
            if self.data.len() >= KEPT && self.memory.check_value(grown).is_err() {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            self.data.resize(grown, 0);
        }
        loop {
            match stream.read(&mut self.data[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => {
                    let count = other?;
                    self.end += count;
                    return Ok(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(data: &[u8], piece: usize) -> Result<Vec<(u8, Vec<u8>)>, SqlError> {
        let mut input = Input::new(MemoryLimit::NONE);
        let mut frames = Vec::new();
        for mut piece in data.chunks(piece) {
            while !piece.is_empty() {
                input.fill(&mut piece).unwrap();
            }
            while let Some(frame) = input.frame(100)? {
                frames.push((frame.kind, input.body(&frame).to_vec()));
            }
        }
        Ok(frames)
    }

    #[test]
    fn messages_are_whole_however_they_come() {
        let data = b"Q\0\0\0\x08abc\0S\0\0\0\x04d\0\0\0\x05x";
        let expected = vec![(b'Q', b"abc\0".to_vec()), (b'S', vec![]), (b'd', b"x".to_vec())];
        for piece in 1..data.len() + 1 {
            assert_eq!(frames(data, piece), Ok(expected.clone()), "in pieces of {piece}");
        }
    }

    #[test]
    fn a_buffer_goes_from_one_connection_to_the_next_without_what_was_in_it() {
        let mut first = Input::new(MemoryLimit::NONE);
        first.fill(&mut &b"Q\0\0\0\x06a\0Q\0\0"[..]).unwrap();
        let frame = first.frame(100).unwrap().unwrap();
        assert_eq!(first.body(&frame), b"a\0");
        first.rest();
        assert_eq!(first.unread(), b"Q\0\0", "half a message stays");
        first.fill(&mut &b"\0\x06b\0"[..]).unwrap();
        let frame = first.frame(100).unwrap().unwrap();
        assert_eq!(first.body(&frame), b"b\0");
        first.rest();
        assert!(first.unread().is_empty() && first.data.is_empty() && !first.has_frame(100));
        let mut second = Input::new(MemoryLimit::NONE);
        second.fill(&mut &b"S\0\0\0\x04"[..]).unwrap();
        assert_eq!(second.unread(), b"S\0\0\0\x04");
        assert!(!second.is_full());
        first.fill(&mut &b"H\0\0\0\x04"[..]).unwrap();
        assert_eq!((first.unread(), second.unread()), (&b"H\0\0\0\x04"[..], &b"S\0\0\0\x04"[..]));
    }

    #[test]
    fn a_sync_is_seen_behind_close_and_flush_only() {
        let cases: [(&[u8], bool); 7] = [
            (b"", false),
            (b"S\0\0\0\x04", true),
            (b"C\0\0\0\x06S\0H\0\0\0\x04S\0\0\0\x04", true),
            (b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04", false),
            (b"H\0\0\0\x04", false),
            (b"C\0\0\0\x06S", false),
            (b"C\xff\xff\xff\xffS\0\0\0\x04", false),
        ];
        for (data, expected) in cases {
            let mut input = Input::new(MemoryLimit::NONE);
            let mut unread = data;
            while !unread.is_empty() {
                input.fill(&mut unread).unwrap();
            }
            assert_eq!(input.sync_follows(), expected, "{data:?}");
        }
    }

    #[test]
    fn impossible_lengths_are_refused_before_the_content_comes() {
        for data in [b"Q\0\0\0\x03", b"Q\0\0\0\x65", b"Q\xff\xff\xff\xff"] {
            assert_eq!(frames(data, 5).unwrap_err().state, state::PROTOCOL_VIOLATION);
        }
    }
}
