//! Programs that run out of stack, or touch unmapped memory, end as they should. Each of them is this test program
//! again, with a variable that says how to end.
#![cfg(all(unix, not(any(loom, shuttle))))]

use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::thread;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// The variable that tells the program how to end.
const WAY: &str = "HOTROW_TEST_OVERFLOW";

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// Uses `depth` frames of stack.
fn dig(depth: u64) {
    let frame = black_box([depth; 32]);
    if depth > 0 {
        dig(depth - 1);
    }
    black_box(frame);
}

const FOR_EVER: u64 = u64::MAX;

fn stack(size: usize) -> Stack {
    Stack::new(size).expect("memory for a stack")
}

fn in_a_coroutine(body: impl FnOnce() + 'static) {
    assert!(matches!(Coroutine::new(stack(64 * 1024), body).resume(), Resumed::Returned(())));
}

/// Digs on drop.
struct Digger;

impl Drop for Digger {
    fn drop(&mut self) {
        dig(FOR_EVER);
    }
}

fn write_nowhere() {
    // SAFETY: nothing is mapped at that address, so nothing can be overwritten: the system ends the program, which is
    // the purpose.
    unsafe { black_box(std::ptr::without_provenance_mut::<u8>(8)).write_volatile(1) }
}

fn end(way: &str) {
    match way {
        "coroutine" => in_a_coroutine(|| dig(FOR_EVER)),
        "on another thread" => drop(thread::spawn(|| in_a_coroutine(|| dig(FOR_EVER))).join()),
        "after one inside it" => in_a_coroutine(|| {
            in_a_coroutine(|| ());
            dig(FOR_EVER);
        }),
        "while it is unwound" => {
            let stack = stack(64 * 1024);
            let suspender = stack.suspender();
            let mut coroutine = Coroutine::new(stack, move || {
                let _digger = Digger;
                suspender.suspend();
            });
            assert!(matches!(coroutine.resume(), Resumed::Suspended));
        }
        "thread" => {
            in_a_coroutine(|| ());
            let small = thread::Builder::new().stack_size(64 * 1024);
            drop(small.spawn(|| dig(FOR_EVER)).expect("a thread").join());
        }
        "nowhere" => in_a_coroutine(write_nowhere),
        "in bounds" => in_a_coroutine(|| dig(50)),
        other => panic!("{other} is no way to end"),
    }
}

/// Not a test of its own: the program that the other tests start.
#[test]
fn ends_as_it_is_told() {
    if let Ok(way) = std::env::var(WAY) {
        end(&way);
    }
}

#[test]
fn an_overflow_ends_the_program_with_a_message() {
    let ours = "a transaction has overflowed the 65536 bytes of its stack";
    let cases = [
        ("coroutine", Some(SIGABRT), ours),
        ("on another thread", Some(SIGABRT), ours),
        ("after one inside it", Some(SIGABRT), ours),
        ("while it is unwound", Some(SIGABRT), ours),
        ("thread", Some(SIGABRT), "has overflowed its stack"),
        ("nowhere", Some(SIGSEGV), ""),
        ("in bounds", None, ""),
    ];
    for (way, signal, message) in cases {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        let output = program.args(["--exact", "ends_as_it_is_told", "--nocapture"]).env(WAY, way).output();
        let output = output.expect("it is started");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), signal, "{way}: {text}");
        assert!(text.contains(message), "{way}: {text}");
        assert_eq!(text.contains(ours), message == ours, "{way}: {text}");
    }
}
