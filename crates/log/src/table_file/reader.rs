//! Reads a file of a checkpoint.

use super::{HEAD_BYTES, HEADER_BYTES, MAGIC, TRAILER_BYTES, VERSION, header, name, sum, trailer, u32_at, u64_at};
use crate::bytes::Input;
use crate::disk::{Disk, File};
use crate::failure::Failure;
use crate::record::{StoredRow, read_key};
use hotrow_storage::{Key, TableId};
use hotrow_sync::Arc;

/// A complete file of a checkpoint, open for reading.
#[derive(Debug)]
pub(crate) struct TableFile {
    number: u64,
    name: String,
    file: Arc<dyn File>,
    sections: Vec<Section>,
}

/// The entries of one table in a file.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) table: TableId,
    pub(crate) rows: u64,
    pub(crate) absences: u64,
    pub(crate) blocks: Vec<Block>,
    /// The greatest key.
    pub(crate) last: Key,
}

/// A block of a section.
#[derive(Debug)]
pub(crate) struct Block {
    /// The place of the block in the file.
    pub(crate) offset: u64,
    /// The bytes of the block with its head.
    pub(crate) bytes: u64,
    /// The least key in the block.
    pub(crate) first: Key,
}

impl TableFile {
    /// Opens the file with this number, and reads its footer.
    pub(crate) fn open(disk: &dyn Disk, number: u64) -> Result<Self, Failure> {
        let name = name(number);
        let file = disk.open(&name, false).map_err(Failure::on(&name))?;
        let mut found = Self { number, name, file, sections: Vec::new() };
        found.check_header()?;
        found.sections = found.read_footer()?;
        Ok(found)
    }

    /// Returns the name of the file within the data directory.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the sections of the file, in the order of their tables.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the section of a table.
    ///
    /// # Errors
    /// If the file has no such section.
    pub(crate) fn section(&self, table: TableId) -> Result<&Section, Failure> {
        let found = self.sections.binary_search_by_key(&table, |section| section.table);
        let missing = |_| self.damage(0, format!("there are no rows of table {} in it, as there should be", table.0));
        found.map(|at| &self.sections[at]).map_err(missing)
    }

    /// Makes the failure that the file is damaged at an offset.
    pub(crate) fn damage(&self, offset: u64, what: impl Into<String>) -> Failure {
        Failure::damage(&self.name, offset, what)
    }

    fn read(&self, buffer: &mut Vec<u8>, offset: u64, length: u64) -> Result<(), Failure> {
        buffer.resize(length as usize, 0);
        self.file.read_at(buffer, offset).map_err(Failure::on(&self.name))
    }

    fn length(&self) -> Result<u64, Failure> {
        self.file.len().map_err(Failure::on(&self.name))
    }

    fn check_header(&self) -> Result<(), Failure> {
        let length = self.length()?;
        if length < HEADER_BYTES + HEAD_BYTES as u64 + TRAILER_BYTES {
            return Err(self.damage(length, "the file ends too early"));
        }
        let mut bytes = Vec::new();
        self.read(&mut bytes, 0, HEADER_BYTES)?;
        let whole = u32_at(&bytes, 20) == crc32c::crc32c(&bytes[..20]) && bytes.starts_with(MAGIC);
        let version = u32_at(&bytes, 8);
        if whole && version != VERSION {
            let text = format!(
                "{} has format {version}, and this version of Hotrow knows only format {VERSION}; nothing was changed",
                self.name
            );
            return Err(Failure::Format(text));
        }
        match bytes.iter().zip(header(self.number)).position(|(byte, expected)| *byte != expected) {
            Some(at) => Err(self.damage(at as u64, "the head is not that of this file")),
            None => Ok(()),
        }
    }

    fn read_footer(&self) -> Result<Vec<Section>, Failure> {
        let end = self.length()? - TRAILER_BYTES;
        let mut bytes = Vec::new();
        self.read(&mut bytes, end, TRAILER_BYTES)?;
        let offset = u64_at(&bytes, 0);
        if trailer(self.number, offset) != bytes {
            return Err(self.damage(end, "the last bytes are not those of a complete file"));
        }
        if offset < HEADER_BYTES || offset + HEAD_BYTES as u64 > end {
            return Err(self.damage(end, format!("there is no footer at byte {offset}")));
        }
        self.read_block_at(offset, end - offset, &mut bytes)?;
        let sections = read_sections(&bytes[HEAD_BYTES..]);
        sections
            .filter(|sections| end_of(sections) == offset)
            .ok_or_else(|| self.damage(offset, "the footer does not describe this file"))
    }

    fn read_block_at(&self, offset: u64, length: u64, buffer: &mut Vec<u8>) -> Result<(), Failure> {
        self.read(buffer, offset, length)?;
        if u64::from(u32_at(buffer, 0)) != length - HEAD_BYTES as u64 {
            return Err(self.damage(offset, "the length of the block is another one"));
        }
        if u32_at(buffer, 4) != sum(self.number, offset, &buffer[..4], &buffer[HEAD_BYTES..]) {
            return Err(self.damage(offset, format!("the sum of the {length} bytes from here on is wrong")));
        }
        Ok(())
    }

    /// Reads a block into a buffer. Its content begins at the [head's end](Entries::start).
    pub(crate) fn read_block(&self, block: &Block, buffer: &mut Vec<u8>) -> Result<(), Failure> {
        self.read_block_at(block.offset, block.bytes, buffer)
    }

    /// Reads all blocks, and checks their sums. `look` gets the number of bytes of each block; it may end the work with
    /// an error.
    pub(crate) fn verify(&self, look: &mut dyn FnMut(u64) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut buffer = Vec::new();
        for block in self.sections.iter().flat_map(|section| &section.blocks) {
            self.read_block(block, &mut buffer)?;
            look(block.bytes)?;
        }
        Ok(())
    }
}

/// Returns the end of the last block. Blocks begin at the end of the header and leave no gaps.
fn end_of(sections: &[Section]) -> u64 {
    let last = sections.last().and_then(|section| section.blocks.last());
    last.map_or(HEADER_BYTES, |block| block.offset + block.bytes)
}

fn read_sections(content: &[u8]) -> Option<Vec<Section>> {
    let mut input = Input(content);
    let (mut sections, mut offset) = (Vec::new(), HEADER_BYTES);
    for _ in 0..input.size()? {
        let table = TableId(input.varint32()?);
        let (rows, absences) = (input.varint()?, input.varint()?);
        let mut blocks = Vec::new();
        for _ in 0..input.size()? {
            let (first, bytes) = (read_key(&mut input)?, input.varint()?);
            (bytes >= HEAD_BYTES as u64).then_some(())?;
            blocks.push(Block { offset, bytes, first });
            offset = offset.checked_add(bytes)?;
        }
        let last = read_key(&mut input)?;
        sections.push(Section { table, rows, absences, blocks, last });
    }
    let in_order = sections.windows(2).all(|two| two[0].table < two[1].table);
    (input.is_empty() && in_order).then_some(sections)
}

/// An entry of a section.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// There is a row.
    Row(StoredRow<'a>),
    /// There is no row with this key.
    Absent(Key),
}

/// The entries of a block that are still to be read.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    rest: Input<'a>,
    fixed_size: usize,
}

impl<'a> Entries<'a> {
    /// Returns the place in a block's bytes at which its first entry begins.
    pub(crate) const fn start() -> usize {
        HEAD_BYTES
    }

    /// Reads entries from the place `at` of a block's bytes on. Rows have a fixed part of `fixed_size` bytes.
    pub(crate) fn new(block: &'a [u8], at: usize, fixed_size: usize) -> Self {
        Self { rest: Input(block.get(at..).unwrap_or_default()), fixed_size }
    }

    /// Whether there is no further entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the number of bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.0.len()
    }

    /// Reads the next entry, or returns `None` if the bytes are no entry.
    pub(crate) fn read(&mut self) -> Option<Entry<'a>> {
        match self.rest.size()? {
            1 => read_key(&mut self.rest).map(Entry::Absent),
            twice if twice % 2 == 0 => {
                let fixed = self.rest.take(self.fixed_size)?;
                Some(Entry::Row(StoredRow { fixed, variable: self.rest.take(twice / 2)? }))
            }
            _ => None,
        }
    }
}
