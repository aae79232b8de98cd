//! Where a server's CPU time goes, in the parts of the interactive paper's Fig. 20.
//!
//! - `lock_manager` is measured by the server with a clock around each call of its lock manager, less waits and the
//!   clock's own time. Failed attempts at statements that met a conflict count as well.
//! - `context_switches` is the system's count of context switches of all threads of the server, times the cost of one
//!   switch here.
//! - `coroutine_switches` is the server's count of coroutines that it resumed, times the cost of running a coroutine
//!   here.
//! - `network` is the server's system time, less that of context switches.
//! - `work` is the server's user time, less that of the lock manager, of coroutine switches and of reading the clock.
//!   It includes reading and writing messages.
//!
//! User and system time are the system's account of the process. The costs of switches are measured in this process
//! before the run.

use super::target::Target;
use crate::machine::{ProcessUsage, SwitchCosts, usage_of_process};
use crate::report::SERVER_TIME_PARTS;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

/// A server's CPU time, context switches and counts, as read at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerReading {
    usage: ProcessUsage,
    counts: ServerCounts,
}

/// The counts that the server tells: `SHOW hotrow.times`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ServerCounts {
    lock_manager_ns: u64,
    timed_calls: u64,
    retried_ns: u64,
    resumes: u64,
}

impl ServerReading {
    /// Takes a reading. Returns `None` if the server does not count times or its process is not known.
    pub(super) fn take(target: &Target, runtime: &Runtime) -> Option<Self> {
        let row = runtime.block_on(target.admin.query_one("SHOW hotrow.times", &[])).ok()?;
        Some(Self { usage: usage_of_process(target.process?)?, counts: parse(row.try_get(0).ok()?)? })
    }
}

/// Parses the server's answer, such as `lock_manager_ns 1, timed_calls 2, retried_ns 3, resumes 4`. Returns `None` if
/// one of these counts is missing.
fn parse(text: &str) -> Option<ServerCounts> {
    let number = |name: &str| {
        let words = text.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' '));
        words?.parse().ok()
    };
    Some(ServerCounts {
        lock_manager_ns: number("lock_manager_ns")?,
        timed_calls: number("timed_calls")?,
        retried_ns: number("retried_ns")?,
        resumes: number("resumes")?,
    })
}

/// Returns the server's CPU time between two readings, in nanoseconds, in the order of [`SERVER_TIME_PARTS`].
fn parts(before: &ServerReading, after: &ServerReading, costs: &SwitchCosts) -> [f64; 5] {
    let difference = |of: fn(&ServerReading) -> u64| of(after).saturating_sub(of(before)) as f64;
    let user = difference(|reading| reading.usage.user.as_nanos() as u64);
    let system = difference(|reading| reading.usage.system.as_nanos() as u64);
    let clock = difference(|reading| reading.counts.timed_calls) * costs.clock;
    let locked = (difference(|reading| reading.counts.lock_manager_ns) - clock).max(0.0);
    let lock_manager = (locked + difference(|reading| reading.counts.retried_ns)).min(user);
    let coroutines = difference(|reading| reading.counts.resumes) * costs.coroutine_run;
    let switches = (difference(|reading| reading.usage.switches) * costs.context_switch).min(system);
    // Two readings of the clock around each call are made for this measurement only.
    let work = (user - lock_manager - coroutines - 2.0 * clock).max(0.0);
    [work, lock_manager, switches, coroutines, system - switches]
}

/// Returns the parts of the server's CPU time twice: as shares of all of it, and in microseconds per committed
/// transaction.
pub(super) fn shares(
    before: &ServerReading,
    after: &ServerReading,
    costs: &SwitchCosts,
    committed: u64,
) -> [Map<String, Value>; 2] {
    let parts = parts(before, after, costs);
    let named = |divisor: f64| {
        let value = |(name, part): (&str, f64)| (name.to_owned(), json!(part / divisor));
        SERVER_TIME_PARTS.into_iter().zip(parts).map(value).collect()
    };
    [named(parts.iter().sum::<f64>().max(1.0)), named(committed.max(1) as f64 * 1e3)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_a_server_says_is_read_whatever_else_it_says() {
        let counts = ServerCounts { lock_manager_ns: 1, timed_calls: 2, retried_ns: 3, resumes: 4 };
        assert_eq!(parse("lock_manager_ns 1, timed_calls 2, retried_ns 3, resumes 4"), Some(counts));
        assert_eq!(parse("resumes 4, more 9, retried_ns 3, timed_calls 2, lock_manager_ns 1"), Some(counts));
        assert_eq!(parse("not counted"), None);
    }

    #[test]
    fn all_time_is_in_a_part_and_none_in_two() {
        let usage = |user, system, switches| ProcessUsage {
            user: Duration::from_nanos(user),
            system: Duration::from_nanos(system),
            switches,
        };
        let costs = SwitchCosts { context_switch: 2_000.0, coroutine_run: 20.0, coroutine_switch: 8.0, clock: 25.0 };
        let before = ServerReading { usage: usage(1_000_000, 500_000, 7), counts: ServerCounts::default() };
        let counts = ServerCounts { lock_manager_ns: 102_500, timed_calls: 100, retried_ns: 50_000, resumes: 1_000 };
        let after = ServerReading { usage: usage(2_005_000, 1_500_000, 107), counts };
        assert_eq!(parts(&before, &after, &costs), [830_000.0, 150_000.0, 200_000.0, 20_000.0, 800_000.0]);
        let [shares, us] = shares(&before, &after, &costs, 10);
        assert_eq!((&shares["network"], &us["lock_manager"]), (&json!(0.4), &json!(15.0)));
        // More switches than time: the account of the system has the last word.
        let after = ServerReading { usage: usage(1_100_000, 600_000, 1_000_007), counts: ServerCounts::default() };
        assert_eq!(parts(&before, &after, &costs), [100_000.0, 0.0, 100_000.0, 0.0, 0.0]);
    }
}
