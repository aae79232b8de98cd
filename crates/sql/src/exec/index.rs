//! CREATE INDEX and DROP INDEX.

use super::ddl::{Ddl, Draft};
use super::{Fail, storage};
use crate::bind::{Indexed, define_indexed, define_predicate, index_column_name, index_label, retype_indexed};
use crate::catalog::{Computed, HIDDEN_PREFIX, IndexProperties, KeyOrder, Table};
use crate::error::unsupported;
use crate::expr::shown;
use crate::parse::names::{fold, object_name};
use crate::schema::plain;
use crate::{SqlError, state};
use hotrow_storage::{Column, IndexKind, IndexRef, IndexSchema, TableSchema, Type};
use sqlparser::ast;

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<&'static str, Fail> {
        if create.nulls_distinct == Some(false) {
            return Err(unsupported("NULLS NOT DISTINCT").into());
        }
        let kind = kind_of(create)?;
        let orders = orders_of(create, kind)?;
        let table = self.owned_table(&self.found(&create.table_name)?)?;
        self.check_settled(&table, "CREATE INDEX")?;
        let given = create.name.as_ref().map(object_name).transpose()?.map(|name| name.name);
        if let Some(name) = &given
            && create.if_not_exists
            && self.view().has_relation(&table.name_beside(name))
        {
            self.notice(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
            return Ok("CREATE INDEX");
        }
        let mut draft = self.draft(&table);
        let include: Vec<_> = create.include.iter().map(fold).collect();
        let keys = create.columns.iter().map(|column| index_column_name(&column.column.expr));
        let names: Vec<_> = keys.chain(include.iter().cloned()).collect();
        let name = self.constraint_name(&draft, given, &names, "idx")?;
        self.claim(&draft.name_beside(&name))?;
        let include = include.iter().map(|name| indexed_column(&draft, name)).collect::<Result<_, _>>()?;
        let mut columns = Vec::with_capacity(create.columns.len() + 1);
        if let Some(condition) = &create.predicate {
            self.keep_mentioned(condition)?;
            columns.push(draft.add_hidden(define_predicate(condition, &table, self.view())?));
        }
        for column in &create.columns {
            let at = self.key_column(&mut draft, column, create.predicate.as_ref(), &table)?;
            if columns.contains(&at) {
                let message = format!("column \"{}\" appears twice in a key", table.column_label(at));
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message).into());
            }
            if let Some(class) = &column.operator_class {
                storage::check_operator_class(class, kind, draft.schema.columns[at].ty)?;
            }
            columns.push(at);
        }
        if columns.iter().any(|&at| table.visible() <= at) {
            self.keep_types_of(&table)?;
        }
        storage::check_index(kind, &create.with)?;
        let properties = IndexProperties { name: name.clone(), partial: create.predicate.is_some(), orders, include };
        draft.rules.indexes.extend(Some(properties).filter(|properties| !properties.is_plain()));
        draft.schema.indexes.push(IndexSchema { name, columns, kind, unique: create.unique });
        self.rebuild(&table, draft)?;
        Ok("CREATE INDEX")
    }

    /// Returns the position of a key column of a new index. If the key is an expression, adds a hidden column for it.
    fn key_column(
        &mut self,
        draft: &mut Draft,
        column: &ast::IndexColumn,
        condition: Option<&ast::Expr>,
        table: &Table,
    ) -> Result<usize, Fail> {
        let expr = bare(&column.column.expr);
        if let ast::Expr::Identifier(ident) = expr {
            return Ok(indexed_column(draft, &fold(ident))?);
        }
        self.keep_mentioned(expr)?;
        let indexed = define_indexed(expr, condition, table, self.view())?;
        self.keep_type(indexed.ty)?;
        Ok(draft.add_hidden(indexed))
    }

    pub(super) fn drop_index(&mut self, name: &str, if_exists: bool, cascade: bool) -> Result<(), Fail> {
        let Some(table) = self.view().table_of_index(name) else {
            let message = format!("index \"{name}\" does not exist");
            if if_exists {
                self.notice(state::UNDEFINED_OBJECT, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message).into());
        };
        let table = self.owned_table(table.name())?;
        let name = plain(name);
        self.check_settled(&table, "DROP INDEX")?;
        let is_constraint = table.rules.primary_key.as_deref() == Some(name)
            || table.rules.unique_constraints.iter().any(|known| known == name);
        if is_constraint {
            let on = format!("constraint {name} on table {}", table.name());
            let message = format!("cannot drop index {name} because {on} requires it");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .hint(format!("You can drop {on} instead."))
                .into());
        }
        let dependents = self.dependents_of_index(&table, format!("index {name}"), name);
        self.drop_dependent_objects(dependents, cascade)?;
        let table = self.owned_table(table.name())?;
        let mut draft = self.draft(&table);
        draft.drop_indexes(|index, _| index.name == name);
        self.rebuild(&table, draft)
    }

    /// Binds the expressions of the hidden columns again that are computed from the column at `at`, whose type changes
    /// to `ty`.
    pub(super) fn retype_hidden(&self, table: &Table, draft: &mut Draft, at: usize, ty: Type) -> Result<(), SqlError> {
        let Draft { schema, rules, .. } = draft;
        let hidden = rules.computed.iter_mut().filter(|computed| table.is_hidden(computed.column));
        for Computed { column, value } in hidden.filter(|computed| computed.value.looks_at(at)) {
            (*value, schema.columns[*column].ty) = retype_indexed(value, at, ty, table, self.view())?;
        }
        Ok(())
    }

    /// Adds a copy of another table's index to a draft. In the draft, the columns of that table begin at position
    /// `first`.
    pub(super) fn add_index_like(
        &mut self,
        draft: &mut Draft,
        source: &Table,
        index: IndexRef,
        first: usize,
    ) -> Result<(), Fail> {
        let IndexRef::Secondary(id) = index else { return Ok(()) };
        let schema = &source.schema.indexes[usize::from(id.0)];
        let properties = source.index_properties(index);
        let include = properties.map_or(&[][..], |properties| &properties.include);
        let names: Vec<_> = source.key_columns(index).iter().chain(include).map(|&at| source.key_name(at)).collect();
        let name = self.constraint_name(draft, None, &names, "idx")?;
        self.claim(&draft.name_beside(&name))?;
        let mut columns = Vec::with_capacity(schema.columns.len());
        for &column in &schema.columns {
            let Some(value) = source.rules.computation(column).filter(|_| source.is_hidden(column)) else {
                columns.push(first + column);
                continue;
            };
            let mut value = value.clone();
            value.columns.iter_mut().for_each(|column| *column += first);
            let label = source.column_label(column).to_owned();
            columns.push(draft.add_hidden(Indexed { value, ty: source.schema.columns[column].ty, label }));
        }
        if let Some(properties) = properties {
            let include = properties.include.iter().map(|column| first + column).collect();
            draft.rules.indexes.push(IndexProperties { name: name.clone(), include, ..properties.clone() });
        }
        draft.schema.indexes.push(IndexSchema { name, columns, kind: schema.kind, unique: schema.unique });
        Ok(())
    }
}

impl Draft {
    /// Adds a hidden column for an expression of an index, and returns its position.
    fn add_hidden(&mut self, Indexed { value, ty, label }: Indexed) -> usize {
        let at = self.schema.columns.len();
        self.schema.columns.push(Column { name: format!("{HIDDEN_PREFIX}{label}"), ty, nullable: true });
        self.rules.computed.push(Computed { column: at, value });
        at
    }

    /// Drops the indexes for which `is_dropped` returns true, and their hidden columns. `is_dropped` also receives the
    /// properties of the index, if it has any.
    pub(super) fn drop_indexes(&mut self, is_dropped: impl Fn(&IndexSchema, Option<&IndexProperties>) -> bool) {
        let visible = self.visible();
        let mut hidden = Vec::new();
        let properties = &self.rules.indexes;
        self.schema.indexes.retain(|index| {
            let dropped = is_dropped(index, properties.iter().find(|known| known.name == index.name));
            if dropped {
                hidden.extend(index.columns.iter().copied().filter(|&column| column >= visible));
            }
            !dropped
        });
        let indexes = &self.schema.indexes;
        self.rules.indexes.retain(|known| indexes.iter().any(|index| index.name == known.name));
        hidden.sort_unstable();
        hidden.into_iter().rev().for_each(|column| self.remove_column(column));
    }
}

fn indexed_column(draft: &Draft, name: &str) -> Result<usize, SqlError> {
    let message = || format!("column \"{name}\" does not exist");
    draft.schema.column(name).ok_or_else(|| SqlError::new(state::UNDEFINED_COLUMN, message()))
}

/// Returns an expression without the parentheses around it.
fn bare(expr: &ast::Expr) -> &ast::Expr {
    match expr {
        ast::Expr::Nested(inner) => bare(inner),
        expr => expr,
    }
}

fn kind_of(create: &ast::CreateIndex) -> Result<IndexKind, SqlError> {
    let kind = match &create.using {
        None | Some(ast::IndexType::BTree) => IndexKind::Ordered,
        Some(ast::IndexType::Hash) => IndexKind::Hash,
        Some(other) => {
            let error = unsupported(&format!("index method {other}"));
            return Err(error.hint("The index methods are btree and hash."));
        }
    };
    let refused = match kind {
        IndexKind::Hash if create.unique => "unique indexes",
        IndexKind::Hash if !create.include.is_empty() => "included columns",
        _ => return Ok(kind),
    };
    let message = format!("access method \"hash\" does not support {refused}");
    Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
}

/// Returns the orders of an index's columns, as the statement declares them.
///
/// # Errors
/// 0A000 for an order of a hash index.
fn orders_of(create: &ast::CreateIndex, kind: IndexKind) -> Result<Vec<KeyOrder>, SqlError> {
    let mut orders = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let options = &column.column.options;
        let descending = match &options.sort {
            None | Some(ast::OrderBySort::Asc) => false,
            Some(ast::OrderBySort::Desc) => true,
            Some(ast::OrderBySort::Using(_)) => {
                return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"USING\""));
            }
        };
        let refused = match (&options.sort, options.nulls_first) {
            _ if kind == IndexKind::Ordered => None,
            (Some(_), _) => Some("ASC/DESC"),
            (None, Some(_)) => Some("NULLS FIRST/LAST"),
            (None, None) => None,
        };
        if let Some(refused) = refused {
            let message = format!("access method \"hash\" does not support {refused} options");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        orders.push(KeyOrder { descending, nulls_first: options.nulls_first.unwrap_or(descending) });
    }
    Ok(orders)
}

/// Returns the schema of a table in which the names of the hidden columns contain the expressions of their indexes,
/// written with the present names of the other columns.
pub(super) fn with_labels(table: &Table) -> TableSchema {
    let mut schema = (*table.schema).clone();
    for index in table.indexes() {
        let hidden = table.index_columns(index).iter().filter(|&&column| table.is_hidden(column));
        for (place, &column) in hidden.enumerate() {
            let label = match table.predicate(index).filter(|_| place == 0) {
                Some(predicate) => Some(shown(&predicate, Some(table))),
                None => table.key_expression(index, column).map(|expr| index_label(&expr, table)),
            };
            schema.columns[column].name = format!("{HIDDEN_PREFIX}{}", label.unwrap_or_default());
        }
    }
    schema
}
