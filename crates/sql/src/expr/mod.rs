//! Bound expressions: what they are and how they are evaluated.
//!
//! | file | what |
//! | --- | --- |
//! | `expression` | what there is to evaluate |
//! | `eval` | walks an expression over a row |
//! | `compare` | comparisons; order and equality of values |
//! | `arith` | arithmetic of numbers and dates, with PostgreSQL's promotions and errors |
//! | [`interval_arithmetic`] | arithmetic of intervals |
//! | `cast` | casts: explicit, on assignment, implicit |
//! | `definition` | the expressions of definitions, bound |
//! | `frame` | what is around a query: rows that it refers to, the way to its subqueries |
//! | `kept` | rows that are kept |
//! | `functions` | the functions by name, what they take, and what they do |
//! | `pattern` | LIKE |
//! | `subquery` | queries within expressions, whose plans are opaque here |
//! | `shown` | expressions as people read them |
//!
//! A bound expression has been checked: its operands have types that its operator takes. Evaluating one over a row
//! allocates nothing but the strings that it makes.

mod arith;
mod cast;
mod compare;
mod definition;
mod eval;
mod expression;
mod frame;
mod functions;
pub mod interval_arithmetic;
mod kept;
mod pattern;
mod shown;
mod subquery;

pub use arith::{Arithmetic, divide};
pub use cast::{Strictness, can_cast, cast, fit};
pub use compare::{Comparison, compare, same};
pub use definition::BoundCheck;
pub use eval::{Env, Input};
pub use expression::{Expr, Like};
pub(crate) use frame::lost;
pub use frame::{Content, Frame, Subqueries};
pub use functions::{ArrayFunction, Choice, Field, Function, SequenceFunction, Variadic, choose, unknown_unit};
pub(crate) use functions::{finish_json, value_bytes, write_json, write_json_key};
pub use kept::Kept;
pub(crate) use shown::shown;
pub use subquery::{Subquery, SubqueryTest};
