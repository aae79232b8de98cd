//! INSERT, UPDATE and DELETE.

use super::access::Access;
use super::foreign_keys::Graph;
use super::node::Node;
use crate::catalog::Table;
use crate::expr::{BoundCheck, Expr};
use hotrow_storage::IndexRef;
use hotrow_sync::Arc;

/// INSERT
#[derive(Debug)]
pub struct Insert {
    /// The table that gets the rows.
    pub table: Arc<Table>,
    /// The rows: one column for each of `targets`.
    pub source: Source,
    /// The table's columns that the source fills; the others take their defaults.
    pub targets: Vec<usize>,
    /// The defaults of the table's columns.
    pub defaults: Vec<Option<Expr>>,
    /// The conditions that the table has for its rows.
    pub checks: Vec<BoundCheck>,
    /// The action if a row with the same key exists.
    pub on_conflict: OnConflict,
    /// RETURNING: the result's columns, over the new row.
    pub returning: Option<Vec<Expr>>,
    /// The foreign keys that concern the INSERT; none if no key does.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// The action of an INSERT if a row with the new row's key exists.
#[derive(Debug)]
pub enum OnConflict {
    /// The INSERT fails with 23505.
    Fail,
    /// DO NOTHING: the new row is skipped if it conflicts in any unique index, or in the given one.
    Skip(Option<IndexRef>),
    /// DO UPDATE: the present row is changed if the new row conflicts in this index. After the table's own columns, the
    /// expressions see those of the new row.
    Update(IndexRef, Box<Update>),
}

/// The source of an INSERT's rows.
#[derive(Debug)]
pub enum Source {
    /// VALUES; `None` is DEFAULT.
    Rows(Vec<Vec<Option<Expr>>>),
    /// A query.
    Query(Node),
}

/// UPDATE
#[derive(Debug)]
pub struct Update {
    /// The rows to change.
    pub access: Access,
    /// New values by column, over the old row.
    pub assignments: Vec<(usize, Expr)>,
    /// The conditions that the table has for its rows.
    pub checks: Vec<BoundCheck>,
    /// Whether a column of the primary key changes.
    pub moves: bool,
    /// The query of the rows to change, if they come from one. Its rows have the key of the row to change, then the
    /// values that `assignments` and `returning` refer to after the table's own columns.
    pub source: Option<Box<Node>>,
    /// RETURNING: the result's columns, over the new row.
    pub returning: Option<Vec<Expr>>,
    /// The foreign keys that concern the UPDATE; none if no key does.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// DELETE
#[derive(Debug)]
pub struct Delete {
    /// The rows to delete.
    pub access: Access,
    /// The query of the rows to delete, if they come from one. Its rows have the key of the row to delete, then the
    /// values that `returning` refers to after the table's own columns.
    pub source: Option<Box<Node>>,
    /// RETURNING: the result's columns, over the old row.
    pub returning: Option<Vec<Expr>>,
    /// The foreign keys that concern the DELETE; none if no key does.
    pub foreign_keys: Option<Arc<Graph>>,
}
