//! INSERT, UPDATE, DELETE and MERGE, and the changes of views that INSTEAD OF triggers make.

use super::access::Access;
use super::foreign_keys::{Graph, Triggers};
use super::node::Node;
use crate::catalog::Table;
use crate::expr::{Expr, RowRules, ViewCheck};
use crate::parse::trigger::TriggerEvent;
use hotrow_storage::IndexRef;
use hotrow_sync::Arc;

/// The plan of an INSERT.
#[derive(Debug)]
pub struct Insert {
    /// The table that gets the rows.
    pub table: Arc<Table>,
    /// The source of the rows. Its columns correspond to `targets`, in the same order.
    pub source: Source,
    /// The positions of the table's columns for which the source has values. The other columns get their defaults.
    pub targets: Vec<usize>,
    /// The bound default of each column of the table; `None` if the column has none.
    pub defaults: Vec<Option<Expr>>,
    /// The columns that the new rows compute, and the CHECK constraints that they must satisfy.
    pub rules: RowRules,
    /// The action if a row with the same key exists.
    pub on_conflict: OnConflict,
    /// RETURNING: the result's columns, as expressions over the new row.
    pub returning: Option<Vec<Expr>>,
    /// The checks and actions for foreign keys, and the triggers; `None` if the INSERT needs neither.
    pub consequences: Option<Arc<Graph>>,
}

impl Insert {
    /// Makes the plan of an INSERT into the first columns of a new table, which has no defaults and no constraints. The
    /// rows come from the caller, so the source is empty.
    pub(crate) fn plain(table: Arc<Table>, columns: usize) -> Self {
        Self {
            table,
            source: Source::Rows(Vec::new()),
            targets: (0..columns).collect(),
            defaults: Vec::new(),
            rules: RowRules::default(),
            on_conflict: OnConflict::Fail,
            returning: None,
            consequences: None,
        }
    }
}

/// The action of an INSERT if a row with the new row's key exists.
#[derive(Debug)]
pub enum OnConflict {
    /// The INSERT fails with 23505.
    Fail,
    /// DO NOTHING: the new row is skipped if it conflicts in any unique index, or in the given one.
    Skip(Option<IndexRef>),
    /// DO UPDATE: the existing row is updated if the new row conflicts with it in this index. The expressions of the
    /// update refer to the columns of the existing row, followed by those of the new row.
    Update(IndexRef, Box<Update>),
}

/// The source of an INSERT's rows.
#[derive(Debug)]
pub enum Source {
    /// The rows of VALUES. `None` stands for DEFAULT.
    Rows(Vec<Vec<Option<Expr>>>),
    /// The rows of a query.
    Query(Node),
}

/// The plan of an UPDATE.
#[derive(Debug)]
pub struct Update {
    /// The rows to change.
    pub access: Access,
    /// The columns that change, by position, with their new values as expressions over the old row.
    pub assignments: Vec<(usize, Expr)>,
    /// The columns that the changed rows compute again, and the CHECK constraints that they must satisfy.
    pub rules: RowRules,
    /// Whether a column of the primary key changes, so that the row is deleted and inserted under its new key.
    pub moves: bool,
    /// The query that finds the rows to change, if they depend on other FROM items; `None` otherwise. Then `access`
    /// looks up each row by its key. A row of the query consists of the key of the row to change, and then of the
    /// values to which `assignments` and `returning` refer as columns after the table's own.
    pub source: Option<Box<Node>>,
    /// Whether a function that the statement calls may meanwhile change the rows that the statement is to change. If
    /// so, the last values of each row of `source` are all columns of the row to change, as the query has read them.
    /// The statement fails if the row differs by then.
    pub rechecks: bool,
    /// RETURNING: the result's columns, as expressions over the new row.
    pub returning: Option<Vec<Expr>>,
    /// The checks and actions for foreign keys, and the triggers; `None` if the UPDATE needs neither.
    pub consequences: Option<Arc<Graph>>,
}

impl Update {
    /// Returns the positions of the columns that change: those of the assignments, and those that are computed from
    /// them.
    pub fn changed(&self) -> impl Iterator<Item = usize> {
        self.rules.changed(&self.assignments)
    }
}

/// The plan of a DELETE.
#[derive(Debug)]
pub struct Delete {
    /// The rows to delete.
    pub access: Access,
    /// The query that finds the rows to delete, if they depend on other FROM items; `None` otherwise. Then `access`
    /// looks up each row by its key. A row of the query consists of the key of the row to delete, and then of the
    /// values to which `returning` refers as columns after the table's own.
    pub source: Option<Box<Node>>,
    /// Whether a function that the statement calls may meanwhile change the rows that the statement is to change. If
    /// so, the last values of each row of `source` are all columns of the row to change, as the query has read them.
    /// The statement fails if the row differs by then.
    pub rechecks: bool,
    /// RETURNING: the result's columns, as expressions over the deleted row.
    pub returning: Option<Vec<Expr>>,
    /// The checks and actions for foreign keys, and the triggers; `None` if the DELETE needs neither.
    pub consequences: Option<Arc<Graph>>,
}

/// The plan of a MERGE.
#[derive(Debug)]
pub struct Merge {
    /// The table that changes.
    pub table: Arc<Table>,
    /// The query that joins the source with the table. Each of its rows has the key of the table's row, the columns of
    /// the table, and those of the source. If no row of the table matches, the key and the columns of the table are
    /// NULL.
    pub source: Node,
    /// The clauses, in the order in which they are tried. Their expressions refer to the columns of the table, followed
    /// by those of the source.
    pub clauses: Vec<MergeClause>,
    /// The checks and actions for foreign keys, and the triggers, of all clauses; `None` if the MERGE needs neither.
    pub consequences: Option<Arc<Graph>>,
    /// Whether a function that the statement calls, or a trigger, may meanwhile change the rows that the MERGE is to
    /// change. If so, the statement fails when such a row differs from the one that the query has read.
    pub rechecks: bool,
}

/// A WHEN clause of a MERGE.
#[derive(Debug)]
pub struct MergeClause {
    /// Whether the clause is for the rows of the source that match a row of the table (WHEN MATCHED), not for the
    /// others.
    pub matched: bool,
    /// The condition after AND; `None` if there is none.
    pub condition: Option<Expr>,
    /// The action after THEN.
    pub action: MergeAction,
}

/// The action of a clause of MERGE.
#[derive(Debug)]
pub enum MergeAction {
    /// DO NOTHING: the row changes nothing, not by a later clause either.
    Nothing,
    /// UPDATE of the row that matches.
    Update(Update),
    /// DELETE of the row that matches.
    Delete(Delete),
    /// INSERT, with the value of each of its targets. `None` stands for DEFAULT.
    Insert(Insert, Vec<Option<Expr>>),
}

/// The plan of an INSERT, UPDATE or DELETE of a view whose INSTEAD OF triggers make the change.
#[derive(Debug)]
pub struct Instead {
    /// The triggers of the view. Their table is the view's [shape](crate::catalog::view::StoredView::shape).
    pub triggers: Arc<Triggers>,
    /// The kind of the change.
    pub event: TriggerEvent,
    /// The query for the rows that change. A row of it consists of the columns of the view, and then of the values to
    /// which `assignments` and `returning` refer as columns after the view's own. For an INSERT, the columns are those
    /// of the new row, and for other changes those of the present one.
    pub source: Node,
    /// The columns that an UPDATE sets, by position, with their new values.
    pub assignments: Vec<(usize, Expr)>,
    /// The conditions that a new row must satisfy when the triggers have run, because of the check options of views.
    pub checks: Vec<ViewCheck>,
    /// RETURNING: the result's columns, as expressions over the row that the triggers return, or over the deleted one.
    pub returning: Option<Vec<Expr>>,
}
