//! The snapshots that transactions may read, published for garbage collection.
//!
//! **Invariants**
//!
//! 1. While a transaction reads at r, its slot says that it reads at r, or from some time on that is not later.
//! 2. It says so before the fence of entering its epoch, and draws r after it; a collector reads the clock, fences, and
//!    then reads the slots. So if the collector misses what the slot says, r is not earlier than the collector's time,
//!    and versions that ended by then are not for r to see.
//! 3. A transaction that raises the time from which on it reads needs no fence: what is collected because of that ended
//!    before.
//! 4. A transaction that reads from some time on may say, without a fence, that it reads at one time t from then on,
//!    for as long as it does. Before it reads at a later time it says that it reads from now on, or from t on if it
//!    will read at t again, fences, and draws the later time: as in 2. The versions between t and the time that is
//!    drawn may be gone.
//!
//! **What stays.** A version is collected when no time that is published lies in its life, whatever older readers there
//! are, in every table. So a transaction keeps at most one version of a row, while it reads at one time: at snapshot
//! and, for `mvo`, at repeatable read and serializable from its beginning to its end, otherwise during a
//! [scan](super::latest). Two kinds of versions stay beyond that:
//!
//! - versions that end while a transaction says that it reads from some time on: in calls, which are short but for
//!   serializable pessimists' scans of hash indexes;
//! - the last versions of rows that were deleted after the time of a transaction that may write: it must not take such
//!   a key for one that it may insert.

use super::clock::{Clock, Timestamp};
use hotrow_sync::atomic::{AtomicU64, Ordering, fence};

/// The versions that a transaction may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshot {
    Nothing,
    /// The versions of any time from this one on.
    From(Timestamp),
    /// The versions of one time, for a transaction that may write. The last versions of rows that were deleted after
    /// that time stay, too, so that the transaction does not take their keys for free.
    Exact(Timestamp),
    /// The versions of one time, for a transaction that only reads.
    ReadOnly(Timestamp),
}

const TAG_BITS: u32 = 2;

impl Snapshot {
    const fn encode(self) -> u64 {
        match self {
            Snapshot::Nothing => 0,
            Snapshot::From(time) => time.0 << TAG_BITS | 1,
            Snapshot::Exact(time) => time.0 << TAG_BITS | 2,
            Snapshot::ReadOnly(time) => time.0 << TAG_BITS | 3,
        }
    }

    const fn decode(word: u64) -> Self {
        let time = Timestamp(word >> TAG_BITS);
        match word & 3 {
            0 => Snapshot::Nothing,
            1 => Snapshot::From(time),
            2 => Snapshot::Exact(time),
            _ => Snapshot::ReadOnly(time),
        }
    }

    /// Decodes the snapshot that a slot publishes.
    pub fn of(slot: &AtomicU64) -> Self {
        Self::decode(slot.load(Ordering::Acquire))
    }

    /// Publishes the snapshot in a transaction's slot.
    #[inline]
    pub fn publish(self, slot: &AtomicU64) {
        slot.store(self.encode(), Ordering::Release);
    }
}

/// The read times of all transactions at one moment, from which a collector derives which versions no transaction can
/// read. An old view keeps versions longer than necessary, and never too short.
#[derive(Debug)]
pub(super) struct View {
    /// The time up to which ended versions may be collected, unless a transaction reads them.
    until: Timestamp,
    /// The times at which transactions read, in order.
    exact: Vec<Timestamp>,
    /// The earliest of the times at which transactions read that may also write.
    writer: Option<Timestamp>,
}

/// The time during which a version is the row: from `begin` on, and before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub begin: Timestamp,
    pub end: Timestamp,
    /// Whether the version was deleted, so that no other version came after it.
    pub is_last: bool,
}

/// The answer to whether a version that has ended can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No transaction can read the version any more, so it can be removed.
    Dead,
    /// The version is needed by transactions that read at this time: they see it, or must find out that the row was
    /// deleted. Transactions that read at other times may need it, too.
    Held(Timestamp),
    /// A transaction may read at any time from a moment on that is before the version's end. All versions that end
    /// later have the same verdict.
    TooEarly,
}

impl Default for View {
    /// Returns the view of a collector that has not looked yet.
    fn default() -> Self {
        Self { until: Timestamp::LOADED, exact: Vec::new(), writer: None }
    }
}

impl View {
    /// Returns the time up to which versions that have ended may be collected, unless their [`verdict`](Self::verdict)
    /// is that a transaction needs them.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// Updates the view from the snapshots that the transactions publish now. `slots` returns these snapshots. It is
    /// called after the fence of invariant 2: only then may the slots that are in use be counted and read.
    pub fn refresh<S: Iterator<Item = Snapshot>>(&mut self, clock: &Clock, slots: impl FnOnce() -> S) {
        let mut until = clock.now();
        // SeqCst: the collector's fence of invariant 2.
        fence(Ordering::SeqCst);
        self.exact.clear();
        self.writer = None;
        for snapshot in slots() {
            match snapshot {
                Snapshot::Nothing => {}
                Snapshot::From(low) => until = until.min(low),
                Snapshot::ReadOnly(time) => self.exact.push(time),
                Snapshot::Exact(time) => {
                    self.exact.push(time);
                    self.writer = Some(self.writer.map_or(time, |earliest| earliest.min(time)));
                }
            }
        }
        self.exact.sort_unstable();
        self.until = until;
    }

    /// Returns whether a version with this life can be removed, or which transactions still need it.
    pub fn verdict(&self, life: Life) -> Verdict {
        if self.until < life.end {
            return Verdict::TooEarly;
        }
        let first = self.exact.partition_point(|&time| time < life.begin);
        let reader = self.exact.get(first).copied();
        let writer = self.writer.filter(|_| life.is_last);
        let holder = [reader, writer].into_iter().flatten().find(|&time| time < life.end);
        holder.map_or(Verdict::Dead, Verdict::Held)
    }

    /// Whether a transaction reads at exactly this time.
    pub fn has_reader_at(&self, time: Timestamp) -> bool {
        self.exact.binary_search(&time).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_dead_when_nobody_reads_within_its_life() {
        let clock = Clock::new();
        while clock.next() < Timestamp(100) {}
        let mut view = View::default();
        let verdict = |view: &View, begin, end, is_last| {
            view.verdict(Life { begin: Timestamp(begin), end: Timestamp(end), is_last })
        };
        assert_eq!(verdict(&view, 10, 20, false), Verdict::TooEarly, "it has not looked");
        view.refresh(&clock, std::iter::empty);
        assert_eq!(verdict(&view, 10, 100, true), Verdict::Dead);
        assert_eq!(verdict(&view, 10, 101, false), Verdict::TooEarly);
        assert_eq!(verdict(&view, 30, 30, false), Verdict::Dead, "nobody ever saw it");

        let slots = [
            Snapshot::Nothing,
            Snapshot::ReadOnly(Timestamp(40)),
            Snapshot::Exact(Timestamp(50)),
            Snapshot::From(Timestamp(90)),
        ];
        view.refresh(&clock, || slots.into_iter());
        let cases = [
            (10, 40, false, Verdict::Dead),
            (10, 41, false, Verdict::Held(Timestamp(40))),
            (40, 45, false, Verdict::Held(Timestamp(40))),
            (41, 50, false, Verdict::Dead),
            (41, 50, true, Verdict::Dead),
            (41, 51, false, Verdict::Held(Timestamp(50))),
            (51, 60, false, Verdict::Dead),
            (51, 60, true, Verdict::Held(Timestamp(50))),
            (60, 90, false, Verdict::Dead),
            (60, 91, false, Verdict::TooEarly),
        ];
        for (begin, end, is_last, expected) in cases {
            assert_eq!(verdict(&view, begin, end, is_last), expected, "{begin}..{end}");
        }
    }

    #[test]
    fn a_slot_says_what_it_was_told() {
        let time = Timestamp(77);
        for snapshot in [Snapshot::Nothing, Snapshot::From(time), Snapshot::Exact(time), Snapshot::ReadOnly(time)] {
            assert_eq!(Snapshot::decode(snapshot.encode()), snapshot);
        }
    }
}
