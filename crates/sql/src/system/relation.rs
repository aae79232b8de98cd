//! The type of a system relation, and the list in which its rows are built.

use crate::context::SessionContext;
use hotrow_storage::{Array, Element, Type, Value};

/// A system relation: the server builds its rows for each query.
#[derive(Debug)]
pub struct SystemRelation {
    /// The schema of the relation.
    pub schema: &'static str,
    /// The name of the relation.
    pub name: &'static str,
    /// Whether the relation is listed as a view and not as a table: PostgreSQL has a view of this name, or no relation
    /// of this name.
    pub(super) is_view: bool,
    /// The names and types of the columns that `*` shows.
    pub columns: Vec<(&'static str, Type)>,
    /// The OID of the relation, which is also the value of the column `tableoid`.
    pub(super) number: u32,
}

impl SystemRelation {
    /// Returns the relation's columns, followed by `tableoid`, the relation's OID, which `*` does not include.
    pub(crate) fn all_columns(&self) -> impl Iterator<Item = (&'static str, Type)> {
        self.columns.iter().copied().chain(std::iter::once(("tableoid", Type::Oid)))
    }
}

/// A function that builds the rows of a relation, as a session sees them at this moment.
pub(super) type Maker = fn(&SessionContext, &mut Rows<'_>);

/// The list in which the rows of a relation are built.
#[derive(Debug)]
pub(super) struct Rows<'r> {
    pub(super) relation: &'r SystemRelation,
    pub(super) rows: Vec<Vec<Value<'static>>>,
}

impl Rows<'_> {
    /// Adds a row with these values, by the names of their columns. Columns without a value are zero, false or NULL in
    /// `pg_catalog`, and NULL in other schemas.
    pub(super) fn push(&mut self, values: Vec<(&str, Value<'static>)>) {
        let plain = |ty: Type| match ty {
            _ if self.relation.schema != "pg_catalog" => Value::Null,
            Type::Bool => Value::Bool(false),
            Type::Int2 => Value::Int2(0),
            Type::Int4 | Type::Oid => Value::Int4(0),
            Type::Int8 => Value::Int8(0),
            Type::Float4 => Value::Float4(0.0),
            _ => Value::Null,
        };
        let mut row: Vec<_> = self.relation.columns.iter().map(|(_, ty)| plain(*ty)).collect();
        for (name, value) in values {
            let place = self.relation.columns.iter().position(|(known, _)| *known == name);
            debug_assert!(place.is_some(), "{} has no column {name}", self.relation.name);
            if let Some(place) = place {
                row[place] = value;
            }
        }
        self.rows.push(row);
    }
}

/// Makes a text value.
pub(super) fn text(text: impl Into<String>) -> Value<'static> {
    Value::Text(text.into().into())
}

/// Makes the value of an OID.
pub(super) fn oid(number: u32) -> Value<'static> {
    Value::Int4(number.cast_signed())
}

/// Makes an array of column numbers, which count from one. `positions` count from zero.
pub(super) fn columns(positions: impl IntoIterator<Item = usize>) -> Value<'static> {
    Value::Array(Array::new(Element::Int2, positions.into_iter().map(|at| Value::Int2(at as i16 + 1))))
}
