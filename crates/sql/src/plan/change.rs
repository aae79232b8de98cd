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
    /// Into this table.
    pub table: Arc<Table>,
    /// The rows: one column for each of `targets`.
    pub source: Source,
    /// The table's columns that the source fills; the others take their defaults.
    pub targets: Vec<usize>,
    /// The defaults of the table's columns.
    pub defaults: Vec<Option<Expr>>,
    /// The conditions that the table has for its rows.
    pub checks: Vec<BoundCheck>,
    /// What to do about a row that is in the way.
    pub on_conflict: OnConflict,
    /// What to answer with, over the new row.
    pub returning: Option<Vec<Expr>>,
    /// What it has to do with foreign keys; none if nothing.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// What an INSERT does about a row that has its new row's key already.
#[derive(Debug)]
pub enum OnConflict {
    /// It fails.
    Fail,
    /// DO NOTHING: on any unique index, or on this one.
    Skip(Option<IndexRef>),
    /// DO UPDATE, on this index: changes the row that is there. Columns after the table's own are those of the row that
    /// was to be inserted.
    Update(IndexRef, Box<Update>),
}

/// Where an INSERT's rows come from.
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
    /// If the rows and values come from a query: its rows have the key of the row to change, then what `assignments`
    /// and `returning` look at after the table's own columns.
    pub source: Option<Box<Node>>,
    /// What to answer with, over the new row.
    pub returning: Option<Vec<Expr>>,
    /// What it has to do with foreign keys; none if nothing.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// DELETE
#[derive(Debug)]
pub struct Delete {
    /// The rows to delete.
    pub access: Access,
    /// If they come from a query: its rows have the key of the row to delete, then what `returning` looks at after the
    /// table's own columns.
    pub source: Option<Box<Node>>,
    /// What to answer with, over the old row.
    pub returning: Option<Vec<Expr>>,
    /// What it has to do with foreign keys; none if nothing.
    pub foreign_keys: Option<Arc<Graph>>,
}
