//! The standing of a transaction when a deadlock's victim is chosen.

use hotrow_sync::Time;
use std::cmp::Ordering;

/// A transaction that has been a victim so often is ranked by its age alone.
const YIELDS: u32 = 8;

/// Transactions that began in the same one of these are of one age, as long as they have not been victims for so often:
/// about 4 ms. Among them the one that closes a cycle is the best victim, because it runs, and no other has to be woken
/// to leave.
pub(super) const AGE_NS: u64 = 1 << 22;

/// The standing of a transaction in flight when a victim is chosen. Its retries keep it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// When its first attempt began; of a one-shot transaction, when that first came to wait, which is hardly later and
    /// costs a transaction that never waits no look at a clock.
    began: Option<Time>,
    /// Tells apart transactions that began at one time.
    number: u32,
    one_shot: bool,
    /// The number of times that the transaction has been a victim.
    defeats: u32,
}

impl Standing {
    /// An attempt of transaction object `number` begins; `again` says that it is the retry of the one before.
    #[inline]
    pub(crate) fn begin(&mut self, number: u32, one_shot: bool, again: bool, now: impl FnOnce() -> Time) {
        (self.number, self.one_shot) = (number, one_shot);
        if !again {
            (self.began, self.defeats) = ((!one_shot).then(now), 0);
        }
    }

    /// The transaction comes to wait.
    pub(crate) fn waits(&mut self, now: Time) {
        self.began.get_or_insert(now);
    }

    /// The transaction was the victim.
    pub(crate) fn lost(&mut self) {
        self.defeats = self.defeats.saturating_add(1);
    }

    /// Whether it has been the victim since its first attempt.
    pub(super) fn has_lost(&self) -> bool {
        self.defeats > 0
    }

    /// The number of its transaction's object.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// When it is let in to the hot locks: the earliest first, which is the oldest transaction.
    pub(super) fn turn(&self) -> (Time, u32) {
        (self.began.unwrap_or_default(), self.number)
    }

    /// Orders transactions by which is to be the victim: the greatest. One-shot transactions come before others,
    /// because they are tried again without a client's help; but only for so many times, so that each of them ends. Of
    /// the rest the youngest comes first. Transactions of one age are equals until they have been victims for so many
    /// times; then they are older than others of that age, in the exact order.
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
