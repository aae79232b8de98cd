//! The costs of switches between coroutines: `cargo bench -p hotrow-sync`.
//!
//! The figures are nanoseconds, each the median of nine rounds, for three cases: a coroutine on a used stack from its
//! start to its end; a coroutine that is resumed and suspends itself again; and coroutines that do so in turns. With
//! more coroutines in turns, fewer of their stacks stay in the cache.

use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use std::time::Instant;

const SWITCHES: usize = 200_000;
const ROUNDS: usize = 9;
const STACK_BYTES: usize = 64 << 10;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    println!("{:28} {:>8}", "", "ns");
    println!("{:28} {:8.1}", "start to end", median(start_to_end));
    for coroutines in [1, 10, 100, 1000] {
        let name = format!("resume and suspend, of {coroutines}");
        println!("{name:28} {:8.1}", median(|| in_turns(coroutines)));
    }
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| measure()).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// Runs coroutines that do nothing, one after the other on one stack.
fn start_to_end() -> f64 {
    let mut stack = stack();
    let begin = Instant::now();
    for number in 0..SWITCHES {
        let mut coroutine = Coroutine::new(stack, move || number);
        let ended = matches!(coroutine.resume(), Resumed::Returned(returned) if returned == number);
        assert!(ended, "it does not suspend itself");
        stack = coroutine.into_stack();
    }
    begin.elapsed().as_nanos() as f64 / SWITCHES as f64
}

/// Resumes coroutines in turns; each suspends itself every time.
fn in_turns(coroutines: usize) -> f64 {
    let turns = SWITCHES / coroutines;
    let mut all: Vec<_> = (0..coroutines)
        .map(|_| {
            let stack = stack();
            let suspender = stack.suspender();
            Coroutine::new(stack, move || (0..turns).for_each(|_| suspender.suspend()))
        })
        .collect();
    let begin = Instant::now();
    for _ in 0..turns {
        for coroutine in &mut all {
            let suspended = matches!(coroutine.resume(), Resumed::Suspended);
            assert!(suspended, "it has turns left");
        }
    }
    begin.elapsed().as_nanos() as f64 / (turns * coroutines) as f64
}

fn stack() -> Stack {
    Stack::new(STACK_BYTES).expect("there is memory for a few stacks")
}
