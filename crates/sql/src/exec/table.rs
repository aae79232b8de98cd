//! CREATE, DROP and TRUNCATE of tables: what they do to the transaction's own catalog and to the engine.

use super::comment::without_stale_comments;
use super::constraint::{Dependents, check_immediate};
use super::ddl::{Ddl, Draft, duplicate_constraint, shown};
use super::temporary::on_commit;
use super::view::how_to_drop;
use super::{Fail, generated, partition, storage};
use crate::bind::{define_check, define_default, not_a_table};
use crate::catalog::{Check, Declared, DefaultValue, HIDDEN, Rules, Table, check_column_name, is_temporary};
use crate::error::unsupported;
use crate::parse::like::LikeOptions;
use crate::parse::names::{fold, object_name};
use crate::plan::CreateAs;
use crate::schema::{self, RelationName, duplicate_table, plain};
use crate::table_lock::{Mode, TableLock};
use crate::{SqlError, state};
use hotrow_storage::{Column, Element, IndexKind, IndexSchema, TableSchema, Type};
use hotrow_sync::Arc;
use hotrow_sync::atomic::AtomicI64;
use hotrow_txn::Ownership;
use sqlparser::ast::{self, ColumnOption, TableConstraint};

impl Ddl<'_> {
    /// Makes the engine's table for a draft, and notes it in the transaction's catalog.
    pub(super) fn define(
        &mut self,
        draft: Draft,
        row_ids: Arc<AtomicI64>,
        lock: Arc<TableLock>,
    ) -> Result<Arc<Table>, SqlError> {
        partition::check_admitted(self.engine, &draft.schema)?;
        let unlogged = is_temporary(&draft.schema.name);
        let id = self.engine.create_table(TableSchema { unlogged, ..draft.schema });
        self.context.transaction.changes.created.push(id);
        self.txn.own_table(id, Ownership::New);
        Ok(Table::new(self.engine, id, draft.rules, row_ids, lock))
    }

    pub(super) fn publish(&mut self, table: Arc<Table>) {
        let table = without_stale_comments(table);
        self.context.transaction.changes.tables.insert(table.name().to_owned(), Some(table));
    }

    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<&'static str, Fail> {
        self.check_memory()?;
        refuse_exotic(create)?;
        if let Some(parent) = &create.partition_of {
            storage::check_table(&create.table_options)?;
            return self.create_partition(create, parent);
        }
        let Some((mut draft, lock)) = self.begin_table(create)? else { return Ok("CREATE TABLE") };
        let name = draft.schema.name.clone();
        for column in &create.columns {
            match LikeOptions::carried(column)? {
                Some(options) => self.add_like(&mut draft, column, options)?,
                None => self.add_column(&mut draft, column)?,
            }
        }
        self.add_generated(&mut draft, &create.columns)?;
        // Keys first: CHECK may come before PRIMARY KEY, and names are given in this order.
        for column in &create.columns {
            for option in &column.options {
                self.add_column_constraint(&mut draft, column, option)?;
            }
        }
        for constraint in &create.constraints {
            self.add_constraint(&mut draft, constraint)?;
        }
        draft.partition_key =
            create.partition_by.as_ref().map(|by| partition::key_of(by, &draft.schema)).transpose()?;
        complete_key(&mut draft)?;
        let checks = create.columns.iter().flat_map(|column| {
            column.options.iter().filter_map(|option| match &option.option {
                ColumnOption::Check(check) => Some((option.name.as_ref().or(check.name.as_ref()), &*check.expr)),
                _ => None,
            })
        });
        let table_checks = create.constraints.iter().filter_map(|constraint| match constraint {
            TableConstraint::Check(check) => Some((check.name.as_ref(), &*check.expr)),
            _ => None,
        });
        let checks: Vec<_> = checks.chain(table_checks).collect();
        let mut table = self.define(draft, Arc::new(AtomicI64::new(1)), lock)?;
        for (name, expr) in checks {
            let name = name.map(fold);
            table = self.with_check(&table, name, expr)?;
        }
        self.publish(table);
        for column in &create.columns {
            self.add_references(&name, column)?;
        }
        for constraint in &create.constraints {
            if let TableConstraint::ForeignKey(key) = constraint {
                let table = self.owned_table(&name)?;
                let columns: Vec<_> = key.columns.iter().map(fold).collect();
                self.add_foreign_key(&table, key.name.as_ref().map(fold), &columns, key, true)?;
            }
        }
        Ok("CREATE TABLE")
    }

    /// Locks the name of a new table. Returns a draft without columns, or `None` if a relation has the name and the
    /// statement says IF NOT EXISTS.
    fn begin_table(&mut self, create: &ast::CreateTable) -> Result<Option<(Draft, Arc<TableLock>)>, Fail> {
        let name = self.placed(&object_name(&create.name)?, create.temporary)?;
        let on_commit = on_commit(create, &name)?;
        let lock = self.lock(&name, Mode::Exclusive)?;
        let exists = self.view().has_relation(&name);
        if exists && create.if_not_exists {
            self.notice(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
            return Ok(None);
        }
        storage::check_table(&create.table_options)?;
        if exists {
            return Err(duplicate_table(&name).into());
        }
        let draft = Draft {
            schema: TableSchema { key: Vec::new(), ..TableSchema::new(&name, Vec::new(), &[]) },
            rules: Rules { on_commit, ..Rules::default() },
            partition_key: None,
        };
        Ok(Some((draft, lock)))
    }

    /// Creates the table of CREATE TABLE AS, without rows. Returns `None` if a relation has the name and the statement
    /// says IF NOT EXISTS.
    pub(crate) fn create_table_as(&mut self, create_as: &CreateAs) -> Result<Option<Arc<Table>>, Fail> {
        self.check_memory()?;
        refuse_exotic(&create_as.create)?;
        let Some((mut draft, lock)) = self.begin_table(&create_as.create)? else { return Ok(None) };
        create_as.columns.iter().try_for_each(|column| self.keep_type(column.ty))?;
        create_as.domains.iter().try_for_each(|domain| self.keep_domain(*domain))?;
        for (at, domain) in create_as.domains.iter().enumerate() {
            draft.rules.set_domain(at, *domain);
        }
        draft.schema.columns.clone_from(&create_as.columns);
        draft.rules.defaults = vec![None; create_as.columns.len()];
        complete_key(&mut draft)?;
        let table = self.define(draft, Arc::new(AtomicI64::new(1)), lock)?;
        self.publish(table.clone());
        Ok(Some(table))
    }

    /// Adds the foreign keys of a column's REFERENCES to a table that is already there.
    pub(super) fn add_references(&mut self, table: &str, column: &ast::ColumnDef) -> Result<(), Fail> {
        for option in &column.options {
            let ColumnOption::ForeignKey(key) = &option.option else { continue };
            let table = self.owned_table(table)?;
            let name = option.name.as_ref().map(fold);
            self.add_foreign_key(&table, name, &[fold(&column.name)], key, true)?;
        }
        Ok(())
    }

    pub(super) fn add_column(&mut self, draft: &mut Draft, column: &ast::ColumnDef) -> Result<(), SqlError> {
        let name = fold(&column.name);
        check_column_name(&name)?;
        if draft.schema.column(&name).is_some() {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        if draft.schema.columns.len() >= 1600 {
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "tables can have at most 1600 columns"));
        }
        let serial = serial_type(&column.data_type);
        let declared = || self.view().declared_type(&column.data_type);
        let Declared { ty, domain } = serial.map_or_else(declared, |ty| Ok(ty.into()))?;
        self.keep_type(ty)?;
        self.keep_domain(domain)?;
        let (mut nullable, mut default, mut identity) = (serial.is_none(), None, None);
        let twice = |default: &mut Option<DefaultValue>, new: DefaultValue| match default.replace(new) {
            None => Ok(()),
            Some(_) => {
                let on = format!("column \"{name}\" of table \"{}\"", draft.schema.name);
                Err(SqlError::new(state::SYNTAX_ERROR, format!("multiple default values specified for {on}")))
            }
        };
        if serial.is_some() {
            twice(&mut default, self.own_sequence(draft, &name, ty, &[])?)?;
        }
        for option in &column.options {
            match &option.option {
                ColumnOption::NotNull => nullable = false,
                ColumnOption::Default(expr) => {
                    self.keep_mentioned(expr)?;
                    let new = define_default(expr, &name, ty, self.view())?;
                    self.lock_sequences(&new, &draft.schema.name)?;
                    self.lock_functions(&new)?;
                    twice(&mut default, new)?;
                }
                ColumnOption::Generated { generated_as, sequence_options, generation_expr: None, .. } => {
                    if !ty.is_integer() || domain.is_some() {
                        let message = "identity column type must be smallint, integer, or bigint";
                        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
                    }
                    let options = Self::identity_options(sequence_options.as_deref())?;
                    twice(&mut default, self.own_sequence(draft, &name, ty, &options)?)?;
                    identity = Some(matches!(generated_as, ast::GeneratedAs::Always));
                    nullable = false;
                }
                ColumnOption::Null
                | ColumnOption::PrimaryKey(_)
                | ColumnOption::Unique(_)
                | ColumnOption::Check(_)
                | ColumnOption::ForeignKey(_)
                | ColumnOption::Generated { generation_expr: Some(_), .. }
                | ColumnOption::Collation(_) => {}
                other => return Err(unsupported(&format!("column option {}", shown(other)?))),
            }
        }
        generated::check_clauses(column, &name, &draft.schema.name, default.is_some(), identity.is_some())?;
        let at = draft.add_column(Column { name, ty, nullable }, default);
        draft.rules.set_domain(at, domain);
        draft.rules.identities.extend(identity.map(|always| (at, always)));
        Ok(())
    }

    pub(super) fn add_column_constraint(
        &mut self,
        draft: &mut Draft,
        column: &ast::ColumnDef,
        option: &ast::ColumnOptionDef,
    ) -> Result<(), SqlError> {
        let columns = vec![fold(&column.name)];
        let name = option.name.as_ref().map(fold);
        match &option.option {
            ColumnOption::PrimaryKey(key) => {
                check_immediate(key.characteristics.as_ref())?;
                self.set_primary_key(draft, name, &columns)
            }
            ColumnOption::Unique(unique) => {
                check_immediate(unique.characteristics.as_ref())?;
                self.add_unique(draft, name, &columns)
            }
            _ => Ok(()),
        }
    }

    /// Adds a PRIMARY KEY or UNIQUE constraint to a draft. CHECK and FOREIGN KEY are added later, when the table is
    /// there.
    pub(super) fn add_constraint(&mut self, draft: &mut Draft, constraint: &TableConstraint) -> Result<(), SqlError> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                check_immediate(key.characteristics.as_ref())?;
                let columns = index_columns(&key.columns)?;
                self.set_primary_key(draft, key.name.as_ref().map(fold), &columns)
            }
            TableConstraint::Unique(unique) => {
                if matches!(unique.nulls_distinct, ast::NullsDistinctOption::NotDistinct) {
                    return Err(unsupported("NULLS NOT DISTINCT"));
                }
                check_immediate(unique.characteristics.as_ref())?;
                let columns = index_columns(&unique.columns)?;
                self.add_unique(draft, unique.name.as_ref().map(fold), &columns)
            }
            TableConstraint::Check(_) | TableConstraint::ForeignKey(_) => Ok(()),
            other => Err(unsupported(&format!("constraint {}", shown(other)?))),
        }
    }

    pub(super) fn set_primary_key(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        columns: &[String],
    ) -> Result<(), SqlError> {
        if draft.rules.primary_key.is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", draft.schema.name);
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
        }
        let name = self.constraint_name(draft, name, &[], "pkey")?;
        self.claim(&draft.name_beside(&name))?;
        let key = positions(draft, columns)?;
        for &column in &key {
            draft.schema.columns[column].nullable = false;
        }
        draft.schema.key = key;
        draft.rules.primary_key = Some(name);
        Ok(())
    }

    pub(super) fn add_unique(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        columns: &[String],
    ) -> Result<(), SqlError> {
        let name = self.constraint_name(draft, name, columns, "key")?;
        self.claim(&draft.name_beside(&name))?;
        let columns = positions(draft, columns)?;
        draft.rules.unique_constraints.push(name.clone());
        draft.schema.indexes.push(IndexSchema { name, columns, kind: IndexKind::Ordered, unique: true });
        Ok(())
    }

    /// Returns the name of a constraint or index: the given name, which must be free, or one made of its table and
    /// columns.
    pub(super) fn constraint_name(
        &self,
        draft: &Draft,
        given: Option<String>,
        columns: &[String],
        suffix: &str,
    ) -> Result<String, SqlError> {
        let taken = |name: &str| {
            self.view().has_relation(&draft.name_beside(name))
                || plain(&draft.schema.name) == name
                || draft.schema.indexes.iter().any(|index| index.name == name)
                || draft.rules.primary_key.as_deref() == Some(name)
        };
        if let Some(name) = given {
            if taken(&name) {
                return Err(duplicate_table(&name));
            }
            let rules = &draft.rules;
            let is_constraint = rules.checks.iter().any(|check| check.name == name)
                || rules.foreign_keys.iter().any(|key| key.name == name);
            return if is_constraint { Err(duplicate_constraint(&name, &draft.schema.name)) } else { Ok(name) };
        }
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        let mut names = schema::made_names(plain(&draft.schema.name), &columns, suffix);
        Ok(names.find(|name| !taken(name)).unwrap_or_default())
    }

    /// Returns the definition of a table with one more CHECK. The rows of the table have not been checked against it.
    pub(super) fn with_check(
        &mut self,
        table: &Arc<Table>,
        name: Option<String>,
        expr: &ast::Expr,
    ) -> Result<Arc<Table>, Fail> {
        self.check_memory()?;
        self.keep_types_of(table)?;
        self.keep_mentioned(expr)?;
        let condition = define_check(expr, table, self.view())?;
        let name = match name {
            Some(name) if table.has_name(&name) => return Err(duplicate_constraint(&name, table.name()).into()),
            Some(name) => name,
            None => {
                let column = match &condition.columns[..] {
                    [column] => Some(table.schema.columns[*column].name.as_str()),
                    _ => None,
                };
                let mut names = schema::made_names(table.plain_name(), column.as_slice(), "check");
                names.find(|name| !table.has_name(name)).unwrap_or_default()
            }
        };
        let mut rules = table.rules.clone();
        rules.checks.push(Check { name, condition });
        rules.checks.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(table.with(table.schema.clone(), rules))
    }

    /// Checks that none of these names means a view of any kind, which DROP TABLE does not drop.
    pub(super) fn check_droppable(&self, names: &[String]) -> Result<(), SqlError> {
        for name in names {
            if self.view().view(name).is_some() {
                return Err(not_a_table(name, self.view()).hint("Use DROP VIEW to remove a view."));
            }
            if let Some(table) = self.view().table(name) {
                self.check_plain_table(name).map_err(|error| error.hint(how_to_drop(&table)))?;
            }
        }
        Ok(())
    }

    pub(super) fn drop_tables(&mut self, names: &[String], if_exists: bool, cascade: bool) -> Result<(), Fail> {
        let mut tables: Vec<Arc<Table>> = Vec::with_capacity(names.len());
        for name in names {
            if self.view().table(name).is_none() {
                let message = format!("table \"{name}\" does not exist");
                if !if_exists {
                    return Err(SqlError::new(state::UNDEFINED_TABLE, message).into());
                }
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
            } else if !tables.iter().any(|table| table.name() == name) {
                tables.push(self.owned_table(name)?);
            }
        }
        let goes = |name: &str| tables.iter().any(|table| table.name() == name);
        let mut dependents = Dependents::default();
        for table in &tables {
            self.check_settled(table, "DROP TABLE")?;
            for (child, key) in self.referrers_of(table).iter().filter(|(child, _)| !goes(child.name())) {
                dependents.push(child, key, &format!("table {}", self.view().written(table.name())));
            }
        }
        if let [table] = &tables[..] {
            dependents.subject = format!("table {}", self.view().written(table.name()));
        }
        self.drop_dependent_objects(dependents, cascade)?;
        for table in &tables {
            for key in table.rules.foreign_keys.iter().filter(|key| !goes(&key.table)) {
                self.forget_referrer(&key.table, table.name(), &key.name)?;
            }
            self.drop_table(table, names, cascade)?;
        }
        Ok(())
    }

    /// Drops a table or materialized view. With `cascade`, also drops the views over it and the functions that return
    /// its rows.
    ///
    /// # Errors
    /// 2BP01 if there are any of these and `cascade` is not set. Views in `among` do not count, because the caller
    /// drops them anyway.
    pub(super) fn drop_table(&mut self, table: &Table, among: &[String], cascade: bool) -> Result<(), Fail> {
        self.txn.check_owned_table(table.id)?;
        self.drop_views_of(table.name(), table.kind(), among, cascade)?;
        self.drop_functions_of(table.name(), table.kind(), cascade)?;
        self.context.transaction.changes.tables.insert(table.name().to_owned(), None);
        self.drop_owned_sequences(table.name(), None, cascade)?;
        Ok(())
    }

    /// Runs TRUNCATE: replaces each table by an empty one.
    pub(crate) fn truncate(
        &mut self,
        names: &[RelationName],
        restart: bool,
        cascade: bool,
    ) -> Result<&'static str, Fail> {
        let names: Vec<_> = names.iter().map(|name| self.view().find(name)).collect();
        for table in self.truncated(&names, cascade)? {
            if restart {
                for sequence in self.sequences_of(table.name(), None) {
                    self.publish_sequence(sequence.restarted(self.catalog.new_sequence_id()));
                }
            }
            self.empty(&table)?;
        }
        Ok("TRUNCATE TABLE")
    }
}

/// Completes a draft: sorts its computed columns by position, and adds a hidden primary key if the draft has no primary
/// key. A hidden key begins with the partition key, if there is one.
pub(super) fn complete_key(draft: &mut Draft) -> Result<(), SqlError> {
    draft.rules.computed.sort_by_key(|computed| computed.column);
    let keys = draft.schema.indexes.iter().map(|index| &index.columns).chain([&draft.schema.key]);
    keys.flatten().try_for_each(|&column| check_key_type(draft.schema.columns[column].ty))?;
    if draft.rules.primary_key.is_none() {
        draft.schema.key = draft.partition_key.into_iter().chain([draft.schema.columns.len()]).collect();
        draft.schema.columns.push(Column::new(HIDDEN, Type::Int8));
    }
    // A scan by a hidden key returns the rows in the order of their insertion.
    draft.schema.ordered = true;
    draft.schema.partitioned = draft.partition_key.is_some();
    partition::check(draft)
}

/// Fails if a key cannot have a column of this type, because its values have no order, or another order than the bytes
/// of a key.
fn check_key_type(ty: Type) -> Result<(), SqlError> {
    match ty {
        Type::Json | Type::Array(Element::Json) => {
            let message = "data type json has no default operator class for access method \"btree\"";
            let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
            Err(SqlError::new(state::UNDEFINED_OBJECT, message).hint(hint))
        }
        Type::Jsonb | Type::Array(Element::Jsonb) => Err(unsupported("a key or an index with a column of type jsonb")),
        _ => Ok(()),
    }
}

pub(super) fn positions(draft: &Draft, columns: &[String]) -> Result<Vec<usize>, SqlError> {
    let mut found: Vec<usize> = Vec::with_capacity(columns.len());
    for name in columns {
        let position = draft.schema.column(name).filter(|_| name != HIDDEN).ok_or_else(|| {
            let message = format!("column \"{name}\" named in key does not exist");
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })?;
        if found.contains(&position) {
            let message = format!("column \"{name}\" appears twice in a key");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        found.push(position);
    }
    Ok(found)
}

fn index_columns(columns: &[ast::IndexColumn]) -> Result<Vec<String>, SqlError> {
    let name = |column: &ast::IndexColumn| match &column.column.expr {
        // An index is walked in both directions, so DESC makes no difference to what it can do.
        ast::Expr::Identifier(ident) => Ok(fold(ident)),
        _ => Err(unsupported("an index on an expression")),
    };
    columns.iter().map(name).collect()
}

/// Returns the type of the numbers of a serial column, or `None` if the column is not serial.
fn serial_type(ty: &ast::DataType) -> Option<Type> {
    let ast::DataType::Custom(name, modifiers) = ty else { return None };
    let name = object_name(name).ok().filter(|_| modifiers.is_empty())?.name;
    match name.as_str() {
        "smallserial" | "serial2" => Some(Type::Int2),
        "serial" | "serial4" => Some(Type::Int4),
        "bigserial" | "serial8" => Some(Type::Int8),
        _ => None,
    }
}

fn refuse_exotic(create: &ast::CreateTable) -> Result<(), SqlError> {
    let what = if create.like.is_some() {
        "LIKE without parentheses"
    } else if create.inherits.is_some() {
        "inheritance"
    } else if create.external || create.or_replace {
        "this kind of table"
    } else {
        return Ok(());
    };
    Err(unsupported(what))
}
