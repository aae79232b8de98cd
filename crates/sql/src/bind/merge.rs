//! MERGE: each row of a source is compared with the rows of a table, and changes the table by the first clause that
//! fits.

use super::binder::Binder;
use super::condition::conjuncts;
use super::dml::{by_key, check_given, check_width};
use super::from::outer_join;
use super::group::{Columns, Item};
use super::query::PlanWithColumns;
use super::scope::Scope;
use super::target::Target;
use crate::catalog::Table;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::parse::names::object_name;
use crate::parse::trigger::TriggerEvent;
use crate::plan::{Delete, Graph, Insert, Merge, MergeAction, MergeClause, Node, OnConflict, Plan, Source, Update};
use crate::{SqlError, schema, state};
use hotrow_sync::Arc;
use hotrow_txn::LockFor;
use sqlparser::ast::{self, MergeClauseKind, MergeInsertKind, MergeUpdateKind};

impl Binder<'_> {
    pub(super) fn merge_into(&mut self, merge: &ast::Merge) -> Result<PlanWithColumns, SqlError> {
        if let Some(output) = &merge.output {
            let word = if matches!(output, ast::OutputClause::Returning { .. }) { "RETURNING" } else { "OUTPUT" };
            return Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{word}\"")));
        }
        if merge.clauses.is_empty() || !merge.into {
            let message = "syntax error: MERGE INTO with a WHEN clause was expected";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        self.changes_rows = true;
        let plain = |relation: &ast::TableFactor| ast::TableWithJoins { relation: relation.clone(), joins: Vec::new() };
        self.check_merged(&merge.table)?;
        let (target, mut from) = self.changed(&plain(&merge.table), &[], TriggerEvent::Update)?;
        let table = target.table.clone();
        let others = self.from(&[plain(&merge.source)])?;
        let of_source = others.scope.clone();
        from.scope.append(others.scope)?;
        let typed = self.plain(&merge.on, &from.scope, "JOIN/ON")?;
        let on = conjuncts(Some(self.condition(typed, "JOIN/ON")?));
        let is_matched = |clause: &ast::MergeClause| clause.clause_kind == MergeClauseKind::Matched;
        let changes_present = |clause: &ast::MergeClause| {
            matches!(clause.action, ast::MergeAction::Update(_) | ast::MergeAction::Delete { .. })
        };
        if !merge.clauses.iter().any(changes_present) {
            // Rows that match stay as they are.
            for source in &mut from.group.sources {
                if let Item::Table(_, lock) = &mut source.item {
                    *lock = LockFor::Read;
                }
            }
        }
        if merge.clauses.iter().all(is_matched) {
            from.group.append(others.group);
            from.group.conditions.extend(on);
        } else {
            from.group = outer_join(others.group, from.group, on, false);
        }
        let mut clauses: Vec<MergeClause> = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            let matched = is_matched(clause);
            if clauses.iter().any(|before| before.matched == matched && before.condition.is_none()) {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
            clauses.push(self.merge_clause(clause, &target, if matched { &from.scope } else { &of_source })?);
        }
        let consequences = self.consequences_of_merge(&table, &clauses)?;
        let fires = table.rules.triggers.iter().any(|trigger| trigger.is_enabled);
        let rechecks = self.depends.used.calls.writes || fires;
        let key = table.schema.key.iter().map(|&column| Expr::Column(column));
        let mut exprs: Vec<_> = key.chain((0..self.select.columns).map(Expr::Column)).collect();
        let planned = self.plan_group(from.group, &Columns::of(&exprs), &[])?;
        for expr in &mut exprs {
            planned.place(expr)?;
        }
        let source = Node::Project(Box::new(planned.node), exprs);
        Ok((Plan::Merge(Box::new(Merge { table, source, clauses, consequences, rechecks })), None))
    }

    /// Checks that MERGE may change a relation.
    ///
    /// # Errors
    /// 0A000 if it is a view.
    fn check_merged(&mut self, relation: &ast::TableFactor) -> Result<(), SqlError> {
        let ast::TableFactor::Table { name, .. } = relation else { return Ok(()) };
        let full = self.found(&object_name(name)?)?;
        if self.view.view(&full).is_none() {
            return Ok(());
        }
        let message = format!("cannot execute MERGE on relation \"{}\"", schema::plain(&full));
        let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
        Err(error.detail("This operation is not supported for views."))
    }

    /// Plans the foreign keys' checks and actions, and the triggers, of all clauses together, because a row that one
    /// clause inserts may refer to a row that another one changes. Returns `None` if there are none.
    fn consequences_of_merge(
        &mut self,
        table: &Arc<Table>,
        clauses: &[MergeClause],
    ) -> Result<Option<Arc<Graph>>, SqlError> {
        let has = |wanted: fn(&MergeAction) -> bool| clauses.iter().any(|clause| wanted(&clause.action));
        let refer = has(|action| matches!(action, MergeAction::Insert(..) | MergeAction::Update(_)));
        let lost = has(|action| matches!(action, MergeAction::Delete(_) | MergeAction::Update(_)));
        let rules = &table.rules;
        self.consequences(table, refer && !rules.foreign_keys.is_empty(), lost && !rules.referrers.is_empty())
    }

    fn merge_clause(
        &mut self,
        clause: &ast::MergeClause,
        target: &Target,
        scope: &Scope,
    ) -> Result<MergeClause, SqlError> {
        let matched = match clause.clause_kind {
            MergeClauseKind::Matched => true,
            MergeClauseKind::NotMatched => false,
            kind => return Err(unsupported(&format!("WHEN {kind}"))),
        };
        let condition = match &clause.predicate {
            Some(predicate) => {
                let typed = self.plain(predicate, scope, "MERGE WHEN")?;
                Some(check_plain(self.condition(typed, "WHEN")?)?)
            }
            None => None,
        };
        let action = match &clause.action {
            ast::MergeAction::DoNothing { .. } => MergeAction::Nothing,
            ast::MergeAction::Delete { .. } => {
                let (access, consequences) = (by_key(target.table.clone()), None);
                MergeAction::Delete(Delete { access, source: None, rechecks: false, returning: None, consequences })
            }
            ast::MergeAction::Update(update) => MergeAction::Update(self.merge_update(update, target, scope)?),
            ast::MergeAction::Insert(insert) => self.merge_insert(insert, target, scope)?,
        };
        Ok(MergeClause { matched, condition, action })
    }

    fn merge_update(
        &mut self,
        update: &ast::MergeUpdateExpr,
        target: &Target,
        scope: &Scope,
    ) -> Result<Update, SqlError> {
        let MergeUpdateKind::Set(list) = &update.kind else {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"*\""));
        };
        if update.update_predicate.is_some() || update.delete_predicate.is_some() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"WHERE\""));
        }
        let table = &target.table;
        let mut assignments = self.assignments(list, target, scope)?;
        for (_, value) in &mut assignments {
            *value = check_plain(std::mem::replace(value, Expr::NULL))?;
        }
        let rules = self.rules_of_update(table, &assignments);
        let moves = rules.changed(&assignments).any(|column| table.schema.key.contains(&column));
        let (access, source, rechecks, returning) = (by_key(table.clone()), None, false, None);
        let consequences = None;
        Ok(Update { access, assignments, rules, moves, source, rechecks, returning, consequences })
    }

    fn merge_insert(
        &mut self,
        insert: &ast::MergeInsertExpr,
        target: &Target,
        scope: &Scope,
    ) -> Result<MergeAction, SqlError> {
        let MergeInsertKind::Values(ast::Values { rows, .. }) = &insert.kind else {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: INSERT of MERGE takes VALUES"));
        };
        let ([row], None) = (rows.as_slice(), &insert.insert_predicate) else {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: INSERT of MERGE takes one row of values"));
        };
        let table = &target.table;
        let mut targets = self.targets(target, &insert.columns)?;
        check_width(row.content.len(), targets.len())?;
        if row.content.len() < targets.len() && !insert.columns.is_empty() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "INSERT has more target columns than expressions"));
        }
        targets.truncate(row.content.len());
        let mut values = Vec::with_capacity(targets.len());
        for (expr, &at) in row.content.iter().zip(&targets) {
            let value = self.value_or_default(expr, target, at, scope)?;
            values.push(value.map(check_plain).transpose()?);
        }
        check_given(table, &targets, |at| values[at].is_some(), false)?;
        let is_given = |column: usize| {
            let at = targets.iter().position(|target| *target == column);
            at.is_some_and(|at| values[at].is_some())
        };
        let defaults = self.defaults(table, |column| !is_given(column))?;
        let insert = Insert {
            table: table.clone(),
            source: Source::Rows(Vec::new()),
            targets,
            defaults,
            rules: table.rules_of_new_row(),
            on_conflict: OnConflict::Fail,
            returning: None,
            consequences: None,
        };
        Ok(MergeAction::Insert(insert, values))
    }
}

/// Returns the expression, unless it runs a subquery or a user's function, which a clause of MERGE cannot do.
///
/// # Errors
/// 0A000 if it does.
fn check_plain(expr: Expr) -> Result<Expr, SqlError> {
    match expr.has_subquery() {
        true => Err(unsupported("a subquery or a user's function in a WHEN clause of MERGE")
            .hint("Put it into the query after USING.")),
        false => Ok(expr),
    }
}
