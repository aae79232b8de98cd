//! The CPU time of a thread.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Returns the user and system time of the calling thread so far.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
