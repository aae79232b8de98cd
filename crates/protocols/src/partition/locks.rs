//! The locks of a partition: the only thing in which the partition engines differ.

use super::id::Ticket;
use super::piece::PieceRef;
use crate::shared::planned::{Needs, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use hotrow_storage::{Key, RecordHeader, RecordRef, TableId};
use hotrow_txn::Intent;
use std::fmt::Debug;

/// The error of a request that was refused because a counter of requests is at its maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The locks of one partition. One thread at a time uses them: the thread that has the partition's baton, the right to
/// work on it.
pub trait LockState: Default + Debug + Send + 'static {
    /// The header of each record.
    type Header: RecordHeader + Debug;

    /// The value that identifies a transaction of the queue to the locks.
    type Owner: Copy + Debug + Send;

    /// The properties of each row, such as its record, that a plan must look up before the row can be locked.
    const NEEDS: Needs;

    /// Whether the first transaction in the queue always has all locks that it asked for (§2.1).
    const FRONT_IS_FREE: bool;

    /// Whether a transaction that has its locks has the whole partition, and may access any row there.
    const IS_WHOLE: bool = false;

    /// Asks for all of a transaction's locks in one step. The transaction takes its place in the queue as `ticket`;
    /// `behind_nobody` says whether the queue is empty. Returns whether all locks are granted. Rows whose records are
    /// gone are looked up again.
    fn request(
        &mut self,
        scene: Scene<'_, Self::Header>,
        ticket: Ticket,
        behind_nobody: bool,
        wanted: PieceRef<'_, Self::Header>,
    ) -> Result<(Self::Owner, bool), Exhausted>;

    /// Gives back all locks that a transaction asked for, granted or not. Adds the transactions to `granted` that now
    /// have all that they asked for, as far as the locks can tell.
    fn release(
        &mut self,
        scene: Scene<'_, Self::Header>,
        owner: Self::Owner,
        wanted: PieceRef<'_, Self::Header>,
        granted: &mut Vec<Ticket>,
    );

    /// Registers a transaction that runs already and asks for no lock yet, and takes its place in the queue as
    /// `ticket`. Returns `None` if it would have to wait even so. `behind_nobody` says whether the queue is empty.
    fn join(&mut self, ticket: Ticket, behind_nobody: bool) -> Option<Self::Owner>;

    /// Removes a transaction that has [joined](Self::join), but got none of the locks that it wanted.
    fn part(&mut self, owner: Self::Owner);

    /// Locks one more row, if no other transaction has asked for a conflicting lock. Returns whether it was locked.
    fn add_row(
        &mut self,
        scene: Scene<'_, Self::Header>,
        owner: Self::Owner,
        row: &mut PlannedRow<Self::Header>,
    ) -> bool;

    /// Locks more prefixes, all or none, for a transaction that holds others, if no other transaction has asked for a
    /// conflicting lock.
    fn add_prefixes(&mut self, owner: Self::Owner, held: &[Counted], wanted: &[Counted]) -> bool;

    /// Whether no transaction can be writing a record, whose lock has this `name`. Then the caller may read the record
    /// without a lock.
    fn is_quiet(&self, queue_is_empty: bool, name: u64, record: RecordRef<'_, Self::Header>) -> bool;

    /// Looks up the records of rows again that were unlinked between the plan and the request for locks.
    fn refresh(_scene: Scene<'_, Self::Header>, _rows: &mut [PlannedRow<Self::Header>]) {}

    /// Unlinks the records that were made for absent rows of a transaction which does not ask for them after all, if no
    /// request is counted there.
    fn forget(&mut self, _scene: Scene<'_, Self::Header>, _absent: &[(TableId, Key)]) {}

    /// Checks the locks against `books`, the requests of the transactions in the queue.
    fn audit(&self, books: &[Book]) -> Result<(), String>;

    /// Checks the records' headers against the requests of the transactions in all partitions. `is_all_counted` says
    /// whether each transaction has asked for all records that were made for it, and no transaction has the database
    /// alone.
    fn audit_records(_scene: Scene<'_, Self::Header>, _books: &[Book], _is_all_counted: bool) -> Result<(), String> {
        Ok(())
    }
}

/// The requests of a transaction in the queue, for audits.
#[derive(Debug)]
pub struct Book {
    /// Whether the transaction has all locks that it asked for.
    pub(super) runs: bool,
    /// The rows that the transaction asked for, by the names of their locks.
    pub(super) rows: Vec<(u64, Intent)>,
    pub(super) prefixes: Vec<Counted>,
}
