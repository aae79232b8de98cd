//! Tests of locks on pages and tables as a whole.

use super::super::Released;
use super::*;

fn world(escalation: usize) -> World<Released> {
    World::new(HierarchyConfig { escalation, ..HierarchyConfig::default() })
}

#[test]
fn many_rows_of_a_page_are_locked_as_a_page() {
    let world = world(10);
    let mut txn = world.begin();
    world.add_all(&mut txn, 0..9);
    assert_eq!(world.held(), 3 + 9);
    world.add(&mut txn, 9).expect("nothing is in the way");
    assert_eq!((world.held(), counts(&mut txn).escalations), (3, 1));
    let mut other = world.begin();
    assert_eq!(world.read(&mut other, 0).err(), Some(Abort::Timeout));
    other.abort();
    other.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
    assert_eq!(world.read(&mut other, 60).err(), Some(Abort::Timeout), "the page is locked, with rows not yet touched");
    other.abort();
    world.add_all(&mut txn, 0..KEYS);
    assert_eq!(world.held(), 3);
    txn.abort();
    world.assert_at_rest();
    let mut reader = world.begin();
    assert_eq!(world.sum(&mut reader), Ok(0), "all is undone");
}

#[test]
fn a_page_that_was_only_read_can_be_read_by_others() {
    let world = world(10);
    let mut txn = world.begin();
    world.read_all(&mut txn, 0..10);
    assert_eq!((world.held(), counts(&mut txn).escalations), (3, 1));
    let mut other = world.begin();
    assert_eq!(world.read(&mut other, 0), Ok(Some(0)));
    assert_eq!(world.add(&mut other, 60).err(), Some(Abort::Timeout));
    other.abort();
    // The transaction itself may write what it has read, row by row.
    world.add(&mut txn, 3).expect("nothing is in the way");
    assert_eq!(world.held(), 4);
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn no_page_is_locked_as_a_whole_while_another_transaction_is_in_the_way() {
    let world = world(10);
    let mut other = world.begin();
    world.add(&mut other, 50).expect("nothing is in the way");
    let mut txn = world.begin();
    world.read_all(&mut txn, 0..10);
    assert_eq!(counts(&mut txn).escalations, 0);
    assert_eq!(txn.statistics().waits, 0);
    other.commit().expect("it commits");
    world.read_all(&mut txn, 10..20);
    assert_eq!((world.held(), counts(&mut txn).escalations), (3, 1));
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn many_gaps_of_a_table_are_locked_as_a_table() {
    let world = world(10);
    let mut txn = world.begin();
    world.sum(&mut txn).expect("nothing is in the way");
    // The database and the table: pages, rows and gaps are in the table.
    assert_eq!(world.held(), 2);
    let mut other = world.begin();
    assert_eq!(other.insert(world.tables[0], world.row(100).as_ref()).err(), Some(Abort::Timeout));
    other.abort();
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

/// A lock that is released counts no more: at read committed a transaction that reads many rows locks no page.
#[test]
fn rows_that_are_locked_for_a_moment_add_up_to_no_page() {
    let world = world(10);
    let mut txn = world.idle();
    txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("it begins");
    world.read_all(&mut txn, 0..KEYS);
    assert_eq!((counts(&mut txn).escalations, world.sum(&mut txn)), (0, Ok(0)));
    assert_eq!(counts(&mut txn).escalations, 0);
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

/// The inserted row is in the page that the reader has locked as a whole, but its insert has not committed.
#[test]
fn a_lock_on_a_page_covers_no_row_that_is_being_inserted() {
    let world = world(10);
    let (mut writer, mut reader) = (world.begin(), world.begin());
    writer.insert(world.tables[0], world.row(100).as_ref()).expect("nothing is in the way");
    world.read_all(&mut reader, 0..10);
    assert_eq!(counts(&mut reader).escalations, 1);
    assert_eq!(world.read(&mut reader, 100).err(), Some(Abort::Timeout));
    writer.commit().expect("it commits");
    assert_eq!(world.read(&mut reader, 100), Ok(Some(0)));
    reader.commit().expect("it commits");
    world.assert_at_rest();
}

/// The transaction's own insert is not covered by its lock on the page, as readers that came before the insert commits
/// ask for the row's own lock.
#[test]
fn a_row_that_is_being_inserted_keeps_its_own_lock() {
    let world = world(10);
    let mut writer = world.begin();
    writer.insert(world.tables[0], world.row(100).as_ref()).expect("nothing is in the way");
    world.add(&mut writer, 100).expect("it has the row");
    world.add_all(&mut writer, 0..12);
    assert_eq!(counts(&mut writer).escalations, 1);
    // The database, the table, the page, the row, and the gap that the row was inserted into.
    assert_eq!(world.held(), 5);
    writer.abort();
    world.assert_at_rest();
}

/// A key that is absent stays absent, although the page in which it was a moment ago is locked as a whole.
#[test]
fn a_lock_on_a_page_covers_no_absent_key() {
    let world = world(10);
    let mut reader = world.begin();
    world.read_all(&mut reader, 0..10);
    assert_eq!(world.read(&mut reader, 100), Ok(None));
    let mut writer = world.begin();
    assert_eq!(writer.insert(world.tables[0], world.row(100).as_ref()).err(), Some(Abort::Timeout));
    writer.abort();
    reader.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn a_transaction_of_many_rows_has_few_locks() {
    let config = HierarchyConfig { page_bytes: 4096, ..HierarchyConfig::default() };
    let world = World::<Released>::new(config);
    for key in KEYS..100_000 {
        world.instance.load(world.tables[0], world.row(key).as_ref()).expect("the keys differ");
    }
    let (mut txn, mut most) = (world.begin(), 0);
    for key in 0..100_000 {
        world.add(&mut txn, key).expect("nothing is in the way");
        if key % 1000 == 0 {
            most = most.max(world.held());
        }
    }
    // Some hundred bytes each: less than half a megabyte.
    assert!(most <= 4000, "{most}");
    txn.commit().expect("it commits");
    world.assert_at_rest();
}
