//! CREATE, ALTER and DROP TRIGGER, and those clauses of ALTER TABLE that are about triggers.

use super::Fail;
use super::constraint::Dependents;
use super::ddl::Ddl;
use crate::bind::check_trigger;
use crate::catalog::procedure::{Procedure, Returns, lock_of};
use crate::catalog::trigger::Trigger;
use crate::catalog::{Part, Rules, Table, rename_comment};
use crate::error::unsupported;
use crate::parse::lex::tokenize;
use crate::parse::trigger::{CreateTrigger, TriggerStatement};
use crate::schema::{RelationName, not_for_materialized, split, undefined_table};
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_sync::Arc;

impl Ddl<'_> {
    /// Runs CREATE TRIGGER, ALTER TRIGGER … RENAME or DROP TRIGGER.
    pub(super) fn run_trigger(&mut self, statement: &TriggerStatement) -> Result<(), Fail> {
        match statement {
            TriggerStatement::Create(create) => self.create_trigger(create),
            TriggerStatement::Rename(name, table, new) => self.rename_trigger(name, table, new),
            TriggerStatement::Drop { name, table, if_exists } => self.drop_trigger(name, table, *if_exists),
        }
    }

    fn create_trigger(&mut self, create: &CreateTrigger) -> Result<(), Fail> {
        let table = self.table_of_trigger(&create.table)?;
        if table.rules.materialized.is_some() {
            let message = format!("relation \"{}\" cannot have triggers", table.plain_name());
            return Err(not_for_materialized(message).into());
        }
        table.check_changeable()?;
        if create.when.is_some() {
            // The condition may mention labels.
            self.keep_types_of(&table)?;
        }
        let mut create = create.clone();
        let function = check_trigger(&create, &table, self.view())?;
        self.lock(&lock_of(&function.name), Mode::Shared)?;
        let function = check_trigger(&create, &table, self.view())?;
        create.function = RelationName::within(function.schema_name(), function.plain_name());
        let known = table.trigger(&create.name).is_some();
        if known && !create.replace {
            let message = format!("trigger \"{}\" for relation \"{}\" already exists", create.name, table.plain_name());
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
        }
        let trigger = Arc::new(Trigger::new(create.name.clone(), Arc::new(create), true));
        self.change_triggers(&table, |triggers| {
            triggers.retain(|known| known.name != trigger.name);
            triggers.push(trigger);
        });
        Ok(())
    }

    fn rename_trigger(&mut self, name: &str, table: &RelationName, new: &str) -> Result<(), Fail> {
        let table = self.table_of_trigger(table)?;
        let trigger = table.trigger(name).ok_or_else(|| undefined_trigger(&table, name))?.clone();
        if table.trigger(new).is_some() {
            let message = format!("trigger \"{new}\" for relation \"{}\" already exists", table.plain_name());
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
        }
        let renamed = Arc::new(Trigger::new(new.to_owned(), trigger.definition.clone(), trigger.is_enabled));
        let mut rules = table.rules.clone();
        rename_comment(&mut rules.comments, Part::Trigger, name, new);
        let table = table.with(table.schema.clone(), rules);
        self.change_triggers(&table, |triggers| {
            triggers.retain(|known| known.name != name);
            triggers.push(renamed);
        });
        Ok(())
    }

    fn drop_trigger(&mut self, name: &str, table: &RelationName, if_exists: bool) -> Result<(), Fail> {
        let full = self.view().find(table);
        if if_exists && self.view().table(&full).is_none() {
            let message = format!("relation \"{table}\" does not exist, skipping");
            self.notice(state::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        let table = self.table_of_trigger(table)?;
        if table.trigger(name).is_some() {
            self.change_triggers(&table, |triggers| triggers.retain(|known| known.name != name));
            return Ok(());
        }
        let error = undefined_trigger(&table, name);
        if !if_exists {
            return Err(error.into());
        }
        let message = format!("trigger \"{name}\" for relation \"{}\" does not exist, skipping", table.plain_name());
        self.notice(state::SUCCESSFUL_COMPLETION, message);
        Ok(())
    }

    /// Runs ALTER TABLE … ENABLE TRIGGER or DISABLE TRIGGER. The names ALL and USER mean all triggers.
    pub(super) fn enable_triggers(&mut self, table: &Arc<Table>, name: &str, enables: bool) -> Result<(), Fail> {
        let is_all = ["all", "user"].contains(&name);
        if !is_all && table.trigger(name).is_none() {
            return Err(undefined_trigger(table, name).into());
        }
        self.change_triggers(table, |triggers| {
            for known in triggers.iter_mut().filter(|known| is_all || known.name == name) {
                *known = Arc::new(Trigger::new(known.name.clone(), known.definition.clone(), enables));
            }
        });
        Ok(())
    }

    fn table_of_trigger(&mut self, name: &RelationName) -> Result<Arc<Table>, Fail> {
        let full = self.view().find(name);
        if self.view().table(&full).is_none() {
            return Err(match self.view().has_relation(&full) {
                true => unsupported("a trigger of what is no table").into(),
                false => undefined_table(&full).into(),
            });
        }
        self.owned_table(&full)
    }

    /// Changes the list of a table's triggers by `change`, and sorts it by name.
    pub(super) fn change_triggers(&mut self, table: &Arc<Table>, change: impl FnOnce(&mut Vec<Arc<Trigger>>)) {
        let mut rules: Rules = table.rules.clone();
        change(&mut rules.triggers);
        rules.triggers.sort_by(|one, other| one.name.cmp(&other.name));
        self.publish(table.with(table.schema.clone(), rules));
    }

    /// Drops the triggers that run a function.
    ///
    /// # Errors
    /// 2BP01 if there are any and `cascade` is not set.
    pub(super) fn drop_triggers_of(&mut self, procedure: &Procedure, cascade: bool) -> Result<(), Fail> {
        if procedure.function.as_ref().is_none_or(|function| function.returns != Returns::Trigger) {
            return Ok(());
        }
        let subject = format!("function {}", procedure.signature());
        let mut dependents = Dependents::new(subject.clone());
        for table in self.view().tables() {
            for trigger in table.rules.triggers.iter().filter(|known| known.runs(&procedure.name)) {
                dependents.push_trigger(&table, &trigger.name, &subject);
            }
        }
        self.drop_dependent_objects(dependents, cascade)
    }

    /// Puts the new full name of a function into the triggers that run it.
    pub(super) fn move_in_triggers(&mut self, function: &Procedure, new: &str) -> Result<(), Fail> {
        let runs = |trigger: &Arc<Trigger>| trigger.runs(&function.name);
        let mut tables = self.view().tables();
        tables.retain(|table| table.rules.triggers.iter().any(runs));
        for table in tables {
            let table = self.owned_table(table.name())?;
            self.change_triggers(&table, |triggers| {
                for trigger in triggers.iter_mut().filter(|trigger| runs(trigger)) {
                    let (schema, name) = split(new);
                    let function = RelationName::within(schema, name);
                    let definition = CreateTrigger { function, ..(*trigger.definition).clone() };
                    *trigger = Arc::new(Trigger::new(trigger.name.clone(), Arc::new(definition), trigger.is_enabled));
                }
            });
        }
        Ok(())
    }
}

/// Adds the triggers of a table that mention the column `column` to the dependents of that column.
pub(super) fn add_dependents(table: &Table, column: &str, subject: &str, dependents: &mut Dependents) {
    for trigger in &table.rules.triggers {
        if trigger.definition.events.columns.iter().any(|known| known == column) || tests(trigger, column) {
            dependents.push_trigger(table, &trigger.name, subject);
        }
    }
}

/// Renames a column in the triggers of its table.
///
/// # Errors
/// 0A000 if the condition of a trigger mentions the column, because the text of a condition cannot be changed.
pub(super) fn rename_in_triggers(table: &Table, rules: &mut Rules, old: &str, new: &str) -> Result<(), SqlError> {
    for trigger in &mut rules.triggers {
        if tests(trigger, old) {
            let error = unsupported("another name of a column that the condition of a trigger mentions");
            let (name, table) = (&trigger.name, table.plain_name());
            return Err(error.detail(format!("Trigger {name} on table {table} mentions column \"{old}\".")));
        }
        let mut definition = (*trigger.definition).clone();
        for column in definition.events.columns.iter_mut().filter(|column| *column == old) {
            new.clone_into(column);
        }
        *trigger = Arc::new(Trigger::new(trigger.name.clone(), Arc::new(definition), trigger.is_enabled));
    }
    Ok(())
}

/// Whether the condition of a trigger may mention a column. Compares words of its text, so that another object of the
/// same name counts, too.
fn tests(trigger: &Trigger, column: &str) -> bool {
    let Some(when) = &trigger.definition.when else { return false };
    let (text, mut tokens) = (&when.text.text, Vec::new());
    tokenize(text, &mut tokens).is_err()
        || tokens.iter().any(|token| {
            let word = text[token.start..token.end].trim_matches('"');
            word == column || word.eq_ignore_ascii_case(column)
        })
}

pub(super) fn undefined_trigger(table: &Table, name: &str) -> SqlError {
    let message = format!("trigger \"{name}\" for table \"{}\" does not exist", table.plain_name());
    SqlError::new(state::UNDEFINED_OBJECT, message)
}
