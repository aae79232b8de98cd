//! The machine that figures are measured on, as reports describe it.

use serde::Serialize;
use std::fmt;

/// The commit that this program was built from, or `unknown`.
pub(crate) const COMMIT: &str = env!("HOTROW_COMMIT");

/// The machine and the build of this program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Host {
    /// The number of cores that this process may use.
    cores: usize,
    /// The processor's name; empty if the system does not tell it.
    processor: String,
    /// The machine's memory in bytes; zero if the system does not tell it.
    memory_bytes: u64,
    /// Operating system, version of its kernel, and architecture.
    system: String,
    /// Whether this program was compiled with optimisation.
    optimized: bool,
}

impl Host {
    /// Returns the machine's memory in bytes, or zero if it is unknown.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Asks the system for the description of this machine.
    pub(crate) fn detect() -> Self {
        let cores = hotrow_sync::thread::available_parallelism().map_or(1, usize::from);
        let simulated = hotrow_sync::simulated_hardware().map(|name| format!("simulated: {name}"));
        let real = || value_of("/proc/cpuinfo", "model name").unwrap_or_default();
        let processor = simulated.unwrap_or_else(real);
        let memory = value_of("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)).unwrap_or(0);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let system = format!("{} {} {}", std::env::consts::OS, kernel.trim(), std::env::consts::ARCH);
        Self { cores, processor, memory_bytes: memory * 1024, system, optimized: !cfg!(debug_assertions) }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Host { cores, processor, memory_bytes, system, optimized } = self;
        let processor = if processor.is_empty() { "unknown processor" } else { processor };
        write!(f, "{cores} cores, {processor}, {} GiB, {system}", memory_bytes.div_ceil(1 << 30))?;
        if *optimized { Ok(()) } else { f.write_str(", not optimised") }
    }
}

/// Returns the value of the first line `name : value` in a file, or `None` if there is no such line or no such file.
fn value_of(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse().ok()
}
