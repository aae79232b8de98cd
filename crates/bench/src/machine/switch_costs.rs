//! The CPU time of switches between threads and between coroutines, measured in this process.

use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::{thread, thread_cpu_time};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The cost of each kind of switch on this machine, in nanoseconds of CPU time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchCosts {
    /// A switch to another thread: half of a switch there and back.
    pub context_switch: f64,
    /// A coroutine from its start to its end, on a stack that is used again.
    pub coroutine_run: f64,
    /// A switch into a coroutine or out of it.
    pub coroutine_switch: f64,
    /// One reading of the clock.
    pub clock: f64,
}

impl SwitchCosts {
    /// Measures every cost as the least of a few rounds: other load on the machine can only add to it.
    pub(crate) fn measure() -> io::Result<Self> {
        Ok(Self {
            context_switch: least(context_switch)?,
            coroutine_run: least(coroutine_run)?,
            coroutine_switch: least(coroutine_switch)?,
            clock: least(|| Ok(clock()))?,
        })
    }
}

/// Calls `measure` a few times and returns its least result.
fn least(mut measure: impl FnMut() -> io::Result<f64>) -> io::Result<f64> {
    const ROUNDS: usize = 5;
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        least = least.min(measure()?);
    }
    Ok(least)
}

/// Measures the time of one reading of the clock, in nanoseconds.
fn clock() -> f64 {
    const READINGS: u32 = 10_000;
    let begin = Instant::now();
    for _ in 1..READINGS {
        std::hint::black_box(Instant::now());
    }
    begin.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

/// Measures a switch to another thread. Two threads send a byte to and fro, each asleep until it comes; the cost of a
/// byte that one thread sends to itself is subtracted.
fn context_switch() -> io::Result<f64> {
    const TRIPS: u32 = 2_000;
    let (mut here, mut there) = UnixStream::pair()?;
    let hand = |from: &mut UnixStream, to: &mut UnixStream| {
        from.write_all(b"x")?;
        to.read_exact(&mut [0])
    };
    let begin = thread_cpu_time();
    for _ in 0..TRIPS {
        hand(&mut here, &mut there)?;
    }
    let alone = thread_cpu_time() - begin;
    let both = thread::scope(|scope| {
        let answerer = scope.spawn(move || {
            let begin = thread_cpu_time();
            let answered = (0..TRIPS).try_for_each(|_| {
                there.read_exact(&mut [0])?;
                there.write_all(b"x")
            });
            answered.map(|()| thread_cpu_time() - begin)
        });
        let begin = thread_cpu_time();
        let asked = (0..TRIPS).try_for_each(|_| {
            here.write_all(b"x")?;
            here.read_exact(&mut [0])
        });
        let own = thread_cpu_time() - begin;
        // If the other thread still waits for a byte, it now fails instead of waiting forever.
        drop(here);
        let other = answerer.join().expect("it does not panic");
        asked?;
        other.map(|other| own + other)
    })?;
    // A trip is a byte there and one back.
    Ok((both.as_nanos() as f64 / 2.0 - alone.as_nanos() as f64).max(0.0) / f64::from(TRIPS))
}

/// Switches of coroutines in one round.
const SWITCHES: u32 = 20_000;

/// The size of a coroutine's stack, in bytes.
const STACK_BYTES: usize = 64 << 10;

/// Measures a coroutine from its start to its end, on a stack that is used again.
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

/// Measures a switch into a coroutine or out of it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_take_time() {
        let SwitchCosts { context_switch, coroutine_run, coroutine_switch, clock } =
            SwitchCosts::measure().expect("it is possible");
        assert!(context_switch >= 0.0 && coroutine_run > 0.0 && coroutine_switch > 0.0 && clock > 0.0);
    }
}
