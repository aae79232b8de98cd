//! The catalog: the names and definitions of tables, views and procedures, and the engine's number of each table.
//!
//! A [`Table`] is a definition that never changes. DDL makes another definition, and with it another table of the
//! engine, in the transaction's own [`Changes`]; all transactions see the changes once it has committed. The catalog's
//! version goes up with every such commit, and a plan that was made at another version is made again.
//!
//! The catalog keeps definitions as syntax. It may hold the binder's result beside a definition, but cannot read it.
//!
//! | file | what |
//! | --- | --- |
//! | `definitions` | all definitions by their names, and what a transaction has changed of them |
//! | `table` | tables |
//! | `expression` | DEFAULT and CHECK |
//! | `foreign_key` | foreign keys |
//! | `procedure`, `sequence`, `view` | procedures, sequences, views |
//! | `search_path` | which relation a name means |
//! | `expected` | how many rows a table is expected to have |
//! | `used` | the definitions that a plan was made from |

mod definitions;
pub mod expected;
mod expression;
pub mod foreign_key;
pub mod procedure;
pub mod search_path;
pub mod sequence;
mod table;
mod used;
pub mod view;

pub use definitions::{Catalog, Changes, View};
pub use expression::{Check, Condition, DefaultSource, DefaultValue, Written};
pub(crate) use table::column_of;
pub use table::{Comments, HIDDEN, Part, Rules, Table, describe, rename_comment};
pub use used::Used;
