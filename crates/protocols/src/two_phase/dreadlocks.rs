//! Dreadlocks: all transactions wait, and a transaction that finds itself among those that it waits for aborts.
//!
//! **Source.** ORTHRUS §4 (*dreadlocks*): a transaction's digest is the set of all transactions that it waits for,
//! directly or through others; a bitmap that only the transaction itself changes and others read without a latch. While
//! it waits, it reads the digests of the transactions in its way, and unites them. If the union has its own bit, there
//! is a deadlock.
//!
//! **Invariants**
//!
//! 1. The digest of a transaction that waits holds its blockers, and what it read of their digests. When it does not
//!    wait, its digest is empty, or about to be.
//! 2. A transaction that adds to its digest makes sure that the transactions that have united it look again. They look
//!    by themselves while they spin; afterwards they stand in the set of sleepers, and are alarmed.
//! 3. A hit is a suspicion: digests are read without a latch, may be late to forget, and owners whose numbers are equal
//!    modulo [`BITS`] share a bit. A transaction that is hit proves it in the graph of exact edges, which also tells
//!    the deadlock's story.
//!
//! **No deadlock is missed.** Between *I am in the set of sleepers, then I read your digest* and *I have added to my
//! digest, then I read the set of sleepers* there is a sequentially consistent fence on either side, so one of the two
//! sees the other. The same goes for *I say that you are waited for*. So when all of a cycle sleep, each one's digest
//! holds its blocker's and its blocker, hence all of them hold all. Take the one whose edge of the cycle was published
//! last: it has looked since, what it found is its digest, and that holds itself. So it was hit when the graph had the
//! whole cycle.
//!
//! **Departures.** Spinning is bounded: it lasts as long as the waiter's flavour spins, and turns into waiting. On
//! fewer cores than workers the paper's spinning transactions would keep off those they wait for.

use super::policy::{LEVELS, Policy};
use crate::shared::lock_table::{OwnerId, Queued, WaitPolicy};
use crate::shared::parked::Parked;
use crate::shared::per_owner::PerOwner;
use crate::shared::time_outs::Limits;
use crate::shared::wait_graph::{InFlight, WaitGraph};
use hotrow_sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use hotrow_sync::{CachePadded, Time, Wake};
use hotrow_txn::{Begin, Capabilities, Deadlock, EngineInfo, Scheduler};
use std::time::Duration;

/// The policy of `2pl-dreadlocks`. Each waiting transaction publishes the set of the transactions that it waits for,
/// directly or through others. A transaction that finds itself in the sets of its blockers aborts.
pub struct Dreadlocks {
    config: DreadlocksConfig,
    digests: PerOwner<CachePadded<Digest>>,
    /// The transactions that wait and do not look at digests by themselves.
    sleepers: OwnerSet,
    pub(super) graph: WaitGraph,
}

/// Knobs of [`Dreadlocks`].
#[derive(Clone, Debug)]
pub struct DreadlocksConfig {
    /// The longest time that a transaction waits for one lock before it is aborted. Deadlocks are found earlier, but a
    /// client may hold locks and never end its transaction.
    pub wait_limit: Duration,
}

impl Default for DreadlocksConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10) }
    }
}

impl Policy for Dreadlocks {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-dreadlocks",
        summary: "two-phase locking; everybody waits, and who is in the digest of those it waits for aborts",
        source: "ORTHRUS §4 (dreadlocks)",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = DreadlocksConfig;

    fn new(config: &Self::Config) -> Self {
        let (digests, sleepers, graph) = (PerOwner::new(), OwnerSet::new(), WaitGraph::new());
        Self { config: config.clone(), digests, sleepers, graph }
    }

    fn limits(&self, _one_shot: bool) -> Limits {
        Limits::within(self.config.wait_limit)
    }

    #[inline]
    fn begin(&self, owner: OwnerId, begin: &Begin<'_>, _now: impl FnOnce() -> Time, _retry: bool) {
        self.graph.begin(owner, begin.label);
    }
}

impl WaitPolicy for Dreadlocks {
    const TRACKS: bool = true;

    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        true
    }

    fn queued(&self, request: Queued<'_>, blockers: &[OwnerId]) {
        self.graph.publish(request, blockers);
    }

    fn blockers_changed(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool {
        self.graph.change(waiter, blockers)
    }

    fn find_deadlock(&self, waiter: OwnerId) -> Option<Deadlock> {
        self.graph.announce(waiter);
        // SeqCst: we say that they are waited for, then read their digests; they add to their digests, then read
        // whether they are waited for.
        fence(Ordering::SeqCst);
        let blockers = self.graph.blockers(waiter);
        let union = self.union(&blockers);
        if self.digests.get(waiter).replace(&union) {
            self.alarm_sleepers(waiter);
        }
        if union.has(waiter) { self.graph.take_blame(waiter) } else { None }
    }

    fn suspend(&self, waiter: OwnerId, parked: &Parked, deadline: Option<Time>) -> Wake {
        let blockers = self.graph.blockers(waiter);
        let has_news = || !self.digests.get(waiter).covers(&self.union(&blockers));
        if parked.waiter().spin(deadline, || parked.is_called() || has_news()) {
            return Wake::Ready;
        }
        let _sleeping = self.sleepers.enter(waiter);
        // SeqCst: we say that we sleep, then read digests; they add to their digests, then read which transactions
        // sleep.
        fence(Ordering::SeqCst);
        if has_news() { Wake::Ready } else { parked.wait(deadline) }
    }

    fn wait_ended(&self, waiter: OwnerId) {
        self.graph.clear(waiter);
        self.digests.get(waiter).clear();
    }
}

impl Dreadlocks {
    /// Returns the union of the digests of `blockers`: they, and all that they wait for.
    fn union(&self, blockers: &[InFlight]) -> Bits {
        let mut union = Bits::default();
        // A transaction that is over blocks none, whatever its owner's next transaction waits for.
        for blocker in blockers.iter().filter(|&&blocker| self.graph.is_running(blocker)) {
            union.add(blocker.owner);
            self.digests.get(blocker.owner).unite_into(&mut union);
        }
        union
    }

    /// Makes the transactions look again that have united the digest of `waiter`, after `waiter` has added to it.
    fn alarm_sleepers(&self, waiter: OwnerId) {
        // SeqCst: the other side of both fences above.
        fence(Ordering::SeqCst);
        if !self.graph.is_waited_for(waiter) {
            return;
        }
        for sleeper in self.sleepers.iter() {
            if self.digests.get(sleeper).has(waiter)
                && let Some(parked) = self.graph.parked(sleeper)
            {
                parked.alarm();
                parked.wake();
            }
        }
    }
}

/// The number of bits of a digest. If there are more transaction objects, some of them share a bit.
pub(super) const BITS: u32 = 1024;

const WORDS: usize = BITS as usize / 64;

/// The digest of the transactions that one transaction waits for. Only that transaction changes it, and all may read
/// it.
#[derive(Debug, Default)]
struct Digest {
    words: [AtomicU64; WORDS],
}

/// A set of owners, modulo [`BITS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits([u64; WORDS]);

fn place(owner: OwnerId) -> (usize, u64) {
    let bit = owner.0 % BITS;
    (bit as usize / 64, 1 << (bit % 64))
}

impl Bits {
    fn add(&mut self, owner: OwnerId) {
        let (word, bit) = place(owner);
        self.0[word] |= bit;
    }

    fn has(&self, owner: OwnerId) -> bool {
        let (word, bit) = place(owner);
        self.0[word] & bit != 0
    }
}

impl Digest {
    /// Sets the digest to these bits. Returns whether there are any among them that it did not have.
    fn replace(&self, bits: &Bits) -> bool {
        let mut grown = false;
        for (word, &bits) in self.words.iter().zip(&bits.0) {
            let before = word.load(Ordering::Acquire);
            grown |= bits & !before != 0;
            if bits != before {
                word.store(bits, Ordering::Release);
            }
        }
        grown
    }

    fn clear(&self) {
        self.replace(&Bits::default());
    }

    fn unite_into(&self, union: &mut Bits) {
        for (word, bits) in self.words.iter().zip(&mut union.0) {
            *bits |= word.load(Ordering::Acquire);
        }
    }

    fn covers(&self, bits: &Bits) -> bool {
        self.words.iter().zip(&bits.0).all(|(word, bits)| bits & !word.load(Ordering::Acquire) == 0)
    }

    fn has(&self, owner: OwnerId) -> bool {
        let (word, bit) = place(owner);
        self.words[word].load(Ordering::Acquire) & bit != 0
    }
}

/// A set of owners, as a bitmap that all threads may change.
#[derive(Debug)]
struct OwnerSet {
    words: PerOwner<AtomicU64>,
    /// The number of the first word from which on no word was ever used.
    end: AtomicU32,
}

/// An owner's stay in a set, which ends when this is dropped.
struct Entered<'s>(&'s OwnerSet, OwnerId);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let (word, bit) = OwnerSet::place(self.1);
        self.0.words.get(word).fetch_and(!bit, Ordering::AcqRel);
    }
}

impl OwnerSet {
    fn new() -> Self {
        Self { words: PerOwner::new(), end: AtomicU32::new(0) }
    }

    /// Returns the word of an owner's bit, numbered as owners are, and the bit.
    fn place(owner: OwnerId) -> (OwnerId, u64) {
        (OwnerId(owner.0 / 64), 1 << (owner.0 % 64))
    }

    fn enter(&self, owner: OwnerId) -> Entered<'_> {
        let (word, bit) = Self::place(owner);
        self.words.get(word).fetch_or(bit, Ordering::AcqRel);
        if self.end.load(Ordering::Acquire) <= word.0 {
            self.end.fetch_max(word.0 + 1, Ordering::AcqRel);
        }
        Entered(self, owner)
    }

    fn iter(&self) -> impl Iterator<Item = OwnerId> + '_ {
        let bits = |word: u32| {
            let bits = self.words.get(OwnerId(word)).load(Ordering::Acquire);
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| OwnerId(word * 64 + bit))
        };
        (0..self.end.load(Ordering::Acquire)).flat_map(bits)
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_digest_says_when_it_grows() {
        let digest = Digest::default();
        let bits = |owners: &[u32]| {
            let mut bits = Bits::default();
            owners.iter().for_each(|&owner| bits.add(OwnerId(owner)));
            bits
        };
        for (owners, grown) in [(&[3, 700][..], true), (&[3, 700], false), (&[700], false), (&[3], true), (&[], false)]
        {
            assert_eq!(digest.replace(&bits(owners)), grown, "{owners:?}");
            assert!(digest.covers(&bits(owners)));
            let mut union = bits(&[1]);
            digest.unite_into(&mut union);
            assert_eq!(union, bits(&[owners, &[1]].concat()));
        }
        assert!(!digest.covers(&bits(&[1])) && !digest.has(OwnerId(3)));
        assert!(bits(&[BITS + 5]).has(OwnerId(5)), "owners share bits");
    }

    #[test]
    fn a_set_of_owners_has_those_who_are_in_it() {
        let set = OwnerSet::new();
        let entered: Vec<_> =
            [0, 5, 63, 64, 1_000, 20_000].into_iter().map(|owner| set.enter(OwnerId(owner))).collect();
        assert_eq!(set.iter().map(|owner| owner.0).collect::<Vec<_>>(), [0, 5, 63, 64, 1_000, 20_000]);
        drop(entered);
        assert_eq!(set.iter().count(), 0);
    }
}
