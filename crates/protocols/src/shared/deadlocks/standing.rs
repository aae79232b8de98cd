//! The standing of a transaction when a deadlock's victim is chosen.

use hotrow_sync::Time;
use std::cmp::Ordering;

/// The number of defeats after which a transaction is ranked by its age alone.
const YIELDS: u32 = 8;

/// The span of time, about 4 ms, within which transactions count as being of one age, as long as they have not been
/// victims so often. Among them the one that closes a cycle is the best victim, because it runs, and no other has to be
/// woken to leave.
pub(super) const AGE_NS: u64 = 1 << 22;

/// The age of a transaction and the number of its defeats, by which a deadlock's victim is chosen. The retries of a
/// transaction keep its standing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// The time at which the transaction's first attempt began. For a one-shot transaction it is the time at which that
    /// first came to wait, which is hardly later, and costs a transaction that never waits no look at a clock.
    began: Option<Time>,
    /// The number of the transaction object, which tells apart transactions that began at one time.
    number: u32,
    one_shot: bool,
    /// The number of times that the transaction has been a victim.
    defeats: u32,
}

impl Standing {
    /// Begins an attempt of the transaction object with this number. `again` says whether the attempt is a retry of the
    /// last one, which keeps its age and defeats. `now` is called for interactive transactions only.
    #[inline]
    pub(crate) fn begin(&mut self, number: u32, one_shot: bool, again: bool, now: impl FnOnce() -> Time) {
        (self.number, self.one_shot) = (number, one_shot);
        if !again {
            (self.began, self.defeats) = ((!one_shot).then(now), 0);
        }
    }

    /// Notes that the transaction begins to wait. The age of a one-shot transaction counts from its first wait.
    pub(crate) fn waits(&mut self, now: Time) {
        self.began.get_or_insert(now);
    }

    /// Notes that the transaction was the victim of a deadlock.
    pub(crate) fn lost(&mut self) {
        self.defeats = self.defeats.saturating_add(1);
    }

    /// Whether the transaction has been a victim since its first attempt.
    pub(super) fn has_lost(&self) -> bool {
        self.defeats > 0
    }

    /// Returns the number of the transaction object.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the transaction's rank among the transactions that wait for a ticket for hot locks. The least rank,
    /// which is that of the oldest transaction, is let in first.
    pub(super) fn turn(&self) -> (Time, u32) {
        (self.began.unwrap_or_default(), self.number)
    }

    /// Orders transactions for the choice of a victim: the greatest is the victim. One-shot transactions come before
    /// others, because they are tried again without a client's help, but only for so many times, so that each of them
    /// ends. Of the rest the youngest comes first. Transactions of one age are equals until they have been victims for
    /// so many times. After that they are older than the others of that age, in the exact order.
    pub(super) fn cmp(&self, other: &Standing) -> Ordering {
        let rank = |standing: &Standing| {
            let yields = standing.one_shot && standing.defeats < YIELDS;
            let began = standing.began.unwrap_or_default().0;
            let exactly = if standing.defeats < YIELDS { (u64::MAX, u32::MAX) } else { (began, standing.number) };
            (yields, began / AGE_NS, exactly)
        };
        rank(self).cmp(&rank(other))
    }
}
