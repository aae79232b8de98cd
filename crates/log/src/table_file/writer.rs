//! Writes a file of a checkpoint.

use super::{HEAD_BYTES, header, name, sum, trailer};
use crate::bytes::push_varint;
use crate::disk::{Disk, File};
use crate::failure::Failure;
use crate::record::{StoredRow, push_key};
use hotrow_storage::{Key, TableId};
use hotrow_sync::Arc;

/// The number of bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;
/// The number of bytes after which the file is synced, so that the device never gets so many at once that writes of the
/// log wait long behind them.
const SYNC_BYTES: u64 = 8 << 20;

/// The contents of a section, as the manifest keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// The bytes of the section's blocks.
    pub(crate) bytes: u64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The number of absences: keys of deleted rows, which older runs may still have.
    pub(crate) absences: u64,
    /// The least key.
    pub(crate) first: Key,
    /// The greatest key.
    pub(crate) last: Key,
}

/// A file of a checkpoint that is being written, section by section.
#[derive(Debug)]
pub(crate) struct TableFileWriter {
    number: u64,
    name: String,
    file: Arc<dyn File>,
    block_bytes: usize,
    /// The bytes that are not written yet; the last of them are the block that is open.
    buffer: Vec<u8>,
    /// The number of bytes of the file before the buffer.
    written: u64,
    /// The number of these bytes that were synced.
    synced: u64,
    /// The place in the buffer at which the open block begins, or `None` if there is no open block.
    block: Option<usize>,
    section: Option<OpenSection>,
    sections: u64,
    /// The content of the footer, without the number of sections.
    footer: Vec<u8>,
}

/// The section that is being written.
#[derive(Debug)]
struct OpenSection {
    table: TableId,
    start: u64,
    rows: u64,
    absences: u64,
    first: Option<Key>,
    last: Option<Key>,
    /// The blocks, as they stand in the footer.
    blocks: Vec<u8>,
    block_count: u64,
}

impl TableFileWriter {
    /// Creates the file with this number.
    pub(crate) fn create(disk: &dyn Disk, number: u64, block_bytes: usize) -> Result<Self, Failure> {
        let name = name(number);
        let file = disk.create(&name).map_err(Failure::on(&name))?;
        Ok(Self {
            number,
            name,
            file,
            block_bytes,
            buffer: header(number),
            written: 0,
            synced: 0,
            block: None,
            section: None,
            sections: 0,
            footer: Vec::new(),
        })
    }

    /// Returns the number of the file.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes of the file so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Begins the section of a table.
    pub(crate) fn begin_section(&mut self, table: TableId) {
        debug_assert!(self.section.is_none(), "one section at a time");
        let (first, last, blocks) = (None, None, Vec::new());
        let start = self.bytes();
        self.section = Some(OpenSection { table, start, rows: 0, absences: 0, first, last, blocks, block_count: 0 });
    }

    /// Adds a row to the section, or an absence if `row` is `None`. The keys of a section ascend.
    pub(crate) fn push(&mut self, key: &Key, row: Option<StoredRow<'_>>) -> Result<(), Failure> {
        let bytes = self.bytes();
        let section = self.section.as_mut().expect("entries are in a section");
        debug_assert!(section.last.as_ref().is_none_or(|last| last < key), "keys ascend");
        if self.block.is_none() {
            self.block = Some(self.buffer.len());
            self.buffer.extend_from_slice(&[0; HEAD_BYTES]);
            push_key(&mut section.blocks, key);
            section.block_count += 1;
            debug_assert!(section.block_count > 1 || section.start == bytes);
        }
        match row {
            Some(StoredRow { fixed, variable }) => {
                push_varint(&mut self.buffer, (variable.len() as u64) << 1);
                self.buffer.extend_from_slice(fixed);
                self.buffer.extend_from_slice(variable);
                section.rows += 1;
            }
            None => {
                push_varint(&mut self.buffer, 1);
                push_key(&mut self.buffer, key);
                section.absences += 1;
            }
        }
        section.first.get_or_insert_with(|| key.clone());
        section.last = Some(key.clone());
        if self.buffer.len() - self.block.unwrap_or_default() >= self.block_bytes + HEAD_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), Failure> {
        let Some(start) = self.block.take() else { return Ok(()) };
        let bytes = self.close_block(start);
        if let Some(section) = &mut self.section {
            push_varint(&mut section.blocks, bytes);
        }
        if self.buffer.len() >= WRITE_BYTES {
            self.write()?;
        }
        Ok(())
    }

    /// Fills in the head of the block that begins in the buffer at `start`. Returns the bytes of the block.
    fn close_block(&mut self, start: usize) -> u64 {
        let length = (self.buffer.len() - start - HEAD_BYTES) as u32;
        let length = length.to_le_bytes();
        let sum = sum(self.number, self.written + start as u64, &length, &self.buffer[start + HEAD_BYTES..]);
        self.buffer[start..start + 4].copy_from_slice(&length);
        self.buffer[start + 4..start + HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        (self.buffer.len() - start) as u64
    }

    fn write(&mut self) -> Result<(), Failure> {
        self.file.write_at(&self.buffer, self.written).map_err(Failure::on(&self.name))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.written - self.synced >= SYNC_BYTES {
            self.file.sync().map_err(Failure::on(&self.name))?;
            self.synced = self.written;
        }
        Ok(())
    }

    /// Ends the section. Returns `None` if nothing is in it; then it is not in the file.
    pub(crate) fn end_section(&mut self) -> Result<Option<Summary>, Failure> {
        self.end_block()?;
        let section = self.section.take().expect("a section was begun");
        let Some((first, last)) = section.first.zip(section.last) else { return Ok(None) };
        self.sections += 1;
        push_varint(&mut self.footer, u64::from(section.table.0));
        push_varint(&mut self.footer, section.rows);
        push_varint(&mut self.footer, section.absences);
        push_varint(&mut self.footer, section.block_count);
        self.footer.extend_from_slice(&section.blocks);
        push_key(&mut self.footer, &last);
        let bytes = self.bytes() - section.start;
        Ok(Some(Summary { bytes, rows: section.rows, absences: section.absences, first, last }))
    }

    /// Writes the end of the file, and makes its bytes durable, though not its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let start = self.buffer.len();
        let offset = self.bytes();
        self.buffer.extend_from_slice(&[0; HEAD_BYTES]);
        push_varint(&mut self.buffer, self.sections);
        let footer = std::mem::take(&mut self.footer);
        self.buffer.extend_from_slice(&footer);
        self.close_block(start);
        self.buffer.extend_from_slice(&trailer(self.number, offset));
        self.write()?;
        self.file.sync().map_err(Failure::on(&self.name))
    }
}
