//! Tests on real threads of the policies that detect deadlocks: they find all deadlocks, and nothing else.

use super::{Dreadlocks, Policy, WaitFor};
use crate::shared::lock_table::{LockTable, Name, Requester};
use crate::shared::mode::Mode;
use crate::shared::time_outs::Limits;
use crate::shared::wait_graph::WaitGraph;
use hotrow_storage::{Key, TableId, mix};
use hotrow_sync::{Arc, Time, Waiter, mpsc, thread};
use hotrow_txn::{Abort, Begin, Deadlock, LockPart, LockTarget, Statistics};
use std::time::Duration;

/// A step of a transaction.
#[derive(Clone, Copy, Debug)]
enum Do {
    /// Locks a name that is free for the transaction.
    Take(char, Mode),
    /// Requests a name that is not free, and waits.
    Wait(char, Mode),
    /// Requests a name whose holder waits for this transaction, which closes a cycle.
    Close(char, Mode),
    /// Releases one name, and goes on.
    Release(char),
    /// Ends the transaction.
    End,
    /// Cancels the transaction's waiter; then the transaction ends.
    Cancel,
    /// Checks that the transaction has been granted the lock that it waited for.
    Granted,
}

use Do::{Cancel, Close, End, Granted, Release, Take, Wait};

const S: Mode = Mode::SHARED;
const X: Mode = Mode::EXCLUSIVE;
const I: Mode = Mode::INSERT;

/// The steps of transactions, by the transactions' numbers, one after the other. At the end all transactions have
/// ended.
type Play = &'static [(usize, Do)];

/// A cycle of waits: the waiting transaction, the lock that it waits for, and the transaction that it waits for.
type Cycle = &'static [(usize, char, usize)];

fn target(name: char) -> LockTarget {
    LockTarget::Table { table: TableId(1), part: LockPart::Row, key: Some(Key::Int(i64::from(name as u32))) }
}

type Answer = (usize, Result<(), Abort>, Option<Deadlock>);

/// A policy with a wait-for graph.
trait Detects: Policy {
    fn graph(&self) -> &WaitGraph;
}

impl Detects for WaitFor {
    fn graph(&self) -> &WaitGraph {
        &self.graph
    }
}

impl Detects for Dreadlocks {
    fn graph(&self) -> &WaitGraph {
        &self.graph
    }
}

/// A transaction on a thread of its own.
struct Actor {
    orders: mpsc::Sender<Do>,
    waiter: Waiter,
    thread: thread::JoinHandle<()>,
}

struct Stage {
    table: Arc<LockTable>,
    /// Whether every waiting transaction has looked for cycles since its edges changed last.
    settled: Box<dyn Fn() -> bool>,
    actors: Vec<Actor>,
    answers: mpsc::Receiver<Answer>,
    waiting: usize,
}

/// Carries out the steps that the thread is sent, until no more come.
fn act<P: Policy>(
    number: usize,
    mut requester: Requester,
    policy: &P,
    orders: &mpsc::Receiver<Do>,
    answers: &mpsc::Sender<Answer>,
) {
    policy.begin(requester.id(), &Begin { label: number as u32, ..Begin::default() }, || Time(0), false);
    requester.begin(1, Limits::default());
    while let Ok(order) = orders.recv() {
        let result = match order {
            Take(name, mode) | Wait(name, mode) | Close(name, mode) => {
                let statistics = &mut Statistics::default();
                requester.acquire(Name(name as u64), mode, || target(name), policy, statistics).map(drop)
            }
            Release(_) | End | Cancel | Granted => Ok(()),
        };
        // It answers before it releases: others answer because it does. Nobody listens once the test has failed.
        let failed = result.is_err();
        let _ = answers.send((number, result, requester.deadlock().cloned()));
        match order {
            Release(name) => requester.release(Name(name as u64), policy),
            End => requester.release_all(),
            _ if failed => requester.release_all(),
            _ => {}
        }
    }
}

impl Stage {
    fn new<P: Detects>(transactions: usize, buckets: usize, spin: Duration) -> Self {
        let (table, policy) = (LockTable::new(buckets), Arc::new(P::new(&P::Config::default())));
        let judge = policy.clone();
        let settled = Box::new(move || judge.graph().has_settled(transactions));
        let (sender, answers) = mpsc::channel();
        let actors = (0..transactions).map(|number| {
            let (orders, ordered) = mpsc::channel();
            let waiter = Waiter::thread(spin);
            let (requester, policy, sender) = (table.requester(waiter.clone()), policy.clone(), sender.clone());
            let thread = thread::spawn(move || act(number, requester, &*policy, &ordered, &sender));
            Actor { orders, waiter, thread }
        });
        Self { actors: actors.collect(), table, settled, answers, waiting: 0 }
    }

    fn order(&self, number: usize, order: Do) {
        self.actors[number].orders.send(order).expect("the actor listens");
    }

    fn answer(&self) -> Answer {
        self.answers.recv().expect("the actors are there")
    }

    #[track_caller]
    fn expect(&self, number: usize, expected: Result<(), Abort>) {
        let (who, result, deadlock) = self.answer();
        assert_eq!((who, &result), (number, &expected), "{deadlock:?}");
    }

    /// Carries out a play, and returns the deadlock that was met, if there was one.
    fn play(&mut self, play: Play) -> Option<Deadlock> {
        let mut met = None;
        for &(number, what) in play {
            match what {
                Take(..) | Release(_) | End => {
                    self.order(number, what);
                    self.expect(number, Ok(()));
                }
                Wait(..) => {
                    self.order(number, what);
                    self.waiting += 1;
                    while self.table.usage().1 < self.waiting {
                        let early = self.answers.try_recv().ok();
                        assert!(early.is_none(), "waits no more, or did not wait: {early:?}");
                        thread::yield_now();
                    }
                }
                Granted => {
                    self.waiting -= 1;
                    self.expect(number, Ok(()));
                }
                Cancel => {
                    self.actors[number].waiter.cancel();
                    self.waiting -= 1;
                    self.expect(number, Err(Abort::Cancelled));
                    // A transaction that looked later than the next one would find a cycle of its own
                    // in what that one closes.
                    while !(self.settled)() {
                        thread::yield_now();
                    }
                }
                Close(..) => {
                    self.order(number, what);
                    let (victim, result, deadlock) = self.answer();
                    assert_eq!(result, Err(Abort::Deadlock));
                    met = deadlock;
                    self.end_all(victim);
                }
            }
        }
        met
    }

    /// Returns the lock table, once all actors have ended.
    fn close(self) -> Arc<LockTable> {
        for Actor { orders, thread, .. } in self.actors {
            drop(orders);
            thread.join().expect("no actor panics");
        }
        self.table
    }

    /// Ends all transactions. One victim is enough: after its end every other transaction is granted its locks, sooner
    /// or later.
    fn end_all(&mut self, victim: usize) {
        let others = || (0..self.actors.len()).filter(|&number| number != victim);
        others().for_each(|number| self.order(number, End));
        for _ in 0..others().count() + self.waiting {
            let (number, result, _) = self.answer();
            assert_eq!(result, Ok(()), "transaction {number} after {victim}");
        }
    }
}

/// Carries out a play under a policy, with spinning waiters and without, in one bucket and in many.
#[track_caller]
fn check_policy<P: Detects>(play: Play, cycle: Cycle) {
    let transactions = 1 + play.iter().map(|&(number, _)| number).max().expect("somebody plays");
    for (spin, buckets) in [(0, 1), (0, 64), (200, 1), (200, 64)] {
        let mut stage = Stage::new::<P>(transactions, buckets, Duration::from_micros(spin));
        let reported = stage.play(play).map_or(Vec::new(), |deadlock| deadlock.waits);
        let name = P::INFO.name;
        let reported_cycle: Vec<_> =
            reported.iter().map(|edge| (edge.waiter, edge.target.clone(), edge.blocker)).collect();
        let edge = |&(waiter, name, blocker): &(usize, char, usize)| (waiter as u32, target(name), blocker as u32);
        let mut turned: Vec<_> = cycle.iter().map(edge).collect();
        // The cycle may begin with any of them: the transaction that finds it is the victim.
        let begin = turned.iter().position(|edge| reported_cycle.first() == Some(edge)).unwrap_or(0);
        turned.rotate_left(begin);
        assert_eq!(reported_cycle, turned, "{name}, spinning {spin} us, {buckets} buckets");
        assert_eq!(stage.close().usage(), (0, 0), "{name}");
    }
}

#[track_caller]
fn check(play: Play, cycle: Cycle) {
    check_policy::<WaitFor>(play, cycle);
    check_policy::<Dreadlocks>(play, cycle);
}

#[test]
fn two_and_three_in_a_circle() {
    check(&[(0, Take('a', X)), (1, Take('b', X)), (0, Wait('b', X)), (1, Close('a', X))], &[(0, 'b', 1), (1, 'a', 0)]);
    check(
        &[
            (0, Take('a', X)),
            (1, Take('b', X)),
            (2, Take('c', S)),
            (0, Wait('b', S)),
            (1, Wait('c', X)),
            (2, Close('a', S)),
        ],
        &[(0, 'b', 1), (1, 'c', 2), (2, 'a', 0)],
    );
}

#[test]
fn two_readers_who_upgrade() {
    check(&[(0, Take('a', S)), (1, Take('a', S)), (0, Wait('a', X)), (1, Close('a', X))], &[(0, 'a', 1), (1, 'a', 0)]);
    check(&[(0, Take('g', I)), (1, Take('g', I)), (0, Wait('g', S)), (1, Close('g', S))], &[(0, 'g', 1), (1, 'g', 0)]);
    // Somebody else waits for both, and is no part of it.
    check(
        &[(0, Take('a', S)), (1, Take('a', S)), (2, Wait('a', X)), (1, Wait('a', X)), (0, Close('a', X))],
        &[(0, 'a', 1), (1, 'a', 0)],
    );
}

#[test]
fn a_request_is_in_the_way_before_it_is_granted() {
    check(
        &[(0, Take('a', S)), (1, Wait('a', X)), (2, Take('b', X)), (2, Wait('a', S)), (0, Close('b', S))],
        &[(0, 'b', 2), (2, 'a', 1), (1, 'a', 0)],
    );
}

#[test]
fn a_request_that_is_withdrawn_hands_on_what_it_waited_for() {
    check(
        &[(0, Take('a', S)), (1, Wait('a', X)), (2, Take('b', X)), (2, Wait('a', X)), (1, Cancel), (0, Close('b', X))],
        &[(0, 'b', 2), (2, 'a', 0)],
    );
    // Also one in the middle, to several.
    check(
        &[
            (0, Take('g', I)),
            (1, Wait('g', S)),
            (2, Wait('g', X)),
            (3, Wait('g', S)),
            (4, Take('b', X)),
            (4, Wait('g', X)),
            (2, Cancel),
            (0, Close('b', S)),
        ],
        &[(0, 'b', 4), (4, 'g', 0)],
    );
}

#[test]
fn who_lets_go_is_waited_for_no_more() {
    check(
        &[
            (0, Take('a', S)),
            (1, Take('a', S)),
            (2, Take('b', X)),
            (2, Wait('a', X)),
            (0, Release('a')),
            (0, Wait('b', S)),
            (1, End),
            (2, Granted),
            (2, End),
            (0, Granted),
            (0, End),
        ],
        &[],
    );
    // Neither by those whom an upgrade went before.
    check(
        &[
            (0, Take('a', S)),
            (1, Take('a', S)),
            (3, Take('a', S)),
            (2, Take('b', X)),
            (2, Wait('a', X)),
            (0, Wait('a', X)),
            (1, Release('a')),
            (1, Wait('b', S)),
            (3, End),
            (0, Granted),
            (0, End),
            (2, Granted),
            (2, End),
            (1, Granted),
            (1, End),
        ],
        &[],
    );
    // A transaction that was granted its lock meanwhile waits for none, even before it knows.
    check(
        &[
            (0, Take('a', X)),
            (1, Take('b', X)),
            (1, Wait('a', S)),
            (0, Release('a')),
            (1, Granted),
            (0, Wait('b', S)),
            (1, End),
            (0, Granted),
            (0, End),
        ],
        &[],
    );
}

/// The number of rounds of each thread under stress.
const ROUNDS: u64 = 3_000;

/// Runs threads that take three locks of six names in each round. A thread whose transaction fails releases its locks
/// and goes on. Returns the number of victims. `order` arranges the names.
fn stress<P: Policy>(order: fn(&mut [u64; 3])) -> u64 {
    let (table, policy) = (LockTable::new(2), P::new(&P::Config::default()));
    let victims = thread::scope(|scope| {
        let work = |seed: u64| {
            let (table, policy) = (&table, &policy);
            scope.spawn(move || {
                let spin = Duration::from_micros(seed % 2 * 20);
                let mut requester = table.requester(Waiter::thread(spin));
                let mut victim = 0;
                for round in 0..ROUNDS {
                    policy.begin(requester.id(), &Begin::default(), || Time(0), false);
                    requester.begin(1, Limits::within(Duration::from_secs(60)));
                    let outcome = one_round(&mut requester, policy, seed * ROUNDS + round, order);
                    requester.release_all();
                    assert!(matches!(outcome, Ok(()) | Err(Abort::Deadlock)), "{outcome:?}: a deadlock was missed");
                    victim += u64::from(outcome.is_err());
                }
                victim
            })
        };
        let threads: Vec<_> = (1..=4).map(work).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    assert_eq!(table.usage(), (0, 0));
    victims
}

fn one_round<P: Policy>(
    requester: &mut Requester,
    policy: &P,
    seed: u64,
    order: fn(&mut [u64; 3]),
) -> Result<(), Abort> {
    let random = |what: u64| mix(seed * 16 + what);
    let mut names = [random(0) % 6, random(1) % 6, random(2) % 6];
    order(&mut names);
    for (at, name) in names.into_iter().enumerate() {
        // A name that comes twice is asked for in the same mode: an upgrade has no place in an order.
        let mode = if random(8 + name) % 3 == 0 { X } else { S };
        requester.acquire(Name(name), mode, || LockTarget::Database, policy, &mut Statistics::default())?;
        if at == 0 && random(4) % 4 == 0 {
            requester.release(Name(name), policy);
        }
        if random(5) % 4 == 0 {
            thread::yield_now();
        }
    }
    Ok(())
}

#[test]
fn nobody_is_a_victim_where_locks_are_taken_in_order() {
    let in_order: fn(&mut [u64; 3]) = |names| names.sort_unstable();
    assert_eq!((stress::<WaitFor>(in_order), stress::<Dreadlocks>(in_order)), (0, 0));
}

#[test]
fn everybody_gets_on_where_locks_are_taken_in_any_order() {
    for victims in [stress::<WaitFor>(|_| {}), stress::<Dreadlocks>(|_| {})] {
        assert!(victims > 0, "nobody met");
    }
}
