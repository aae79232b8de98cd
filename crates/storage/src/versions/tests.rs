//! Tests tables of versions against plain maps, on one thread and on several.

use super::*;
use crate::epoch::{Collector, Participant};
use crate::{
    Column, Duplicate, IndexId, IndexKind, IndexRef, IndexSchema, Key, Row, StoredTable, TableId, TableSchema, Type,
    Value, mix,
};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, thread};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// A number that a test gives to each version.
struct Number(AtomicU64);

impl VersionHeader for Number {
    type Index = ();

    fn loaded() -> Self {
        Self(AtomicU64::new(0))
    }
}

fn number(number: u64) -> Number {
    Number(AtomicU64::new(number))
}

fn number_of(version: VersionRef<'_, Number>) -> u64 {
    version.header().0.load(Ordering::Acquire)
}

/// A table of three numbers: the key, a column with a hash index, and a column with an ordered index.
fn numbers(collector: &Arc<Collector>) -> VersionTable<Number> {
    let columns = ["id", "hashed", "ordered"].map(|name| Column::new(name, Type::Int8)).to_vec();
    let mut schema = TableSchema::new("numbers", columns, &[0]);
    let index =
        |name: &str, column, kind| IndexSchema { name: name.into(), columns: vec![column], kind, unique: false };
    schema.indexes = vec![index("hashed", 1, IndexKind::Hash), index("ordered", 2, IndexKind::Ordered)];
    VersionTable::new(TableId(0), schema, collector, 1)
}

fn row_of(table: &VersionTable<Number>, columns: [i64; 3]) -> Row {
    Row::from_values(table.layout(), &columns.map(Value::Int8))
}

fn within<T>(collector: &Arc<Collector>, work: impl FnOnce(&mut Participant) -> T) -> T {
    let mut participant = collector.participant();
    participant.enter();
    work(&mut participant)
}

/// The numbers of the versions with these columns in the index at `position`.
fn equal(table: &VersionTable<Number>, participant: &Participant, position: usize, column: i64) -> Vec<u64> {
    let index = &table.indexes()[position];
    let key = index.key_spec().key([Value::Int8(column)]);
    index.equal(participant.guard(), &key, key.hash64()).map(number_of).collect()
}

#[test]
fn words_and_short_rows_share_a_line() {
    let layout = |columns: usize| {
        let columns: Vec<_> = (0..columns).map(|column| Column::new(&column.to_string(), Type::Int8)).collect();
        Arc::new(crate::RowLayout::new(&columns))
    };
    for (columns, links, bytes) in [(3, 1, 48), (3, 2, 56), (1, 1, 32), (4, 3, 72)] {
        let format = VersionFormat::new::<Number>(layout(columns), links);
        assert_eq!(format.bytes(), bytes, "{columns} columns of 8 bytes, a byte of NULLs, {links} indexes");
        assert_eq!(format.overhead_bytes(), 8 + 8 * links);
    }
}

/// A transaction that replaces an uncommitted version may find that version gone, because the transaction that made it
/// has aborted.
#[test]
fn a_version_is_linked_though_the_one_it_replaces_has_gone_with_its_key() {
    let collector = Collector::new();
    let table = numbers(&collector);
    within(&collector, |participant| {
        let guard = participant.guard();
        let mut memory = VersionMemory::default();
        let row = row_of(&table, [7, 1, 5]);
        let [old, new] = [1, 2].map(|of| table.draft(&mut memory, number(of), row.as_ref()).publish(guard));
        (0..4).for_each(|index| table.link(guard, index, old, None));
        let mut garbage = Vec::new();
        table.unlink(guard, old, 4, &mut garbage);
        (0..4).for_each(|index| table.link(guard, index, new, Some(old)));
        for (position, column) in [(0, 7), (1, 7), (2, 1), (3, 5)] {
            assert_eq!(equal(&table, participant, position, column), [2], "index {position}");
        }
        table.unlink(guard, new, 4, &mut garbage);
        assert!(table.indexes().iter().all(VersionIndex::is_empty));
    });
}

#[test]
fn the_version_linked_last_comes_first_and_unlinked_ones_are_gone() {
    let collector = Collector::new();
    let table = numbers(&collector);
    within(&collector, |participant| {
        let guard = participant.guard();
        let mut memory = VersionMemory::default();
        let mut versions = Vec::new();
        for (number_of_version, columns) in (1..).zip([[7, 1, 5], [7, 1, 6], [8, 1, 5], [7, 2, 5], [7, 1, 5]]) {
            let row = row_of(&table, columns);
            let version = table.draft(&mut memory, number(number_of_version), row.as_ref()).publish(guard);
            (0..4).for_each(|index| table.link(guard, index, version, None));
            versions.push(version);
        }
        let check = |position, column, expected: &[u64]| {
            assert_eq!(equal(&table, participant, position, column), expected, "index {position}, column {column}");
        };
        for primary in [0, 1] {
            check(primary, 7, &[5, 4, 2, 1]);
            check(primary, 8, &[3]);
            check(primary, 9, &[]);
        }
        let mut hashed = equal(&table, participant, 2, 1);
        hashed.sort_unstable();
        assert_eq!(hashed, [1, 2, 3, 5]);
        check(3, 5, &[5, 4, 1, 3]);
        check(3, 6, &[2]);

        let key = Key::Int(7);
        for index in &table.indexes()[..2] {
            let behind = index.behind(guard, versions[3], &key, key.hash64());
            assert_eq!(behind.map(number_of).collect::<Vec<_>>(), [2, 1]);
        }

        let mut garbage = Vec::new();
        for gone in [1, 0, 2] {
            table.unlink(guard, versions[gone], 4, &mut garbage);
        }
        assert_eq!(garbage.len(), 3, "the keys 8 and (6, 7) and (5, 8) of the ordered indexes are gone");
        for primary in [0, 1] {
            check(primary, 7, &[5, 4]);
            check(primary, 8, &[]);
        }
        check(2, 1, &[5]);
        check(3, 5, &[5, 4]);
        check(3, 6, &[]);
        let lens: Vec<_> = table.indexes().iter().map(VersionIndex::len).collect();
        assert_eq!(lens, [2, 1, 2, 1], "versions of hash indexes, keys of ordered ones");
    });
}

#[test]
fn an_update_that_leaves_the_key_takes_the_short_way_to_the_same_place() {
    let collector = Collector::new();
    let table = numbers(&collector);
    within(&collector, |participant| {
        let guard = participant.guard();
        let mut memory = VersionMemory::default();
        let mut last: Option<VersionRef<'_, Number>> = None;
        for turn in 1..=5 {
            let row = row_of(&table, [3, 0, 0]);
            let version = table.draft(&mut memory, number(turn), row.as_ref()).publish(guard);
            (0..4).for_each(|index| table.link(guard, index, version, last));
            last = Some(version);
        }
        for (position, column) in [(0, 3), (1, 3), (2, 0), (3, 0)] {
            assert_eq!(equal(&table, participant, position, column), [5, 4, 3, 2, 1]);
        }
    });
}

#[test]
fn a_draft_is_changed_or_leaves_nothing() {
    let collector = Collector::new();
    let columns = vec![Column::new("id", Type::Int8), Column::new("text", Type::Text)];
    let text = TableSchema::new("texts", columns, &[0]);
    let text: VersionTable<Number> = VersionTable::new(TableId(1), text, &collector, 1);
    within(&collector, |participant| {
        let guard = participant.guard();
        let mut memory = VersionMemory::default();
        let row = Row::from_values(text.layout(), &[Value::Int8(1), Value::text("a text")]);
        let old = text.draft(&mut memory, number(1), row.as_ref()).publish(guard);
        let bytes = text.version_bytes();
        let failed = text.draft_of(&mut memory, number(2), old.row(), |row| {
            row.set_bytes(1, b"another");
            Err::<(), _>("no")
        });
        assert_eq!(failed.map(|_| ()), Err("no"));
        assert_eq!(text.version_bytes(), bytes, "the draft is freed");
        assert_eq!(old.row().text(1), "a text");

        for (new, expected) in [(Some("a longer text than before"), "a longer text than before"), (None, "a text")] {
            let draft = text.draft_of(&mut memory, number(2), old.row(), |row| {
                new.iter().for_each(|text| row.set_bytes(1, text.as_bytes()));
                Ok::<_, ()>(17)
            });
            let (draft, result) = draft.expect("the change goes well");
            assert_eq!((draft.row().text(1), result), (expected, 17));
        }
        assert_eq!(text.version_bytes(), bytes, "drafts that are dropped are freed");
        text.link(guard, 0, old, None);
        text.link(guard, 1, old, None);
    });

    let table = numbers(&collector);
    within(&collector, |participant| {
        let guard = participant.guard();
        let mut memory = VersionMemory::default();
        let old = table.draft(&mut memory, number(1), row_of(&table, [1, 2, 3]).as_ref()).publish(guard);
        let set = |row: &mut crate::RowMut<'_>| {
            row.set_int8(2, 30);
            Ok::<_, ()>(())
        };
        let (draft, ()) = table.draft_of(&mut memory, number(2), old.row(), set).expect("the change goes well");
        let new = draft.publish(guard);
        assert_eq!((old.row().int8(2), new.row().int8(2), new.row().int8(1)), (3, 30, 2));
    });
}

#[test]
fn loading_refuses_duplicates_and_leaves_nothing_of_them() {
    let collector = Collector::new();
    let columns = vec![
        Column::new("name", Type::Text),
        Column::new("number", Type::Int4),
        Column::nullable("email", Type::Varchar(Some(40))),
    ];
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let mut schema = TableSchema::new("people", columns.clone(), &[0]);
        schema.indexes = vec![IndexSchema { name: "email".into(), columns: vec![2], kind, unique: true }];
        let table: VersionTable<Number> = VersionTable::new(TableId(0), schema, &collector, 1);
        let cases = [
            ("ann", 1, Some("a@x"), Ok(())),
            ("bob", 1, None, Ok(())),
            ("cat", 2, None, Ok(())),
            ("ann", 3, Some("b@x"), Err(Duplicate(IndexRef::Primary))),
            ("dan", 3, Some("a@x"), Err(Duplicate(IndexRef::Secondary(IndexId(0))))),
            ("dan", 3, Some("b@x"), Ok(())),
        ];
        within(&collector, |participant| {
            for (name, number, email, expected) in cases {
                let email = email.map_or(Value::Null, Value::text);
                let row = Row::from_values(table.layout(), &[Value::text(name), Value::Int4(number), email]);
                assert_eq!(table.load(participant.guard(), row.as_ref()), expected, "{name}");
            }
            let mut names = Vec::new();
            table.index_of(IndexRef::Primary).all(participant.guard(), |version| {
                names.push(version.row().text(0));
                ControlFlow::Continue(())
            });
            assert_eq!(names, ["ann", "bob", "cat", "dan"]);
            assert_eq!(table.row_count(), 4);
        });
    }
}

/// Links and unlinks at random, and compares every look-up and every walk with a map.
#[test]
fn a_growing_and_shrinking_table_is_what_a_map_is() {
    let collector = Collector::new();
    let table = numbers(&collector);
    let mut memory = VersionMemory::default();
    let mut map: BTreeMap<i64, Vec<VersionPtr<Number>>> = BTreeMap::new();
    let mut participant = collector.participant();
    for turn in 0..20_000_u64 {
        participant.enter();
        let guard = participant.guard();
        let mut garbage = Vec::new();
        let random = mix(turn);
        let key = (random % 4000) as i64;
        let versions = map.entry(key).or_default();
        // The table grows at first and shrinks later.
        if (random >> 32) % 100 < if turn < 12_000 { 70 } else { 20 } {
            let row = row_of(&table, [key, key % 10, -key]);
            let version = table.draft(&mut memory, number(turn), row.as_ref()).publish(guard);
            (0..4).for_each(|index| table.link(guard, index, version, None));
            versions.insert(0, version.ptr());
        } else if !versions.is_empty() {
            let gone = versions.remove((random >> 40) as usize % versions.len());
            // SAFETY: the version is linked, and so not retired.
            let version = unsafe { gone.deref(guard, table.format()) };
            table.unlink(guard, version, 4, &mut garbage);
            // SAFETY: the version was just unlinked from all four indexes.
            garbage.push(unsafe { table.garbage(vec![gone]) });
        }
        let columns = Key::Int(key);
        let found = table.primary().equal(guard, &columns, columns.hash64());
        assert_eq!(found.map(|version| version.ptr()).collect::<Vec<_>>(), *versions, "turn {turn}, key {key}");
        garbage.into_iter().for_each(|garbage| participant.retire(garbage));
        participant.leave();
    }
    map.retain(|_, versions| !versions.is_empty());
    participant.enter();
    let guard = participant.guard();
    let linked: usize = map.values().map(Vec::len).sum();
    assert_eq!(table.primary().len(), linked as u64);
    let walk = |index: &VersionIndex<Number>| {
        let mut found = Vec::new();
        index.all(guard, |version| {
            found.push((version.row().int8(0), version.ptr()));
            ControlFlow::Continue(())
        });
        found
    };
    let expected: Vec<_> = map.iter().flat_map(|(&key, found)| found.iter().map(move |&found| (key, found))).collect();
    assert_eq!(walk(table.index_of(IndexRef::Primary)), expected, "in order");
    let sorted = |mut found: Vec<(i64, VersionPtr<Number>)>| {
        found.sort_unstable();
        found
    };
    assert_eq!(sorted(walk(table.primary())), sorted(expected));
    let mut anchors = Vec::new();
    let ordered = table.index_of(IndexRef::Secondary(IndexId(1)));
    ordered.collect(guard, Bound::Unbounded, true, 3, &mut anchors);
    let firsts = anchors.iter().map(|anchor| anchor.first().map(|version| version.row().int8(2)));
    let least: Vec<_> = map.keys().take(3).map(|&key| Some(-key)).collect();
    assert_eq!(firsts.collect::<Vec<_>>(), least, "the greatest of the negatives, backwards");
}

#[test]
fn there_are_about_as_many_buckets_as_versions() {
    let collector = Collector::new();
    let schema = TableSchema { ordered: false, ..TableSchema::new("t", vec![Column::new("id", Type::Int8)], &[0]) };
    let table: VersionTable<Number> = VersionTable::new(TableId(0), schema, &collector, 1);
    within(&collector, |participant| {
        let mut row = Row::new(table.layout());
        for key in 1..=10_000 {
            row.change(|row| row.set_int8(0, key));
            table.load(participant.guard(), row.as_ref()).expect("keys are different");
            let buckets = table.primary().bytes(participant.guard()) / size_of::<u64>();
            // A thread checks every 64 links whether there are enough buckets.
            assert!(
                (key as usize - 64.min(key as usize)..=2 * key as usize + 64).contains(&buckets),
                "{key}: {buckets}"
            );
        }
    });
}

/// The integer key with a given hash: both steps of [`mix`] undone.
fn key_of_hash(hash: u64) -> i64 {
    let undo = |word: u64, inverse: u64| (word ^ word >> 33).wrapping_mul(inverse);
    let word = undo(undo(hash, 0x9CB4_B2F8_1293_37DB), 0x4F74_430C_22A5_4005);
    let key = (word ^ word >> 33 ^ 0x9E37_79B9_7F4A_7C15) as i64;
    assert_eq!(Key::Int(key).hash64(), hash);
    key
}

/// A bucket comes before the versions whose hash is the bucket's number, although they were there before it.
#[test]
fn a_hash_that_is_a_buckets_number_is_behind_the_bucket() {
    let collector = Collector::new();
    let table = numbers(&collector);
    within(&collector, |participant| {
        let load = |key| {
            let row = row_of(&table, [key, key, key]);
            table.load(participant.guard(), row.as_ref()).expect("keys are different");
        };
        // Buckets 200 and 201 come with the second doubling.
        [200, 201].into_iter().map(key_of_hash).for_each(load);
        (0..2000).for_each(load);
        for hash in [200, 201] {
            assert_eq!(equal(&table, participant, 0, key_of_hash(hash)).len(), 1, "hash {hash}");
        }
    });
}

#[test]
fn a_cache_does_not_keep_a_dropped_table() {
    let collector = Collector::new();
    let mut memory = VersionMemory::default();
    for _ in 0..3 {
        let table = numbers(&collector);
        drop(table.draft(&mut memory, number(0), row_of(&table, [1, 2, 3]).as_ref()));
        let slots = table.weak_slots();
        drop(table);
        assert_eq!(slots.strong_count(), 0);
    }
}

/// Some threads replace the versions of a few rows while others look them up and walk. A row has at least one version
/// at any time, and a version that is found belongs to its row.
#[test]
fn rows_with_a_version_at_all_times_are_always_found() {
    const ROWS: i64 = 300;
    let collector = Collector::new();
    let table = Arc::new(numbers(&collector));
    within(&collector, |participant| {
        for key in 0..ROWS {
            let row = row_of(&table, [key, key, key]);
            table.load(participant.guard(), row.as_ref()).expect("keys are different");
        }
    });
    let writer = |mine: i64| {
        let (table, collector) = (table.clone(), collector.clone());
        move || {
            let (mut participant, mut memory) = (collector.participant(), VersionMemory::default());
            for turn in 0..20_000_u64 {
                participant.enter();
                let guard = participant.guard();
                let key = Key::Int((mix(turn) % ROWS as u64) as i64 / 2 * 2 + mine);
                let old = table.primary().equal(guard, &key, key.hash64()).next().expect("the row has a version");
                // Rows that no thread looks for make the table grow.
                let extra = turn.is_multiple_of(8).then(|| row_of(&table, [ROWS * 2 + turn as i64 * 2 + mine, -1, -1]));
                let (new, ()) = table
                    .draft_of(&mut memory, number(turn), old.row(), |_| Ok::<_, ()>(()))
                    .expect("nothing can go wrong");
                let new = new.publish(guard);
                (0..4).for_each(|index| table.link(guard, index, new, Some(old).filter(|_| turn % 2 == 0)));
                if let Some(extra) = extra {
                    table.load(guard, extra.as_ref()).expect("keys are different");
                }
                let mut garbage = Vec::new();
                table.unlink(guard, old, 4, &mut garbage);
                // SAFETY: the version was just unlinked from all four indexes.
                garbage.push(unsafe { table.garbage(vec![old.ptr()]) });
                garbage.into_iter().for_each(|garbage| participant.retire(garbage));
                participant.leave();
            }
        }
    };
    let reader = {
        let (table, collector) = (table.clone(), collector.clone());
        move || {
            let mut participant = collector.participant();
            for turn in 0..200 {
                participant.enter();
                for key in 0..ROWS {
                    for position in 0..4 {
                        let found = equal(&table, &participant, position, key);
                        assert!(!found.is_empty(), "row {key} in index {position}, turn {turn}");
                    }
                }
                for index in table.indexes() {
                    let mut seen = vec![false; ROWS as usize];
                    index.all(participant.guard(), |version| {
                        let key = version.row().int8(0);
                        seen.get_mut(key as usize).into_iter().for_each(|seen| *seen = true);
                        ControlFlow::Continue(())
                    });
                    assert!(seen.iter().all(|&seen| seen), "a walk of index {} missed a row", index.position());
                }
                participant.leave();
            }
        }
    };
    let threads = [thread::spawn(writer(0)), thread::spawn(writer(1)), thread::spawn(reader)];
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let extra = 20_000 / 8 * 2;
    assert_eq!(table.primary().len(), ROWS as u64 + extra, "nothing is left of what was replaced");
}
