//! The reads of one transaction that are locked as the writes which they are likely to become.

use super::foresight::Foresight;
use super::lock::RecordLock;
use super::waiting::{RecordOrName, RecordWait};
use crate::shared::deadlocks::Blocked;
use hotrow_storage::RecordPtr;
use hotrow_sync::Arc;
use smallvec::SmallVec;

/// The greatest number of reads of one transaction, locked as writes, that are judged at its end.
const JUDGED: usize = 64;

/// The rows that one transaction has read and locked exclusively, because [`Foresight`] expects that it will write
/// them.
pub(super) struct Foreseen<L: RecordLock> {
    /// The rows that are read to be written, or `None` if reads are locked as reads.
    foresight: Option<Arc<Foresight>>,
    /// Whether the transaction may come to write what it reads.
    may_write: bool,
    /// The records that were locked to be written when they were read, and have not been written.
    records: SmallVec<[RecordPtr<L>; 2]>,
}

impl<L: RecordLock> Foreseen<L> {
    pub(super) fn new(foresight: Option<Arc<Foresight>>) -> Self {
        Self { foresight, may_write: false, records: SmallVec::new() }
    }

    /// Begins a transaction. `may_write` says whether it may write rows that it reads.
    #[inline]
    pub(super) fn begin(&mut self, may_write: bool) {
        self.may_write = may_write;
    }

    /// Whether some rows are expected to be written by their readers, and the transaction may write.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.may_write && self.foresight.as_ref().is_some_and(|foresight| foresight.is_any())
    }

    /// Whether a transaction that reads the record is expected to write it later.
    pub(super) fn becomes_write(&self, record: RecordPtr<L>) -> bool {
        self.foresight.as_ref().is_some_and(|foresight| foresight.is_read_to_write(hash(record)))
    }

    /// Notes that a record was locked exclusively when it was read.
    pub(super) fn locked(&mut self, record: RecordPtr<L>) {
        if self.records.len() < JUDGED {
            self.records.push(record);
        }
    }

    /// Notes that the transaction writes a record. If the record was locked exclusively when it was read, the
    /// expectation was right.
    pub(super) fn written(&mut self, record: RecordPtr<L>) {
        if let Some(at) = self.records.iter().position(|&foreseen| foreseen == record) {
            self.records.swap_remove(at);
            self.learn(record, true);
        }
    }

    /// Notes that the transaction is the victim of a deadlock with another reader of a record that both want to write.
    /// Returns whether readers of the record were expected to write it before, or no such expectations are kept.
    pub(super) fn deadlocked(&self, record: RecordPtr<L>) -> bool {
        self.foresight.as_ref().is_none_or(|foresight| foresight.deadlocked(hash(record)))
    }

    /// Reports the rows that the transaction read and locked exclusively, but did not write, as wrong expectations. If
    /// it was the victim of a deadlock, nothing is reported, as it might have written them.
    #[inline]
    pub(super) fn end(&mut self, is_victim: bool) {
        if !self.records.is_empty() {
            self.judge(is_victim);
        }
    }

    #[cold]
    fn judge(&mut self, is_victim: bool) {
        for record in std::mem::take(&mut self.records) {
            if !is_victim {
                self.learn(record, false);
            }
        }
    }

    /// Notes whether a record that was locked to be written when it was read `was_written`, as the transaction writes
    /// it or ends.
    #[cold]
    fn learn(&self, record: RecordPtr<L>, was_written: bool) {
        if let Some(foresight) = &self.foresight {
            foresight.learn(hash(record), was_written);
        }
    }
}

fn hash<L: RecordLock>(record: RecordPtr<L>) -> u64 {
    RecordWait::hash(RecordOrName::Record(record))
}
