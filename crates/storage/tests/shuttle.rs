//! Tries many random interleavings of models of reclamation and of the indexes, whose nodes and arrays are tiny here so
//! that they split and grow soon: `RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test -p
//! hotrow-storage --test shuttle --release`.
//!
//! `HOTROW_MODEL_ITERATIONS` sets the number of interleavings of each model. A failure prints the schedule, which
//! `shuttle::replay` repeats.
#![cfg(shuttle)]

use hotrow_storage::{
    Collector, Column, Database, Garbage, Guard, HashIndex, Key, KeyShape, OrderedIndex, Participant, RecordHeader,
    RecordRef, Row, Table, TableSchema, Type, mix,
};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, thread};
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::AtomicBool;

/// Tries a model with schedules of two kinds: equal chances at every step, and few switches at random places.
fn model(body: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("HOTROW_MODEL_ITERATIONS").ok();
    let iterations = iterations.map_or(1000, |text| text.parse().expect("HOTROW_MODEL_ITERATIONS is a number"));
    let body = Arc::new(body);
    let same = body.clone();
    shuttle::check_random(move || same(), iterations);
    shuttle::check_pct(move || body(), iterations, 3);
}

/// Runs all of `work` at the same time, each part with its own participant.
fn together(collector: &Arc<Collector>, work: Vec<Box<dyn FnOnce(&mut Participant) + Send>>) {
    let start = |work: Box<dyn FnOnce(&mut Participant) + Send>| {
        let mut participant = collector.participant();
        thread::spawn(move || work(&mut participant))
    };
    let threads: Vec<_> = work.into_iter().map(start).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

/// Runs `work` in an epoch.
fn within<T>(participant: &mut Participant, work: impl FnOnce(Guard<'_>) -> T) -> T {
    participant.enter();
    let result = work(participant.guard());
    participant.leave();
    result
}

/// Values of which one at a time is linked, and which record when they are freed.
struct Linked {
    present: AtomicUsize,
    freed: Vec<Arc<AtomicBool>>,
}

struct Value(Arc<AtomicBool>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Linked {
    fn new(values: usize) -> Arc<Self> {
        let freed = (0..values).map(|_| Arc::default()).collect();
        Arc::new(Self { present: AtomicUsize::new(0), freed })
    }

    /// Links another value instead of the present one, which becomes garbage.
    fn replace(&self, with: usize) -> Garbage {
        let unlinked = self.present.swap(with, Ordering::AcqRel);
        Garbage::boxed(Box::new(Value(self.freed[unlinked].clone())))
    }

    fn read(&self, participant: &mut Participant) {
        within(participant, |_| {
            let found = self.present.load(Ordering::Acquire);
            thread::yield_now();
            assert!(!self.freed[found].load(Ordering::Acquire), "value {found} was freed under a reader's eyes");
        });
    }
}

#[test]
fn garbage_outlives_its_readers() {
    model(|| {
        let collector = Collector::new();
        let linked = Linked::new(5);
        let (reading, retiring, deferring) = (linked.clone(), linked.clone(), linked.clone());
        let owner = collector.clone();
        let collecting = collector.clone();
        together(
            &collector,
            vec![
                Box::new(move |participant| (0..3).for_each(|_| reading.read(participant))),
                Box::new(move |participant| {
                    for value in [1, 2] {
                        within(participant, |_| ());
                        participant.retire(retiring.replace(value));
                        participant.collect();
                    }
                }),
                Box::new(move |_| [3, 4].into_iter().for_each(|value| owner.defer(deferring.replace(value)))),
                Box::new(move |_| (0..3).for_each(|_| collecting.collect())),
            ],
        );
        collector.collect();
        let present = linked.present.load(Ordering::Acquire);
        let freed = linked.freed.iter().filter(|freed| freed.load(Ordering::Acquire)).count();
        assert!(!linked.freed[present].load(Ordering::Acquire));
        assert_eq!(freed, 4, "what was unlinked is freed when all have left");
    });
}

/// In the models of the hash index a record is a number, and so is its key; `spread` selects the distribution of the
/// hashes.
fn address_of(record: usize) -> usize {
    (record + 1) * 8
}

fn hash_with(spread: u64, address: usize) -> u64 {
    mix(address as u64 / 8 - 1) & spread
}

/// The distributions of hashes: all bits differ; all hashes have one home; all hashes are equal.
const SPREADS: [u64; 3] = [u64::MAX, !0xFFFF_FFFF, 0];

fn insert(index: &HashIndex, guard: Guard<'_>, spread: u64, record: usize) {
    let address = address_of(record);
    index.insert(guard, hash_with(spread, address), address, |address| hash_with(spread, address));
}

fn finds(index: &HashIndex, guard: Guard<'_>, spread: u64, record: usize) -> bool {
    let address = address_of(record);
    index.get(guard, hash_with(spread, address), |found| found == address).is_some()
}

#[test]
fn a_look_up_never_misses_what_stays() {
    for spread in SPREADS {
        model(move || {
            let collector = Collector::new();
            let index = Arc::new(HashIndex::new(&collector, 0));
            let mut participant = collector.participant();
            within(&mut participant, |guard| (0..2).for_each(|record| insert(&index, guard, spread, record)));
            let writer = |first: usize, index: Arc<HashIndex>| {
                move |participant: &mut Participant| {
                    for record in first..first + 4 {
                        within(participant, |guard| {
                            insert(&index, guard, spread, record);
                            assert!(finds(&index, guard, spread, record), "just inserted");
                        });
                        within(participant, |guard| {
                            let address = address_of(record);
                            if record % 2 == 0 {
                                assert!(index.remove(guard, hash_with(spread, address), address));
                                assert!(!finds(&index, guard, spread, record), "just removed");
                            }
                        });
                    }
                }
            };
            let reading = index.clone();
            let reader = move |participant: &mut Participant| {
                for turn in 0..4 {
                    within(participant, |guard| {
                        assert!(finds(&reading, guard, spread, turn % 2), "missed {}", turn % 2)
                    });
                }
                within(participant, |guard| {
                    let mut seen = 0;
                    reading.entries(guard, |address| {
                        seen |= usize::from(address == address_of(0)) | usize::from(address == address_of(1)) << 1;
                        ControlFlow::Continue(())
                    });
                    assert_eq!(seen, 3, "a walk missed an entry");
                });
            };
            let writers = [writer(10, index.clone()), writer(20, index.clone())];
            let [one, two] = writers;
            together(&collector, vec![Box::new(one), Box::new(two), Box::new(reader)]);
            assert_eq!(index.len(), 6);
        });
    }
}

#[test]
fn of_two_equal_keys_one_gets_in() {
    model(|| {
        let collector = Collector::new();
        let index = Arc::new(HashIndex::new(&collector, 0));
        let won = Arc::new(AtomicUsize::new(0));
        let key = |address: usize| (address / 8 - 1) / 2;
        let hash = move |address: usize| mix(key(address) as u64);
        let work = |offset: usize| -> Box<dyn FnOnce(&mut Participant) + Send> {
            let (index, won) = (index.clone(), won.clone());
            Box::new(move |participant| {
                for turn in 0..4 {
                    within(participant, |guard| {
                        let address = address_of(turn * 2 + offset);
                        let matches = |other: usize| key(other) == turn;
                        let inserted = index.insert_unique(guard, hash(address), address, matches, hash);
                        won.fetch_add(usize::from(inserted.is_ok()), Ordering::AcqRel);
                        assert!(index.get(guard, hash(address), matches).is_some());
                    });
                }
            })
        };
        let both = vec![work(0), work(1)];
        together(&collector, both);
        assert_eq!((won.load(Ordering::Acquire), index.len()), (4, 4));
    });
}

/// The shapes of keys in the models of the ordered index: one for each number of words that a key may have.
const SHAPES: [KeyShape; 3] = [KeyShape::Int, KeyShape::Fixed(12), KeyShape::Bytes];

/// Returns a key of a shape: an integer, a short key, or a string that is too long for its words.
fn key_of(shape: KeyShape, number: usize) -> Key {
    match shape {
        KeyShape::Int => Key::Int(number as i64),
        KeyShape::Fixed(_) => Key::int4s([1, number as i32 / 20, number as i32]),
        KeyShape::Bytes => Key::from_bytes(&[&[b'k'; 24][..], &[number as u8]].concat()),
    }
}

#[test]
fn a_scan_never_misses_what_stays() {
    for shape in SHAPES {
        model(move || {
            let key = move |number| key_of(shape, number);
            let collector = Collector::new();
            let index = Arc::new(OrderedIndex::new(&collector, shape));
            let mut participant = collector.participant();
            for number in [10, 20, 30, 40] {
                within(&mut participant, |guard| index.insert(guard, &key(number), number)).expect("a new key");
            }
            let writer = |numbers: [usize; 4]| -> Box<dyn FnOnce(&mut Participant) + Send> {
                let index = index.clone();
                Box::new(move |participant| {
                    for number in numbers {
                        within(participant, |guard| {
                            assert_eq!(index.insert(guard, &key(number), number), Ok(()));
                            assert_eq!(index.get(guard, &key(number)), Some(number), "just inserted");
                        });
                    }
                    for number in numbers {
                        within(participant, |guard| {
                            assert_eq!(index.remove(guard, &key(number)), Some(number));
                            assert_eq!(index.get(guard, &key(number)), None, "just removed");
                        });
                    }
                })
            };
            let reading = index.clone();
            let reader = move |participant: &mut Participant| {
                for backward in [false, true] {
                    within(participant, |guard| {
                        let from = key(if backward { 30 } else { 20 });
                        let mut found = Vec::new();
                        reading.collect(guard, Bound::Included(&from), backward, usize::MAX, &mut found);
                        let in_order = |a: &Key, b: &Key| if backward { a > b } else { a < b };
                        assert!(found.windows(2).all(|pair| in_order(&pair[0].0, &pair[1].0)), "{found:?}");
                        let stayed: Vec<usize> =
                            found.iter().map(|entry| entry.1).filter(|number| number % 10 == 0).collect();
                        assert_eq!(stayed, if backward { [30, 20, 10] } else { [20, 30, 40] });
                    });
                    within(participant, |guard| assert_eq!(reading.get(guard, &key(20)), Some(20)));
                }
            };
            // One thread works between the keys that stay; the other makes leaves and then empties them.
            let work = vec![writer([12, 18, 24, 32]), writer([51, 52, 53, 54]), Box::new(reader)];
            together(&collector, work);
            assert_eq!(index.len(), 4);
        });
    }
}

#[test]
fn a_tree_that_is_emptied_and_filled_loses_nothing() {
    model(|| {
        let collector = Collector::new();
        let index = Arc::new(OrderedIndex::new(&collector, KeyShape::Int));
        let work = |offset: i64| -> Box<dyn FnOnce(&mut Participant) + Send> {
            let index = index.clone();
            Box::new(move |participant| {
                for round in 0..2 {
                    for number in 0..4 {
                        let key = Key::Int(number * 2 + offset);
                        within(participant, |guard| assert_eq!(index.insert(guard, &key, round), Ok(())));
                    }
                    for number in (0..4).rev() {
                        let key = Key::Int(number * 2 + offset);
                        within(participant, |guard| assert_eq!(index.remove(guard, &key), Some(round)));
                    }
                }
            })
        };
        let both = vec![work(0), work(1)];
        together(&collector, both);
        assert!(index.is_empty());
    });
}

/// The number of references to a record; [`DEAD`] once it is being unlinked.
#[derive(Default)]
struct Count(AtomicUsize);

impl RecordHeader for Count {
    type Index = ();
}

const DEAD: usize = usize::MAX;

const KEY: Key = Key::Int(7);

/// Takes a reference to the key's record, which is made if there is none, and drops it again. The last holder of a
/// reference unlinks the record, and returns it.
fn count_on(table: &Table<Count>, guard: Guard<'_>) -> Option<Garbage> {
    let hash = KEY.hash64();
    let record = loop {
        let found = table.find(guard, &KEY, hash).unwrap_or_else(|| {
            let made = table.create(guard, &KEY, Row::new(table.layout()).as_ref());
            match table.link(guard, &KEY, hash, made) {
                Ok(()) => made,
                Err(other) => {
                    drop(table.garbage(made));
                    other
                }
            }
        });
        // A dead record cannot be referenced.
        let one_more = |count: usize| count.checked_add(1);
        if found.header().0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok() {
            break found;
        }
        thread::yield_now();
    };
    let is_it = |other: Option<RecordRef<'_, Count>>| other.is_some_and(|other| other.ptr() == record.ptr());
    assert!(is_it(table.next(guard, Bound::Included(&KEY))), "it is in the ordered index");
    assert!(is_it(table.find(guard, &KEY, hash)), "it is in the hash index");
    let one_less = |count| Some(if count == 1 { DEAD } else { count - 1 });
    let last = record.header().0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less) == Ok(1);
    last.then(|| {
        table.unlink(guard, record);
        table.garbage(record)
    })
}

/// Threads link, find and unlink records of one key, as protocols do that count references to absent rows.
#[test]
fn who_finds_a_record_by_its_key_finds_it_in_both_indexes() {
    model(|| {
        let database = Database::<Count>::new();
        let columns = vec![Column::new("id", Type::Int8)];
        let id = database.create_table(TableSchema::new("t", columns, &[0]));
        let work = || -> thread::JoinHandle<()> {
            let database = database.clone();
            thread::spawn(move || {
                let mut participant = database.participant();
                for _ in 0..2 {
                    participant.enter();
                    let table = database.table(participant.guard(), id).expect("it is not dropped");
                    if let Some(garbage) = count_on(table, participant.guard()) {
                        participant.retire(garbage);
                    }
                    participant.leave();
                }
            })
        };
        let threads: Vec<_> = (0..3).map(|_| work()).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let mut participant = database.participant();
        within(&mut participant, |guard| assert!(database.table(guard, id).is_some_and(Table::is_empty)));
    });
}
