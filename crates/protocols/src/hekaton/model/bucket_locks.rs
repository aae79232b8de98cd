//! Locks in indexes against transactions that link versions there: a walk meets the version, or its maker meets the
//! lock.

use super::read_locks::transact;
use super::{Scene, check, together};
use hotrow_storage::{IndexId, IndexKind, IndexRef, Key, KeyBuilder, Type, Value};
use hotrow_txn::{Abort, Concurrency, Inspection, Isolation, Scan, Transaction, Write};
use std::ops::ControlFlow;

/// A call that counts the rows with a key or a name.
type Count = fn(&Scene, &mut dyn Transaction, i64) -> Result<usize, Abort>;

fn with_key(scene: &Scene, txn: &mut dyn Transaction, id: i64) -> Result<usize, Abort> {
    Ok(usize::from(scene.read(txn, id)?.is_some()))
}

fn in_scan(txn: &mut dyn Transaction, scan: &Scan) -> Result<usize, Abort> {
    let mut rows = 0;
    txn.scan(scan, &mut |_| {
        rows += 1;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn in_range(scene: &Scene, txn: &mut dyn Transaction, id: i64) -> Result<usize, Abort> {
    in_scan(txn, &Scan::prefix(scene.table, IndexRef::Primary, Key::Int(id)))
}

fn with_name(scene: &Scene, txn: &mut dyn Transaction, id: i64) -> Result<usize, Abort> {
    let mut name = KeyBuilder::default();
    name.push(Type::Int8, true, &Value::Int8(id));
    in_scan(txn, &Scan::prefix(scene.table, IndexRef::Secondary(IndexId(0)), name.finish()))
}

const WAYS: [(Count, IndexKind); 4] = [
    (with_key, IndexKind::Hash),
    (in_range, IndexKind::Hash),
    (with_name, IndexKind::Hash),
    (with_name, IndexKind::Ordered),
];

/// A transaction counts twice, while a row is inserted.
#[test]
fn nothing_comes_where_somebody_has_looked() {
    for (count, names) in WAYS {
        check(move || {
            let scene = Scene::new(1, names);
            let (inserting, counting) = (scene.clone(), scene.clone());
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
                    let _ = transact(&counting, pessimist, |txn| {
                        let rows = count(&counting, txn, 7)?;
                        assert_eq!(count(&counting, txn, 7)?, rows, "where it has looked nothing comes");
                        Ok(())
                    });
                }),
            ]);
            scene.engine.audit().expect("nobody is there");
        });
    }
}

/// Each of two transactions inserts a row only if the other's row is not there.
#[test]
fn each_looks_for_what_the_other_one_inserts() {
    for (count, names) in WAYS {
        check(move || {
            let scene = Scene::new(0, names);
            let member = |id: i64| -> Box<dyn FnOnce() + Send> {
                let scene = scene.clone();
                Box::new(move || {
                    let _ = transact(&scene, (Isolation::Serializable, Concurrency::Pessimistic), |txn| {
                        if count(&scene, txn, 1 - id)? == 0 {
                            scene.insert(txn, id, 0, Some(id))?;
                        }
                        Ok(())
                    });
                })
            };
            together(vec![member(0), member(1)]);
            let rows = (0..2).filter(|&id| scene.number(id).is_some()).count();
            assert_eq!(rows, 1, "one has been before the other");
            scene.engine.audit().expect("nobody is there");
        });
    }
}
