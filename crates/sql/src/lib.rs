//! SQL: parse, bind, plan, execute, over `dyn Transaction`.
//!
//! ```text
//! text ── parse ──> syntax ── bind ──> Plan ── exec ──> Client
//!            │                  │                 │
//!       plan cache           Catalog         Transaction, table locks
//! ```
//!
//! The nouns: a [`Database`] is a catalog, a plan cache and table locks over an engine; a [`Session`] is one client's, with
//! its transaction, settings, statements and portals; a [`Statement`] is a plan that sessions share; a [`Client`] is whom a
//! session talks to. Nothing here knows which engine runs, or which protocol the client speaks.
//!
//! Modules stand in layers, which a test checks: errors, names and values; sessions and what they lock; parse; the
//! catalog; what sessions share; expressions; plans; bind; execute; the session.
//!
//! PostgreSQL is the measure: its syntax, types, messages and codes. Differences that a user can see:
//!
//! - text is ordered by its bytes (collation C); the time zone is UTC; a `numeric` has up to 28 digits;
//! - the bodies of procedures know DECLARE, INTO, assignment and IF beside statements, whatever their language is called;
//! - what is not there yet is refused: 0A000;
//! - COPY and DDL work on whole tables: a changed definition is a new table with the old one's rows.

mod activity;
mod admission;
mod advisory;
mod bind;
mod catalog;
mod client;
mod contention;
mod context;
pub mod copy;
mod counters;
mod database;
mod depth;
mod error;
mod exec;
mod expr;
pub mod isolation;
mod json;
mod locks;
mod memory;
mod opaque;
mod parse;
mod plan;
mod schema;
mod seat;
mod session;
mod setting_value;
mod settings;
mod shared;
mod system;
mod table_lock;
mod times;
mod turns;
pub mod types;
mod watched;

pub use client::{Client, CopyEncoding, Notice, Origin, OutputColumn};
pub use contention::Contended;
pub use counters::Totals;
pub use database::Database;
pub use depth::RESERVED_STACK_BYTES;
pub use error::{SqlError, SqlState, Subject, state};
pub use memory::MemoryLimit;
pub use parse::reading_bytes;
pub use plan::Statement;
pub use seat::Backend;
pub use session::{Executed, Session, TransactionStatus};
pub use settings::SERVER_VERSION;
pub use shared::{Config, Shared};
pub use times::Times;
