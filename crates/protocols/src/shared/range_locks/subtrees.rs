//! The counters of prefixes where every bit is a level: six levels to a block.
//!
//! The paper's counters cost one step for each bit of a prefix, to count and to give back. Most of them say the same of
//! each other: a transaction that locks a prefix intends something on all that are above it. Here the prefixes down to
//! six bits below one are a *block*, and a lock is counted once in each block on the way to its prefix:
//!
//! - in the block of the prefix, at its *node*, of 63: C_X and C_S of the paper;
//! - in each block above it, at the *exit*, of 64, by which the way leaves the block: I_X and I_S of the prefix there.
//!
//! The intentions on nodes are not counted. Each block has a bit for every node that is locked and for every exit that
//! is passed, so what lies above a node, or below it, is found with one mask.
//!
//! | Fig. 5 | here |
//! | --- | --- |
//! | a lock against locks on and above its prefix | bits of nodes on the way, [`WAY`] and [`RELATED`], in all blocks |
//! | a lock against intentions on its prefix, and so against locks below it | bits of nodes and exits below it, [`RELATED`] and [`BELOW`] |
//!
//! **Invariants**
//!
//! 1. A counter is the number of requests that were counted there and not given back; a bit is set while its counter is
//!    not zero.
//! 2. A block is there while one of its counters is not zero; those of the first twelve levels, which are few, always
//!    are.
//! 3. Two prefixes, one of which begins with the other, meet in the block of the shorter one: at two of its nodes, or
//!    at a node and an exit below it.

use hotrow_txn::AnalysisCounts;
use smallvec::SmallVec;

/// The number of levels of a block. With six, its exits are the bits of a word.
const LEVELS: u32 = 6;

/// The number of exits of a block, and of places for its nodes. Node 1 is the topmost; below node n are 2n and 2n + 1.
/// There is no node 0.
const PLACES: usize = 1 << LEVELS;

const _: () = assert!(PLACES == u64::BITS as usize);

/// The nodes on the way to each exit, one bit each.
const WAY: [u64; PLACES] = {
    let mut ways = [0; PLACES];
    let mut exit = 0;
    while exit < PLACES {
        let mut node = (PLACES + exit) / 2;
        while node > 0 {
            ways[exit] |= 1 << node;
            node /= 2;
        }
        exit += 1;
    }
    ways
};

/// The exits below each node, one bit each.
const BELOW: [u64; PLACES] = {
    let mut below = [0; PLACES];
    let mut exit = 0;
    while exit < PLACES {
        let mut node = (PLACES + exit) / 2;
        while node > 0 {
            below[node] |= 1 << exit;
            node /= 2;
        }
        exit += 1;
    }
    below
};

/// Each node itself, and the nodes above and below it, one bit each.
const RELATED: [u64; PLACES] = {
    let mut related = [0; PLACES];
    let mut node = 1;
    while node < PLACES {
        let mut above = node;
        while above > 0 {
            related[node] |= 1 << above;
            related[above] |= 1 << node;
            above /= 2;
        }
        node += 1;
    }
    related
};

/// The requests in a block: a bit for each place, of shared and of exclusive requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits {
    /// The nodes that are locked.
    locked: [u64; 2],
    /// The exits that are passed.
    passed: [u64; 2],
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Block {
    /// The leading bits of all prefixes in and below the block, and the number of these bits.
    prefix: u64,
    depth: u32,
    /// The number of requests that are counted in this block.
    users: u32,
    bits: Bits,
    /// The counters of locks, by place, shared and exclusive.
    locks: [[u32; 2]; PLACES],
    passes: [[u32; 2]; PLACES],
}

/// The place where a request is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    block: u32,
    place: u8,
    /// Whether the place is a node.
    is_lock: bool,
    exclusive: bool,
}

/// The places where one transaction's requests are counted. The next transaction uses the list again.
#[derive(Clone, Debug, Default)]
pub struct Counts(SmallVec<[Count; 4]>);

/// The leading bits of some keys, which have 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BitPrefix {
    /// The bits, from the most significant one.
    pub(super) bits: u64,
    /// The number of bits that count.
    pub(super) depth: u32,
}

/// The counters of all prefixes of 64-bit keys that have been asked for. One thread uses them.
pub(super) struct Subtrees {
    /// All blocks. The first ones are those of the first twelve levels, in order.
    blocks: Vec<Block>,
    /// The numbers of unused blocks.
    free: Vec<u32>,
    /// The numbers of the other blocks, or 0, in a hash table of open addressing, at most a quarter full.
    index: Box<[u32]>,
    used: usize,
}

/// The number of blocks of the first twelve levels.
const STANDING: usize = 1 + PLACES;

/// The number of slots of an unused hash table.
const SLOTS_MIN: usize = 256;

impl Bits {
    /// Whether a request that is counted at a place conflicts with these requests.
    #[inline]
    fn conflict(&self, count: Count) -> bool {
        let place = usize::from(count.place);
        // Shared requests mind exclusive ones only.
        let of = |bits: [u64; 2]| bits[1] | if count.exclusive { bits[0] } else { 0 };
        let in_the_way = match count.is_lock {
            true => of(self.locked) & RELATED[place] | of(self.passed) & BELOW[place],
            false => of(self.locked) & WAY[place],
        };
        in_the_way != 0
    }

    /// Returns the word that has a request's bit.
    #[inline]
    fn word(&mut self, count: Count) -> &mut u64 {
        let words = if count.is_lock { &mut self.locked } else { &mut self.passed };
        &mut words[usize::from(count.exclusive)]
    }
}

impl Block {
    fn new(prefix: u64, depth: u32) -> Self {
        let zeros = [[0; 2]; PLACES];
        Self { prefix, depth, users: 0, bits: Bits::default(), locks: zeros, passes: zeros }
    }

    #[inline]
    fn counter(&mut self, count: Count) -> &mut u32 {
        let counters = if count.is_lock { &mut self.locks } else { &mut self.passes };
        &mut counters[usize::from(count.place) % PLACES][usize::from(count.exclusive)]
    }
}

impl Default for Subtrees {
    fn default() -> Self {
        let index = vec![0; SLOTS_MIN].into();
        let below = (0..PLACES as u64).map(|exit| Block::new(exit << (u64::BITS - LEVELS), LEVELS));
        let blocks = std::iter::once(Block::new(0, 0)).chain(below).collect();
        Self { blocks, free: Vec::new(), index, used: 0 }
    }
}

impl Subtrees {
    /// Counts a request for everything below a prefix (RequestPrefixLock of Fig. 6). Returns whether it conflicts with
    /// none before it. The places where it was counted are added to `counts`. One transaction does not ask for two
    /// prefixes of which one begins with the other.
    #[inline]
    pub(super) fn request(&mut self, prefix: BitPrefix, exclusive: bool, counts: &mut Counts) -> bool {
        let BitPrefix { bits, depth } = prefix;
        let mut conflicts = false;
        let mut above = 0;
        while above + LEVELS <= depth {
            let exit = (bits << above >> (u64::BITS - LEVELS)) as u8;
            let block = self.block(bits, above);
            conflicts |= self.count(Count { block, place: exit, is_lock: false, exclusive }, counts);
            above += LEVELS;
        }
        let rest = depth - above;
        let node = 1 << rest | (bits << above >> (u64::BITS - LEVELS) >> (LEVELS - rest)) as u8;
        let block = self.block(bits, above);
        conflicts |= self.count(Count { block, place: node, is_lock: true, exclusive }, counts);
        !conflicts
    }

    /// Counts a request at a place, and returns whether it conflicts with one that was counted before.
    #[inline]
    fn count(&mut self, count: Count, counts: &mut Counts) -> bool {
        let block = &mut self.blocks[count.block as usize];
        let conflicts = block.bits.conflict(count);
        *block.bits.word(count) |= 1 << count.place;
        *block.counter(count) += 1;
        block.users += 1;
        counts.0.push(count);
        conflicts
    }

    /// Gives back all requests in `counts` (ReleasePrefixLock of Fig. 6).
    #[inline]
    pub(super) fn release(&mut self, counts: &mut Counts) {
        for &count in &counts.0 {
            let block = &mut self.blocks[count.block as usize];
            let counter = block.counter(count);
            *counter -= 1;
            if *counter == 0 {
                *block.bits.word(count) &= !(1 << count.place);
            }
            block.users -= 1;
            if block.users == 0 && count.block as usize >= STANDING {
                self.discard(count.block);
            }
        }
        counts.0.clear();
    }

    /// Whether no request is counted.
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0 && self.blocks[0].users == 0
    }

    /// Returns the number of the block below the first `depth` of `bits`. The block is made if there is none.
    #[inline]
    fn block(&mut self, bits: u64, depth: u32) -> u32 {
        if depth <= LEVELS {
            return if depth == 0 { 0 } else { 1 + (bits >> (u64::BITS - LEVELS)) as u32 };
        }
        let prefix = bits & !(u64::MAX >> depth);
        let slot = self.find(prefix, depth);
        match self.index[slot] {
            0 => self.make(prefix, depth, slot),
            number => number,
        }
    }

    fn make(&mut self, prefix: u64, depth: u32, slot: usize) -> u32 {
        let number = match self.free.pop() {
            Some(number) => {
                // All its counters are zero.
                let block = &mut self.blocks[number as usize];
                (block.prefix, block.depth) = (prefix, depth);
                number
            }
            None => {
                self.blocks.push(Block::new(prefix, depth));
                (self.blocks.len() - 1) as u32
            }
        };
        self.index[slot] = number;
        self.used += 1;
        if self.used * 4 > self.index.len() {
            self.grow();
        }
        number
    }

    /// Returns the slot of the index where a block is, or would be.
    #[inline]
    fn find(&self, prefix: u64, depth: u32) -> usize {
        let mask = self.index.len() - 1;
        let mut slot = home(prefix, depth) & mask;
        loop {
            let number = self.index[slot];
            let block = &self.blocks[number as usize];
            if number == 0 || block.prefix == prefix && block.depth == depth {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Removes a block from the index, and moves those up that stand behind it because of it.
    #[inline]
    fn discard(&mut self, number: u32) {
        let mask = self.index.len() - 1;
        let Block { prefix, depth, .. } = self.blocks[number as usize];
        let mut free = self.find(prefix, depth);
        let mut next = (free + 1) & mask;
        while self.index[next] != 0 {
            let Block { prefix, depth, .. } = self.blocks[self.index[next] as usize];
            let distance = |to: usize| next.wrapping_sub(to) & mask;
            if distance(home(prefix, depth) & mask) >= distance(free) {
                self.index[free] = self.index[next];
                free = next;
            }
            next = (next + 1) & mask;
        }
        self.index[free] = 0;
        self.used -= 1;
        self.free.push(number);
    }

    #[cold]
    fn grow(&mut self) {
        let slots = self.index.len() * 2;
        let before = std::mem::replace(&mut self.index, vec![0; slots].into());
        for number in before.into_iter().filter(|&number| number != 0) {
            let Block { prefix, depth, .. } = self.blocks[number as usize];
            let slot = self.find(prefix, depth);
            self.index[slot] = number;
        }
    }
}

/// Returns the hash of a block, by which a table of any size finds the block's slot.
#[inline]
fn home(prefix: u64, depth: u32) -> usize {
    let product = u128::from(prefix ^ u64::from(depth)) * 0x9E37_79B9_7F4A_7C15;
    ((product >> 64) ^ product >> 32) as usize
}

/// Selective contention analysis (§2.6) over blocks: the paper's bit arrays, but exact, since blocks of requests in the
/// queue stay where they are.
#[derive(Debug, Default)]
pub struct SubtreeAnalysis {
    /// The requests so far in the queue, by block.
    asked: Vec<Bits>,
    /// The numbers of the blocks that have any of these requests.
    touched: Vec<u32>,
    counts: AnalysisCounts,
}

impl SubtreeAnalysis {
    /// Appends the blocked transactions of a queue that conflict with none before them (Fig. 4) to `found`. The paper's
    /// analysis is over when it has found one transaction, but then the next analysis begins at the front again.
    pub(super) fn find<'c, T>(&mut self, queue: impl Iterator<Item = (T, bool, &'c Counts)>, found: &mut Vec<T>) {
        self.counts.runs += 1;
        for (transaction, is_blocked, Counts(counts)) in queue {
            let conflicts =
                |count: &Count| self.asked.get(count.block as usize).is_some_and(|asked| asked.conflict(*count));
            if is_blocked && !counts.iter().any(conflicts) {
                found.push(transaction);
                self.counts.found += 1;
            }
            counts.iter().for_each(|&count| self.ask(count));
        }
        for block in self.touched.drain(..) {
            self.asked[block as usize] = Bits::default();
        }
    }

    /// Returns the counts of all runs so far.
    pub(super) fn counts(&self) -> AnalysisCounts {
        self.counts
    }

    fn ask(&mut self, count: Count) {
        let number = count.block as usize;
        if self.asked.len() <= number {
            self.asked.resize(number + 1, Bits::default());
        }
        let bits = &mut self.asked[number];
        if *bits == Bits::default() {
            self.touched.push(count.block);
        }
        let word = bits.word(count);
        self.counts.bits += u64::from(*word & 1 << count.place == 0);
        *word |= 1 << count.place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the prefix whose bits are `text`, such as `0110`.
    fn prefix(text: &str) -> BitPrefix {
        let bits = u64::from_str_radix(text, 2).unwrap_or(0);
        let depth = text.len() as u32;
        BitPrefix { bits: bits.checked_shl(64 - depth).unwrap_or(0), depth }
    }

    /// Whether one of the two begins with the other.
    fn meet(a: BitPrefix, b: BitPrefix) -> bool {
        (a.bits ^ b.bits).leading_zeros() >= a.depth.min(b.depth)
    }

    #[test]
    fn masks_are_the_tree_of_a_block() {
        assert_eq!((WAY[0], WAY[63]), (0x1_0001_0116, 1 << 1 | 1 << 3 | 1 << 7 | 1 << 15 | 1 << 31 | 1 << 63));
        assert_eq!((BELOW[1], BELOW[2], BELOW[63]), (u64::MAX, u64::from(u32::MAX), 0b11 << 62));
        assert_eq!((RELATED[1], RELATED[63]), (!1, WAY[63]));
    }

    #[test]
    fn blocks_are_there_while_they_are_used() {
        let mut subtrees = Subtrees::default();
        let (mut a, mut b) = (Counts::default(), Counts::default());
        assert!(subtrees.request(prefix("0110011001100"), true, &mut a));
        assert_eq!((subtrees.used, a.0.len()), (1, 3));
        assert!(!subtrees.request(prefix("011001"), false, &mut b));
        assert_eq!((subtrees.used, b.0.len()), (1, 2));
        subtrees.release(&mut a);
        assert_eq!((subtrees.used, subtrees.is_empty()), (0, false));
        subtrees.release(&mut b);
        assert!(subtrees.is_empty() && subtrees.free.len() == 1);
        assert!(subtrees.blocks.iter().all(|block| block.bits == Bits::default()));
    }

    fn prefixes() -> impl Strategy<Value = BitPrefix> {
        // Few different bits, so that prefixes meet, and some that are as long as a key.
        (prop_oneof![0_u32..20, 60_u32..=64], 0_u64..16, 0_u32..58).prop_map(|(depth, bits, shift)| {
            let bits = (bits << 60 | bits << shift) & !u64::MAX.checked_shr(depth).unwrap_or(0);
            BitPrefix { bits, depth }
        })
    }

    proptest! {
        #[test]
        fn grants_are_those_of_a_list(steps in proptest::collection::vec((prefixes(), any::<bool>(), any::<usize>()), 1..200)) {
            let mut subtrees = Subtrees::default();
            let mut list: Vec<(BitPrefix, bool, Counts)> = Vec::new();
            for (prefix, exclusive, which) in steps {
                if which % 3 == 0 && !list.is_empty() {
                    let (_, _, mut counts) = list.remove(which / 3 % list.len());
                    subtrees.release(&mut counts);
                    continue;
                }
                let expected = !list.iter().any(|&(other, of_other, _)| meet(prefix, other) && (exclusive || of_other));
                let mut counts = Counts::default();
                prop_assert_eq!(subtrees.request(prefix, exclusive, &mut counts), expected, "{:?}", prefix);
                list.push((prefix, exclusive, counts));
            }
            while let Some((.., mut counts)) = list.pop() {
                subtrees.release(&mut counts);
            }
            prop_assert!(subtrees.is_empty());
            prop_assert!(subtrees.blocks.iter().all(|block| block.bits == Bits::default() && block.users == 0));
        }
    }
}
