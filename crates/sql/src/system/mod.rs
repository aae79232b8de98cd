//! System relations: what the server knows, as rows to query. They are made up when a query asks, and no part of any transaction but that they show
//! the catalog as the transaction sees it.
//!
//! | file | relations |
//! | --- | --- |
//! | `contention` | `hotrow_contention` |
//! | `relations.txt` | names and columns of PostgreSQL's catalogs; what no other file makes rows of is empty |
//! | `pg_catalog`, `pg_views` | rows of `pg_catalog`: its tables, its views |
//! | `information_schema` | rows of `information_schema` |
//! | `sessions` | what sessions do and wait for |
//! | `operator_classes` | rows of `pg_opclass` |
//! | `other_types` | types of catalogs' columns |
//! | `depend` | rows of `pg_depend` |
//! | `comments` | `pg_description` |
//! | `objects` | what there is, numbered |
//! | `describe` | definitions as SQL |

mod comments;
mod contention;
mod depend;
mod describe;
mod information_schema;
mod objects;
mod operator_classes;
mod other_types;
mod pg_catalog;
mod pg_views;
mod sessions;

pub(crate) use comments::comment_on;
pub(crate) use describe::{constraint_definition, format_type, index_definition, view_definition};
pub(crate) use objects::{
    is_type_function, is_visible, number_of_relation, number_of_schema_name, number_of_system_relation, number_of_type,
    relation_of_number, schema_of_number, size, type_of_number,
};
pub(crate) use operator_classes::has as has_operator_class;

use crate::context::Names;
use hotrow_storage::{Array, Element, Type, Value};
use hotrow_sync::OnceLock;
use std::collections::HashMap;

/// Makes the rows of a relation, as a session sees them at this moment.
type Maker = fn(&Names, &mut Rows<'_>);

/// A relation that the server makes up.
#[derive(Debug)]
pub struct SystemRelation {
    /// Its schema.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Whether PostgreSQL has a view of this name, or none.
    is_view: bool,
    /// Its columns.
    pub columns: Vec<(&'static str, Type)>,
    /// None if there is nothing to show.
    maker: Option<Maker>,
    /// Its number, which its rows have, too.
    number: u32,
}

/// Rows of a relation in the making.
#[derive(Debug)]
struct Rows<'r> {
    relation: &'r SystemRelation,
    rows: Vec<Vec<Value<'static>>>,
}

impl Rows<'_> {
    /// One more row with these columns. Others are zero, false and NULL in `pg_catalog`, and NULL elsewhere.
    fn push(&mut self, values: Vec<(&str, Value<'static>)>) {
        let plain = |ty: Type| match ty {
            _ if self.relation.schema != "pg_catalog" => Value::Null,
            Type::Bool => Value::Bool(false),
            Type::Int2 => Value::Int2(0),
            Type::Int4 => Value::Int4(0),
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

impl SystemRelation {
    /// Its columns, and after them one that its rows have though `*` does not show it: the relation's number.
    pub(crate) fn all_columns(&self) -> impl Iterator<Item = (&'static str, Type)> {
        self.columns.iter().copied().chain(std::iter::once(("tableoid", Type::Int4)))
    }

    /// Its rows at this moment, as a session sees them, with all columns.
    pub fn rows(&self, names: &Names) -> Vec<Vec<Value<'static>>> {
        let mut rows = Rows { relation: self, rows: Vec::new() };
        if let Some(maker) = self.maker {
            maker(names, &mut rows);
        }
        rows.rows.iter_mut().for_each(|row| row.push(oid(self.number)));
        rows.rows
    }
}

/// All system relations.
#[derive(Debug)]
struct All {
    /// In the order of their schemas and names.
    list: Vec<SystemRelation>,
    /// Their positions by schema and name.
    by_name: HashMap<(&'static str, &'static str), usize>,
}

/// All system relations.
fn all() -> &'static All {
    static ALL: OnceLock<All> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut list: Vec<_> = include_str!("relations.txt").lines().filter_map(read).collect();
        list.extend([contention::relation(), sessions::relation()]);
        for (at, relation) in list.iter_mut().enumerate() {
            relation.number = objects::number_of_system(at, relation.name);
        }
        let by_name = list.iter().enumerate().map(|(at, relation)| ((relation.schema, relation.name), at)).collect();
        All { list, by_name }
    })
}

/// Reads a line: `schema.name kind column type, column type`.
fn read(line: &'static str) -> Option<SystemRelation> {
    let (whole, rest) = line.split_once(' ')?;
    let (schema, name) = whole.split_once('.')?;
    let (kind, columns) = rest.split_once(' ')?;
    let column = |column: &'static str| {
        let (name, ty) = column.split_once(' ')?;
        Some((name, column_type(ty)?))
    };
    let columns = columns.split(", ").map(column).collect::<Option<Vec<_>>>()?;
    let maker = match schema {
        "pg_catalog" => pg_catalog::maker(name).or_else(|| pg_views::maker(name)).or_else(|| sessions::maker(name)),
        _ => information_schema::maker(name),
    };
    Some(SystemRelation { schema, name, is_view: kind == "v", columns, maker, number: 0 })
}

fn column_type(name: &str) -> Option<Type> {
    if let Some(element) = name.strip_suffix("[]") {
        return Element::of(column_type(element)?).map(Type::Array);
    }
    Some(match name {
        "bool" => Type::Bool,
        "int2" => Type::Int2,
        "int4" => Type::Int4,
        "int8" => Type::Int8,
        "float4" => Type::Float4,
        "float8" => Type::Float8,
        "numeric" => Type::Numeric(None),
        "text" => Type::Text,
        "bytea" => Type::Bytea,
        "date" => Type::Date,
        "int2vector" => Type::Array(Element::Int2Vector),
        "oidvector" => Type::Array(Element::OidVector),
        "timestamptz" => Type::TimestampTz,
        _ => return None,
    })
}

/// The relation that a name means, which may say the schema.
pub(crate) fn relation(parts: &[String]) -> Option<&'static SystemRelation> {
    let key = match parts {
        [name] => ("pg_catalog", name.as_str()),
        [schema, name] => (schema.as_str(), name.as_str()),
        _ => return None,
    };
    all().by_name.get(&key).map(|&at| &all().list[at])
}

/// A text.
fn text(text: impl Into<String>) -> Value<'static> {
    Value::Text(text.into().into())
}

/// An object's number.
fn oid(number: u32) -> Value<'static> {
    Value::Int4(number.cast_signed())
}

/// Columns' numbers, counted from zero, as an array that counts from one.
fn columns(positions: impl IntoIterator<Item = usize>) -> Value<'static> {
    Value::Array(Array::new(Element::Int2, positions.into_iter().map(|at| Value::Int2(at as i16 + 1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_relation() {
        let lines = include_str!("relations.txt").lines();
        assert_eq!(lines.filter(|line| read(line).is_none()).collect::<Vec<_>>(), Vec::<&str>::new());
        assert_eq!(all().by_name.len(), all().list.len(), "a name stands twice");
    }
}
