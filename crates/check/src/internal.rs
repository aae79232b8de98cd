//! Checks that need no order of versions: reads of a transaction's own writes, and of versions that must not be seen.

use crate::anomaly::{Anomaly, AnomalyKind, transaction_name, version_name};
use crate::history::{Event, History, Item, Operation, Record, Stamp};
use hotrow_storage::IndexRef;
use hotrow_txn::Isolation;
use std::collections::{HashMap, HashSet};

/// A write: its transaction, and what became of the version that it made.
struct Write<'a> {
    transaction: usize,
    item: &'a Item,
    /// Whether the writer left the version in place, rather than replacing or deleting it.
    is_final: bool,
    /// Whether the write was undone, or its writer aborted.
    is_undone: bool,
}

/// Checks the reads of every committed transaction, as far as that needs no order of versions. `level` returns the
/// level at which a transaction is judged.
///
/// # Errors
/// The first anomaly that was found, such as a read of a version whose writer aborted.
pub(crate) fn check_reads(history: &History, level: impl Fn(usize) -> Isolation) -> Result<(), Anomaly> {
    let writes = writes_by_stamp(history);
    let initial = history.initial.iter().map(|(item, version)| (item, version.stamp)).collect();
    for (transaction, record) in history.transactions.iter().enumerate() {
        if record.is_committed() {
            check_own_writes(history, transaction, record)?;
            check_scans(history, transaction, record, level(transaction))?;
            for (item, stamp) in reads(record) {
                check_read(history, &writes, &initial, transaction, item, stamp)?;
            }
        }
    }
    Ok(())
}

fn writes_by_stamp(history: &History) -> HashMap<Stamp, Write<'_>> {
    let mut by_stamp = HashMap::new();
    for (transaction, record) in history.transactions.iter().enumerate() {
        let mut last: HashMap<&Item, Stamp> = HashMap::new();
        for event in &record.events {
            let Some(item) = event.operation.written() else { continue };
            let is_undone = event.undone_by.is_some() || !record.is_committed();
            if event.undone_by.is_none()
                && let Some(before) = last.remove(item)
                && let Some(write) = by_stamp.get_mut(&before)
            {
                let write: &mut Write<'_> = write;
                write.is_final = false;
            }
            let Some(made) = event.operation.made() else { continue };
            by_stamp.insert(made.stamp, Write { transaction, item, is_final: true, is_undone });
            if event.undone_by.is_none() {
                last.insert(item, made.stamp);
            }
        }
    }
    by_stamp
}

/// Iterates over all versions that a transaction saw, with their items.
fn reads(record: &Record) -> impl Iterator<Item = (&Item, Stamp)> {
    record.events.iter().flat_map(|event| {
        let one = match &event.operation {
            Operation::Read { item, seen: Some(stamp) } => Some((item, *stamp)),
            Operation::Update { item, replaced, .. } => Some((item, *replaced)),
            _ => None,
        };
        let scanned = match &event.operation {
            Operation::Scan { seen, .. } => seen.as_slice(),
            _ => &[],
        };
        one.into_iter().chain(scanned.iter().map(|(item, stamp)| (item, *stamp)))
    })
}

fn check_read(
    history: &History,
    writes: &HashMap<Stamp, Write<'_>>,
    initial: &HashSet<(&Item, Stamp)>,
    transaction: usize,
    item: &Item,
    stamp: Stamp,
) -> Result<(), Anomaly> {
    let reader = transaction_name(history, transaction);
    let version = version_name(item, stamp);
    let tell = |kind, sentence: String, involved: &[usize]| Err(Anomaly::new(history, kind, sentence, involved));
    if stamp.0 <= 0 {
        return match initial.contains(&(item, stamp)) {
            true => Ok(()),
            false => tell(AnomalyKind::Invented, format!("{reader} saw {version}, which nobody wrote"), &[transaction]),
        };
    }
    let Some(write) = writes.get(&stamp).filter(|write| write.item == item) else {
        return tell(AnomalyKind::Invented, format!("{reader} saw {version}, which nobody wrote"), &[transaction]);
    };
    if write.transaction == transaction {
        return Ok(());
    }
    let (writer, involved) = (transaction_name(history, write.transaction), [write.transaction, transaction]);
    if write.is_undone {
        return tell(AnomalyKind::AbortedRead, format!("{reader} saw {version}, which {writer} undid"), &involved);
    }
    if !write.is_final {
        let sentence = format!("{reader} saw {version}, which {writer} replaced before it committed");
        return tell(AnomalyKind::IntermediateRead, sentence, &involved);
    }
    Ok(())
}

/// Checks that a transaction sees its own last write to an item.
fn check_own_writes(history: &History, transaction: usize, record: &Record) -> Result<(), Anomaly> {
    let tell = |sentence: String| {
        let sentence = format!("{} {sentence}", transaction_name(history, transaction));
        Err(Anomaly::new(history, AnomalyKind::Internal, sentence, &[transaction]))
    };
    for (position, event) in record.events.iter().enumerate() {
        let own = |item: &Item| own_write(record, position, item);
        let mismatch = |item: &Item, seen: Option<Stamp>| own(item).is_some_and(|own| own != seen);
        match &event.operation {
            Operation::Read { item, seen } if mismatch(item, *seen) => {
                return tell(format!("{}, not what it wrote", event.operation));
            }
            Operation::Update { item, replaced, .. } if mismatch(item, Some(*replaced)) => {
                return tell(format!("{}, not what it wrote", event.operation));
            }
            Operation::Insert { item, .. } if own(item).is_some_and(|own| own.is_some()) => {
                return tell(format!("{} over its own row", event.operation));
            }
            Operation::Scan { range, seen } => {
                let items: HashSet<_> = seen.iter().map(|(item, _)| item).collect();
                for (item, stamp) in seen {
                    if mismatch(item, Some(*stamp)) {
                        return tell(format!("saw {} in a scan, not what it wrote", version_name(item, *stamp)));
                    }
                }
                let missed = own_rows(record, position).into_iter().find(|(item, write)| {
                    let made = write.operation.made();
                    made.is_some_and(|made| range.contains(item, made)) && !items.contains(item)
                });
                if let Some((item, _)) = missed {
                    return tell(format!("did not see its own {item} in a scan of {range}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that a scan sees each row once, unless the level lets rows move while it runs.
fn check_scans(history: &History, transaction: usize, record: &Record, level: Isolation) -> Result<(), Anomaly> {
    for event in &record.events {
        let Operation::Scan { range, seen } = &event.operation else { continue };
        let may_move = range.index != IndexRef::Primary;
        if may_move && !AnomalyKind::UnstableScan.is_ruled_out_by(level) {
            continue;
        }
        let mut items = HashSet::new();
        if let Some((item, _)) = seen.iter().find(|(item, _)| !items.insert(item)) {
            let sentence = format!("{} saw {item} twice in one scan", transaction_name(history, transaction));
            let kind = if may_move { AnomalyKind::UnstableScan } else { AnomalyKind::Internal };
            return Err(Anomaly::new(history, kind, sentence, &[transaction]));
        }
    }
    Ok(())
}

/// Returns the state in which a transaction's own writes before its event at `position` left an item: a version, or
/// `Some(None)` if it deleted the item. Returns `None` if it had not written the item.
fn own_write(record: &Record, position: usize, item: &Item) -> Option<Option<Stamp>> {
    let writes = writes_before(record, position).filter(|event| event.operation.written() == Some(item));
    writes.last().map(|event| event.operation.made().map(|made| made.stamp))
}

/// Returns a transaction that deleted an item before the time `at`, and whose delete was undone, or `None` if there is
/// none.
pub(crate) fn undone_removal(history: &History, item: &Item, at: u64) -> Option<usize> {
    history.transactions.iter().position(|record| {
        let removes =
            |event: &Event| matches!(&event.operation, Operation::Delete { item: deleted } if deleted == item);
        let is_undone = |event: &Event| event.undone_by.is_some() || !record.is_committed();
        record.events.iter().any(|event| event.at < at && removes(event) && is_undone(event))
    })
}

/// Returns a transaction's own last write to each item, as of its event at `position`. Writes that were undone before
/// this event do not count.
pub(crate) fn own_rows(record: &Record, position: usize) -> HashMap<&Item, &Event> {
    writes_before(record, position).filter_map(|event| event.operation.written().map(|item| (item, event))).collect()
}

/// Iterates over a transaction's writes before the event at `position` that were in place when that event happened.
fn writes_before(record: &Record, position: usize) -> impl Iterator<Item = &Event> {
    let in_place = move |event: &&Event| event.undone_by.is_none_or(|undone| undone > position);
    record.events[..position].iter().filter(|event| event.operation.written().is_some()).filter(in_place)
}
