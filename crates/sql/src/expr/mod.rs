//! Bound expressions and their evaluation.
//!
//! | file | contents |
//! | --- | --- |
//! | `expression` | the types of bound expressions |
//! | `eval` | the evaluation of an expression over a row |
//! | `compare` | comparisons; order and equality of values |
//! | `arith` | arithmetic of numbers and dates, with PostgreSQL's promotions and errors |
//! | [`interval_arithmetic`] | arithmetic of intervals |
//! | `cast` | casts: explicit, on assignment, implicit |
//! | `definition` | the bound expressions of definitions |
//! | `domain` | the constraints of domains |
//! | `frame` | frames: rows of enclosing queries, and the means to run subqueries |
//! | `kept` | lists of stored rows |
//! | `immutable` | whether an expression always has the same value for the same row |
//! | `jsonpath` | the language jsonpath: paths that find parts of a `jsonb` |
//! | `functions` | functions: their names, overloads and evaluation |
//! | `pattern` | LIKE |
//! | `subquery` | queries and calls of users' functions within expressions, whose plans are opaque here |
//! | `shown` | expressions as text, for EXPLAIN and the catalogs |
//!
//! A bound expression has been type-checked: its operands have types that its operator accepts. Its evaluation
//! allocates no memory except for the strings that it makes.

mod arith;
mod cast;
mod compare;
mod definition;
mod domain;
mod eval;
mod expression;
mod frame;
mod functions;
mod immutable;
pub mod interval_arithmetic;
pub(crate) mod jsonpath;
mod kept;
mod pattern;
mod shown;
mod subquery;

pub use arith::Arithmetic;
pub use cast::{Strictness, can_cast, cast, fit};
pub use compare::{Comparison, compare, same};
pub use definition::{RowRules, ViewCheck};
pub use eval::{Env, Input};
pub use expression::{BoundDomain, Expr, Like};
pub use frame::{Content, Frame, Subqueries, Unseen};
pub(crate) use frame::{invoke_rows, lost, unseen};
pub use functions::{
    ArrayFunction, Candidate, Choice, Field, Function, JsonFunction, Overload, SequenceFunction, Variadic, choose,
    choose_among, overloads, unknown_unit,
};
pub(crate) use functions::{finish_json, matches_of, value_bytes, write_json, write_json_key};
pub use kept::Kept;
pub(crate) use shown::{shown, shown_as, shown_of_value};
pub use subquery::{Invocation, Subquery, SubqueryTest};
