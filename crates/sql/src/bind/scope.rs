//! Scopes: the columns that names in an expression can mean.
//!
//! The columns of all FROM items of a query are numbered in the order of the items, and expressions are bound over
//! these numbers. The places of the columns in the rows are known only once the joins are planned. A name that means
//! nothing in a query is looked up in the queries around it.

use crate::catalog::{Mentioned, Table};
use crate::expr::{Expr, Function, Variadic};
use crate::parse::names::fold;
use crate::schema::split;
use crate::types::DomainId;
use crate::{Origin, OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;

/// The FROM items whose columns an expression can name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    relations: Vec<Relation>,
}

/// A FROM item, with the names that it gives to columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relation {
    /// The alias of the item, or its own name. `None` for the columns that USING merges, and for a subquery without an
    /// alias.
    pub(super) name: Option<String>,
    /// The name of the item's table, even if an alias hides it.
    pub(super) table: Option<String>,
    /// The full name of the item's table, from which the system relations' number of the table is derived.
    pub(super) stored: Option<String>,
    /// The name of the item's table with its schema, in the form of [`qualified`]; `None` if an alias hides it.
    pub(super) full: Option<String>,
    /// The columns of the item, without a table's hidden key.
    pub(super) columns: Vec<Named>,
    /// The columns that a statement can name, but for which `*` does not stand, such as `ctid`. Copies of the item
    /// share them.
    pub(super) hidden: Arc<[Named]>,
    /// The value that the name of the item itself means where no column has that name. Only an item of a function whose
    /// rows have one column has it: the value is that column.
    pub(super) value: Option<Box<Named>>,
    /// The positions of a table's primary key columns; empty if the key is hidden or the item is no table.
    pub(super) key: Vec<usize>,
}

/// A column that has a name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) ty: Type,
    /// The domain of the values, whose base type is `ty`.
    pub(super) domain: Option<DomainId>,
    /// The value of the column, as an expression over the query's columns.
    pub(super) expr: Expr,
    /// Whether USING has merged the column into another one. The name then means this column only if the relation's
    /// name stands before it.
    pub(super) merged: bool,
    /// The stored column from which the values come; `None` if there is none, or if the item is a table itself.
    pub(super) origin: Option<Origin>,
}

/// The outcome of looking up the name of a column.
pub(super) enum Found<C> {
    Nothing,
    Column(C),
    Ambiguous,
}

impl<C> Found<C> {
    /// Changes the column, if there is one.
    pub(super) fn map<D>(self, change: impl FnOnce(C) -> D) -> Found<D> {
        match self {
            Self::Nothing => Found::Nothing,
            Self::Column(column) => Found::Column(change(column)),
            Self::Ambiguous => Found::Ambiguous,
        }
    }
}

/// A query around the one that is being bound.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) scope: Scope,
    /// The number of the frame through which inner queries see the query's row.
    pub(super) frame: usize,
    /// The query's columns to which inner queries refer.
    pub(super) columns: Vec<usize>,
}

impl Relation {
    /// Makes a FROM item whose columns have these names, and numbers from `offset` on.
    pub(super) fn new(name: Option<String>, columns: impl IntoIterator<Item = OutputColumn>, offset: usize) -> Self {
        let named = |(at, column): (usize, OutputColumn)| Named {
            name: column.name,
            ty: column.ty,
            domain: column.domain,
            expr: Expr::Column(offset + at),
            merged: false,
            origin: column.origin,
        };
        Self {
            name,
            table: None,
            stored: None,
            full: None,
            columns: columns.into_iter().enumerate().map(named).collect(),
            hidden: Arc::default(),
            value: None,
            key: Vec::new(),
        }
    }

    /// Gives the columns the names that the item's alias has for them.
    ///
    /// # Errors
    /// 42P10 if the alias has more names than there are columns.
    pub(super) fn rename(&mut self, alias: &ast::TableAlias) -> Result<(), SqlError> {
        let (given, there) = (alias.columns.len(), self.columns.len());
        if given > there {
            let name = fold(&alias.name);
            let message = format!("table \"{name}\" has {there} columns available but {given} columns specified");
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
        }
        for (column, name) in self.columns.iter_mut().zip(&alias.columns) {
            column.name = fold(&name.name);
        }
        Ok(())
    }

    /// Makes the name of the item mean its column, if it has only one.
    pub(super) fn mean_value(&mut self) {
        if let ([column], Some(name)) = (&self.columns[..], &self.name) {
            self.value = Some(Box::new(Named { name: name.clone(), ..column.clone() }));
        }
    }

    /// Hides the last column from `*`. Its name can still be used.
    pub(super) fn hide_last(&mut self) {
        self.hidden = self.columns.pop().into_iter().collect();
    }

    /// Makes a FROM item of a table's visible columns.
    pub(super) fn table(table: &Table, alias: Option<&str>, offset: usize) -> Self {
        let columns = table.schema.columns[..table.visible()].iter().enumerate();
        let columns =
            columns.map(|(at, column)| OutputColumn::new(column.name.clone(), column.ty).of_domain(table.domain(at)));
        let name = alias.unwrap_or(table.plain_name()).to_owned();
        let full = alias.is_none().then(|| qualified(table.schema_name(), table.plain_name()));
        let key = if table.is_key_hidden() { Vec::new() } else { table.schema.key.clone() };
        let (plain, stored) = (Some(table.plain_name().to_owned()), Some(table.name().to_owned()));
        // The result of a query that is stored as a table may have a column of this name.
        let hidden = if table.schema.column(ROW).is_some() { None } else { Some(row_of(table, offset)) };
        let hidden = hidden.into_iter().collect();
        Self { table: plain, stored, full, key, hidden, ..Self::new(Some(name), columns, offset) }
    }
}

/// The name of the column by which tools tell rows apart.
const ROW: &str = "ctid";

/// Makes the column `ctid`, by which tools tell rows apart. Its value is the column of the primary key, which may be
/// hidden, or a JSON array of the key's columns if there are several.
fn row_of(table: &Table, offset: usize) -> Named {
    let key = table.schema.key.iter().map(|&column| Expr::Column(offset + column));
    let (expr, ty) = match &table.schema.key[..] {
        [column] => (Expr::Column(offset + column), table.schema.columns[*column].ty),
        _ => (Expr::Call(Function::Variadic(Variadic::JsonArray(true)), key.collect()), Type::Jsonb),
    };
    Named { name: ROW.to_owned(), ty, domain: None, expr, merged: false, origin: None }
}

/// Returns a relation's name with its schema in a form that no statement can contain.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{name}\0{schema}\0")
}

impl Relation {
    /// Whether a name means this FROM item. The name may be in the form of [`qualified`].
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name) || self.full.as_deref() == Some(name)
    }
}

impl Scope {
    /// Makes the scope of a single table.
    pub(crate) fn table(table: &Table, alias: Option<&str>) -> Self {
        Self { relations: vec![Relation::table(table, alias, 0)] }
    }

    /// Makes the scope of one FROM item.
    pub(super) fn of_relation(relation: Relation) -> Self {
        Self { relations: vec![relation] }
    }

    /// Makes the scope of the names that a stored expression may mention, with the columns in the order of the list.
    pub(super) fn mentioned(mentioned: &Mentioned) -> Self {
        let (schema, name) = split(&mentioned.table);
        let columns = mentioned.columns.iter().map(|(name, ty)| OutputColumn::new(name.clone(), *ty));
        let relation = Relation::new(Some(name.to_owned()), columns, 0);
        Self { relations: vec![Relation { full: Some(qualified(schema, name)), ..relation }] }
    }

    /// Makes the scope of a result's columns, which have no relation.
    pub(super) fn output(columns: &[OutputColumn]) -> Self {
        Self { relations: vec![Relation::new(None, columns.iter().cloned(), 0)] }
    }

    pub(super) fn relations(&self) -> &[Relation] {
        &self.relations
    }

    pub(super) fn relations_mut(&mut self) -> &mut Vec<Relation> {
        &mut self.relations
    }

    pub(super) fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.relations.iter().any(|known| known.is_called(name))
    }

    /// Adds the FROM items of another scope.
    ///
    /// # Errors
    ///
    /// 42712 if both have an item of the same name.
    pub(super) fn append(&mut self, other: Scope) -> Result<(), SqlError> {
        for relation in other.relations {
            // Tables of the same name in different schemas are not the same.
            let is_same = |known: &Relation| {
                known.name == relation.name
                    && (known.full.is_none() || relation.full.is_none() || known.full == relation.full)
            };
            if let Some(name) = &relation.name
                && self.relations.iter().any(is_same)
            {
                let message = format!("table name \"{name}\" specified more than once");
                return Err(SqlError::new(state::DUPLICATE_ALIAS, message));
            }
            self.relations.push(relation);
        }
        Ok(())
    }

    /// Looks up the column of this name, in the relation of the given name or else in all relations.
    pub(super) fn find(&self, relation: Option<&str>, name: &str) -> Found<&Named> {
        let named = |known: &&Relation| relation.is_none_or(|wanted| known.is_called(wanted));
        let columns =
            self.relations.iter().filter(named).flat_map(|known| known.columns.iter().chain(known.hidden.iter()));
        let mut found = columns.filter(|column| column.name == name && (relation.is_some() || !column.merged));
        match (found.next(), found.next()) {
            (None, _) => {
                let mut values = self.relations.iter().filter_map(|known| known.value.as_deref());
                let value = values.find(|value| relation.is_none() && value.name == name);
                value.map_or(Found::Nothing, Found::Column)
            }
            (Some(column), None) => Found::Column(column),
            (Some(_), Some(_)) => Found::Ambiguous,
        }
    }

    /// Returns the name of a column with its relation, for messages.
    pub(super) fn name_of(&self, column: usize) -> String {
        for relation in &self.relations {
            if let (Some(name), Some(named)) =
                (&relation.name, relation.columns.iter().find(|named| named.expr == Expr::Column(column)))
            {
                return format!("{name}.{}", named.name);
            }
        }
        "?column?".to_owned()
    }
}

/// Rewrites an expression over a query's columns into one over the frame that shows them. Adds the columns to
/// `columns`.
pub(super) fn show(expr: &mut Expr, frame: usize, columns: &mut Vec<usize>) {
    match expr {
        Expr::Column(column) => {
            let at = columns.iter().position(|known| known == column).unwrap_or_else(|| {
                columns.push(*column);
                columns.len() - 1
            });
            *expr = Expr::Outer(frame, at);
        }
        other => other.parts_mut().into_iter().for_each(|part| show(part, frame, columns)),
    }
}
