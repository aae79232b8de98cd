//! A server for the PostgreSQL protocol, version 3.0, over TCP and Unix sockets.
//!
//! Each connection has a [`hotrow_sql::Session`]. An [`Execution`] model decides which thread runs the messages of a
//! connection, and what happens when they wait.
//!
//! ```text
//! Server ── accepts ──> execution model ──> Conversation: messages in, calls of the session, messages out
//!    └── Clients: every connection, for limits, cancel requests and shutdown
//! ```
//!
//! The modules stand in layers. A module uses modules of its own row and of the rows above it, and no others:
//!
//! | modules | what they hold |
//! | --- | --- |
//! | `error`, `auth`, `config`, `descriptors` | [`ServerError`], [`Passwords`], [`ServerConfig`]; the limit on open files |
//! | `socket`, `message` | listeners, and a client's socket with or without TLS; the protocol's messages as bytes |
//! | `clients`, `shared` | every connected client, and how others reach it; what all connections share |
//! | `conversation` | one client's visit, from its first byte to its last |
//! | `execution` | the execution models: which thread runs a conversation, and how it waits |
//! | `metrics`, `server` | the server's figures for Prometheus; [`Server`] and [`ServerHandle`], which accept and end |
//!
//! A conversation is plain synchronous code. It reads, writes and waits for locks as if each of these calls blocked its
//! thread. The execution model decides whether a call blocks the thread or suspends a coroutine. So all models run the
//! same code.
//!
//! This crate decodes what clients send. The decoder borrows from the input buffer and checks every step. Crate
//! `pgwire` encodes the answers, except for the few messages that every statement needs: the server writes these
//! straight into the output buffer.

mod auth;
mod clients;
mod config;
mod conversation;
mod descriptors;
mod error;
mod execution;
mod message;
mod metrics;
mod server;
mod shared;
mod socket;

pub use auth::Passwords;
pub use config::{Execution, Io, ServerConfig, TlsFiles};
pub use descriptors::raise_descriptor_limit;
pub use error::ServerError;
pub use server::{Server, ServerHandle};
pub use shared::Waiters;
