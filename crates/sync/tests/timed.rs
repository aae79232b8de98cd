//! Timed runs of the simulated machine: what its clocks show. Build with `--cfg machine`.
#![cfg(machine)]

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::machine::{Hardware, Lines, Threads, run_timed};
use hotrow_sync::{CachePadded, Time, cores, thread, thread_cpu_time};
use std::time::Duration;

/// The increments of each thread.
const INCREMENTS: u64 = 1000;

fn hardware(cores: usize) -> Hardware {
    Hardware {
        name: "small".to_owned(),
        cores,
        cores_per_socket: 2,
        block_ns: 1.0,
        exchange_ns: 5.0,
        lines: Lines {
            first_kib: 32,
            second_kib: 256,
            shared_kib: 1024,
            second_ns: 4.0,
            shared_ns: 20.0,
            memory_ns: 100.0,
            same_socket_ns: 50.0,
            other_socket_ns: 200.0,
            store_share: 0.5,
            prefetch_share: 0.25,
        },
        threads: Threads {
            spin_ns: 20.0,
            yield_ns: 200.0,
            wake_ns: 1000.0,
            woken_ns: 2000.0,
            switch_ns: 1000.0,
            slice_ns: 100_000.0,
        },
    }
}

fn time_of(cores: usize, work: impl FnOnce()) -> Duration {
    run_timed(&hardware(cores), work).expect("a run without failures").time
}

/// Lets `threads` threads increment the counters that `counter` chooses for them. Returns how long that takes.
fn increments(cores: usize, threads: usize, counter: impl Fn(usize) -> usize) -> Duration {
    time_of(cores, || {
        let counters: Vec<_> = (0..threads).map(|_| CachePadded(AtomicU64::new(0))).collect();
        thread::scope(|scope| {
            for thread in 0..threads {
                let counter = &counters[counter(thread)];
                scope.spawn(move || {
                    for _ in 0..INCREMENTS {
                        counter.fetch_add(1, Ordering::AcqRel);
                    }
                });
            }
        });
        let sum: u64 = counters.iter().map(|counter| counter.load(Ordering::Acquire)).sum();
        assert_eq!(sum, threads as u64 * INCREMENTS);
    })
}

#[test]
fn exchanges_of_one_line_queue_up_and_those_of_many_do_not() {
    let (one, apart) = (increments(2, 2, |_| 0), increments(2, 2, |thread| thread));
    // 2,000 transfers of 50 ns, one after the other, or 1,000 exchanges of 5 ns side by side.
    assert!((100..150).contains(&one.as_micros()), "{one:?}");
    assert!((5..20).contains(&apart.as_micros()), "{apart:?}");
}

#[test]
fn a_line_is_slower_to_come_from_another_socket() {
    // Threads 0 and 1 are on one socket, 2 and 3 on the other.
    let (same, other) = (increments(4, 4, |thread| thread / 2), increments(4, 4, |thread| thread % 2));
    assert!(other > 2 * same, "{same:?} within sockets, {other:?} between them");
}

#[test]
fn threads_without_a_core_wait_for_one() {
    let (alone, shared) = (increments(4, 4, |thread| thread), increments(1, 4, |thread| thread));
    assert!(shared > 2 * alone, "{alone:?} on four cores, {shared:?} on one");
}

#[test]
fn lines_that_are_only_read_are_everywhere() {
    let time = time_of(4, || {
        let value = CachePadded(AtomicU64::new(7));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..INCREMENTS).for_each(|_| assert_eq!(value.load(Ordering::Acquire), 7)));
            }
        });
    });
    assert!(time < Duration::from_micros(20), "{time:?}");
}

#[test]
fn the_clock_of_a_thread_that_waits_stands_still() {
    let work = || {
        assert_eq!(cores(), 2);
        let worker = || {
            let (begin, used) = (Time::now(), thread_cpu_time());
            thread::sleep(Duration::from_millis(5));
            let waited = Time::now().since(begin);
            assert!(waited >= Duration::from_millis(5) && waited < Duration::from_millis(6), "{waited:?}");
            assert!(thread_cpu_time() - used < Duration::from_millis(1));
        };
        thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(worker)));
        });
    };
    assert!(time_of(2, work) < Duration::from_millis(6), "all wait at once");
}

#[test]
fn a_wake_takes_its_time() {
    let time = time_of(2, || {
        let sleeper = thread::spawn(thread::park);
        thread::sleep(Duration::from_millis(1));
        sleeper.thread().unpark();
        sleeper.join().expect("no thread panics");
    });
    // The sleeper runs 1 µs and 2 µs after the call; its end wakes the first thread, which takes as long.
    assert!(time >= Duration::from_micros(1006) && time < Duration::from_micros(1020), "{time:?}");
}

#[test]
fn the_same_program_takes_the_same_time() {
    let time = || increments(3, 7, |thread| thread / 3);
    assert_eq!(time(), time());
}

#[test]
fn threads_that_wait_for_ever_are_found() {
    let failed = run_timed(&hardware(2), thread::park).expect_err("nobody unparks it");
    assert!(failed.to_string().contains("nobody can wake main"), "{failed}");
}

#[test]
fn hardware_that_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut Hardware)| {
        let mut hardware = hardware(2);
        change(&mut hardware);
        hardware.check().expect_err("it is not possible")
    };
    assert_eq!(refused(&|hardware| hardware.cores = 0), "cores is 0; expected a number from 1 to 1024");
    assert!(refused(&|hardware| hardware.lines.memory_ns = f64::NAN).starts_with("lines.memory_ns is NaN"));
    assert!(refused(&|hardware| hardware.threads.spin_ns = 0.0).contains("spin_ns at least 1"));
}
