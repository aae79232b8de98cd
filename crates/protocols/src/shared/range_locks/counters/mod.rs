//! The counters of prefixes: VLLR's lock state.
//!
//! **Source.** §2.7, Figs. 5 and 6.
//!
//! | paper | here |
//! | --- | --- |
//! | C_X, C_S, I_X, I_S of a prefix | [`Claim`], counted in a slot of [`PrefixCounters`] |
//! | RequestLock | [`PrefixCounters::request`] |
//! | RequestPrefixLock, ReleasePrefixLock | [`Prefix::counted`] says what is counted for a prefix, [`PrefixLocks::push`] gathers it |
//! | ReleaseLock | [`PrefixCounters::release`] |
//! | TxnQueue.Enqueue, TxnQueue.Remove | the caller's, in the same critical section |
//!
//! **Invariants**
//!
//! 1. *Counters equal requests.* A counter is the number of times that its prefix is counted in its way in the requests
//!    that were not released; [`audit`](PrefixCounters::audit) compares.
//! 2. *Idle prefixes are gone.* A prefix has a slot while one of its counters is not zero, and no longer.
//! 3. *A granted transaction conflicts with none before it.* Locks on two prefixes conflict if one of the two is a
//!    prefix of the other, and one lock is exclusive. Then one of the two is counted as locked where the other is
//!    counted, as locked or as intending, and that is one of the pairs of Fig. 5.
//!
//! **Departures**
//!
//! - Counters are found by the prefix's name, a hash of 64 bits that is taken before the critical section, in a table
//!   that compares it. Where the paper's counters are shared by all prefixes with one hash, here hardly any are.
//! - A transaction may lock several prefixes. What it counts once for two of them it counts once only, where it asks
//!   for them in order; and what it counted itself is no conflict. Its own counts are looked for only when a conflict
//!   seems found.
//! - The empty prefix is counted too: it is the whole index, and scans of everything lock it.

use super::prefix::Prefix;
use crate::shared::contention::{CLAIMS, Claim, Mark};
use crate::shared::hashed::{HashMap, HashSet};
use smallvec::SmallVec;
use std::fmt;

/// A part of a lock request that is counted once: the name of a prefix, and the claim on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    name: u64,
    claim: Claim,
}

impl Counted {
    /// Makes the count of a claim on the prefix of this name, which is a hash, good in all its bits.
    #[inline]
    pub(crate) fn new(name: u64, claim: Claim) -> Self {
        // No name is zero: that is an empty slot.
        Self { name: name.max(1), claim }
    }

    /// Returns the name of the prefix.
    #[inline]
    pub(crate) fn name(self) -> u64 {
        self.name
    }

    /// Returns the claim on the prefix.
    #[inline]
    pub(crate) fn claim(self) -> Claim {
        self.claim
    }

    /// Returns the mark by which a contention analysis finds conflicts with this count.
    #[inline]
    pub(crate) fn mark(self) -> Mark {
        Mark::new(self.name, self.claim)
    }
}

/// The prefixes that one transaction asks to lock, as the counts that the request makes: the locks, and the intentions
/// on shorter prefixes. The next transaction uses the lists again.
#[derive(Clone, Debug, Default)]
pub struct PrefixLocks {
    counted: Vec<Counted>,
    /// The names from the top to the prefix that was added last, of the shared and of the exclusive prefixes.
    last: [SmallVec<[u64; 18]>; 2],
    /// The names of the exclusive prefixes among the first `gathered` counts, once many were searched.
    exclusive: HashSet<u64>,
    gathered: usize,
}

/// The number of counts up to which a search goes through them one by one.
const SEARCHED: usize = 64;

impl PrefixLocks {
    /// Removes all prefixes.
    pub(crate) fn clear(&mut self) {
        self.counted.clear();
        self.last.iter_mut().for_each(SmallVec::clear);
        self.exclusive.clear();
        self.gathered = 0;
    }

    /// Whether the prefix of this name is locked exclusively.
    pub(crate) fn holds(&mut self, name: u64) -> bool {
        if self.counted.len() <= SEARCHED {
            return self.counted.contains(&Counted::new(name, Claim::Exclusive));
        }
        let new = self.counted[self.gathered..].iter().filter(|counted| counted.claim == Claim::Exclusive);
        self.exclusive.extend(new.map(|counted| counted.name));
        self.gathered = self.counted.len();
        self.exclusive.contains(&Counted::new(name, Claim::Exclusive).name)
    }

    /// Adds a lock on everything below a prefix. Intentions on shorter prefixes that the last added prefix has as well
    /// are not counted again.
    #[inline]
    pub(crate) fn push(&mut self, prefix: Prefix, exclusive: bool) {
        let last = &mut self.last[usize::from(exclusive)];
        let mut common = true;
        for (level, (name, claim)) in prefix.counted(exclusive).enumerate() {
            let is_lock = matches!(claim, Claim::Exclusive | Claim::Shared);
            common = common && last.get(level) == Some(&name);
            if common {
                if level + 1 == last.len() {
                    // The last prefix is this one, or one above it.
                    return;
                }
                if !is_lock {
                    continue;
                }
                last.truncate(level + 1);
            } else {
                last.truncate(level);
                last.push(name);
            }
            self.counted.push(Counted::new(name, claim));
        }
    }

    /// Adds counts that were requested later than these.
    pub(crate) fn append(&mut self, more: &[Counted]) {
        self.counted.extend_from_slice(more);
    }

    /// Returns the counts of all prefixes.
    #[inline]
    pub(crate) fn counted(&self) -> &[Counted] {
        &self.counted
    }

    /// Whether no prefix is asked for.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }
}

/// The counters of the locks that transactions have requested on prefixes.
///
/// **Thread safety.** The type has none of its own: it belongs to the critical section, or to the partition, in which
/// locks are requested.
///
/// The counters are in a hash table of open addressing, at most a quarter full. Most names are where they belong, and a
/// slot that becomes free is filled at once by the names that had to go on because of it.
pub(crate) struct PrefixCounters {
    /// The slots, as many as a power of two.
    slots: Box<[Slot]>,
    used: usize,
}

/// A slot of the table: a prefix that has been asked for, or, with the name 0, nothing.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Slot {
    name: u64,
    /// The counters, 32 bits for each of [`CLAIMS`], the first one lowest.
    counters: u128,
}

const _: () = assert!(size_of::<Slot>() == 32);

const EMPTY: Slot = Slot { name: 0, counters: 0 };

/// The number of slots of an unused table.
const SLOTS_MIN: usize = 256;

/// The value that one more request of a claim adds to the counters.
const ONE: [u128; CLAIMS.len()] = [1, 1 << 32, 1 << 64, 1 << 96];

/// The bit that a counter has which cannot grow any more. It is reached long before 2^32.
const FULL: [u128; CLAIMS.len()] = [1 << 31, 1 << 63, 1 << 95, 1 << 127];

/// The bits of the counters that a claim conflicts with.
const CONFLICTING: [u128; CLAIMS.len()] = {
    let mut masks = [0; CLAIMS.len()];
    let mut claim = 0;
    while claim < CLAIMS.len() {
        let mut others = CLAIMS[claim].conflicts();
        while let [other, rest @ ..] = others {
            masks[claim] |= (u32::MAX as u128) << (32 * *other as usize);
            others = rest;
        }
        claim += 1;
    }
    masks
};

/// The error of a request that a counter has no room for: there are 2^31 of one kind on one prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyRequests;

impl fmt::Display for TooManyRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("2147483648 requests for one range of keys at once; fewer transactions in flight are expected")
    }
}

impl std::error::Error for TooManyRequests {}

impl Default for PrefixCounters {
    fn default() -> Self {
        Self { slots: vec![EMPTY; SLOTS_MIN].into(), used: 0 }
    }
}

impl PrefixCounters {
    /// Counts a request of a transaction that has requested nothing else (RequestLock of Fig. 6). Returns whether it is
    /// granted: no request of another transaction conflicts.
    ///
    /// # Errors
    /// Fails if a counter is full; nothing is counted then.
    #[inline]
    pub(crate) fn request(&mut self, wanted: &[Counted]) -> Result<bool, TooManyRequests> {
        self.request_more(&[], wanted)
    }

    /// Counts a further request of a transaction that has requested `held` before. Returns whether it is granted: no
    /// request of another transaction conflicts.
    ///
    /// # Errors
    /// Fails if a counter is full. Nothing is counted then.
    #[inline]
    pub(crate) fn request_more(&mut self, held: &[Counted], wanted: &[Counted]) -> Result<bool, TooManyRequests> {
        let conflicts = self.count(wanted)?;
        Ok(!conflicts || !self.others_conflict(held, wanted, true))
    }

    /// Counts a request as [`request`](Self::request) does. The prefixes of the request are all different, so the check
    /// for conflicts of the request with itself is left out.
    #[inline]
    pub(crate) fn request_once(&mut self, wanted: &[Counted]) -> Result<bool, TooManyRequests> {
        self.count(wanted).map(|conflicts| !conflicts)
    }

    /// Counts a request, and returns whether it meets a count that conflicts, be it one of its own.
    #[inline]
    fn count(&mut self, wanted: &[Counted]) -> Result<bool, TooManyRequests> {
        self.reserve(wanted.len());
        let mut conflicts = false;
        for (position, &Counted { name, claim }) in wanted.iter().enumerate() {
            let index = self.find(name);
            let claim = claim as usize;
            let slot = &mut self.slots[index];
            let suspicious = slot.counters & (CONFLICTING[claim] | FULL[claim]) != 0;
            self.used += usize::from(slot.name == 0);
            slot.name = name;
            slot.counters = slot.counters.wrapping_add(ONE[claim]);
            if suspicious {
                if slot.counters.wrapping_sub(ONE[claim]) & FULL[claim] != 0 {
                    self.release(&wanted[..=position]);
                    return Err(TooManyRequests);
                }
                conflicts = true;
            }
        }
        Ok(conflicts)
    }

    /// Whether a request for `wanted` would not be granted to a transaction that has requested `held`, and nothing
    /// else.
    #[inline]
    pub(crate) fn would_conflict(&self, held: &[Counted], wanted: &[Counted]) -> bool {
        let conflicts = |&Counted { name, claim }: &Counted| {
            self.slots[self.find(name)].counters & CONFLICTING[claim as usize] != 0
        };
        wanted.iter().any(conflicts) && self.others_conflict(held, wanted, false)
    }

    /// Takes a request back (ReleaseLock of Fig. 6), granted or not.
    #[inline]
    pub(crate) fn release(&mut self, requested: &[Counted]) {
        for &Counted { name, claim } in requested {
            let index = self.find(name);
            let slot = &mut self.slots[index];
            debug_assert!((slot.counters >> (32 * claim as usize)) as u32 != 0, "released but not requested");
            slot.counters = slot.counters.wrapping_sub(ONE[claim as usize]);
            if slot.counters == 0 {
                self.erase(index);
            }
        }
        if self.slots.len() > SLOTS_MIN && self.used * 32 < self.slots.len() {
            self.resize(self.slots.len() / 2);
        }
    }

    /// Whether the counts of other transactions conflict with one of `wanted`.
    #[cold]
    fn others_conflict(&self, held: &[Counted], wanted: &[Counted], counted: bool) -> bool {
        let own = held.iter().chain(if counted { wanted } else { &[] });
        let mut own: Vec<Counted> = own.copied().collect();
        own.sort_unstable_by_key(|counted| counted.name);
        wanted.iter().any(|&Counted { name, claim }| {
            let begin = own.partition_point(|counted| counted.name < name);
            let of_name = own[begin..].iter().take_while(|counted| counted.name == name);
            let own: u128 = of_name.map(|counted| ONE[counted.claim as usize]).sum();
            let all = self.slots[self.find(name)].counters;
            all.wrapping_sub(own) & CONFLICTING[claim as usize] != 0
        })
    }

    /// Returns the number of prefixes on which a request is counted.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Whether no request is counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns the counters of the prefix with this name, in the order of [`CLAIMS`].
    #[cfg(test)]
    pub(crate) fn counters(&self, name: u64) -> [u32; CLAIMS.len()] {
        let counters = self.slots[self.find(name.max(1))].counters;
        CLAIMS.map(|claim| (counters >> (32 * claim as usize)) as u32)
    }

    /// Compares the counters with all requests that were not released.
    ///
    /// # Errors
    /// The text says what differs.
    pub(crate) fn audit<'r>(&self, requests: impl IntoIterator<Item = &'r [Counted]>) -> Result<(), String> {
        let mut expected: HashMap<u64, u128> = HashMap::default();
        for &Counted { name, claim } in requests.into_iter().flatten() {
            *expected.entry(name).or_default() += ONE[claim as usize];
        }
        for (&name, &counters) in &expected {
            let found = self.slots[self.find(name)].counters;
            if found != counters {
                let [found, counters] = [found, counters].map(|counters| format!("{counters:#034x}"));
                return Err(format!("prefix {name:#018x} is counted {found}, its requests are {counters}"));
            }
        }
        let slots = self.slots.iter().filter(|slot| slot.name != 0).count();
        if slots != expected.len() || slots != self.used {
            let (used, requested) = (self.used, expected.len());
            return Err(format!("{slots} prefixes have slots, {used} are counted, {requested} are requested"));
        }
        Ok(())
    }

    /// Returns the slot where a name is, or would be.
    #[inline]
    fn find(&self, name: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = name as usize & mask;
        while self.slots[index].name != name && self.slots[index].name != 0 {
            index = (index + 1) & mask;
        }
        index
    }

    /// Frees a slot, and moves the names up that stand behind it because of it.
    #[inline]
    fn erase(&mut self, index: usize) {
        let mask = self.slots.len() - 1;
        let (mut free, mut next) = (index, (index + 1) & mask);
        while self.slots[next].name != 0 {
            let home = self.slots[next].name as usize & mask;
            let distance = |to: usize| next.wrapping_sub(to) & mask;
            if distance(home) >= distance(free) {
                self.slots[free] = self.slots[next];
                free = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[free] = EMPTY;
        self.used -= 1;
    }

    /// Makes room for so many more prefixes.
    #[inline]
    fn reserve(&mut self, more: usize) {
        let needed = (self.used + more) * 4;
        if needed > self.slots.len() {
            self.resize(needed.next_power_of_two());
        }
    }

    #[cold]
    fn resize(&mut self, slots: usize) {
        let before = std::mem::replace(&mut self.slots, vec![EMPTY; slots].into());
        for slot in before.into_iter().filter(|slot| slot.name != 0) {
            let index = self.find(slot.name);
            self.slots[index] = slot;
        }
    }
}

impl fmt::Debug for PrefixCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrefixCounters").field("prefixes", &self.used).field("slots", &self.slots.len()).finish()
    }
}

#[cfg(test)]
mod tests;
