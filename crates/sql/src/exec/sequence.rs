//! CREATE, ALTER and DROP SEQUENCE; the sequences of serial and identity columns.

use super::Fail;
use super::ddl::{Ddl, Draft};
use super::temporary::needs_temporary;
use crate::catalog::sequence::Sequence;
use crate::catalog::{DefaultValue, Table, column_of, is_temporary};
use crate::error::unsupported;
use crate::parse::sequence::{AlterSequence, CreateSequence, SequenceOption, carried_name};
use crate::parse::written_name;
use crate::schema::{RelationName, duplicate_table, not_for_materialized, undefined_table};
use crate::table_lock::Mode;
use crate::{SqlError, schema, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;

impl Ddl<'_> {
    /// Runs CREATE SEQUENCE.
    pub(crate) fn create_sequence(&mut self, create: &CreateSequence) -> Result<&'static str, Fail> {
        let name = &self.placed(&create.name, create.temporary)?;
        self.lock(name, Mode::Exclusive)?;
        if self.view().has_relation(name) {
            if create.if_not_exists {
                self.notice(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
                return Ok("CREATE SEQUENCE");
            }
            return Err(duplicate_table(name).into());
        }
        let id = self.catalog.new_sequence_id();
        let mut sequence = Sequence::new(id, name, Type::Int8, &create.options)?;
        self.set_owner(&mut sequence, &create.options)?;
        self.publish_sequence(sequence);
        Ok("CREATE SEQUENCE")
    }

    /// Runs ALTER SEQUENCE. Without RESTART the sequence goes on where it stands, for other sessions, too.
    pub(crate) fn alter_sequence(&mut self, alter: &AlterSequence) -> Result<&'static str, Fail> {
        let name = &self.view().find(&alter.name);
        let Some(sequence) = self.owned_sequence(name, alter.if_exists)? else { return Ok("ALTER SEQUENCE") };
        if let Some(new_name) = &alter.rename {
            self.rename_sequence(&sequence, new_name)?;
            return Ok("ALTER SEQUENCE");
        }
        let mut changed = sequence.with(&alter.options, false, || self.catalog.new_sequence_id())?;
        self.set_owner(&mut changed, &alter.options)?;
        self.publish_sequence(changed);
        Ok("ALTER SEQUENCE")
    }

    pub(super) fn rename_sequence(&mut self, sequence: &Arc<Sequence>, new_name: &str) -> Result<(), Fail> {
        let new = schema::full(schema::split(&sequence.name).0, new_name);
        self.claim(&new)?;
        self.move_sequence(sequence, new);
        Ok(())
    }

    /// Gives a sequence another full name, which must be free.
    pub(super) fn move_sequence(&mut self, sequence: &Sequence, new: String) {
        self.context.transaction.changes.sequences.insert(sequence.name.clone(), None);
        self.publish_sequence(Sequence { name: new, ..sequence.clone() });
    }

    /// Drops a sequence, and with CASCADE also the defaults that use it.
    pub(super) fn drop_sequence(&mut self, name: &str, if_exists: bool, cascade: bool) -> Result<(), Fail> {
        let Some(sequence) = self.owned_sequence(name, if_exists)? else { return Ok(()) };
        let tables: Vec<_> = self.view().tables().into_iter().filter(|table| uses(table, sequence.id)).collect();
        for table in &tables {
            let column = table.rules.defaults.iter().position(|default| uses_in(default.as_ref(), sequence.id));
            let column = &table.schema.columns[column.unwrap_or_default()].name;
            let user = format!("column {column} of table {}", self.view().written(table.name()));
            let name = &self.view().written(name);
            let identity = sequence.owner.as_ref().is_some_and(|(owner, column)| {
                let at = table.schema.column(column);
                owner == table.name() && table.rules.identities.iter().any(|(identity, _)| Some(*identity) == at)
            });
            if identity {
                let message = format!("cannot drop sequence {name} because {user} requires it");
                return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .hint(format!("You can drop {user} instead."))
                    .into());
            }
            if !cascade {
                let message = format!("cannot drop sequence {name} because other objects depend on it");
                return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(format!("default value for {user} depends on sequence {name}"))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                    .into());
            }
        }
        let of_views = self.view_defaults_of(sequence.id);
        if let (false, Some((view, at))) = (cascade, of_views.first()) {
            let written = |name: &str| self.view().written(name);
            let user = format!("default value for column {} of view {}", view.columns[*at].name, written(&view.name));
            let message = format!("cannot drop sequence {} because other objects depend on it", written(name));
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(format!("{user} depends on sequence {}", written(name)))
                .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                .into());
        }
        for (view, at) in of_views {
            let Some(view) = self.owned_query(&view.name)? else { continue };
            let column = view.columns[at].name.clone();
            self.set_view_default(&view, &column, None)?;
        }
        for table in tables {
            let table = self.owned_table(table.name())?;
            let mut rules = table.rules.clone();
            for default in &mut rules.defaults {
                if uses_in(default.as_ref(), sequence.id) {
                    *default = None;
                }
            }
            self.publish(table.with(table.schema.clone(), rules));
        }
        self.context.transaction.changes.sequences.insert(name.to_owned(), None);
        Ok(())
    }

    /// Returns the sequence with this name, locked exclusively. If there is none and `if_exists` is set, returns `None`
    /// and leaves a notice.
    fn owned_sequence(&mut self, name: &str, if_exists: bool) -> Result<Option<Arc<Sequence>>, Fail> {
        self.lock(name, Mode::Exclusive)?;
        if let Some(sequence) = self.view().sequence(name) {
            return Ok(Some(sequence));
        }
        if self.view().has_relation(name) {
            let message = format!("\"{name}\" is not a sequence");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into());
        }
        if !if_exists {
            return Err(undefined_table(name).into());
        }
        self.notice(state::SUCCESSFUL_COMPLETION, format!("relation \"{name}\" does not exist, skipping"));
        Ok(None)
    }

    pub(super) fn publish_sequence(&mut self, sequence: Sequence) {
        self.context.transaction.changes.sequences.insert(sequence.name.clone(), Some(Arc::new(sequence)));
    }

    fn set_owner(&mut self, sequence: &mut Sequence, options: &[SequenceOption]) -> Result<(), Fail> {
        for option in options {
            let SequenceOption::OwnedBy(owner) = option else { continue };
            sequence.owner = None;
            if let Some((table, column)) = owner {
                let table = self.owned_table(&self.view().find(table))?;
                if table.rules.materialized.is_some() {
                    let message = format!("sequence cannot be owned by relation \"{}\"", table.plain_name());
                    return Err(not_for_materialized(message).into());
                }
                column_of(&table, column)?;
                if table.schema_name() != schema::split(&sequence.name).0 {
                    let message = "sequence must be in same schema as table it is linked to";
                    return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
                }
                sequence.owner = Some((table.name().to_owned(), column.clone()));
            }
        }
        Ok(())
    }

    /// Makes the sequence of a serial or identity column that is about to be added. Returns the default of the column,
    /// which is the next number of the sequence.
    pub(super) fn own_sequence(
        &mut self,
        draft: &Draft,
        column: &str,
        ty: Type,
        options: &[SequenceOption],
    ) -> Result<DefaultValue, SqlError> {
        let table = &draft.schema.name;
        let columns = [column];
        let given = options.iter().find_map(|option| match option {
            SequenceOption::Name(name) => Some(name),
            _ => None,
        });
        let name = match given {
            Some(RelationName { schema: Some(other), .. }) if *other != schema::split(table).0 => {
                let message = "sequence must be in same schema as table it is linked to";
                return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
            Some(name) => draft.name_beside(&name.name),
            None => {
                let names = schema::made_names(schema::plain(table), &columns, "seq");
                let name = names.map(|name| draft.name_beside(&name)).find(|name| !self.view().has_relation(name));
                name.unwrap_or_default()
            }
        };
        self.claim(&name)?;
        let id = self.catalog.new_sequence_id();
        let sequence = Sequence::new(id, &name, ty, options)?;
        self.publish_sequence(Sequence { owner: Some((table.clone(), column.to_owned())), ..sequence });
        Ok(DefaultValue::next_value(id, ty))
    }

    /// Locks the sequences that a default of the table `table` is about to use, so that no other transaction drops
    /// them.
    ///
    /// # Errors
    /// 42P01 if one of them no longer exists, 0A000 if one of them is temporary and the table is not.
    pub(super) fn lock_sequences(&mut self, default: &DefaultValue, table: &str) -> Result<(), Fail> {
        for id in default.sequences() {
            let gone = || SqlError::new(state::UNDEFINED_TABLE, "the sequence of a default does not exist any more");
            let name = self.view().sequence_by_id(id).ok_or_else(gone)?.name.clone();
            self.lock(&name, Mode::Shared)?;
            self.view().sequence_by_id(id).ok_or_else(gone)?;
            if is_temporary(&name) && !is_temporary(table) {
                return Err(needs_temporary("a default of a permanent table").into());
            }
        }
        Ok(())
    }

    /// Returns the sequences that belong to a table, or to one of its columns.
    pub(super) fn sequences_of(&self, table: &str, column: Option<&str>) -> Vec<Arc<Sequence>> {
        let mut sequences = self.view().sequences();
        sequences.retain(|sequence| {
            sequence
                .owner
                .as_ref()
                .is_some_and(|(owner, of)| owner == table && column.is_none_or(|column| column == of))
        });
        sequences
    }

    /// Drops the sequences that belong to a table or column that is being dropped. Unless `cascade` is set, no default
    /// of another table may use them.
    pub(super) fn drop_owned_sequences(
        &mut self,
        table: &str,
        column: Option<&str>,
        cascade: bool,
    ) -> Result<(), Fail> {
        for sequence in self.sequences_of(table, column) {
            self.drop_sequence(&sequence.name, false, cascade)?;
        }
        Ok(())
    }

    /// Converts the options of an identity column to those of its sequence.
    pub(super) fn identity_options(options: Option<&[ast::SequenceOptions]>) -> Result<Vec<SequenceOption>, SqlError> {
        let number = |expr: &ast::Expr| {
            let text = expr.to_string();
            text.parse().map_err(|_| unsupported(&format!("{text} as an option of a sequence")))
        };
        let limit = |expr: &Option<ast::Expr>| expr.as_ref().map(number).transpose();
        let option = |option: &ast::SequenceOptions| {
            Ok(match option {
                ast::SequenceOptions::IncrementBy(by, _) => SequenceOption::Increment(number(by)?),
                ast::SequenceOptions::MinValue(value) => SequenceOption::Min(limit(value)?),
                ast::SequenceOptions::MaxValue(value) => SequenceOption::Max(limit(value)?),
                ast::SequenceOptions::StartWith(value, _) => SequenceOption::Start(number(value)?),
                ast::SequenceOptions::Cache(size) if let Some(name) = carried_name(size) => {
                    SequenceOption::Name(written_name(name)?)
                }
                ast::SequenceOptions::Cache(size) => SequenceOption::Cache(number(size)?),
                // The parser's flag says NO.
                ast::SequenceOptions::Cycle(no) => SequenceOption::Cycle(!no),
            })
        };
        options.unwrap_or_default().iter().map(option).collect()
    }
}

fn uses(table: &Table, sequence: u32) -> bool {
    table.rules.defaults.iter().any(|default| uses_in(default.as_ref(), sequence))
}

fn uses_in(default: Option<&DefaultValue>, sequence: u32) -> bool {
    default.is_some_and(|default| default.sequences().contains(&sequence))
}
