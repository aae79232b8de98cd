//! Random interleavings of the gate, under `--cfg shuttle`: every word and the mutex a place to switch threads at.
//! shuttle is sequentially consistent; that the words need it is invariant 2.

use super::*;
use hotrow_sync::atomic::AtomicUsize;
use hotrow_sync::thread;

const ALONE: usize = 1000;

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

fn pass(gate: &Arc<Gate>) -> Pass {
    gate.pass(Waiter::thread(Duration::ZERO))
}

/// Takes a side without a limit: shuttle has no time, and reports a lost wake-up as a deadlock.
fn take(pass: &mut Pass, side: Side) -> Result<(), Abort> {
    match side {
        Side::Enter => pass.enter(false, None, &mut Statistics::default()),
        Side::Read => pass.enter(true, None, &mut Statistics::default()),
        Side::Close => pass.close(None, &mut Statistics::default()),
        Side::Exclude => pass.exclude_readers(None, &mut Statistics::default()),
    }
}

/// Notes that a pass is inside, and checks that it may be beside the others.
fn look(inside: &AtomicUsize, side: Side) {
    let weight = if side == Side::Close { ALONE } else { 1 };
    let before = inside.fetch_add(weight, Ordering::AcqRel);
    assert!(before == 0 || (before < ALONE && weight == 1), "{before} beside {weight}");
    thread::yield_now();
    inside.fetch_sub(weight, Ordering::AcqRel);
}

fn assert_open(gate: &Arc<Gate>) {
    let state = gate.state();
    assert!(matches!(state.phase, Phase::Open) && state.queue.is_empty(), "somebody is still there");
    assert!(!gate.closed.0.load(Ordering::Acquire));
}

#[test]
fn no_interleaving_lets_anybody_beside_one_who_is_alone_or_loses_a_wake_up() {
    let model = || {
        let gate = Gate::new();
        let inside = Arc::new(AtomicUsize::new(0));
        let work = |rounds: [Side; 2]| {
            let (gate, inside) = (gate.clone(), inside.clone());
            thread::spawn(move || {
                let mut pass = pass(&gate);
                for side in rounds {
                    take(&mut pass, side).expect("a wait ends with what it waits for");
                    look(&inside, side);
                    pass.leave();
                }
            })
        };
        let threads =
            [work([Side::Enter, Side::Close]), work([Side::Enter, Side::Enter]), work([Side::Close, Side::Enter])];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        assert_open(&gate);
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn a_cancelled_wait_leaves_nothing_behind_and_wakes_who_stands_behind_it() {
    let model = || {
        let gate = Gate::new();
        let inside = Arc::new(AtomicUsize::new(0));
        let waiter = Waiter::thread(Duration::ZERO);
        let mut given_up = gate.pass(waiter.clone());
        let giving_up = thread::spawn(move || {
            let outcome = take(&mut given_up, Side::Close);
            assert!(matches!(outcome, Ok(()) | Err(Abort::Cancelled)), "{outcome:?}");
        });
        let work = |side| {
            let (gate, inside) = (gate.clone(), inside.clone());
            thread::spawn(move || {
                let mut pass = pass(&gate);
                take(&mut pass, side).expect("a wait ends with what it waits for");
                look(&inside, side);
            })
        };
        let threads = [work(Side::Enter), work(Side::Close), giving_up, thread::spawn(move || waiter.cancel())];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        assert_open(&gate);
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn only_readers_are_beside_one_that_reads_and_nobody_is_when_it_writes() {
    let model = || {
        let gate = Gate::new();
        let inside = Arc::new(AtomicUsize::new(0));
        let reads = Arc::new(AtomicBool::new(false));
        let (waiter, cancelled) = (Waiter::thread(Duration::ZERO), Waiter::thread(Duration::ZERO));
        let cancel = cancelled.clone();
        let hold = |waiter: Waiter| {
            let (gate, inside, reads) = (gate.clone(), inside.clone(), reads.clone());
            thread::spawn(move || {
                let mut pass = gate.pass(waiter);
                if take(&mut pass, Side::Close).is_err() {
                    return;
                }
                pass.let_readers_in();
                reads.store(true, Ordering::Release);
                look(&inside, Side::Read);
                if take(&mut pass, Side::Exclude).is_ok() {
                    look(&inside, Side::Close);
                }
                reads.store(false, Ordering::Release);
            })
        };
        let work = |side: Side| {
            let (gate, inside, reads) = (gate.clone(), inside.clone(), reads.clone());
            thread::spawn(move || {
                let mut pass = pass(&gate);
                take(&mut pass, side).expect("a wait ends with what it waits for");
                look(&inside, side);
                assert!(side == Side::Read || !reads.load(Ordering::Acquire), "{side:?} beside one that reads");
            })
        };
        let canceller = thread::spawn(move || cancel.cancel());
        let threads = [hold(waiter), hold(cancelled), canceller, work(Side::Read), work(Side::Enter)];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        assert_open(&gate);
    };
    shuttle::check_random(model, iterations());
}
