//! Tests the index against a model, and with several threads.

use super::*;
use crate::epoch::Participant;
use crate::mix;
use hotrow_sync::thread;
use std::collections::{BTreeMap, BTreeSet};

/// Records of the tests are numbers; a number's address is never followed.
fn address_of(record: usize) -> usize {
    (record + 1) * 8
}

fn record_at(address: usize) -> usize {
    address / 8 - 1
}

fn entered(collector: &Arc<Collector>) -> Participant {
    let mut participant = collector.participant();
    participant.enter();
    participant
}

/// A generator of test inputs: equal seeds give equal inputs.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) % bound as u64) as usize
    }
}

/// A distribution of keys and hashes that the index must cope with.
struct Case {
    name: &'static str,
    records: usize,
    keys: usize,
    hash: fn(usize) -> u64,
}

const CASES: [Case; 6] = [
    Case { name: "good hashes", records: 4000, keys: 4000, hash: |key| mix(key as u64) },
    Case { name: "many records to a key", records: 2000, keys: 40, hash: |key| mix(key as u64) },
    Case { name: "one shard", records: 3000, keys: 3000, hash: |key| mix(key as u64) >> 6 },
    Case { name: "one tag", records: 3000, keys: 3000, hash: |key| mix(key as u64) & !(0xFFFF << 42) },
    Case { name: "one home", records: 300, keys: 300, hash: |key| mix(key as u64) & (0xFFFF << 42) },
    Case { name: "one hash", records: 200, keys: 200, hash: |_| 0 },
];

/// An index beside the records that should be in it, by key.
struct Checked<'a> {
    case: &'a Case,
    index: HashIndex,
    participant: Participant,
    model: BTreeMap<usize, BTreeSet<usize>>,
}

impl<'a> Checked<'a> {
    fn new(case: &'a Case, capacity_hint: usize) -> Self {
        let collector = Collector::new();
        let index = HashIndex::new(&collector, capacity_hint);
        Self { case, index, participant: entered(&collector), model: BTreeMap::new() }
    }

    fn key(&self, address: usize) -> usize {
        record_at(address) % self.case.keys
    }

    fn hash(&self, key: usize) -> u64 {
        (self.case.hash)(key)
    }

    fn insert(&mut self, record: usize) {
        let (key, guard) = (self.key(address_of(record)), self.participant.guard());
        if self.model.entry(key).or_default().insert(record) {
            self.index.insert(guard, self.hash(key), address_of(record), |address| self.hash(self.key(address)));
        }
    }

    fn insert_unique(&mut self, record: usize) {
        let (key, guard) = (self.key(address_of(record)), self.participant.guard());
        let matches = |address| self.key(address) == key;
        let hash_of = |address| self.hash(self.key(address));
        let inserted = self.index.insert_unique(guard, self.hash(key), address_of(record), matches, hash_of);
        let records = self.model.entry(key).or_default();
        match inserted {
            Ok(()) => assert!(records.is_empty(), "{}: {record} next to {records:?}", self.case.name),
            Err(existing) => assert!(records.contains(&record_at(existing)), "{}: {existing}", self.case.name),
        }
        if inserted.is_ok() {
            records.insert(record);
        }
    }

    fn remove(&mut self, record: usize) {
        let key = self.key(address_of(record));
        let expected = self.model.entry(key).or_default().remove(&record);
        let removed = self.index.remove(self.participant.guard(), self.hash(key), address_of(record));
        assert_eq!(removed, expected, "{}: removing {record}", self.case.name);
    }

    fn look_up(&self, key: usize) {
        let (name, guard) = (self.case.name, self.participant.guard());
        let expected = self.model.get(&key).cloned().unwrap_or_default();
        let found = self.index.get(guard, self.hash(key), |address| self.key(address) == key);
        assert_eq!(found.is_some(), !expected.is_empty(), "{name}: getting {key}");
        assert!(found.is_none_or(|address| expected.contains(&record_at(address))), "{name}: got {found:?} for {key}");
        self.index.prefetch_slot(guard, self.hash(key));
        assert!(expected.is_empty() || self.index.target(guard, self.hash(key)).is_some(), "{name}: nothing for {key}");

        let mut all = Vec::new();
        self.index.for_each(guard, self.hash(key), |address| {
            all.extend((self.key(address) == key).then_some(record_at(address)));
            ControlFlow::Continue(())
        });
        all.sort_unstable();
        assert!(all.iter().eq(&expected), "{name}: all of {key} are {all:?}, not {expected:?}");
    }

    fn look_at_everything(&self) {
        let mut all = Vec::new();
        self.index.entries(self.participant.guard(), |address| {
            all.push(record_at(address));
            ControlFlow::Continue(())
        });
        all.sort_unstable();
        let mut expected: Vec<usize> = self.model.values().flatten().copied().collect();
        expected.sort_unstable();
        assert_eq!(all, expected, "{}", self.case.name);
        assert_eq!(self.index.len(), expected.len(), "{}", self.case.name);
        assert_eq!(self.index.is_empty(), expected.is_empty(), "{}", self.case.name);
    }
}

#[test]
fn the_index_agrees_with_a_model() {
    for (seed, case) in CASES.iter().enumerate() {
        for capacity_hint in [0, case.records] {
            let mut checked = Checked::new(case, capacity_hint);
            let mut random = Random(seed as u64);
            // Removals dominate in some phases, so that tombstones accumulate and arrays are replaced by smaller ones.
            for removals_in_eight in [1, 6, 3, 7, 2] {
                for _ in 0..case.records * 2 {
                    let record = random.below(case.records);
                    match random.below(8) {
                        roll if roll < removals_in_eight => checked.remove(record),
                        roll if roll % 2 == 0 => checked.insert(record),
                        _ => checked.insert_unique(record),
                    }
                    checked.look_up(random.below(case.keys));
                }
                checked.look_at_everything();
            }
        }
    }
}

#[test]
fn a_table_of_the_size_it_was_made_for_does_not_grow() {
    let collector = Collector::new();
    let participant = entered(&collector);
    let hash_of = |address| mix(record_at(address) as u64);
    for records in [1000, 10_000, 100_000] {
        let index = HashIndex::new(&collector, records);
        let before = index.bytes();
        for record in 0..records {
            index.insert(participant.guard(), mix(record as u64), address_of(record), hash_of);
        }
        assert!(index.bytes() <= before * 2, "{before} bytes became {}", index.bytes());
        assert!(before <= records * 64 + 64 * 64, "{before} bytes for {records} records");
    }
}

#[test]
fn a_queue_leaves_no_trail() {
    let collector = Collector::new();
    let mut participant = collector.participant();
    let index = HashIndex::new(&collector, 0);
    let hash_of = |address| mix(record_at(address) as u64);
    let mut bytes = 0;
    for record in 0..200_000 {
        participant.enter();
        index.insert(participant.guard(), mix(record as u64), address_of(record), hash_of);
        if let Some(oldest) = record.checked_sub(1000) {
            assert!(index.remove(participant.guard(), mix(oldest as u64), address_of(oldest)));
        }
        participant.leave();
        if record == 2000 {
            bytes = index.bytes();
        }
    }
    assert_eq!(index.len(), 1000);
    assert!(index.bytes() <= bytes * 2, "{bytes} bytes became {}", index.bytes());
}

#[test]
fn visits_end_when_told() {
    let mut checked = Checked::new(&CASES[5], 0);
    (0..50).for_each(|record| checked.insert(record));
    let mut visits = 0;
    let mut three = |_| {
        visits += 1;
        if visits % 3 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    checked.index.for_each(checked.participant.guard(), 0, &mut three);
    checked.index.entries(checked.participant.guard(), &mut three);
    assert_eq!(visits, 6);
}

const THREADS: usize = 4;
const PER_THREAD: usize = 4000;

#[test]
fn threads_never_miss_what_nobody_touches() {
    let collector = Collector::new();
    let index = HashIndex::new(&collector, 0);
    // Half the hashes share a few homes, so that lines overflow and tombstones appear.
    let hash = |record: usize| if record.is_multiple_of(2) { mix(record as u64) } else { mix(record as u64) & !0xFF8 };
    let hash_of = |address| hash(record_at(address));
    let participant = entered(&collector);
    let untouched = || 0..1000_usize;
    untouched().for_each(|record| index.insert(participant.guard(), hash(record), address_of(record), hash_of));
    drop(participant);

    let work = |thread: usize| {
        let mut participant = collector.participant();
        let own = |turn: usize| 1000 + turn * THREADS + thread;
        for turn in 0..PER_THREAD {
            participant.enter();
            let guard = participant.guard();
            let find = |record: usize| index.get(guard, hash(record), |address| address == address_of(record));
            index.insert(guard, hash(own(turn)), address_of(own(turn)), hash_of);
            assert!(find(own(turn)).is_some(), "own record {turn} just inserted");
            if let Some(earlier) = turn.checked_sub(50) {
                assert!(index.remove(guard, hash(own(earlier)), address_of(own(earlier))), "own record {earlier}");
                assert!(find(own(earlier)).is_none(), "own record {earlier} just removed");
            }
            let record = mix(turn as u64) as usize % 1000;
            assert!(find(record).is_some(), "record {record} that nobody touches");
            participant.leave();
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|thread| drop(scope.spawn(move || work(thread)))));

    let participant = entered(&collector);
    let mut left = BTreeSet::new();
    index.entries(participant.guard(), |address| {
        assert!(left.insert(record_at(address)), "twice");
        ControlFlow::Continue(())
    });
    assert!(untouched().all(|record| left.contains(&record)));
    assert_eq!(left.len(), 1000 + THREADS * 50);
    assert_eq!(index.len(), left.len());
}

#[test]
fn of_threads_that_insert_one_key_one_wins() {
    let collector = Collector::new();
    let index = HashIndex::new(&collector, 0);
    let key = |address: usize| record_at(address) / THREADS;
    let hash_of = |address: usize| mix(key(address) as u64);
    let work = |thread: usize| {
        let mut participant = collector.participant();
        let mut won = 0;
        for turn in 0..PER_THREAD {
            participant.enter();
            let address = address_of(turn * THREADS + thread);
            let matches = |other: usize| key(other) == turn;
            let inserted = index.insert_unique(participant.guard(), mix(turn as u64), address, matches, hash_of);
            won += usize::from(inserted.is_ok());
            assert!(inserted.err().is_none_or(|winner| key(winner) == turn));
            assert!(index.get(participant.guard(), mix(turn as u64), matches).is_some());
            participant.leave();
        }
        won
    };
    let won: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(won, PER_THREAD);
    assert_eq!(index.len(), PER_THREAD);
}
