//! System relations: what the server knows, as rows to query. They are made up when a query asks, and no part of any
//! transaction but that they show the catalog as the transaction sees it.
//!
//! | file | relations |
//! | --- | --- |
//! | `relation`, `all` | what a relation is, and the list of all |
//! | `relations.txt` | names and columns: PostgreSQL's catalogs, and ours |
//! | `rows` | which of the following files makes the rows of a relation; of the others there are none |
//! | `contention` | `hotrow_contention` |
//! | `pg_catalog`, `pg_views` | rows of `pg_catalog`: its tables, its views |
//! | `information_schema` | rows of `information_schema` |
//! | `sessions` | what sessions do and wait for |
//! | `operator_classes` | rows of `pg_opclass` |
//! | `other_types` | types of catalogs' columns |
//! | `depend` | rows of `pg_depend` |
//! | `comments` | `pg_description` |
//! | `objects` | what there is, numbered |
//! | `describe` | definitions as SQL |

mod all;
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
mod relation;
mod rows;
mod sessions;

pub(crate) use all::relation;
pub(crate) use comments::comment_on;
pub(crate) use describe::{constraint_definition, format_type, index_definition, view_definition};
pub(crate) use objects::{
    is_type_function, is_visible, number_of_relation, number_of_schema_name, number_of_system_relation, number_of_type,
    relation_of_number, schema_of_number, size, type_of_number,
};
pub(crate) use operator_classes::has as has_operator_class;
pub use relation::SystemRelation;
