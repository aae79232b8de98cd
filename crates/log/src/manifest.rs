//! The manifest: the file `checkpoint`, which says which files make up the checkpoint and how much of the log they
//! cover.
//!
//! ```text
//! magic, 8 | version, 4 | length of the body, 8 | CRC-32C of these and the body, 4 | body
//! ```
//!
//! The manifest is replaced as a whole: it is written under another name, made durable, read back and renamed. So once
//! there is a manifest, there is a whole one at every moment, and the files that it names were complete and durable
//! before it was.

use crate::bytes::{Input, push_signed, push_varint};
use crate::definition::{push_schema, read_schema};
use crate::disk::Disk;
use crate::failure::Failure;
use crate::format::write_whole;
use crate::record::{push_key, read_key};
use hotrow_storage::{Key, KeySpec, RowLayout, TableId, TableSchema};
use hotrow_sync::Arc;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// The version of the manifest.
const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"hotrow C";
/// The bytes before the body.
const HEAD_BYTES: usize = 24;

/// The name of the manifest.
pub(crate) const NAME: &str = "checkpoint";
/// The name under which the manifest is written before it is renamed.
pub(crate) const NEW_NAME: &str = "checkpoint.new";

/// The contents of a checkpoint. A copy is cheap: it shares the tables with the original.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    /// The position of the log up to which everything is in the checkpoint.
    pub(crate) position: u64,
    /// The last time of day that the log had before `position`, or the least integer if it had none.
    pub(crate) clock: i64,
    /// The number that the next file gets.
    pub(crate) next_file: u64,
    /// The least number above those of all tables that the log has had.
    pub(crate) next_table: u32,
    /// The tables that exist.
    pub(crate) tables: BTreeMap<TableId, Arc<Table>>,
}

/// A table of a checkpoint. Its rows are those of the base, overlaid by the deltas, of which a later one wins.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) shape: Arc<Shape>,
    /// All the rows that the table had when the base was made or last extended. The base has no absences.
    pub(crate) base: Run,
    /// The changes since, the oldest first. None of them is empty.
    pub(crate) deltas: Vec<Run>,
}

/// The definition of a table, and what follows from it.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) schema: TableSchema,
    pub(crate) layout: RowLayout,
    pub(crate) key: KeySpec,
}

/// Entries of one table, sorted by key: the parts follow each other and do not overlap.
pub(crate) type Run = Vec<Part>;

/// A table's section of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The number of the file.
    pub(crate) file: u64,
    /// Whether the file is a shared one, which has sections of many tables.
    pub(crate) shared: bool,
    /// The position of the log up to which the entries hold the changes.
    pub(crate) until: u64,
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

/// Returns the number of bytes of a run.
pub(crate) fn bytes_of(run: &[Part]) -> u64 {
    run.iter().map(|part| part.bytes).sum()
}

impl Shape {
    /// Makes the shape of a table with this definition.
    pub(crate) fn new(schema: TableSchema) -> Arc<Self> {
        let layout = RowLayout::new(&schema.columns);
        let key = KeySpec::new(&schema.columns, &schema.key);
        Arc::new(Self { schema, layout, key })
    }
}

impl Table {
    /// Makes a table without rows.
    pub(crate) fn new(shape: Arc<Shape>) -> Self {
        Self { shape, base: Vec::new(), deltas: Vec::new() }
    }

    /// Returns the number of bytes of all deltas.
    pub(crate) fn delta_bytes(&self) -> u64 {
        self.deltas.iter().map(|run| bytes_of(run)).sum()
    }

    /// Whether nothing is stored of the table but its definition.
    pub(crate) fn is_empty(&self) -> bool {
        self.base.is_empty() && self.deltas.is_empty()
    }

    /// Returns all runs, the oldest first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run> {
        std::iter::once(&self.base).filter(|base| !base.is_empty()).chain(&self.deltas)
    }

    /// Returns all parts of all runs.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.base.iter().chain(self.deltas.iter().flatten())
    }
}

impl Manifest {
    /// Makes the manifest of a directory without a checkpoint.
    pub(crate) fn empty() -> Self {
        Self { clock: i64::MIN, ..Self::default() }
    }

    /// Returns the numbers of all files of the checkpoint.
    pub(crate) fn files(&self) -> BTreeSet<u64> {
        self.tables.values().flat_map(|table| table.parts()).map(|part| part.file).collect()
    }

    /// Reads the manifest of a data directory, or returns an empty one if there is none. Nothing is changed.
    pub(crate) fn read(disk: &dyn Disk) -> Result<Self, Failure> {
        let file = match disk.open(NAME, false) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::empty()),
            Err(error) => return Err(Failure::on(NAME)(error)),
        };
        let length = file.len().map_err(Failure::on(NAME))?;
        let mut bytes = vec![0; length as usize];
        file.read_at(&mut bytes, 0).map_err(Failure::on(NAME))?;
        Self::decode(&bytes)
    }

    /// Reads a manifest from its bytes.
    fn decode(bytes: &[u8]) -> Result<Self, Failure> {
        let damage = |offset: usize, what: &str| Failure::damage(NAME, offset as u64, what);
        let Some((head, body)) = bytes.split_at_checked(HEAD_BYTES) else {
            return Err(damage(bytes.len(), "the file ends too early"));
        };
        if let Some(at) = head.iter().zip(MAGIC).position(|(byte, magic)| byte != magic) {
            return Err(damage(at, "this is not the manifest of a checkpoint"));
        }
        let mut fields = Input(&head[8..]);
        let version = fields.take(4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
        let length = fields.u64().unwrap_or_default();
        if length != body.len() as u64 {
            return Err(damage(12, &format!("the file has {} bytes in place of {length}", body.len())));
        }
        if sum(&head[..20], body).to_le_bytes() != head[20..] {
            return Err(damage(0, "the sum of the file is wrong"));
        }
        if version != VERSION {
            return Err(Failure::Format(format!(
                "{NAME} has format {version}, and this version of Hotrow knows only format {VERSION}; nothing was \
                 changed"
            )));
        }
        let mut input = Input(body);
        let read = read_body(&mut input).filter(|_| input.is_empty());
        read.ok_or_else(|| damage(bytes.len() - input.0.len(), "the contents are not those of a manifest"))
    }

    /// Returns the bytes of the manifest.
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        push_varint(&mut body, self.position);
        push_signed(&mut body, self.clock);
        push_varint(&mut body, self.next_file);
        push_varint(&mut body, u64::from(self.next_table));
        push_varint(&mut body, self.tables.len() as u64);
        for (id, table) in &self.tables {
            push_varint(&mut body, u64::from(id.0));
            push_schema(&mut body, &table.shape.schema);
            push_run(&mut body, &table.base);
            push_varint(&mut body, table.deltas.len() as u64);
            table.deltas.iter().for_each(|run| push_run(&mut body, run));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        let sum = sum(&bytes, &body);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Writes the manifest under its other name, makes its bytes durable, and reads it back. Returns how many bytes it
    /// has.
    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<u64, Failure> {
        let bytes = self.encode();
        write_whole(disk, NEW_NAME, &bytes)?;
        let file = disk.open(NEW_NAME, false).map_err(Failure::on(NEW_NAME))?;
        let mut back = vec![0; bytes.len()];
        file.read_at(&mut back, 0).map_err(Failure::on(NEW_NAME))?;
        match back.iter().zip(&bytes).position(|(back, byte)| back != byte) {
            Some(at) => Err(Failure::damage(NEW_NAME, at as u64, "the byte is another one than was written")),
            None => Ok(bytes.len() as u64),
        }
    }

    /// Gives the manifest that was [written](Self::write) its name, durably.
    pub(crate) fn publish(disk: &dyn Disk) -> Result<(), Failure> {
        disk.rename(NEW_NAME, NAME).map_err(Failure::on(NAME))?;
        disk.sync_folder("").map_err(Failure::on(""))
    }
}

fn sum(head: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(head), body)
}

fn push_run(bytes: &mut Vec<u8>, run: &[Part]) {
    push_varint(bytes, run.len() as u64);
    for Part { file, shared, until, bytes: length, rows, absences, first, last } in run {
        push_varint(bytes, file << 1 | u64::from(*shared));
        push_varint(bytes, *until);
        push_varint(bytes, *length);
        push_varint(bytes, *rows);
        push_varint(bytes, *absences);
        push_key(bytes, first);
        push_key(bytes, last);
    }
}

fn read_body(input: &mut Input<'_>) -> Option<Manifest> {
    let (position, clock) = (input.varint()?, input.signed()?);
    let (next_file, next_table) = (input.varint()?, input.varint32()?);
    let mut tables = BTreeMap::new();
    for _ in 0..input.size()? {
        let id = TableId(input.varint32()?);
        let mut table = Table::new(Shape::new(read_schema(input)?));
        table.base = read_run(input)?;
        for _ in 0..input.size()? {
            table.deltas.push(read_run(input)?);
        }
        tables.insert(id, Arc::new(table));
    }
    Some(Manifest { position, clock, next_file, next_table, tables })
}

fn read_run(input: &mut Input<'_>) -> Option<Run> {
    let mut run = Vec::new();
    for _ in 0..input.size()? {
        let file = input.varint()?;
        run.push(Part {
            file: file >> 1,
            shared: file & 1 == 1,
            until: input.varint()?,
            bytes: input.varint()?,
            rows: input.varint()?,
            absences: input.varint()?,
            first: read_key(input)?,
            last: read_key(input)?,
        });
    }
    Some(run)
}
