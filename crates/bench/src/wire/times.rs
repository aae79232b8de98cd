//! Where a server's CPU time goes, in the parts of the interactive paper's Fig. 20.
//!
//! | part | what it is |
//! | --- | --- |
//! | `lock_manager` | measured by the server with a clock around each call of its lock manager, waits and the clock's own time taken off; and attempts at statements that met a conflict and were in vain |
//! | `context_switches` | the system's count of them for all threads of the server, times what one takes here |
//! | `coroutine_switches` | the server's count of coroutines that it resumed, times what one takes here |
//! | `network` | the server's system time, less that of context switches |
//! | `work` | its user time, less the lock manager's and that of coroutine switches: with it goes reading and writing messages |
//!
//! User and system time are the system's account of the process. What a switch takes is measured in this process, before the run.

use super::process::{self, Usage};
use super::target::Target;
use crate::report::SwitchReport;
use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::thread;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The parts, as reports name them.
pub(crate) const PARTS: [&str; 5] = ["work", "lock_manager", "context_switches", "coroutine_switches", "network"];

/// What a server has used and counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    usage: Usage,
    counted: Counted,
}

/// What it says of itself: `SHOW hotrow.times`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    lock_manager_ns: u64,
    timed_calls: u64,
    retried_ns: u64,
    resumes: u64,
}

impl Reading {
    /// Takes it; none of a server that does not count, or whose process is not known.
    pub(super) fn take(target: &Target, runtime: &Runtime) -> Option<Self> {
        let row = runtime.block_on(target.admin.query_one("SHOW hotrow.times", &[])).ok()?;
        Some(Self { usage: process::usage_of(target.process?)?, counted: parse(row.try_get(0).ok()?)? })
    }
}

/// Words and numbers, `lock_manager_ns 1, timed_calls 2, retried_ns 3, resumes 4`.
fn parse(text: &str) -> Option<Counted> {
    let number = |name: &str| {
        let words = text.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' '));
        words?.parse().ok()
    };
    Some(Counted {
        lock_manager_ns: number("lock_manager_ns")?,
        timed_calls: number("timed_calls")?,
        retried_ns: number("retried_ns")?,
        resumes: number("resumes")?,
    })
}

/// What switches take on this machine, in nanoseconds of CPU time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// To another thread and back, halved.
    pub context_switch: f64,
    /// Into a coroutine that ends, with its start, and out of it.
    pub coroutine_run: f64,
    /// Into a coroutine, or out of it.
    pub coroutine_switch: f64,
    /// Reading the clock.
    clock: f64,
}

impl Costs {
    /// Measures them, each as the least of a few rounds: what others do on the machine only adds.
    pub(crate) fn measure() -> io::Result<Self> {
        Ok(Self {
            context_switch: least(context_switch)?,
            coroutine_run: least(coroutine_run)?,
            coroutine_switch: least(coroutine_switch)?,
            clock: least(|| Ok(clock()))?,
        })
    }
}

fn least(mut measure: impl FnMut() -> io::Result<f64>) -> io::Result<f64> {
    const ROUNDS: usize = 5;
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        least = least.min(measure()?);
    }
    Ok(least)
}

fn clock() -> f64 {
    const READINGS: u32 = 10_000;
    let begin = Instant::now();
    for _ in 1..READINGS {
        std::hint::black_box(Instant::now());
    }
    begin.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

/// CPU time of this thread so far.
fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU nanoseconds of a switch to another thread: of a byte that two threads hand to and fro, each asleep until it comes, less
/// what a byte takes that one thread hands itself.
fn context_switch() -> io::Result<f64> {
    const TRIPS: u32 = 2_000;
    let (mut here, mut there) = UnixStream::pair()?;
    let hand = |from: &mut UnixStream, to: &mut UnixStream| {
        from.write_all(b"x")?;
        to.read_exact(&mut [0])
    };
    let begin = own_cpu();
    for _ in 0..TRIPS {
        hand(&mut here, &mut there)?;
    }
    let alone = own_cpu() - begin;
    let both = thread::scope(|scope| {
        let answerer = scope.spawn(move || {
            let begin = own_cpu();
            let answered = (0..TRIPS).try_for_each(|_| {
                there.read_exact(&mut [0])?;
                there.write_all(b"x")
            });
            answered.map(|()| own_cpu() - begin)
        });
        let begin = own_cpu();
        let asked = (0..TRIPS).try_for_each(|_| {
            here.write_all(b"x")?;
            here.read_exact(&mut [0])
        });
        let own = own_cpu() - begin;
        // Whoever still waits for a byte hears that there will be none.
        drop(here);
        let other = answerer.join().expect("it does not panic");
        asked?;
        other.map(|other| own + other)
    })?;
    // A trip is a byte there and one back.
    Ok((both.as_nanos() as f64 / 2.0 - alone.as_nanos() as f64).max(0.0) / f64::from(TRIPS))
}

const SWITCHES: u32 = 20_000;

/// Nanoseconds of a coroutine on a stack that is used again, from its start to its end.
fn coroutine_run() -> io::Result<f64> {
    let mut stack = Stack::new(STACK_BYTES)?;
    let begin = Instant::now();
    for number in 0..SWITCHES {
        let mut coroutine = Coroutine::new(stack, move || number);
        let ended = matches!(coroutine.resume(), Resumed::Returned(returned) if returned == number);
        assert!(ended, "it does not suspend itself");
        stack = coroutine.into_stack();
    }
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(SWITCHES))
}

const STACK_BYTES: usize = 64 << 10;

/// Nanoseconds of a switch into a coroutine or out of it.
fn coroutine_switch() -> io::Result<f64> {
    let stack = Stack::new(STACK_BYTES)?;
    let suspender = stack.suspender();
    let mut coroutine = Coroutine::new(stack, move || {
        for _ in 0..SWITCHES {
            suspender.suspend();
        }
    });
    let begin = Instant::now();
    while let Resumed::Suspended = coroutine.resume() {}
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(2 * SWITCHES))
}

impl From<&Costs> for SwitchReport {
    fn from(costs: &Costs) -> Self {
        Self {
            context_switch_ns: costs.context_switch,
            coroutine_switch_ns: costs.coroutine_switch,
            coroutine_run_ns: costs.coroutine_run,
        }
    }
}

/// The server's CPU time between two readings, in nanoseconds, in the order of [`PARTS`].
fn parts(before: &Reading, after: &Reading, costs: &Costs) -> [f64; 5] {
    let difference = |of: fn(&Reading) -> u64| of(after).saturating_sub(of(before)) as f64;
    let user = difference(|reading| reading.usage.user.as_nanos() as u64);
    let system = difference(|reading| reading.usage.system.as_nanos() as u64);
    let clock = difference(|reading| reading.counted.timed_calls) * costs.clock;
    let locked = (difference(|reading| reading.counted.lock_manager_ns) - clock).max(0.0);
    let lock_manager = (locked + difference(|reading| reading.counted.retried_ns)).min(user);
    let coroutines = difference(|reading| reading.counted.resumes) * costs.coroutine_run;
    let switches = (difference(|reading| reading.usage.switches) * costs.context_switch).min(system);
    // Two readings of the clock around a call are there for our sake only.
    let work = (user - lock_manager - coroutines - 2.0 * clock).max(0.0);
    [work, lock_manager, switches, coroutines, system - switches]
}

/// The parts as shares of all, and in microseconds of each of `committed` transactions.
pub(super) fn shares(before: &Reading, after: &Reading, costs: &Costs, committed: u64) -> [Map<String, Value>; 2] {
    let parts = parts(before, after, costs);
    let named = |divisor: f64| {
        let value = |(name, part): (&str, f64)| (name.to_owned(), json!(part / divisor));
        PARTS.into_iter().zip(parts).map(value).collect()
    };
    [named(parts.iter().sum::<f64>().max(1.0)), named(committed.max(1) as f64 * 1e3)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_read_whatever_else_it_says() {
        let counted = Counted { lock_manager_ns: 1, timed_calls: 2, retried_ns: 3, resumes: 4 };
        assert_eq!(parse("lock_manager_ns 1, timed_calls 2, retried_ns 3, resumes 4"), Some(counted));
        assert_eq!(parse("resumes 4, more 9, retried_ns 3, timed_calls 2, lock_manager_ns 1"), Some(counted));
        assert_eq!(parse("not counted"), None);
    }

    #[test]
    fn all_time_is_in_a_part_and_none_in_two() {
        let usage = |user, system, switches| Usage {
            user: Duration::from_nanos(user),
            system: Duration::from_nanos(system),
            switches,
        };
        let costs = Costs { context_switch: 2_000.0, coroutine_run: 20.0, coroutine_switch: 8.0, clock: 25.0 };
        let before = Reading { usage: usage(1_000_000, 500_000, 7), counted: Counted::default() };
        let counted = Counted { lock_manager_ns: 102_500, timed_calls: 100, retried_ns: 50_000, resumes: 1_000 };
        let after = Reading { usage: usage(2_005_000, 1_500_000, 107), counted };
        assert_eq!(parts(&before, &after, &costs), [830_000.0, 150_000.0, 200_000.0, 20_000.0, 800_000.0]);
        let [shares, us] = shares(&before, &after, &costs, 10);
        assert_eq!((&shares["network"], &us["lock_manager"]), (&json!(0.4), &json!(15.0)));
        // More switches than time: the account of the system has the last word.
        let after = Reading { usage: usage(1_100_000, 600_000, 1_000_007), counted: Counted::default() };
        assert_eq!(parts(&before, &after, &costs), [100_000.0, 0.0, 100_000.0, 0.0, 0.0]);
    }

    #[test]
    fn switches_take_time() {
        let Costs { context_switch, coroutine_run, coroutine_switch, clock } =
            Costs::measure().expect("it is possible");
        assert!(context_switch >= 0.0 && coroutine_run > 0.0 && coroutine_switch > 0.0 && clock > 0.0);
    }
}
