//! The target of ON CONFLICT: which unique index it means.

use super::binder::Binder;
use super::condition::conjuncts;
use super::hidden::{implies, is_value};
use super::target::Target;
use crate::expr::Expr;
use crate::parse::conflict::carried;
use crate::parse::names::{fold, object_name};
use crate::parse::{parse_arguments, parse_expr};
use crate::{SqlError, state};
use hotrow_storage::IndexRef;
use sqlparser::ast;

impl Binder<'_> {
    /// Returns the unique index that the target of ON CONFLICT means. Returns `None` if there is no target, so that a
    /// conflict in any unique index counts.
    ///
    /// # Errors
    /// 42P10 if no unique index has the columns of the target, 42704 if there is no constraint of the target's name.
    pub(super) fn conflict_target(
        &mut self,
        target: &Target,
        conflict: &ast::OnConflict,
    ) -> Result<Option<IndexRef>, SqlError> {
        let table = &*target.table;
        let is_unique = |index: &IndexRef| match index {
            IndexRef::Primary => !table.is_key_hidden(),
            IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
        };
        let unique: Vec<_> = table.indexes().filter(is_unique).collect();
        let found = match &conflict.conflict_target {
            None => return Ok(None),
            Some(ast::ConflictTarget::Columns(columns)) => {
                let (wanted, conditions) = self.inferred(target, columns)?;
                let fits = |index: &IndexRef| {
                    let keys = table.key_columns(*index);
                    let is_key = |expr: &Expr| keys.iter().any(|&column| is_value(table, *index, column, expr));
                    let is_wanted = |column: &usize| wanted.iter().any(|expr| is_value(table, *index, *column, expr));
                    let implied = table.predicate(*index).is_none_or(|predicate| implies(&conditions, predicate));
                    implied && wanted.iter().all(is_key) && keys.iter().all(is_wanted)
                };
                unique.into_iter().filter(fits).min_by_key(|index| table.is_partial(*index))
            }
            Some(ast::ConflictTarget::OnConstraint(name)) => {
                let name = object_name(name)?.name;
                let is_constraint =
                    |index: &IndexRef| *index == IndexRef::Primary || table.rules.unique_constraints.contains(&name);
                let found = unique.into_iter().find(|index| table.index_name(*index) == name);
                return match found.filter(|index| !target.is_view() && is_constraint(index)) {
                    Some(index) => Ok(Some(index)),
                    None => {
                        let message = format!("constraint \"{name}\" for table \"{}\" does not exist", target.name());
                        Err(SqlError::new(state::UNDEFINED_OBJECT, message))
                    }
                };
            }
        };
        found.map(Some).ok_or_else(|| {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
        })
    }

    /// Returns the columns and expressions of the target, from which the index is inferred, and the conjuncts of the
    /// target's WHERE.
    fn inferred(&mut self, target: &Target, columns: &[ast::Ident]) -> Result<(Vec<Expr>, Vec<Expr>), SqlError> {
        let written = match columns {
            [column] => carried(column),
            _ => None,
        };
        let Some((keys, condition)) = written else {
            let columns = columns.iter().map(|column| Ok(target.value(target.position(&fold(column))?).clone()));
            return Ok((columns.collect::<Result<_, SqlError>>()?, Vec::new()));
        };
        let (keys, condition) = (parse_arguments(keys)?, condition.map(parse_expr).transpose()?);
        let scope = target.scope();
        let mut wanted = Vec::with_capacity(keys.len());
        for key in keys.iter() {
            let typed = self.plain(key, &scope, "index expressions")?;
            wanted.push(self.resolved(typed)?.0);
        }
        let condition = match &condition {
            Some(condition) => {
                let typed = self.plain(condition, &scope, "index predicates")?;
                Some(self.condition(typed, "WHERE")?)
            }
            None => None,
        };
        Ok((wanted, conjuncts(condition)))
    }
}
