//! The list of all system relations.

use super::objects;
use super::relation::SystemRelation;
use hotrow_storage::{Element, Type};
use hotrow_sync::OnceLock;
use std::collections::HashMap;

/// All system relations.
#[derive(Debug)]
pub(super) struct All {
    /// The relations, ordered by schema and name.
    pub(super) list: Vec<SystemRelation>,
    /// The position of each relation in the list, by schema and name.
    by_name: HashMap<(&'static str, &'static str), usize>,
}

/// Returns the list of all system relations.
pub(super) fn all() -> &'static All {
    static ALL: OnceLock<All> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut list: Vec<_> = include_str!("relations.txt").lines().filter_map(read).collect();
        for (at, relation) in list.iter_mut().enumerate() {
            relation.number = objects::number_of_system(at, relation.name);
        }
        let by_name = list.iter().enumerate().map(|(at, relation)| ((relation.schema, relation.name), at)).collect();
        All { list, by_name }
    })
}

/// Parses a line of the list: `schema.name kind column type, column type`.
fn read(line: &'static str) -> Option<SystemRelation> {
    let (whole, rest) = line.split_once(' ')?;
    let (schema, name) = whole.split_once('.')?;
    let (kind, columns) = rest.split_once(' ')?;
    let column = |column: &'static str| {
        let (name, ty) = column.split_once(' ')?;
        Some((name, column_type(ty)?))
    };
    let columns = columns.split(", ").map(column).collect::<Option<Vec<_>>>()?;
    Some(SystemRelation { schema, name, is_view: kind == "v", columns, number: 0 })
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
        "name" => Type::Name,
        "oid" => Type::Oid,
        "bytea" => Type::Bytea,
        "date" => Type::Date,
        "int2vector" => Type::Array(Element::Int2Vector),
        "oidvector" => Type::Array(Element::OidVector),
        "interval" => Type::INTERVAL,
        "timestamptz" => Type::TIMESTAMP_TZ,
        _ => return None,
    })
}

/// Returns the system relation with this name, written as `name`, `schema.name` or `database.schema.name`. A name
/// without a schema is looked up in `pg_catalog`. Returns `None` if there is no such relation.
pub(crate) fn relation(parts: &[String]) -> Option<&'static SystemRelation> {
    let key = match parts {
        [name] => ("pg_catalog", name.as_str()),
        [schema, name] => (schema.as_str(), name.as_str()),
        [_, schema, name] => (schema.as_str(), name.as_str()),
        _ => return None,
    };
    all().by_name.get(&key).map(|&at| &all().list[at])
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
