//! The rules that a file must follow to be a history, on which the checker relies.

use crate::history::{Event, History, Item, Operation, Range, Record, Version};
use hotrow_storage::{IndexRef, TableId};
use std::collections::{HashMap, HashSet};

/// Checks each line of a history's file against the lines before it: among other rules, stamps must be unique, times
/// must not descend, and all rows of a table must have the same number of index keys.
#[derive(Debug, Default)]
pub(super) struct Validator {
    rows: HashSet<Item>,
    /// The stamps of all versions that were made.
    made: HashSet<i64>,
    /// The number of secondary indexes of each table.
    indexes: HashMap<TableId, usize>,
    /// The greatest secondary index that a range names, for tables of which no row has shown how many there are.
    named: HashMap<TableId, u16>,
}

impl Validator {
    /// Checks an initial row before it is added to `history`.
    ///
    /// # Errors
    /// A text that says what is wrong.
    pub fn row(&mut self, history: &History, item: &Item, version: &Version) -> Result<(), String> {
        if !history.transactions.is_empty() {
            return Err("a row after the first transaction: rows that were there at first come first".to_owned());
        }
        if version.stamp.0 > 0 {
            return Err(format!("version {} of a row that was there at first: expected 0 or less", version.stamp.0));
        }
        if !self.rows.insert(item.clone()) {
            return Err(format!("row {item} is there twice"));
        }
        self.version_of(item.table, version)
    }

    /// Checks a transaction before it is added to the history.
    ///
    /// # Errors
    /// A text that says what is wrong.
    pub fn record(&mut self, record: &Record) -> Result<(), String> {
        let mut last = record.began;
        for (position, event) in record.events.iter().enumerate() {
            if event.at < last {
                return Err(format!("event {position} is at {}, before what comes before it", event.at));
            }
            last = event.at;
            self.event(record, position, event)?;
        }
        if record.ending < last || record.ended < record.ending {
            return Err(format!("it ends from {} to {}, before its last event", record.ending, record.ended));
        }
        Ok(())
    }

    fn event(&mut self, record: &Record, position: usize, event: &Event) -> Result<(), String> {
        if let Some(undone_by) = event.undone_by {
            let by = record.events.get(undone_by).map(|event| &event.operation);
            if undone_by <= position || by != Some(&Operation::RolledBack) || event.operation.written().is_none() {
                return Err(format!(
                    "event {position} is undone by event {undone_by}: expected a write, and a later rollback to a \
                     savepoint"
                ));
            }
        }
        if let (Some(item), Some(made)) = (event.operation.written(), event.operation.made()) {
            if made.stamp.0 <= 0 || !self.made.insert(made.stamp.0) {
                return Err(format!(
                    "event {position} makes version {}: expected a number above 0 that no other write \
                                    has",
                    made.stamp.0
                ));
            }
            self.version_of(item.table, made)?;
        }
        match &event.operation {
            Operation::Scan { range, .. } | Operation::Refused { range } => self.range(range),
            _ => Ok(()),
        }
    }

    fn version_of(&mut self, table: TableId, version: &Version) -> Result<(), String> {
        let found = version.index_keys.len();
        let expected = *self.indexes.entry(table).or_insert(found);
        if found != expected {
            return Err(format!("{found} index keys in table {}, whose other rows have {expected}", table.0));
        }
        match self.named.get(&table) {
            Some(&named) if usize::from(named) >= found => Err(no_index(table, named, found)),
            _ => Ok(()),
        }
    }

    fn range(&mut self, range: &Range) -> Result<(), String> {
        let IndexRef::Secondary(index) = range.index else { return Ok(()) };
        match self.indexes.get(&range.table) {
            Some(&count) if usize::from(index.0) >= count => Err(no_index(range.table, index.0, count)),
            Some(_) => Ok(()),
            None => {
                let named = self.named.entry(range.table).or_default();
                *named = index.0.max(*named);
                Ok(())
            }
        }
    }
}

fn no_index(table: TableId, index: u16, count: usize) -> String {
    format!("index {index} of table {}, whose rows have {count} index keys: they are numbered from 0", table.0)
}
