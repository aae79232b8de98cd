//! A file with frames of a log: the part of the log that a backup has.
//!
//! ```text
//! magic, 8 | version, 4 | CRC-32C of these, 4
//! blocks    length of the content, 4 | CRC-32C of it, of the offset and of the content, 4 | content
//! ```
//!
//! A block holds frames: position, length in the log, both as varints, and the record as a string. The last block is
//! empty but for the end of the last frame, so that a file that was cut off is not taken for a whole one.

use crate::bytes::{Input, push_string, push_varint};
use crate::disk::{Disk, File};
use crate::failure::Failure;
use crate::source::{Damage, Frame, Frames, Source};
use hotrow_sync::Arc;

/// The name of the file in a backup.
pub(crate) const NAME: &str = "backup.log";

const MAGIC: &[u8; 8] = b"hotrow L";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 16;
const HEAD_BYTES: usize = 8;
/// The bytes of frames from which on the next block begins.
const BLOCK_BYTES: usize = 256 << 10;
/// The bytes of a frame in a block that mark the last block: a length of zero, which no frame has.
const END: u64 = 0;

fn header() -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    let sum = crc32c::crc32c(&header);
    header.extend_from_slice(&sum.to_le_bytes());
    header
}

fn sum(offset: u64, length: &[u8], content: &[u8]) -> u32 {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&offset.to_le_bytes()), length);
    crc32c::crc32c_append(sum, content)
}

/// Writes all frames, which begin at `from`, into a new file, and makes it durable but for its name. Returns the end of
/// the last frame.
pub(crate) fn write(disk: &dyn Disk, from: u64, frames: &mut dyn Frames) -> Result<u64, Failure> {
    let file = disk.create(NAME).map_err(Failure::on(NAME))?;
    let (mut written, mut end) = (0, from);
    let mut buffer = header();
    let mut start = buffer.len();
    buffer.extend_from_slice(&[0; HEAD_BYTES]);
    loop {
        let is_over = match frames.next()? {
            Some(frame) => {
                push_varint(&mut buffer, frame.position);
                push_varint(&mut buffer, frame.end - frame.position);
                push_string(&mut buffer, frame.record);
                end = frame.end;
                false
            }
            None => {
                push_varint(&mut buffer, end);
                push_varint(&mut buffer, END);
                true
            }
        };
        if is_over || buffer.len() - start >= BLOCK_BYTES {
            let length = ((buffer.len() - start - HEAD_BYTES) as u32).to_le_bytes();
            let sum = sum(written + start as u64, &length, &buffer[start + HEAD_BYTES..]);
            buffer[start..start + 4].copy_from_slice(&length);
            buffer[start + 4..start + HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
            file.write_at(&buffer, written).map_err(Failure::on(NAME))?;
            written += buffer.len() as u64;
            buffer.clear();
            buffer.extend_from_slice(&[0; HEAD_BYTES]);
            start = 0;
        }
        if is_over {
            file.sync().map_err(Failure::on(NAME))?;
            return Ok(end);
        }
    }
}

/// The log of a backup.
#[derive(Debug)]
pub struct BackupLog {
    file: Arc<dyn File>,
    length: u64,
}

impl BackupLog {
    /// Opens the log of the backup in a directory.
    ///
    /// # Errors
    /// If there is none, or it has another format.
    pub fn open(disk: &dyn Disk) -> Result<Self, Failure> {
        let file = disk.open(NAME, false).map_err(Failure::on(NAME))?;
        let length = file.len().map_err(Failure::on(NAME))?;
        let mut bytes = vec![0; HEADER_BYTES.min(length) as usize];
        file.read_at(&mut bytes, 0).map_err(Failure::on(NAME))?;
        let mut input = Input(bytes.get(8..).unwrap_or_default());
        let mut number = || input.take(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
        let (version, sum) = (number(), number());
        let is_whole = bytes.starts_with(MAGIC) && sum == bytes.get(..12).map(crc32c::crc32c);
        match version.filter(|_| is_whole) {
            Some(VERSION) => Ok(Self { file, length }),
            Some(version) => Err(Failure::Format(format!(
                "{NAME} has format {version}, and this version of Hotrow knows only format {VERSION}; nothing was \
                 changed"
            ))),
            None => Err(Failure::damage(NAME, 0, "the head is not that of a backup's log")),
        }
    }
}

impl Source for BackupLog {
    fn frames(&self, from: u64) -> Result<Box<dyn Frames + '_>, Damage> {
        Ok(Box::new(BackupFrames { log: self, from, next: HEADER_BYTES, offset: 0, block: Vec::new(), at: 0 }))
    }

    fn bytes_behind(&self, _: u64) -> u64 {
        self.length
    }
}

struct BackupFrames<'l> {
    log: &'l BackupLog,
    /// The position of the first frame that is wanted.
    from: u64,
    /// The place of the next block in the file.
    next: u64,
    /// The place of the present block in the file.
    offset: u64,
    /// The content of the present block.
    block: Vec<u8>,
    /// The place of the next frame in the block.
    at: usize,
}

impl BackupFrames<'_> {
    fn damage(&self, offset: u64, what: impl Into<String>) -> Damage {
        Damage::new(NAME, offset, what)
    }

    /// Reads the next block.
    fn read_block(&mut self) -> Result<(), Damage> {
        let (offset, left) = (self.next, self.log.length.saturating_sub(self.next));
        let read = |bytes: &mut [u8], at| {
            let read = self.log.file.read_at(bytes, at);
            read.map_err(|error| self.damage(at, format!("it cannot be read: {error}")))
        };
        if left < HEAD_BYTES as u64 {
            return Err(self.damage(self.log.length, "the file ends too early"));
        }
        let mut head = [0; HEAD_BYTES];
        read(&mut head, offset)?;
        let (length, expected) = head.split_at(4);
        let bytes = u64::from(u32::from_le_bytes(length.try_into().unwrap_or_default()));
        if bytes > left - HEAD_BYTES as u64 {
            return Err(self.damage(offset, "the block is longer than the file"));
        }
        let mut block = vec![0; bytes as usize];
        read(&mut block, offset + HEAD_BYTES as u64)?;
        if sum(offset, length, &block).to_le_bytes() != expected {
            return Err(self.damage(offset, format!("the sum of the {bytes} bytes from here on is wrong")));
        }
        self.next = offset + HEAD_BYTES as u64 + bytes;
        (self.offset, self.block, self.at) = (offset, block, 0);
        Ok(())
    }

    /// Reads the position, the end and the place of the next frame's record in the block. The length in the log is
    /// [`END`] at the end.
    fn read_frame(&mut self) -> Result<(u64, u64, std::ops::Range<usize>), Damage> {
        if self.at >= self.block.len() {
            self.read_block()?;
        }
        let mut input = Input(&self.block[self.at..]);
        let mut read = || {
            let (position, length) = (input.varint()?, input.varint()?);
            let record = if length == END { 0 } else { input.string()?.len() };
            Some((position, length, record))
        };
        let Some((position, length, record)) = read() else {
            return Err(self.damage(self.offset + (HEAD_BYTES + self.at) as u64, "the bytes here are no frame"));
        };
        let end = self.block.len() - input.0.len();
        if length != END {
            self.at = end;
        } else if (self.next, end) != (self.log.length, self.block.len()) {
            return Err(self.damage(self.next, "the file goes on behind its end"));
        }
        Ok((position, position.saturating_add(length), end - record..end))
    }
}

impl Frames for BackupFrames<'_> {
    fn next(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        loop {
            let (position, end, record) = self.read_frame()?;
            if end == position {
                return Ok(None);
            }
            if position >= self.from {
                return Ok(Some(Frame { position, end, record: &self.block[record] }));
            }
        }
    }
}
