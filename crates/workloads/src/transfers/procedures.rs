//! The transaction: a transfer between two accounts.

use super::{BALANCE, COUNTER};
use hotrow_storage::{Key, TableId};
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction, Write};

/// Moves an amount from one account to another if the balance of the first one suffices, and otherwise changes nothing.
/// Returns whether it has moved the amount.
///
/// Both accounts are read for update in the order of their numbers, so that two transfers cannot deadlock.
#[derive(Clone, Debug)]
pub struct Transfer {
    table: TableId,
    source: i32,
    target: i32,
    amount: i64,
}

impl Transfer {
    pub(super) fn new(table: TableId, amount: i64) -> Self {
        Self { table, source: 0, target: 0, amount }
    }

    /// Sets the two accounts of the next transfer, which differ.
    pub(super) fn set(&mut self, source: i32, target: i32) {
        debug_assert_ne!(source, target, "a transfer is between two accounts");
        (self.source, self.target) = (source, target);
    }

    /// Returns the number of the account whose balance decreases.
    pub fn source(&self) -> i32 {
        self.source
    }

    /// Returns the number of the account whose balance increases.
    pub fn target(&self) -> i32 {
        self.target
    }

    /// Returns the amount, which is positive.
    pub fn amount(&self) -> i64 {
        self.amount
    }

    /// Reads the balance of an account that the transfer is about to change.
    fn balance<T: Transaction + ?Sized>(&self, txn: &mut T, account: i32) -> Result<i64, Abort> {
        let row = txn.read_for_update(self.table, &Key::Int(i64::from(account)))?;
        Ok(row.ok_or(LOST)?.int8(BALANCE))
    }

    /// Adds an amount, which may be negative, to the balance of an account.
    fn add<T: Transaction + ?Sized>(&self, txn: &mut T, account: i32, amount: i64) -> Result<(), Abort> {
        let written = txn.update(self.table, &Key::Int(i64::from(account)), &mut |row| {
            let (balance, counter) = (row.as_ref().int8(BALANCE), row.as_ref().int8(COUNTER));
            row.set_int8(BALANCE, balance + amount);
            row.set_int8(COUNTER, counter + 1);
            Ok(())
        })?;
        if written == Write::Done { Ok(()) } else { Err(LOST) }
    }
}

/// The abort for a missing account. No transaction deletes accounts, so it was lost.
const LOST: Abort = Abort::User;

impl Procedure for Transfer {
    type Output = bool;

    fn accesses(&self, accesses: &mut Accesses) {
        for account in [self.source, self.target] {
            accesses.push(self.table, Key::Int(i64::from(account)), Intent::Write);
        }
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<bool, Abort> {
        let funds = if self.source < self.target {
            let funds = self.balance(txn, self.source)?;
            self.balance(txn, self.target)?;
            funds
        } else {
            self.balance(txn, self.target)?;
            self.balance(txn, self.source)?
        };
        if funds < self.amount {
            return Ok(false);
        }
        self.add(txn, self.source, -self.amount)?;
        self.add(txn, self.target, self.amount)?;
        Ok(true)
    }
}
