//! A server for the PostgreSQL protocol, version 3.0, over TCP and Unix sockets: a [`hotrow_sql::Session`] per connection, whose messages are run in
//! coroutines on a few threads, or on a thread of its own.
//!
//! ```text
//! Server ── accepts ──> Executor: a worker, or a thread ──> Conversation: messages in, calls of the session, messages out
//!    └── Sessions: who is connected, for cancel requests and shutdown
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `config`, `error`, `server` | the public part: [`ServerConfig`], [`ServerError`], [`Server`], [`ServerHandle`], [`Waiters`] |
//! | `execution` | what runs the clients' messages: [`Execution`] |
//! | `conversation` | a client's visit, step by step |
//! | `startup`, `scram`, `passwords`, `tls` | from the first byte to a session |
//! | `connection`, `extended`, `link` | from a message to calls of the session, and their results to messages |
//! | `ahead` | what a pipeline will execute, before it does |
//! | `descriptors` | how many files may be open |
//! | `metrics` | what the server does, in numbers |
//! | `input`, `frontend`, `backend` | bytes: frames, what clients say, what they are told |
//! | `listener`, `sessions`, `presence`, `stream` | where clients come; who is connected; whether it still is; a socket with or without TLS |
//!
//! A conversation reads and writes as if that blocked. What it means to wait for a client, or for a lock, is the execution model's
//! affair, so all of them run the same code.
//!
//! What clients say is decoded by this crate, borrowed from the input buffer and checked at every step; what they are told
//! is encoded by crate `pgwire`, but for the few messages of every statement, which are written straight into the output
//! buffer.

mod ahead;
mod backend;
mod config;
mod connection;
mod conversation;
mod descriptors;
mod error;
mod execution;
mod extended;
mod frontend;
mod input;
mod link;
mod listener;
mod metrics;
mod passwords;
mod presence;
mod scram;
mod server;
mod sessions;
mod startup;
mod stream;
mod tls;

pub use config::{Execution, Io, ServerConfig, TlsFiles};
pub use descriptors::raise_descriptor_limit;
pub use error::ServerError;
pub use passwords::Passwords;
pub use server::{Server, ServerHandle, Waiters};
