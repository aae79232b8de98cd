//! The parts that tests of checkpoints share: a disk and a log in memory, and a history with the rows that it makes.

#![allow(dead_code, reason = "each test uses some of it")]

pub mod disk;
pub mod flawed;
pub mod history;
pub mod log;
pub mod planted;
pub mod real;
pub mod target;
pub mod world;
