//! The transaction: it reads some of the newest rows, and appends others.

use super::schema::{AMOUNT, CLIENT, KEY, Tables, roving};
use hotrow_storage::{Key, Row, RowLayout, TableId};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction, Write};

/// Reads some rows, then appends others. Returns the sum of the amounts that it read, and how many rows it found.
#[derive(Debug)]
pub struct Append {
    table: TableId,
    reads: Vec<i64>,
    /// The keys of the appended rows, each with the row, in ascending order.
    appends: Vec<(i64, Row)>,
    /// The number of rows that the next run appends, which is that of `appends` or zero.
    appended: usize,
}

impl Append {
    /// Makes the transactions of one client, which append `appends` rows each, or none.
    pub(super) fn new(tables: Tables, client: u32, appends: usize) -> Self {
        let layout = Arc::new(RowLayout::new(&roving().columns));
        let mut row = Row::new(&layout);
        row.change(|row| row.set_int8(CLIENT, i64::from(client)));
        Self { table: tables.history, reads: Vec::new(), appends: vec![(0, row); appends], appended: 0 }
    }

    /// Returns the keys of the rows that the transaction reads, in order.
    pub fn reads(&self) -> &[i64] {
        &self.reads
    }

    /// Returns the keys of the rows that the transaction appends, in order.
    pub fn appends(&self) -> impl Iterator<Item = i64> + '_ {
        self.appends[..self.appended].iter().map(|(key, _)| *key)
    }

    /// Removes all reads and appends.
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.appended = 0;
    }

    pub(super) fn push_read(&mut self, key: u64) {
        self.reads.push(key as i64);
    }

    /// Has the transaction append its rows with keys from `first` on. Each row has the amount `amount`.
    pub(super) fn append(&mut self, first: u64, amount: i64) {
        for ((key, row), number) in self.appends.iter_mut().zip(first as i64..) {
            *key = number;
            row.change(|row| {
                row.set_int8(KEY, number);
                row.set_int8(AMOUNT, amount);
            });
        }
        self.appended = self.appends.len();
    }
}

impl Procedure for Append {
    type Output = (i64, usize);

    fn accesses(&self, accesses: &mut Accesses) {
        for &key in &self.reads {
            accesses.push(self.table, Key::Int(key), Intent::Read);
        }
        for key in self.appends() {
            accesses.push(self.table, Key::Int(key), Intent::Write);
        }
    }

    fn read_only(&self) -> bool {
        self.appended == 0
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<(i64, usize), Abort> {
        let (mut sum, mut found) = (0_i64, 0);
        for &key in &self.reads {
            // A row is absent if the transaction that has its key has not committed yet.
            if let Some(row) = txn.read(self.table, &Key::Int(key))? {
                sum = sum.wrapping_add(row.int8(AMOUNT));
                found += 1;
            }
        }
        for (_, row) in &self.appends[..self.appended] {
            if txn.insert(self.table, row.as_ref())? != Write::Done {
                return Err(Abort::User);
            }
        }
        Ok((sum, found))
    }
}
