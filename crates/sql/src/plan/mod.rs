//! Plans, which the binder makes and the executor runs.
//!
//! A query is a tree of [`Node`]s. Rows are pushed from the leaves to the root, one at a time. A node that needs all of
//! its input before its first row (sort, aggregate) stores its input.
//!
//! While a table is scanned, the transaction is in use and cannot run anything else. So an operator that uses the
//! transaction for each row of its input needs an input whose rows are stored. A nested loop stores the wanted columns
//! of its outer side. Any other operator whose expressions have subqueries has a [`Node::Materialise`] as its input. So
//! no subquery is part of an [`Access`].
//!
//! | file | contents |
//! | --- | --- |
//! | `statement` | plans of statements |
//! | `change` | INSERT, UPDATE, DELETE, MERGE; changes by INSTEAD OF triggers |
//! | `node` | operators |
//! | `access` | scans of tables |
//! | `aggregate`, `window`, `table_function` | calls of aggregate, window and set-returning functions |
//! | `subquery` | the plans of subqueries in expressions |
//! | `procedure` | CALL, and the bodies of procedures and functions |
//! | `foreign_keys`, `deferred` | checks and actions for foreign keys, immediate and deferred; triggers |
//! | `triggers` | the frames of triggers' functions |
//! | `analysis`, `measured` | EXPLAIN ANALYZE, and the counters of its operators |

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
pub mod triggers;
pub mod window;

pub use access::{Access, List, Path, Range};
pub use aggregate::{AggregateCall, AggregateFunction, AggregateOrder, OrderedSet};
pub use analysis::Analysis;
pub use change::{Delete, Insert, Instead, Merge, MergeAction, MergeClause, OnConflict, Source, Update};
pub use foreign_keys::{Change, ChangePlan, Firing, Graph, Keys, Reference, Referred, Triggers};
pub use node::{GroupingSets, HashJoin, JoinKey, JoinKind, Match, NestedLoop, Node, Recursive, SortKey};
pub use procedure::{
    Body, BodyLink, Call, Callee, ComputedStatement, Executed, Planned, PlannedStatement, PlannedValue, Slots, Step,
    StepKind, Target,
};
pub use statement::{
    CreateAs, Declare, Plan, Statement, changes_in_with, only_reads_itself, read_only_violation, writing,
};
