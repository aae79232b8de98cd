//! Tests of the request queues: cases, and a comparison with a model that has a list for each name.

use super::*;
use crate::shared::contention::Claim;
use proptest::prelude::*;
use std::collections::BTreeMap;

const X: Modes = Modes::EXCLUSIVE;
const S: Modes = Modes::SHARED;
const IX: Modes = Modes(1 << Claim::IntendExclusive as u8);
const IS: Modes = Modes(1 << Claim::IntendShared as u8);

/// Queues whose owners are known by letters.
#[derive(Default)]
struct Case {
    queues: RequestQueues<char>,
    owners: BTreeMap<char, OwnerId>,
}

impl Case {
    /// Requests all of these locks for `who` in one step. Returns whether `who` need not wait.
    fn begin(&mut self, who: char, names: &[(u64, Modes)]) -> bool {
        let owner = self.queues.join(who);
        self.owners.insert(who, owner);
        names.iter().for_each(|&(name, modes)| self.queues.request(owner, name, modes));
        self.queues.audit().expect("the invariants hold");
        self.queues.is_granted(owner)
    }

    fn late(&mut self, who: char, name: u64, modes: Modes) -> bool {
        let free = self.queues.is_free(self.owners[&who], name, modes);
        if free {
            self.queues.add(self.owners[&who], name, modes);
        }
        self.queues.audit().expect("the invariants hold");
        free
    }

    /// Ends `who`. Returns the owners that need not wait any more, in the order of their letters.
    fn end(&mut self, who: char) -> String {
        let owner = self.owners.remove(&who).expect("it has begun");
        let mut granted = Vec::new();
        self.queues.release_all(owner, &mut |&mut who| granted.push(who));
        self.queues.part(owner);
        self.queues.audit().expect("the invariants hold");
        granted.sort_unstable();
        granted.into_iter().collect()
    }
}

#[test]
fn the_paper_s_example_runs_c_as_soon_as_a_ends() {
    // VLL §2.5: what a standard lock manager can tell, and counters alone cannot.
    let (x, y, z) = (1, 2, 3);
    let mut case = Case::default();
    assert!(case.begin('A', &[(x, X)]));
    assert!(case.begin('B', &[(y, X)]));
    assert!(!case.begin('C', &[(x, X), (z, X)]));
    assert!(!case.begin('D', &[(z, X)]));
    assert_eq!(case.queues.usage(), (3, 5));
    assert_eq!(case.end('A'), "C");
    assert_eq!(case.end('C'), "D");
    assert_eq!(case.end('B'), "");
    assert_eq!(case.end('D'), "");
    assert_eq!(case.queues.usage(), (0, 0));
}

#[test]
fn readers_share_and_writers_wait_in_order() {
    let mut case = Case::default();
    assert!(case.begin('a', &[(1, S)]) && case.begin('b', &[(1, S)]));
    assert!(!case.begin('c', &[(1, X)]));
    assert!(!case.begin('d', &[(1, S)]), "it conflicts with the writer before it");
    assert!(!case.begin('e', &[(1, S)]) && !case.begin('f', &[(1, X)]));
    assert_eq!(case.end('a'), "");
    assert_eq!(case.end('b'), "c");
    assert_eq!(case.end('c'), "de");
    assert_eq!(case.end('d'), "");
    assert_eq!(case.end('e'), "f");
}

#[test]
fn who_gives_up_leaves_from_anywhere() {
    // The queue is held by a, and b to e wait. A case says which of them run once one of them, and then a, has gone.
    for (withdrawn, at_once, after) in [('b', "", "cd"), ('c', "", "b"), ('d', "", "b"), ('e', "", "b")] {
        let mut case = Case::default();
        assert!(case.begin('a', &[(1, X)]));
        for (who, modes) in [('b', X), ('c', S), ('d', S), ('e', X)] {
            assert!(!case.begin(who, &[(1, modes)]));
        }
        assert_eq!((case.end(withdrawn).as_str(), case.end('a').as_str()), (at_once, after), "{withdrawn}");
    }
    let mut case = Case::default();
    assert!(case.begin('a', &[(1, S)]) && !case.begin('b', &[(1, X)]) && !case.begin('c', &[(1, S)]));
    assert_eq!(case.end('b'), "c", "only the writer was in the reader's way");
}

#[test]
fn a_name_asked_for_twice_is_one_request_in_both_modes() {
    let mut case = Case::default();
    assert!(case.begin('a', &[(1, S), (1, X), (1, S)]));
    assert_eq!(case.queues.usage(), (1, 1));
    assert!(!case.begin('b', &[(1, S), (2, S)]));
    assert!(case.begin('c', &[(2, S)]));
    assert_eq!(case.end('a'), "b");

    // A widened request that was granted comes to wait.
    let mut case = Case::default();
    assert!(case.begin('a', &[(1, S)]) && !case.begin('b', &[(1, S), (1, X), (2, X)]));
    assert_eq!(case.end('a'), "b");
}

#[test]
fn intentions_meet_locks_and_not_each_other() {
    let mut case = Case::default();
    assert!(case.begin('a', &[(1, IX)]) && case.begin('b', &[(1, IS)]) && case.begin('c', &[(1, IX)]));
    assert!(!case.begin('d', &[(1, S)]));
    assert!(case.begin('e', &[(1, IS)]), "it conflicts with nobody, whether granted or not");
    assert!(!case.begin('f', &[(1, IX)]), "d was here before");
    assert_eq!(case.end('a') + &case.end('c'), "d");
    assert_eq!(case.end('d'), "f");
    assert!(!case.begin('g', &[(1, X)]));
    assert_eq!(case.end('b') + &case.end('e'), "");
    assert_eq!(case.end('f'), "g");
}

#[test]
fn a_late_request_is_granted_at_once_or_not_placed() {
    let mut case = Case::default();
    assert!(case.begin('a', &[(1, S)]) && case.begin('b', &[(1, S)]) && !case.begin('c', &[(2, X), (1, X)]));
    assert!(!case.late('a', 1, X), "b reads it");
    assert!(!case.late('a', 2, S), "c has it, although it runs not yet");
    assert!(case.late('b', 3, X) && case.late('b', 3, S), "a name of one's own");
    assert!(case.late('a', 4, S) && case.late('a', 4, X), "widened: nobody else asks for it");
    assert!(!case.begin('d', &[(4, S)]));
    assert_eq!(case.end('b'), "");
    assert!(!case.late('a', 1, X), "c waits for it, and would have to wait once more");
    assert_eq!(case.end('a'), "cd");
}

#[test]
fn ten_thousand_names_and_an_owner_without_any() {
    let mut case = Case::default();
    let names: Vec<_> = (0..10_000).map(|name| (hotrow_storage::mix(name), X)).collect();
    assert!(case.begin('a', &names));
    assert!(!case.begin('b', &names));
    assert!(case.begin('c', &[]));
    assert_eq!((case.queues.usage(), case.end('c').as_str()), ((10_000, 20_000), ""));
    let memory = |case: &Case| (case.queues.heads.places.len(), case.queues.requests.places.len());
    let before = memory(&case);
    for (ended, granted, begun) in [('a', "b", 'd'), ('b', "d", 'e'), ('d', "e", 'f')] {
        assert_eq!(case.end(ended), granted);
        assert!(!case.begin(begun, &names));
    }
    assert_eq!(memory(&case), before, "the pools are used again");
}

/// An event of the queues: an owner begins, asks for more, or ends.
#[derive(Clone, Debug)]
enum Event {
    Begin(char, Vec<(u64, Modes)>),
    Late(char, u64, Modes),
    End(char),
}

/// A list of requests for each name. Each question is answered by walking the list.
#[derive(Default)]
struct Model {
    queues: BTreeMap<u64, Vec<(char, Modes)>>,
}

impl Model {
    fn request(&mut self, who: char, name: u64, modes: Modes) {
        let queue = self.queues.entry(name).or_default();
        match queue.iter_mut().find(|(other, _)| *other == who) {
            Some((_, own)) => *own = *own | modes,
            None => queue.push((who, modes)),
        }
    }

    fn is_free(&self, who: char, name: u64, modes: Modes) -> bool {
        let mut others = self.queues.get(&name).into_iter().flatten().filter(|&&(other, _)| other != who);
        others.all(|&(_, other)| !other.conflicts(modes))
    }

    fn is_exclusive(&self, name: u64) -> bool {
        self.queues[&name].first().is_some_and(|&(_, modes)| modes.conflicts(IS))
    }

    fn end(&mut self, who: char) {
        self.queues.values_mut().for_each(|queue| queue.retain(|&(other, _)| other != who));
    }

    fn waits(&self, who: char) -> bool {
        self.queues.values().any(|queue| {
            let own = queue.iter().position(|&(other, _)| other == who);
            own.is_some_and(|own| queue[..own].iter().any(|&(_, before)| before.conflicts(queue[own].1)))
        })
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let who = || proptest::char::range('a', 'h');
    let modes = || (1..16_u8).prop_map(Modes);
    // Names that fall into one bucket, and others.
    let name = || (0..6_u64).prop_map(|name| name / 2 + (name % 2) * 64);
    let event = prop_oneof![
        4 => (who(), proptest::collection::vec((name(), modes()), 0..8)).prop_map(|(who, names)| Event::Begin(who, names)),
        1 => (who(), name(), modes()).prop_map(|(who, name, modes)| Event::Late(who, name, modes)),
        4 => who().prop_map(Event::End),
    ];
    proptest::collection::vec(event, 1..80)
}

proptest! {
    #[test]
    fn whatever_happens_the_queues_are_the_model_s(events in events()) {
        let mut case = Case::default();
        let mut model = Model::default();
        for event in events {
            match event {
                Event::Begin(who, names) if !case.owners.contains_key(&who) => {
                    names.iter().for_each(|&(name, modes)| model.request(who, name, modes));
                    prop_assert_eq!(case.begin(who, &names), !model.waits(who));
                }
                Event::Late(who, name, modes) if case.owners.contains_key(&who) && !model.waits(who) => {
                    let free = model.is_free(who, name, modes);
                    prop_assert_eq!(case.late(who, name, modes), free);
                    if free {
                        model.request(who, name, modes);
                    }
                }
                Event::End(who) if case.owners.contains_key(&who) => {
                    let waited: Vec<_> = case.owners.keys().copied().filter(|&who| model.waits(who)).collect();
                    model.end(who);
                    let granted: String = waited.into_iter().filter(|&other| other != who && !model.waits(other)).collect();
                    prop_assert_eq!(case.end(who), granted);
                }
                _ => {}
            }
            for (&who, &owner) in &case.owners {
                prop_assert_eq!(case.queues.is_granted(owner), !model.waits(who), "{}", who);
            }
            for name in model.queues.keys() {
                prop_assert_eq!(case.queues.is_exclusive(*name), model.is_exclusive(*name));
            }
            let mut requests: Vec<_> = case.queues.requests().collect();
            requests.sort_unstable();
            let named = |(&name, queue): (&u64, &Vec<(char, Modes)>)| {
                queue.iter().map(move |&(_, modes)| (name, modes)).collect::<Vec<_>>()
            };
            let mut expected: Vec<_> = model.queues.iter().flat_map(named).collect();
            expected.sort_unstable();
            prop_assert_eq!(requests, expected);
            let waiting = case.owners.keys().filter(|&&who| model.waits(who)).count();
            prop_assert_eq!(case.queues.waiting(), waiting);
        }
    }
}
