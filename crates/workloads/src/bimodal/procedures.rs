//! The transaction: it reads rows of its group's tables, and increments the counters of others.

use super::schema::COUNTER;
use hotrow_storage::{Key, TableId};
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction, Write};

/// An operation on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The row's table.
    pub table: TableId,
    /// The row's key.
    pub key: i64,
    /// Whether the operation reads the row, or increments its counter.
    pub intent: Intent,
}

/// A transaction: operations on different rows, table after table. Running it returns a checksum of the counters that
/// it read.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    list: Vec<Operation>,
}

impl Operations {
    /// Returns the operations, in order.
    pub fn list(&self) -> &[Operation] {
        &self.list
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn push(&mut self, operation: Operation) {
        self.list.push(operation);
    }

    pub(super) fn has(&self, table: TableId, key: u64) -> bool {
        self.list.iter().any(|operation| (operation.table, operation.key) == (table, key as i64))
    }
}

impl Procedure for Operations {
    type Output = u64;

    fn accesses(&self, accesses: &mut Accesses) {
        for operation in &self.list {
            accesses.push(operation.table, Key::Int(operation.key), operation.intent);
        }
    }

    fn read_only(&self) -> bool {
        self.list.iter().all(|operation| operation.intent == Intent::Read)
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        let mut checksum = 0_u64;
        for &Operation { table, key, intent } in &self.list {
            let key = Key::Int(key);
            let counter = match intent {
                Intent::Read => txn.read(table, &key)?.map(|row| row.int8(COUNTER)),
                Intent::Write => {
                    let mut before = 0;
                    let written = txn.update(table, &key, &mut |row| {
                        before = row.as_ref().int8(COUNTER);
                        row.set_int8(COUNTER, before + 1);
                        Ok(())
                    })?;
                    (written == Write::Done).then_some(before)
                }
            };
            // No transaction deletes rows, so a missing row was lost.
            checksum = checksum.wrapping_add(counter.ok_or(Abort::User)? as u64);
        }
        Ok(checksum)
    }
}
