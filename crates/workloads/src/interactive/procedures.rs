//! The transaction: reads, then writes, one after the other.

use super::VALUE;
use hotrow_storage::{Key, TableId};
use hotrow_txn::{Abort, Accesses, Procedure, Transaction, Write};

/// Reads some rows, then adds one to the values of others. Returns a checksum of the values that it read.
#[derive(Clone, Debug)]
pub struct Operations {
    table: TableId,
    keys: Vec<i64>,
    reads: usize,
}

impl Operations {
    pub(super) fn new(table: TableId, reads: u32) -> Self {
        Self { table, keys: Vec::new(), reads: reads as usize }
    }

    /// Returns the keys of the rows that the transaction reads, in order.
    pub fn reads(&self) -> &[i64] {
        &self.keys[..self.reads]
    }

    /// Returns the keys of the rows that the transaction then writes, in order.
    pub fn writes(&self) -> &[i64] {
        &self.keys[self.reads..]
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
}

impl Procedure for Operations {
    type Output = u64;

    /// Adds nothing: the requests of an interactive transaction come one by one.
    fn accesses(&self, _: &mut Accesses) {}

    fn read_only(&self) -> bool {
        self.writes().is_empty()
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut checksum = 0_u64;
        for &key in self.reads() {
            // No transaction deletes rows, so a missing row was lost.
            let value = txn.read(self.table, &Key::Int(key))?.ok_or(Abort::User)?.int8(VALUE);
            checksum = checksum.wrapping_add(value as u64);
        }
        for &key in self.writes() {
            let written = txn.update(self.table, &Key::Int(key), &mut |row| {
                let value = row.as_ref().int8(VALUE);
                row.set_int8(VALUE, value + 1);
                Ok(())
            })?;
            if written != Write::Done {
                return Err(Abort::User);
            }
        }
        Ok(checksum)
    }
}
