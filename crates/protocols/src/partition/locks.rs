//! How a partition locks: the only thing in which the partition engines differ.

use super::id::Ticket;
use super::piece::Wanted;
use crate::shared::planned::{Needs, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use hotrow_storage::{Key, RecordHeader, RecordRef, TableId};
use hotrow_txn::Intent;
use std::fmt::Debug;

/// A counter cannot be counted on: there are too many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The locks of one partition. For one thread at a time: who has the partition's baton.
pub trait LockState: Default + Debug + Send + 'static {
    /// What stands before each record.
    type Header: RecordHeader + Debug;

    /// What a transaction in the queue is to the locks.
    type Owner: Copy + Debug + Send;

    /// What has to be known of a plan's rows.
    const NEEDS: Needs;

    /// Whether who stands first in the queue has all that it asked for, whatever the locks say (§2.1).
    const FRONT_IS_FREE: bool;

    /// Whether whoever is in has the whole partition, and touches what it likes there.
    const IS_WHOLE: bool = false;

    /// Asks for everything, in one step, for a transaction that takes its place in the queue as `ticket`: behind nobody, or
    /// behind somebody. Whether all of it is granted. Rows whose records are gone are found anew.
    fn request(
        &mut self,
        scene: Scene<'_, Self::Header>,
        ticket: Ticket,
        behind_nobody: bool,
        wanted: Wanted<'_, Self::Header>,
    ) -> Result<(Self::Owner, bool), Exhausted>;

    /// Gives back all that was asked for, granted or not; adds those who have all that they asked for now, as far as the
    /// locks can tell, to `granted`.
    fn release(
        &mut self,
        scene: Scene<'_, Self::Header>,
        owner: Self::Owner,
        wanted: Wanted<'_, Self::Header>,
        granted: &mut Vec<Ticket>,
    );

    /// Lets a transaction in that asks for nothing yet, if it need not wait even so.
    fn join(&mut self, ticket: Ticket, behind_nobody: bool) -> Option<Self::Owner>;

    /// Lets one go that has come to have nothing.
    fn part(&mut self, owner: Self::Owner);

    /// Locks a row more, if nobody has asked for a conflicting lock.
    fn add_row(
        &mut self,
        scene: Scene<'_, Self::Header>,
        owner: Self::Owner,
        row: &mut PlannedRow<Self::Header>,
    ) -> bool;

    /// The same for prefixes, all or none, of a transaction that holds others.
    fn add_prefixes(&mut self, owner: Self::Owner, held: &[Counted], wanted: &[Counted]) -> bool;

    /// Whether nobody can be writing a record, of which `name` is the lock's.
    fn is_quiet(&self, queue_is_empty: bool, name: u64, record: RecordRef<'_, Self::Header>) -> bool;

    /// Finds rows anew whose records were gone when their partition counted on them.
    fn refresh(_scene: Scene<'_, Self::Header>, _rows: &mut [PlannedRow<Self::Header>]) {}

    /// Unlinks the records of absent rows that one meant to ask for who will not, if nobody else counts on them.
    fn forget(&mut self, _scene: Scene<'_, Self::Header>, _absent: &[(TableId, Key)]) {}

    /// Checks what it keeps against what those in the queue have asked for.
    fn audit(&self, books: &[Book]) -> Result<(), String>;

    /// Checks what stands before the records against what those in all partitions have asked for. `is_all_counted` says that nobody
    /// is yet to ask for a record that was made for him, or has the database alone.
    fn audit_records(_scene: Scene<'_, Self::Header>, _books: &[Book], _is_all_counted: bool) -> Result<(), String> {
        Ok(())
    }
}

/// What a transaction in the queue has asked for, for audits.
#[derive(Debug)]
pub struct Book {
    /// Whether it has it.
    pub(super) runs: bool,
    /// By names of locks.
    pub(super) rows: Vec<(u64, Intent)>,
    pub(super) prefixes: Vec<Counted>,
}
