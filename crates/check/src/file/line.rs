//! The lines of a history's file, in the form that serde reads and writes.

use super::About;
use super::valid::Validator;
use crate::history::{Event, History, Item, Operation, Outcome, Range, Record, Stamp, Version};
use hotrow_storage::{IndexId, IndexRef, Key, TableId};
use hotrow_txn::Abort;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::Bound;

/// A line of a history's file, as the JSON object that serde reads and writes. The name of its only field says which
/// kind of line it is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    History(Header),
    Row(RowLine),
    Transaction(TransactionLine),
    End(End),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub format: String,
    pub version: u32,
    pub engine: String,
    pub made_by: String,
}

impl Header {
    pub fn about(self) -> About {
        About { engine: self.engine, made_by: self.made_by }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub rows: u64,
    pub transactions: u64,
}

/// The line of a row that existed before the first transaction.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowLine {
    table: u32,
    key: KeyText,
    version: i64,
    /// The keys of the row in the table's secondary indexes, in the schema's order.
    index_keys: Vec<KeyText>,
}

/// The form of a key in the file: a number, or bytes in hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum KeyText {
    Int(i64),
    Bytes(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransactionLine {
    session: String,
    isolation: String,
    began: u64,
    ending: u64,
    ended: u64,
    outcome: String,
    events: Vec<EventLine>,
}

#[derive(Serialize, Deserialize)]
struct EventLine {
    at: u64,
    #[serde(flatten)]
    operation: OperationLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undone_by: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
enum OperationLine {
    Read { table: u32, key: KeyText, saw: Option<i64> },
    Insert { table: u32, key: KeyText, made: i64, index_keys: Vec<KeyText> },
    Update { table: u32, key: KeyText, replaced: i64, made: i64, index_keys: Vec<KeyText> },
    Delete { table: u32, key: KeyText },
    Scan { table: u32, index: Option<u16>, from: BoundText, to: BoundText, saw: Vec<(KeyText, i64)> },
    Refused { table: u32, index: Option<u16>, key: KeyText },
    RollBackToSavepoint,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BoundText {
    Included(KeyText),
    Excluded(KeyText),
    Unbounded,
}

const COMMITTED: &str = "committed";
const ROLLED_BACK: &str = "rolled back";
const ABORTED: &str = "aborted: ";

impl Line {
    pub fn row(item: &Item, version: &Version) -> Self {
        let (table, key) = (item.table.0, KeyText::of(&item.key));
        Line::Row(RowLine { table, key, version: version.stamp.0, index_keys: KeyText::list(version) })
    }

    pub fn transaction(record: &Record) -> Self {
        Line::Transaction(TransactionLine {
            session: record.session.clone(),
            isolation: record.isolation.name().to_owned(),
            began: record.began,
            ending: record.ending,
            ended: record.ended,
            outcome: match record.outcome {
                Outcome::Committed => COMMITTED.to_owned(),
                Outcome::RolledBack => ROLLED_BACK.to_owned(),
                Outcome::Aborted(abort) => format!("{ABORTED}{}", abort.name()),
            },
            events: record.events.iter().map(EventLine::of).collect(),
        })
    }
}

impl RowLine {
    /// Checks the row and adds it to a history.
    ///
    /// # Errors
    /// A text that says what is wrong with the line.
    pub fn into_history(self, history: &mut History, validator: &mut Validator) -> Result<(), String> {
        let item = Item { table: TableId(self.table), key: self.key.key()? };
        let version = version(self.version, self.index_keys)?;
        validator.row(history, &item, &version)?;
        history.initial.push((item, version));
        Ok(())
    }
}

impl TransactionLine {
    /// Checks the transaction and adds it to a history.
    ///
    /// # Errors
    /// A text that says what is wrong with the line.
    pub fn into_history(self, history: &mut History, validator: &mut Validator) -> Result<(), String> {
        let isolation = self.isolation.parse()?;
        let outcome = match self.outcome.as_str() {
            COMMITTED => Outcome::Committed,
            ROLLED_BACK => Outcome::RolledBack,
            other => {
                let reason = other.strip_prefix(ABORTED);
                let abort = Abort::ALL.into_iter().find(|abort| reason == Some(abort.name())).ok_or_else(|| {
                    let reasons = Abort::ALL.map(Abort::name).join(", ");
                    format!(
                        "unknown outcome {other:?}: expected \"{COMMITTED}\", \"{ROLLED_BACK}\" or \"{ABORTED}\" with \
                         one of {reasons}"
                    )
                })?;
                Outcome::Aborted(abort)
            }
        };
        let events = self.events.into_iter().map(EventLine::event).collect::<Result<_, _>>()?;
        let (session, began, ending, ended) = (self.session, self.began, self.ending, self.ended);
        let record = Record { session, isolation, events, began, ending, ended, outcome };
        validator.record(&record)?;
        history.transactions.push(record);
        Ok(())
    }
}

impl EventLine {
    fn of(event: &Event) -> Self {
        let operation = match &event.operation {
            Operation::Read { item, seen } => {
                let saw = seen.map(|stamp| stamp.0);
                OperationLine::Read { table: item.table.0, key: KeyText::of(&item.key), saw }
            }
            Operation::Insert { item, made } => OperationLine::Insert {
                table: item.table.0,
                key: KeyText::of(&item.key),
                made: made.stamp.0,
                index_keys: KeyText::list(made),
            },
            Operation::Update { item, replaced, made } => OperationLine::Update {
                table: item.table.0,
                key: KeyText::of(&item.key),
                replaced: replaced.0,
                made: made.stamp.0,
                index_keys: KeyText::list(made),
            },
            Operation::Delete { item } => OperationLine::Delete { table: item.table.0, key: KeyText::of(&item.key) },
            Operation::Scan { range, seen } => OperationLine::Scan {
                table: range.table.0,
                index: index_number(range.index),
                from: BoundText::of(&range.lower),
                to: BoundText::of(&range.upper),
                saw: seen.iter().map(|(item, stamp)| (KeyText::of(&item.key), stamp.0)).collect(),
            },
            Operation::Refused { range } => {
                let key = match &range.lower {
                    Bound::Included(key) | Bound::Excluded(key) => KeyText::of(key),
                    Bound::Unbounded => KeyText::Bytes(String::new()),
                };
                OperationLine::Refused { table: range.table.0, index: index_number(range.index), key }
            }
            Operation::RolledBack => OperationLine::RollBackToSavepoint,
        };
        Self { at: event.at, operation, undone_by: event.undone_by }
    }

    fn event(self) -> Result<Event, String> {
        let item = |table, key: KeyText| Ok::<_, String>(Item { table: TableId(table), key: key.key()? });
        let operation = match self.operation {
            OperationLine::Read { table, key, saw } => {
                Operation::Read { item: item(table, key)?, seen: saw.map(Stamp) }
            }
            OperationLine::Insert { table, key, made, index_keys } => {
                Operation::Insert { item: item(table, key)?, made: version(made, index_keys)? }
            }
            OperationLine::Update { table, key, replaced, made, index_keys } => {
                let made = version(made, index_keys)?;
                Operation::Update { item: item(table, key)?, replaced: Stamp(replaced), made }
            }
            OperationLine::Delete { table, key } => Operation::Delete { item: item(table, key)? },
            OperationLine::Scan { table, index, from, to, saw } => {
                let (lower, upper) = (from.bound()?, to.bound()?);
                let range = Range { table: TableId(table), index: index_of(index), lower, upper };
                let seen = saw.into_iter().map(|(key, stamp)| Ok::<_, String>((item(table, key)?, Stamp(stamp))));
                Operation::Scan { range, seen: seen.collect::<Result<_, _>>()? }
            }
            OperationLine::Refused { table, index, key } => {
                Operation::Refused { range: Range::at(TableId(table), index_of(index), key.key()?) }
            }
            OperationLine::RollBackToSavepoint => Operation::RolledBack,
        };
        Ok(Event { operation, at: self.at, undone_by: self.undone_by })
    }
}

impl KeyText {
    fn of(key: &Key) -> Self {
        match key.bytes() {
            Some(bytes) => KeyText::Bytes(bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })),
            None => match key {
                Key::Int(int) => KeyText::Int(*int),
                Key::Bytes(_) | Key::Long(_) => unreachable!("they have bytes"),
            },
        }
    }

    fn list(version: &Version) -> Vec<Self> {
        version.index_keys.iter().map(KeyText::of).collect()
    }

    fn key(self) -> Result<Key, String> {
        let text = match self {
            KeyText::Int(int) => return Ok(Key::Int(int)),
            KeyText::Bytes(text) => text,
        };
        let byte = |pair: &[u8]| {
            let digits = std::str::from_utf8(pair).ok().filter(|_| pair.iter().all(u8::is_ascii_hexdigit))?;
            u8::from_str_radix(digits, 16).ok()
        };
        let bytes = match text.len() % 2 {
            0 => text.as_bytes().chunks(2).map(byte).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let wrong = || format!("key {text:?}: expected a number, or bytes in hexadecimal");
        Ok(Key::from_bytes(&bytes.ok_or_else(wrong)?))
    }
}

impl BoundText {
    fn of(bound: &Bound<Key>) -> Self {
        match bound {
            Bound::Included(key) => BoundText::Included(KeyText::of(key)),
            Bound::Excluded(key) => BoundText::Excluded(KeyText::of(key)),
            Bound::Unbounded => BoundText::Unbounded,
        }
    }

    fn bound(self) -> Result<Bound<Key>, String> {
        Ok(match self {
            BoundText::Included(key) => Bound::Included(key.key()?),
            BoundText::Excluded(key) => Bound::Excluded(key.key()?),
            BoundText::Unbounded => Bound::Unbounded,
        })
    }
}

fn index_number(index: IndexRef) -> Option<u16> {
    match index {
        IndexRef::Primary => None,
        IndexRef::Secondary(index) => Some(index.0),
    }
}

fn index_of(number: Option<u16>) -> IndexRef {
    number.map_or(IndexRef::Primary, |number| IndexRef::Secondary(IndexId(number)))
}

fn version(stamp: i64, keys: Vec<KeyText>) -> Result<Version, String> {
    let index_keys = keys.into_iter().map(KeyText::key).collect::<Result<_, _>>()?;
    Ok(Version { stamp: Stamp(stamp), index_keys })
}
