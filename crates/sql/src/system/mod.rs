//! System relations, which show what the server knows as rows to query. Their rows are made when a query asks for them.
//! They belong to no transaction, but show the catalog as the transaction sees it.
//!
//! | file | relations |
//! | --- | --- |
//! | `relation`, `all` | the type of a system relation, and the list of all |
//! | `relations.txt` | the names and columns of PostgreSQL's catalogs and of ours |
//! | `rows` | the choice of the file that makes the rows of a relation; a relation without one is empty |
//! | `contention` | `hotrow_contention` |
//! | `pg_catalog`, `pg_views` | rows of `pg_catalog`: its tables, its views |
//! | `information_schema` | rows of `information_schema` |
//! | `sessions` | the statements and waits of sessions |
//! | `operator_classes` | rows of `pg_opclass` |
//! | `other_types` | types that only columns of catalogs have |
//! | `depend` | rows of `pg_depend` |
//! | `comments` | `pg_description` |
//! | `objects` | the objects of the database with their numbers |
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
