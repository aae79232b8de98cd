//! SQL: parse, bind, plan, execute, over `dyn Transaction`.

mod client;
pub mod copy;
mod error;
pub mod types;

pub use client::{Client, CopyEncoding, Notice, OutputColumn};
pub use error::{SqlError, SqlState, state};
