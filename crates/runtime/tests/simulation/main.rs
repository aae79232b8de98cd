//! Every engine of the registry under the seeded simulator, and broken engines that must be caught.
//!
//! `HOTROW_SIM_SEEDS=10000 cargo test -p hotrow-runtime --test simulation` runs the long form; a failure prints the
//! seed to see it again with.

mod anomalies;
mod bugs;
mod crashes;
mod engines;
#[cfg(machine)]
mod machine;
mod planted;
mod script;
mod stress;
mod table;
mod wrappers;
