//! Tables as stored definitions.

use super::domain::DomainIdForm;
use super::other::{TriggerForm, ViewForm};
use super::value::{
    CommentForm, DefaultForm, ExpressionForm, MadeTypes, TypeForm, comment_forms, comments, value_of, word_of,
};
use crate::SqlError;
use crate::catalog::foreign_key::{ForeignKey, ReferentialAction, Referrer};
use crate::catalog::view::Materialized;
use crate::catalog::{
    Catalog, Check, Computed, IndexProperties, KeyOrder, Mentioned, OnCommit, RowExpression, Rules, Table,
    visible_columns,
};
use hotrow_storage::{Column, IndexKind, IndexSchema, TableId, TableSchema};
use hotrow_sync::Arc;
use hotrow_sync::atomic::AtomicI64;
use hotrow_txn::Engine;
use serde::{Deserialize, Serialize};

/// The definition of a table, apart from its name.
// More than 15 fields: the form of the log, in which each part of a definition has its own name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableForm {
    id: u32,
    columns: Vec<ColumnForm>,
    key: Vec<usize>,
    ordered: bool,
    partitioned: bool,
    constant: bool,
    indexes: Vec<IndexForm>,
    checks: Vec<CheckForm>,
    primary_key: Option<String>,
    unique_constraints: Vec<String>,
    identities: Vec<(usize, bool)>,
    foreign_keys: Vec<ForeignKeyForm>,
    referrers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    triggers: Vec<TriggerForm>,
    comments: Vec<CommentForm>,
    /// The query of a materialized view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    materialized: Option<MaterializedForm>,
}

#[derive(Serialize, Deserialize)]
struct MaterializedForm {
    query: ViewForm,
    is_populated: bool,
}

#[derive(Serialize, Deserialize)]
struct ColumnForm {
    name: String,
    ty: TypeForm,
    nullable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<DomainIdForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<DefaultForm>,
    /// The expression from which the values of the column are computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    computed: Option<RowExpressionForm>,
}

#[derive(Serialize, Deserialize)]
struct IndexForm {
    name: String,
    columns: Vec<usize>,
    kind: String,
    unique: bool,
    /// Whether the index has a condition. Its first column is then the hidden column of the condition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    /// For each column of the key, whether its declared order is descending and whether NULLs come first. An empty list
    /// stands for the default order of all columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    orders: Vec<(bool, bool)>,
    /// The positions of the columns of INCLUDE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    include: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct CheckForm {
    name: String,
    #[serde(flatten)]
    condition: RowExpressionForm,
}

#[derive(Serialize, Deserialize)]
struct RowExpressionForm {
    expression: ExpressionForm,
    /// The name of the table, and the names and types of its columns, when the expression was written.
    table: String,
    mentioned: Vec<(String, TypeForm)>,
    columns: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct ForeignKeyForm {
    name: String,
    columns: Vec<usize>,
    table: String,
    referenced: Vec<String>,
    on_delete: String,
    on_update: String,
    full: bool,
    deferrable: bool,
    deferred: bool,
    validated: bool,
}

const KINDS: [(IndexKind, &str); 2] = [(IndexKind::Hash, "hash"), (IndexKind::Ordered, "ordered")];

const ACTIONS: [(ReferentialAction, &str); 5] = [
    (ReferentialAction::NoAction, "no action"),
    (ReferentialAction::Restrict, "restrict"),
    (ReferentialAction::Cascade, "cascade"),
    (ReferentialAction::SetNull, "set null"),
    (ReferentialAction::SetDefault, "set default"),
];

impl TableForm {
    /// Makes the stored form of a table.
    ///
    /// # Errors
    /// 0A000 if an expression of the definition cannot be stored.
    pub(super) fn of(table: &Table) -> Result<Self, SqlError> {
        let (schema, rules) = (&table.schema, &table.rules);
        let mut columns = Vec::with_capacity(schema.columns.len());
        for (at, column) in schema.columns.iter().enumerate() {
            let default = rules.defaults.get(at).and_then(Option::as_ref).map(DefaultForm::of).transpose()?;
            let computed = rules.computation(at).map(RowExpressionForm::of).transpose()?;
            let (name, ty) = (column.name.clone(), TypeForm::of(column.ty));
            let domain = DomainIdForm::of(rules.domain(at));
            columns.push(ColumnForm { name, ty, nullable: column.nullable, domain, default, computed });
        }
        Ok(Self {
            id: table.id.0,
            columns,
            key: schema.key.clone(),
            ordered: schema.ordered,
            partitioned: schema.partitioned,
            constant: schema.constant,
            indexes: schema.indexes.iter().map(|index| IndexForm::of(index, rules)).collect(),
            checks: rules.checks.iter().map(CheckForm::of).collect::<Result<_, _>>()?,
            primary_key: rules.primary_key.clone(),
            unique_constraints: rules.unique_constraints.clone(),
            identities: rules.identities.clone(),
            foreign_keys: rules.foreign_keys.iter().map(ForeignKeyForm::of).collect(),
            referrers: rules.referrers.iter().map(|of| (of.table.clone(), of.constraint.clone())).collect(),
            triggers: rules.triggers.iter().map(|trigger| TriggerForm::of(trigger)).collect(),
            comments: comment_forms(&rules.comments),
            materialized: rules.materialized.as_deref().map(MaterializedForm::of).transpose()?,
        })
    }

    /// Returns the definition, whose expressions the binder has yet to bind. The caller must set the next hidden row
    /// number, which is one here.
    ///
    /// # Errors
    /// If the engine has no such table, or a part of the definition cannot be read.
    pub(super) fn table(
        self,
        name: &str,
        made: &MadeTypes,
        engine: &dyn Engine,
        catalog: &Catalog,
    ) -> Result<Arc<Table>, String> {
        let id = TableId(self.id);
        if !engine.tables().contains(&id) {
            return Err(format!("its rows are missing: the engine has no table {}", id.0));
        }
        let mut defaults = Vec::with_capacity(self.columns.len());
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut computed = Vec::new();
        let mut rules = Rules::default();
        for (at, column) in self.columns.into_iter().enumerate() {
            let of_column = |wrong: String| format!("column \"{}\": {wrong}", column.name);
            let default = column.default.as_ref().map(|default| default.default(made)).transpose();
            defaults.push(default.map_err(|wrong| of_column(format!("its DEFAULT cannot be read: {wrong}")))?);
            if let Some(value) = &column.computed {
                let unreadable = |wrong| of_column(format!("its expression cannot be read: {wrong}"));
                computed.push(Computed { column: at, value: value.value(made).map_err(unreadable)? });
            }
            let ty = column.ty.ty(made).map_err(of_column)?;
            rules.set_domain(at, DomainIdForm::domain(column.domain));
            columns.push(Column { name: column.name, ty, nullable: column.nullable });
        }
        let indexes =
            self.indexes.iter().map(IndexForm::properties).filter(|properties| !properties.is_plain()).collect();
        let schema = TableSchema {
            name: name.to_owned(),
            columns,
            key: self.key,
            ordered: self.ordered,
            partitioned: self.partitioned,
            constant: self.constant,
            unlogged: false,
            indexes: self.indexes.into_iter().map(IndexForm::index).collect::<Result<_, _>>()?,
        };
        check_fit(&schema, &engine.schema(id))?;
        // Hidden columns have no DEFAULT, and no place in the list.
        defaults.truncate(visible_columns(&schema));
        let rules = Rules {
            on_commit: OnCommit::PreserveRows,
            defaults,
            computed,
            indexes,
            checks: self.checks.into_iter().map(|check| check.check(made)).collect::<Result<_, _>>()?,
            primary_key: self.primary_key,
            unique_constraints: self.unique_constraints,
            identities: self.identities,
            foreign_keys: self.foreign_keys.into_iter().map(ForeignKeyForm::key).collect::<Result<_, _>>()?,
            referrers: self.referrers.into_iter().map(|(table, constraint)| Referrer { table, constraint }).collect(),
            triggers: self.triggers.into_iter().map(TriggerForm::trigger).collect::<Result<_, _>>()?,
            comments: comments(self.comments),
            materialized: self.materialized.map(|form| form.materialized(name, made)).transpose()?.map(Arc::new),
            ..rules
        };
        let (layout, row_ids, lock) = (engine.layout(id), Arc::new(AtomicI64::new(1)), catalog.lock(name));
        Ok(Table::over(id, Arc::new(schema), layout, rules, row_ids, lock))
    }
}

/// Checks that the engine's table has the columns, the key and the indexes of a definition, whatever their names.
fn check_fit(schema: &TableSchema, stored: &TableSchema) -> Result<(), String> {
    let indexes = |schema: &TableSchema| -> Vec<_> {
        schema.indexes.iter().map(|index| (index.columns.clone(), index.kind, index.unique)).collect()
    };
    let is_in = |positions: &[usize]| positions.iter().all(|&at| at < schema.columns.len());
    let fits = schema.columns.len() == stored.columns.len()
        && schema.key == stored.key
        && (schema.ordered, schema.partitioned, schema.constant)
            == (stored.ordered, stored.partitioned, stored.constant)
        && indexes(schema) == indexes(stored)
        && is_in(&schema.key)
        && schema.indexes.iter().all(|index| is_in(&index.columns));
    if fits { Ok(()) } else { Err("it does not fit the rows: they have other columns, keys or indexes".to_owned()) }
}

impl IndexForm {
    fn of(index: &IndexSchema, rules: &Rules) -> Self {
        let (name, columns) = (index.name.clone(), index.columns.clone());
        let properties = rules.indexes.iter().find(|properties| properties.name == name).cloned().unwrap_or_default();
        Self {
            name,
            columns,
            kind: word_of(&KINDS, &index.kind),
            unique: index.unique,
            partial: properties.partial,
            orders: properties.orders.iter().map(|order| (order.descending, order.nulls_first)).collect(),
            include: properties.include,
        }
    }

    fn properties(&self) -> IndexProperties {
        let order = |&(descending, nulls_first): &(bool, bool)| KeyOrder { descending, nulls_first };
        IndexProperties {
            name: self.name.clone(),
            partial: self.partial,
            orders: self.orders.iter().map(order).collect(),
            include: self.include.clone(),
        }
    }

    fn index(self) -> Result<IndexSchema, String> {
        let kind = value_of(&KINDS, &self.kind).map_err(|wrong| format!("index \"{}\": {wrong}", self.name))?;
        Ok(IndexSchema { name: self.name, columns: self.columns, kind, unique: self.unique })
    }
}

impl MaterializedForm {
    fn of(materialized: &Materialized) -> Result<Self, SqlError> {
        Ok(Self { query: ViewForm::of(&materialized.query)?, is_populated: materialized.is_populated })
    }

    fn materialized(self, name: &str, made: &MadeTypes) -> Result<Materialized, String> {
        Ok(Materialized { query: self.query.view(name, made)?, is_populated: self.is_populated })
    }
}

impl CheckForm {
    fn of(check: &Check) -> Result<Self, SqlError> {
        Ok(Self { name: check.name.clone(), condition: RowExpressionForm::of(&check.condition)? })
    }

    fn check(self, made: &MadeTypes) -> Result<Check, String> {
        let of_check = |wrong: String| format!("its CHECK constraint \"{}\" cannot be read: {wrong}", self.name);
        let condition = self.condition.value(made).map_err(of_check)?;
        Ok(Check { name: self.name, condition })
    }
}

impl RowExpressionForm {
    fn of(value: &RowExpression) -> Result<Self, SqlError> {
        let RowExpression { expression, mentioned, columns } = value;
        Ok(Self {
            expression: ExpressionForm::of(expression)?,
            table: mentioned.table.clone(),
            mentioned: mentioned.columns.iter().map(|(name, ty)| (name.clone(), TypeForm::of(*ty))).collect(),
            columns: columns.clone(),
        })
    }

    fn value(&self, made: &MadeTypes) -> Result<RowExpression, String> {
        let columns = self.mentioned.iter().map(|(name, ty)| Ok((name.clone(), ty.ty(made)?)));
        let columns = columns.collect::<Result<Vec<_>, String>>()?;
        let mentioned = Arc::new(Mentioned { table: self.table.clone(), columns });
        Ok(RowExpression { expression: self.expression.written()?, mentioned, columns: self.columns.clone() })
    }
}

impl ForeignKeyForm {
    fn of(key: &ForeignKey) -> Self {
        Self {
            name: key.name.clone(),
            columns: key.columns.clone(),
            table: key.table.clone(),
            referenced: key.referenced.clone(),
            on_delete: word_of(&ACTIONS, &key.on_delete),
            on_update: word_of(&ACTIONS, &key.on_update),
            full: key.full,
            deferrable: key.deferrable,
            deferred: key.deferred,
            validated: key.validated,
        }
    }

    fn key(self) -> Result<ForeignKey, String> {
        let of_key = |wrong: String| format!("foreign key \"{}\": {wrong}", self.name);
        let on_delete = value_of(&ACTIONS, &self.on_delete).map_err(of_key)?;
        let on_update = value_of(&ACTIONS, &self.on_update).map_err(of_key)?;
        Ok(ForeignKey {
            name: self.name,
            columns: self.columns,
            table: self.table,
            referenced: self.referenced,
            on_delete,
            on_update,
            full: self.full,
            deferrable: self.deferrable,
            deferred: self.deferred,
            validated: self.validated,
        })
    }
}
