//! PostgreSQL's dialect of SQL over `dyn Transaction`: parse, bind, plan, execute.
//!
//! ```text
//! text ── parse ──> syntax ── bind ──> Plan ── exec ──> Client
//!            │                  │                 │
//!       plan cache           Catalog         Transaction, table locks
//! ```
//!
//! A [`Database`] is a catalog and table locks over an engine, which it may share with others, as it shares the plan
//! cache. A [`Session`] belongs to one client, and has its transaction, settings, statements and portals. A
//! [`Statement`] is a plan that sessions share. A [`Client`] receives a session's results. No module knows which
//! engine runs, or which protocol the client speaks.
//!
//! The table lists the modules in layers, the lowest first. A row that begins with … belongs to the layer of the row
//! above it. A module uses only modules of its own layer and of lower ones, which a test checks.
//!
//! | modules | what they hold |
//! | --- | --- |
//! | `full_name` | the names of relations with their schemas, as the catalog knows them |
//! | `error`, `schema` | errors with their SQLSTATEs; the names of relations and of their schemas |
//! | `types`, `json` | types and their values as text and as bytes; JSON |
//! | … `depth`, `memory`, `opaque` | the limit on the nesting of statements; the limit on memory; values that a layer keeps for a higher one |
//! | `client`, `copy` | the receiver of a session's results; the formats of COPY |
//! | … `isolation`, `setting_value`, `times` | the names of isolation levels; the values of settings as text; counts of where the time of sessions goes |
//! | `settings` | SET, SHOW, RESET |
//! | … `session_entry`, `activity` | the public state of a session, which other sessions may read; the list of all sessions |
//! | … `table_lock`, `advisory` | locks on whole tables; advisory locks |
//! | … `notifications` | LISTEN and NOTIFY: the sessions that listen, and what is on its way to them |
//! | … `admission`, `turns` | the tickets of transaction blocks; the order of statements that are retried |
//! | … `watched`, `contention`, `counters` | a transaction that records its waits and conflicts; statistics of the rows at which they happened; counters |
//! | `parse` | from text to syntax |
//! | `catalog` | tables, views, sequences and procedures, as they were defined |
//! | `contents`, `cluster`, `shared` | what one database has; what the sessions of all databases share; both, for the sessions of one |
//! | … `locks` | waits for table locks and advisory locks, and deadlocks |
//! | `expr`, `context`, `system` | bound expressions; the session's context, which they use; the system relations |
//! | `plan` | plans |
//! | `bind` | from syntax to plans |
//! | `exec` | the execution of plans over a transaction |
//! | `database`, `session` | a database with its plan cache; a client's session |
//!
//! Hotrow follows PostgreSQL in syntax, types, messages and error codes. Differences that a user can see:
//!
//! - Text is ordered by its bytes (collation C).
//! - A statement that is not supported is refused with 0A000.
//! - COPY and DDL work on whole tables: a changed definition is a new table with the rows of the old one.
//!
//! docs/sql.md lists all others.

mod activity;
mod admission;
mod advisory;
mod bind;
mod catalog;
mod client;
mod cluster;
mod contention;
mod contents;
mod context;
pub mod copy;
mod counters;
mod database;
mod depth;
mod error;
mod exec;
mod expr;
mod full_name;
pub mod isolation;
mod json;
mod locks;
mod memory;
mod notifications;
mod opaque;
mod parse;
mod plan;
mod schema;
mod session;
mod session_entry;
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
pub use cluster::{Cluster, Config};
pub use contention::Contended;
pub use counters::Totals;
pub use database::{Database, OpenError};
pub use depth::RESERVED_STACK_BYTES;
pub use error::{SqlError, SqlState, Subject, state};
pub use memory::MemoryLimit;
pub use notifications::{Notification, Received};
pub use parse::reading_bytes;
pub use plan::Statement;
pub use session::{Executed, Session, TransactionStatus};
pub use session_entry::Backend;
pub use settings::SERVER_VERSION;
pub use shared::Shared;
pub use times::Times;
