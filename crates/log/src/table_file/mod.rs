//! The files of checkpoints: rows of tables, and keys of deleted rows, sorted by key.
//!
//! ```text
//! header    magic, 8 | version, 4 | number of the file, 8 | CRC-32C of these, 4
//! blocks    length of the content, 4 | CRC-32C, 4 | content
//! footer    a block as well, whose content is a list of sections
//! trailer   offset of the footer, 8 | CRC-32C of the number of the file, this offset and the bytes `end`, 4
//! ```
//!
//! A *section* holds entries of one table, in consecutive blocks. A file has the sections of one table or of many, in
//! the order of their numbers. The sum of a block covers the number of the file and the block's offset, so that a block
//! that was written to a wrong place does not pass. Every byte of the file is covered by a sum.
//!
//! An entry begins with a varint. For a row, the varint is twice the length of the variable part, and the two parts of
//! the row follow. For a deleted row, it is one, and the key follows. The length of the fixed part follows from the
//! table's columns.
//!
//! A file that a manifest has named never changes, and its number is never given to another file.

mod reader;
mod writer;

pub(crate) use reader::{Block, Entries, Entry, Section, TableFile};
pub(crate) use writer::{Summary, TableFileWriter};

use crate::bytes::Input;

/// The version of these files.
const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"hotrow T";
const HEADER_BYTES: u64 = 24;
/// The bytes of a block before its content.
const HEAD_BYTES: usize = 8;
const TRAILER_BYTES: u64 = 12;

/// The folder of these files.
pub(crate) const FOLDER: &str = "tables";

/// Returns the name of the file with this number, within the data directory.
pub(crate) fn name(number: u64) -> String {
    format!("{FOLDER}/{number:016x}")
}

/// Returns the number of the file with this name, within its folder, or `None` if it is not one of these files.
pub(crate) fn number(name: &str) -> Option<u64> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_number = name.len() == 16 && name.bytes().all(is_digit);
    u64::from_str_radix(name, 16).ok().filter(|_| is_number)
}

fn header(number: u64) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&number.to_le_bytes());
    let sum = crc32c::crc32c(&header);
    header.extend_from_slice(&sum.to_le_bytes());
    header
}

/// Returns the sum of a block at `offset` in the file `number`: of both numbers, the bytes of the length, and the
/// content.
fn sum(number: u64, offset: u64, length: &[u8], content: &[u8]) -> u32 {
    let sum = crc32c::crc32c(&number.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &offset.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, length);
    crc32c::crc32c_append(sum, content)
}

fn trailer(number: u64, footer: u64) -> Vec<u8> {
    let mut trailer = footer.to_le_bytes().to_vec();
    let sum = sum(number, footer, b"end", &[]);
    trailer.extend_from_slice(&sum.to_le_bytes());
    trailer
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| Input(bytes).u64()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made() {
        for made in [0, 1, 0xab, u64::MAX] {
            assert_eq!(name(made).strip_prefix("tables/").and_then(number), Some(made));
        }
        for other in
            ["", "ab", "00000000000000AB", "+0000000000000ab", "-0000000000000ab", "00000000000000ab0", "notes"]
        {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
