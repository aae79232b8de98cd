//! The transaction: it reads and updates some records, and computes something for each; or it only locks them.

use super::{COUNTER, FILLER};
use crate::checksum::sum;
use crate::computation::compute;
use hotrow_storage::{Key, TableId};
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction, Write};

/// Reads each of some records, increments its counter, and computes. Returns a checksum of the reads and the
/// computation.
#[derive(Clone, Debug)]
pub struct Updates {
    table: TableId,
    /// Whether the transaction only locks the records.
    lock_only: bool,
    /// Whether records have a filler besides the counter.
    filler: bool,
    /// The number of rounds of computation for each record.
    rounds: u64,
    keys: Vec<i64>,
}

impl Updates {
    pub(super) fn new(table: TableId, lock_only: bool, filler: bool, rounds: u64) -> Self {
        Self { table, lock_only, filler, rounds, keys: Vec::new() }
    }

    /// Returns the keys of the records, in the order of the updates.
    pub fn keys(&self) -> &[i64] {
        &self.keys
    }

    /// Returns the number of counters that the transaction increments.
    pub(super) fn increments(&self) -> u64 {
        if self.lock_only { 0 } else { self.keys.len() as u64 }
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }

    pub(super) fn push(&mut self, key: u64) {
        self.keys.push(key as i64);
    }

    pub(super) fn has(&self, key: u64) -> bool {
        self.keys.contains(&(key as i64))
    }

    fn lock<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        for &key in &self.keys {
            txn.read_for_update(self.table, &Key::Int(key))?.ok_or(LOST)?;
        }
        Ok(0)
    }

    fn update<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut checksum = 0_u64;
        for &key in &self.keys {
            let mut read = 0;
            let updated = txn.update(self.table, &Key::Int(key), &mut |row| {
                let before = row.as_ref();
                let counter = before.int8(COUNTER);
                read = if self.filler { sum(before.bytes(FILLER)) } else { 0 }.wrapping_add(counter as u64);
                row.set_int8(COUNTER, counter + 1);
                Ok(())
            })?;
            if updated != Write::Done {
                return Err(LOST);
            }
            checksum = checksum.wrapping_add(compute(self.rounds, read));
        }
        Ok(checksum)
    }
}

/// The abort for a missing record. No transaction deletes records, so it was lost.
const LOST: Abort = Abort::User;

impl Procedure for Updates {
    type Output = u64;

    fn accesses(&self, accesses: &mut Accesses) {
        for &key in &self.keys {
            accesses.push(self.table, Key::Int(key), Intent::Write);
        }
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        if self.lock_only { self.lock(txn) } else { self.update(txn) }
    }
}
