//! The transaction: a deposit, or a withdrawal.

use super::schema::{Tables, account, branch, entry, history, teller};
use crate::time::now_us;
use hotrow_storage::{Key, Row, RowLayout, RowMut, TableId, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction, Write};

/// The number of history rows that one worker may insert before their numbers reach those of another worker.
const ROW_IDS_PER_WORKER: i64 = 1 << 40;

/// Changes the balances of an account, its teller and its branch by the same amount, and records that in the history.
/// Returns the account's new balance.
#[derive(Debug)]
pub struct Deposit {
    tables: Tables,
    account: i32,
    teller: i32,
    branch: i32,
    delta: i32,
    row_id: i64,
    entry: Row,
}

impl Deposit {
    /// Makes the deposits of one worker. The numbers of their history rows differ from those of other workers' rows,
    /// and from those of rows that SQL inserts, which begin at one.
    pub(super) fn new(tables: Tables, worker: u32) -> Self {
        let mut entry = Row::new(&Arc::new(RowLayout::new(&history().columns)));
        entry.change(|row| row.set(entry::FILLER, &Value::Null));
        let row_id = (i64::from(worker) + 1) * ROW_IDS_PER_WORKER;
        Self { tables, account: 0, teller: 0, branch: 0, delta: 0, row_id, entry }
    }

    /// Sets the parameters of the next deposit.
    pub(super) fn set(&mut self, account: i32, teller: i32, branch: i32, delta: i32) {
        (self.account, self.teller, self.branch, self.delta) = (account, teller, branch, delta);
        self.row_id += 1;
        let row_id = self.row_id;
        self.entry.change(|row| {
            row.set_int4(entry::TELLER, teller);
            row.set_int4(entry::BRANCH, branch);
            row.set_int4(entry::ACCOUNT, account);
            row.set_int4(entry::DELTA, delta);
            row.set(entry::TIME, &Value::Timestamp(now_us()));
            row.set_int8(entry::ROW_ID, row_id);
        });
    }

    /// Returns the number of the account.
    pub fn account(&self) -> i32 {
        self.account
    }

    /// Returns the number of the teller.
    pub fn teller(&self) -> i32 {
        self.teller
    }

    /// Returns the number of the branch.
    pub fn branch(&self) -> i32 {
        self.branch
    }

    /// Returns the amount that is added to each balance.
    pub fn delta(&self) -> i32 {
        self.delta
    }

    fn add_to<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        table: TableId,
        key: i32,
        balance: usize,
    ) -> Result<i32, Abort> {
        let mut after = 0;
        let mut add = |row: &mut RowMut<'_>| {
            after = row.as_ref().int4(balance).checked_add(self.delta).ok_or(Abort::User)?;
            row.set_int4(balance, after);
            Ok(())
        };
        match txn.update(table, &Key::Int(i64::from(key)), &mut add)? {
            Write::Done => Ok(after),
            // No transaction deletes accounts, tellers or branches, so a missing one was lost.
            Write::Absent | Write::Duplicate(_) => Err(Abort::User),
        }
    }
}

impl Procedure for Deposit {
    type Output = i32;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(self.tables.accounts, Key::Int(i64::from(self.account)), Intent::Write);
        accesses.push(self.tables.tellers, Key::Int(i64::from(self.teller)), Intent::Write);
        accesses.push(self.tables.branches, Key::Int(i64::from(self.branch)), Intent::Write);
        accesses.push(self.tables.history, Key::Int(self.row_id), Intent::Write);
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i32, Abort> {
        self.add_to(txn, self.tables.accounts, self.account, account::BALANCE)?;
        let key = Key::Int(i64::from(self.account));
        let balance = txn.read(self.tables.accounts, &key)?.ok_or(Abort::User)?.int4(account::BALANCE);
        self.add_to(txn, self.tables.tellers, self.teller, teller::BALANCE)?;
        self.add_to(txn, self.tables.branches, self.branch, branch::BALANCE)?;
        match txn.insert(self.tables.history, self.entry.as_ref())? {
            Write::Done => Ok(balance),
            Write::Absent | Write::Duplicate(_) => Err(Abort::User),
        }
    }
}
