//! The check that four sums agree: those of the accounts' balances, the tellers' balances, the branches' balances, and
//! the history's amounts.

use super::Client;
use super::schema::{Tables, account, branch, entry, teller};
use crate::Violation;
use crate::visit::visit_tables;
use hotrow_txn::{Engine, number_of};

/// The four sums that must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    accounts: i64,
    tellers: i64,
    branches: i64,
    history: i64,
}

pub(super) fn check(engine: &dyn Engine, tables: Tables, clients: &[Client]) -> Result<(), Violation> {
    let Tables { branches, tellers, accounts, history } = tables;
    let mut sums = Sums::default();
    let mut entries = 0;
    visit_tables(engine, &[branches, tellers, accounts, history], |table, row| {
        let int4 = |column| i64::from(row.int4(column));
        if table == branches {
            sums.branches += int4(branch::BALANCE);
        } else if table == tellers {
            sums.tellers += int4(teller::BALANCE);
        } else if table == accounts {
            sums.accounts += int4(account::BALANCE);
        } else {
            sums.history += int4(entry::DELTA);
            entries += 1;
        }
    })?;
    let committed: u64 = clients.iter().map(Client::committed).sum();
    if entries != committed {
        let (rows, transactions) = (number_of(entries, "row"), number_of(committed, "transaction"));
        return Err(Violation::Corruption(format!("the history has {rows}, but {transactions} committed")));
    }
    let deposited: i64 = clients.iter().map(Client::deposited).sum();
    let expected = Sums { accounts: deposited, tellers: deposited, branches: deposited, history: deposited };
    let what = || format!("{deposited} was deposited in total, but the sums are {sums:?}");
    if sums == expected {
        Ok(())
    } else if sums.history == deposited {
        Err(Violation::Anomaly(what()))
    } else {
        Err(Violation::Corruption(what()))
    }
}
