//! ALTER VIEW of options and of defaults, and the forms of ALTER TABLE that views have.

use super::Fail;
use super::ddl::Ddl;
use crate::bind::define_default;
use crate::catalog::updatable::check_updatable;
use crate::catalog::view::StoredView;
use crate::catalog::view_options::set_options;
use crate::catalog::{DefaultValue, View};
use crate::error::unsupported;
use crate::parse::names::{fold, name_parts};
use crate::parse::view_options::ViewOption;
use crate::schema::plain;
use crate::table_lock::Mode;
use crate::types::enumeration;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation as Op, Visit, Visitor};
use std::ops::ControlFlow;

impl Ddl<'_> {
    /// Runs ALTER VIEW … SET. The caller has locked the view.
    pub(super) fn set_view_options(&mut self, view: &StoredView, new: &[ViewOption]) -> Result<(), Fail> {
        let mut changed = view.clone();
        set_options(&mut changed.options, new)?;
        if changed.check_option().is_some() {
            check_updatable(&changed, self.view())?;
        }
        self.replace_query(changed);
        Ok(())
    }

    /// Runs ALTER VIEW … RESET. The caller has locked the view.
    pub(super) fn reset_view_options(&mut self, view: &StoredView, names: &[String]) -> Result<(), Fail> {
        let mut changed = view.clone();
        changed.options.retain(|option| !names.contains(&option.name));
        self.replace_query(changed);
        Ok(())
    }

    /// Sets the DEFAULT of a view's column, or drops it if there is no expression. The caller has locked the view.
    ///
    /// # Errors
    /// 0A000 if the expression depends on objects that may get other definitions.
    pub(super) fn set_view_default(
        &mut self,
        view: &StoredView,
        column: &str,
        expr: Option<&ast::Expr>,
    ) -> Result<(), Fail> {
        let Some(at) = view.columns.iter().position(|known| known.name == column) else {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", view.name);
            return Err(SqlError::new(state::UNDEFINED_COLUMN, message).into());
        };
        let ty = view.columns[at].ty;
        let default = expr.map(|expr| define_default(expr, column, ty, self.view())).transpose()?;
        if let (Some(expr), Some(default)) = (expr, &default) {
            let names_type = enumeration(ty).is_some() || expr.visit(&mut Labels(self.view())).is_break();
            if names_type || default.calling().is_some() {
                let what = "a view's DEFAULT with a type or a function of a user";
                return Err(unsupported(what).hint("Set the DEFAULT of the table's column.").into());
            }
        }
        let mut changed = view.clone();
        changed.defaults.resize(view.columns.len(), None);
        changed.defaults[at] = default;
        self.replace_query(changed);
        Ok(())
    }

    /// Runs ALTER TABLE if its name is that of a view. Returns `false` if it is not.
    ///
    /// # Errors
    /// 42809 if an operation is none of those that views have.
    pub(super) fn alter_table_of_view(&mut self, name: &str, operations: &[Op]) -> Result<bool, Fail> {
        if self.view().view(name).is_none() {
            return Ok(false);
        }
        self.lock(name, Mode::Exclusive)?;
        for operation in operations {
            let Some(view) = self.view().view(name) else { return Ok(false) };
            match operation {
                Op::AlterColumn { column_name, op: AlterColumnOperation::SetDefault { value } } => {
                    self.set_view_default(&view, &fold(column_name), Some(value))?;
                }
                Op::AlterColumn { column_name, op: AlterColumnOperation::DropDefault } => {
                    self.set_view_default(&view, &fold(column_name), None)?;
                }
                Op::RenameColumn { old_column_name, new_column_name } => {
                    self.rename_view_column(&view, &fold(old_column_name), &fold(new_column_name))?;
                }
                other => return Err(not_of_views(name, other).into()),
            }
        }
        Ok(true)
    }

    /// Returns the columns of views whose defaults take numbers from a sequence: the views, each with the position of
    /// its column.
    pub(super) fn view_defaults_of(&self, sequence: u32) -> Vec<(Arc<StoredView>, usize)> {
        let uses = |default: &DefaultValue| default.sequences().contains(&sequence);
        let mut users = Vec::new();
        for view in self.view().views() {
            let columns = (0..view.columns.len()).filter(|at| view.default(*at).is_some_and(uses));
            users.extend(columns.map(|at| (view.clone(), at)));
        }
        users
    }
}

/// Finds the names of users' types in an expression, at which it breaks.
struct Labels<'v>(View<'v>);

impl Visitor for Labels<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        let ast::Expr::Cast { data_type, .. } = expr else { return ControlFlow::Continue(()) };
        let mut ty = data_type;
        while let ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) = ty {
            ty = element;
        }
        let ast::DataType::Custom(name, _) = ty else { return ControlFlow::Continue(()) };
        match name_parts(name).ok().and_then(|parts| self.0.named_type(&parts)) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Makes the error 42809 for an operation of ALTER TABLE that views do not have.
fn not_of_views(name: &str, operation: &Op) -> SqlError {
    let action = match operation {
        Op::AddColumn { .. } => "ADD COLUMN",
        Op::DropColumn { .. } => "DROP COLUMN",
        Op::AddConstraint { .. } => "ADD CONSTRAINT",
        Op::DropConstraint { .. } => "DROP CONSTRAINT",
        Op::EnableTrigger { .. } | Op::EnableAlwaysTrigger { .. } => "ENABLE TRIGGER",
        Op::DisableTrigger { .. } => "DISABLE TRIGGER",
        Op::AlterColumn { op: AlterColumnOperation::SetDataType { .. }, .. } => "ALTER COLUMN ... SET DATA TYPE",
        Op::AlterColumn { op: AlterColumnOperation::SetNotNull, .. } => "ALTER COLUMN ... SET NOT NULL",
        Op::AlterColumn { op: AlterColumnOperation::DropNotNull, .. } => "ALTER COLUMN ... DROP NOT NULL",
        other => return unsupported(&format!("{other} of a view")),
    };
    let message = format!("ALTER action {action} cannot be performed on relation \"{}\"", plain(name));
    let error = SqlError::new(state::WRONG_OBJECT_TYPE, message);
    error.detail("This operation is not supported for views.")
}
