//! Every interleaving of small models of this crate's primitives:
//! `RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p hotrow-sync --test loom --release`.
#![cfg(loom)]

use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Baton, Doorbell, Inbox, Latch, Scheduler, Waiter, Wake, byte_ring, ring, thread};
use std::time::Duration;

/// Explores `body` with at most `preemptions` switches that no thread asked for. A few are enough to show the mistakes
/// in models of this size, and keep the search short.
fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

fn thread_waiter() -> Waiter {
    Waiter::new(Arc::new(ThreadScheduler::new(Duration::ZERO)))
}

#[test]
fn a_latch_lets_one_in_at_a_time() {
    model(3, || {
        let latch = Arc::new(Latch::new(0));
        let add = |latch: &Latch<i32>| {
            let mut count = latch.lock();
            let seen = *count;
            *count = seen + 1;
        };
        let other = {
            let latch = latch.clone();
            thread::spawn(move || add(&latch))
        };
        add(&latch);
        other.join().expect("no panic");
        assert_eq!(*latch.lock(), 2);
    });
}

#[test]
fn a_vain_attempt_does_not_free_a_latch() {
    model(3, || {
        let latch = Arc::new(Latch::new(0));
        let mut held = latch.lock();
        let other = {
            let latch = latch.clone();
            thread::spawn(move || [(); 2].map(|()| latch.try_lock().map(|mut count| *count += 1).is_some()))
        };
        *held += 1;
        thread::yield_now();
        *held += 1;
        drop(held);
        let added = other.join().expect("no panic").into_iter().filter(|&added| added).count();
        assert_eq!(*latch.lock(), 2 + added);
    });
}

/// Adds one to a baton's count `times` times, and returns how many of these were counted: none while another thread has
/// settled on it.
fn add(baton: &Baton<usize>, times: usize) -> usize {
    let once = |_: &usize| {
        let Ok(mut held) = baton.take() else { return false };
        let seen = *held;
        *held = seen + 1;
        true
    };
    (0..times).filter(once).count()
}

#[test]
fn a_baton_that_a_thread_has_settled_on_is_nobody_elses() {
    model(3, || {
        let baton = Arc::new(Baton::new(0));
        let taking = {
            let baton = baton.clone();
            thread::spawn(move || add(&baton, 2))
        };
        assert!(baton.settle(), "others take it for a moment only");
        assert_eq!(add(&baton, 2), 2);
        assert!(baton.leave());
        let added = add(&baton, 1) + taking.join().expect("no panic");
        assert_eq!(*baton.take().expect("nobody has settled"), 2 + added);
    });
}

#[test]
fn one_of_two_threads_settles_on_a_baton() {
    model(3, || {
        let baton = Arc::new(Baton::new(0));
        let settle = |baton: &Baton<usize>| {
            let settled = baton.settle();
            let added = add(baton, 1);
            assert_eq!(baton.leave(), settled);
            assert!(!settled || added == 1, "who has settled is not kept out");
            added
        };
        let settling = {
            let baton = baton.clone();
            thread::spawn(move || settle(&baton))
        };
        let added = settle(&baton) + settling.join().expect("no panic");
        assert_eq!(*baton.take().expect("nobody has settled"), added);
    });
}

#[test]
fn a_ring_delivers_in_order_when_full_and_when_empty() {
    for capacity in [1, 2] {
        model(3, move || {
            let (mut producer, mut consumer) = ring::channel(capacity);
            let pushing = thread::spawn(move || {
                for value in 0..3 {
                    let mut value = Box::new(value);
                    while let Err(refused) = producer.try_push(value) {
                        value = refused;
                        thread::yield_now();
                    }
                }
                producer
            });
            for expected in 0..3 {
                let value = loop {
                    match consumer.try_pop() {
                        Some(value) => break value,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(*value, expected);
            }
            assert!(consumer.try_pop().is_none());
            drop(pushing.join().expect("no panic"));
        });
    }
}

#[test]
fn a_ring_drops_what_was_not_popped() {
    model(3, || {
        let value = Arc::new(());
        let (mut producer, mut consumer) = ring::channel(2);
        let pushing = {
            let value = value.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    producer.try_push(value.clone()).expect("room for two");
                }
                producer
            })
        };
        drop(consumer.try_pop());
        drop((pushing.join().expect("no panic"), consumer));
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// Appends frames of a thread to a ring of bytes: each has its length and the thread's number.
fn append_frames(ring: &byte_ring::ByteRing, number: u8, lengths: &[u8]) {
    for &length in lengths {
        let mut frame = vec![number; usize::from(length)];
        frame[0] = length;
        let mut reservation = ring.reserve(u64::from(length));
        let mut rest = &frame[..];
        while !rest.is_empty() {
            match reservation.fill(rest) {
                0 => thread::yield_now(),
                filled => rest = &rest[filled..],
            }
        }
    }
}

/// Takes bytes out of a ring until there were `total`, and returns them.
fn take_all(drain: &mut byte_ring::Drain, start: u64, total: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while drain.taken() < start + total {
        let until = drain.look(u64::MAX);
        if until > drain.taken() {
            drain.take(until, &mut bytes);
        } else {
            thread::yield_now();
        }
    }
    bytes
}

/// Checks that bytes are the frames of two threads, whole, and each thread's in order.
fn assert_frames(bytes: &[u8], first: &[u8], second: &[u8]) {
    let (mut rest, mut seen) = (bytes, [Vec::new(), Vec::new()]);
    while let Some(&length) = rest.first() {
        let number = rest[1];
        assert!(rest[1..usize::from(length)].iter().all(|&byte| byte == number));
        seen[usize::from(number == 200)].push(length);
        rest = &rest[usize::from(length)..];
    }
    assert_eq!(seen, [first.to_vec(), second.to_vec()]);
}

#[test]
fn a_ring_of_bytes_gives_whole_frames_of_two_threads() {
    // The ring has room for all, so that only the drain waits for others.
    model(3, || {
        let (ring, mut drain) = byte_ring::new(5, 8);
        let fillers = [(100, &[2, 2][..]), (200, &[4])].map(|(number, lengths)| {
            let ring = ring.clone();
            thread::spawn(move || append_frames(&ring, number, lengths))
        });
        let bytes = take_all(&mut drain, 5, 8);
        fillers.into_iter().for_each(|filler| filler.join().expect("no panic"));
        assert_frames(&bytes, &[2, 2], &[4]);
    });
}

#[test]
fn a_ring_of_bytes_is_filled_again_where_it_was_drained() {
    // The last one is larger than half of the ring, and passes in pieces.
    for (first, second) in [(&[2, 3][..], &[4, 2][..]), (&[3], &[6])] {
        model(3, move || {
            let (ring, mut drain) = byte_ring::new(5, 8);
            let other = {
                let ring = ring.clone();
                thread::spawn(move || append_frames(&ring, 200, second))
            };
            let sum = |lengths: &[u8]| lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
            // The thread that drains fills, too: each of two threads waits for the other only.
            let mut bytes = Vec::new();
            for &length in first {
                let mut frame = vec![100; usize::from(length)];
                frame[0] = length;
                let mut reservation = ring.reserve(u64::from(length));
                while reservation.fill(&frame) == 0 {
                    let until = drain.look(u64::MAX);
                    match until > drain.taken() {
                        true => drain.take(until, &mut bytes),
                        false => thread::yield_now(),
                    }
                }
            }
            let taken = bytes.len() as u64;
            bytes.extend(take_all(&mut drain, 5 + taken, sum(first) + sum(second) - taken));
            other.join().expect("no panic");
            assert_frames(&bytes, first, second);
        });
    }
}

#[test]
fn no_wake_is_lost() {
    model(3, || {
        let waiter = thread_waiter();
        let granted = Arc::new(AtomicBool::new(false));
        let granting = {
            let (waiter, granted) = (waiter.clone(), granted.clone());
            thread::spawn(move || {
                granted.store(true, Ordering::Release);
                waiter.wake();
            })
        };
        assert_eq!(waiter.wait_until(None, || granted.load(Ordering::Acquire)), Wake::Ready);
        granting.join().expect("no panic");
    });
}

#[test]
fn a_wake_for_another_reason_does_not_eat_the_one_that_counts() {
    model(2, || {
        let waiter = thread_waiter();
        let granted = Arc::new(AtomicUsize::new(0));
        let granting = [(); 2].map(|()| {
            let (waiter, granted) = (waiter.clone(), granted.clone());
            thread::spawn(move || {
                granted.fetch_add(1, Ordering::AcqRel);
                waiter.wake();
            })
        });
        assert_eq!(waiter.wait_until(None, || granted.load(Ordering::Acquire) == 2), Wake::Ready);
        granting.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

#[test]
fn a_waiter_waits_again_after_a_wait() {
    model(2, || {
        let waiter = thread_waiter();
        let granted = Arc::new(AtomicUsize::new(0));
        let granting = {
            let (waiter, granted) = (waiter.clone(), granted.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    granted.fetch_add(1, Ordering::AcqRel);
                    waiter.wake();
                }
            })
        };
        for times in 1..=2 {
            assert_eq!(waiter.wait_until(None, || granted.load(Ordering::Acquire) >= times), Wake::Ready);
        }
        granting.join().expect("no panic");
    });
}

#[test]
fn a_cancelled_wait_ends_and_none_begins() {
    model(3, || {
        let waiter = thread_waiter();
        let cancelling = {
            let waiter = waiter.clone();
            thread::spawn(move || waiter.cancel())
        };
        assert_eq!(waiter.wait_until(None, || false), Wake::Cancelled);
        assert_eq!(waiter.wait_until(None, || false), Wake::Cancelled);
        cancelling.join().expect("no panic");
        waiter.clear_cancel();
        assert_eq!(waiter.wait_until(None, || true), Wake::Ready);
    });
}

#[test]
fn a_wait_that_is_granted_and_cancelled_at_once_ends_one_way_or_the_other() {
    model(2, || {
        let waiter = thread_waiter();
        let granted = Arc::new(AtomicBool::new(false));
        let granting = {
            let (waiter, granted) = (waiter.clone(), granted.clone());
            thread::spawn(move || {
                granted.store(true, Ordering::Release);
                waiter.wake();
            })
        };
        let cancelling = {
            let waiter = waiter.clone();
            thread::spawn(move || waiter.cancel())
        };
        let wake = waiter.wait_until(None, || granted.load(Ordering::Acquire));
        assert!(matches!(wake, Wake::Ready | Wake::Cancelled), "{wake:?}");
        granting.join().expect("no panic");
        cancelling.join().expect("no panic");
        assert!(waiter.is_cancelled());
    });
}

#[test]
fn a_recall_ends_the_waits_of_its_call_and_of_no_other() {
    model(3, || {
        let waiter = thread_waiter();
        let granted = Arc::new(AtomicBool::new(false));
        let recalling = {
            let waiter = waiter.clone();
            thread::spawn(move || waiter.recall())
        };
        let granting = {
            let (waiter, granted) = (waiter.clone(), granted.clone());
            thread::spawn(move || {
                granted.store(true, Ordering::Release);
                waiter.wake();
            })
        };
        let wait = || waiter.wait_until(None, || granted.load(Ordering::Acquire));
        let (wake, was_recalled) = waiter.recallable(wait);
        assert!(wake == Wake::Ready || was_recalled, "{wake:?}");
        // Whenever the recall comes, it does not end this wait.
        assert_eq!(wait(), Wake::Ready);
        granting.join().expect("no panic");
        assert!(recalling.join().expect("no panic") || !was_recalled);
        assert!(!waiter.recall());
    });
}

#[test]
fn a_recalled_call_ends_though_nobody_grants_its_wait() {
    model(3, || {
        let waiter = thread_waiter();
        let recalling = {
            let waiter = waiter.clone();
            thread::spawn(move || {
                while !waiter.recall() {
                    thread::yield_now();
                }
            })
        };
        assert_eq!(waiter.recallable(|| waiter.wait_until(None, || false)), (Wake::Cancelled, true));
        recalling.join().expect("no panic");
        assert!(!waiter.is_cancelled());
    });
}

#[test]
fn no_ring_is_lost_to_a_worker_that_falls_asleep() {
    model(3, || {
        let doorbell = Arc::new(Doorbell::new(thread_waiter()));
        let granted = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let ringing = [0, 1].map(|slot| {
            let (doorbell, granted) = (doorbell.clone(), granted[slot].clone());
            thread::spawn(move || {
                granted.store(true, Ordering::Release);
                doorbell.ring(slot);
            })
        });
        let mut answered = 0;
        while answered != 0b11 {
            let rung = doorbell.answer(doorbell.rung());
            for (slot, granted) in granted.iter().enumerate() {
                assert!(rung & 1 << slot == 0 || granted.load(Ordering::Acquire), "rung before it was granted");
            }
            answered |= rung;
            if rung == 0 {
                doorbell.listen(None);
            }
        }
        ringing.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

#[test]
fn no_call_is_lost_to_a_worker_that_falls_asleep() {
    model(3, || {
        let doorbell = Arc::new(Doorbell::new(thread_waiter()));
        let waiter = Waiter::new(doorbell.clone());
        let sent = Arc::new(AtomicUsize::new(0));
        let sending = {
            let (waiter, sent) = (waiter.clone(), sent.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    sent.fetch_add(1, Ordering::AcqRel);
                    waiter.wake();
                }
            })
        };
        while sent.load(Ordering::Acquire) < 2 {
            doorbell.listen(None);
        }
        assert_eq!(waiter.wait_until(None, || sent.load(Ordering::Acquire) == 2), Wake::Ready);
        sending.join().expect("no panic");
    });
}

#[test]
fn a_ring_and_a_call_at_once_both_wake() {
    model(3, || {
        let doorbell = Arc::new(Doorbell::new(thread_waiter()));
        let others = [false, true].map(|calls| {
            let doorbell = doorbell.clone();
            thread::spawn(move || if calls { doorbell.call() } else { doorbell.ring(5) })
        });
        while doorbell.answer(doorbell.rung()) != 1 << 5 {
            doorbell.listen(None);
        }
        others.into_iter().for_each(|thread| thread.join().expect("no panic"));
        doorbell.call();
        doorbell.listen(None);
    });
}

#[test]
fn nothing_that_is_sent_lies_in_the_inbox_of_a_worker_that_sleeps() {
    model(3, || {
        let sleeper = Arc::new(ThreadScheduler::new(Duration::ZERO));
        let alarm = sleeper.clone();
        let inbox = Arc::new(Inbox::new(move || alarm.resume()));
        let sending = [1, 2].map(|thing| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                inbox.send(thing);
                inbox.send(thing * 10);
            })
        });
        let mut taken = Vec::new();
        while taken.len() < 4 {
            inbox.take(&mut taken);
            if taken.len() < 4 {
                inbox.doze(|may_sleep| may_sleep.then(|| sleeper.suspend(None)));
            }
        }
        for first in [1, 2] {
            let at = |thing| taken.iter().position(|&taken| taken == thing);
            assert!(at(first) < at(first * 10), "{taken:?}");
        }
        sending.into_iter().for_each(|thread| thread.join().expect("no panic"));
        inbox.take(&mut taken);
        assert_eq!(taken.len(), 4);
    });
}
