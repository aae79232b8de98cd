//! The locks of a partition: the only thing in which the partition engines differ.

use super::id::Ticket;
use super::piece::PieceRef;
use crate::shared::planned::{Needs, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use hotrow_storage::{Key, RecordHeader, RecordRef, TableId};
use hotrow_txn::Intent;
use std::fmt::Debug;

/// A counter cannot be counted on: there are too many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The locks of one partition. One thread at a time uses them: the one that has the partition's baton.
pub trait LockState: Default + Debug + Send + 'static {
    /// The header of each record.
    type Header: RecordHeader + Debug;

    /// A transaction in the queue, as the locks know it.
    type Owner: Copy + Debug + Send;

    /// The properties of its rows that a plan has to find out.
    const NEEDS: Needs;

    /// Whether the first transaction in the queue has all that it asked for, whatever the locks say (§2.1).
    const FRONT_IS_FREE: bool;

    /// Whether a transaction that was let in has the whole partition, and may touch any row there.
    const IS_WHOLE: bool = false;

    /// Asks for everything, in one step, for a transaction that takes its place in the queue as `ticket`;
    /// `behind_nobody` says whether the queue is empty. Returns whether all of it is granted. Rows whose records are
    /// gone are found anew.
    fn request(
        &mut self,
        scene: Scene<'_, Self::Header>,
        ticket: Ticket,
        behind_nobody: bool,
        wanted: PieceRef<'_, Self::Header>,
    ) -> Result<(Self::Owner, bool), Exhausted>;

    /// Gives back all that was asked for, granted or not. Adds the transactions to `granted` that have all that they
    /// asked for now, as far as the locks can tell.
    fn release(
        &mut self,
        scene: Scene<'_, Self::Header>,
        owner: Self::Owner,
        wanted: PieceRef<'_, Self::Header>,
        granted: &mut Vec<Ticket>,
    );

    /// Lets a transaction in that asks for nothing yet, if it need not wait even so.
    fn join(&mut self, ticket: Ticket, behind_nobody: bool) -> Option<Self::Owner>;

    /// Lets one go that has come to have nothing.
    fn part(&mut self, owner: Self::Owner);

    /// Locks one more row, if no other transaction has asked for a conflicting lock.
    fn add_row(
        &mut self,
        scene: Scene<'_, Self::Header>,
        owner: Self::Owner,
        row: &mut PlannedRow<Self::Header>,
    ) -> bool;

    /// Locks more prefixes, all or none, for a transaction that holds others, if no other transaction has asked for a
    /// conflicting lock.
    fn add_prefixes(&mut self, owner: Self::Owner, held: &[Counted], wanted: &[Counted]) -> bool;

    /// Whether no transaction can be writing a record, whose lock has this `name`.
    fn is_quiet(&self, queue_is_empty: bool, name: u64, record: RecordRef<'_, Self::Header>) -> bool;

    /// Finds rows anew whose records were gone when their partition counted on them.
    fn refresh(_scene: Scene<'_, Self::Header>, _rows: &mut [PlannedRow<Self::Header>]) {}

    /// Unlinks the records of absent rows that a transaction meant to ask for and will not, if no other transaction
    /// counts on them.
    fn forget(&mut self, _scene: Scene<'_, Self::Header>, _absent: &[(TableId, Key)]) {}

    /// Checks what it keeps against what those in the queue have asked for.
    fn audit(&self, books: &[Book]) -> Result<(), String>;

    /// Checks the records' headers against the requests of the transactions in all partitions. `is_all_counted` says
    /// that no transaction is yet to ask for a record that was made for it, or has the database alone.
    fn audit_records(_scene: Scene<'_, Self::Header>, _books: &[Book], _is_all_counted: bool) -> Result<(), String> {
        Ok(())
    }
}

/// The requests of a transaction in the queue, for audits.
#[derive(Debug)]
pub struct Book {
    /// Whether it has it.
    pub(super) runs: bool,
    /// By names of locks.
    pub(super) rows: Vec<(u64, Intent)>,
    pub(super) prefixes: Vec<Counted>,
}
