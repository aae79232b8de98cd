//! Tests of all range lock managers, compared with a list of requests.

use super::*;
use proptest::prelude::*;

const KEY_BITS: u32 = 5;

/// The time at which a manager notices that a request can be granted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Notices {
    AtOnce,
    WhenAsked,
    AtTheFront,
}

/// A manager, with its name, whether it knows ranges exactly, and how soon it notices.
type Case = (&'static str, Box<dyn RangeLockManager>, bool, Notices);

fn managers() -> [Case; 12] {
    let common = Prefixing::common(KEY_BITS);
    let exact = |bits_per_level| Prefixing::new(KEY_BITS, bits_per_level, 1 << KEY_BITS).expect("a power of two");
    [
        ("vllr", Box::new(Vllr::<FourCounters>::new(common)), false, Notices::AtTheFront),
        ("vllr-sca", Box::new(Vllr::<FourCounters>::with_analysis(common)), false, Notices::WhenAsked),
        ("vllr, exact", Box::new(Vllr::<FourCounters>::new(exact(1))), true, Notices::AtTheFront),
        (
            "vllr-sca, two bits a level",
            Box::new(Vllr::<FourCounters>::with_analysis(exact(2))),
            true,
            Notices::WhenAsked,
        ),
        ("vllr-blocks", Box::new(Vllr::<Blocks>::new(common)), false, Notices::AtTheFront),
        ("vllr-blocks-sca", Box::new(Vllr::<Blocks>::with_analysis(common)), false, Notices::WhenAsked),
        ("vllr-blocks, exact", Box::new(Vllr::<Blocks>::new(exact(1))), true, Notices::AtTheFront),
        (
            "vllr-blocks-sca, two bits a level",
            Box::new(Vllr::<Blocks>::with_analysis(exact(2))),
            true,
            Notices::WhenAsked,
        ),
        ("standard", Box::new(Standard::new()), true, Notices::AtOnce),
        ("hierarchical", Box::new(Hierarchical::new(common)), false, Notices::AtOnce),
        ("hierarchical, exact", Box::new(Hierarchical::new(exact(1))), true, Notices::AtOnce),
        ("records", Box::new(Records::new(KEY_BITS)), true, Notices::AtTheFront),
    ]
}

/// A request of the model.
#[derive(Clone, Copy, Debug)]
struct Listed {
    txn: TxnNumber,
    /// The range that the manager locks in effect, which may be larger than the one requested.
    range: KeyRange,
    exclusive: bool,
    is_granted: bool,
}

/// All requests that were not given back, in their order.
#[derive(Debug, Default)]
struct List(Vec<Listed>);

impl List {
    /// Whether a request conflicts with none before it in the list.
    fn can_run(&self, position: usize) -> bool {
        let Listed { range, exclusive, .. } = self.0[position];
        !self.0[..position].iter().any(|before| before.range.overlaps(range) && (before.exclusive || exclusive))
    }

    fn find(&self, txn: TxnNumber) -> usize {
        self.0.iter().position(|listed| listed.txn == txn).expect("the transaction has requested something")
    }

    /// Marks a request as granted by the manager.
    fn grant(&mut self, txn: TxnNumber, name: &str) {
        let position = self.find(txn);
        assert!(!self.0[position].is_granted, "{name} grants twice: {self:?}");
        assert!(self.can_run(position), "{name} grants what conflicts: {txn} in {self:?}");
        self.0[position].is_granted = true;
    }

    /// Asserts that the manager has granted every request that it should have noticed.
    fn check(&self, name: &str, notices: Notices) {
        for (position, listed) in self.0.iter().enumerate() {
            let should = match notices {
                Notices::AtOnce | Notices::WhenAsked => self.can_run(position),
                Notices::AtTheFront => position == 0,
            };
            assert!(listed.is_granted || !should, "{name} does not notice {listed:?} in {self:?}");
        }
    }
}

/// Returns the range of all keys that have the common prefix of a range.
fn widened(range: KeyRange) -> KeyRange {
    let free = u64::MAX.checked_shr((range.first ^ range.last).leading_zeros()).unwrap_or(0);
    KeyRange { first: range.first & !free, last: range.last | free }
}

#[derive(Clone, Debug)]
enum Step {
    Request(u64, u64, bool),
    Release(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0_u64..1 << KEY_BITS;
    let step = prop_oneof![
        (key(), key(), any::<bool>()).prop_map(|(a, b, exclusive)| Step::Request(a.min(b), a.max(b), exclusive)),
        (key(), 0_u64..3).prop_map(|(a, more)| Step::Request(a, (a + more).min((1 << KEY_BITS) - 1), true)),
        any::<usize>().prop_map(Step::Release),
    ];
    proptest::collection::vec(step, 1..80)
}

/// Releases the range of a transaction to which it was granted, and asks for work until there is none.
fn release(manager: &mut dyn RangeLockManager, name: &str, list: &mut List, txn: TxnNumber) {
    let mut granted = Vec::new();
    manager.release(txn, &mut granted);
    list.0.remove(list.find(txn));
    granted.into_iter().for_each(|txn| list.grant(txn, name));
    loop {
        let mut found = Vec::new();
        manager.find_work(&mut found);
        if found.is_empty() {
            return;
        }
        found.into_iter().for_each(|txn| list.grant(txn, name));
    }
}

proptest! {
    #[test]
    fn grants_are_compatible_and_everything_is_granted_in_the_end(steps in steps()) {
        for (name, mut manager, exact, notices) in managers() {
            let mut list = List::default();
            for step in &steps {
                match *step {
                    Step::Request(first, last, exclusive) => {
                        // The least number that is free.
                        let is_free = |txn: &TxnNumber| list.0.iter().all(|listed| listed.txn != *txn);
                        let txn = (0..).find(is_free).expect("there are more numbers than steps");
                        let range = KeyRange { first, last };
                        let effective = if exact { range } else { widened(range) };
                        list.0.push(Listed { txn, range: effective, exclusive, is_granted: false });
                        let can_run = list.can_run(list.0.len() - 1);
                        prop_assert_eq!(manager.request(txn, range, exclusive), can_run, "{} {:?}", name, &list);
                        list.0.last_mut().expect("just pushed").is_granted = can_run;
                    }
                    Step::Release(which) => {
                        let running: Vec<_> = list.0.iter().filter(|listed| listed.is_granted).map(|l| l.txn).collect();
                        if !running.is_empty() {
                            release(&mut *manager, name, &mut list, running[which % running.len()]);
                        }
                    }
                }
                list.check(name, notices);
            }
            while let Some(running) = list.0.iter().rev().find(|listed| listed.is_granted).copied() {
                release(&mut *manager, name, &mut list, running.txn);
            }
            prop_assert!(list.0.is_empty(), "{} leaves {:?} waiting", name, list);
            prop_assert!(manager.is_idle(), "{}", name);
        }
    }
}

/// Checks steps of a manager. A step is a transaction's number and the keys that it requests (`0: 4-7`, shared `0:
/// s4-7`), or its number when it ends. Then come the transactions to which the manager grants their ranges.
fn trace(manager: &mut dyn RangeLockManager, steps: &[(&str, &[TxnNumber])]) {
    for (step, expected) in steps {
        let mut granted = Vec::new();
        match step.split_once(": ") {
            Some((txn, range)) => {
                let txn = txn.parse().expect("a number");
                let exclusive = !range.starts_with('s');
                let (first, last) = range.trim_start_matches('s').split_once('-').expect("a range");
                let range = KeyRange { first: first.parse().expect("a key"), last: last.parse().expect("a key") };
                if manager.request(txn, range, exclusive) {
                    granted.push(txn);
                }
            }
            None if *step == "idle" => manager.find_work(&mut granted),
            None => manager.release(step.parse().expect("a number"), &mut granted),
        }
        assert_eq!(granted, *expected, "{step}");
    }
}

#[test]
fn a_sequence_of_exclusive_ranges_under_vllr() {
    sequence::<FourCounters>();
    sequence::<Blocks>();
}

fn sequence<C: PrefixState>() {
    // 0 and 1 do not meet; 2 meets 0; 3 meets 2 only.
    let steps: &[(&str, &[TxnNumber])] = &[
        ("0: 0-3", &[0]),
        ("1: 16-19", &[1]),
        ("2: 2-6", &[]),
        ("3: 4-5", &[]),
        // 1 is the front now, and runs: nobody notices that 2 could.
        ("0", &[]),
    ];
    let mut vllr = Vllr::<C>::new(Prefixing::common(KEY_BITS));
    trace(&mut vllr, steps);
    trace(&mut vllr, &[("idle", &[]), ("1", &[2]), ("2", &[3]), ("3", &[])]);
    assert!(vllr.is_idle());

    let mut with_analysis = Vllr::<C>::with_analysis(Prefixing::common(KEY_BITS));
    trace(&mut with_analysis, steps);
    trace(&mut with_analysis, &[("idle", &[2]), ("idle", &[]), ("2", &[]), ("idle", &[3]), ("1", &[]), ("3", &[])]);
    assert!(with_analysis.is_idle());
}

#[test]
fn ranges_are_split_where_they_overlap() {
    let mut standard = Standard::new();
    trace(
        &mut standard,
        &[("0: 4-11", &[0]), ("1: s8-15", &[]), ("2: s14-20", &[2]), ("3: 6-6", &[]), ("4: 0-31", &[])],
    );
    let ranges: Vec<_> = standard.ranges().collect();
    let expected: [(u64, u64, &[TxnNumber]); 9] = [
        (0, 3, &[4]),
        (4, 5, &[0, 4]),
        (6, 6, &[0, 3, 4]),
        (7, 7, &[0, 4]),
        (8, 11, &[0, 1, 4]),
        (12, 13, &[1, 4]),
        (14, 15, &[1, 2, 4]),
        (16, 20, &[2, 4]),
        (21, 31, &[4]),
    ];
    assert_eq!(ranges, expected.map(|(first, last, queue)| (first, last, queue.to_vec())));
    trace(&mut standard, &[("0", &[3, 1]), ("3", &[]), ("1", &[]), ("2", &[4]), ("4", &[])]);
    assert!(standard.is_idle());
}

#[test]
fn ranges_end_where_keys_end() {
    let last = u64::MAX;
    for (first_range, second_range, granted) in [((0, last), (last, last), false), ((0, last - 1), (last, last), true)]
    {
        let common = Prefixing::common(64);
        let managers: [Box<dyn RangeLockManager>; 4] = [
            Box::new(Standard::new()),
            Box::new(Vllr::<FourCounters>::new(common)),
            Box::new(Vllr::<Blocks>::new(common)),
            Box::new(Hierarchical::new(common)),
        ];
        for (number, mut manager) in managers.into_iter().enumerate() {
            let range = |(first, last)| KeyRange { first, last };
            assert!(manager.request(0, range(first_range), true));
            // By prefixes both ranges are the whole.
            assert_eq!(manager.request(1, range(second_range), true), granted && number == 0, "{second_range:?}");
        }
    }
}
