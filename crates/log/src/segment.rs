//! Segments: the files that hold the bytes of the log one after the other.
//!
//! A segment has a header of one page, and then bytes of the log from its *start* on. All segments of one opening have
//! the same length, and a frame may go on in the next one. Their names are their numbers, which ascend.
//!
//! | name | file |
//! | --- | --- |
//! | `log/0000000000000007` | segment 7: the header was durable before the file got this name |
//! | `log/spare-0000000000000003` | a file of full length whose content is of no meaning, to become a segment |
//! | `log/filling` | a file that is being filled with zeros, to become a spare one |
//!
//! The header is `magic, 8 | CRC-32C of the following, 4 | version, 4 | number, 8 | salt, 8 | start, 8 | bytes of the
//! file, 8`, and zeros up to [`HEADER_BYTES`].

use crate::bytes::Input;
use crate::disk::{Disk, File};
use crate::failure::Failure;
use hotrow_sync::Arc;
use std::io::ErrorKind;

/// The folder of the log.
pub(crate) const FOLDER: &str = "log";

/// The name of the file that is being filled.
pub(crate) const FILLING: &str = "log/filling";

/// The bytes of a segment before the log's: a page, so that pages of the log are pages of the file.
pub(crate) const HEADER_BYTES: u64 = 4096;

/// The bytes that are written as a whole, so that the operating system need not read them first.
pub(crate) const PAGE: u64 = 4096;

const MAGIC: &[u8; 8] = b"hotrow S";
const VERSION: u32 = 1;
/// The bytes of the header that are not zero.
const USED: usize = 48;
const SPARE: &str = "spare-";

/// Returns the name of the segment with a number.
pub(crate) fn name(number: u64) -> String {
    format!("{FOLDER}/{number:016}")
}

/// Returns the name of the spare file with a number.
pub(crate) fn spare_name(number: u64) -> String {
    format!("{FOLDER}/{SPARE}{number:016}")
}

/// The kind of a file in the folder, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Segment(u64),
    Spare(u64),
    Filling,
    Other,
}

impl Named {
    /// Reads a name without the folder's.
    pub(crate) fn read(name: &str) -> Self {
        let number = |digits: &str| {
            let is_number = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u64>().ok().filter(|_| is_number)
        };
        if name == "filling" {
            return Named::Filling;
        }
        match (name.strip_prefix(SPARE), number(name)) {
            (Some(digits), _) => number(digits).map_or(Named::Other, Named::Spare),
            (None, Some(digits)) => Named::Segment(digits),
            (None, None) => Named::Other,
        }
    }
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) number: u64,
    /// The salt of the frames that begin in the segment.
    pub(crate) salt: u64,
    /// The position in the log of the first byte after the header.
    pub(crate) start: u64,
    /// The length of the file in bytes.
    pub(crate) bytes: u64,
}

impl Header {
    /// Returns the position in the log after the segment's last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + (self.bytes - HEADER_BYTES)
    }

    /// Returns the header's page.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        for number in [self.number, self.salt, self.start, self.bytes] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let sum = crc32c::crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes.resize(HEADER_BYTES as usize, 0);
        bytes
    }

    /// Reads the header of the segment with a number.
    ///
    /// # Errors
    /// If the header is damaged or that of another file, or if the segment has another format.
    fn decode(bytes: &[u8], number: u64) -> Result<Self, Failure> {
        let damage = |what: &str| Failure::damage(name(number), 0, what);
        let used = bytes.get(..USED).ok_or_else(|| damage("the file is too short to be a segment of the log"))?;
        if &used[..8] != MAGIC {
            return Err(damage("the file is no segment of the log"));
        }
        if used[8..12] != crc32c::crc32c(&used[12..]).to_le_bytes() {
            return Err(damage("the header of the segment has a wrong sum"));
        }
        let version = u32::from_le_bytes(used[12..16].try_into().unwrap_or_default());
        if version != VERSION {
            return Err(Failure::Format(format!(
                "{} has format {version}, and this version of Hotrow knows only format {VERSION}; nothing was changed",
                name(number)
            )));
        }
        let mut input = Input(&used[16..]);
        let mut next = || input.u64().unwrap_or_default();
        let header = Header { number: next(), salt: next(), start: next(), bytes: next() };
        if header.number != number {
            return Err(damage(&format!("the segment has the number {} in its header", header.number)));
        }
        match header.bytes > HEADER_BYTES && header.start.checked_add(header.bytes).is_some() {
            true => Ok(header),
            false => Err(damage("the header of the segment has impossible positions")),
        }
    }
}

/// An open segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    pub(crate) file: Arc<dyn File>,
}

impl Segment {
    /// Opens the segment with a number.
    pub(crate) fn open(disk: &dyn Disk, number: u64, writes: bool) -> Result<Self, Failure> {
        let name = name(number);
        let file = disk.open(&name, writes).map_err(Failure::on(&name))?;
        let length = file.len().map_err(Failure::on(&name))?;
        let mut bytes = vec![0; length.min(USED as u64) as usize];
        file.read_at(&mut bytes, 0).map_err(Failure::on(&name))?;
        Ok(Self { header: Header::decode(&bytes, number)?, file })
    }

    pub(crate) fn name(&self) -> String {
        name(self.header.number)
    }

    /// Returns the offset in the file of a position in the log.
    pub(crate) fn offset(&self, position: u64) -> u64 {
        HEADER_BYTES + (position - self.header.start)
    }

    /// Reads the bytes from a position on. Bytes that the file lacks because it was cut off are zeros.
    pub(crate) fn read(&self, bytes: &mut [u8], position: u64) -> Result<(), Failure> {
        let (name, offset) = (self.name(), self.offset(position));
        match self.file.read_at(bytes, offset) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let length = self.file.len().map_err(Failure::on(&name))?;
                let there = (length.saturating_sub(offset) as usize).min(bytes.len());
                bytes[there..].fill(0);
                self.file.read_at(&mut bytes[..there], offset).map_err(Failure::on(&name))
            }
            read => read.map_err(Failure::on(&name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_no_other_bytes_pass() {
        let header = Header { number: 7, salt: u64::MAX - 3, start: 1 << 50, bytes: 1 << 20 };
        let bytes = header.encode();
        assert_eq!(bytes.len() as u64, HEADER_BYTES);
        assert_eq!(Header::decode(&bytes, 7).expect("it is whole"), header);
        let is_damaged = |bytes: &[u8], number| matches!(Header::decode(bytes, number), Err(Failure::Damage(_)));
        assert!(is_damaged(&bytes, 8), "under another name");
        for bit in 0..USED * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(is_damaged(&damaged, 7), "bit {bit}");
        }
        for length in 0..USED {
            assert!(is_damaged(&bytes[..length], 7), "{length} bytes");
        }
    }

    #[test]
    fn a_newer_format_is_no_damage() {
        let mut bytes = Header { number: 7, salt: 1, start: 0, bytes: 1 << 20 }.encode();
        bytes[12] = 2;
        let sum = crc32c::crc32c(&bytes[12..USED]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        let Err(Failure::Format(text)) = Header::decode(&bytes, 7) else { panic!("the format is unknown") };
        assert!(text.starts_with("log/0000000000000007 has format 2"), "{text}");
    }

    #[test]
    fn names_are_read_as_they_are_made() {
        let read = |name: String| Named::read(name.strip_prefix("log/").expect("in the folder"));
        assert_eq!(read(name(12)), Named::Segment(12));
        assert_eq!(read(spare_name(3)), Named::Spare(3));
        assert_eq!(read(FILLING.to_owned()), Named::Filling);
        for other in ["", "12", "spare-12", "000000000000001x", "+000000000000001", "notes"] {
            assert_eq!(Named::read(other), Named::Other, "{other}");
        }
    }
}
