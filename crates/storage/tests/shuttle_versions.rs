//! Tries many random interleavings of models of tables of versions, whose hash index begins with two buckets here and
//! doubles soon: `RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test -p hotrow-storage --test
//! shuttle_versions --release`.
//!
//! `HOTROW_MODEL_ITERATIONS` sets the number of interleavings of each model. A failure prints the schedule, which
//! `shuttle::replay` repeats.
#![cfg(shuttle)]

use hotrow_storage::{
    Collector, Column, Garbage, Guard, Key, Participant, Row, StoredTable, TableId, TableSchema, Tables, Type, Value,
    VersionHeader, VersionMemory, VersionPtr, VersionRef, VersionTable,
};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, thread};
use std::ops::ControlFlow;

/// The number of a version, which shows whether its memory was given to another version.
#[derive(Debug, PartialEq, Eq)]
struct Number(u64);

impl VersionHeader for Number {
    type Index = ();

    fn loaded() -> Self {
        Self(0)
    }
}

type Table = VersionTable<Number>;

/// Tries a model with schedules of two kinds: equal chances at every step, and few switches at random places.
fn model(body: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("HOTROW_MODEL_ITERATIONS").ok();
    let iterations = iterations.map_or(1000, |text| text.parse().expect("HOTROW_MODEL_ITERATIONS is a number"));
    let body = Arc::new(body);
    let same = body.clone();
    shuttle::check_random(move || same(), iterations);
    shuttle::check_pct(move || body(), iterations, 3);
}

/// A thread of a model.
struct Actor {
    table: Arc<Table>,
    participant: Participant,
    memory: VersionMemory,
}

impl Actor {
    /// Runs `work` in an epoch, retires what it returns, and frees what can be freed.
    fn within(&mut self, work: impl FnOnce(&Table, Guard<'_>, &mut VersionMemory) -> Vec<Garbage>) {
        self.participant.enter();
        let garbage = work(&self.table, self.participant.guard(), &mut self.memory);
        self.participant.retire_all(garbage);
        self.participant.leave();
        self.participant.collect();
    }
}

type Work = Box<dyn FnOnce(&mut Actor) + Send>;

/// Runs all of `work` at the same time on a table that `prepare` has filled.
fn together(ordered: bool, prepare: impl FnOnce(&mut Actor), work: Vec<Work>) -> Actor {
    let collector = Collector::new();
    let mut schema = TableSchema::new("t", vec![Column::new("id", Type::Int8), Column::new("n", Type::Int8)], &[0]);
    schema.ordered = ordered;
    let table = Arc::new(Table::new(TableId(0), schema, &collector, 1));
    let actor =
        || Actor { table: table.clone(), participant: collector.participant(), memory: VersionMemory::default() };
    let mut main = actor();
    prepare(&mut main);
    let start = |work: Work| {
        let mut actor = actor();
        thread::spawn(move || work(&mut actor))
    };
    let threads: Vec<_> = work.into_iter().map(start).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    main
}

/// Links a version of a row into all indexes.
fn link<'g>(
    table: &'g Table,
    guard: Guard<'g>,
    memory: &mut VersionMemory,
    (key, number): (i64, u64),
    near: Option<VersionRef<'_, Number>>,
) -> VersionRef<'g, Number> {
    let row = Row::from_values(table.layout(), &[Value::Int8(key), Value::Int8(number as i64)]);
    let version = table.draft(memory, Number(number), row.as_ref()).publish(guard);
    (0..table.indexes().len()).for_each(|index| table.link(guard, index, version, near));
    version
}

fn unlink(table: &Table, guard: Guard<'_>, version: VersionRef<'_, Number>) -> Vec<Garbage> {
    let mut garbage = Vec::new();
    table.unlink(guard, version, table.indexes().len(), &mut garbage);
    // SAFETY: the version was just unlinked from all indexes.
    garbage.push(unsafe { table.garbage(vec![version.ptr()]) });
    garbage
}

/// The numbers of the versions of a key in each index. Each is read twice: its memory must not change.
fn numbers(table: &Table, guard: Guard<'_>, key: i64) -> Vec<Vec<u64>> {
    let columns = Key::Int(key);
    let look = |version: VersionRef<'_, Number>| {
        let number = version.header().0;
        thread::yield_now();
        let row = version.row();
        assert_eq!(
            (version.header().0, row.int8(0), row.int8(1)),
            (number, key, number as i64),
            "freed under our eyes"
        );
        number
    };
    table.indexes().iter().map(|index| index.equal(guard, &columns, columns.hash64()).map(look).collect()).collect()
}

fn walk(table: &Table, guard: Guard<'_>) -> Vec<Vec<(i64, VersionPtr<Number>)>> {
    let walk = |index: &hotrow_storage::VersionIndex<Number>| {
        let mut found = Vec::new();
        index.all(guard, |version| {
            found.push((version.row().int8(0), version.ptr()));
            ControlFlow::Continue(())
        });
        found
    };
    table.indexes().iter().map(walk).collect()
}

/// Replaces the version of a row, again and again: the row has a version at any time.
fn replace(key: i64, first: u64, near: bool) -> Work {
    Box::new(move |actor| {
        for number in first..first + 3 {
            actor.within(|table, guard, memory| {
                let columns = Key::Int(key);
                let old = table.primary().equal(guard, &columns, columns.hash64()).next().expect("there is one");
                link(table, guard, memory, (key, number), Some(old).filter(|_| near));
                unlink(table, guard, old)
            });
        }
    })
}

/// Links rows that make the table grow, and unlinks every other one.
fn grow(keys: std::ops::Range<i64>) -> Work {
    Box::new(move |actor| {
        for key in keys {
            actor.within(|table, guard, memory| {
                let version = link(table, guard, memory, (key, 1), None);
                assert!(numbers(table, guard, key).iter().all(|numbers| *numbers == [1]), "just linked");
                if key % 2 != 0 {
                    return Vec::new();
                }
                let garbage = unlink(table, guard, version);
                assert!(numbers(table, guard, key).iter().all(Vec::is_empty), "just unlinked");
                garbage
            });
        }
    })
}

#[test]
fn what_is_linked_throughout_is_found_while_buckets_double() {
    for ordered in [false, true] {
        model(move || {
            let prepare = |actor: &mut Actor| {
                actor.within(|table, guard, memory| {
                    for key in 0..3 {
                        link(table, guard, memory, (key, 7), None);
                    }
                    Vec::new()
                });
            };
            let reader: Work = Box::new(|actor| {
                for turn in 0..3 {
                    actor.within(|table, guard, _| {
                        assert!(numbers(table, guard, turn).iter().all(|numbers| *numbers == [7]), "missed {turn}");
                        Vec::new()
                    });
                }
                actor.within(|table, guard, _| {
                    for mut found in walk(table, guard) {
                        let stayed = found.iter().filter(|(key, _)| *key < 3).count();
                        assert_eq!(stayed, 3, "a walk meets each once");
                        found.sort_unstable();
                        assert!(found.windows(2).all(|pair| pair[0] != pair[1]), "and none twice");
                    }
                    Vec::new()
                });
            });
            let mut main = together(ordered, prepare, vec![grow(10..14), grow(20..24), reader]);
            main.within(|table, guard, _| {
                for found in walk(table, guard) {
                    assert_eq!(found.len(), 7);
                }
                assert_eq!(table.primary().len(), 7);
                Vec::new()
            });
        });
    }
}

#[test]
fn a_row_that_has_a_version_at_all_times_is_found_and_its_memory_kept() {
    for (ordered, near) in [(false, false), (true, false), (true, true)] {
        model(move || {
            let prepare = |actor: &mut Actor| {
                actor.within(|table, guard, memory| {
                    for key in 0..2 {
                        link(table, guard, memory, (key, 7), None);
                    }
                    Vec::new()
                });
            };
            let reader: Work = Box::new(|actor| {
                for turn in 0..4 {
                    actor.within(|table, guard, _| {
                        for found in numbers(table, guard, turn % 2) {
                            assert!(!found.is_empty(), "row {}", turn % 2);
                            assert!(
                                found.windows(2).all(|pair| pair[0] > pair[1] || pair[1] == 7),
                                "newest first: {found:?}"
                            );
                        }
                        Vec::new()
                    });
                }
            });
            let mut main = together(ordered, prepare, vec![replace(0, 10, near), replace(1, 20, near), reader]);
            main.within(|table, guard, _| {
                for (key, last) in [(0, 12), (1, 22)] {
                    assert!(numbers(table, guard, key).iter().all(|numbers| *numbers == [last]));
                }
                Vec::new()
            });
        });
    }
}

/// Versions of one key are linked and unlinked, so that its anchor is made and removed.
#[test]
fn a_key_that_loses_its_last_version_goes_and_can_come_again() {
    model(|| {
        let come_and_go = |first: u64| -> Work {
            Box::new(move |actor| {
                for number in first..first + 3 {
                    actor.within(|table, guard, memory| {
                        let version = link(table, guard, memory, (7, number), None);
                        let found = numbers(table, guard, 7);
                        assert!(found.iter().all(|found| found.contains(&number)), "{number} of {found:?}");
                        let garbage = unlink(table, guard, version);
                        let found = numbers(table, guard, 7);
                        assert!(found.iter().all(|found| !found.contains(&number)), "{number} of {found:?}");
                        garbage
                    });
                }
            })
        };
        let mut main = together(true, |_| (), vec![come_and_go(10), come_and_go(20), come_and_go(30)]);
        main.within(|table, guard, _| {
            assert!(walk(table, guard).iter().all(Vec::is_empty));
            assert!(table.indexes().iter().all(hotrow_storage::VersionIndex::is_empty), "no anchor is left");
            Vec::new()
        });
    });
}

/// A version is unlinked while other threads have found it and link versions of its key beside it. These are linked all
/// the same, under a new key if need be.
#[test]
fn a_version_is_linked_beside_one_that_goes() {
    for ordered in [false, true] {
        model(move || {
            let prepare = |actor: &mut Actor| {
                actor.within(|table, guard, memory| {
                    link(table, guard, memory, (5, 1), None);
                    Vec::new()
                });
            };
            let go: Work = Box::new(move |actor| {
                actor.within(|table, guard, _| {
                    let columns = Key::Int(5);
                    let first = table.primary().equal(guard, &columns, columns.hash64());
                    let first = first.filter(|version| version.header().0 == 1).last().expect("nobody else unlinks it");
                    let garbage = unlink(table, guard, first);
                    assert!(numbers(table, guard, 5).iter().all(|found| !found.contains(&1)), "just unlinked");
                    garbage
                });
            });
            let beside = |number: u64| -> Work {
                Box::new(move |actor| {
                    actor.within(|table, guard, memory| {
                        let columns = Key::Int(5);
                        let mut equal = table.primary().equal(guard, &columns, columns.hash64());
                        // Not the version of another thread, which may not be in all indexes yet.
                        let near = equal.find(|version| version.header().0 == 1);
                        thread::yield_now();
                        let version = link(table, guard, memory, (5, number), near);
                        let found = numbers(table, guard, 5);
                        assert!(found.iter().all(|found| found.contains(&number)), "{number} of {found:?}");
                        if number == 2 { unlink(table, guard, version) } else { Vec::new() }
                    });
                })
            };
            let mut main = together(ordered, prepare, vec![go, beside(2), beside(3)]);
            main.within(|table, guard, _| {
                assert!(numbers(table, guard, 5).iter().all(|found| *found == [3]));
                Vec::new()
            });
        });
    }
}

/// If two threads link versions of a key and then look, at least one of them sees the other's version: in front of its
/// own, or behind it.
#[test]
fn of_two_who_link_and_look_one_sees_the_other() {
    model(|| {
        let sights = Arc::new(AtomicUsize::new(0));
        let link_and_look = |number: u64| -> Work {
            let sights = sights.clone();
            Box::new(move |actor| {
                actor.within(|table, guard, memory| {
                    let version = link(table, guard, memory, (5, number), None);
                    let (columns, index) = (Key::Int(5), table.primary());
                    let behind = index.behind(guard, version, &columns, columns.hash64()).count();
                    let all = index.equal(guard, &columns, columns.hash64());
                    let in_front = all.take_while(|other| other.ptr() != version.ptr()).count();
                    sights.fetch_add(behind + in_front, Ordering::AcqRel);
                    Vec::new()
                });
            })
        };
        // The table doubles meanwhile.
        together(true, |_| (), vec![link_and_look(1), link_and_look(2), grow(10..13)]);
        assert!(sights.load(Ordering::Acquire) >= 1);
    });
}

/// A table is dropped while one thread reads it, and others hold versions of it as garbage, and free slots of it. The
/// reader still reads what was there, and the memory is freed with the last of them.
#[test]
fn a_dropped_table_is_there_for_those_who_read_it() {
    for text in [false, true] {
        model(move || {
            let database = Tables::<Table>::new();
            let kind = if text { Type::Text } else { Type::Int8 };
            let mut schema = TableSchema::new("t", vec![Column::new("id", Type::Int8), Column::new("n", kind)], &[0]);
            schema.ordered = true;
            let id = database.create_table(schema);
            let row = move |table: &Table, key: i64| {
                let value = if text { Value::text("some text of its own") } else { Value::Int8(key) };
                Row::from_values(table.layout(), &[Value::Int8(key), value])
            };
            let mut participant = database.participant();
            participant.enter();
            for key in 0..3 {
                let loaded = row(database.table(participant.guard(), id).expect("it was made"), key);
                database.load(participant.guard(), id, loaded.as_ref()).expect("the keys differ");
            }
            participant.leave();
            let (dropping, reading, writing) = (database.clone(), database.clone(), database);
            let work: Vec<Box<dyn FnOnce() + Send>> = vec![
                Box::new(move || dropping.drop_table(id)),
                Box::new(move || {
                    let mut participant = reading.participant();
                    participant.enter();
                    if let Some(table) = reading.table(participant.guard(), id) {
                        for mut found in walk(table, participant.guard()) {
                            found.sort_unstable();
                            found.dedup_by_key(|(key, _)| *key);
                            assert_eq!(found.len(), 3);
                        }
                    }
                    participant.leave();
                }),
                Box::new(move || {
                    let (mut participant, mut memory) = (writing.participant(), VersionMemory::default());
                    participant.enter();
                    let mut garbage = Vec::new();
                    if let Some(table) = writing.table(participant.guard(), id) {
                        let (guard, columns) = (participant.guard(), Key::Int(1));
                        let old =
                            table.primary().equal(guard, &columns, columns.hash64()).next().expect("it was loaded");
                        let new = row(table, 1);
                        let new = table.draft(&mut memory, Number(9), new.as_ref()).publish(guard);
                        (0..2).for_each(|index| table.link(guard, index, new, Some(old)));
                        garbage = unlink(table, guard, old);
                    }
                    participant.retire_all(garbage);
                    participant.leave();
                    participant.collect();
                }),
            ];
            let threads: Vec<_> = work.into_iter().map(thread::spawn).collect();
            threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        });
    }
}
