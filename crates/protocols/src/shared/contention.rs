//! Selective contention analysis: which blocked transaction of a queue conflicts with none before it?
//!
//! **Source.** VLL: A Lock Manager Redesign for Main Memory Database Systems, §2.6 and Fig. 4; for ranges §2.7.
//!
//! **The idea.** Counters tell *that* there is a conflict, not with which transaction. An analysis walks the queue from
//! its front and keeps two bit arrays, of the requests so far, exclusive and shared; the first blocked transaction none
//! of whose requests meets a bit can run. Prefix locks bring two more arrays, for the intentions on shorter prefixes.
//!
//! | paper | code |
//! | --- | --- |
//! | D_X, D_S, two bit arrays of 100 kB | [`Analysis`], [`BITS`] |
//! | the list of offsets cached in the transaction | [`Mark`]s |
//! | bit maps for I_X and I_S | [`Claim::IntendExclusive`], [`Claim::IntendShared`] |
//! | `SCA()` | [`Analysis::find`] |
//!
//! **No false positives.** Equal names have equal marks, so a conflict always meets a bit. Different names may share
//! one: then a transaction that could run is passed over.
//!
//! # Departures
//!
//! A transaction's marks are checked all together before any of them is set. In Fig. 4 they are set on the way, so that
//! a transaction that reads and writes one record finds itself in its way.
//!
//! The arrays are not zeroed for each run: the words that the last run touched are.

use hotrow_txn::AnalysisCounts;

/// The number of bits of each array, which takes 100 kB.
pub(crate) const BITS: usize = 819_200;

/// The mode of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// An exclusive lock on a record or prefix: C_X.
    Exclusive,
    /// A shared lock on a record or prefix: C_S.
    Shared,
    /// An exclusive lock on something below this prefix: I_X.
    IntendExclusive,
    /// A shared lock on something below this prefix: I_S.
    IntendShared,
}

/// All claims, in the order of the analysis's arrays.
pub(crate) const CLAIMS: [Claim; 4] = [Claim::Exclusive, Claim::Shared, Claim::IntendExclusive, Claim::IntendShared];

impl Claim {
    /// Returns the claims that this one conflicts with (Fig. 5).
    #[inline]
    pub(crate) const fn conflicts(self) -> &'static [Claim] {
        match self {
            Claim::Exclusive => &CLAIMS,
            Claim::Shared => &[Claim::Exclusive, Claim::IntendExclusive],
            Claim::IntendExclusive => &[Claim::Exclusive, Claim::Shared],
            Claim::IntendShared => &[Claim::Exclusive],
        }
    }
}

/// A lock request in the form that the analysis reads: the position of its bit in the arrays, and its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u32);

const _: () = assert!(BITS << 2 <= u32::MAX as usize);

impl Mark {
    /// Makes the mark of a claim on this 64-bit name. The name is a hash, whose highest bits choose the bit.
    #[inline]
    pub(crate) fn new(name: u64, claim: Claim) -> Self {
        let offset = ((name >> 32) * BITS as u64) >> 32;
        Mark((offset as u32) << 2 | claim as u32)
    }

    /// Returns the mark as a word, which can be stored in an atomic.
    #[inline]
    pub(crate) fn to_word(self) -> u32 {
        self.0
    }

    /// Returns the mark that [`to_word`](Self::to_word) made into this word.
    #[inline]
    pub(crate) fn from_word(word: u32) -> Self {
        Mark(word)
    }

    #[inline]
    fn claim(self) -> Claim {
        CLAIMS[(self.0 & 3) as usize]
    }

    /// Returns the position of the word in the claim's array that has the mark's bit, and the bit.
    #[inline]
    fn place(self) -> (usize, u64) {
        let offset = (self.0 >> 2) as usize;
        (offset / 64, 1 << (offset % 64))
    }
}

/// The state of the analysis: its bit arrays, which successive runs reuse, and its statistics. One thread at a time
/// uses it.
#[derive(Debug, Default)]
pub struct Analysis {
    /// The arrays, by claim. An array is empty until its first bit is set.
    arrays: [Vec<u64>; 4],
    /// The words that are not zero: array and position.
    touched: Vec<(u8, u32)>,
    counts: AnalysisCounts,
}

impl Analysis {
    /// Returns the first blocked transaction of a queue that conflicts with no transaction before it (Fig. 4), or
    /// `None` if there is none. `queue` yields the transactions in order, each with whether it is blocked, and its
    /// marks.
    pub(crate) fn find<T, M>(&mut self, queue: impl IntoIterator<Item = (T, bool, M)>) -> Option<T>
    where
        M: Iterator<Item = Mark> + Clone,
    {
        self.counts.runs += 1;
        let mut found = None;
        for (transaction, is_blocked, marks) in queue {
            if is_blocked && !marks.clone().any(|mark| self.meets(mark)) {
                found = Some(transaction);
                self.counts.found += 1;
                break;
            }
            marks.for_each(|mark| self.set(mark));
        }
        self.clear();
        found
    }

    /// Returns the counts of all runs so far.
    pub(crate) fn counts(&self) -> AnalysisCounts {
        self.counts
    }

    /// Whether a transaction earlier in the queue asked for something that conflicts with this mark.
    #[inline]
    fn meets(&self, mark: Mark) -> bool {
        let (word, bit) = mark.place();
        mark.claim()
            .conflicts()
            .iter()
            .any(|&claim| self.arrays[claim as usize].get(word).is_some_and(|w| w & bit != 0))
    }

    #[inline]
    fn set(&mut self, mark: Mark) {
        let (word, bit) = mark.place();
        let array = &mut self.arrays[mark.claim() as usize];
        if array.is_empty() {
            array.resize(BITS.div_ceil(64), 0);
        }
        if array[word] == 0 {
            self.touched.push((mark.claim() as u8, word as u32));
        }
        self.counts.bits += u64::from(array[word] & bit == 0);
        array[word] |= bit;
    }

    fn clear(&mut self) {
        for (claim, word) in self.touched.drain(..) {
            self.arrays[usize::from(claim)][word as usize] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::mix;

    /// `X3 s4`: exclusive on 3, shared on 4; `i` and `I` are intentions.
    fn marks(text: &str) -> Vec<Mark> {
        let mark = |request: &str| {
            let (claim, name) = request.split_at(1);
            let claim = match claim {
                "X" => Claim::Exclusive,
                "s" => Claim::Shared,
                "I" => Claim::IntendExclusive,
                "i" => Claim::IntendShared,
                other => panic!("no claim is called {other}"),
            };
            Mark::new(mix(name.parse().expect("a number")), claim)
        };
        text.split_whitespace().map(mark).collect()
    }

    /// Each transaction is `free: …` or `blocked: …`; the result is the position of the one that is found.
    fn check(analysis: &mut Analysis, queue: &[&str], expected: Option<usize>) {
        let transactions: Vec<_> = queue
            .iter()
            .map(|text| {
                let (state, requests) = text.split_once(':').expect("a state and requests");
                (state == "blocked", marks(requests))
            })
            .collect();
        let walk = transactions.iter().enumerate().map(|(at, (blocked, marks))| (at, *blocked, marks.iter().copied()));
        assert_eq!(analysis.find(walk), expected, "{queue:?}");
        assert!(analysis.touched.is_empty() && analysis.arrays.iter().flatten().all(|&word| word == 0));
    }

    #[test]
    fn the_first_that_conflicts_with_none_before_it_is_found() {
        let analysis = &mut Analysis::default();
        let cases: &[(&[&str], Option<usize>)] = &[
            (&[], None),
            (&["free: X1"], None),
            (&["free: X1", "blocked: X1"], None),
            (&["free: X1", "blocked: X2"], Some(1)),
            (&["free: X1", "blocked: X1 X2", "blocked: X2"], None),
            (&["free: X1", "blocked: X1 X2", "blocked: X3"], Some(2)),
            (&["free: X1", "blocked: s1", "blocked: s2", "blocked: X3"], Some(2)),
            (&["free: s1", "blocked: s1"], Some(1)),
            (&["free: s1", "blocked: X1"], None),
            (&["free: X1", "blocked: s1"], None),
            (&["free: s1", "blocked: X1", "blocked: s1"], None),
            // §2.5 after A has completed: C holds all that it asked for.
            (&["free: X2", "blocked: X1 X3", "blocked: X3"], Some(1)),
            // One that reads and writes the same record is not in its own way.
            (&["free: X1", "blocked: s2 X2"], Some(1)),
        ];
        for (queue, expected) in cases {
            check(analysis, queue, *expected);
        }
    }

    #[test]
    fn intentions_conflict_as_the_table_says() {
        let analysis = &mut Analysis::default();
        let table = [("X", "XXXX"), ("s", "X.X."), ("I", "XX.."), ("i", "X...")];
        for (held, row) in table {
            for (wanted, cell) in ["X", "s", "I", "i"].into_iter().zip(row.chars()) {
                let expected = (cell == '.').then_some(1);
                check(analysis, &[&format!("free: {held}7"), &format!("blocked: {wanted}7")], expected);
            }
        }
    }

    #[test]
    fn what_was_done_is_counted() {
        let analysis = &mut Analysis::default();
        check(analysis, &["free: X1 s2", "blocked: X1 X5", "blocked: X3"], Some(2));
        assert_eq!(analysis.counts(), AnalysisCounts { runs: 1, found: 1, bits: 3 });
        check(analysis, &["free: X1", "blocked: X1"], None);
        assert_eq!(analysis.counts(), AnalysisCounts { runs: 2, found: 1, bits: 4 });
    }

    #[test]
    fn every_name_has_a_place() {
        for name in [0, 1, u64::MAX, u64::MAX - 1, 1 << 32] {
            let (word, _) = Mark::new(name, Claim::IntendShared).place();
            assert!(word < BITS.div_ceil(64), "{name}");
            assert_eq!(Mark::from_word(Mark::new(name, Claim::Shared).to_word()).claim(), Claim::Shared);
        }
    }
}
