//! The binder makes plans from syntax: it looks names up, finds types, and chooses access paths.
//!
//! | file | contents |
//! | --- | --- |
//! | `statement` | statements of all kinds |
//! | `binder` | the state of binding a statement |
//! | `source_text`, `parameters` | the parts of this state that the client gives: the text, the parameters |
//! | `surroundings`, `select_state` | its parts for each query: the names around it, the columns and calls in it |
//! | `dependencies`, `limits` | its parts that grow with the plan: the plan's dependencies, and limited counts |
//! | `typed` | bound expressions with their types |
//! | `errors` | errors that several files use |
//! | `types` | common types, casts of literals and parameters to the types that their places require |
//! | `expr` | expressions |
//! | `operators` | comparison, arithmetic, concatenation |
//! | `interval_literals` | intervals: literals, operators, `make_interval` |
//! | `array`, `json`, `rows` | operators of arrays and of JSON; rows in expressions |
//! | `calls`, `aggregate` | functions and aggregates |
//! | `enumeration` | functions of enumerated types |
//! | `scope`, `column` | the columns that names can mean, and the look-up of a name |
//! | `query` | queries and their parts, bound |
//! | `names`, `named_arguments` | default names of result columns; arguments that are written with their names |
//! | `select` | queries |
//! | `from` | FROM |
//! | `group`, `join` | the sources of a join; its order and methods |
//! | `cost` | the estimated cost of a join |
//! | `condition` | the parts of conditions |
//! | `push` | conditions on subqueries in FROM |
//! | `subquery`, `semi_join` | subqueries of expressions; EXISTS as a join |
//! | `set_returning`, `sets` | set-returning functions in a select list, and the operators that run them |
//! | `table_function`, `json_records` | functions in FROM; those that make rows of JSON objects |
//! | `set_operation` | UNION, INTERSECT, EXCEPT |
//! | `with`, `changes` | WITH; WITH whose queries change rows |
//! | `grouping`, `grouping_sets` | queries with aggregates; GROUPING SETS, ROLLUP and CUBE |
//! | `ordered_set` | calls with WITHIN GROUP |
//! | `direction` | the direction of an item of ORDER BY |
//! | `window`, `windows` | window functions, and the operators that run them |
//! | `path`, `bounds` | how a table's rows are found, and the bounds that conditions imply for an index |
//! | `hidden` | the conditions and orders that indexes on expressions and partial indexes serve |
//! | `dml`, `conflict`, `merge` | INSERT, UPDATE, DELETE; the target of ON CONFLICT; MERGE |
//! | `target`, `obstacle` | the relations to which statements write; why a view is none of them |
//! | `instead` | changes of views by INSTEAD OF triggers |
//! | `foreign_key` | the work for foreign keys of statements that change rows |
//! | `create_as` | CREATE TABLE AS, SELECT INTO |
//! | `domain` | the checks of values that become those of a domain; the conditions of domains |
//! | `ddl`, `index` | expressions of DEFAULT, CHECK, generated columns and ALTER TABLE; those of indexes |
//! | `procedure`, `function`, `trigger` | procedures and CALL; users' functions and their calls; triggers |
//! | `called` | the fixed meanings of the functions and types that a view or a default names |
//! | `overload` | the choice among users' and built-in functions of one name |
//! | `body`, `variables` | the statements of bodies, and the variables that they name |
//! | `enclosing`, `returns` | the bodies that are being bound around a statement; the results of bodies |
//! | `row_types` | the columns of the rows of relations and of functions |
//! | `catalog` | casts and operators with which tools query the system catalogs |
//! | `view`, `view_columns` | views; the names of their columns in their queries |
//! | `explain`, `explain_output` | descriptions of plans; as lines and as JSON |

mod aggregate;
mod array;
mod binder;
pub(crate) mod body;
mod bounds;
mod called;
mod calls;
mod catalog;
mod changes;
mod column;
mod condition;
mod conflict;
mod cost;
mod create_as;
mod ddl;
mod dependencies;
mod direction;
mod dml;
mod domain;
mod enclosing;
mod enumeration;
mod errors;
mod explain;
mod explain_output;
mod expr;
mod foreign_key;
mod from;
mod function;
mod group;
mod grouping;
mod grouping_sets;
mod hidden;
mod index;
mod instead;
mod interval_literals;
mod join;
mod json;
mod json_records;
mod limits;
mod merge;
mod named_arguments;
mod names;
mod obstacle;
mod operators;
mod ordered_set;
mod overload;
mod parameters;
mod path;
mod procedure;
mod push;
mod query;
mod returns;
mod row_types;
mod rows;
mod scope;
mod select;
mod select_state;
mod semi_join;
mod set_operation;
mod set_returning;
mod sets;
mod source_text;
mod statement;
mod subquery;
mod surroundings;
mod table_function;
mod target;
mod trigger;
mod typed;
mod types;
pub(crate) mod variables;
mod view;
mod view_columns;
mod window;
mod windows;
mod with;

pub(crate) use binder::Binder;
pub(crate) use create_as::stored_type;
pub use ddl::{
    bind_conversion, bind_stored_check, bind_stored_computed, bind_stored_default, define_check, define_default,
    define_generated,
};
pub use domain::{bind_stored_domain, constrained, define_domain_check};
pub(crate) use explain::{explained, planned};
pub use function::define_function;
pub use index::{Indexed, define_indexed, define_predicate, label as index_label, retype_indexed};
pub use names::index_column_name;
pub(crate) use obstacle::obstacle;
pub(crate) use procedure::compile_new;
pub use procedure::{argument_types, define_arguments};
pub use returns::check_returns;
pub(crate) use returns::check_structure;
pub use trigger::check_trigger;
pub(crate) use view::{define_view, holds, not_a_table};
pub(crate) use view_columns::with_column_names;
