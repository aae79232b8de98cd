//! Plans, which the binder makes and the executor runs.
//!
//! A query is a tree of [`Node`]s. Rows go from the leaves to the root, pushed one at a time. A node that must see all
//! its input before its first row (sort, aggregate) keeps it.
//!
//! While a table is walked, the transaction is busy and cannot be used for anything else. So an operator that uses the
//! transaction at each row of its input needs an input whose rows are kept: a nested loop keeps the wanted columns of
//! its outer side, and any other operator whose expressions have subqueries takes its rows from a
//! [`Node::Materialise`]. So no subquery is part of an [`Access`].
//!
//! | file | what |
//! | --- | --- |
//! | `statement` | plans of statements |
//! | `change` | INSERT, UPDATE, DELETE |
//! | `node` | operators |
//! | `access` | the ways to a table's rows |
//! | `aggregate`, `window`, `table_function` | what functions over several rows, or of several rows, are asked for |
//! | `subquery` | the plans of subqueries in expressions |
//! | `procedure` | the bodies of procedures |
//! | `foreign_keys`, `deferred` | what foreign keys ask of changed rows, at once and later |
//! | `analysis`, `measured` | EXPLAIN ANALYZE, and the operators that count for it |

mod access;
mod aggregate;
mod analysis;
mod change;
pub(crate) mod deferred;
mod foreign_keys;
pub mod measured;
mod node;
mod procedure;
mod statement;
mod subquery;
pub mod table_function;
pub mod window;

pub use access::{Access, List, Path, Range};
pub use aggregate::{AggregateCall, AggregateFunction, AggregateOrder};
pub use analysis::Analysis;
pub use change::{Delete, Insert, OnConflict, Source, Update};
pub use foreign_keys::{Change, ChangePlan, Graph, Keys, Reference, Referred};
pub use node::{HashJoin, JoinKey, JoinKind, Match, NestedLoop, Node, Recursive, SortKey};
pub use procedure::{Body, Call, Step, StepKind, Target};
pub use statement::{Declare, Plan, Statement, only_reads, read_only_violation};
