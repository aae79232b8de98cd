//! The rows at one point of a serial order, and the check whether a transaction would have seen exactly these.

use crate::history::{Event, History, Item, Operation, Range, Record, Stamp, Version};
use crate::items::Items;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The operations of a transaction, in the form in which they are compared with rows: items are identified by their
/// numbers.
#[derive(Debug)]
pub(super) struct Steps<'h> {
    list: Vec<Step<'h>>,
    /// The effects of the transaction: its writes that were not undone, in their order. Each holds the item's number
    /// and the new version, or `None` for a delete.
    pub leaves: Vec<(usize, Option<&'h Version>)>,
}

#[derive(Debug)]
enum Step<'h> {
    Read {
        item: usize,
        seen: Option<Stamp>,
    },
    /// The transaction wrote an item, after finding this version there; a delete accepts any version.
    Write {
        item: usize,
        found: Found,
        made: Option<&'h Version>,
        undone_by: Option<usize>,
    },
    /// The transaction saw these rows in a range. `ever` holds all items that were ever there. Both are in the order of
    /// the items' numbers.
    Scan {
        range: &'h Range,
        seen: Vec<(usize, Stamp)>,
        ever: Vec<usize>,
    },
    /// A unique index refused a write of the transaction because of some row in a range.
    Refused {
        range: &'h Range,
        ever: Vec<usize>,
    },
    RolledBack,
}

/// The version that a write has found.
#[derive(Clone, Copy, Debug)]
enum Found {
    Nothing,
    This(Stamp),
    Any,
}

/// The first operation of a transaction that disagrees with the rows at a point of the serial order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The position of the operation among the transaction's events.
    pub event: usize,
    /// The number of an item that shows the disagreement, and the stamp of its version in the rows, or `None` if it is
    /// not there. The whole is `None` if a unique index refused a write although no row has the key.
    pub item: Option<(usize, Option<Stamp>)>,
}

/// Returns the numbered items that occur in the initial rows or in committed transactions of a history, with all
/// versions that they ever had.
pub(super) fn items_of(history: &History) -> Items {
    let mut versions: BTreeMap<&Item, Vec<&Version>> = BTreeMap::new();
    for (item, version) in &history.initial {
        versions.entry(item).or_default().push(version);
    }
    for event in history.transactions.iter().filter(|record| record.is_committed()).flat_map(|record| &record.events) {
        let read = match &event.operation {
            Operation::Read { item, .. } => Some(item),
            _ => None,
        };
        let scanned = match &event.operation {
            Operation::Scan { seen, .. } => seen.as_slice(),
            _ => &[],
        };
        for item in read.into_iter().chain(scanned.iter().map(|(item, _)| item)) {
            versions.entry(item).or_default();
        }
        if let Some(item) = event.operation.written() {
            versions.entry(item).or_default().extend(event.operation.made());
        }
    }
    Items::new(versions.into_iter().map(|(item, versions)| (item.clone(), versions)))
}

impl<'h> Steps<'h> {
    pub fn of(record: &'h Record, items: &Items) -> Self {
        let number = |item: &Item| items.number(item).expect("every item of the history has a number");
        let step = |event: &'h Event| {
            let undone_by = event.undone_by;
            let write = |item, found, made| Step::Write { item: number(item), found, made, undone_by };
            match &event.operation {
                Operation::Read { item, seen } => Step::Read { item: number(item), seen: *seen },
                Operation::Insert { item, made } => write(item, Found::Nothing, Some(made)),
                Operation::Update { item, replaced, made } => write(item, Found::This(*replaced), Some(made)),
                Operation::Delete { item } => write(item, Found::Any, None),
                Operation::Scan { range, seen } => {
                    let mut seen: Vec<_> = seen.iter().map(|(item, stamp)| (number(item), *stamp)).collect();
                    seen.sort_unstable();
                    Step::Scan { range, seen, ever: items.ever_in(range) }
                }
                Operation::Refused { range } => Step::Refused { range, ever: items.ever_in(range) },
                Operation::RolledBack => Step::RolledBack,
            }
        };
        let left = |event: &'h Event| event.operation.written().map(|item| (number(item), event.operation.made()));
        Self { list: record.events.iter().map(step).collect(), leaves: record.writes().filter_map(left).collect() }
    }
}

/// The rows of the database at one point of the serial order.
#[derive(Debug)]
pub(super) struct Rows<'h> {
    items: &'h Items,
    there: Vec<Option<&'h Version>>,
    /// A fingerprint of all rows, independent of the order in which they came.
    fingerprint: u64,
    /// The writes of the transaction that is being checked, each with the event that undoes it.
    own: Vec<(usize, Option<&'h Version>, Option<usize>)>,
}

impl<'h> Rows<'h> {
    /// Returns the initial rows of the history, at the begin of the serial order.
    pub fn new(history: &'h History, items: &'h Items) -> Self {
        let mut rows = Self { items, there: vec![None; items.len()], fingerprint: 0, own: Vec::new() };
        for (item, version) in &history.initial {
            let number = items.number(item).expect("every item of the history has a number");
            rows.set(number, Some(version));
        }
        rows
    }

    /// Returns a hash of all rows, by which the search recognises a state that it has met before.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Sets the version of an item, and returns the previous one. `None` means that the item does not exist.
    pub fn set(&mut self, item: usize, version: Option<&'h Version>) -> Option<&'h Version> {
        let before = std::mem::replace(&mut self.there[item], version);
        for version in [before, version].into_iter().flatten() {
            let mut hasher = DefaultHasher::new();
            (item, version.stamp).hash(&mut hasher);
            self.fingerprint ^= hasher.finish();
        }
        before
    }

    /// Returns the first operation whose recorded result differs from the result that it would have on these rows,
    /// after the transaction's own earlier writes. Returns `None` if the transaction fits.
    pub fn misfit(&mut self, steps: &Steps<'h>) -> Option<Misfit> {
        self.own.clear();
        for (event, step) in steps.list.iter().enumerate() {
            if let Some(item) = self.disagreement(step) {
                let item = item.map(|item| (item, self.current(item).map(|version| version.stamp)));
                return Some(Misfit { event, item });
            }
            match step {
                Step::Write { item, made, undone_by, .. } => self.own.push((*item, *made, *undone_by)),
                Step::RolledBack => self.own.retain(|&(.., undone_by)| undone_by != Some(event)),
                _ => {}
            }
        }
        None
    }

    /// Returns whether a step disagrees with the rows: `None` if it agrees, otherwise the item that shows the
    /// disagreement, if there is one.
    fn disagreement(&self, step: &Step<'_>) -> Option<Option<usize>> {
        let stamp = |item| self.current(item).map(|version| version.stamp);
        let differs = |item, agrees: bool| (!agrees).then_some(Some(item));
        match step {
            Step::Read { item, seen } => differs(*item, stamp(*item) == *seen),
            Step::Write { item, found, .. } => match found {
                Found::Nothing => differs(*item, stamp(*item).is_none()),
                Found::This(version) => differs(*item, stamp(*item) == Some(*version)),
                Found::Any => differs(*item, stamp(*item).is_some()),
            },
            Step::Scan { range, seen, ever } => {
                let mut seen = seen.iter().peekable();
                for &item in ever {
                    let there = self.in_range(item, range).map(|version| version.stamp);
                    match (seen.peek(), there) {
                        (Some(&&(other, _)), _) if other < item => return Some(Some(other)),
                        (Some(&&(other, stamp)), _) if other == item => {
                            if there != Some(stamp) {
                                return Some(Some(item));
                            }
                            seen.next();
                        }
                        (_, Some(_)) => return Some(Some(item)),
                        (_, None) => {}
                    }
                }
                seen.next().map(|&(item, _)| Some(item))
            }
            Step::Refused { range, ever } => {
                let refuses = ever.iter().any(|&item| self.in_range(item, range).is_some());
                (!refuses).then_some(None)
            }
            Step::RolledBack => None,
        }
    }

    /// Returns the version of an item that the transaction that is being checked would find.
    fn current(&self, item: usize) -> Option<&'h Version> {
        let own = self.own.iter().rev().find(|(written, ..)| *written == item);
        own.map_or(self.there[item], |&(_, version, _)| version)
    }

    fn in_range(&self, item: usize, range: &Range) -> Option<&'h Version> {
        self.current(item).filter(|version| range.contains(self.items.item(item), version))
    }
}
