//! Checks the invariants that hold between two steps of transactions, when no transaction is in the middle of a step.
//!
//! 1. An id in a version belongs to a transaction that is not over, and no version remains whose maker has aborted.
//! 2. The lives of a row's versions do not overlap. Versions whose maker or ender is bound to abort are exempt, since
//!    they will never have existed.
//! 3. All indexes have the same versions, each of them once.
//! 4. A transaction's counter of waits equals the number of transactions that will report to it, and a transaction that
//!    is over publishes no read time.
//! 5. When no transaction runs, no version and no part of an index is locked, and the number of rows equals the number
//!    of versions without an end.

use super::clock::{Clock, Timestamp};
use super::database::Database;
use super::status::State;
use super::transactions::Transactions;
use super::txn_id::TxnId;
use super::words::{Begin, End, RecordLock, Words};
use hotrow_storage::{Guard, Key, StoredTable, VersionIndex, VersionPtr, VersionRef, VersionTable};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The life of a version: the time from which, and the time until which, it is the row.
type Life = (Timestamp, Timestamp);

/// Checks the invariants of this module's doc. The error describes the first that is broken.
pub(super) fn audit(clock: &Clock, transactions: &Transactions, database: &Database) -> Result<(), String> {
    transactions.audit()?;
    let mut participant = database.participant();
    participant.enter();
    let guard = participant.guard();
    let audited = database.tables(guard).try_for_each(|table| {
        let of_table = |wrong: String| format!("table {}: {wrong}", table.id().0);
        audit_lives(clock, transactions, guard, table).and_then(|()| audit_indexes(guard, table)).map_err(of_table)
    });
    participant.leave();
    audited
}

fn audit_lives(
    clock: &Clock,
    transactions: &Transactions,
    guard: Guard<'_>,
    table: &VersionTable<Words>,
) -> Result<(), String> {
    let (is_at_rest, doomed) = (transactions.are_over(), transactions.doomed());
    let mut lives: BTreeMap<Key, Vec<Life>> = BTreeMap::new();
    let mut rows = 0;
    for version in versions(table.primary(), guard) {
        let (begin, end) = (version.header().begin(), version.header().end());
        let key = table.key_of(version.row());
        let wrong = |what: &str| Err(format!("a version of {key:?} with {begin:?} and {end:?} {what}"));
        let state = |id: TxnId| transactions.look(id, clock);
        let is_locked = matches!(end, End::Locked(lock) if lock != RecordLock::FREE);
        if is_at_rest && (matches!(begin, Begin::By(_)) || is_locked) {
            return wrong("is locked, and nobody is there");
        }
        let begin = match begin {
            Begin::At(Timestamp::INFINITY) => return wrong("never was, and is linked"),
            Begin::At(time) => Some(time),
            Begin::By(maker) => match state(maker) {
                State::Active => None,
                State::Preparing(_) if doomed.contains(&maker) => None,
                State::Preparing(time) | State::Committed(time) => Some(time),
                State::Aborted | State::Gone => return wrong("was made by one that is over"),
            },
        };
        let end = match end {
            End::At(time) => time,
            End::Locked(RecordLock { writer: None, .. }) => Timestamp::INFINITY,
            End::Locked(RecordLock { writer: Some(writer), .. }) => match state(writer) {
                State::Active | State::Aborted => Timestamp::INFINITY,
                State::Preparing(_) if doomed.contains(&writer) => Timestamp::INFINITY,
                State::Preparing(time) | State::Committed(time) => time,
                State::Gone => return wrong("is locked by one that is over"),
            },
        };
        rows += u64::from(begin.is_some() && end == Timestamp::INFINITY);
        if let Some(begin) = begin {
            lives.entry(key).or_default().push((begin, end));
        }
    }
    for (key, lives) in &mut lives {
        lives.sort_unstable();
        let overlap = lives.windows(2).find(|pair| pair[0].1 > pair[1].0);
        if let Some((begin, end)) = lives.iter().find(|(begin, end)| begin > end) {
            return Err(format!("a version of {key:?} begins at {begin:?} and ends at {end:?}"));
        }
        if let Some(pair) = overlap {
            return Err(format!("lives of {key:?} overlap: {pair:?}"));
        }
    }
    if is_at_rest && !table.indexes().iter().all(|index| index.data().are_free()) {
        return Err("a part of an index is locked, and nobody is there".to_owned());
    }
    if is_at_rest && rows != table.row_count() {
        return Err(format!("{rows} versions have no end, but {} rows are counted", table.row_count()));
    }
    Ok(())
}

fn audit_indexes(guard: Guard<'_>, table: &VersionTable<Words>) -> Result<(), String> {
    let addresses = |index| {
        let mut addresses: Vec<VersionPtr<Words>> = versions(index, guard).iter().map(VersionRef::ptr).collect();
        addresses.sort_unstable();
        addresses
    };
    let primary = addresses(table.primary());
    match table.indexes().iter().find(|index| addresses(index) != primary) {
        Some(other) => Err(format!("the index at {} has other versions than the primary one", other.position())),
        None => Ok(()),
    }
}

fn versions<'g>(index: &'g VersionIndex<Words>, guard: Guard<'g>) -> Vec<VersionRef<'g, Words>> {
    let mut versions = Vec::new();
    index.all(guard, |version| {
        versions.push(version);
        ControlFlow::Continue(())
    });
    versions
}
