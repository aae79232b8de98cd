//! The parameters of the hardware that a timed run simulates.

use serde::{Deserialize, Serialize};

/// The processors of a machine, and what their work costs. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// The name, in reports.
    pub name: String,
    /// The cores on which threads run. The first thread, which starts the others, has one more to itself.
    pub cores: usize,
    /// The cores of a socket, which share a cache.
    pub cores_per_socket: usize,
    /// The time of plain code, for each of its basic blocks.
    pub block_ns: f64,
    /// The additional time of an access that reads and writes at once, on a line that the core has to itself.
    pub exchange_ns: f64,
    /// The caches.
    pub lines: Lines,
    /// The operating system.
    pub threads: Threads,
}

/// The caches, and how long an access waits for a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The KiB of a core's first cache, whose hits cost nothing more.
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
    /// The time until a line comes from another core of the socket that has written to it.
    pub same_socket_ns: f64,
    /// The time until a line comes from another socket.
    pub other_socket_ns: f64,
    /// The share of the time of a missing line for which a store waits.
    pub store_share: f64,
    /// The share of the time of a missing line for which a prefetch makes its core wait.
    pub prefetch_share: f64,
}

/// The times of the operating system, and of loops that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// The time of a turn of a loop that spins.
    pub spin_ns: f64,
    /// The time of a yield.
    pub yield_ns: f64,
    /// The time that a wake costs the thread that wakes.
    pub wake_ns: f64,
    /// The time from a wake until the woken thread runs, on a core that is free.
    pub woken_ns: f64,
    /// The time in which a core goes from one thread to another.
    pub switch_ns: f64,
    /// The longest time for which a thread runs while others wait for a core.
    pub slice_ns: f64,
}

impl Hardware {
    /// Says what of the parameters is not possible.
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
