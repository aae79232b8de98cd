//! Hotrow: a main-memory OLTP database for contended data, to embed.
//!
//! The engine, which determines how transactions are isolated from each other, is chosen by name. Native procedures and
//! SQL work on the same tables:
//!
//! ```
//! use hotrow::storage::{Key, TableId, Value};
//! use hotrow::txn::{Abort, Accesses, Intent, Procedure, Runner, Transaction};
//! use hotrow::{Database, Options, Rows};
//!
//! /// Adds an amount to the balance of an account; returns the new balance.
//! struct Deposit { accounts: TableId, account: i64, amount: i64 }
//!
//! impl Procedure for Deposit {
//!     type Output = i64;
//!
//!     fn accesses(&self, accesses: &mut Accesses) {
//!         accesses.push(self.accounts, Key::Int(self.account), Intent::Write);
//!     }
//!
//!     fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i64, Abort> {
//!         let mut balance = 0;
//!         txn.update(self.accounts, &Key::Int(self.account), &mut |row| {
//!             balance = row.as_ref().int8(1) + self.amount;
//!             row.set_int8(1, balance);
//!             Ok(())
//!         })?;
//!         Ok(balance)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("hotrow-example-{}", std::process::id()));
//! let options = Options { engine: "2pl-waitdie".to_owned(), ..Options::default() };
//! let database = Database::open(&folder, &options)?;
//! let mut rows = Rows::default();
//! let mut session = database.session("me");
//! session.simple_query("CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL)", &mut rows)?;
//! session.simple_query("INSERT INTO accounts VALUES (1, 100), (2, 0)", &mut rows)?;
//!
//! let accounts = database.sql().table("public", "accounts").ok_or("no such table")?;
//! assert_eq!(database.worker().run(&Deposit { accounts, account: 2, amount: 50 })?, 50);
//!
//! // The next process, or this one, finds everything as it was.
//! drop(session);
//! database.close()?;
//! let database = Database::open(&folder, &options)?;
//! let mut session = database.session("me");
//! session.simple_query("SELECT sum(balance)::bigint FROM accounts", &mut rows)?;
//! assert_eq!(rows.rows(), [[Value::Int8(150)]]);
//! # drop((session, database));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`Database`] | a database in a data directory or in memory: an engine, by its name, and SQL over it |
//! | [`open`] | an engine alone, by its name |
//! | [`txn::Procedure`] | a one-shot transaction, written once for all engines |
//! | [`runtime::Session`] | runs procedures and interactive transactions |
//! | [`sql::Database`] | tables with names, and sessions that speak SQL |
//! | [`Rows`] | the results of statements, collected |
//! | [`server::Server`] | the same database for PostgreSQL clients |
//!
//! Each module below is a separate crate; its first page says what is in it.

mod database;
mod rows;

pub use database::{Database, OpenError, Options};
pub use hotrow_bench as bench;
pub use hotrow_log as log;
pub use hotrow_protocols as protocols;
pub use hotrow_protocols::open;
pub use hotrow_runtime as runtime;
pub use hotrow_server as server;
pub use hotrow_sql as sql;
pub use hotrow_storage as storage;
pub use hotrow_sync as sync;
pub use hotrow_txn as txn;
pub use hotrow_workloads as workloads;
pub use rows::Rows;

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
