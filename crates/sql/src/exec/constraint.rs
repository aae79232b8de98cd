//! FOREIGN KEY in definitions, and the foreign keys that depend on tables, columns and indexes.
//!
//! A key is part of two definitions, so the statement that makes or drops a key has locked both tables.

use super::ddl::{Ddl, duplicate_constraint};
use super::temporary::check_references;
use super::{Fail, scan};
use crate::bind::Binder;
use crate::catalog::foreign_key::{ForeignKey, ReferentialAction, Referrer, values_of};
use crate::catalog::{Rules, Table};
use crate::expr::{Env, Strictness, can_cast};
use crate::parse::names::fold;
use crate::schema::made_names;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::{KeySpec, Type};
use hotrow_sync::Arc;
use hotrow_txn::LockFor;
use sqlparser::ast;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The objects that depend on objects which a statement is about to drop.
#[derive(Default)]
pub(super) struct Dependents {
    /// The name that messages give to the object; empty if there are several.
    pub(super) subject: String,
    /// The dependent objects, each with the name that messages give to the object that it depends on.
    list: Vec<(Dependent, String)>,
}

/// An object that depends on another one.
enum Dependent {
    Key(Referrer),
    /// A column: the full name of its table, and its own name.
    Column(String, String),
    /// A trigger: the full name of its table or view, and its own name.
    Trigger(String, String),
}

impl Dependents {
    pub(super) fn new(subject: String) -> Self {
        Self { subject, list: Vec::new() }
    }

    /// Adds a key that depends on the object `on`.
    pub(super) fn push(&mut self, child: &Table, key: &ForeignKey, on: &str) {
        let referrer = Referrer { table: child.name().to_owned(), constraint: key.name.clone() };
        self.list.push((Dependent::Key(referrer), on.to_owned()));
    }

    /// Adds a column that depends on the object that messages call `on`.
    pub(super) fn push_column(&mut self, table: &Table, column: usize, on: &str) {
        let column = table.schema.columns[column].name.clone();
        self.list.push((Dependent::Column(table.name().to_owned(), column), on.to_owned()));
    }

    /// Adds a trigger that depends on the object that messages call `on`.
    pub(super) fn push_trigger(&mut self, relation: &str, trigger: &str, on: &str) {
        self.list.push((Dependent::Trigger(relation.to_owned(), trigger.to_owned()), on.to_owned()));
    }
}

impl Ddl<'_> {
    /// Adds a foreign key from these columns to a table, which must be locked and published. If `validate` is set, the
    /// existing rows must satisfy the key.
    pub(super) fn add_foreign_key(
        &mut self,
        table: &Arc<Table>,
        given: Option<String>,
        columns: &[String],
        definition: &ast::ForeignKeyConstraint,
        validate: bool,
    ) -> Result<(), Fail> {
        let (deferrable, deferred) = deferrability(definition.characteristics.as_ref())?;
        if definition.match_kind == Some(ast::ConstraintReferenceMatchKind::Partial) {
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented").into());
        }
        let name = self.foreign_key_name(table, given, columns)?;
        let parent_name = self.found(&definition.foreign_table)?;
        if self.view().has_relation(&parent_name) && self.check_plain_table(&parent_name).is_err() {
            let message = format!("referenced relation \"{parent_name}\" is not a table");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into());
        }
        check_references(table.name(), &parent_name)?;
        let parent = if parent_name == table.name() { table.clone() } else { self.owned_table(&parent_name)? };
        self.check_settled(&parent, "ALTER TABLE")?;
        let own = positions(table, columns)?;
        let referenced = referenced_columns(&parent, &definition.referred_columns)?;
        if own.len() != referenced.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(SqlError::new(state::INVALID_FOREIGN_KEY, message).into());
        }
        let key = ForeignKey {
            name,
            columns: own,
            table: parent_name,
            referenced: referenced.iter().map(|&column| parent.schema.columns[column].name.clone()).collect(),
            on_delete: action(definition.on_delete),
            on_update: action(definition.on_update),
            full: definition.match_kind == Some(ast::ConstraintReferenceMatchKind::Full),
            deferrable,
            deferred,
            validated: validate,
        };
        check_actions(table, &key)?;
        if key.on_delete.changes_rows() || key.on_update.changes_rows() {
            table.check_changeable()?;
        }
        check_types(table, &parent, &key)?;
        if validate {
            self.check_foreign_key(table, &parent, &key)?;
        }
        let referrer = Referrer { table: table.name().to_owned(), constraint: key.name.clone() };
        self.revise(table, |rules| rules.foreign_keys.push(key));
        let parent = self.view().table(parent.name()).unwrap_or(parent);
        self.revise(&parent, |rules| rules.referrers.push(referrer));
        Ok(())
    }

    /// Returns the name of a new foreign key: the given name, or one made of its table and columns.
    fn foreign_key_name(&self, table: &Table, given: Option<String>, columns: &[String]) -> Result<String, SqlError> {
        if let Some(name) = given {
            if table.has_name(&name) {
                return Err(duplicate_constraint(&name, table.name()));
            }
            return Ok(name);
        }
        let tables = self.view().tables();
        let schema = table.schema_name();
        let is_taken = |name: &String| tables.iter().any(|table| table.schema_name() == schema && table.has_name(name));
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        Ok(made_names(table.plain_name(), &columns, "fkey").find(|name| !is_taken(name)).unwrap_or_default())
    }

    /// Publishes a definition of a table with changed rules. The engine's table stays the same.
    fn revise(&mut self, table: &Arc<Table>, change: impl FnOnce(&mut Rules)) {
        let mut rules = table.rules.clone();
        change(&mut rules);
        self.publish(table.with(table.schema.clone(), rules));
    }

    /// Checks that the existing rows of a table satisfy a foreign key. Both tables must be locked.
    pub(super) fn check_foreign_key(
        &mut self,
        child: &Arc<Table>,
        parent: &Arc<Table>,
        key: &ForeignKey,
    ) -> Result<(), Fail> {
        self.txn.check_owned_table(child.id)?;
        self.txn.check_owned_table(parent.id)?;
        let types: Vec<_> = key.columns.iter().map(|&column| child.schema.columns[column].ty).collect();
        let columns = parent.referenced_columns(key);
        let lookup = Binder::new("", 0, self.view(), Vec::new()).look_up(parent, &columns, &types, LockFor::Read)?;
        let spec = KeySpec::bytes(&child.schema.columns, &key.columns);
        let (mut seen, mut wanted, mut failed) = (HashSet::new(), Vec::new(), None);
        let env = self.env;
        self.txn.scan(&scan::everything(child), &mut |row| {
            let values = values_of(row, &key.columns);
            let checked = env
                .check_cancelled()
                .and_then(|()| env.memory.check_push(&seen))
                .and_then(|()| env.memory.check_push(&wanted));
            if let Err(error) = checked {
                failed = Some(error);
            } else if !key.is_exempt(&values) && seen.insert(spec.key(values.iter().cloned())) {
                wanted.push(values);
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        for values in wanted {
            self.env.check_cancelled()?;
            let env = Env { params: &values, ..self.env };
            let mut found = false;
            if ForeignKey::refers(&values) {
                scan::run(&lookup, self.txn, &env, &mut |_| {
                    found = true;
                    Ok(ControlFlow::Break(()))
                })?;
            }
            if !found {
                return Err(key.not_present(child, &values).into());
            }
        }
        Ok(())
    }

    /// Runs VALIDATE CONSTRAINT.
    pub(super) fn validate_constraint(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Fail> {
        let Some(key) = table.foreign_key(name).cloned() else {
            let relation = format!("constraint \"{name}\" of relation \"{}\"", table.name());
            if table.rules.checks.iter().any(|check| check.name == name) {
                return Ok(());
            }
            return Err(if table.has_name(name) {
                let message = format!("{relation} is not a foreign key or check constraint");
                SqlError::new(state::WRONG_OBJECT_TYPE, message)
            } else {
                SqlError::new(state::UNDEFINED_OBJECT, format!("{relation} does not exist"))
            }
            .into());
        };
        let parent = self.owned_table(&key.table)?;
        self.check_foreign_key(table, &parent, &key)?;
        self.revise(table, |rules| {
            rules.foreign_keys.iter_mut().filter(|key| key.name == name).for_each(|key| key.validated = true);
        });
        Ok(())
    }

    /// Drops a foreign key from the definitions of both its tables.
    pub(super) fn drop_foreign_key(&mut self, table: &str, name: &str) -> Result<(), Fail> {
        let child = self.owned_table(table)?;
        let Some(key) = child.foreign_key(name).cloned() else { return Ok(()) };
        self.check_settled(&child, "ALTER TABLE")?;
        self.revise(&child, |rules| rules.foreign_keys.retain(|key| key.name != name));
        self.forget_referrer(&key.table, table, name)
    }

    /// Removes a key from its referenced table's list of referrers.
    pub(super) fn forget_referrer(&mut self, parent: &str, table: &str, name: &str) -> Result<(), Fail> {
        let parent = self.owned_table(parent)?;
        self.revise(&parent, |rules| {
            rules.referrers.retain(|referrer| referrer.table != table || referrer.constraint != name);
        });
        Ok(())
    }

    /// Drops the dependent objects, and sends a notice that lists them.
    ///
    /// # Errors
    /// 2BP01 if there are any and the statement does not say CASCADE.
    pub(super) fn drop_dependent_objects(&mut self, dependents: Dependents, cascade: bool) -> Result<(), Fail> {
        let Dependents { subject, list } = dependents;
        if list.is_empty() {
            return Ok(());
        }
        let view = self.view();
        let named = |dependent: &Dependent| match dependent {
            Dependent::Key(key) => format!("constraint {} on table {}", key.constraint, view.written(&key.table)),
            Dependent::Column(table, column) => format!("column {column} of table {}", view.written(table)),
            Dependent::Trigger(relation, trigger) => {
                let kind = if view.view(relation).is_some() { "view" } else { "table" };
                format!("trigger {trigger} on {kind} {}", view.written(relation))
            }
        };
        if !cascade {
            let lines: Vec<_> = list.iter().map(|(one, on)| format!("{} depends on {on}", named(one))).collect();
            let message = match subject.as_str() {
                "" => "cannot drop desired object(s) because other objects depend on them".to_owned(),
                subject => format!("cannot drop {subject} because other objects depend on it"),
            };
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                .into());
        }
        let lines: Vec<_> = list.iter().map(|(one, _)| format!("drop cascades to {}", named(one))).collect();
        let error = match &lines[..] {
            [line] => SqlError::new(state::SUCCESSFUL_COMPLETION, line.as_str()),
            _ => {
                let message = format!("drop cascades to {} other objects", lines.len());
                SqlError::new(state::SUCCESSFUL_COMPLETION, message).detail(lines.join("\n"))
            }
        };
        self.notice_with(error);
        list.iter().try_for_each(|(one, _)| match one {
            Dependent::Key(key) => self.drop_foreign_key(&key.table, &key.constraint),
            Dependent::Column(table, column) => {
                let table = self.owned_table(table)?;
                self.drop_column(&table, column, false, true)
            }
            Dependent::Trigger(relation, trigger) => {
                let owner = self.owner_named(relation)?;
                self.change_triggers(&owner, |triggers| triggers.retain(|known| known.name != *trigger));
                Ok(())
            }
        })
    }

    /// Returns the foreign keys that refer to a table, each with the table that it belongs to.
    pub(super) fn referrers_of(&self, table: &Table) -> Vec<(Arc<Table>, ForeignKey)> {
        self.view().referrers(table)
    }

    /// Returns the foreign keys that refer to a table and find its rows by this index. Messages call the index
    /// `subject`.
    pub(super) fn dependents_of_index(&self, table: &Table, subject: String, index: &str) -> Dependents {
        let mut dependents = Dependents::new(subject);
        for (child, key) in self.referrers_of(table) {
            let used = table.referenced_index(&table.referenced_columns(&key));
            if used.is_some_and(|used| table.index_name(used) == index) {
                dependents.push(&child, &key, &format!("index {index}"));
            }
        }
        dependents
    }

    /// Puts a table's new name into the foreign keys that refer to the table or belong to it.
    pub(super) fn rename_in_keys(&mut self, renamed: &Arc<Table>, old: &str) -> Result<(), Fail> {
        let new = renamed.name();
        for referrer in renamed.rules.referrers.iter().filter(|referrer| referrer.table != old) {
            let child = self.owned_table(&referrer.table)?;
            let of_table = |key: &&mut ForeignKey| key.table == old;
            self.revise(&child, |rules| {
                rules.foreign_keys.iter_mut().filter(of_table).for_each(|key| new.clone_into(&mut key.table));
            });
        }
        for key in renamed.rules.foreign_keys.iter().filter(|key| key.table != old) {
            let parent = self.owned_table(&key.table)?;
            let of_table = |referrer: &&mut Referrer| referrer.table == old;
            self.revise(&parent, |rules| {
                rules.referrers.iter_mut().filter(of_table).for_each(|referrer| new.clone_into(&mut referrer.table));
            });
        }
        // The keys that refer from the table to itself.
        self.revise(renamed, |rules| {
            rules.foreign_keys.iter_mut().filter(|key| key.table == old).for_each(|key| new.clone_into(&mut key.table));
            let own = rules.referrers.iter_mut().filter(|referrer| referrer.table == old);
            own.for_each(|referrer| new.clone_into(&mut referrer.table));
        });
        Ok(())
    }

    /// Puts a column's new name into the foreign keys that refer to it.
    pub(super) fn rename_referenced(&mut self, table: &str, old: &str, new: &str) -> Result<(), Fail> {
        let Some(parent) = self.view().table(table) else { return Ok(()) };
        for referrer in &parent.rules.referrers {
            let child = self.owned_table(&referrer.table)?;
            self.revise(&child, |rules| {
                let keys = rules.foreign_keys.iter_mut().filter(|key| key.table == table);
                for column in keys.flat_map(|key| &mut key.referenced).filter(|column| *column == old) {
                    new.clone_into(column);
                }
            });
        }
        Ok(())
    }

    /// Renames a foreign key. The new name must be free.
    pub(super) fn rename_foreign_key(&mut self, table: &Arc<Table>, old: &str, new: &str) -> Result<(), Fail> {
        let Some(key) = table.foreign_key(old) else { return Ok(()) };
        self.revise(table, |rules| {
            rules.foreign_keys.iter_mut().filter(|key| key.name == old).for_each(|key| new.clone_into(&mut key.name));
        });
        let parent = self.owned_table(&key.table)?;
        self.revise(&parent, |rules| {
            let referrers = rules.referrers.iter_mut();
            let own = referrers.filter(|referrer| referrer.table == table.name() && referrer.constraint == old);
            own.for_each(|referrer| new.clone_into(&mut referrer.constraint));
        });
        Ok(())
    }

    /// Checks the foreign keys of a column anew after its type has changed.
    pub(super) fn check_keys_of_column(&mut self, table: &str, at: usize) -> Result<(), Fail> {
        let table = self.owned_table(table)?;
        for key in table.rules.foreign_keys.iter().filter(|key| key.columns.contains(&at)) {
            let parent = self.owned_table(&key.table)?;
            check_types(&table, &parent, key)?;
            self.check_foreign_key(&table, &parent, key)?;
        }
        for (child, key) in self.referrers_of(&table) {
            if table.referenced_columns(&key).contains(&at) {
                let child = self.owned_table(child.name())?;
                check_types(&child, &table, &key)?;
                self.check_foreign_key(&child, &table, &key)?;
            }
        }
        Ok(())
    }

    /// Fails if the transaction has yet to make deferred checks of a table's rows. `what` names the statement in the
    /// message.
    pub(super) fn check_settled(&self, table: &Table, what: &str) -> Result<(), SqlError> {
        if !self.deferred.concerns(table.name()) {
            return Ok(());
        }
        let message = format!("cannot {what} \"{}\" because it has pending trigger events", table.name());
        Err(SqlError::new(state::OBJECT_IN_USE, message))
    }

    /// Returns the tables that TRUNCATE empties, locked exclusively: the named tables, and with CASCADE all that refer
    /// to them. Fails without CASCADE if a table refers to one of them that is not named, too.
    pub(super) fn truncated(&mut self, names: &[String], cascade: bool) -> Result<Vec<Arc<Table>>, Fail> {
        let mut tables: Vec<Arc<Table>> = Vec::with_capacity(names.len());
        for name in names {
            if !tables.iter().any(|table| table.name() == name) {
                self.check_plain_table(name)?;
                tables.push(self.owned_table(name)?);
            }
        }
        let mut at = 0;
        while at < tables.len() {
            let parent = tables[at].clone();
            for (child, _) in self.referrers_of(&parent) {
                if tables.iter().any(|table| table.name() == child.name()) {
                    continue;
                }
                if !cascade {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    let (child, parent) = (child.name(), parent.name());
                    return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                        .detail(format!("Table \"{child}\" references \"{parent}\"."))
                        .hint(format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."))
                        .into());
                }
                self.notice(state::SUCCESSFUL_COMPLETION, format!("truncate cascades to table \"{}\"", child.name()));
                tables.push(self.owned_table(child.name())?);
            }
            at += 1;
        }
        tables.iter().try_for_each(|table| {
            table.check_changeable()?;
            self.check_settled(table, "TRUNCATE")
        })?;
        Ok(tables)
    }
}

fn undefined_column(name: &str) -> SqlError {
    let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
    SqlError::new(state::UNDEFINED_COLUMN, message)
}

fn positions(table: &Table, columns: &[String]) -> Result<Vec<usize>, SqlError> {
    let visible = table.visible();
    let position = |name: &String| table.schema.column(name).filter(|&column| column < visible);
    columns.iter().map(|name| position(name).ok_or_else(|| undefined_column(name))).collect()
}

/// Returns the columns that a foreign key refers to: those listed, or those of the primary key if none are listed.
fn referenced_columns(parent: &Table, listed: &[ast::Ident]) -> Result<Vec<usize>, SqlError> {
    if listed.is_empty() {
        if parent.rules.primary_key.is_none() {
            let message = format!("there is no primary key for referenced table \"{}\"", parent.name());
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        }
        return Ok(parent.schema.key.clone());
    }
    let names: Vec<_> = listed.iter().map(fold).collect();
    let columns = positions(parent, &names)?;
    if (1..columns.len()).any(|at| columns[..at].contains(&columns[at])) {
        let message = "foreign key referenced-columns list must not contain duplicates";
        return Err(SqlError::new(state::INVALID_FOREIGN_KEY, message));
    }
    if parent.referenced_index(&columns).is_none() {
        let message =
            format!("there is no unique constraint matching given keys for referenced table \"{}\"", parent.name());
        return Err(SqlError::new(state::INVALID_FOREIGN_KEY, message));
    }
    Ok(columns)
}

/// Whether values of type `from` can refer to values of type `to`.
fn are_compatible(from: Type, to: Type) -> bool {
    let floats = |ty| matches!(ty, Type::Float4 | Type::Float8);
    let times = |ty| matches!(ty, Type::Date | Type::Timestamp(_) | Type::TimestampTz(_));
    let family = |is: &dyn Fn(Type) -> bool| is(from) && is(to);
    family(&Type::is_integer) || family(&floats) || family(&times) || can_cast(from, to, Strictness::Implicit)
}

/// Checks that no action of a foreign key would assign a value to a generated column.
///
/// # Errors
/// 42601 if one would.
fn check_actions(table: &Table, key: &ForeignKey) -> Result<(), SqlError> {
    use ReferentialAction::{Cascade, SetDefault, SetNull};
    if !key.columns.iter().any(|&column| table.is_generated(column)) {
        return Ok(());
    }
    let event = if matches!(key.on_update, Cascade | SetNull | SetDefault) {
        "UPDATE"
    } else if matches!(key.on_delete, SetNull | SetDefault) {
        "DELETE"
    } else {
        return Ok(());
    };
    let message = format!("invalid ON {event} action for foreign key constraint containing generated column");
    Err(SqlError::new(state::SYNTAX_ERROR, message))
}

fn check_types(child: &Table, parent: &Table, key: &ForeignKey) -> Result<(), SqlError> {
    for (&own, referenced) in key.columns.iter().zip(parent.referenced_columns(key)) {
        let (own, referenced) = (&child.schema.columns[own], &parent.schema.columns[referenced]);
        if !are_compatible(own.ty, referenced.ty) {
            let message = format!("foreign key constraint \"{}\" cannot be implemented", key.name);
            let (from, to) = (type_name(Some(own.ty)), type_name(Some(referenced.ty)));
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message).detail(format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {from} and {to}.",
                own.name, referenced.name
            )));
        }
    }
    Ok(())
}

fn action(written: Option<ast::ReferentialAction>) -> ReferentialAction {
    match written {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferentialAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// Refuses a deferrable unique constraint: uniqueness is always checked at once.
pub(super) fn check_immediate(characteristics: Option<&ast::ConstraintCharacteristics>) -> Result<(), SqlError> {
    let (deferrable, _) = deferrability(characteristics)?;
    if deferrable { Err(crate::error::unsupported("a deferrable unique constraint")) } else { Ok(()) }
}

/// Returns whether a constraint is deferrable, and whether it is deferred to begin with.
fn deferrability(characteristics: Option<&ast::ConstraintCharacteristics>) -> Result<(bool, bool), SqlError> {
    let Some(characteristics) = characteristics else { return Ok((false, false)) };
    if characteristics.enforced == Some(false) {
        return Err(crate::error::unsupported("NOT ENFORCED"));
    }
    let deferred = characteristics.initially == Some(ast::DeferrableInitial::Deferred);
    if deferred && characteristics.deferrable == Some(false) {
        let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    Ok((deferred || characteristics.deferrable == Some(true), deferred))
}
