//! A queue of transactions that wait for a row. A transaction leaves the queue from any place.

use super::*;
use crate::observed::Observed;
use hotrow_sync::{Time, Waiter, mpsc, thread};
use std::panic::AssertUnwindSafe;

/// The number of transactions that wait for the holder of the row.
const WAITING: usize = 4;

/// The way in which a waiting transaction leaves before its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    Cancelled,
    TimedOut,
    Unwound,
}

/// The way in which the holder of the row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Commits,
    Aborts,
    Vanishes,
    Panics,
}

/// The outcome of a transaction that adds to a row.
type Outcome = Result<Write, Abort>;

fn add(case: &Case<'_>, txn: &mut dyn Transaction, row: u8, amount: i64) -> Outcome {
    txn.update(case.table, &key(row), &mut |row: &mut RowMut<'_>| {
        let number = row.as_ref().value(2).as_int().expect("a number is there");
        row.set(2, &Value::Int4((number + amount) as i32));
        Ok(())
    })
}

fn number(case: &Case<'_>, row: u8) -> i64 {
    let found = case.run(case.rows(&[(row, Intent::Read)]), |txn| {
        txn.read(case.table, &key(row)).map(|row| row.and_then(|row| row.value(2).as_int()))
    });
    found.expect("the row is there")
}

/// A waiting transaction.
struct Waiting {
    scheduler: Arc<Observed>,
    waiter: Waiter,
    deadline: Time,
    outcome: mpsc::Receiver<Outcome>,
}

/// Starts a transaction that waits for row 0, to add 1 to it. The transaction also has a row of its own, and reads a
/// row that all of them read.
fn wait<'scope>(case: &'scope Case<'_>, place: usize, scope: &'scope thread::Scope<'scope, '_>) -> Waiting {
    let (scheduler, waits) = Observed::new(Time(1_000));
    let waiter = Waiter::new(scheduler.clone());
    let mut txn = case.engine.transaction(waiter.clone());
    let (sender, outcome) = mpsc::channel();
    let own = 11 + 2 * place as u8;
    let mut accesses = case.rows(&[(own, Intent::Write), (2, Intent::Read), (0, Intent::Write), (3, Intent::Read)]);
    scope.spawn(move || {
        let work = AssertUnwindSafe(|| {
            let added = attempts(&mut *txn, &mut accesses, |txn| add(case, txn, 0, 1))?;
            txn.commit().map(|()| added)
        });
        let ended = std::panic::catch_unwind(work).unwrap_or(Err(Abort::User));
        txn.abort();
        drop(txn);
        // The test may have seen enough.
        let _ = sender.send(ended);
    });
    let deadline = waits.recv().expect("it waits").expect("no engine waits for ever");
    Waiting { scheduler, waiter, deadline, outcome }
}

fn end(case: &Case<'_>, mut holder: Box<dyn Transaction>, how: Ends) {
    match how {
        Ends::Commits => holder.commit().expect("it holds all that it needs"),
        Ends::Aborts => holder.abort(),
        Ends::Vanishes => {}
        Ends::Panics => {
            let panicking = AssertUnwindSafe(|| {
                holder.update(case.table, &key(0), &mut |row: &mut RowMut<'_>| {
                    row.set(2, &Value::Int4(-99));
                    std::panic::resume_unwind(Box::new("in the middle of a procedure"));
                })
            });
            assert!(std::panic::catch_unwind(panicking).is_err());
        }
    }
}

#[test]
fn whoever_leaves_the_queue_leaves_the_others_their_turns() {
    for_each_planned(|case| {
        for leaves in [Leaves::Cancelled, Leaves::TimedOut, Leaves::Unwound] {
            for place in 0..WAITING {
                let before = number(case, 0);
                thread::scope(|scope| {
                    let set = case.rows(&[(0, Intent::Write), (9, Intent::Write)]);
                    let (mut holder, added) = case.hold(set, |txn| add(case, txn, 0, 100));
                    assert_eq!(added, Write::Done, "{}", case.name());
                    let mut waiting: Vec<_> = (0..WAITING).map(|place| wait(case, place, scope)).collect();
                    let what = format!("{}: {leaves:?} at place {place}", case.name());
                    assert_eq!(case.engine.audit(), Ok(()), "{what}, before");
                    let gone = waiting.remove(place);
                    let expected = match leaves {
                        Leaves::Cancelled => {
                            gone.waiter.cancel();
                            Abort::Cancelled
                        }
                        Leaves::TimedOut => {
                            gone.scheduler.move_to(gone.deadline);
                            Abort::Timeout
                        }
                        Leaves::Unwound => {
                            gone.scheduler.unwind();
                            Abort::User
                        }
                    };
                    assert_eq!(gone.outcome.recv(), Ok(Err(expected)), "{what}");
                    assert_eq!(case.engine.audit(), Ok(()), "{what}, after");
                    holder.commit().expect("it holds all that it needs");
                    for other in &waiting {
                        assert_eq!(other.outcome.recv(), Ok(Ok(Write::Done)), "{what}: another one");
                    }
                });
                assert_eq!(number(case, 0), before + 100 + WAITING as i64 - 1, "{}: {leaves:?} {place}", case.name());
                assert_eq!((case.engine.audit(), case.engine.row_count(case.table)), (Ok(()), 4), "{}", case.name());
            }
        }
    });
}

#[test]
fn however_the_holder_ends_those_behind_it_get_their_turns() {
    for_each_planned(|case| {
        for ends in [Ends::Commits, Ends::Aborts, Ends::Vanishes, Ends::Panics] {
            let before = number(case, 0);
            thread::scope(|scope| {
                let set = case.rows(&[(0, Intent::Write), (9, Intent::Write)]);
                let (holder, inserted) = case.hold(set, |txn| {
                    assert_eq!(add(case, txn, 0, 100)?, Write::Done, "{}", case.name());
                    case.insert(txn, 9)
                });
                assert_eq!(inserted, Write::Done, "{}", case.name());
                let waiting: Vec<_> = (0..WAITING).map(|place| wait(case, place, scope)).collect();
                end(case, holder, ends);
                for other in &waiting {
                    assert_eq!(other.outcome.recv(), Ok(Ok(Write::Done)), "{}: {ends:?}", case.name());
                }
            });
            let kept = i64::from(ends == Ends::Commits);
            assert_eq!(number(case, 0), before + 100 * kept + WAITING as i64, "{}: {ends:?}", case.name());
            case.run(case.rows(&[(9, Intent::Write)]), |txn| txn.delete(case.table, &key(9)));
            assert_eq!((case.engine.audit(), case.engine.row_count(case.table)), (Ok(()), 4), "{}", case.name());
        }
    });
}

#[test]
fn all_of_the_queue_goes_away_and_the_holder_goes_on() {
    for_each_planned(|case| {
        for leaves in [Leaves::Cancelled, Leaves::Unwound] {
            let set = case.rows(&[(0, Intent::Write), (1, Intent::Write)]);
            let (mut holder, inserted) = case.hold(set, |txn| case.insert(txn, 1));
            assert_eq!(inserted, Write::Done, "{}", case.name());
            thread::scope(|scope| {
                let waiting: Vec<_> = (0..WAITING).map(|place| wait(case, place, scope)).collect();
                for gone in &waiting {
                    match leaves {
                        Leaves::Unwound => gone.scheduler.unwind(),
                        _ => gone.waiter.cancel(),
                    }
                }
                for gone in &waiting {
                    let outcome = gone.outcome.recv().expect("its thread ends");
                    assert!(matches!(outcome, Err(Abort::Cancelled | Abort::User)), "{}: {outcome:?}", case.name());
                }
            });
            assert_eq!(case.engine.audit(), Ok(()), "{}", case.name());
            assert_eq!(holder.delete(case.table, &key(1)), Ok(Write::Done), "{}", case.name());
            holder.abort();
            drop(holder);
            assert_eq!(case.engine.row_count(case.table), 4, "{}", case.name());
        }
    });
}
