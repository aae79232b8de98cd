//! CREATE, ALTER and DROP TRIGGER, and those clauses of ALTER TABLE that are about triggers.

use super::Fail;
use super::constraint::Dependents;
use super::ddl::Ddl;
use crate::bind::check_trigger;
use crate::catalog::procedure::{Procedure, Returns, lock_of};
use crate::catalog::trigger::Trigger;
use crate::catalog::view::StoredView;
use crate::catalog::{Comments, Part, Rules, Table, rename_comment};
use crate::error::unsupported;
use crate::parse::lex::tokenize;
use crate::parse::trigger::{CreateTrigger, TriggerStatement, TriggerTime};
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
        let owner = self.owner_of_trigger(&create.table)?;
        owner.check(create)?;
        let table = owner.table().clone();
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
        self.change_triggers(&owner, |triggers| {
            triggers.retain(|known| known.name != trigger.name);
            triggers.push(trigger);
        });
        Ok(())
    }

    fn rename_trigger(&mut self, name: &str, table: &RelationName, new: &str) -> Result<(), Fail> {
        let owner = self.owner_of_trigger(table)?;
        let table = owner.table().clone();
        let trigger = table.trigger(name).ok_or_else(|| undefined_trigger(&table, name))?.clone();
        if table.trigger(new).is_some() {
            let message = format!("trigger \"{new}\" for relation \"{}\" already exists", table.plain_name());
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
        }
        let renamed = Arc::new(Trigger::new(new.to_owned(), trigger.definition.clone(), trigger.is_enabled));
        let owner = owner.with_comments(|comments| rename_comment(comments, Part::Trigger, name, new));
        self.change_triggers(&owner, |triggers| {
            triggers.retain(|known| known.name != name);
            triggers.push(renamed);
        });
        Ok(())
    }

    fn drop_trigger(&mut self, name: &str, table: &RelationName, if_exists: bool) -> Result<(), Fail> {
        let full = self.view().find(table);
        if if_exists && self.view().table(&full).is_none() && self.view().view(&full).is_none() {
            let message = format!("relation \"{table}\" does not exist, skipping");
            self.notice(state::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        let owner = self.owner_of_trigger(table)?;
        let table = owner.table().clone();
        if table.trigger(name).is_some() {
            self.change_triggers(&owner, |triggers| triggers.retain(|known| known.name != name));
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
        self.change_triggers(&Owner::Table(table.clone()), |triggers| {
            for known in triggers.iter_mut().filter(|known| is_all || known.name == name) {
                *known = Arc::new(Trigger::new(known.name.clone(), known.definition.clone(), enables));
            }
        });
        Ok(())
    }

    fn owner_of_trigger(&mut self, name: &RelationName) -> Result<Owner, Fail> {
        let full = self.view().find(name);
        if self.view().table(&full).is_none() && self.view().view(&full).is_none() {
            return Err(match self.view().has_relation(&full) {
                true => unsupported("a trigger of what is no table").into(),
                false => undefined_table(&full).into(),
            });
        }
        self.owner_named(&full)
    }

    /// Returns the table or view of this full name, locked exclusively.
    pub(super) fn owner_named(&mut self, name: &str) -> Result<Owner, Fail> {
        if self.view().view(name).is_none() {
            return self.owned_table(name).map(Owner::Table);
        }
        self.lock(name, Mode::Exclusive)?;
        let view = self.view().view(name).ok_or_else(|| undefined_table(name))?;
        let shape = view.shape(self.view().catalog.lock(name));
        Ok(Owner::View(view, shape))
    }

    /// Changes the list of a relation's triggers by `change`, and sorts it by name.
    pub(super) fn change_triggers(&mut self, owner: &Owner, change: impl FnOnce(&mut Vec<Arc<Trigger>>)) {
        let mut triggers = owner.table().rules.triggers.clone();
        change(&mut triggers);
        triggers.sort_by(|one, other| one.name.cmp(&other.name));
        match owner {
            Owner::Table(table) => {
                let rules = Rules { triggers, ..table.rules.clone() };
                self.publish(table.with(table.schema.clone(), rules));
            }
            Owner::View(view, _) => {
                let mut changed = StoredView { triggers, ..(**view).clone() };
                let StoredView { comments, triggers, .. } = &mut changed;
                let is_there = |name: &String| triggers.iter().any(|known| known.name == *name);
                comments.retain(|part, _| if let Part::Trigger(name) = part { is_there(name) } else { true });
                self.replace_query(changed);
            }
        }
    }

    /// Returns the full names of the tables and views with triggers for which `wanted` is true.
    fn owners(&self, wanted: impl Fn(&Trigger) -> bool) -> Vec<String> {
        let fits = |triggers: &[Arc<Trigger>]| triggers.iter().any(|trigger| wanted(trigger));
        let tables = self.view().tables().into_iter().filter(|table| fits(&table.rules.triggers));
        let views = self.view().views().into_iter().filter(|view| fits(&view.triggers));
        tables.map(|table| table.name().to_owned()).chain(views.map(|view| view.name.clone())).collect()
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
        let view = self.view();
        let tables = view.tables().into_iter().map(|table| (table.name().to_owned(), table.rules.triggers.clone()));
        let views = view.views().into_iter().map(|view| (view.name.clone(), view.triggers.clone()));
        for (relation, triggers) in tables.chain(views) {
            for trigger in triggers.iter().filter(|known| known.runs(&procedure.name)) {
                dependents.push_trigger(&relation, &trigger.name, &subject);
            }
        }
        self.drop_dependent_objects(dependents, cascade)
    }

    /// Puts the new full name of a function into the triggers that run it.
    pub(super) fn move_in_triggers(&mut self, function: &Procedure, new: &str) -> Result<(), Fail> {
        let runs = |trigger: &Trigger| trigger.runs(&function.name);
        for name in self.owners(runs) {
            let owner = self.owner_named(&name)?;
            self.change_triggers(&owner, |triggers| {
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

/// A relation that has triggers, locked exclusively.
pub(super) enum Owner {
    /// A table.
    Table(Arc<Table>),
    /// A view, with its [shape](StoredView::shape).
    View(Arc<StoredView>, Arc<Table>),
}

impl Owner {
    /// Returns the table, or the shape of the view.
    pub(super) fn table(&self) -> &Arc<Table> {
        let (Owner::Table(table) | Owner::View(_, table)) = self;
        table
    }

    /// Returns the relation with other comments.
    fn with_comments(&self, change: impl Fn(&mut Comments)) -> Self {
        match self {
            Owner::Table(table) => {
                let mut rules = table.rules.clone();
                change(&mut rules.comments);
                Owner::Table(table.with(table.schema.clone(), rules))
            }
            Owner::View(view, shape) => {
                let mut view = (**view).clone();
                change(&mut view.comments);
                Owner::View(Arc::new(view), shape.clone())
            }
        }
    }

    /// Checks that a relation of this kind may have a trigger.
    ///
    /// # Errors
    /// 42809 for an INSTEAD OF trigger of a table, and for a BEFORE or AFTER trigger for the rows of a view. 0A000 if
    /// an INSTEAD OF trigger has clauses that it cannot have.
    fn check(&self, create: &CreateTrigger) -> Result<(), SqlError> {
        let is_instead = create.time == TriggerTime::InsteadOf;
        let (kind, detail) = match self {
            Owner::Table(_) if is_instead => ("table", "Tables cannot have INSTEAD OF triggers."),
            Owner::View(..) if !is_instead && create.for_rows => {
                ("view", "Views cannot have row-level BEFORE or AFTER triggers.")
            }
            _ => {
                let message = if !is_instead {
                    return Ok(());
                } else if !create.for_rows {
                    "INSTEAD OF triggers must be FOR EACH ROW"
                } else if create.when.is_some() {
                    "INSTEAD OF triggers cannot have WHEN conditions"
                } else if !create.events.columns.is_empty() {
                    "INSTEAD OF triggers cannot have column lists"
                } else {
                    return Ok(());
                };
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
        };
        let message = format!("\"{}\" is a {kind}", self.table().plain_name());
        Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(detail))
    }
}

/// Adds the triggers of a table that mention the column `column` to the dependents of that column.
pub(super) fn add_dependents(table: &Table, column: &str, subject: &str, dependents: &mut Dependents) {
    for trigger in &table.rules.triggers {
        if trigger.definition.events.columns.iter().any(|known| known == column) || tests(trigger, column) {
            dependents.push_trigger(table.name(), &trigger.name, subject);
        }
    }
}

/// Renames a column in the triggers of its table or view, which has this name without its schema.
///
/// # Errors
/// 0A000 if the condition of a trigger mentions the column, because the text of a condition cannot be changed.
pub(super) fn rename_in_triggers(
    triggers: &mut [Arc<Trigger>],
    table: &str,
    old: &str,
    new: &str,
) -> Result<(), SqlError> {
    for trigger in triggers {
        if tests(trigger, old) {
            let error = unsupported("another name of a column that the condition of a trigger mentions");
            let name = &trigger.name;
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
