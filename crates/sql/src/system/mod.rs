//! System relations: what the server knows, as rows to query. They are made up when a query asks, and no part of any transaction.
//!
//! | file | relations |
//! | --- | --- |
//! | `contention` | `hotrow_contention` |

mod contention;

use crate::sequence::Names;
use hotrow_storage::{Type, Value};

/// A relation that the server makes up.
#[derive(Debug)]
pub struct SystemRelation {
    /// Its name, in schema `pg_catalog`.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [(&'static str, Type)],
    /// Its rows at this moment, as a session sees them.
    pub rows: fn(&Names) -> Vec<Vec<Value<'static>>>,
}

static ALL: [SystemRelation; 1] = [contention::CONTENTION];

/// The relation that a name means, which may say the schema.
pub(crate) fn relation(parts: &[String]) -> Option<&'static SystemRelation> {
    let name = match parts {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => return None,
    };
    ALL.iter().find(|relation| relation.name == name)
}
