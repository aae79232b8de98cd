//! The transaction: operations on different rows.

use super::schema::field_bytes;
use super::{COUNTER, FIELDS};
use crate::checksum::sum;
use hotrow_storage::{Key, RowMut, RowRef, TableId};
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction, Write};

/// An operation on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The row's key.
    pub key: i64,
    /// Whether the operation only reads the row ([`Intent::Read`]), or reads, modifies and writes it
    /// ([`Intent::Write`]).
    pub intent: Intent,
    /// The value column that a write replaces, from zero.
    pub field: u16,
}

/// A transaction: some operations, and the value that its writes store. Running it returns a checksum of everything
/// that it read.
#[derive(Clone, Debug)]
pub struct Operations {
    table: TableId,
    fields: u16,
    list: Vec<Operation>,
    writes: u64,
    value: Vec<u8>,
}

impl Operations {
    pub(super) fn new(table: TableId, fields: u16, value_bytes: u32) -> Self {
        Self { table, fields, list: Vec::new(), writes: 0, value: vec![0; value_bytes as usize] }
    }

    /// Returns the operations, in order.
    pub fn list(&self) -> &[Operation] {
        &self.list
    }

    /// Returns the table on which the operations work.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Returns the number of value columns of a row.
    pub fn fields(&self) -> u16 {
        self.fields
    }

    /// Returns the value that a write of the column `field` stores.
    #[inline]
    pub fn value(&self, field: u16) -> &[u8] {
        &self.value[..field_bytes(field, self.value.len() as u32) as usize]
    }

    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.writes = 0;
    }

    pub(super) fn push(&mut self, operation: Operation) {
        self.writes += u64::from(operation.intent == Intent::Write);
        self.list.push(operation);
    }

    pub(super) fn has(&self, key: u64) -> bool {
        self.list.iter().any(|operation| operation.key == key as i64)
    }

    pub(super) fn list_mut(&mut self) -> &mut [Operation] {
        &mut self.list
    }

    pub(super) fn value_mut(&mut self) -> &mut [u8] {
        &mut self.value
    }
}

impl Procedure for Operations {
    type Output = u64;

    fn accesses(&self, accesses: &mut Accesses) {
        for operation in &self.list {
            accesses.push(self.table, Key::Int(operation.key), operation.intent);
        }
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut checksum = 0_u64;
        for operation in &self.list {
            let key = Key::Int(operation.key);
            let read = match operation.intent {
                Intent::Read => txn.read(self.table, &key)?.map(|row| read_row(row, self.fields)),
                Intent::Write => {
                    let mut before = 0;
                    let written = txn.update(self.table, &key, &mut |row| {
                        before = change_row(row, self.fields, operation.field, self.value(operation.field));
                        Ok(())
                    })?;
                    (written == Write::Done).then_some(before)
                }
            };
            // No transaction deletes rows, so a missing row was lost.
            checksum = checksum.wrapping_add(read.ok_or(Abort::User)?);
        }
        Ok(checksum)
    }
}

/// Reads a whole row, and returns its checksum.
#[inline]
pub fn read_row(row: RowRef<'_>, fields: u16) -> u64 {
    let mut checksum = row.int8(COUNTER) as u64;
    for field in 0..usize::from(fields) {
        checksum = checksum.wrapping_add(sum(row.bytes(FIELDS + field)));
    }
    checksum
}

/// Increments the counter of a row and replaces one value. Returns the checksum of the whole row as it was before.
#[inline]
pub fn change_row(row: &mut RowMut<'_>, fields: u16, field: u16, value: &[u8]) -> u64 {
    let before = row.as_ref();
    let counter = before.int8(COUNTER);
    let checksum = read_row(before, fields);
    row.set_int8(COUNTER, counter + 1);
    row.set_bytes(FIELDS + usize::from(field), value);
    checksum
}
