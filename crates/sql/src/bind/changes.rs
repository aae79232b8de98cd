//! WITH whose queries change rows: `WITH gone AS (DELETE … RETURNING …) INSERT …`.
//!
//! The changes run one after the other before the query around them, each to its end, and their rows are kept. But all
//! parts of a statement see the rows as they were before it, except through RETURNING. So a part that comes after a
//! change must not see what the change has done:
//!
//! - Rows that an INSERT has added are hidden from the scans of the other parts while the statement runs (see
//!   [`Unseen`](crate::expr::Unseen)).
//! - The former values of rows that were updated or deleted cannot be read any more. So a scan of a table whose rows an
//!   earlier part updates or deletes runs before the first change, and its rows are kept. If a scan cannot run so
//!   early, because it depends on rows of another table or stands in a subquery of an expression, the statement is
//!   refused.

use super::binder::Binder;
use super::query::{Bound, WithQuery, Within};
use super::select_state::SelectState;
use crate::catalog::Table;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::opaque::Opaque;
use crate::plan::{Access, Graph, Insert, Node, OnConflict, Plan};
use crate::{SqlError, state};
use hotrow_storage::TableId;
use sqlparser::ast::{self, SetExpr};

/// Returns the INSERT, UPDATE, DELETE or MERGE for which a query stands, or `None` for a real query. The parser wraps
/// such a statement in a query if WITH precedes it, or if it stands in WITH.
pub(super) fn change(query: &ast::Query) -> Option<&ast::Statement> {
    match &*query.body {
        SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change) => {
            Some(change)
        }
        _ => None,
    }
}

impl Binder<'_> {
    /// Binds an INSERT, UPDATE or DELETE in WITH, and adds the tables whose rows it updates or deletes to the changed
    /// ones.
    pub(super) fn change_in_with(&mut self, query: &ast::Query, change: &ast::Statement) -> Result<Bound, SqlError> {
        let select = std::mem::replace(&mut self.select, SelectState::new("this context"));
        let changes_rows = self.changes_rows;
        let bound = self.change_with(query, change);
        (self.select, self.changes_rows) = (select, changes_rows);
        let (plan, columns) = bound?;
        let columns = columns.unwrap_or_default();
        self.depends.used.calls.writes = true;
        self.counts.changed.extend(altered_tables(&plan));
        let loose = vec![false; columns.len()];
        Ok(Bound { node: Node::Change(Opaque::new(plan)), columns, loose })
    }

    /// Whether a query of WITH that precedes the part that is bound changes rows.
    pub(super) fn follows_change(&self) -> bool {
        self.around.named.iter().any(WithQuery::changes)
    }

    /// Counts a scan of a table whose rows an earlier query of WITH updates or deletes. Scans of other tables do not
    /// count.
    pub(super) fn scans(&mut self, table: &Table) {
        if self.counts.changed.contains(&table.id) {
            self.counts.early_scans += 1;
        }
    }

    /// Ends the scope of the queries of a WITH clause that changes rows, from position `first` on, around the query
    /// `node`. Returns the plan that runs the early scans, the queries, and then `node`.
    ///
    /// # Errors
    /// 0A000 if a scan must run early and cannot.
    pub(super) fn end_with_changes(&mut self, first: usize, mut node: Node) -> Result<Node, SqlError> {
        let queries: Vec<_> = self.around.named.drain(first..).collect();
        let (mut early, mut kept, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for query in queries {
            let is_kept = query.references > 0 || query.changes();
            let Some(mut plan) = query.plan.filter(|_| is_kept) else {
                self.counts.early_scans -= query.early_scans;
                continue;
            };
            match &mut plan {
                Node::Change(change) => {
                    let Some(change) = change.get_mut::<Plan>() else { continue };
                    if let Some(source) = change.query_mut() {
                        self.scan_early(source, &changed, &mut early);
                    }
                    changed.extend(altered_tables(change));
                }
                plan => self.scan_early(plan, &changed, &mut early),
            }
            kept.push((query.rows, plan));
        }
        self.scan_early(&mut node, &changed, &mut early);
        if early.len() < self.counts.early_scans {
            return Err(unsupported("a part of a statement that looks for rows of a table that WITH changes")
                .detail("The part would have to see the rows as they were before the statement.")
                .hint("Use two statements in a block, or have the rows returned by the change."));
        }
        (self.counts.early_scans, self.counts.changed) = (0, Vec::new());
        early.append(&mut kept);
        Ok(Node::With(early, Box::new(node)))
    }

    /// Moves the scans of the `changed` tables from a query to `early`, and replaces each by a reference to its kept
    /// rows. A scan that depends on a row around it stays.
    fn scan_early(&mut self, node: &mut Node, changed: &[TableId], early: &mut Vec<(usize, Node)>) {
        if let Node::Table(access) = node {
            if !changed.contains(&access.table.id) || looks_around(access) {
                return;
            }
            let rows = self.counts.new_frame();
            let columns = (0..access.table.schema.columns.len()).map(Expr::Column).collect();
            let scan = std::mem::replace(node, Node::Reference(rows));
            early.push((rows, Node::Project(Box::new(scan), columns)));
            return;
        }
        node.each_input_mut(&mut |input| self.scan_early(input, changed, early));
    }
}

impl WithQuery {
    /// Whether the query changes rows.
    pub(super) fn changes(&self) -> bool {
        self.plan.as_ref().is_some_and(Node::is_change)
    }

    /// Returns an error if the query changes rows and returns none.
    pub(super) fn check_returning(&self) -> Result<(), SqlError> {
        if !self.changes() || !self.columns.is_empty() {
            return Ok(());
        }
        let message = format!("WITH query \"{}\" does not have a RETURNING clause", self.name);
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
    }

    /// Makes the entry for a query of WITH that is bound, whose rows are kept under the number `rows`.
    pub(super) fn complete(name: String, bound: Bound, rows: usize) -> Self {
        let (columns, plan, within) = (bound.columns, Some(bound.node), Within::Nothing);
        Self { name, columns, rows, plan, inline: false, references: 0, within, early_scans: 0 }
    }
}

/// Whether a scan depends on a row of a query or join around it.
fn looks_around(access: &Access) -> bool {
    let exprs = access.path.exprs();
    exprs.into_iter().chain(&access.filter).any(|expr| expr.any(&mut |part| matches!(part, Expr::Outer(..))))
}

/// Returns the tables whose rows a change may update or delete, itself or through the actions of foreign keys. An
/// INSERT has none unless it has ON CONFLICT DO UPDATE.
fn altered_tables(plan: &Plan) -> Vec<TableId> {
    let (own, graph) = match plan {
        Plan::Insert(insert) => match &**insert {
            Insert { on_conflict: OnConflict::Update(..), table, consequences, .. } => (table, consequences),
            _ => return Vec::new(),
        },
        Plan::Update(update) => (&update.access.table, &update.consequences),
        Plan::Delete(delete) => (&delete.access.table, &delete.consequences),
        _ => return Vec::new(),
    };
    let of_graph = |graph: &Graph| graph.nodes.iter().map(|keys| keys.table.id).collect::<Vec<_>>();
    let mut tables = graph.as_ref().map(|graph| of_graph(graph)).unwrap_or_default();
    tables.push(own.id);
    tables
}
