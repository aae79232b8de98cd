//! Looks at a data directory or a backup without changing it: finds all damage, or shows the log to people.

use crate::disk::Disk;
use crate::failure::Failure;
use crate::format;
use crate::manifest::{Manifest, Part, Shape};
use crate::record::{Record, StoredChange, StoredRow};
use crate::source::{Damage, Source};
use crate::table_file::{Block, Entries, Entry, Section, TableFile};
use hotrow_storage::{Key, TableId, Value};
use hotrow_sync::Arc;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The result of a [`check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// All damage that was found.
    pub damage: Vec<Damage>,
    /// The number of tables at the position of the checkpoint.
    pub tables: usize,
    /// The number of files of the checkpoint.
    pub files: usize,
    /// The bytes of these files that hold rows and deletions and could be read.
    pub bytes: u64,
    /// The number of rows and deletions in them.
    pub entries: u64,
    /// The position of the log up to which everything is in the checkpoint.
    pub checkpoint: u64,
    /// The number of records of the log after the checkpoint.
    pub records: u64,
    /// The end of the last record that could be read.
    pub end: u64,
}

/// Reads the manifest, all files of the checkpoint and the log after it, and lists all damage. If the manifest is
/// damaged, nothing else is read. After a damaged frame, the rest of the log is not read.
///
/// # Errors
/// If the directory is not one of Hotrow's or has another format, or if the disk refuses an operation.
pub fn check(disk: &dyn Disk, log: &dyn Source) -> Result<Checked, Failure> {
    check_is_ours(disk)?;
    let mut checked = Checked::default();
    let manifest = match Manifest::read(disk) {
        Err(Failure::Damage(damage)) => {
            checked.damage.push(damage);
            return Ok(checked);
        }
        read => read?,
    };
    checked.tables = manifest.tables.len();
    (checked.checkpoint, checked.end) = (manifest.position, manifest.position);
    let mut parts: BTreeMap<u64, Vec<(TableId, &Shape, &Part)>> = BTreeMap::new();
    for (id, table) in &manifest.tables {
        for part in table.parts() {
            parts.entry(part.file).or_default().push((*id, &table.shape, part));
        }
    }
    checked.files = parts.len();
    for (number, parts) in parts {
        check_file(disk, number, &parts, &mut checked)?;
    }
    check_log(&manifest, log, &mut checked);
    Ok(checked)
}

/// Checks that a folder is a data directory or a complete backup, of a format that is known.
fn check_is_ours(disk: &dyn Disk) -> Result<(), Failure> {
    match format::check(disk)? {
        true => Ok(()),
        false => Err(Failure::Refused(
            "this is not one of Hotrow's: expected a data directory, or a complete backup".to_owned(),
        )),
    }
}

/// Adds a failure to the list of damage if a file is damaged or missing. Returns any other failure.
fn note(checked: &mut Checked, failure: Failure) -> Result<(), Failure> {
    match failure {
        Failure::Damage(damage) => checked.damage.push(damage),
        Failure::Disk { name, error } if error.kind() == std::io::ErrorKind::NotFound => {
            checked.damage.push(Damage::new(name, 0, "the file is missing"));
        }
        other => return Err(other),
    }
    Ok(())
}

fn check_file(
    disk: &dyn Disk,
    number: u64,
    parts: &[(TableId, &Shape, &Part)],
    checked: &mut Checked,
) -> Result<(), Failure> {
    let file = match TableFile::open(disk, number) {
        Ok(file) => file,
        Err(failure) => return note(checked, failure),
    };
    for section in file.sections() {
        // A section that no table has any more is checked for its sums only.
        let part = parts.iter().find(|(table, ..)| *table == section.table);
        let mut seen = Seen::default();
        for block in &section.blocks {
            let shape = part.map(|(_, shape, _)| *shape);
            match check_block(&file, block, shape, &mut seen) {
                Ok(()) => checked.bytes += block.bytes,
                Err(failure) => {
                    seen.is_whole = false;
                    note(checked, failure)?;
                }
            }
        }
        checked.entries += seen.rows + seen.absences;
        let Some((_, _, part)) = part else { continue };
        if !agrees(section, part, &seen) {
            let offset = section.blocks.first().map_or(0, |block| block.offset);
            let what = format!("the entries of table {} are not those that the manifest names", section.table.0);
            checked.damage.push(Damage::new(file.name(), offset, what));
        }
    }
    for (table, ..) in parts {
        if let Err(failure) = file.section(*table) {
            note(checked, failure)?;
        }
    }
    Ok(())
}

/// The entries of a section that were read.
#[derive(Debug)]
struct Seen {
    rows: u64,
    absences: u64,
    first: Option<Key>,
    last: Option<Key>,
    /// Whether all blocks could be read.
    is_whole: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { rows: 0, absences: 0, first: None, last: None, is_whole: true }
    }
}

fn agrees(section: &Section, part: &Part, seen: &Seen) -> bool {
    let footer = (section.rows, section.absences, &section.last) == (part.rows, part.absences, &part.last);
    let bytes = section.blocks.iter().map(|block| block.bytes).sum::<u64>() == part.bytes;
    let content = (seen.rows, seen.absences) == (part.rows, part.absences)
        && seen.first.as_ref() == Some(&part.first)
        && seen.last.as_ref() == Some(&part.last);
    footer && bytes && (content || !seen.is_whole)
}

fn check_block(file: &TableFile, block: &Block, shape: Option<&Shape>, seen: &mut Seen) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    file.read_block(block, &mut bytes)?;
    let Some(shape) = shape else { return Ok(()) };
    let mut entries = Entries::new(&bytes, Entries::start(), shape.layout.fixed_size());
    while !entries.is_empty() {
        let offset = block.offset + (bytes.len() - entries.left()) as u64;
        let key = match entries.read() {
            Some(Entry::Row(row)) => row.key(&shape.layout, &shape.key).inspect(|_| seen.rows += 1),
            Some(Entry::Absent(key)) => Some(key).inspect(|_| seen.absences += 1),
            None => None,
        };
        let key = key.ok_or_else(|| file.damage(offset, "the bytes here are no entry of the table"))?;
        if seen.last.as_ref().is_some_and(|last| *last >= key) {
            return Err(file.damage(offset, "the keys do not ascend"));
        }
        seen.first.get_or_insert_with(|| key.clone());
        seen.last = Some(key);
    }
    Ok(())
}

fn check_log(manifest: &Manifest, log: &dyn Source, checked: &mut Checked) {
    let mut tables = Definitions::of(manifest);
    let mut frames = match log.frames(manifest.position) {
        Ok(frames) => frames,
        Err(damage) => return checked.damage.push(damage),
    };
    loop {
        match frames.next() {
            Ok(Some(frame)) => {
                if let Err(what) = tables.check(frame.record) {
                    checked.damage.push(Damage::new("log", frame.position, what));
                }
                checked.records += 1;
                checked.end = frame.end;
            }
            Ok(None) => return,
            Err(damage) => return checked.damage.push(damage),
        }
    }
}

/// Shows the records of a log from the position `from` on, or from the checkpoint on if it is `None`. Each record is a
/// line with its position and its kind, and each of its changes is a line below. `line` gets the lines, and returns
/// whether to go on. `time` makes a text of microseconds since 2000-01-01 UTC.
///
/// # Errors
/// If the directory is not one of Hotrow's or has another format, or if the manifest or the log is damaged. If the log
/// of a data directory does not reach back to `from`.
pub fn show(
    disk: &dyn Disk,
    log: &dyn Source,
    from: Option<u64>,
    time: &dyn Fn(i64) -> String,
    line: &mut dyn FnMut(&str) -> bool,
) -> Result<(), Failure> {
    check_is_ours(disk)?;
    let manifest = Manifest::read(disk)?;
    let mut tables = Definitions::of(&manifest);
    let mut frames = log.frames(from.unwrap_or(manifest.position))?;
    let mut goes_on = true;
    while goes_on && let Some(frame) = frames.next()? {
        let mut lines = Vec::new();
        let described = tables.describe(frame.record, time, &mut |text| lines.push(text));
        goes_on = lines.iter().enumerate().all(|(number, text)| match number {
            0 => line(&format!("{} {text}", frame.position)),
            _ => line(&format!("    {text}")),
        });
        if let Err(what) = described {
            goes_on = goes_on && line(&format!("{} damaged: {what}", frame.position));
        }
    }
    Ok(())
}

/// The definitions of tables, as far as they are known.
struct Definitions(BTreeMap<TableId, Arc<Shape>>);

impl Definitions {
    fn of(manifest: &Manifest) -> Self {
        Self(manifest.tables.iter().map(|(id, table)| (*id, table.shape.clone())).collect())
    }

    /// Checks that a record is about tables that exist, and that its rows are rows of them.
    fn check(&mut self, record: &[u8]) -> Result<(), String> {
        match Record::read(record)? {
            Record::Created { table, schema } => match self.0.insert(table, Shape::new(schema)) {
                Some(_) => Err(format!("table {} is made a second time", table.0)),
                None => Ok(()),
            },
            Record::Dropped { table } => {
                self.0.remove(&table);
                Ok(())
            }
            Record::Clock(_) => Ok(()),
            Record::Loaded { table, row } => self.check_row(table, row),
            Record::Transaction(changes) => {
                for change in changes {
                    match change? {
                        StoredChange::Put { table, row } => self.check_row(table, row)?,
                        StoredChange::Delete { table, .. } => drop(self.known(table)?),
                    }
                }
                Ok(())
            }
        }
    }

    fn known(&self, table: TableId) -> Result<&Shape, String> {
        self.0.get(&table).map(|shape| &**shape).ok_or_else(|| format!("table {} does not exist", table.0))
    }

    fn check_row(&self, table: TableId, row: StoredRow<'_>) -> Result<(), String> {
        let row = row.with_layout(&self.known(table)?.layout);
        row.map(drop).ok_or_else(|| format!("a row that is none of table {}", table.0))
    }

    /// Describes a record in lines: the first about the record, the others about its changes.
    fn describe(
        &mut self,
        record: &[u8],
        time: &dyn Fn(i64) -> String,
        line: &mut dyn FnMut(String),
    ) -> Result<(), String> {
        match Record::read(record)? {
            Record::Created { table, schema } => {
                line(format!("creates table {} ({})", schema.name, table.0));
                self.0.insert(table, Shape::new(schema));
            }
            Record::Dropped { table } => line(format!("drops {}", self.name(table))),
            Record::Clock(micros) => line(format!("time {}", time(micros))),
            Record::Loaded { table, row } => {
                line(format!("loads into {}: {}", self.name(table), self.row(table, row)?))
            }
            Record::Transaction(changes) => {
                line(format!("transaction with {} changes", changes.clone().count()));
                for change in changes {
                    line(match change? {
                        StoredChange::Put { table, row } => {
                            format!("{} puts {}", self.name(table), self.row(table, row)?)
                        }
                        StoredChange::Delete { table, key } => {
                            format!("{} deletes {}", self.name(table), self.key(table, &key))
                        }
                    });
                }
            }
        }
        Ok(())
    }

    fn name(&self, table: TableId) -> String {
        match self.0.get(&table) {
            Some(shape) => format!("{} ({})", shape.schema.name, table.0),
            None => format!("unknown table ({})", table.0),
        }
    }

    fn row(&self, table: TableId, row: StoredRow<'_>) -> Result<String, String> {
        let Some(shape) = self.0.get(&table) else {
            return Ok(format!("{} and {} bytes", row.fixed.len(), row.variable.len()));
        };
        let row = row.with_layout(&shape.layout).ok_or_else(|| format!("a row that is none of table {}", table.0))?;
        let names = shape.schema.columns.iter().map(|column| &*column.name);
        Ok(list(names.enumerate().map(|(column, name)| (name, row.value(column)))))
    }

    fn key(&self, table: TableId, key: &Key) -> String {
        let shape = self.0.get(&table);
        let Some((shape, values)) = shape.and_then(|shape| Some((shape, shape.key.values(key)?))) else {
            return format!("{key:?}");
        };
        let names = shape.key.parts().iter().map(|part| &*shape.schema.columns[part.column].name);
        list(names.zip(values))
    }
}

/// Lists names with their values.
fn list<'v>(values: impl Iterator<Item = (&'v str, Value<'v>)>) -> String {
    let mut text = String::new();
    for (name, value) in values {
        let gap = if text.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = match value {
            Value::Null => write!(text, "{gap}{name} NULL"),
            Value::Bool(value) => write!(text, "{gap}{name} {value}"),
            Value::Int2(value) => write!(text, "{gap}{name} {value}"),
            Value::Int4(value) => write!(text, "{gap}{name} {value}"),
            Value::Int8(value) => write!(text, "{gap}{name} {value}"),
            Value::Float4(value) => write!(text, "{gap}{name} {value}"),
            Value::Float8(value) => write!(text, "{gap}{name} {value}"),
            Value::Numeric(value) => write!(text, "{gap}{name} {value}"),
            Value::Text(value) | Value::Json(value) | Value::Jsonb(value) => write!(text, "{gap}{name} {value:?}"),
            value => write!(text, "{gap}{name} {value:?}"),
        };
    }
    text
}
