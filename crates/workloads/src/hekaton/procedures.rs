//! The transactions: short ones read some rows and write others, long ones only read.

use super::{AMOUNT, COUNTER};
use hotrow_storage::{Key, TableId};
use hotrow_txn::{Abort, Accesses, Intent, Isolation, Procedure, Transaction, Write};
use std::ops::Range;

/// Reads some rows, then moves amounts between others. Returns a checksum of the rows that it read.
#[derive(Clone, Debug)]
pub struct Operations {
    table: TableId,
    reads: Vec<i64>,
    /// The keys of the rows to write, each with the number that is added to the row's amount. These numbers add up to
    /// zero.
    writes: Vec<(i64, i64)>,
}

impl Operations {
    pub(super) fn new(table: TableId) -> Self {
        Self { table, reads: Vec::new(), writes: Vec::new() }
    }

    /// Returns the keys of the rows that the transaction reads, in order.
    pub fn reads(&self) -> &[i64] {
        &self.reads
    }

    /// Returns the keys of the rows that the transaction then writes, in order, each with the number that is added to
    /// the row's amount.
    pub fn writes(&self) -> &[(i64, i64)] {
        &self.writes
    }

    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }

    pub(super) fn push_read(&mut self, key: u64) {
        self.reads.push(key as i64);
    }

    pub(super) fn push_write(&mut self, key: u64, amount: i64) {
        self.writes.push((key as i64, amount));
    }

    pub(super) fn has(&self, key: u64) -> bool {
        self.reads.contains(&(key as i64)) || self.writes.iter().any(|write| write.0 == key as i64)
    }
}

impl Procedure for Operations {
    type Output = u64;

    fn accesses(&self, accesses: &mut Accesses) {
        for &key in &self.reads {
            accesses.push(self.table, Key::Int(key), Intent::Read);
        }
        for &(key, _) in &self.writes {
            accesses.push(self.table, Key::Int(key), Intent::Write);
        }
    }

    fn read_only(&self) -> bool {
        self.writes.is_empty()
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut checksum = 0_u64;
        for &key in &self.reads {
            checksum = checksum.wrapping_add(read_amount(txn, self.table, key)? as u64);
        }
        for &(key, amount) in &self.writes {
            let written = txn.update(self.table, &Key::Int(key), &mut |row| {
                let (before, updates) = (row.as_ref().int8(AMOUNT), row.as_ref().int8(COUNTER));
                row.set_int8(AMOUNT, before.wrapping_add(amount));
                row.set_int8(COUNTER, updates + 1);
                Ok(())
            })?;
            if written != Write::Done {
                return Err(Abort::User);
            }
        }
        Ok(checksum)
    }
}

/// Reads all rows of a block. Returns the sum of their amounts.
#[derive(Clone, Debug)]
pub struct LongRead {
    table: TableId,
    keys: Range<i64>,
    isolation: Isolation,
}

impl LongRead {
    pub(super) fn new(table: TableId, keys: &Range<u64>, isolation: Isolation) -> Self {
        Self { table, keys: keys.start as i64..keys.end as i64, isolation }
    }
}

impl Procedure for LongRead {
    type Output = i64;

    fn accesses(&self, accesses: &mut Accesses) {
        for key in self.keys.clone() {
            accesses.push(self.table, Key::Int(key), Intent::Read);
        }
    }

    fn read_only(&self) -> bool {
        true
    }

    fn isolation(&self) -> Option<Isolation> {
        Some(self.isolation)
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i64, Abort> {
        let mut sum = 0_i64;
        for key in self.keys.clone() {
            sum = sum.wrapping_add(read_amount(txn, self.table, key)?);
        }
        Ok(sum)
    }
}

/// Reads the amount of a row. No transaction deletes rows, so a missing row was lost.
#[inline]
fn read_amount<T: Transaction + ?Sized>(txn: &mut T, table: TableId, key: i64) -> Result<i64, Abort> {
    Ok(txn.read(table, &Key::Int(key))?.ok_or(Abort::User)?.int8(AMOUNT))
}
