//! What must hold between two steps of transactions, with no transaction in the middle of one.
//!
//! 1. An id in a version is that of a transaction that is not over, and no version is there whose maker has aborted.
//! 2. The lives of versions of one row do not overlap, but for versions that will never have been, since the
//!    transaction that made or ended them is bound to abort.
//! 3. All indexes have the same versions, each of them once.
//! 4. No transaction waits for more or fewer transactions than will tell it, and a transaction that is over reads
//!    nothing.
//! 5. When no transaction runs, no version and no part of an index is locked, and there are as many rows as versions
//!    without an end.

use super::clock::{Clock, Timestamp};
use super::database::Database;
use super::status::State;
use super::transactions::Transactions;
use super::txn_id::TxnId;
use super::words::{Begin, End, RecordLock, Words};
use hotrow_storage::{Guard, Key, StoredTable, VersionIndex, VersionPtr, VersionRef, VersionTable};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// From when until when a version is the row.
type Life = (Timestamp, Timestamp);

/// Looks at everything.
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
