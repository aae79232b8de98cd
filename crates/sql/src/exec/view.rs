//! CREATE VIEW and DROP VIEW, and the checks that keep views whole when the relations that they show change.

use super::Fail;
use super::ddl::{Ddl, shown};
use crate::bind::{define_view, holds, not_a_table};
use crate::catalog::updatable::check_updatable;
use crate::catalog::view::{Materialized, StoredView};
use crate::catalog::view_options::set_options;
use crate::catalog::{Rules, Table, View, is_temporary};
use crate::error::unsupported;
use crate::parse::names::{fold, object_name};
use crate::parse::view_options::options_of;
use crate::schema::duplicate_table;
use crate::table_lock::Mode;
use crate::{OutputColumn, SqlError, state};
use hotrow_sync::Arc;
use hotrow_txn::Ownership;
use sqlparser::ast;

impl Ddl<'_> {
    /// Runs CREATE [OR REPLACE] VIEW.
    pub(super) fn create_view(&mut self, create: &ast::CreateView) -> Result<&'static str, Fail> {
        self.check_memory()?;
        refuse_exotic(create)?;
        let mut options = Vec::new();
        set_options(&mut options, &options_of(create)?)?;
        let names: Vec<_> = create.columns.iter().map(|column| fold(&column.name)).collect();
        let written = object_name(&create.name)?;
        let shown = define_view("", &names, &create.query, None, self.view())?.relations;
        let uses_temporary = shown.iter().any(|relation| is_temporary(relation));
        if uses_temporary && !create.temporary && !self.view().is_for_temporary(&written) {
            let message = format!("view \"{}\" will be a temporary view", written.name);
            self.notice(state::SUCCESSFUL_COMPLETION, message);
        }
        let name = self.placed(&written, create.temporary || uses_temporary)?;
        self.lock(&name, Mode::Exclusive)?;
        let known = self.view().view(&name);
        if (known.is_none() || !create.or_replace) && self.view().has_relation(&name) {
            return Err(match create.or_replace {
                true => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")),
                false => duplicate_table(&name),
            }
            .into());
        }
        let define = |ddl: &Self| define_view(&name, &names, &create.query, None, ddl.view());
        let draft = define(self)?;
        if draft.relations.contains(&name) {
            let message = format!("infinite recursion detected in rules for relation \"{name}\"");
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message).into());
        }
        self.lock_shown(&draft)?;
        let mut view = define(self)?;
        if let Some(known) = &known {
            check_replacement(known, &view, self.view())?;
            view.comments.clone_from(&known.comments);
            view.defaults.clone_from(&known.defaults);
            view.triggers.clone_from(&known.triggers);
        }
        view.options = options;
        if view.check_option().is_some() {
            check_updatable(&view, self.view())?;
        }
        self.context.transaction.changes.views.insert(name, Some(Arc::new(view)));
        Ok("CREATE VIEW")
    }

    /// Runs DROP VIEW.
    pub(super) fn drop_views(
        &mut self,
        names: &[ast::ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str, Fail> {
        let names = self.doomed(names, if_exists)?;
        for name in &names {
            self.lock(name, Mode::Exclusive)?;
            if self.view().view(name).is_some() {
                self.drop_views_of(name, "view", &names, cascade)?;
                self.drop_functions_of(name, "view", cascade)?;
                self.context.transaction.changes.views.insert(name.clone(), None);
            } else if let Some(table) = self.view().table(name) {
                let error = SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view"));
                return Err(error.hint(how_to_drop(&table)).into());
            } else if if_exists {
                let message = format!("view \"{name}\" does not exist, skipping");
                self.notice(state::SUCCESSFUL_COMPLETION, message);
            } else {
                return Err(SqlError::new(state::UNDEFINED_TABLE, format!("view \"{name}\" does not exist")).into());
            }
        }
        Ok("DROP VIEW")
    }

    /// Drops the views that show a relation that is being dropped. Fails if there are any and `cascade` is not set.
    /// Views in `among` do not count: they are dropped in any case.
    pub(super) fn drop_views_of(
        &mut self,
        name: &str,
        kind: &str,
        among: &[String],
        cascade: bool,
    ) -> Result<(), Fail> {
        let mut dependents = self.queries_over(name);
        dependents.retain(|view| !among.contains(&view.name));
        if dependents.is_empty() {
            return Ok(());
        }
        if !cascade {
            let subject = format!("{kind} {}", self.view().written(name));
            let message = format!("cannot drop {subject} because other objects depend on it");
            let line = |view: &Arc<StoredView>| {
                let shown = dependents.iter().find(|shown| view.relations.contains(&shown.name));
                match shown.filter(|_| !view.relations.iter().any(|relation| relation == name)) {
                    Some(shown) => format!("{} depends on {}", self.written_view(view), self.written_view(shown)),
                    None => format!("{} depends on {subject}", self.written_view(view)),
                }
            };
            let details = dependents.iter().map(line);
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(details.collect::<Vec<_>>().join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                .into());
        }
        self.drop_dependents(&dependents)
    }

    /// Returns the views over a relation, directly or through other views, including materialized ones.
    fn queries_over(&self, name: &str) -> Vec<Arc<StoredView>> {
        let mut left = self.view().stored_queries();
        let (mut found, mut names) = (Vec::new(), vec![name.to_owned()]);
        loop {
            let shows = |view: &mut Arc<StoredView>| view.relations.iter().any(|known| names.contains(known));
            let more: Vec<_> = left.extract_if(.., shows).collect();
            if more.is_empty() {
                return found;
            }
            names.extend(more.iter().map(|view| view.name.clone()));
            found.extend(more);
        }
    }

    pub(super) fn drop_dependents(&mut self, views: &[Arc<StoredView>]) -> Result<(), Fail> {
        let written: Vec<_> = views.iter().map(|view| self.written_view(view)).collect();
        for view in views {
            self.lock(&view.name, Mode::Exclusive)?;
            self.drop_functions_of(&view.name, "view", true)?;
            self.remove_query(&view.name);
        }
        match &written[..] {
            [view] => self.notice(state::SUCCESSFUL_COMPLETION, format!("drop cascades to {view}")),
            _ => {
                let error = SqlError::new(
                    state::SUCCESSFUL_COMPLETION,
                    format!("drop cascades to {} other objects", views.len()),
                );
                let details = written.iter().map(|view| format!("drop cascades to {view}"));
                self.notice_with(error.detail(details.collect::<Vec<_>>().join("\n")));
            }
        }
        Ok(())
    }

    /// Locks the name of a view or materialized view in exclusive mode, and returns its definition. Returns `None` if
    /// there is no such view.
    pub(super) fn owned_query(&mut self, name: &str) -> Result<Option<Arc<StoredView>>, Fail> {
        self.lock(name, Mode::Exclusive)?;
        if let Some(view) = self.view().view(name) {
            return Ok(Some(view));
        }
        let table = self.view().table(name);
        if let Some(table) = &table {
            self.txn.own_table(table.id, Ownership::Locked);
        }
        Ok(table.and_then(|table| table.stored_query()))
    }

    /// Replaces the definition of a view or materialized view, which the caller has [locked](Self::owned_query).
    pub(super) fn replace_query(&mut self, changed: StoredView) {
        let table = self.view().table(&changed.name);
        let Some((table, known)) = table.as_ref().and_then(|table| Some((table, table.rules.materialized.as_ref()?)))
        else {
            let name = changed.name.clone();
            self.context.transaction.changes.views.insert(name, Some(Arc::new(changed)));
            return;
        };
        let materialized = Materialized { query: changed, is_populated: known.is_populated };
        let rules = Rules { materialized: Some(Arc::new(materialized)), ..table.rules.clone() };
        self.publish(table.with(table.schema.clone(), rules));
    }

    /// Removes the definition of a view or materialized view.
    pub(super) fn remove_query(&mut self, name: &str) {
        let is_table = self.view().table(name).is_some();
        let changes = &mut self.context.transaction.changes;
        if is_table {
            changes.tables.insert(name.to_owned(), None);
        } else {
            changes.views.insert(name.to_owned(), None);
        }
    }

    /// Returns the name that messages give to a view, after the word for its kind.
    pub(super) fn written_view(&self, view: &StoredView) -> String {
        let kind = self.view().table(&view.name).map_or("view", |table| table.kind());
        format!("{kind} {}", self.view().written(&view.name))
    }

    /// Returns the views that a change of a relation has broken.
    pub(super) fn broken_views(&self, relation: &str) -> Vec<Arc<StoredView>> {
        let broken =
            |view: &Arc<StoredView>| view.relations.iter().any(|known| known == relation) && !holds(view, self.view());
        self.view().stored_queries().into_iter().filter(broken).collect()
    }

    /// Drops these views, which a change has broken, and the views over them.
    pub(super) fn drop_broken(&mut self, broken: &[Arc<StoredView>]) -> Result<(), Fail> {
        if broken.is_empty() {
            return Ok(());
        }
        let mut doomed: Vec<Arc<StoredView>> = Vec::new();
        let above = broken.iter().flat_map(|view| self.queries_over(&view.name));
        for view in broken.iter().cloned().chain(above) {
            if !doomed.iter().any(|known| known.name == view.name) {
                doomed.push(view);
            }
        }
        self.drop_dependents(&doomed)
    }

    /// Checks the views of a table after an ALTER TABLE. DROP COLUMN … CASCADE drops the views that do not fit any
    /// more. Any other operation fails if there are such views.
    pub(super) fn check_views(&mut self, table: &str, operation: &ast::AlterTableOperation) -> Result<(), Fail> {
        use ast::AlterTableOperation as Op;
        let broken = self.broken_views(table);
        let Some(first) = broken.first() else { return Ok(()) };
        let error = match operation {
            Op::DropColumn { drop_behavior: Some(ast::DropBehavior::Cascade), .. } => {
                return self.drop_broken(&broken);
            }
            Op::DropColumn { column_names, .. } => {
                let column = column_names.first().map(fold).unwrap_or_default();
                let what = format!("column {column} of table {table}");
                let message = format!("cannot drop {what} because other objects depend on it");
                let details = broken.iter().map(|view| format!("{} depends on {what}", self.written_view(view)));
                SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(details.collect::<Vec<_>>().join("\n"))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
            }
            Op::AlterColumn { .. } => {
                SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot alter type of a column used by a view or rule")
                    .detail(format!("rule _RETURN on {} depends on it", self.written_view(first)))
            }
            other => {
                let words: Vec<_> = shown(other)?.split_whitespace().take(2).map(str::to_owned).collect();
                unsupported(&format!("{} of what a view shows", words.join(" ")))
                    .detail(format!("View {} could not be made any more.", first.name))
                    .hint("Drop the view, and create it again afterwards.")
            }
        };
        Err(error.into())
    }

    /// Fails if a name means a view, or no relation.
    pub(super) fn check_table(&self, name: &str) -> Result<(), SqlError> {
        if self.view().table(name).is_none() { Err(not_a_table(name, self.view())) } else { Ok(()) }
    }
}

/// Returns the hint that names the statement which drops this table or materialized view.
pub(super) fn how_to_drop(table: &Table) -> String {
    format!("Use DROP {} to remove a {}.", table.kind().to_uppercase(), table.kind())
}

/// Checks that a view may replace another one: it must have the columns of that view, and may have more after them.
fn check_replacement(known: &StoredView, view: &StoredView, all: View<'_>) -> Result<(), SqlError> {
    let wrong = |message: String| SqlError::new(state::INVALID_TABLE_DEFINITION, message);
    if view.columns.len() < known.columns.len() {
        return Err(wrong("cannot drop columns from view".to_owned()));
    }
    for (before, now) in known.columns.iter().zip(&view.columns) {
        if before.name != now.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", before.name, now.name);
            return Err(wrong(message).hint("Drop the view, and create it again."));
        }
        if before.kind() != now.kind() {
            let name = |column: &OutputColumn| match column.domain.and_then(|id| all.domain_of(id)) {
                Some(domain) => domain.shown(),
                None => crate::types::type_name(Some(column.ty)),
            };
            let (from, to) = (name(before), name(now));
            return Err(wrong(format!("cannot change data type of view column \"{}\" from {from} to {to}", now.name)));
        }
    }
    Ok(())
}

fn refuse_exotic(create: &ast::CreateView) -> Result<(), SqlError> {
    if create.materialized {
        return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"materialized\""));
    }
    let what = if create.if_not_exists || create.or_alter || create.secure || create.to.is_some() {
        "this kind of view"
    } else if create.columns.iter().any(|column| column.data_type.is_some() || column.options.is_some()) {
        "a view's column with more than a name"
    } else if !matches!(create.options, ast::CreateTableOptions::None | ast::CreateTableOptions::With(_)) {
        "a view with options"
    } else {
        return Ok(());
    };
    Err(unsupported(what))
}
