//! Tests of requests and releases, compared with a list of all requests.

use super::*;
use crate::shared::range_locks::prefix::{BitRange, Cover, Granularity, KeySpace};
use proptest::prelude::*;

const BITS: u32 = 4;

/// Returns the prefix with the bits of `text`.
fn prefix(text: &str) -> Prefix {
    let bits = u128::from_str_radix(text, 2).unwrap_or(0).checked_shl(128 - text.len() as u32).unwrap_or(0);
    let last = bits | u128::MAX.checked_shr(text.len() as u32).unwrap_or(0);
    KeySpace::of_bits(Granularity::BITS).common_prefix(BitRange { first: bits, last })
}

/// Returns the locks that `text` names: `X01 S1` is everything below 01 exclusively, and everything below 1 shared.
fn locks(text: &str) -> PrefixLocks {
    let mut locks = PrefixLocks::default();
    for lock in text.split_whitespace() {
        let (mode, bits) = lock.split_at(1);
        locks.push(prefix(bits), mode == "X");
    }
    locks
}

/// Checks steps. A step is a transaction's letter and what it requests (`A: X01`), or its letter alone when it ends.
/// Then comes what is expected of the step: `granted`, `blocked` or nothing.
fn check(steps: &[(&str, &str)]) {
    let mut counters = PrefixCounters::default();
    let mut requests: Vec<(String, PrefixLocks)> = Vec::new();
    for (step, expected) in steps {
        let found = match step.split_once(':') {
            Some((name, wanted)) => {
                let locks = locks(wanted);
                let granted = counters.request(locks.counted()).expect("there are few requests");
                requests.push((name.to_owned(), locks));
                if granted { "granted" } else { "blocked" }
            }
            None => {
                let position = requests.iter().position(|(name, _)| name == step).expect("a transaction that began");
                counters.release(requests.remove(position).1.counted());
                ""
            }
        };
        assert_eq!(found, *expected, "{step}");
        counters.audit(requests.iter().map(|(_, locks)| locks.counted())).expect("counters equal requests");
    }
}

#[test]
fn a_trace_of_exclusive_ranges() {
    check(&[
        ("A: X001", "granted"),
        ("B: X01", "granted"),
        ("C: X0", "blocked"),
        ("D: X1", "granted"),
        ("A", ""),
        ("E: X000", "blocked"),
        ("B", ""),
        ("C", ""),
        ("E", ""),
        ("F: X000", "granted"),
        ("D", ""),
        ("F", ""),
    ]);
}

#[test]
fn shared_ranges_do_not_mind_each_other() {
    check(&[
        ("A: S0", "granted"),
        ("B: S01", "granted"),
        ("C: S", "granted"),
        ("D: X011", "blocked"),
        ("E: X1", "blocked"),
        ("C", ""),
        ("F: X1", "blocked"),
        ("E", ""),
        ("F", ""),
        ("G: X1", "granted"),
        ("H: S1", "blocked"),
        ("I: S0", "blocked"),
    ]);
}

#[test]
fn a_transaction_is_not_in_its_own_way() {
    check(&[
        ("A: S0 X0", "granted"),
        ("B: S10 X1 S11", "granted"),
        ("A", ""),
        ("C: X01 X0 X", "blocked"),
        ("B", ""),
        ("C", ""),
        ("D: X01 S0 S00 X00", "granted"),
        ("E: X X X0 S", "blocked"),
    ]);
}

#[test]
fn the_counters_are_those_of_the_paper() {
    let mut counters = PrefixCounters::default();
    let (a, b, c) = (locks("X01"), locks("S00"), locks("S0"));
    for (request, granted) in [(&a, true), (&b, true), (&c, false)] {
        assert_eq!(counters.request(request.counted()), Ok(granted));
    }
    // C_X, C_S, I_X, I_S
    for (text, expected) in
        [("", [0, 0, 1, 2]), ("0", [0, 1, 1, 1]), ("01", [1, 0, 0, 0]), ("00", [0, 1, 0, 0]), ("1", [0, 0, 0, 0])]
    {
        assert_eq!(counters.counters(prefix(text).name()), expected, "{text:?}");
    }
    assert_eq!(counters.len(), 4);
    for request in [c, a, b] {
        counters.release(request.counted());
    }
    assert!(counters.is_empty());
}

#[test]
fn what_two_prefixes_have_above_them_is_counted_once() {
    let count = |text: &str| locks(text).counted().len();
    for (text, expected) in [
        ("", 0),
        ("X", 1),
        ("X0101", 5),
        ("X0101 X0101", 5),
        ("X0101 X0100", 6),
        ("X0101 X01", 6),
        ("X01 X0101", 3),
        ("X01 X0101 X011", 3),
        ("X0101 X01 X0111", 6),
        ("X0101 S0100", 10),
        ("X0101 S0100 X0110", 12),
    ] {
        assert_eq!(count(text), expected, "{text:?}");
    }
    let mut again = locks("X0101");
    again.clear();
    assert_eq!(again.counted(), []);
    again.push(prefix("0101"), true);
    assert_eq!(again.counted(), locks("X0101").counted());
}

#[test]
fn a_full_counter_is_an_error_and_counts_nothing() {
    let mut counters = PrefixCounters::default();
    let one = locks("S01");
    assert_eq!(counters.request(one.counted()), Ok(true));
    let index = counters.find(prefix("0").name());
    counters.slots[index].counters += FULL[Claim::IntendShared as usize] - ONE[Claim::IntendShared as usize];
    let before = counters.slots[index].counters;
    assert_eq!(counters.request(locks("S00").counted()), Err(TooManyRequests));
    assert_eq!(counters.slots[index].counters, before);
    assert_eq!(counters.counters(prefix("00").name()), [0; 4]);
    assert_eq!(counters.request(locks("X").counted()), Ok(false));
}

#[test]
fn the_audit_finds_what_is_too_much_and_what_is_missing() {
    let (a, b) = (locks("X01"), locks("S00"));
    let mut counters = PrefixCounters::default();
    assert_eq!(counters.request(a.counted()), Ok(true));
    counters.audit([a.counted()]).expect("all requests are there");
    for wrong in [&[][..], &[b.counted()], &[a.counted(), b.counted()], &[a.counted(), a.counted()]] {
        counters.audit(wrong.iter().copied()).expect_err("something is missing or too much");
    }
}

/// A request of a model transaction: some ranges of four-bit numbers.
#[derive(Clone, Debug)]
struct Wanted {
    ranges: Vec<(u8, u8, bool)>,
    exact: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Request(Wanted),
    Late(usize, Wanted),
    Release(usize),
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let range = (0_u8..16, 0_u8..16, any::<bool>()).prop_map(|(a, b, exclusive)| (a.min(b), a.max(b), exclusive));
    (proptest::collection::vec(range, 1..4), any::<bool>()).prop_map(|(ranges, exact)| Wanted { ranges, exact })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => wanted().prop_map(Step::Request),
        1 => (any::<usize>(), wanted()).prop_map(|(of, wanted)| Step::Late(of, wanted)),
        3 => any::<usize>().prop_map(Step::Release),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Returns the lock on each number that a request takes: 1 shared, 2 exclusive, 0 none. In the model a prefix is the
/// set of numbers below it.
fn numbers(prefixes: &[(Prefix, bool)]) -> [u8; 1 << BITS] {
    std::array::from_fn(|number| {
        let bits = (number as u128) << (128 - BITS);
        let of = prefixes.iter().filter(|(prefix, _)| prefix.first() <= bits && bits <= prefix.last());
        of.fold(0, |locked, &(_, exclusive)| locked | if exclusive { 2 } else { 1 })
    })
}

fn conflict(a: &[u8; 16], b: &[u8; 16]) -> bool {
    a.iter().zip(b).any(|(&a, &b)| a != 0 && b != 0 && (a | b) & 2 != 0)
}

#[derive(Default)]
struct Model {
    locks: PrefixLocks,
    prefixes: Vec<(Prefix, bool)>,
}

impl Model {
    fn new(wanted: &Wanted, granularity: Granularity) -> Self {
        let mut model = Model::default();
        let space = KeySpace::of_bits(granularity);
        let cover = if wanted.exact { Cover::Exact { at_most: 64 } } else { Cover::CommonPrefix };
        for &(first, last, exclusive) in &wanted.ranges {
            let [first, last] = [first, last].map(|end| u128::from(end) << (128 - BITS));
            let range = BitRange { first, last: last | u128::MAX >> BITS };
            for prefix in space.cover(range, cover) {
                model.locks.push(prefix, exclusive);
                model.prefixes.push((prefix, exclusive));
            }
        }
        model
    }

    fn conflicts(&self, others: &[Model]) -> bool {
        others.iter().any(|other| conflict(&numbers(&self.prefixes), &numbers(&other.prefixes)))
    }
}

proptest! {
    #[test]
    fn grants_are_those_of_a_list_of_all_requests(steps in steps(), bits_per_level in 0_u32..3) {
        let granularity = Granularity::new(1 << bits_per_level, 4).expect("it divides four");
        let mut counters = PrefixCounters::default();
        let mut requests: Vec<Model> = Vec::new();
        for step in steps {
            match step {
                Step::Request(wanted) => {
                    let model = Model::new(&wanted, granularity);
                    let expected = !model.conflicts(&requests);
                    prop_assert_eq!(counters.would_conflict(&[], model.locks.counted()), !expected);
                    prop_assert_eq!(counters.request(model.locks.counted()), Ok(expected));
                    requests.push(model);
                }
                Step::Late(of, wanted) if !requests.is_empty() => {
                    let more = Model::new(&wanted, granularity);
                    let mut holder = requests.swap_remove(of % requests.len());
                    let expected = !more.conflicts(&requests);
                    let (held, wanted) = (holder.locks.counted().to_vec(), more.locks.counted().to_vec());
                    prop_assert_eq!(counters.would_conflict(&held, &wanted), !expected);
                    prop_assert_eq!(counters.request_more(&held, &wanted), Ok(expected));
                    holder.locks.counted.extend(wanted);
                    holder.prefixes.extend(more.prefixes);
                    requests.push(holder);
                }
                Step::Release(of) if !requests.is_empty() => {
                    let model = requests.swap_remove(of % requests.len());
                    counters.release(model.locks.counted());
                }
                Step::Late(..) | Step::Release(_) => {}
            }
            let audit = counters.audit(requests.iter().map(|model| model.locks.counted()));
            prop_assert!(audit.is_ok(), "{audit:?}");
        }
        for model in requests.drain(..) {
            counters.release(model.locks.counted());
        }
        prop_assert!(counters.is_empty());
        prop_assert_eq!(counters.audit([]), Ok(()));
    }

    #[test]
    fn the_table_grows_and_shrinks(names in proptest::collection::hash_set(1_u64.., 0..600)) {
        let mut counters = PrefixCounters::default();
        // Names that begin at one place, and names that begin anywhere.
        let requests: Vec<_> = names.iter().map(|name| Counted::new(name << (name % 2 * 16), Claim::Exclusive)).collect();
        prop_assert!(counters.request(&requests).is_ok());
        prop_assert_eq!(counters.audit([&requests[..]]), Ok(()));
        for (position, request) in requests.iter().enumerate() {
            counters.release(std::slice::from_ref(request));
            prop_assert_eq!(counters.audit([&requests[position + 1..]]), Ok(()));
        }
        prop_assert!(counters.is_empty() && counters.slots.len() == SLOTS_MIN);
    }
}
