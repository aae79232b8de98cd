//! ALTER TABLE and ALTER INDEX.
//!
//! A change of names, defaults or constraints is another definition of the same table of the engine. A change of the
//! rows [rebuilds](super::rebuild) the table.

use super::Fail;
use super::constraint::Dependents;
use super::ddl::{Ddl, Draft, shown};
use super::generated;
use super::index::with_labels;
use super::rebuild::NewColumn;
use super::triggers::{self, rename_in_triggers};
use crate::bind::{bind_conversion, constrained, define_default, with_column_names};
use crate::catalog::sequence::Sequence;
use crate::catalog::{Declared, Part, Table, check_column_name, column_of, rename_comment};
use crate::error::unsupported;
use crate::expr::{Expr, Strictness, can_cast};
use crate::parse::names::{fold, object_name};
use crate::parse::sequence::SequenceOption;
use crate::schema::{not_for_materialized, plain, undefined_table};
use crate::table_lock::Mode;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation, TableConstraint};

impl Ddl<'_> {
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<&'static str, Fail> {
        let name = self.found(&alter.name)?;
        if let [AlterTableOperation::RenameTable { table_name }] = &alter.operations[..] {
            let (ast::RenameTableNameKind::As(new) | ast::RenameTableNameKind::To(new)) = table_name;
            if self.rename_other(&name, &object_name(new)?.name)? {
                return Ok("ALTER TABLE");
            }
        }
        if self.alter_table_of_view(&name, &alter.operations)? {
            return Ok("ALTER TABLE");
        }
        if alter.if_exists && self.view().table(&name).is_none() {
            self.notice(state::SUCCESSFUL_COMPLETION, format!("relation \"{name}\" does not exist, skipping"));
            return Ok("ALTER TABLE");
        }
        for operation in &alter.operations {
            let table = self.owned_table(&name)?;
            self.check_settled(&table, "ALTER TABLE")?;
            check_kind(&table, operation)?;
            self.alter(&table, operation)?;
            self.check_views(&name, operation)?;
        }
        Ok("ALTER TABLE")
    }

    fn alter(&mut self, table: &Arc<Table>, operation: &AlterTableOperation) -> Result<(), Fail> {
        use AlterTableOperation as Op;
        match operation {
            Op::AddConstraint { constraint: TableConstraint::Check(check), .. } => {
                let checked = self.with_check(table, check.name.as_ref().map(fold), &check.expr)?;
                self.check_rows(&checked)?;
                self.publish(checked);
                Ok(())
            }
            Op::AddConstraint { constraint: TableConstraint::ForeignKey(key), not_valid } => {
                let columns: Vec<_> = key.columns.iter().map(fold).collect();
                self.add_foreign_key(table, key.name.as_ref().map(fold), &columns, key, !not_valid)
            }
            Op::ValidateConstraint { name } => self.validate_constraint(table, &fold(name)),
            Op::AddConstraint { constraint, .. } => {
                let mut draft = self.draft(table);
                self.add_constraint(&mut draft, constraint)?;
                self.rebuild(table, draft)
            }
            Op::DropConstraint { if_exists, name, drop_behavior } => {
                self.drop_constraint(table, &fold(name), *if_exists, cascades(*drop_behavior))
            }
            Op::DropPrimaryKey { drop_behavior } => {
                let name = table.rules.primary_key.clone().unwrap_or_default();
                self.drop_constraint(table, &name, false, cascades(*drop_behavior))
            }
            Op::AddColumn { if_not_exists, column_def, .. } => self.add_new_column(table, column_def, *if_not_exists),
            Op::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                for name in column_names {
                    let table = self.owned_table(table.name())?;
                    self.drop_column(&table, &fold(name), *if_exists, cascades(*drop_behavior))?;
                }
                Ok(())
            }
            Op::RenameColumn { old_column_name, new_column_name } => {
                self.rename_column(table, &fold(old_column_name), &fold(new_column_name))
            }
            Op::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::As(name) | ast::RenameTableNameKind::To(name)) = table_name;
                self.rename_table(table, &object_name(name)?.name)
            }
            Op::RenameConstraint { old_name, new_name } => {
                self.rename_constraint(table, &fold(old_name), &fold(new_name))
            }
            Op::AlterColumn { column_name, op } => self.alter_column(table, &fold(column_name), op),
            Op::OwnerTo { new_owner } => {
                self.check_owner(&shown(new_owner)?)?;
                Ok(())
            }
            Op::SetOptionsParens { options } => Ok(super::storage::check_parameters(options)?),
            Op::SetLogged | Op::SetUnlogged => Ok(()),
            Op::EnableTrigger { name } | Op::EnableAlwaysTrigger { name } => {
                self.enable_triggers(table, &fold(name), true)
            }
            Op::DisableTrigger { name } => self.enable_triggers(table, &fold(name), false),
            other => {
                let words: Vec<_> = shown(other)?.split_whitespace().take(2).map(str::to_owned).collect();
                Err(unsupported(&format!("ALTER TABLE ... {}", words.join(" "))).into())
            }
        }
    }

    fn drop_constraint(&mut self, table: &Arc<Table>, name: &str, if_exists: bool, cascade: bool) -> Result<(), Fail> {
        if table.foreign_key(name).is_some() {
            return self.drop_foreign_key(table.name(), name);
        }
        let dependents = self.dependents_of_index(table, format!("constraint {name} on table {}", table.name()), name);
        self.drop_dependent_objects(dependents, cascade)?;
        let table = &self.owned_table(table.name())?;
        let mut draft = self.draft(table);
        if draft.rules.checks.iter().any(|check| check.name == name) {
            draft.rules.checks.retain(|check| check.name != name);
            self.publish(table.with(table.schema.clone(), draft.rules));
            return Ok(());
        }
        if draft.rules.primary_key.as_deref() == Some(name) {
            draft.rules.primary_key = None;
            draft.schema.key.clear();
        } else if let Some(at) = draft.rules.unique_constraints.iter().position(|known| known == name) {
            draft.rules.unique_constraints.remove(at);
            draft.schema.indexes.retain(|index| index.name != name);
        } else {
            let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name());
            if if_exists {
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message).into());
        }
        self.rebuild(table, draft)
    }

    fn add_new_column(&mut self, table: &Arc<Table>, column: &ast::ColumnDef, if_not_exists: bool) -> Result<(), Fail> {
        let name = fold(&column.name);
        if column_of(table, &name).is_ok() {
            let error = duplicate_column(table, &name);
            if if_not_exists {
                self.notice(error.state, format!("{}, skipping", error.message));
                return Ok(());
            }
            return Err(error.into());
        }
        let mut draft = self.draft(table);
        self.add_column(&mut draft, column)?;
        self.add_generated(&mut draft, std::slice::from_ref(column))?;
        for option in &column.options {
            self.add_column_constraint(&mut draft, column, option)?;
        }
        let at = draft.visible() - 1;
        let added = self.added_column(table, draft.rules.defaults[at].clone(), draft.rules.domain(at))?;
        let columns = kept(table).chain([added]).collect();
        let mut changed = self.rebuilt(table, draft, columns)?;
        for option in &column.options {
            let ast::ColumnOption::Check(check) = &option.option else { continue };
            let given = option.name.as_ref().or(check.name.as_ref()).map(fold);
            changed = self.with_check(&changed, given, &check.expr)?;
            self.check_rows(&changed)?;
        }
        self.publish(changed);
        self.add_references(table.name(), column)
    }

    /// Drops a column, together with the table's own keys, indexes and constraints that mention it. With CASCADE, also
    /// drops the foreign keys that refer to it, the generated columns that are computed from it, and the triggers that
    /// mention it.
    ///
    /// # Errors
    /// 2BP01 if there are any of these and the statement does not say CASCADE.
    pub(super) fn drop_column(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<(), Fail> {
        let at = match column_of(table, name) {
            Err(error) if if_exists => {
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                return Ok(());
            }
            found => found?,
        };
        if table.partition_key() == Some(at) {
            let message = format!(
                "cannot drop column \"{name}\" because it is part of the partition key of relation \"{}\"",
                table.name()
            );
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message).into());
        }
        let subject = format!("column {name} of table {}", table.name());
        let mut dependents = Dependents::new(subject.clone());
        for (child, key) in self.referrers_of(table) {
            let is_own = child.name() == table.name() && key.columns.contains(&at);
            if table.referenced_columns(&key).contains(&at) && !is_own {
                dependents.push(&child, &key, &subject);
            }
        }
        generated::add_dependents(table, at, &subject, &mut dependents);
        triggers::add_dependents(table, name, &subject, &mut dependents);
        self.drop_dependent_objects(dependents, cascade)?;
        for key in table.rules.foreign_keys.iter().filter(|key| key.columns.contains(&at)) {
            self.drop_foreign_key(table.name(), &key.name)?;
        }
        let table = &self.owned_table(table.name())?;
        let at = column_of(table, name)?;
        let mut draft = self.draft(table);
        if draft.schema.key.contains(&at) {
            draft.rules.primary_key = None;
            draft.schema.key.clear();
        }
        let hidden: Vec<_> = table.rules.computed.iter().filter(|computed| computed.value.looks_at(at)).collect();
        draft.drop_indexes(|index, properties| {
            let looks_at = |column: &usize| *column == at || hidden.iter().any(|computed| computed.column == *column);
            let includes = properties.is_some_and(|properties| properties.include.contains(&at));
            includes || index.columns.iter().any(looks_at)
        });
        let Draft { schema, rules, .. } = &mut draft;
        rules.unique_constraints.retain(|unique| schema.indexes.iter().any(|index| index.name == *unique));
        rules.checks.retain(|check| !check.condition.looks_at(at));
        draft.remove_column(at);
        let columns = (0..table.visible()).filter(|&column| column != at).map(NewColumn::Kept).collect();
        let changed = self.rebuilt(table, draft, columns)?;
        self.publish(changed);
        self.drop_owned_sequences(table.name(), Some(name), cascade)
    }

    pub(super) fn rename_column(&mut self, table: &Arc<Table>, old: &str, new: &str) -> Result<(), Fail> {
        let undefined = || SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{old}\" does not exist"));
        let at = column_of(table, old).map_err(|_| undefined())?;
        check_column_name(new)?;
        if column_of(table, new).is_ok() {
            return Err(duplicate_column(table, new).into());
        }
        let mut schema = (*table.schema).clone();
        schema.columns[at].name = new.to_owned();
        let mut rules = table.rules.clone();
        if let Some(materialized) = rules.materialized.as_mut().map(Arc::make_mut) {
            let names: Vec<_> = schema.columns[..table.visible()].iter().map(|column| column.name.clone()).collect();
            materialized.query.query = with_column_names(&materialized.query.query, &names)?;
        }
        rename_comment(&mut rules.comments, Part::Column, old, new);
        rename_in_triggers(&mut rules.triggers, table.plain_name(), old, new)?;
        let renamed = table.with(Arc::new(schema), rules);
        let schema = with_labels(&renamed);
        self.publish(renamed.with(Arc::new(schema), renamed.rules.clone()));
        self.rename_owner(table.name(), Some(old), (table.name(), Some(new)));
        self.rename_referenced(table.name(), old, new)
    }

    pub(super) fn rename_table(&mut self, table: &Arc<Table>, new: &str) -> Result<(), Fail> {
        let new = table.name_beside(new);
        self.claim(&new)?;
        self.move_table(table, &new)
    }

    /// Gives a table another full name, which must be free.
    pub(super) fn move_table(&mut self, table: &Arc<Table>, new: &str) -> Result<(), Fail> {
        let lock = self.lock(new, Mode::Exclusive)?;
        let mut schema = (*table.schema).clone();
        schema.name = new.to_owned();
        let renamed = Table::over(
            table.id,
            Arc::new(schema),
            table.layout.clone(),
            table.rules.clone(),
            table.row_ids.clone(),
            lock,
        );
        self.context.transaction.changes.tables.insert(table.name().to_owned(), None);
        self.publish(renamed.clone());
        self.rename_owner(table.name(), None, (new, None));
        self.rename_in_functions(table.name(), new)?;
        self.rename_in_keys(&renamed, table.name())
    }

    /// Puts the new name of a table or column into the sequences that belong to it.
    fn rename_owner(&mut self, table: &str, column: Option<&str>, (new_table, new_column): (&str, Option<&str>)) {
        for sequence in self.sequences_of(table, column) {
            let Some((_, of)) = &sequence.owner else { continue };
            let owner = (new_table.to_owned(), new_column.unwrap_or(of).to_owned());
            self.publish_sequence(Sequence { owner: Some(owner), ..(*sequence).clone() });
        }
    }

    fn rename_constraint(&mut self, table: &Arc<Table>, old: &str, new: &str) -> Result<(), Fail> {
        let is_index = table.rules.primary_key.as_deref() == Some(old)
            || table.rules.unique_constraints.iter().any(|unique| unique == old);
        if is_index {
            return self.rename_index_of(table, old, new);
        }
        if !table.has_name(old) {
            let message = format!("constraint \"{old}\" for table \"{}\" does not exist", table.name());
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message).into());
        }
        if table.has_name(new) {
            let message = format!("constraint \"{new}\" for relation \"{}\" already exists", table.name());
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
        }
        let mut rules = table.rules.clone();
        rename_comment(&mut rules.comments, Part::Constraint, old, new);
        let Some(check) = rules.checks.iter_mut().find(|check| check.name == old) else {
            return self.rename_foreign_key(&table.with(table.schema.clone(), rules), old, new);
        };
        new.clone_into(&mut check.name);
        rules.checks.sort_by(|left, right| left.name.cmp(&right.name));
        self.publish(table.with(table.schema.clone(), rules));
        Ok(())
    }

    /// Runs ALTER INDEX … RENAME TO.
    pub(super) fn alter_index(
        &mut self,
        name: &ast::ObjectName,
        operation: &ast::AlterIndexOperation,
    ) -> Result<&'static str, Fail> {
        let ast::AlterIndexOperation::RenameIndex { index_name } = operation;
        let (old, new) = (self.found(name)?, object_name(index_name)?.name);
        match self.rename_other(&old, &new)? {
            true => Ok("ALTER INDEX"),
            false => Err(undefined_table(&old).into()),
        }
    }

    /// Renames a view, a sequence or an index. The statement may name another kind of relation, as in `ALTER TABLE
    /// my_view RENAME TO …`. Returns `false` if the name is of none of these.
    fn rename_other(&mut self, name: &str, new: &str) -> Result<bool, Fail> {
        if let Some(table) = self.view().table_of_index(name) {
            let table = self.owned_table(table.name())?;
            self.rename_index_of(&table, plain(name), new)?;
            return Ok(true);
        }
        if self.view().view(name).is_none() && self.view().sequence(name).is_none() {
            return Ok(false);
        }
        self.lock(name, Mode::Exclusive)?;
        // The name may have lost its meaning while we waited.
        if let Some(view) = self.view().view(name) {
            self.rename_view(&view, new)?;
        } else if let Some(sequence) = self.view().sequence(name) {
            self.rename_sequence(&sequence, new)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn rename_index_of(&mut self, table: &Arc<Table>, old: &str, new: &str) -> Result<(), Fail> {
        self.claim(&table.name_beside(new))?;
        let (mut schema, mut rules) = ((*table.schema).clone(), table.rules.clone());
        let indexes = schema.indexes.iter_mut().map(|index| &mut index.name);
        let properties = rules.indexes.iter_mut().map(|index| &mut index.name);
        for name in indexes.chain(properties).chain(&mut rules.unique_constraints).chain(&mut rules.primary_key) {
            if name == old {
                new.clone_into(name);
            }
        }
        for part in [Part::Constraint, Part::Index] {
            rename_comment(&mut rules.comments, part, old, new);
        }
        self.publish(table.with(Arc::new(schema), rules));
        Ok(())
    }

    fn alter_column(&mut self, table: &Arc<Table>, name: &str, operation: &AlterColumnOperation) -> Result<(), Fail> {
        let at = column_of(table, name)?;
        let ty = table.schema.columns[at].ty;
        let is_identity = table.rules.identities.iter().any(|(identity, _)| *identity == at);
        let mut draft = self.draft(table);
        match operation {
            AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault if is_identity => {
                Err(is_an_identity(table, name).into())
            }
            AlterColumnOperation::SetDefault { .. } if table.is_generated(at) => {
                Err(generated::is_generated(table, name).into())
            }
            AlterColumnOperation::DropDefault if table.is_generated(at) => {
                let error = generated::is_generated(table, name);
                Err(error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.").into())
            }
            AlterColumnOperation::SetDefault { value } => {
                self.keep_type(ty)?;
                self.keep_mentioned(value)?;
                let default = define_default(value, name, ty, self.view())?;
                self.lock_sequences(&default, table.name())?;
                self.lock_functions(&default)?;
                draft.rules.defaults[at] = Some(default);
                self.publish(table.with(table.schema.clone(), draft.rules));
                Ok(())
            }
            AlterColumnOperation::DropDefault => {
                draft.rules.defaults[at] = None;
                self.publish(table.with(table.schema.clone(), draft.rules));
                Ok(())
            }
            AlterColumnOperation::SetNotNull => {
                draft.schema.columns[at].nullable = false;
                self.rebuild(table, draft)
            }
            AlterColumnOperation::DropNotNull
                if table.rules.primary_key.is_some() && table.schema.key.contains(&at) =>
            {
                let message = format!("column \"{name}\" is in a primary key");
                Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message).into())
            }
            AlterColumnOperation::DropNotNull if is_identity => Err(is_an_identity(table, name).into()),
            AlterColumnOperation::DropNotNull => {
                draft.schema.columns[at].nullable = true;
                self.rebuild(table, draft)
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                self.change_type(table, at, data_type, using.as_ref())
            }
            AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
                let has_default = draft.rules.defaults[at].is_some() || table.is_generated(at);
                if is_identity || has_default || draft.schema.columns[at].nullable {
                    return Err(no_identity(table, at, is_identity).into());
                }
                let options = Self::identity_options(sequence_options.as_deref())?;
                draft.rules.defaults[at] = Some(self.own_sequence(&draft, name, ty, &options)?);
                let always = !matches!(generated_as, Some(ast::GeneratedAs::ByDefault));
                draft.rules.identities.push((at, always));
                self.publish(table.with(table.schema.clone(), draft.rules));
                Ok(())
            }
        }
    }

    /// Runs ALTER COLUMN … TYPE. The value of each row is cast, or computed by USING.
    fn change_type(
        &mut self,
        table: &Arc<Table>,
        at: usize,
        ty: &ast::DataType,
        using: Option<&ast::Expr>,
    ) -> Result<(), Fail> {
        let old = &table.schema.columns[at];
        let name = &old.name;
        let Declared { ty, domain } = self.view().declared_type(ty)?;
        self.keep_type(ty)?;
        self.keep_domain(domain)?;
        if domain.is_some()
            && (table.is_generated(at) || table.rules.identities.iter().any(|(column, _)| *column == at))
        {
            return Err(unsupported("a generated or identity column of a domain").into());
        }
        if table.rules.checks.iter().any(|check| check.condition.looks_at(at)) {
            let what = "changing the type of a column that a CHECK constraint looks at";
            return Err(unsupported(what).hint("Drop the constraint, and add it again afterwards.").into());
        }
        generated::check_unused(table, at)?;
        let value = match using {
            Some(_) if table.is_generated(at) => {
                let message = "cannot specify USING when altering type of generated column";
                let detail = format!("Column \"{name}\" is a generated column.");
                return Err(SqlError::new(state::INVALID_COLUMN_DEFINITION, message).detail(detail).into());
            }
            Some(using) => bind_conversion(using, table, name, Declared { ty, domain }, self.view())?,
            None => Expr::Column(at).assigned(old.ty, ty).ok_or_else(|| {
                let shown = self.view().shown_type(Some(ty), domain);
                let message = format!("column \"{name}\" cannot be cast automatically to type {shown}");
                let error = SqlError::new(state::DATATYPE_MISMATCH, message);
                if table.is_generated(at) {
                    return error;
                }
                error.hint(format!("You might need to specify \"USING {name}::{shown}\"."))
            })?,
        };
        // USING has its value checked; any other value is checked here.
        let value = if using.is_none() { constrained(value, domain, self.view())? } else { value };
        let mut draft = self.draft(table);
        let is_identity = draft.rules.identities.iter().any(|(identity, _)| *identity == at);
        if is_identity {
            for sequence in self.sequences_of(table.name(), Some(name)) {
                let options = [SequenceOption::Type(type_name(Some(ty)))];
                let changed = sequence
                    .with(&options, false, || self.catalog.new_sequence_id())
                    .map_err(|_| not_an_identity_type())?;
                self.publish_sequence(changed);
            }
        }
        if let Some(default) = &mut draft.rules.defaults[at] {
            if !can_cast(old.ty, ty, Strictness::Assignment) {
                let to = self.view().shown_type(Some(ty), domain);
                let message = format!("default for column \"{name}\" cannot be cast automatically to type {to}");
                return Err(SqlError::new(state::DATATYPE_MISMATCH, message).into());
            }
            default.types.push(ty);
        }
        self.retype_generated(&mut draft, at, ty)?;
        self.retype_hidden(table, &mut draft, at, ty)?;
        draft.schema.columns[at].ty = ty;
        draft.rules.set_domain(at, domain);
        let mut columns: Vec<_> = kept(table).collect();
        columns[at] = NewColumn::Computed(value);
        let changed = self.rebuilt(table, draft, columns)?;
        self.publish(changed.with(Arc::new(with_labels(&changed)), changed.rules.clone()));
        self.check_keys_of_column(table.name(), at)
    }
}

/// Whether a statement says CASCADE, so that dependent objects are dropped, too.
fn cascades(behavior: Option<ast::DropBehavior>) -> bool {
    behavior == Some(ast::DropBehavior::Cascade)
}

/// Returns the visible columns of a table, unchanged, as the columns of a table that is rebuilt from it.
fn kept(table: &Table) -> impl Iterator<Item = NewColumn> + use<> {
    (0..table.visible()).map(NewColumn::Kept)
}

fn duplicate_column(table: &Table, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" already exists", table.name());
    SqlError::new(state::DUPLICATE_COLUMN, message)
}

fn is_an_identity(table: &Table, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" is an identity column", table.name());
    SqlError::new(state::SYNTAX_ERROR, message)
}

fn not_an_identity_type() -> SqlError {
    let message = "identity column type must be smallint, integer, or bigint";
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// Returns the error that says why a column cannot become an identity column.
fn no_identity(table: &Table, at: usize, is_identity: bool) -> SqlError {
    let column = &table.schema.columns[at];
    let subject = format!("column \"{}\" of relation \"{}\"", column.name, table.name());
    let message = if is_identity {
        format!("{subject} is already an identity column")
    } else if column.nullable {
        format!("{subject} must be declared NOT NULL before identity can be added")
    } else {
        format!("{subject} already has a default value")
    };
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// Fails if a table is a materialized view, and the operation changes anything but its names, its owner or its storage
/// parameters.
fn check_kind(table: &Table, operation: &AlterTableOperation) -> Result<(), SqlError> {
    use AlterTableOperation as Op;
    let names_only = matches!(
        operation,
        Op::RenameColumn { .. } | Op::RenameTable { .. } | Op::OwnerTo { .. } | Op::SetOptionsParens { .. }
    );
    if names_only || table.rules.materialized.is_none() {
        return Ok(());
    }
    let words = shown(operation)?;
    let words: Vec<_> = words.split_whitespace().take(2).collect();
    let message =
        format!("ALTER action {} cannot be performed on relation \"{}\"", words.join(" "), table.plain_name());
    Err(not_for_materialized(message))
}
