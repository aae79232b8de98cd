//! Tests the index against a model, and with several threads.

use super::*;
use crate::epoch::Participant;
use crate::mix;
use hotrow_sync::thread;
use std::collections::BTreeMap;

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

/// A rule that makes the keys of a test from numbers, all of one shape. Different numbers make different keys.
struct Case {
    name: &'static str,
    shape: KeyShape,
    key: fn(usize) -> Key,
}

/// Returns an `integer` for each number: a few small ones around zero, and for each of them one at either end of the
/// range.
fn extreme(number: usize) -> i32 {
    let step = (number / 3) as i32;
    match number % 3 {
        0 => i32::MIN + step,
        1 => step - 2,
        _ => i32::MAX - step,
    }
}

const CASES: [Case; 11] = [
    Case { name: "dense integers", shape: KeyShape::Int, key: |number| Key::Int(number as i64 - 1000) },
    Case { name: "scattered integers", shape: KeyShape::Int, key: |number| Key::Int(mix(number as u64) as i64) },
    Case {
        name: "short strings",
        shape: KeyShape::Bytes,
        key: |number| Key::from_bytes(number.to_string().as_bytes()),
    },
    Case {
        name: "strings of all lengths up to 47 bytes",
        shape: KeyShape::Bytes,
        key: |number| Key::from_bytes(&[vec![b'x'; number % 40], number.to_string().into_bytes()].concat()),
    },
    Case {
        name: "long strings with a long common prefix",
        shape: KeyShape::Bytes,
        key: |number| Key::from_bytes(&[&[0; 30], number.to_string().as_bytes()].concat()),
    },
    Case {
        name: "fixed strings that are too long for two words",
        shape: KeyShape::Fixed(20),
        key: |number| Key::int4s([0, extreme(number % 7), i32::MIN, i32::MAX, extreme(number)]),
    },
    Case {
        name: "two integers",
        shape: KeyShape::Fixed(8),
        key: |number| Key::int4s([extreme(number % 11), extreme(number / 11)]),
    },
    Case {
        name: "three integers",
        shape: KeyShape::Fixed(12),
        key: |number| Key::int4s([7, extreme(number % 11), extreme(number / 11)]),
    },
    Case {
        name: "four integers, with zeros at the end",
        shape: KeyShape::Fixed(16),
        key: |number| Key::int4s([extreme(number % 5), extreme(number / 5 % 5), extreme(number / 25), i32::MIN]),
    },
    Case {
        name: "three bytes",
        shape: KeyShape::Fixed(3),
        key: |number| Key::from_bytes(&[(number % 4) as u8 * 85, (number / 4) as u8, (number / 1024) as u8]),
    },
    Case {
        name: "nine bytes",
        shape: KeyShape::Fixed(9),
        key: |number| Key::from_bytes(&[&(number as u64 / 200).to_be_bytes()[..], &[(number % 200) as u8]].concat()),
    },
];

/// Returns a byte string from which a scan may begin: a prefix of `key`, a prefix with another last byte, or a longer
/// string that begins with `key`.
fn seek_like(random: &mut Random, key: &Key) -> Key {
    let Some(bytes) = key.bytes() else { return key.clone() };
    let mut seek = bytes[..random.below(bytes.len() + 1)].to_vec();
    match random.below(4) {
        0 => {}
        1 => seek.push([0, 1, 0x7F, 0x80, 0xFF][random.below(5)]),
        2 => seek = [bytes, &[[0, 1, 0xFF][random.below(3)]].repeat(random.below(20) + 1)].concat(),
        _ => {
            if let Some(last) = seek.last_mut() {
                *last = last.wrapping_add([1, 0xFF][random.below(2)]);
            }
        }
    }
    Key::from_bytes(&seek)
}

fn expected(model: &BTreeMap<Key, usize>, from: Bound<&Key>, backward: bool, limit: usize) -> Vec<(Key, usize)> {
    let own = |(key, &address): (&Key, &usize)| (key.clone(), address);
    if backward {
        model.range((Bound::Unbounded, from)).rev().take(limit).map(own).collect()
    } else {
        model.range((from, Bound::Unbounded)).take(limit).map(own).collect()
    }
}

fn check_scans(case: &Case, index: &OrderedIndex, guard: Guard<'_>, model: &BTreeMap<Key, usize>, key: &Key) {
    for from in [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded] {
        let next = expected(model, from, false, 1).first().map(|(_, address)| *address);
        assert_eq!(index.next(guard, from), next, "{}: next from {from:?}", case.name);
        for backward in [false, true] {
            for limit in [0, 1, 3, 200] {
                let mut found = Vec::new();
                index.collect(guard, from, backward, limit, &mut found);
                let expected = expected(model, from, backward, limit);
                assert_eq!(found, expected, "{}: {limit} from {from:?}, backward: {backward}", case.name);
            }
        }
    }
}

#[test]
fn runs_of_ascending_keys_fill_their_leaves() {
    const RUNS: usize = 10;
    const KEYS: usize = 5000;
    let collector = Collector::new();
    let tree: Tree<{ words::ONE }, ONE_ENTRIES> = Tree::new(&collector, KeyShape::Int);
    let participant = entered(&collector);
    // One key of each run in turn, as many threads do that append to their own parts of a table.
    for number in 0..KEYS {
        for run in 0..RUNS {
            let key = Key::Int((run * KEYS + number) as i64);
            let words = Words::of(&key, KeyShape::Int).expect("an integer");
            tree.insert(participant.guard(), &words, number + 1).expect("each key once");
        }
    }
    let full = RUNS * KEYS / ONE_ENTRIES;
    assert!(tree.leaves() < full * 11 / 10, "{} leaves for {full} full ones", tree.leaves());
}

#[test]
fn the_index_agrees_with_a_model() {
    for (seed, case) in CASES.iter().enumerate() {
        let collector = Collector::new();
        let index = OrderedIndex::new(&collector, case.shape);
        let mut participant = collector.participant();
        let mut model = BTreeMap::new();
        let mut random = Random(seed as u64);
        // Removals dominate in some phases, so that leaves become empty; the last phase empties the tree.
        for removals_in_eight in [1, 4, 7, 2, 8] {
            for turn in 0..6000 {
                participant.enter();
                let guard = participant.guard();
                let key = (case.key)(random.below(3000));
                if random.below(8) < removals_in_eight {
                    assert_eq!(index.remove(guard, &key), model.remove(&key), "{}: removing {key:?}", case.name);
                } else {
                    let inserted = index.insert(guard, &key, turn);
                    assert_eq!(inserted.err(), model.get(&key).copied(), "{}: inserting {key:?}", case.name);
                    model.entry(key).or_insert(turn);
                }
                let key = (case.key)(random.below(3000));
                assert_eq!(index.get(guard, &key), model.get(&key).copied(), "{}: getting {key:?}", case.name);
                if turn % 100 == 0 {
                    check_scans(case, &index, guard, &model, &key);
                    for _ in 0..4 {
                        let seek = seek_like(&mut random, &key);
                        check_scans(case, &index, guard, &model, &seek);
                        assert_eq!(
                            index.get(guard, &seek),
                            model.get(&seek).copied(),
                            "{}: getting {seek:?}",
                            case.name
                        );
                        if !model.contains_key(&seek) {
                            assert_eq!(index.remove(guard, &seek), None, "{}: removing {seek:?}", case.name);
                        }
                    }
                }
                participant.leave();
            }
            let mut all = Vec::new();
            participant.enter();
            index.collect(participant.guard(), Bound::Unbounded, false, usize::MAX, &mut all);
            participant.leave();
            assert_eq!(all, expected(&model, Bound::Unbounded, false, usize::MAX), "{}", case.name);
            assert_eq!(index.len(), model.len(), "{}", case.name);
            assert_eq!(index.is_empty(), model.is_empty(), "{}", case.name);
        }
    }
}

#[test]
fn in_whichever_order_keys_come_and_go() {
    let ascending: Vec<usize> = (0..5000).collect();
    let descending: Vec<usize> = ascending.iter().rev().copied().collect();
    let inwards: Vec<usize> = (0..2500).flat_map(|number| [number, 4999 - number]).collect();
    let orders = [&ascending, &descending, &inwards];
    for case in &CASES {
        for (came, gone) in orders.iter().flat_map(|came| orders.iter().map(move |gone| (came, gone))) {
            let collector = Collector::new();
            let index = OrderedIndex::new(&collector, case.shape);
            let participant = entered(&collector);
            let guard = participant.guard();
            for &number in *came {
                assert_eq!(index.insert(guard, &(case.key)(number), number), Ok(()), "{}", case.name);
            }
            assert_eq!(index.len(), 5000);
            for &number in *gone {
                assert_eq!(index.get(guard, &(case.key)(number)), Some(number), "{}", case.name);
                assert_eq!(index.remove(guard, &(case.key)(number)), Some(number), "{}", case.name);
                assert_eq!(index.get(guard, &(case.key)(number)), None, "{}", case.name);
            }
            assert!(index.is_empty());
            assert_eq!(index.insert(guard, &(case.key)(0), 0), Ok(()), "{}: a tree that was emptied", case.name);
        }
    }
}

#[test]
fn an_insert_refuses_a_key_of_another_shape() {
    let insert = |shape, key: Key| {
        let collector = Collector::new();
        let index = OrderedIndex::new(&collector, shape);
        let participant = entered(&collector);
        index.insert(participant.guard(), &key, 1)
    };
    let ints = [Key::int4s([1, 2]), Key::int4s([1, 2, 3]), Key::int4s([1, 2, 3, 4])];
    for (len, key) in [8, 12, 16].into_iter().zip(&ints) {
        assert_eq!(insert(KeyShape::Fixed(len), key.clone()), Ok(()));
        for other in [len - 1, len + 1].into_iter().filter(|&other| other <= 16) {
            let refused = std::panic::catch_unwind(|| insert(KeyShape::Fixed(other), key.clone()));
            assert!(refused.is_err(), "{key:?} as a key of {other} bytes");
        }
        assert!(std::panic::catch_unwind(|| insert(KeyShape::Int, key.clone())).is_err());
    }
    for shape in [KeyShape::Fixed(8), KeyShape::Fixed(16), KeyShape::Bytes] {
        assert!(std::panic::catch_unwind(|| insert(shape, Key::Int(1))).is_err(), "an integer in {shape:?}");
    }
}

const THREADS: usize = 4;
const UNTOUCHED: usize = 500;

/// Numbers that are multiples of eight are inserted first and stay; every thread inserts and removes others.
#[test]
fn threads_never_miss_what_nobody_touches() {
    for case in &CASES {
        let collector = Collector::new();
        let index = OrderedIndex::new(&collector, case.shape);
        let participant = entered(&collector);
        for number in (0..UNTOUCHED).map(|number| number * 8) {
            assert_eq!(index.insert(participant.guard(), &(case.key)(number), number), Ok(()));
        }
        drop(participant);

        let work = |thread: usize| {
            let mut participant = collector.participant();
            let mut random = Random(thread as u64);
            for turn in 0..300 {
                participant.enter();
                let guard = participant.guard();
                // A stretch of neighbours is inserted and removed, so that leaves fill up and become empty.
                let first = random.below(UNTOUCHED - 40) * 8;
                let own = || (first..first + 320).step_by(8).map(|number| number + 1 + thread);
                for number in own() {
                    assert_eq!(index.insert(guard, &(case.key)(number), number), Ok(()), "{}", case.name);
                }
                for number in own() {
                    assert_eq!(index.get(guard, &(case.key)(number)), Some(number), "{}", case.name);
                }
                check_concurrent_scan(case, &index, guard, &(case.key)(random.below(UNTOUCHED) * 8), turn % 2 == 0);
                for number in own() {
                    assert_eq!(index.remove(guard, &(case.key)(number)), Some(number), "{}", case.name);
                }
                participant.leave();
            }
        };
        thread::scope(|scope| (0..THREADS).for_each(|thread| drop(scope.spawn(move || work(thread)))));
        assert_eq!(index.len(), UNTOUCHED, "{}", case.name);
    }
}

fn check_concurrent_scan(case: &Case, index: &OrderedIndex, guard: Guard<'_>, from: &Key, backward: bool) {
    let mut found = Vec::new();
    index.collect(guard, Bound::Included(from), backward, usize::MAX, &mut found);
    let in_order = |a: &Key, b: &Key| if backward { a > b } else { a < b };
    assert!(found.windows(2).all(|pair| in_order(&pair[0].0, &pair[1].0)), "{}: out of order", case.name);
    let reached = |key: &Key| if backward { key <= from } else { key >= from };
    let mut untouched: Vec<Key> = (0..UNTOUCHED).map(|number| (case.key)(number * 8)).filter(reached).collect();
    untouched.sort_unstable();
    if backward {
        untouched.reverse();
    }
    let stayed = found.into_iter().filter(|(_, number)| number % 8 == 0).map(|(key, _)| key);
    assert!(stayed.eq(untouched), "{}: a key that nobody touches was missed", case.name);
}

#[test]
fn of_threads_that_insert_one_key_one_wins() {
    for case in &CASES {
        let collector = Collector::new();
        let index = OrderedIndex::new(&collector, case.shape);
        let work = |thread: usize| {
            let mut participant = collector.participant();
            let mut won = 0;
            for number in 0..3000 {
                participant.enter();
                won += usize::from(index.insert(participant.guard(), &(case.key)(number), thread).is_ok());
                participant.leave();
            }
            won
        };
        let won: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!((won, index.len()), (3000, 3000), "{}", case.name);
    }
}
