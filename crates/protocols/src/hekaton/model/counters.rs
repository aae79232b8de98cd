//! The counters of dependencies: they tell the transaction that asked, and no later one of its slot.
//!
//! | broken | fails |
//! | --- | --- |
//! | `tell` does not compare the numbers of the transactions | the first |
//! | `tell` wakes no transaction | both |
//! | `register` asks a list that was closed | both |
//! | `register` takes an earlier transaction's list for this one's | the first |
//! | `register` believes a status that is the next transaction's | the second |
//! | a transaction that must abort (AbortNow) counts as resolved when it has heard of all | both |

use super::super::clock::Clock;
use super::super::transactions::{Dependencies, Registered, Transactions};
use super::super::txn_id::TxnId;
use super::{check_times, together, waiter};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Arc, Waiter, Wake};

struct Slots {
    transactions: Transactions,
    clock: Clock,
}

impl Slots {
    fn new() -> Arc<Self> {
        Arc::new(Self { transactions: Transactions::new(), clock: Clock::new() })
    }

    fn begin(&self, waiter: &Waiter) -> TxnId {
        let (_, last, _) = self.transactions.take(waiter).expect("there are slots");
        self.transactions.begin(last).expect("the slot is not used up")
    }

    /// Begins a transaction that has an end timestamp.
    fn prepared(&self) -> TxnId {
        let id = self.begin(&waiter());
        self.transactions.precommit(id, &self.clock);
        id
    }

    fn end(&self, id: TxnId, commits: bool) {
        match commits {
            true => self.transactions.commit(id, self.clock.now()),
            false => self.transactions.abort(id),
        }
        self.transactions.end(id);
    }

    fn wait(&self, id: TxnId, waiter: &Waiter) -> Dependencies {
        let heard = waiter.wait_until(None, || self.transactions.dependencies(id) != Dependencies::Open);
        assert_eq!(heard, Wake::Ready);
        self.transactions.dependencies(id)
    }
}

/// Returns the state of a dependent after the transaction that it depends on has committed or aborted.
fn heard(commits: bool) -> Dependencies {
    if commits { Dependencies::Resolved } else { Dependencies::Broken }
}

/// Whether a transaction's number in its slot is even.
fn is_even(id: TxnId) -> bool {
    id.sequence().is_multiple_of(2)
}

/// A dependent registers with a transaction and aborts; the next transaction in its slot registers with another one.
/// The first answer comes at any time.
#[test]
fn an_answer_that_is_late_is_nobody_elses() {
    for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
        check_times(10, move || {
            let slots = Slots::new();
            let (one, two) = (slots.prepared(), slots.prepared());
            let has_answered = Arc::new(AtomicBool::new(false));
            let answer = |id: TxnId, commits: bool, says_so: bool| -> Box<dyn FnOnce() + Send> {
                let (slots, has_answered) = (slots.clone(), has_answered.clone());
                Box::new(move || {
                    has_answered.fetch_or(says_so, Ordering::AcqRel);
                    slots.end(id, commits);
                })
            };
            let (asking, is_answered) = (slots.clone(), has_answered.clone());
            let ask = Box::new(move || {
                let waiter = waiter();
                let early = asking.begin(&waiter);
                let registered = asking.transactions.register(early, one);
                assert_ne!((registered, first), (Registered::Committed, false));
                asking.end(early, false);

                let late = asking.transactions.begin(early).expect("the slot is not used up");
                assert_eq!(asking.transactions.dependencies(late), Dependencies::Resolved, "it has not asked");
                match asking.transactions.register(late, two) {
                    Registered::Pending => {
                        let before = asking.transactions.dependencies(late);
                        let answered = is_answered.load(Ordering::Acquire);
                        assert!(answered || before == Dependencies::Open, "{before:?} before the answer");
                        assert_eq!(asking.wait(late, &waiter), heard(second));
                    }
                    Registered::Committed => assert!(second),
                    Registered::Ended => assert!(is_answered.load(Ordering::Acquire), "it is preparing"),
                }
                asking.end(late, true);
            });
            together(vec![answer(one, first, false), answer(two, second, true), ask]);
        });
    }
}

/// Several transactions register with another one, which ends; its slot is used again, and the next transaction is
/// registered with too. Each dependent hears exactly once, from the transaction that it registered with.
#[test]
fn whoever_asks_is_answered_by_the_one_it_asked() {
    check_times(10, || {
        let slots = Slots::new();
        let asked = Arc::new(AtomicU64::new(slots.prepared().0));
        let ask = || -> Box<dyn FnOnce() + Send> {
            let (slots, asked) = (slots.clone(), asked.clone());
            Box::new(move || {
                let waiter = waiter();
                let mut me = slots.begin(&waiter);
                for _ in 0..2 {
                    let on = TxnId(asked.load(Ordering::Acquire));
                    // Transactions with an even number commit.
                    let commits = is_even(on);
                    let registered = slots.transactions.register(me, on);
                    match registered {
                        Registered::Pending => assert_eq!(slots.wait(me, &waiter), heard(commits)),
                        Registered::Committed => assert!(commits),
                        Registered::Ended => {}
                    }
                    slots.end(me, true);
                    me = slots.transactions.begin(me).expect("the slot is not used up");
                }
                slots.end(me, true);
            })
        };
        let (answering, is_asked) = (slots.clone(), asked.clone());
        let answer = Box::new(move || {
            let mut me = TxnId(is_asked.load(Ordering::Acquire));
            for _ in 0..2 {
                answering.end(me, is_even(me));
                me = answering.transactions.begin(me).expect("the slot is not used up");
                answering.transactions.precommit(me, &answering.clock);
                is_asked.store(me.0, Ordering::Release);
            }
            answering.end(me, is_even(me));
        });
        together(vec![answer, ask(), ask()]);
    });
}
