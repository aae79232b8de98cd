//! Speculative reads and ignores: a transaction that commits has read committed versions, and of each other transaction
//! either all changes or none.
//!
//! | broken | fails |
//! | --- | --- |
//! | `Look::depends_on` takes on no dependency | the second |
//! | `commit` does not wait for the transactions that it depends on | the second |
//! | a transaction that aborts tells its dependents that it has committed | the first |

use super::{Scene, check, together, waiter};
use hotrow_storage::IndexKind;
use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Begin, Inspection, Isolation, Transaction, Write};

/// The rows that are written, both at once; a third one is there to be validated.
const ROWS: [i64; 2] = [0, 1];
const WATCHED: i64 = 2;

/// Reads both rows and returns their numbers.
fn read_both(scene: &Scene, txn: &mut dyn Transaction) -> Result<[i64; 2], Abort> {
    let mut seen = [0; 2];
    for (seen, row) in seen.iter_mut().zip(ROWS) {
        *seen = scene.read(txn, row)?.expect("rows are not deleted");
    }
    Ok(seen)
}

/// Adds to both rows, after it has read the row that is there to be validated.
fn add_to_both(scene: &Scene, txn: &mut dyn Transaction, number: i64) -> Result<(), Abort> {
    scene.read(txn, WATCHED)?;
    for row in ROWS {
        assert_eq!(scene.add(txn, row, number)?, Write::Done);
    }
    Ok(())
}

fn transact(
    scene: &Scene,
    (level, waiter): (Isolation, &Waiter),
    work: impl FnOnce(&mut dyn Transaction) -> Result<(), Abort>,
) -> Result<(), Abort> {
    let mut txn = scene.transaction(waiter);
    txn.begin(&Begin::at(level))?;
    // A transaction that fails is dropped where it stands.
    work(&mut *txn)?;
    txn.commit()
}

/// One transaction adds 1 to both rows. Another one adds 10, and may be cancelled while it depends on the first. A
/// third one makes the first one's validation fail. Meanwhile a reader runs.
fn readers_see_what_was_committed(writers: Isolation, readers: Isolation) {
    check(move || {
        let scene = Scene::new(3, IndexKind::Hash);
        let committed = Arc::new(AtomicI64::new(0));
        let seen = Arc::new(AtomicI64::new(0));
        let cancelled = waiter();
        let writer = |number: i64, waiter: Waiter| -> Box<dyn FnOnce() + Send> {
            let (scene, committed) = (scene.clone(), committed.clone());
            Box::new(move || {
                let outcome = transact(&scene, (writers, &waiter), |txn| add_to_both(&scene, txn, number));
                if outcome.is_ok() {
                    committed.fetch_add(number, Ordering::AcqRel);
                }
            })
        };
        let (reading, sighted) = (scene.clone(), seen.clone());
        let reader = Box::new(move || {
            let mut sight = [0; 2];
            let outcome = transact(&reading, (readers, &waiter()), |txn| {
                sight = read_both(&reading, txn)?;
                Ok(())
            });
            if outcome.is_ok() {
                assert!(
                    sight[0] == sight[1] || readers == Isolation::ReadCommitted,
                    "half of a transaction: {sight:?}"
                );
                sight.iter().for_each(|&sight| {
                    sighted.fetch_or(sight, Ordering::AcqRel);
                });
            }
        });
        let rival = scene.clone();
        let (canceller, of_both) = (cancelled.clone(), scene.clone());
        together(vec![
            writer(1, waiter()),
            writer(16, cancelled),
            Box::new(move || {
                let _ =
                    transact(&rival, (Isolation::Snapshot, &waiter()), |txn| rival.add(txn, WATCHED, 1).map(|_| ()));
            }),
            Box::new(move || canceller.cancel()),
            reader,
        ]);
        let (committed, seen) = (committed.load(Ordering::Acquire), seen.load(Ordering::Acquire));
        assert_eq!(seen & !committed, 0, "{seen} was seen, {committed} was committed");
        for row in ROWS {
            assert_eq!(of_both.number(row), Some(committed));
        }
        of_both.engine.audit().expect("nobody is there");
    });
}

#[test]
fn a_snapshot_is_of_committed_transactions_each_of_them_whole() {
    readers_see_what_was_committed(Isolation::Serializable, Isolation::Snapshot);
}

#[test]
fn read_committed_reads_what_is_committed_before_it_commits_itself() {
    readers_see_what_was_committed(Isolation::RepeatableRead, Isolation::ReadCommitted);
}

/// A row moves between two places and back, in transactions of which some are rolled back, or vanish. A reader of both
/// places finds the row in one of them.
#[test]
fn what_is_ignored_is_seen_elsewhere() {
    check(|| {
        let scene = Scene::new(1, IndexKind::Hash);
        let mover = |ends: [bool; 2]| -> Box<dyn FnOnce() + Send> {
            let scene = scene.clone();
            Box::new(move || {
                for commits in ends {
                    let _ = transact(&scene, (Isolation::Serializable, &waiter()), |txn| {
                        let from = i64::from(scene.read(txn, 0)?.is_none());
                        if txn.delete(scene.table, &hotrow_storage::Key::Int(from))? == Write::Done {
                            scene.insert(txn, 1 - from, 0, Some(100))?;
                        }
                        if commits { Ok(()) } else { Err(Abort::User) }
                    });
                }
            })
        };
        let reading = scene.clone();
        let reader = Box::new(move || {
            for level in [Isolation::Snapshot, Isolation::Serializable] {
                let mut found = 0;
                let outcome = transact(&reading, (level, &waiter()), |txn| {
                    for place in ROWS {
                        found += usize::from(reading.read(txn, place)?.is_some());
                    }
                    Ok(())
                });
                assert!(outcome.is_err() || found == 1, "{level}: it was in {found} places");
            }
        });
        let left = scene.clone();
        together(vec![mover([true, false]), mover([false, true]), reader]);
        assert_eq!(ROWS.iter().filter(|&&place| left.number(place).is_some()).count(), 1);
        left.engine.audit().expect("nobody is there");
    });
}
