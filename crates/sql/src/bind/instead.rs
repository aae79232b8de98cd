//! Changes of views that INSTEAD OF triggers make.

use super::binder::Binder;
use super::query::computed;
use super::target::Target;
use crate::catalog::view::StoredView;
use crate::expr::{Expr, lost};
use crate::plan::{Graph, Instead, Keys, Node, Plan, Source};
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast;

impl Binder<'_> {
    /// Makes the plan of a change that triggers make of a target. The other arguments are the parts of the plan.
    pub(super) fn instead(
        &mut self,
        target: Target,
        source: Node,
        assignments: Vec<(usize, Expr)>,
        returning: Option<Vec<Expr>>,
    ) -> Result<Plan, SqlError> {
        let Some(view) = &target.triggered else { return Err(lost("a view")) };
        let triggers = self.triggers_of_view(view, &target.table)?;
        let (event, checks) = (target.event, target.checks);
        Ok(Plan::Instead(Box::new(Instead { triggers, event, source, assignments, checks, returning })))
    }

    /// Returns the triggers of a view as the consequences of the INSERT that COPY makes of its rows.
    pub(crate) fn consequences_of_view(&mut self, view: &Arc<StoredView>) -> Result<Arc<Graph>, SqlError> {
        self.depends.used.add_view(view);
        let table = view.shape(self.view.catalog.lock(&view.name));
        let triggers = Some(self.triggers_of_view(view, &table)?);
        let keys = Keys { table, references: Vec::new(), referrers: Vec::new(), triggers };
        Ok(Arc::new(Graph { nodes: vec![keys] }))
    }

    /// Makes the plan of an INSERT into a view with INSTEAD OF triggers. The columns of `source` are those at the
    /// positions `targets`.
    ///
    /// # Errors
    /// 42P10 if ON CONFLICT needs a unique index, since a view has none.
    pub(super) fn insert_instead(
        &mut self,
        target: Target,
        insert: &ast::Insert,
        source: Source,
        targets: &[usize],
        returning: Option<Vec<Expr>>,
    ) -> Result<Plan, SqlError> {
        if let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on
            && (conflict.conflict_target.is_some() || matches!(conflict.action, ast::OnConflictAction::DoUpdate(_)))
        {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
        }
        let width = target.table.visible();
        let mut whole = |row: &mut dyn FnMut(usize) -> Option<Expr>| -> Result<Vec<Expr>, SqlError> {
            let value = |column: usize| targets.iter().position(|target| *target == column).and_then(&mut *row);
            let values: Vec<_> = (0..width).map(value).collect();
            let filled = values.into_iter().enumerate();
            filled.map(|(column, value)| value.map_or_else(|| self.default_in(&target, column), Ok)).collect()
        };
        let source = match source {
            Source::Rows(rows) => {
                let rows = rows.into_iter().map(|mut row| whole(&mut |at| row[at].take()));
                computed(rows.collect::<Result<_, _>>()?)
            }
            Source::Query(node) => Node::Project(Box::new(node), whole(&mut |at| Some(Expr::Column(at)))?),
        };
        self.instead(target, source, Vec::new(), returning)
    }
}
