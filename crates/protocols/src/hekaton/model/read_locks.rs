//! Read locks, and the transactions that wait for them: a transaction that replaces what was read ends after the
//! reader, and does end.
//!
//! | broken | fails |
//! | --- | --- |
//! | the last reader that goes does not tell the writer | the first two |
//! | a reader counts itself at the writer after the exchange of the End word | the first two |
//! | `Look::writer` does not read the End word again | the third |

use super::{Scene, check, together, waiter};
use hotrow_storage::{IndexKind, IndexRef, Key};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use hotrow_txn::{Abort, Begin, Concurrency, Inspection, Isolation, Scan, Transaction, Write};
use std::ops::ControlFlow;

/// Calls `work` in a transaction, which is dropped where `work` fails.
pub(super) fn transact(
    scene: &Scene,
    (level, concurrency): (Isolation, Concurrency),
    work: impl FnOnce(&mut dyn Transaction) -> Result<(), Abort>,
) -> Result<(), Abort> {
    let mut txn = scene.transaction(&waiter());
    txn.begin(&Begin { concurrency: Some(concurrency), ..Begin::at(level) })?;
    work(&mut *txn)?;
    txn.commit()
}

/// Two readers look twice at a row, one transaction adds to the row, and another one adds to it and takes that back, in
/// whatever order.
#[test]
fn a_writer_waits_for_the_last_reader() {
    check(|| {
        let scene = Scene::new(1, IndexKind::Hash);
        let committed = Arc::new(AtomicI64::new(0));
        let reader = |scene: Arc<Scene>| -> Box<dyn FnOnce() + Send> {
            Box::new(move || {
                let pessimist = (Isolation::RepeatableRead, Concurrency::Pessimistic);
                let _ = transact(&scene, pessimist, |txn| {
                    let first = scene.read(txn, 0)?;
                    assert_eq!(scene.read(txn, 0)?, first, "it stays as it was");
                    Ok(())
                });
            })
        };
        let (writing, added) = (scene.clone(), committed.clone());
        let writer = Box::new(move || {
            let optimist = (Isolation::ReadCommitted, Concurrency::Optimistic);
            let outcome = transact(&writing, optimist, |txn| {
                assert_eq!(writing.add(txn, 0, 1)?, Write::Done);
                Ok(())
            });
            match outcome {
                Ok(()) => added.store(1, Ordering::Release),
                Err(abort) => assert_eq!(abort, Abort::WriteConflict, "nobody else is in its way for ever"),
            }
        });
        let leaving = scene.clone();
        let leaver = Box::new(move || {
            let pessimist = (Isolation::RepeatableRead, Concurrency::Pessimistic);
            let _ = transact(&leaving, pessimist, |txn| {
                leaving.add(txn, 0, 8)?;
                Err(Abort::User)
            });
        });
        together(vec![reader(scene.clone()), reader(scene.clone()), writer, leaver]);
        assert_eq!(scene.number(0), Some(committed.load(Ordering::Acquire)));
        scene.engine.audit().expect("nobody is there");
    });
}

/// Each of the transactions reads the row that the next one writes, and writes only if no transaction has written
/// there.
#[test]
fn who_reads_what_the_other_writes_is_before_it() {
    check(|| {
        const ROWS: i64 = 2;
        let scene = Scene::new(ROWS, IndexKind::Hash);
        let committed = Arc::new(AtomicUsize::new(0));
        let member = |id: i64| -> Box<dyn FnOnce() + Send> {
            let (scene, committed) = (scene.clone(), committed.clone());
            Box::new(move || {
                let outcome = transact(&scene, (Isolation::Serializable, Concurrency::Pessimistic), |txn| {
                    if scene.read(txn, (id + 1) % ROWS)? == Some(0) {
                        scene.add(txn, id, 1)?;
                    }
                    Ok(())
                });
                committed.fetch_add(usize::from(outcome.is_ok()), Ordering::AcqRel);
            })
        };
        together((0..ROWS).map(member).collect());
        let written: i64 = (0..ROWS).filter_map(|id| scene.number(id)).sum();
        assert!(written <= 1, "each has missed what the other one wrote");
        assert!(committed.load(Ordering::Acquire) > 0, "of a circle one goes on");
        scene.engine.audit().expect("nobody is there");
    });
}

/// A transaction locks a row, changes another one, and commits: the first row is there all the time.
#[test]
fn a_lock_that_no_change_follows_hides_nothing() {
    for concurrency in [Concurrency::Optimistic, Concurrency::Pessimistic] {
        check(move || {
            let scene = Scene::new(2, IndexKind::Hash);
            let locking = scene.clone();
            let locker = Box::new(move || {
                let _ = transact(&locking, (Isolation::Serializable, concurrency), |txn| {
                    assert!(txn.read_for_update(locking.table, &Key::Int(0))?.is_some());
                    locking.add(txn, 1, 1).map(drop)
                });
            });
            let reading = scene.clone();
            let reader = Box::new(move || {
                for level in [Isolation::Snapshot, Isolation::Serializable] {
                    let mut rows = 0;
                    let outcome = transact(&reading, (level, concurrency), |txn| {
                        txn.scan(&Scan::all(reading.table, IndexRef::Primary), &mut |_| {
                            rows += 1;
                            ControlFlow::Continue(())
                        })
                    });
                    assert!(outcome.is_err() || rows == 2, "{level}, {concurrency:?}: {rows} of 2 rows");
                }
            });
            together(vec![locker, reader]);
            scene.engine.audit().expect("nobody is there");
        });
    }
}

/// An optimist replaces a row, and its validation fails. A pessimist that has met the row meanwhile sees it.
#[test]
fn a_row_that_is_not_replaced_after_all_is_not_missed() {
    check(|| {
        let scene = Scene::new(2, IndexKind::Hash);
        let mut replacer = scene.transaction(&waiter());
        let optimist = Some(Concurrency::Optimistic);
        replacer.begin(&Begin { concurrency: optimist, ..Begin::at(Isolation::Serializable) }).expect("it is alone");
        scene.read(&mut *replacer, 0).expect("it is there");
        let mut changer = scene.begin(Isolation::ReadCommitted);
        scene.add(&mut *changer, 0, 1).expect("nobody is in the way");
        changer.commit().expect("nobody is in the way");
        let (replacing, reading) = (scene.clone(), scene.clone());
        let failer = Box::new(move || {
            // What it has read was changed.
            assert!(replacing.add(&mut *replacer, 1, 1).is_err() || replacer.commit().is_err());
            replacer.abort();
        });
        let reader = Box::new(move || {
            let mut seen = Vec::new();
            let outcome = transact(&reading, (Isolation::Serializable, Concurrency::Pessimistic), |txn| {
                txn.scan(&Scan::prefix(reading.table, IndexRef::Primary, Key::Int(1)), &mut |row| {
                    seen.push(row.int8(0));
                    ControlFlow::Continue(())
                })
            });
            assert!(outcome.is_err() || seen == [1], "rows {seen:?}");
        });
        together(vec![failer, reader]);
        scene.engine.audit().expect("nobody is there");
    });
}
