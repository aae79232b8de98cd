//! Enumerated types: CREATE TYPE, and the labels in ALTER TYPE.

use super::Fail;
use super::ddl::Ddl;
use crate::catalog::NamedType;
use crate::catalog::enumeration::{EnumType, shown};
use crate::error::unsupported;
use crate::parse::enumeration::{LabelPlace, TypeChange, TypeStatement, check_label};
use crate::schema::RelationName;
use crate::{SqlError, state};
use hotrow_storage::{EnumDefinition, Enumeration};
use hotrow_sync::Arc;

impl Ddl<'_> {
    /// Runs CREATE, ALTER or DROP TYPE.
    pub(super) fn run_type(&mut self, statement: &TypeStatement) -> Result<(), Fail> {
        match statement {
            TypeStatement::Create(name, labels) => self.create_enumeration(name, labels),
            TypeStatement::Alter(name, change) => self.alter_type(name, change),
            TypeStatement::Drop { names, if_exists, cascade } => {
                names.iter().try_for_each(|name| self.drop_named_type(name, *if_exists, *cascade, |_| Ok(())))
            }
        }
    }

    /// Adds the definition of a type to the transaction's changes. If the type is committed already, its labels stay as
    /// they are until the transaction commits, even for this transaction.
    pub(super) fn publish_enumeration(&mut self, made: EnumType) {
        if !self.catalog.has_enumeration(made.kept.id()) {
            // Only this transaction knows the type.
            made.kept.define(made.definition.clone());
        }
        self.context.transaction.changes.enumerations.insert(made.name.clone(), Some(Arc::new(made)));
    }

    fn create_enumeration(&mut self, written: &RelationName, labels: &[String]) -> Result<(), Fail> {
        if self.view().is_for_temporary(written) {
            return Err(unsupported("a temporary type").into());
        }
        let name = self.lasting_place(written)?;
        self.claim_type(&name)?;
        for (at, label) in labels.iter().enumerate() {
            check_label(label)?;
            if labels[..at].contains(label) {
                let message = format!("enum label \"{label}\" used more than once");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
            }
        }
        let definition = Arc::new(EnumDefinition {
            name: shown(&name),
            oids: [self.catalog.new_number(), self.catalog.new_number()],
            labels: EnumDefinition::numbered(labels.to_vec()),
        });
        let kept = Arc::new(Enumeration::new(definition.clone()));
        self.publish_enumeration(EnumType { name, kept, definition, comment: None });
        Ok(())
    }

    fn alter_type(&mut self, written: &RelationName, change: &TypeChange) -> Result<(), Fail> {
        let made = self.owned_type(written)?;
        match change {
            TypeChange::Owner(role) => Ok(self.check_owner(role)?),
            TypeChange::Rename(new) => self.rename_type(&made, new),
            TypeChange::SetSchema(within) => self.move_type_to(&made, within),
            TypeChange::AddLabel { .. } | TypeChange::RenameLabel(..) => match &made {
                NamedType::Enumeration(made) => self.alter_enumeration(made, change),
                NamedType::Domain(domain) => {
                    let message = format!("{} is not an enum", domain.shown());
                    Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into())
                }
            },
        }
    }

    /// Adds or renames a label.
    fn alter_enumeration(&mut self, made: &EnumType, change: &TypeChange) -> Result<(), Fail> {
        match change {
            TypeChange::AddLabel { label, if_not_exists, place } => {
                check_label(label)?;
                if made.definition.number(label).is_some() {
                    let message = format!("enum label \"{label}\" already exists");
                    if !if_not_exists {
                        return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
                    }
                    self.notice(state::DUPLICATE_OBJECT, format!("{message}, skipping"));
                    return Ok(());
                }
                self.publish_enumeration(made.relabelled(with_label(&made.definition, label, place)?));
            }
            TypeChange::RenameLabel(old, new) => {
                check_label(new)?;
                let mut labels = made.definition.labels.clone();
                if made.definition.number(new).is_some() {
                    let message = format!("enum label \"{new}\" already exists");
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
                }
                let found = labels.iter_mut().find(|(_, label)| label == old);
                found.ok_or_else(|| no_label(old))?.1.clone_from(new);
                self.relabel(made, old, made.relabelled(labels))?;
            }
            TypeChange::Rename(_) | TypeChange::SetSchema(_) | TypeChange::Owner(_) => {}
        }
        Ok(())
    }
}

/// Returns the labels of a type together with a new label in the given place.
///
/// # Errors
/// 22023 if the place is beside a label that the type does not have, 54000 if no number is left in the place.
fn with_label(known: &EnumDefinition, label: &str, place: &LabelPlace) -> Result<Vec<(i32, String)>, SqlError> {
    let position = |label: &str| {
        let found = known.labels.iter().position(|(_, known)| known == label);
        found.ok_or_else(|| no_label(label))
    };
    let at = match place {
        LabelPlace::Last => known.labels.len(),
        LabelPlace::Before(next) => position(next)?,
        LabelPlace::After(previous) => position(previous)? + 1,
    };
    let number = known.number_at(at).ok_or_else(|| {
        let message = format!("there is no room for another label of type {} in this place", known.name);
        SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("Make a new type with all labels, and change the columns to it.")
    })?;
    let mut labels = known.labels.clone();
    labels.insert(at, (number, label.to_owned()));
    Ok(labels)
}

fn no_label(label: &str) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, format!("\"{label}\" is not an existing enum label"))
}
