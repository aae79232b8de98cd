//! The parameters of the hardware that a timed run simulates.

use serde::{Deserialize, Serialize};

/// The parameters of a simulated machine: its cores and caches, and what their work costs. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// The name of the machine in reports.
    pub name: String,
    /// The number of cores on which threads run. The first thread, which starts the others, has one more to itself.
    pub cores: usize,
    /// The number of cores of a socket, which share a cache.
    pub cores_per_socket: usize,
    /// The time that each basic block of code takes, without accesses to memory that have a cost of their own.
    pub block_ns: f64,
    /// The time of an atomic access that reads and writes at once, in addition to the wait for its line; also that of a
    /// step without an access, such as a fence or a look at the clock.
    pub exchange_ns: f64,
    /// The parameters of the caches.
    pub lines: Lines,
    /// The parameters of the operating system.
    pub threads: Threads,
}

/// The caches, and how long an access waits for a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The KiB of a core's first cache. A hit in it costs nothing more than the code.
    pub first_kib: usize,
    /// The KiB of a core's second cache.
    pub second_kib: usize,
    /// The KiB of a socket's cache.
    pub shared_kib: usize,
    /// The time until a line comes from the core's second cache.
    pub second_ns: f64,
    /// The time until a line comes from the socket's cache.
    pub shared_ns: f64,
    /// The time until a line comes from memory.
    pub memory_ns: f64,
    /// The time until a line comes from another core of the socket, which has the line alone, or until the copies of
    /// such cores are stale.
    pub same_socket_ns: f64,
    /// The time until a line comes from another socket, or until the copies there are stale.
    pub other_socket_ns: f64,
    /// The share of a missing line's time for which a store waits, from 0 to 1.
    pub store_share: f64,
    /// The share of a missing line's time for which a prefetch makes its core wait, from 0 to 1.
    pub prefetch_share: f64,
}

/// The times of the operating system, and of loops that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// The time of one turn of a spin loop.
    pub spin_ns: f64,
    /// The time of a yield, whether or not another thread gets the core.
    pub yield_ns: f64,
    /// The time that a wake costs the thread that wakes.
    pub wake_ns: f64,
    /// The time from a wake until the woken thread runs, on a core that is free.
    pub woken_ns: f64,
    /// The time that a core takes to switch to a thread that has waited for it.
    pub switch_ns: f64,
    /// The longest time for which a thread runs while others wait for a core.
    pub slice_ns: f64,
}

impl Hardware {
    /// Checks that the parameters are possible.
    ///
    /// # Errors
    /// A number is out of its range; the message says which.
    pub fn check(&self) -> Result<(), String> {
        let counts = [
            ("cores", self.cores, 1, 1024),
            ("cores_per_socket", self.cores_per_socket, 1, 1024),
            ("lines.first_kib", self.lines.first_kib, 1, 1 << 10),
            ("lines.second_kib", self.lines.second_kib, 1, 1 << 20),
            ("lines.shared_kib", self.lines.shared_kib, 1, 1 << 20),
        ];
        for (name, count, least, most) in counts {
            if !(least..=most).contains(&count) {
                return Err(format!("{name} is {count}; expected a number from {least} to {most}"));
            }
        }
        let times = [
            ("block_ns", self.block_ns, 1e3),
            ("exchange_ns", self.exchange_ns, 1e6),
            ("lines.second_ns", self.lines.second_ns, 1e6),
            ("lines.shared_ns", self.lines.shared_ns, 1e6),
            ("lines.memory_ns", self.lines.memory_ns, 1e6),
            ("lines.same_socket_ns", self.lines.same_socket_ns, 1e6),
            ("lines.other_socket_ns", self.lines.other_socket_ns, 1e6),
            ("lines.store_share", self.lines.store_share, 1.0),
            ("lines.prefetch_share", self.lines.prefetch_share, 1.0),
            ("threads.spin_ns", self.threads.spin_ns, 1e6),
            ("threads.yield_ns", self.threads.yield_ns, 1e9),
            ("threads.wake_ns", self.threads.wake_ns, 1e9),
            ("threads.woken_ns", self.threads.woken_ns, 1e9),
            ("threads.switch_ns", self.threads.switch_ns, 1e9),
            ("threads.slice_ns", self.threads.slice_ns, 1e12),
        ];
        for (name, value, most) in times {
            if !(0.0..=most).contains(&value) {
                return Err(format!("{name} is {value}; expected a number from 0 to {most}"));
            }
        }
        // Otherwise time could stand still.
        if self.block_ns * 1e3 < 1.0 || self.threads.spin_ns < 1.0 || self.threads.slice_ns < 1e3 {
            return Err("block_ns is at least 0.001, spin_ns at least 1, slice_ns at least 1000".to_owned());
        }
        Ok(())
    }
}

/// Returns a time in picoseconds, the unit of a timed run's clocks.
pub(super) fn picoseconds(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}
