//! Tests that a database with a log is the same after a restart.

#[path = "../common/mod.rs"]
mod common;

mod cuts;
mod databases;
mod definitions;
mod events;
mod opening;
mod promises;
mod scripts;
mod sequences;
mod world;
