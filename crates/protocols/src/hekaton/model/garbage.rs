//! Collection of versions beside transactions that read them: a version stays while a transaction can see it, and goes
//! when none can.
//!
//! | broken | fails |
//! | --- | --- |
//! | `begin` draws the read time before it publishes what it may read | the first |
//! | a version that a transaction reads counts as dead | the first |
//! | a version is retired without being unlinked | both |

use super::{Scene, check, together, waiter};
use hotrow_storage::{IndexKind, Key};
use hotrow_txn::{Abort, Begin, Inspection, Isolation, Write};
use std::ops::ControlFlow;

/// Returns the number of versions that are linked.
fn versions(scene: &Scene) -> usize {
    let database = scene.engine.database();
    let mut participant = database.participant();
    participant.enter();
    let guard = participant.guard();
    let mut versions = 0;
    database.table(guard, scene.table).expect("it was made").primary().all(guard, |_| {
        versions += 1;
        ControlFlow::Continue(())
    });
    versions
}

/// Adds to both rows, in so many transactions. A transaction that is refused is not tried again.
fn change(scene: &Scene, times: i64) -> Result<(), Abort> {
    let mut txn = scene.transaction(&waiter());
    for turn in 0..times {
        txn.begin(&Begin::at(Isolation::Snapshot))?;
        let both = [0, 1].into_iter().try_for_each(|row| scene.add(&mut *txn, row, turn + 1).map(|_| ()));
        if both.and_then(|()| txn.commit()).is_err() {
            txn.abort();
        }
    }
    Ok(())
}

/// Deletes a row, and inserts it again.
fn replace(scene: &Scene, id: i64) -> Result<(), Abort> {
    let mut txn = scene.transaction(&waiter());
    for _ in 0..2 {
        txn.begin(&Begin::at(Isolation::ReadCommitted))?;
        let done = match txn.delete(scene.table, &Key::Int(id)) {
            Ok(Write::Absent) => scene.insert(&mut *txn, id, 0, None).map(|_| ()),
            other => other.map(|_| ()),
        };
        if done.and_then(|()| txn.commit()).is_err() {
            txn.abort();
        }
    }
    Ok(())
}

#[test]
fn a_snapshot_stays_as_long_as_somebody_reads_it() {
    check(|| {
        let scene = Scene::new(2, IndexKind::Ordered);
        let changing = [scene.clone(), scene.clone()];
        let reader = |level: Isolation| -> Box<dyn FnOnce() + Send> {
            let scene = scene.clone();
            Box::new(move || {
                let mut txn = scene.begin(level);
                let mut looks = Vec::new();
                for row in [0, 1, 0] {
                    looks.push(scene.read(&mut *txn, row).expect("a reader is in nobody's way"));
                    // Between two calls it leaves its epoch.
                    txn.idle();
                }
                let outcome = txn.commit();
                assert!(looks.iter().all(|&look| look == looks[0] && look.is_some()) || outcome.is_err(), "{looks:?}");
            })
        };
        let [one, two] = changing;
        together(vec![
            Box::new(move || change(&one, 3).expect("there are slots")),
            Box::new(move || change(&two, 2).expect("there are slots")),
            reader(Isolation::Snapshot),
        ]);
        // Nobody is there: a few transactions collect all but what the last of them ends.
        change(&scene, 5).expect("nobody is in the way");
        assert!(versions(&scene) <= 4, "{} versions of 2 rows", versions(&scene));
        scene.engine.audit().expect("nobody is there");
    });
}

#[test]
fn rows_that_come_and_go_leave_nothing() {
    check(|| {
        let scene = Scene::new(2, IndexKind::Hash);
        let work = |id: i64| -> Box<dyn FnOnce() + Send> {
            let scene = scene.clone();
            Box::new(move || replace(&scene, id).expect("there are slots"))
        };
        together(vec![work(1), work(1), work(0)]);
        change(&scene, 8).expect("nobody is in the way");
        let there = [0, 1].into_iter().filter(|&id| scene.number(id).is_some()).count();
        assert!(versions(&scene) <= 2 * there, "{} versions of {there} rows", versions(&scene));
        scene.engine.audit().expect("nobody is there");
    });
}
