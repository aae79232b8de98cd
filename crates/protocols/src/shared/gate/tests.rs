//! Tests of the gate on real threads.

use super::*;
use hotrow_sync::atomic::AtomicUsize;
use hotrow_sync::thread;

fn pass(gate: &Arc<Gate>) -> Pass {
    gate.pass(Waiter::thread(Duration::ZERO))
}

/// Makes a pass that refuses to wait.
fn hasty(gate: &Arc<Gate>) -> Pass {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    gate.pass(waiter)
}

fn enter(pass: &mut Pass) -> Result<(), Abort> {
    pass.enter(false, None, &mut Statistics::default())
}

fn read(pass: &mut Pass) -> Result<(), Abort> {
    pass.enter(true, None, &mut Statistics::default())
}

fn exclude(pass: &mut Pass) -> Result<(), Abort> {
    pass.exclude_readers(None, &mut Statistics::default())
}

fn close(pass: &mut Pass) -> Result<(), Abort> {
    pass.close(None, &mut Statistics::default())
}

/// Returns the number of passes in the queue, the one that is closing the gate included.
fn waiting(gate: &Gate) -> usize {
    let state = gate.state();
    state.queue.len() + usize::from(matches!(state.phase, Phase::Closing { .. }))
}

fn until_waiting(gate: &Gate, count: usize) {
    while waiting(gate) < count {
        thread::yield_now();
    }
}

#[test]
fn many_are_inside_together_and_one_is_alone() {
    let gate = Gate::new();
    let (mut a, mut b, mut c) = (hasty(&gate), hasty(&gate), hasty(&gate));
    assert_eq!((enter(&mut a), enter(&mut b)), (Ok(()), Ok(())));
    assert_eq!(close(&mut c), Err(Abort::Cancelled), "two are inside");
    a.leave();
    assert_eq!(enter(&mut a), Ok(()), "a closing that was given up keeps nobody out");
    a.leave();
    b.leave();
    assert_eq!(close(&mut c), Ok(()));
    assert_eq!(c.state, PassState::Alone);
    assert_eq!((enter(&mut a), close(&mut b)), (Err(Abort::Cancelled), Err(Abort::Cancelled)));
    c.leave();
    assert_eq!(close(&mut b), Ok(()));
    drop(b);
    assert_eq!((enter(&mut a), waiting(&gate)), (Ok(()), 0), "a pass that is dropped gives up what it has");
    assert_eq!(gate.state().words.len(), 2);
}

#[test]
fn marks_of_a_closing_that_was_given_up_count_for_nothing() {
    let gate = Gate::new();
    let (mut a, mut b, mut c) = (hasty(&gate), hasty(&gate), pass(&gate));
    enter(&mut a).expect("nobody is there");
    assert_eq!(close(&mut b), Err(Abort::Cancelled));
    enter(&mut b).expect("the gate is open");
    let closing = thread::spawn(move || {
        close(&mut c).expect("the wait has no limit");
        c.leave();
    });
    until_waiting(&gate, 1);
    a.leave();
    assert_eq!(waiting(&gate), 1, "one of two has left");
    b.leave();
    closing.join().expect("the closer ends");
}

#[test]
fn the_queue_is_served_in_order() {
    let gate = Gate::new();
    let mut holder = pass(&gate);
    close(&mut holder).expect("nobody is there");
    let order = Arc::new(Mutex::new(Vec::new()));
    let sides = [Side::Enter, Side::Close, Side::Enter, Side::Close];
    let mut threads = Vec::new();
    for (number, side) in sides.into_iter().enumerate() {
        let (mut pass, order) = (pass(&gate), order.clone());
        threads.push(thread::spawn(move || {
            match side {
                Side::Close => close(&mut pass),
                _ => enter(&mut pass),
            }
            .expect("the wait has no limit");
            order.lock().expect("not poisoned").push(number);
            pass.leave();
        }));
        until_waiting(&gate, number + 1);
    }
    holder.leave();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert_eq!(*order.lock().expect("not poisoned"), [0, 1, 2, 3]);
}

#[test]
fn a_wait_that_ends_lets_those_behind_it_go_on() {
    let gate = Gate::new();
    let (mut reader, mut late) = (pass(&gate), pass(&gate));
    enter(&mut reader).expect("nobody is there");
    let waiter = Waiter::thread(Duration::ZERO);
    let mut closer = gate.pass(waiter.clone());
    let closing = thread::spawn(move || (close(&mut closer), closer));
    until_waiting(&gate, 1);
    let entering = thread::spawn(move || (enter(&mut late), late));
    until_waiting(&gate, 2);
    waiter.cancel();
    let (outcome, _closer) = closing.join().expect("the closer ends");
    assert_eq!(outcome, Err(Abort::Cancelled));
    assert_eq!(entering.join().expect("nobody is in its way any more").0, Ok(()));
}

#[test]
fn a_wait_ends_at_its_limit() {
    let gate = Gate::new();
    let (mut inside, mut closer) = (pass(&gate), pass(&gate));
    enter(&mut inside).expect("nobody is there");
    let mut statistics = Statistics::default();
    assert_eq!(closer.close(Some(Duration::from_millis(1)), &mut statistics), Err(Abort::Timeout));
    assert_eq!((statistics.waits, statistics.locks, waiting(&gate)), (1, 0, 0));
    inside.leave();
    assert_eq!(closer.close(Some(Duration::ZERO), &mut statistics), Ok(()));
    assert_eq!(statistics.locks, 1);
    assert_eq!(inside.enter(false, Some(Duration::from_millis(1)), &mut statistics), Err(Abort::Timeout));
}

#[test]
fn readers_pass_one_that_only_reads_and_are_waited_for_before_it_writes() {
    let gate = Gate::new();
    let (mut holder, mut reader, mut writer) = (hasty(&gate), hasty(&gate), hasty(&gate));
    close(&mut holder).expect("nobody is there");
    assert_eq!(read(&mut reader), Err(Abort::Cancelled), "the holder may write");
    holder.let_readers_in();
    assert_eq!((read(&mut reader), enter(&mut writer)), (Ok(()), Err(Abort::Cancelled)));
    assert_eq!(close(&mut writer), Err(Abort::Cancelled));
    // A wait for readers that is given up leaves everything as it was.
    assert_eq!(exclude(&mut holder), Err(Abort::Cancelled));
    let mut second = hasty(&gate);
    assert_eq!((read(&mut second), enter(&mut writer)), (Ok(()), Err(Abort::Cancelled)));
    second.leave();
    reader.leave();
    assert_eq!(exclude(&mut holder), Ok(()));
    assert_eq!((read(&mut reader), enter(&mut writer)), (Err(Abort::Cancelled), Err(Abort::Cancelled)));
    holder.leave();
    assert_eq!((read(&mut reader), enter(&mut writer)), (Ok(()), Ok(())));
    // And so it is left that has never been alone again.
    reader.leave();
    writer.leave();
    close(&mut holder).expect("nobody is there");
    holder.let_readers_in();
    assert_eq!(read(&mut reader), Ok(()));
    holder.leave();
    assert_eq!(enter(&mut writer), Ok(()));
}

#[test]
fn readers_of_the_queue_are_let_in_before_those_that_wait_for_the_end() {
    let gate = Gate::new();
    let (mut holder, mut writer, mut reader) = (pass(&gate), pass(&gate), pass(&gate));
    close(&mut holder).expect("nobody is there");
    let writing = thread::spawn(move || enter(&mut writer).map(|()| writer));
    until_waiting(&gate, 1);
    let reading = thread::spawn(move || read(&mut reader).map(|()| reader));
    until_waiting(&gate, 2);
    holder.let_readers_in();
    let mut reader = reading.join().expect("the reader is let in").expect("its wait has no limit");
    assert_eq!(waiting(&gate), 1);
    let excluding = thread::spawn(move || exclude(&mut holder).map(|()| holder));
    until_waiting(&gate, 2);
    reader.leave();
    let mut holder = excluding.join().expect("the reader has left").expect("its wait has no limit");
    assert_eq!(waiting(&gate), 1);
    holder.leave();
    writing.join().expect("the gate is open").expect("its wait has no limit");
}

/// A scheduler under which a wait unwinds, as the wait of a suspended coroutine does when the coroutine is dropped.
struct Unwinds;

impl hotrow_sync::Scheduler for Unwinds {
    fn now(&self) -> hotrow_sync::Time {
        hotrow_sync::Time(0)
    }

    fn suspend(&self, _: Option<hotrow_sync::Time>) {
        std::panic::resume_unwind(Box::new("dropped while it waited"));
    }

    fn resume(&self) {}
}

#[test]
fn a_wait_that_unwinds_leaves_no_request_behind() {
    let gate = Gate::new();
    let mut holder = pass(&gate);
    for hold in [enter, close] {
        hold(&mut holder).expect("nobody is there");
        let mut dropped = gate.pass(Waiter::new(Arc::new(Unwinds)));
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| close(&mut dropped)));
        assert!(unwound.is_err());
        assert_eq!(waiting(&gate), 0);
        holder.leave();
    }
    assert_eq!(close(&mut hasty(&gate)), Ok(()));
}

/// A scheduler under which the first wait unwinds just after it was granted, and no other one begins.
struct UnwindsGranted(Mutex<Option<Pass>>);

impl hotrow_sync::Scheduler for UnwindsGranted {
    fn now(&self) -> hotrow_sync::Time {
        hotrow_sync::Time(0)
    }

    fn suspend(&self, _: Option<hotrow_sync::Time>) {
        drop(self.0.lock().expect("not poisoned").take().expect("the second wait is cancelled"));
        std::panic::resume_unwind(Box::new("dropped while it waited"));
    }

    fn resume(&self) {}
}

#[test]
fn a_grant_that_comes_before_the_wait_unwinds_is_good_for_that_wait_only() {
    for ask in [enter, close] {
        let gate = Gate::new();
        let mut holder = pass(&gate);
        close(&mut holder).expect("nobody is there");
        let waiter = Waiter::new(Arc::new(UnwindsGranted(Mutex::new(Some(holder)))));
        let mut unwinding = gate.pass(waiter.clone());
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ask(&mut unwinding)));
        assert!(unwound.is_err());
        let mut other = hasty(&gate);
        assert_eq!(close(&mut other), Ok(()), "the grant was given back");
        waiter.cancel();
        assert_eq!(ask(&mut unwinding), Err(Abort::Cancelled), "another is alone");
    }
}

#[test]
fn nobody_is_beside_one_who_is_alone_under_stress() {
    const ALONE: usize = 1000;
    let gate = Gate::new();
    let inside = Arc::new(AtomicUsize::new(0));
    let work = |seed: u64| {
        let (gate, inside) = (gate.clone(), inside.clone());
        thread::spawn(move || {
            let mut pass = pass(&gate);
            for round in 0..3_000_u64 {
                let weight = if hotrow_storage::mix(seed * 7919 + round).is_multiple_of(8) { ALONE } else { 1 };
                if weight == ALONE { close(&mut pass) } else { enter(&mut pass) }.expect("the wait has no limit");
                let before = inside.fetch_add(weight, Ordering::AcqRel);
                assert!(before == 0 || (before < ALONE && weight == 1), "{before} beside {weight}");
                inside.fetch_sub(weight, Ordering::AcqRel);
                pass.leave();
            }
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert_eq!((waiting(&gate), gate.state().words.len()), (0, 0));
}
