//! A file with frames of a log: the part of the log that a backup has.
//!
//! ```text
//! magic, 8 | version, 4 | CRC-32C of these, 4
//! blocks    length of the content, 4 | CRC-32C of the offset, the length and the content, 4 | content
//! ```
//!
//! A block holds frames: the position and the length in the log, both as varints, and the record as a string. In the
//! last block, a mark follows the last frame: the end of that frame, and the length zero. So a file that was cut off is
//! not taken for a whole one.

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
/// The number of bytes of frames at which a block ends.
const BLOCK_BYTES: usize = 256 << 10;
/// The length in the log that marks the end of the last block. No frame has it.
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

/// Returns the length of a block's content as the head of the block has it. `end` is the end of the last frame in the
/// block.
///
/// # Errors
/// If the content has 4 GiB or more, since the record of that frame is too long for a block.
fn length_field(content_bytes: usize, end: u64) -> Result<[u8; 4], Failure> {
    u32::try_from(content_bytes).map(u32::to_le_bytes).map_err(|_| {
        Failure::Refused(format!(
            "the record of the log that ends at position {end} has 4 GiB or more, which a backup cannot hold: make the \
             backup after the next checkpoint, which holds the record"
        ))
    })
}

/// Writes all frames, which begin at `from`, into a new file, and makes it durable but for its name. Returns the end of
/// the last frame, or `from` if there is none.
///
/// # Errors
/// If a frame cannot be read, if its record has about 4 GiB or more, or if the disk refuses an operation.
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
            let length = length_field(buffer.len() - start - HEAD_BYTES, end)?;
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

/// The log of a backup, from the position of its checkpoint on.
#[derive(Debug)]
pub struct BackupLog {
    file: Arc<dyn File>,
    length: u64,
}

impl BackupLog {
    /// Opens the log of the backup in a directory.
    ///
    /// # Errors
    /// If there is none, if its head is damaged, or if it has another format.
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
        let mut frames = BackupFrames { log: self, from, next: HEADER_BYTES, offset: 0, block: Vec::new(), at: 0 };
        // If the log has no frame, the mark at its end has the position at which the log begins.
        let (first, ..) = frames.read_frame()?;
        if from < first {
            let what = format!("the log begins at position {first}, and is needed from {from} on");
            return Err(Damage::new("log", from, what));
        }
        frames.at = 0;
        Ok(Box::new(frames))
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

    /// Reads the next frame: its position, its end, and the place of its record in the block. At the end of the log,
    /// position and end are the same.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::simulated::SimulatedDisk;

    struct NoFrames;

    impl Frames for NoFrames {
        fn next(&mut self) -> Result<Option<Frame<'_>>, Damage> {
            Ok(None)
        }
    }

    #[test]
    fn a_log_without_frames_begins_at_its_end() {
        let disk = SimulatedDisk::new(1);
        assert_eq!(write(&*disk, 40, &mut NoFrames).expect("the disk has no faults"), 40);
        let log = BackupLog::open(&*disk).expect("it is whole");
        assert!(log.frames(40).expect("it begins there").next().expect("it is whole").is_none());
        let refused = log.frames(39).err().expect("it begins later");
        assert_eq!(refused.what, "the log begins at position 40, and is needed from 39 on");
    }

    #[test]
    fn a_block_that_is_too_long_for_its_head_is_refused() {
        let longest = u32::MAX as usize;
        assert_eq!(length_field(0, 7).expect("it fits"), [0; 4]);
        assert_eq!(length_field(longest, 7).expect("it fits"), [0xFF; 4]);
        let refused = length_field(longest + 1, 7);
        assert!(matches!(&refused, Err(Failure::Refused(text)) if text.contains("position 7")), "{refused:?}");
    }
}
