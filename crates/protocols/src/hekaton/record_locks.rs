//! Locks of versions (§4.1.1): each step is one exchange of the End word.
//!
//! A read lock keeps a version the latest until its holder has an end timestamp. It does not keep other transactions
//! from replacing the version: a transaction that replaces it only ends after the readers. A write lock has one holder,
//! and the first transaction to come wins (§2.6).

use super::database::Database;
use super::held_locks::HeldLocks;
use super::look::{Lock, Look};
use super::record;
use super::status::State;
use super::transactions::Transactions;
use super::txn_id::TxnId;
use super::visibility::{Owner, Updatability, updatability};
use super::wait_for::Imposed;
use super::words::{End, RecordLock, Words};
use hotrow_storage::{Guard, VersionRef, VersionTable};
use hotrow_txn::Abort;

/// The answer to a request for a version's read lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadLock {
    /// The transaction has the read lock now.
    Taken,
    /// The version is not the latest any more.
    Superseded,
}

impl Look {
    /// Asks for the read lock of a version that the transaction sees, and on which it has neither the read lock nor the
    /// write lock.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if the version has the greatest number of readers, or if an active writer of the version
    /// takes on no more waits.
    pub fn lock_to_read(
        &mut self,
        table: &VersionTable<Words>,
        version: VersionRef<'_, Words>,
    ) -> Result<ReadLock, Abort> {
        let words = version.header();
        loop {
            let transactions = &self.shared.transactions;
            let End::Locked(lock) = words.end() else { return Ok(ReadLock::Superseded) };
            let one_more = RecordLock { readers: lock.readers.wrapping_add(1), ..lock };
            let to = match lock.writer.map(|writer| (writer, self.writer(words, writer))) {
                None => one_more,
                // The steps that the aborted writer leaves undone are done here.
                Some((_, Owner::Other(_, State::Aborted))) => RecordLock { writer: None, is_closed: false, ..one_more },
                Some((writer, Owner::Other(_, State::Active))) if lock.is_closed => {
                    self.note_conflict(table, table.primary(), version, Some(writer));
                    return Err(Abort::Conflict);
                }
                Some((writer, Owner::Other(_, State::Active))) if lock.readers == 0 => {
                    match transactions.impose(writer) {
                        Imposed::Done if words.exchange(lock, one_more) => return Ok(ReadLock::Taken),
                        Imposed::Done => transactions.release(writer),
                        Imposed::Shut => {
                            self.note_conflict(table, table.primary(), version, Some(writer));
                            return Err(Abort::Conflict);
                        }
                        Imposed::Ended => {}
                    }
                    continue;
                }
                Some((_, Owner::Other(_, State::Active))) => one_more,
                Some((_, Owner::Other(_, State::Preparing(_) | State::Committed(_)))) => {
                    return Ok(ReadLock::Superseded);
                }
                Some((_, Owner::Other(_, State::Gone))) => continue,
                Some((_, Owner::Me)) => return Ok(ReadLock::Superseded),
            };
            if lock.readers >= self.shared.read_locks {
                return Err(Abort::Conflict);
            }
            if words.exchange(lock, to) {
                return Ok(ReadLock::Taken);
            }
        }
    }

    /// Asks for the write lock of a version that the transaction sees (§2.6). The transaction waits before its end for
    /// the holders of read locks. If it has a read lock itself, it gives that up for the write lock.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another active transaction has the lock, and [`Abort::Conflict`] if the version has
    /// readers and this transaction can wait for no more transactions.
    pub fn lock_to_write(
        &mut self,
        table: &VersionTable<Words>,
        version: VersionRef<'_, Words>,
        held: &mut HeldLocks,
    ) -> Result<Lock, Abort> {
        let words = version.header();
        loop {
            let End::Locked(lock) = words.end() else { return Ok(Lock::Superseded) };
            match updatability(self.writer_of(version, lock)) {
                Updatability::Yes => {}
                Updatability::Mine => return Ok(Lock::Kept),
                Updatability::Superseded => return Ok(Lock::Superseded),
                Updatability::Conflict => {
                    self.note_conflict(table, table.primary(), version, lock.writer);
                    match words.end() {
                        End::Locked(now) if now.writer == lock.writer => return Err(Abort::WriteConflict),
                        _ => self.conflict = None,
                    }
                    continue;
                }
                Updatability::Again => continue,
            }
            let mine = RecordLock { writer: Some(self.me), readers: lock.readers, is_closed: false };
            if lock.readers == 0 {
                if words.exchange(lock, mine) {
                    return Ok(Lock::Taken);
                }
            } else if self.lock_among_readers(version, lock, mine, held)? {
                return Ok(Lock::Taken);
            }
        }
    }

    /// Takes the write lock of a version that has readers, if its locks are still `lock`. Returns whether it was taken.
    #[cold]
    fn lock_among_readers(
        &self,
        version: VersionRef<'_, Words>,
        lock: RecordLock,
        mine: RecordLock,
        held: &mut HeldLocks,
    ) -> Result<bool, Abort> {
        let transactions = &self.shared.transactions;
        let reads = held.has(version.ptr());
        let others = lock.readers - u8::from(reads);
        // Counted before a reader that goes can count it down.
        if others > 0 && transactions.impose(self.me) != Imposed::Done {
            return Err(Abort::Conflict);
        }
        let taken = version.header().exchange(lock, RecordLock { readers: others, ..mine });
        if taken && reads {
            held.forget(version.ptr());
        } else if !taken && others > 0 {
            transactions.release(self.me);
        }
        Ok(taken)
    }
}

/// Gives up all read and index locks of a transaction, after it has got its end timestamp, or when it aborts, so that
/// the transactions that wait for it can go on.
#[inline]
pub(super) fn release_all(
    held: &mut HeldLocks,
    me: TxnId,
    transactions: &Transactions,
    database: &Database,
    guard: Guard<'_>,
) {
    if held.is_empty() {
        return;
    }
    for (table, version) in held.take_rows() {
        // The locks of a dropped table went with it.
        if database.table(guard, table).is_some() {
            release_read(record::words(version, guard), transactions);
        }
    }
    let parts = held.take_parts();
    if parts.len() == 0 {
        return;
    }
    transactions.close_waiting(me);
    for (table, position, part) in parts {
        if let Some(table) = database.table(guard, table) {
            table.indexes()[position].data().unlock(&part, me);
        }
    }
}

/// Gives up a read lock. If it was the last one on the version, the writer has one wait less.
fn release_read(words: &Words, transactions: &Transactions) {
    while let End::Locked(lock) = words.end() {
        debug_assert!(lock.readers > 0, "a read lock is counted");
        let to = RecordLock { readers: lock.readers - 1, ..lock };
        if words.exchange(lock, to) {
            lock.writer.filter(|_| to.readers == 0).inspect(|&writer| transactions.release(writer));
            return;
        }
    }
    debug_assert!(false, "a version ends when nobody has a read lock on it any more");
}

/// Gives up the write lock of a version that the transaction does not replace after all, unless another transaction has
/// taken the lock over. Returns whether the transaction had counted a wait for readers of the version. Then the caller
/// counts it down with [`Transactions::release`].
pub(super) fn release_write(words: &Words, me: TxnId) -> bool {
    while let End::Locked(lock) = words.end() {
        if lock.writer != Some(me) {
            return false;
        }
        if words.exchange(lock, RecordLock { writer: None, is_closed: false, ..lock }) {
            return lock.readers > 0;
        }
    }
    false
}

/// Closes a version to new read locks (NoMoreReadLocks), if it has readers. The transaction has the version's write
/// lock.
pub(super) fn close_to_readers(words: &Words, me: TxnId) {
    while let End::Locked(lock) = words.end() {
        let is_open = lock.writer == Some(me) && lock.readers > 0 && !lock.is_closed;
        if !is_open || words.exchange(lock, RecordLock { is_closed: true, ..lock }) {
            return;
        }
    }
}

/// Turns the write lock of an active transaction into a read lock. Returns whether the transaction had counted a wait
/// for other readers of the version. Then the caller counts it down with [`Transactions::release`]. If the version has
/// `most` readers already, returns `None` and changes nothing.
pub(super) fn write_to_read(words: &Words, me: TxnId, most: u8) -> Option<bool> {
    loop {
        let End::Locked(lock) = words.end() else { unreachable!("who has the write lock decides about the end") };
        debug_assert_eq!(lock.writer, Some(me));
        if lock.readers >= most {
            return None;
        }
        if words.exchange(lock, RecordLock { writer: None, readers: lock.readers + 1, is_closed: false }) {
            return Some(lock.readers > 0);
        }
    }
}
