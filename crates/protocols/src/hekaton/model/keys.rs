//! Unique keys: of all transactions that want one, at most one gets a row with it. Kept keys: the row stays until its
//! keeper has ended.
//!
//! | broken | fails |
//! | --- | --- |
//! | `claim` does not look again when a transaction has decided since it began | the first |
//! | `claim` passes by active transactions whose versions are behind | the second |
//! | `keep_key` does not note the key, or passes by a transaction that is about to delete the row | the third |
//! | `keep_key` takes a newer version for one that stays, though the writer has deleted it and committed meanwhile | the third, in its long form |
//! | a deletion whose insert is taken back does not look for the keepers of the key | the third |
//! | a key that was kept is not looked for again at the end | the third |
//! | a deletion does not look for the keepers of the key | the third |
//! | a version is not linked if the one that it replaces went with its key | the fourth, in its long form |

use super::read_locks::transact;
use super::{Scene, check, together, waiter};
use hotrow_storage::{IndexKind, Key, Value};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_txn::{Abort, Begin, Concurrency, Inspection, Isolation, Transaction, Write};

const KINDS: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Ordered];

type Step = fn(&Scene, &mut dyn Transaction) -> Result<Write, Abort>;

/// Whether a transaction of one step at read committed has changed something.
fn does(scene: &Scene, step: Step) -> bool {
    let mut txn = scene.transaction(&waiter());
    let done = txn.begin(&Begin::at(Isolation::ReadCommitted)).and_then(|()| {
        let write = step(scene, &mut *txn)?;
        txn.commit().map(|()| write == Write::Done)
    });
    done.unwrap_or(false)
}

fn rename(scene: &Scene, txn: &mut dyn Transaction, id: i64, name: i64) -> Result<Write, Abort> {
    txn.update(scene.table, &Key::Int(id), &mut |row| {
        row.set(2, &Value::Int8(name));
        Ok(())
    })
}

/// Two transactions change a row, as a rule one after the other, while another one wants its key or its name.
#[test]
fn what_is_replaced_meanwhile_keeps_its_key() {
    let wishes: [Step; 2] = [|s, t| s.insert(t, 0, 7, None), |s, t| s.insert(t, 9, 7, Some(100))];
    for (kind, wish) in KINDS.into_iter().flat_map(|kind| wishes.map(|wish| (kind, wish))) {
        check(move || {
            let scene = Scene::new(1, kind);
            let change = || -> Box<dyn FnOnce() + Send> {
                let scene = scene.clone();
                Box::new(move || {
                    does(&scene, |s, t| s.add(t, 0, 1));
                    does(&scene, |s, t| s.add(t, 0, 1));
                })
            };
            let wanting = scene.clone();
            let want = Box::new(move || assert!(!does(&wanting, wish), "a row with its key is there throughout"));
            together(vec![change(), change(), want]);
            scene.engine.audit().expect("nobody is there");
        });
    }
}

/// Several transactions want the same key, and the same name, and the one that has the name may give it up.
#[test]
fn of_many_who_want_a_key_at_most_one_gets_it() {
    let wishes: [Step; 3] =
        [|s, t| s.insert(t, 8, 1, Some(100)), |s, t| s.insert(t, 8, 2, None), |s, t| s.insert(t, 9, 3, Some(100))];
    for kind in KINDS {
        check(move || {
            let scene = Scene::new(1, kind);
            let rows = Arc::new(AtomicI64::new(1));
            let want = |wish: Step| -> Box<dyn FnOnce() + Send> {
                let (scene, rows) = (scene.clone(), rows.clone());
                Box::new(move || {
                    rows.fetch_add(i64::from(does(&scene, wish)), Ordering::AcqRel);
                })
            };
            let giving = scene.clone();
            let mut work: Vec<_> = wishes.into_iter().map(want).collect();
            work.push(Box::new(move || {
                does(&giving, |s, t| rename(s, t, 0, 50));
            }));
            together(work);
            scene.engine.audit().expect("nobody is there");
            let left = [0, 8, 9].into_iter().filter(|&id| scene.number(id).is_some()).count() as i64;
            assert_eq!(left, rows.load(Ordering::Acquire), "rows that are there, and those that were told so");
            let names = scene.names();
            assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len(), "{names:?}");
        });
    }
}

/// A way to delete a row.
type Deletion = fn(&Scene, &mut dyn Transaction, i64) -> Result<(), Abort>;

fn delete(scene: &Scene, txn: &mut dyn Transaction, id: i64) -> Result<(), Abort> {
    txn.delete(scene.table, &Key::Int(id)).map(drop)
}

fn change_and_delete(scene: &Scene, txn: &mut dyn Transaction, id: i64) -> Result<(), Abort> {
    scene.add(txn, id, 8)?;
    delete(scene, txn, id)
}

/// Deletes a row, inserts another row with its key, and takes the insert back.
fn delete_again(scene: &Scene, txn: &mut dyn Transaction, id: i64) -> Result<(), Abort> {
    delete(scene, txn, id)?;
    let savepoint = txn.savepoint();
    scene.insert(txn, id, 8, None)?;
    txn.rollback_to(savepoint);
    Ok(())
}

/// A row refers to another one. One transaction deletes that one, unless it finds the row that refers to it, and
/// another transaction changes it.
#[test]
fn a_row_whose_key_is_kept_is_there_when_its_keeper_has_committed() {
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Snapshot, Isolation::Serializable];
    let kinds = levels.into_iter().flat_map(|level| Concurrency::ALL.map(|way| (level, way)));
    let deletions: [(&str, Deletion); 3] =
        [("deleted", delete), ("changed and deleted", change_and_delete), ("deleted again", delete_again)];
    for (kind, (name, deletion)) in kinds.flat_map(|kind| deletions.map(|deletion| (kind, deletion))) {
        check(move || {
            let scene = Scene::new(1, IndexKind::Hash);
            let (referring, deleting, changing) = (scene.clone(), scene.clone(), scene.clone());
            together(vec![
                Box::new(move || {
                    let _ = transact(&referring, kind, |txn| {
                        if txn.hold_row(referring.table, &Key::Int(0))? {
                            referring.insert(txn, 9, 0, None)?;
                        }
                        Ok(())
                    });
                }),
                Box::new(move || {
                    let _ = transact(&deleting, kind, |txn| {
                        deletion(&deleting, txn, 0)?;
                        txn.hold_reads(true);
                        let refers = deleting.read(txn, 9)?;
                        txn.hold_reads(false);
                        if refers.is_some() { Err(Abort::User) } else { Ok(()) }
                    });
                }),
                Box::new(move || {
                    does(&changing, |s, t| s.add(t, 0, 1));
                }),
            ]);
            let (refers, is_there) = (scene.number(9).is_some(), scene.number(0).is_some());
            assert!(is_there || !refers, "{kind:?}, {name}: what it refers to is not there");
            scene.engine.audit().expect("nobody is there");
        });
    }
}

/// A row is inserted, and the insert is taken back, while another transaction changes the row, which it has seen about
/// to be committed.
#[test]
fn what_replaces_a_row_that_goes_is_linked_all_the_same() {
    check(|| {
        let scene = Scene::new(1, IndexKind::Ordered);
        let (inserting, rival, changing) = (scene.clone(), scene.clone(), scene.clone());
        together(vec![
            Box::new(move || {
                let mut txn = inserting.begin(Isolation::Serializable);
                let inserted = inserting
                    .read(&mut *txn, 0)
                    .and_then(|_| inserting.insert(&mut *txn, 5, 0, Some(7)))
                    .and_then(|_| txn.commit());
                assert!(matches!(inserted, Ok(()) | Err(Abort::Validation)), "{inserted:?}");
            }),
            Box::new(move || {
                does(&rival, |s, t| s.add(t, 0, 1));
            }),
            Box::new(move || {
                for _ in 0..2 {
                    does(&changing, |s, t| s.add(t, 5, 1));
                }
            }),
        ]);
        scene.engine.audit().expect("nobody is there");
    });
}
