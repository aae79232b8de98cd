//! The binder makes plans from syntax: it looks names up, finds types, and chooses access paths.
//!
//! | file | what |
//! | --- | --- |
//! | `statement` | which statement is bound by what |
//! | `binder` | what is known of the statement that is bound |
//! | `typed` | bound expressions with their types |
//! | `errors` | errors that several of the others have in common |
//! | `types` | common types, coercion of literals and parameters to what their place wants |
//! | `expr` | expressions |
//! | `operators` | comparison, arithmetic, concatenation |
//! | `interval_literals` | intervals: literals, operators, `make_interval` |
//! | `array`, `json`, `rows` | operators of arrays and of JSON; rows in expressions |
//! | `calls`, `aggregate` | functions and aggregates |
//! | `scope`, `column` | the columns that names can mean, and which one a name means |
//! | `query` | queries and their parts, bound |
//! | `names` | the names of columns that the query does not name |
//! | `select` | queries |
//! | `from` | FROM |
//! | `group`, `join` | what is to be joined; in which order, and how |
//! | `cost` | what a join is expected to cost |
//! | `condition` | the parts of conditions |
//! | `push` | conditions on subqueries in FROM |
//! | `subquery`, `semi_join` | subqueries of expressions; EXISTS as a join |
//! | `set_returning`, `sets` | set-returning functions in a select list, and what runs them |
//! | `table_function` | functions in FROM |
//! | `set_operation` | UNION, INTERSECT, EXCEPT |
//! | `with` | WITH |
//! | `grouping` | queries with aggregates |
//! | `window`, `windows` | window functions, and what runs them |
//! | `path`, `bounds` | how a table's rows are found, and what conditions say of an index |
//! | `dml` | INSERT, UPDATE, DELETE |
//! | `foreign_key` | what foreign keys ask of statements that change rows |
//! | `ddl` | column definitions and constraints |
//! | `procedure`, `variables` | procedures and CALL; what names mean in a body |
//! | `catalog` | casts and operators of those who look into the catalogs |
//! | `view` | views |
//! | `explain`, `explain_output` | what there is to tell of plans; as lines and as JSON |

mod aggregate;
mod array;
mod binder;
mod bounds;
mod calls;
mod catalog;
mod column;
mod condition;
mod cost;
mod ddl;
mod dml;
mod errors;
mod explain;
mod explain_output;
mod expr;
mod foreign_key;
mod from;
mod group;
mod grouping;
mod interval_literals;
mod join;
mod json;
mod names;
mod operators;
mod path;
mod procedure;
mod push;
mod query;
mod rows;
mod scope;
mod select;
mod semi_join;
mod set_operation;
mod set_returning;
mod sets;
mod statement;
mod subquery;
mod table_function;
mod typed;
mod types;
mod variables;
mod view;
mod window;
mod windows;
mod with;

pub(crate) use binder::Binder;
pub use ddl::{bind_conversion, define_check, define_default, used_by_default};
pub(crate) use explain::{explained, planned};
pub(crate) use procedure::compile_new;
pub use procedure::{argument_types, check_recursion, define_arguments};
pub(crate) use view::{define_view, holds, not_a_table};
