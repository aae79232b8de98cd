//! Scans that end early, and so give up a part of their range, beside transactions that look for their locks.
//!
//! | broken | fails |
//! | --- | --- |
//! | the levels in use are read once, before the first block | the first |
//! | keys are looked up from the smallest block to the greatest | the first |
//! | the old lock goes, and there is no new one | the second |

use super::read_locks::transact;
use super::{Scene, check, check_times, together};
use crate::hekaton::index_locks::{IndexLocks, Part};
use crate::hekaton::txn_id::TxnId;
use crate::shared::walk::Range;
use hotrow_storage::{IndexId, IndexKind, IndexRef, Key};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Concurrency, Inspection, Isolation, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};

fn to(last: i64) -> Part {
    Part::Range(Arc::new(Range::new(&Bound::Unbounded, &Bound::Included(Key::Int(last)))))
}

/// A lock becomes smaller twice, each time at a level of its own. A key that stays in it finds it at any time.
#[test]
fn a_lock_that_becomes_smaller_is_found_by_the_keys_that_are_left() {
    check_times(10, || {
        let (locks, me) = (Arc::new(IndexLocks::default()), TxnId(1 << 16));
        let parts = [i64::MAX, i64::MIN + 0xFFFF, i64::MIN + 9].map(to);
        locks.lock(&parts[0], me);
        let (narrowing, looking) = (locks.clone(), locks.clone());
        together(vec![
            Box::new(move || {
                for pair in parts.windows(2) {
                    narrowing.lock(&pair[1], me);
                    narrowing.unlock(&pair[0], me);
                }
            }),
            Box::new(move || {
                let holders = looking.holders_of(&Key::Int(i64::MIN + 5));
                assert!(holders.contains(&me), "it is locked");
            }),
        ]);
    });
}

/// Returns the least name.
fn first_name(scene: &Scene, txn: &mut dyn Transaction) -> Result<Option<i64>, Abort> {
    let mut first = None;
    txn.scan(&Scan::all(scene.table, IndexRef::Secondary(IndexId(0))), &mut |row| {
        first = Some(row.int8(2));
        ControlFlow::Break(())
    })?;
    Ok(first)
}

/// A transaction looks twice for the first row, while a row is inserted before it.
#[test]
fn nothing_comes_before_the_first() {
    check(|| {
        let scene = Scene::new(1, IndexKind::Ordered);
        let (inserting, looking) = (scene.clone(), scene.clone());
        together(vec![
            Box::new(move || {
                let optimist = (Isolation::ReadCommitted, Concurrency::Optimistic);
                let outcome = transact(&inserting, optimist, |txn| {
                    assert_eq!(inserting.insert(txn, 7, 0, Some(7))?, Write::Done);
                    Ok(())
                });
                assert_eq!(outcome, Ok(()), "nobody is in its way for ever");
            }),
            Box::new(move || {
                let pessimist = (Isolation::Serializable, Concurrency::Pessimistic);
                let _ = transact(&looking, pessimist, |txn| {
                    let first = first_name(&looking, txn)?;
                    assert_eq!(first_name(&looking, txn)?, first, "before the first nothing comes");
                    Ok(())
                });
            }),
        ]);
        scene.engine.audit().expect("nobody is there");
    });
}
