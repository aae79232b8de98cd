//! COMMENT ON. A comment is part of the definition that it is about, and is dropped and renamed with it.

use super::Fail;
use super::ddl::Ddl;
use super::domain::{constraint_of, no_domain};
use super::triggers::{Owner, undefined_trigger};
use crate::catalog::domain::Domain;
use crate::catalog::enumeration::EnumType;
use crate::catalog::sequence::Sequence;
use crate::catalog::view::StoredView;
use crate::catalog::{Comments, NamedType, Part, Table, column_of};
use crate::parse::definition::{Commented, RelationKind};
use crate::schema::{RelationName, Schema, plain, undefined_schema, undefined_table};
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_sync::Arc;

impl Ddl<'_> {
    /// Runs COMMENT ON. `None` removes the comment.
    pub(super) fn comment(&mut self, commented: &Commented, text: Option<&str>) -> Result<(), Fail> {
        match commented {
            Commented::Relation(kind, name) => self.comment_relation(*kind, name, text)?,
            Commented::Index(name) => {
                let name = self.view().find(name);
                let Some(table) = self.view().table_of_index(&name) else {
                    return Err(self.wrong_kind(&name, "an index").into());
                };
                self.comment_table(table.name(), Part::Index(plain(&name).to_owned()), text)?;
            }
            Commented::Column(relation, column) => {
                let name = self.view().find(relation);
                if let Some(view) = self.view().view(&name) {
                    if !view.columns.iter().any(|known| known.name == *column) {
                        let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
                        return Err(SqlError::new(state::UNDEFINED_COLUMN, message).into());
                    }
                    self.comment_view(&name, Part::Column(column.clone()), text)?;
                } else {
                    let table = self.view().table(&name).ok_or_else(|| undefined_table(&name))?;
                    column_of(&table, column)?;
                    self.comment_table(&name, Part::Column(column.clone()), text)?;
                }
            }
            Commented::Constraint(constraint, relation) => {
                let name = self.view().find(relation);
                let table = self.view().table(&name).ok_or_else(|| undefined_table(&name))?;
                if !is_constraint(&table, constraint) {
                    let message = format!("constraint \"{constraint}\" for table \"{name}\" does not exist");
                    return Err(SqlError::new(state::UNDEFINED_OBJECT, message).into());
                }
                self.comment_table(&name, Part::Constraint(constraint.clone()), text)?;
            }
            Commented::Trigger(trigger, relation) => {
                let name = self.view().find(relation);
                let owner = self.owner_named(&name)?;
                if owner.table().trigger(trigger).is_none() {
                    return Err(undefined_trigger(owner.table(), trigger).into());
                }
                match owner {
                    Owner::Table(_) => self.comment_table(&name, Part::Trigger(trigger.clone()), text)?,
                    Owner::View(..) => self.comment_view(&name, Part::Trigger(trigger.clone()), text)?,
                }
            }
            Commented::Routine(kind, routine) => self.comment_routine(*kind, routine, text)?,
            Commented::Type(name) => {
                let comment = text.map(str::to_owned);
                match self.owned_type(name)? {
                    NamedType::Enumeration(made) => self.publish_enumeration(EnumType { comment, ..(*made).clone() }),
                    NamedType::Domain(made) => self.publish_domain(Domain { comment, ..(*made).clone() }),
                }
            }
            Commented::Domain(name) => {
                let made = match self.owned_type(name)? {
                    NamedType::Domain(made) => made,
                    NamedType::Enumeration(_) => return Err(no_domain(&format!("\"{name}\"")).into()),
                };
                self.publish_domain(Domain { comment: text.map(str::to_owned), ..(*made).clone() });
            }
            Commented::DomainConstraint(constraint, name) => {
                let made = self.owned_domain(name)?;
                let mut domain = (*made).clone();
                let check = constraint_of(&mut domain, constraint)?;
                check.comment = text.map(str::to_owned);
                self.publish_domain(domain);
            }
            Commented::Schema(name) => {
                self.lock(&super::schema::schema_lock(name), Mode::Exclusive)?;
                if !self.view().has_schema(name) {
                    return Err(undefined_schema(name).into());
                }
                let schema = Schema { comment: text.map(str::to_owned), is_dropped: false };
                self.context.transaction.changes.schemas.insert(name.clone(), Some(Arc::new(schema)));
            }
        }
        Ok(())
    }

    fn comment_relation(&mut self, kind: RelationKind, name: &RelationName, text: Option<&str>) -> Result<(), Fail> {
        let name = self.view().find(name);
        match kind {
            RelationKind::Table if self.check_plain_table(&name).is_ok() => {
                self.comment_table(&name, Part::Whole, text)
            }
            RelationKind::Materialized => {
                self.owned_materialized(&name)?;
                self.comment_table(&name, Part::Whole, text)
            }
            RelationKind::View if self.view().view(&name).is_some() => self.comment_view(&name, Part::Whole, text),
            RelationKind::Sequence if self.view().sequence(&name).is_some() => {
                self.lock(&name, Mode::Exclusive)?;
                let sequence = self.view().sequence(&name).ok_or_else(|| undefined_table(&name))?;
                self.publish_sequence(Sequence { comment: text.map(str::to_owned), ..(*sequence).clone() });
                Ok(())
            }
            RelationKind::Table => Err(self.wrong_kind(&name, "a table").into()),
            RelationKind::View => Err(self.wrong_kind(&name, "a view").into()),
            RelationKind::Sequence => Err(self.wrong_kind(&name, "a sequence").into()),
        }
    }

    fn wrong_kind(&self, name: &str, wanted: &str) -> SqlError {
        match self.view().has_relation(name) {
            true => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {wanted}")),
            false => undefined_table(name),
        }
    }

    fn comment_table(&mut self, name: &str, part: Part, text: Option<&str>) -> Result<(), Fail> {
        let table = self.owned_table(name)?;
        let mut rules = table.rules.clone();
        put(&mut rules.comments, part, text);
        self.publish(table.with(table.schema.clone(), rules));
        Ok(())
    }

    fn comment_view(&mut self, name: &str, part: Part, text: Option<&str>) -> Result<(), Fail> {
        self.lock(name, Mode::Exclusive)?;
        let view = self.view().view(name).ok_or_else(|| undefined_table(name))?;
        let mut changed: StoredView = (*view).clone();
        put(&mut changed.comments, part, text);
        self.context.transaction.changes.views.insert(name.to_owned(), Some(Arc::new(changed)));
        Ok(())
    }
}

fn put(comments: &mut Comments, part: Part, text: Option<&str>) {
    match text {
        Some(text) => comments.insert(part, text.to_owned()),
        None => comments.remove(&part),
    };
}

fn is_constraint(table: &Table, name: &str) -> bool {
    table.rules.primary_key.as_deref() == Some(name)
        || table.rules.unique_constraints.iter().any(|known| known == name)
        || table.rules.checks.iter().any(|check| check.name == name)
        || table.foreign_key(name).is_some()
}

/// Returns the table without comments on parts that it no longer has.
pub(super) fn without_stale_comments(table: Arc<Table>) -> Arc<Table> {
    let is_there = |part: &Part| match part {
        Part::Whole => true,
        Part::Column(name) => column_of(&table, name).is_ok(),
        Part::Constraint(name) => is_constraint(&table, name),
        Part::Trigger(name) => table.trigger(name).is_some(),
        Part::Index(name) => {
            table.schema.indexes.iter().any(|index| index.name == *name) || is_constraint(&table, name)
        }
    };
    if table.rules.comments.keys().all(is_there) {
        return table;
    }
    let mut rules = table.rules.clone();
    rules.comments.retain(|part, _| is_there(part));
    table.with(table.schema.clone(), rules)
}
