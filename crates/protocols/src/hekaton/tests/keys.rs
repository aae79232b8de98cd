//! Keys that are kept: the row stays, and may change.

use super::levels::{delete, read};
use super::{Fixture, fixture, fixture_with, levels_and_ways};
use crate::hekaton::HekatonConfig;
use hotrow_storage::Key;
use hotrow_txn::{Abort, Begin, Concurrency, Inspection, Isolation, Transaction, Write};

fn keep(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<bool, Abort> {
    txn.hold_row(case.table, &Key::Int(id))
}

/// Whether transactions of this kind read the latest versions and make others end after them.
fn locks(level: Isolation, way: Concurrency) -> bool {
    level == Isolation::ReadCommitted || level != Isolation::Snapshot && way == Concurrency::Pessimistic
}

/// A step of the second transaction, on the row with this id.
type Second = fn(&Fixture, &mut dyn Transaction, i64) -> Result<Write, Abort>;

fn change(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    case.write(txn, id, 9)
}

fn change_and_delete(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    case.write(txn, id, 9)?;
    delete(case, txn, id)
}

fn delete_and_insert(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    delete(case, txn, id)?;
    case.insert(txn, id, None)
}

#[test]
fn a_row_whose_key_is_kept_changes_beside_it_and_is_deleted_after_it() {
    let cases: [(&str, Second, bool); 3] =
        [("changed", change, true), ("deleted", delete, false), ("changed and deleted", change_and_delete, false)];
    for (level, way) in levels_and_ways() {
        for (name, second, is_free) in cases {
            for keeper_is_first in [true, false] {
                let what = format!("{level}, {way}: {name}, the keeper is first {keeper_is_first}");
                let case = fixture(3);
                let mut keeper = case.begin_as(level, way);
                let mut writer = case.begin_as(Isolation::ReadCommitted, way);
                let kept = |txn: &mut dyn Transaction| {
                    assert_eq!(keep(&case, txn, 0), Ok(true), "{what}");
                    assert_eq!(case.insert(txn, 7, None), Ok(Write::Done), "{what}");
                };
                if keeper_is_first {
                    kept(&mut *keeper);
                }
                assert_eq!(second(&case, &mut *writer, 0), Ok(Write::Done), "{what}");
                if !keeper_is_first {
                    kept(&mut *keeper);
                }
                let (written, ended) = (writer.commit(), keeper.commit());
                match (is_free, locks(level, way)) {
                    (true, _) => assert_eq!((written, ended), (Ok(()), Ok(())), "{what}"),
                    // It would have to wait, and may not here.
                    (false, true) => assert_eq!((written, ended), (Err(Abort::Cancelled), Ok(())), "{what}"),
                    (false, false) => assert_eq!((written, ended), (Ok(()), Err(Abort::Validation)), "{what}"),
                }
                drop((keeper, writer));
                case.engine.audit().expect("nobody is there");
            }
        }
    }
}

#[test]
fn a_key_is_kept_for_the_row_that_has_it_at_the_end() {
    for (level, way) in levels_and_ways() {
        let case = fixture(3);
        let (mut keeper, mut writer) = (case.begin_as(level, way), case.begin_as(Isolation::ReadCommitted, way));
        assert_eq!(keep(&case, &mut *keeper, 5), Ok(false), "{level}, {way}: there is none");
        assert_eq!(case.insert(&mut *keeper, 7, None), Ok(Write::Done));
        assert_eq!(keep(&case, &mut *keeper, 7), Ok(true), "{level}, {way}: its own");
        assert_eq!(keep(&case, &mut *keeper, 0), Ok(true));
        assert_eq!(delete_and_insert(&case, &mut *writer, 1), Ok(Write::Done));
        assert_eq!(keep(&case, &mut *keeper, 1), Ok(true), "{level}, {way}: another row with the key will do");
        assert_eq!(read(&case, &mut *keeper, 2), Ok(Write::Done));
        assert_eq!(writer.commit(), Ok(()), "{level}, {way}");
        assert_eq!(keeper.commit(), Ok(()), "{level}, {way}");
        drop((keeper, writer));
        case.engine.audit().expect("nobody is there");
    }
}

/// The keeper has relied on an insert that is taken back, so that the row is deleted after all; or not even that.
#[test]
fn a_key_is_kept_from_a_deletion_whose_insert_is_taken_back() {
    for (level, way) in levels_and_ways() {
        for deletion_stays in [true, false] {
            let what = format!("{level}, {way}: the deletion stays: {deletion_stays}");
            let case = fixture(3);
            let (mut keeper, mut writer) = (case.begin_as(level, way), case.begin_as(Isolation::ReadCommitted, way));
            let before = writer.savepoint();
            assert_eq!(delete(&case, &mut *writer, 0), Ok(Write::Done), "{what}");
            let between = writer.savepoint();
            assert_eq!(case.insert(&mut *writer, 0, None), Ok(Write::Done), "{what}");
            assert_eq!(keep(&case, &mut *keeper, 0), Ok(true), "{what}");
            assert_eq!(case.insert(&mut *keeper, 7, None), Ok(Write::Done), "{what}");
            writer.rollback_to(if deletion_stays { between } else { before });
            assert_eq!(case.write(&mut *writer, 1, 9), Ok(Write::Done), "{what}");
            let (written, ended) = (writer.commit(), keeper.commit());
            match (deletion_stays, locks(level, way)) {
                (false, _) => assert_eq!((written, ended), (Ok(()), Ok(())), "{what}"),
                // It would have to wait, and may not here.
                (true, true) => assert_eq!((written, ended), (Err(Abort::Cancelled), Ok(())), "{what}"),
                (true, false) => assert_eq!((written, ended), (Ok(()), Err(Abort::Validation)), "{what}"),
            }
            drop((keeper, writer));
            case.engine.audit().expect("nobody is there");
        }
    }
}

#[test]
fn a_key_has_any_number_of_keepers() {
    let case = fixture_with(2, HekatonConfig { read_locks: 1, ..HekatonConfig::default() });
    for level in [Isolation::ReadCommitted, Isolation::Serializable] {
        let mut keepers: Vec<_> = (0..300).map(|_| case.begin_as(level, Concurrency::Pessimistic)).collect();
        for keeper in &mut keepers {
            assert_eq!(keep(&case, &mut **keeper, 0), Ok(true), "{level}");
        }
        let mut deleter = case.transaction();
        for mut keeper in keepers {
            deleter.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
            assert_eq!(delete(&case, &mut *deleter, 0), Ok(Write::Done), "{level}");
            assert_eq!(deleter.commit(), Err(Abort::Cancelled), "{level}: it would wait for all of them");
            deleter.abort();
            keeper.commit().expect("nobody is in the way");
        }
        deleter.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
        assert_eq!(delete(&case, &mut *deleter, 0), Ok(Write::Done), "{level}");
        assert_eq!(case.insert(&mut *deleter, 0, Some(100)), Ok(Write::Done), "{level}");
        assert_eq!(deleter.commit(), Ok(()), "{level}: they have ended");
    }
    case.engine.audit().expect("nobody is there");
}
