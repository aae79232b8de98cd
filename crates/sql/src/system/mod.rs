//! System relations: the catalogs of PostgreSQL, `information_schema`, and views of the server's state. Their rows are
//! built when a query reads them. They are not transactional, but show the catalog as the transaction sees it.
//!
//! | file | relations |
//! | --- | --- |
//! | `relation`, `all` | the type of a system relation, and the list of all |
//! | `relations.txt` | the names and columns of PostgreSQL's catalogs and of Hotrow's own |
//! | `rows` | the dispatch to the module that builds the rows of a relation; other relations are empty |
//! | `contention` | `hotrow_contention` |
//! | `pg_catalog`, `pg_views` | rows of `pg_catalog`: its tables, its views |
//! | `information_schema` | rows of `information_schema` |
//! | `sessions` | the statements and waits of sessions |
//! | `operator_classes` | rows of `pg_opclass` |
//! | `other_types` | types that only columns of catalogs have |
//! | `depend` | rows of `pg_depend` |
//! | `domains`, `domain_rows` | domains: their names and constraints as SQL; the rows that are about them |
//! | `comments` | `pg_description` |
//! | `objects` | the objects of the database with their OIDs |
//! | `routines` | procedures, functions and triggers, in rows and as SQL |
//! | `describe`, `view_text` | definitions as SQL; the queries of views |

mod all;
mod comments;
mod contention;
mod depend;
mod describe;
mod domain_rows;
mod domains;
mod information_schema;
mod objects;
mod operator_classes;
mod other_types;
mod pg_catalog;
mod pg_views;
mod relation;
mod routines;
mod rows;
mod sessions;
mod view_text;

pub(crate) use all::relation;
pub(crate) use comments::comment_on;
pub(crate) use describe::{
    changes_of, format_type, index_definition, is_column_updatable, view_definition, without_parentheses,
};
pub(crate) use domains::constraint_definition;
pub(crate) use objects::{
    has_objects, is_type_function, is_visible, is_visible_type, name_of_object, named_values, number_of_relation,
    number_of_schema_name, number_of_system_relation, number_of_type, number_or_none, size,
};
pub(crate) use operator_classes::has as has_operator_class;
pub use relation::SystemRelation;
pub(crate) use routines::{
    is_visible_routine, routine_arguments, routine_body, routine_definition, routine_result, trigger_definition,
};
