//! CREATE, ALTER and DROP SCHEMA, SET SCHEMA, ALTER VIEW, OWNER TO.

use super::Fail;
use super::ddl::Ddl;
use super::temporary::check_move;
use super::triggers::rename_in_triggers;
use crate::bind::with_column_names;
use crate::catalog::NamedType;
use crate::catalog::enumeration::undefined_type;
use crate::catalog::view::StoredView;
use crate::catalog::{Part, Table, rename_comment};
use crate::error::unsupported;
use crate::parse::definition::{Change, Definition, Granted, RelationKind};
use crate::parse::names::name_parts;
use crate::parse::parse_expr;
use crate::schema::{self, PUBLIC, RelationName, Schema, plain, undefined_schema, undefined_table};
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast;

/// The schemas that no statement can change.
const FIXED: [&str; 2] = ["pg_catalog", "information_schema"];

impl Ddl<'_> {
    /// Runs a statement of this module. Returns its command tag.
    pub(crate) fn run_definition(&mut self, definition: &Definition) -> Result<&'static str, Fail> {
        self.check_memory()?;
        match definition {
            Definition::CreateSchema { name, owner, if_not_exists } => {
                owner.iter().try_for_each(|owner| self.check_owner(owner))?;
                self.create_schema(name, *if_not_exists)?;
            }
            Definition::DropSchemas { names, if_exists, cascade } => {
                names.iter().try_for_each(|name| self.drop_schema(name, *if_exists, *cascade))?;
            }
            Definition::RenameSchema(old, new) => self.rename_schema(old, new)?,
            Definition::OwnSchema(name, owner) => {
                if !self.view().has_schema(name) {
                    return Err(undefined_schema(name).into());
                }
                self.check_owner(owner)?;
            }
            Definition::Alter { kind, name, if_exists, change } => {
                self.alter_relation(*kind, name, *if_exists, change)?;
            }
            Definition::Type(statement) => self.run_type(statement)?,
            Definition::Domain(statement) => self.run_domain(statement)?,
            Definition::Trigger(statement) => self.run_trigger(statement)?,
            Definition::Routine(alter) => self.alter_procedure(alter)?,
            Definition::Comment(commented, text) => self.comment(commented, text.as_deref())?,
            Definition::Privileges { revoke, granted, columns, roles } => {
                self.check_granted(granted, columns)?;
                roles.iter().filter(|role| *role != "public").try_for_each(|role| self.check_owner(role))?;
                if *revoke {
                    let error = SqlError::new(state::PRIVILEGE_NOT_REVOKED, "no privileges could be revoked");
                    self.warning(error.detail("Everybody may do everything."));
                }
            }
        }
        Ok(definition.tag())
    }

    /// Returns the full name of the relation that a name means.
    pub(super) fn found(&self, name: &ast::ObjectName) -> Result<String, SqlError> {
        let name = crate::parse::names::object_name(name)?;
        self.view().check_database(&name)?;
        Ok(self.view().find(&name))
    }

    /// Returns the full name for a new relation or type that is not temporary. Locks its schema, so that no other
    /// transaction drops the schema before the object is defined.
    pub(super) fn lasting_place(&mut self, name: &RelationName) -> Result<String, Fail> {
        let place = self.view().place(name)?;
        self.keep_schema(schema::split(&place).0)?;
        Ok(place)
    }

    /// Keeps other transactions from dropping a schema that was there a moment ago. Fails if the schema is gone.
    pub(super) fn keep_schema(&mut self, name: &str) -> Result<(), Fail> {
        self.lock(&schema_lock(name), Mode::Shared)?;
        if self.view().has_schema(name) { Ok(()) } else { Err(undefined_schema(name).into()) }
    }

    /// Returns the full names of relations that are to be dropped. If a schema does not exist, its relation is left out
    /// with a notice if `if_exists` is set; otherwise this fails.
    pub(super) fn doomed(&mut self, names: &[ast::ObjectName], if_exists: bool) -> Result<Vec<String>, SqlError> {
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            match &name_parts(name)?[..] {
                [schema, _] if !FIXED.contains(&schema.as_str()) && !self.view().has_schema(schema) => {
                    let error = undefined_schema(schema);
                    if !if_exists {
                        return Err(error);
                    }
                    self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                }
                _ => found.push(self.found(name)?),
            }
        }
        Ok(found)
    }

    /// Checks that a role may own something: only the one role that the catalogs have and the connected user may.
    ///
    /// # Errors
    /// 42704 for any other role.
    pub(crate) fn check_owner(&self, role: &str) -> Result<(), SqlError> {
        let known = ["postgres", self.env.user, "current_user", "current_role", "session_user"];
        if known.contains(&role) {
            return Ok(());
        }
        Err(SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{role}\" does not exist")))
    }

    /// Checks that the objects on which privileges are granted exist.
    fn check_granted(&self, granted: &Granted, columns: &[String]) -> Result<(), SqlError> {
        match granted {
            Granted::Relations(names) => names.iter().try_for_each(|name| self.check_granted_relation(name, columns)),
            Granted::Schemas(names) => {
                let missing = names.iter().find(|name| !self.view().has_schema(name));
                missing.map_or(Ok(()), |name| Err(undefined_schema(name)))
            }
            Granted::Types(names) => {
                let missing = names.iter().find(|name| self.view().named_type(&name.parts()).is_none());
                missing.map_or(Ok(()), |name| Err(undefined_type(&name.to_string())))
            }
            Granted::Databases(names) => match names.iter().find(|name| self.context.shared().database(name).is_none())
            {
                Some(name) => {
                    let message = format!("database \"{name}\" does not exist");
                    Err(SqlError::new(state::INVALID_CATALOG_NAME, message))
                }
                None => Ok(()),
            },
            Granted::Routines(kind, routines) => {
                routines.iter().try_for_each(|routine| self.known_routine(*kind, routine).map(|_| ()))
            }
        }
    }

    fn check_granted_relation(&self, name: &RelationName, columns: &[String]) -> Result<(), SqlError> {
        let found = self.view().find(name);
        if !self.view().has_relation(&found) {
            return Err(undefined_table(&found));
        }
        let table = self.view().table(&found);
        let missing =
            table.and_then(|table| columns.iter().find(|column| table.schema.column(column).is_none()).cloned());
        match missing {
            Some(column) => {
                let message = format!("column \"{column}\" of relation \"{}\" does not exist", plain(&found));
                Err(SqlError::new(state::UNDEFINED_COLUMN, message))
            }
            None => Ok(()),
        }
    }

    fn create_schema(&mut self, name: &str, if_not_exists: bool) -> Result<(), Fail> {
        match self.claim_schema(name) {
            Err(Fail::Sql(error)) if if_not_exists && error.state == state::DUPLICATE_SCHEMA => {
                self.notice(error.state, format!("{}, skipping", error.message));
                return Ok(());
            }
            claimed => claimed?,
        }
        self.context.transaction.changes.schemas.insert(name.to_owned(), Some(Arc::new(Schema::default())));
        Ok(())
    }

    /// Locks the name of a schema that is to be made. Fails if the name is reserved or taken.
    fn claim_schema(&mut self, name: &str) -> Result<(), Fail> {
        if name.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{name}\"");
            return Err(SqlError::new(state::RESERVED_NAME, message)
                .detail("The prefix \"pg_\" is reserved for system schemas.")
                .into());
        }
        self.lock(&schema_lock(name), Mode::Exclusive)?;
        if FIXED.contains(&name) || self.view().has_schema(name) {
            let message = format!("schema \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_SCHEMA, message).into());
        }
        Ok(())
    }

    /// Returns a schema, locked exclusively. `what` is the verb in the error for schemas that no statement can change.
    fn owned_schema(&mut self, name: &str, what: &str) -> Result<Arc<Schema>, Fail> {
        if FIXED.contains(&name) {
            let message = format!("cannot {what} schema {name} because it is required by the database system");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message).into());
        }
        self.lock(&schema_lock(name), Mode::Exclusive)?;
        if !self.view().has_schema(name) {
            return Err(undefined_schema(name).into());
        }
        Ok(self.view().schema(name).unwrap_or_default())
    }

    fn drop_schema(&mut self, name: &str, if_exists: bool, cascade: bool) -> Result<(), Fail> {
        match self.owned_schema(name, "drop") {
            Err(Fail::Sql(error)) if if_exists && error.state == state::INVALID_SCHEMA_NAME => {
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                return Ok(());
            }
            owned => owned?,
        };
        let (tables, views, sequences) = self.contents(name);
        let types = self.types_in(name);
        let written = |name: &str| self.view().written(name);
        let kind = |name: &str| self.view().table(name).map_or("table", |table| table.kind());
        let mut lines: Vec<_> = tables.iter().map(|table| format!("{} {}", kind(table), written(table))).collect();
        lines.extend(views.iter().map(|view| format!("view {}", written(&view.name))));
        lines.extend(sequences.iter().map(|sequence| format!("sequence {}", written(sequence))));
        lines.extend(types.iter().map(|made| format!("type {}", made.shown())));
        let routines = self.routines_in(name);
        lines.extend(routines.iter().map(|known| format!("function {}", known.identity())));
        if !lines.is_empty() && !cascade {
            let details: Vec<_> = lines.iter().map(|line| format!("{line} depends on schema {name}")).collect();
            let message = format!("cannot drop schema {name} because other objects depend on it");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(details.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                .into());
        }
        match &lines[..] {
            [] => {}
            [line] => self.notice(state::SUCCESSFUL_COMPLETION, format!("drop cascades to {line}")),
            lines => {
                let message = format!("drop cascades to {} other objects", lines.len());
                let details: Vec<_> = lines.iter().map(|line| format!("drop cascades to {line}")).collect();
                self.notice_with(SqlError::new(state::SUCCESSFUL_COMPLETION, message).detail(details.join("\n")));
            }
        }
        self.drop_contents(name)?;
        for known in routines {
            self.drop_routine(&known, true)?;
        }
        for made in types {
            let written = RelationName::within(name, plain(made.name()));
            // A domain may have gone with the type that it is over.
            if self.view().named_type(&written.parts()).is_some() {
                self.drop_named_type(&written, false, true, |_| Ok(()))?;
            }
        }
        let gone = (name == PUBLIC).then(|| Arc::new(Schema { comment: None, is_dropped: true }));
        self.context.transaction.changes.schemas.insert(name.to_owned(), gone);
        Ok(())
    }

    /// Drops the views, tables and sequences of a schema. Types and functions in the schema stay.
    pub(super) fn drop_contents(&mut self, name: &str) -> Result<(), Fail> {
        let (tables, views, sequences) = self.contents(name);
        let all: Vec<_> = views.iter().map(|view| view.name.clone()).chain(tables.iter().cloned()).collect();
        for StoredView { name: view, .. } in views.iter().map(|view| &**view) {
            self.lock(view, Mode::Exclusive)?;
            self.drop_views_of(view, "view", &all, true)?;
            self.drop_functions_of(view, "view", true)?;
            self.remove_query(view);
        }
        self.drop_tables(&tables, false, true)?;
        sequences.iter().try_for_each(|sequence| self.drop_sequence(sequence, false, true))
    }

    /// Returns the names of a schema's tables, its views, and the names of the sequences that belong to none of the
    /// tables.
    fn contents(&self, name: &str) -> (Vec<String>, Vec<Arc<StoredView>>, Vec<String>) {
        let within = |full: &str| schema::split(full).0 == name;
        let view = self.view();
        let mut tables: Vec<_> = view.tables().iter().map(|table| table.name().to_owned()).collect();
        tables.retain(|table| within(table));
        let mut views = view.views();
        views.retain(|view| within(&view.name));
        let mut sequences = view.sequences();
        sequences.retain(|sequence| within(&sequence.name) && sequence.owner.is_none());
        let mut sequences: Vec<_> = sequences.iter().map(|sequence| sequence.name.clone()).collect();
        tables.sort();
        views.sort_by(|one, other| one.name.cmp(&other.name));
        sequences.sort();
        (tables, views, sequences)
    }

    /// Returns the enumerated types and the domains of a schema.
    fn types_in(&self, name: &str) -> Vec<NamedType> {
        let mut types = self.view().named_types();
        types.retain(|made| schema::split(made.name()).0 == name);
        types
    }

    fn rename_schema(&mut self, old: &str, new: &str) -> Result<(), Fail> {
        if old == PUBLIC {
            return Err(unsupported("another name of schema public").into());
        }
        let schema = self.owned_schema(old, "rename")?;
        self.claim_schema(new)?;
        self.context.transaction.changes.schemas.insert(old.to_owned(), None);
        self.context.transaction.changes.schemas.insert(new.to_owned(), Some(schema));
        let (tables, views, sequences) = self.contents(old);
        for made in self.types_in(old) {
            // As it is now: the move of another type may have changed it.
            let made = self.owned_type(&RelationName::within(old, plain(made.name())))?;
            self.move_type(&made, &schema::full(new, plain(made.name())))?;
        }
        for name in tables {
            let table = self.owned_table(&name)?;
            self.move_with_sequences(&table, new)?;
        }
        for name in sequences {
            self.lock(&name, Mode::Exclusive)?;
            if let Some(sequence) = self.view().sequence(&name) {
                self.move_sequence(&sequence, schema::full(new, plain(&name)));
            }
        }
        for view in views {
            self.move_view(&view, &schema::full(new, plain(&view.name)))?;
        }
        for known in self.routines_in(old) {
            self.move_routine(&known, &schema::full(new, known.plain_name()))?;
        }
        Ok(self.check_all_views(new)?)
    }

    /// Moves a table, and the sequences that belong to it, into another schema.
    fn move_with_sequences(&mut self, table: &Arc<Table>, schema: &str) -> Result<(), Fail> {
        self.check_settled(table, "ALTER TABLE")?;
        for index in
            table.indexes().filter(|index| !(table.is_key_hidden() && *index == hotrow_storage::IndexRef::Primary))
        {
            self.claim_in(schema, table.index_name(index))?;
        }
        for sequence in self.sequences_of(table.name(), None) {
            self.claim_in(schema, plain(&sequence.name))?;
            self.lock(&sequence.name, Mode::Exclusive)?;
            self.move_sequence(&sequence, schema::full(schema, plain(&sequence.name)));
        }
        let new = schema::full(schema, table.plain_name());
        self.move_table(table, &new)?;
        self.move_in_views(table.name(), &new)?;
        Ok(())
    }

    /// Locks a name in a schema for a relation that is to be moved there. Fails if the name is taken.
    fn claim_in(&mut self, schema: &str, name: &str) -> Result<(), Fail> {
        self.claim(&schema::full(schema, name)).map_err(|fail| match fail {
            Fail::Sql(error) if error.state == state::DUPLICATE_TABLE => {
                let message = format!("relation \"{name}\" already exists in schema \"{schema}\"");
                SqlError::new(error.state, message).into()
            }
            fail => fail,
        })
    }

    fn move_view(&mut self, view: &StoredView, new: &str) -> Result<(), Fail> {
        self.lock(&view.name, Mode::Exclusive)?;
        self.lock(new, Mode::Exclusive)?;
        // The view may have changed: it may show a relation that was moved before it.
        let view = self.view().view(&view.name).ok_or_else(|| undefined_table(&view.name))?;
        self.context.transaction.changes.views.insert(view.name.clone(), None);
        let moved = StoredView { name: new.to_owned(), ..(*view).clone() };
        self.context.transaction.changes.views.insert(new.to_owned(), Some(Arc::new(moved)));
        self.rename_in_functions(&view.name, new)?;
        self.move_in_views(&view.name, new)
    }

    /// Puts the new name of a relation into the views that show it, so that views that name it without its schema go on
    /// to show it.
    fn move_in_views(&mut self, old: &str, new: &str) -> Result<(), Fail> {
        for view in self.view().stored_queries() {
            if !view.relations.iter().any(|relation| relation == old) {
                continue;
            }
            let Some(view) = self.owned_query(&view.name)? else { continue };
            let mut changed = (*view).clone();
            for relation in changed.relations.iter_mut().filter(|relation| *relation == old) {
                new.clone_into(relation);
            }
            let relations = changed.names.relations.iter_mut();
            for (_, name) in relations.filter(|(written, name)| written.schema.is_none() && name == old) {
                new.clone_into(name);
            }
            self.replace_query(changed);
        }
        Ok(())
    }

    /// Checks, after relations have been moved into a schema, that the views that show its relations can still be made.
    fn check_all_views(&self, schema: &str) -> Result<(), SqlError> {
        let concerned = |view: &Arc<StoredView>| view.relations.iter().any(|name| schema::split(name).0 == schema);
        let views = self.view().stored_queries();
        let broken = views.iter().filter(|view| concerned(view)).find(|view| !crate::bind::holds(view, self.view()));
        broken.map_or(Ok(()), |view| Err(would_break(view)))
    }

    fn alter_relation(
        &mut self,
        kind: RelationKind,
        written: &RelationName,
        if_exists: bool,
        change: &Change,
    ) -> Result<(), Fail> {
        let word = match kind {
            RelationKind::Materialized => "materialized view",
            RelationKind::View => "view",
            RelationKind::Table | RelationKind::Sequence => "sequence",
        };
        let name = self.view().find(written);
        if !self.view().has_relation(&name) {
            if !if_exists {
                return Err(undefined_table(&name).into());
            }
            self.notice(
                state::SUCCESSFUL_COMPLETION,
                format!("relation \"{}\" does not exist, skipping", plain(&name)),
            );
            return Ok(());
        }
        self.lock(&name, Mode::Exclusive)?;
        let (table, view, sequence) = (self.view().table(&name), self.view().view(&name), self.view().sequence(&name));
        let fits = match kind {
            RelationKind::Table => true,
            RelationKind::View => view.is_some(),
            RelationKind::Materialized => table.as_ref().is_some_and(|table| table.rules.materialized.is_some()),
            RelationKind::Sequence => sequence.is_some(),
        };
        if !fits {
            let message = format!("\"{}\" is not a {word}", plain(&name));
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into());
        }
        match (change, view) {
            (Change::Owner(role), _) => self.check_owner(role)?,
            (Change::SetSchema(schema), view) => {
                check_move(&name, schema)?;
                let place = self.view().place(&RelationName::within(schema, plain(&name)))?;
                self.keep_schema(schema)?;
                if place == name {
                    return Ok(());
                }
                if let Some((table, _)) = sequence.as_ref().and_then(|sequence| sequence.owner.as_ref()) {
                    let message = "cannot move an owned sequence into another schema";
                    return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                        .detail(format!("Sequence \"{}\" is linked to table \"{table}\".", plain(&name)))
                        .into());
                }
                self.claim_in(schema, plain(&name))?;
                match (table, view, sequence) {
                    (Some(_), ..) => {
                        let table = self.owned_table(&name)?;
                        self.move_with_sequences(&table, schema)?;
                    }
                    (_, Some(view), _) => self.move_view(&view, &place)?,
                    (_, _, Some(sequence)) => self.move_sequence(&sequence, place),
                    _ => return Err(unsupported("SET SCHEMA of an index").into()),
                }
                self.check_all_views(schema)?;
            }
            (Change::DropExpression(column, if_exists), _) => {
                let table = self.owned_table(&name)?;
                self.check_settled(&table, "ALTER TABLE")?;
                self.drop_expression(&table, column, *if_exists)?;
            }
            (Change::SetOptions(options), Some(view)) => self.set_view_options(&view, options)?,
            (Change::ResetOptions(names), Some(view)) => self.reset_view_options(&view, names)?,
            (Change::Default(column, text), Some(view)) => {
                let expr = text.as_ref().map(|text| parse_expr(text)).transpose()?;
                self.set_view_default(&view, column, expr.as_deref())?;
            }
            // The parser reads these for views alone.
            (Change::SetOptions(_) | Change::ResetOptions(_) | Change::Default(..), None) => {}
            (Change::Rename(new), Some(view)) => self.rename_view(&view, new)?,
            (Change::RenameColumn(old, new), Some(view)) => self.rename_view_column(&view, old, new)?,
            (Change::Rename(_) | Change::RenameColumn(..), None) => {
                let table = self.owned_materialized(&name)?;
                match change {
                    Change::RenameColumn(old, new) => self.rename_column(&table, old, new)?,
                    Change::Rename(new) => self.rename_table(&table, new)?,
                    _ => {}
                }
                self.check_unbroken(&name)?;
            }
        }
        Ok(())
    }

    /// Runs ALTER VIEW … RENAME TO.
    pub(super) fn rename_view(&mut self, view: &StoredView, new: &str) -> Result<(), Fail> {
        let new = schema::full(schema::split(&view.name).0, new);
        self.claim(&new)?;
        self.rename_in_functions(&view.name, &new)?;
        self.context.transaction.changes.views.insert(view.name.clone(), None);
        let renamed = StoredView { name: new.clone(), ..view.clone() };
        self.context.transaction.changes.views.insert(new, Some(Arc::new(renamed)));
        Ok(self.check_unbroken(&view.name)?)
    }

    /// Fails if a view over a relation can no longer be bound, because the relation or its columns have other names
    /// now.
    fn check_unbroken(&self, relation: &str) -> Result<(), SqlError> {
        self.broken_views(relation).first().map_or(Ok(()), |broken| Err(would_break(broken)))
    }

    pub(super) fn rename_view_column(&mut self, view: &StoredView, old: &str, new: &str) -> Result<(), Fail> {
        let mut changed = view.clone();
        if changed.columns.iter().any(|column| column.name == new) {
            let message = format!("column \"{new}\" of relation \"{}\" already exists", view.name);
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message).into());
        }
        let Some(column) = changed.columns.iter_mut().find(|column| column.name == old) else {
            let message = format!("column \"{old}\" does not exist");
            return Err(SqlError::new(state::UNDEFINED_COLUMN, message).into());
        };
        new.clone_into(&mut column.name);
        let names: Vec<_> = changed.columns.iter().map(|column| column.name.clone()).collect();
        changed.query = with_column_names(&changed.query, &names)?;
        rename_in_triggers(&mut changed.triggers, plain(&view.name), old, new)?;
        rename_comment(&mut changed.comments, Part::Column, old, new);
        self.context.transaction.changes.views.insert(view.name.clone(), Some(Arc::new(changed)));
        Ok(self.check_unbroken(&view.name)?)
    }
}

fn would_break(view: &StoredView) -> SqlError {
    unsupported("another name of what a view shows")
        .detail(format!("View {} could not be made any more.", view.name))
        .hint("Drop the view, and create it again afterwards.")
}

/// Returns the name of the lock on a schema. No relation has this name.
pub(super) fn schema_lock(name: &str) -> String {
    format!("\0schema\0{name}")
}
