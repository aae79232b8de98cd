//! The machine on which the figures are measured, and its use by threads and processes.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `host.rs` | the machine's description in reports, and the commit that the program was built from |
//! | `core_distance.rs` | how long a cache line takes from one core to another |
//! | `switch_costs.rs` | the CPU time of switches between threads and between coroutines |
//! | `process.rs` | the CPU time of any process, as the system accounts for it |
//! | `memory.rs` | the memory that a load needs, refused if the machine has less |
//!
//! Nothing here knows of engines, options or reports. A value that the system does not tell is `None`, zero or an empty
//! name, and never an error: figures without it are still figures.

mod core_distance;
mod host;
mod memory;
mod process;
mod switch_costs;

pub(crate) use core_distance::core_distance_ns;
pub(crate) use host::{COMMIT, Host};
pub(crate) use memory::{needed_bytes, refuse_if_too_large};
pub(crate) use process::{ProcessUsage, cpu_of_process, cpu_of_process_tree, parent_of, usage_of_process};
pub(crate) use switch_costs::SwitchCosts;
