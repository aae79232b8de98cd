//! The catalog: the names and definitions of schemas, tables, views, sequences, procedures, functions, triggers,
//! enumerated types and domains, and the engine's id of each table.
//!
//! A [`Table`] is a definition that never changes. DDL makes another definition, and often another table of the engine,
//! in the transaction's own [`Changes`]. All transactions see the changes once the transaction has committed. The
//! catalog's version increases with every such commit. A plan that was made for another version is used only after a
//! check that the definitions that it depends on ([`Used`]) are still current.
//!
//! The catalog stores definitions as syntax. It may store the binder's result beside a definition, but cannot read it.
//!
//! | file | contents |
//! | --- | --- |
//! | `definitions` | all definitions by their names, and the changes of a transaction |
//! | `table` | tables |
//! | `expression` | DEFAULT and CHECK, and the expressions of generated columns and indexes |
//! | `index` | indexes, apart from what the engine knows of them |
//! | `foreign_key` | foreign keys |
//! | `enumeration`, `domain`, `named_types` | enumerated types; domains; the types that names and OIDs mean |
//! | `procedure`, `trigger` | procedures and functions; triggers |
//! | `sequence` | sequences |
//! | `view`, `view_options`, `updatable` | views; their options; which of them can be written to |
//! | `search_path` | the lookup of relations by names without a schema |
//! | `temporary` | the temporary relations of a session |
//! | `expected` | estimates of the tables' numbers of rows |
//! | `used` | the definitions that a plan was made from |
//! | `stored`, `place_log` | definitions as rows; records of the places of sequences |

mod definitions;
pub mod domain;
pub mod enumeration;
pub mod expected;
mod expression;
pub mod foreign_key;
mod index;
mod named_types;
pub mod place_log;
pub mod procedure;
pub mod search_path;
pub mod sequence;
pub mod stored;
mod table;
pub mod temporary;
pub mod trigger;
pub mod updatable;
mod used;
pub mod view;
pub mod view_options;

pub use definitions::{Catalog, Changes, View};
pub use expression::{Check, Computed, DefaultSource, DefaultValue, Mentioned, RowExpression, Written};
pub use index::{IndexProperties, KeyOrder};
pub use named_types::{Declared, NamedType};
pub(crate) use table::column_of;
pub use table::{
    Comments, HIDDEN, HIDDEN_PREFIX, OnCommit, Part, Rules, Table, check_column_name, describe, describe_as,
    is_system_column, rename_comment, visible_columns,
};
pub use temporary::is_temporary;
pub use used::Used;
