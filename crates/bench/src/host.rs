//! What the figures were measured on.

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{hint, thread};
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};

/// The commit that this program was built from, or `unknown`.
pub(crate) const COMMIT: &str = env!("HOTROW_COMMIT");

/// The machine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Host {
    /// Cores that this process may use.
    cores: usize,
    /// The processor's name, or empty.
    processor: String,
    /// Bytes of memory, or zero.
    memory_bytes: u64,
    /// Operating system and architecture.
    system: String,
    /// Whether the compiler optimised.
    optimized: bool,
}

impl Host {
    /// Bytes of memory, or zero if that is not known.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    pub(crate) fn detect() -> Self {
        let cores = hotrow_sync::thread::available_parallelism().map_or(1, usize::from);
        let processor = value_of("/proc/cpuinfo", "model name").unwrap_or_default();
        let memory = value_of("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)).unwrap_or(0);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let system = format!("{} {} {}", std::env::consts::OS, kernel.trim(), std::env::consts::ARCH);
        Self { cores, processor, memory_bytes: memory * 1024, system, optimized: !cfg!(debug_assertions) }
    }
}

/// How long a cache line takes from one core to another and back, in nanoseconds: what transactions pay that share anything.
/// Virtual machines move their cores about, and then it changes between two runs. Unknown if no second core answers.
pub(crate) fn core_distance_ns() -> Option<f64> {
    const BATCHES: usize = 9;
    const TRIPS: u64 = 200;
    const END: u64 = u64::MAX;
    let line = AtomicU64::new(0);
    let deadline = Instant::now() + Duration::from_millis(20);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Odd numbers are questions, the next ones are their answers.
            loop {
                match line.load(Ordering::Acquire) {
                    END => return,
                    question if question % 2 == 1 => {
                        // Who asked may have lost patience meanwhile: the end stays the end.
                        let _ = line.compare_exchange(question, question + 1, Ordering::AcqRel, Ordering::Acquire);
                    }
                    _ => hint::spin_loop(),
                }
            }
        });
        let mut question = 1;
        let mut batch = || {
            let begin = Instant::now();
            for _ in 0..TRIPS {
                line.store(question, Ordering::Release);
                let mut looks = 0_u32;
                while line.load(Ordering::Acquire) == question {
                    looks += 1;
                    if looks.is_multiple_of(4096) && Instant::now() > deadline {
                        return None;
                    }
                    hint::spin_loop();
                }
                question += 2;
            }
            Some(begin.elapsed().as_nanos() as f64 / TRIPS as f64)
        };
        let trips: Option<Vec<f64>> = (0..BATCHES).map(|_| batch()).collect();
        line.store(END, Ordering::Release);
        let mut trips = trips?;
        trips.sort_by(f64::total_cmp);
        Some(trips[BATCHES / 2])
    })
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Host { cores, processor, memory_bytes, system, optimized } = self;
        let processor = if processor.is_empty() { "unknown processor" } else { processor };
        write!(f, "{cores} cores, {processor}, {} GiB, {system}", memory_bytes.div_ceil(1 << 30))?;
        if *optimized { Ok(()) } else { f.write_str(", not optimised") }
    }
}

/// The value of the first line `name : value`.
fn value_of(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse().ok()
}
