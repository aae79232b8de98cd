//! The order in which statements are retried, under engines without waits.
//!
//! Under an engine without waits, a statement that meets a conflict at a row or range is retried: it is a *contender*
//! there. The contender with the most failures is *first*; of contenders with equally many, the earliest. Only the
//! first contender is retried, after a short pause. The other contenders are suspended until they are first. So
//! requests for a row are served in order, and no work is wasted on retries that would fail.
//!
//! **Invariants**, under the mutex
//!
//! 1. A contender is in the list of one row or range, from its first conflict there to the end of its statement or a
//!    conflict elsewhere.
//! 2. A contender's flag is set when it becomes first, or when the first contender is to be retried at once.

use crate::watched::Spot;
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Time, Waiter};
use std::collections::HashMap;
use std::time::Duration;

/// The statements of a database that wait to be retried, by row or range. Any thread may call any method.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    spots: Mutex<HashMap<Spot, Vec<Contender>>>,
    /// The number of spots with contenders, as of the last change.
    contended: AtomicUsize,
}

#[derive(Debug)]
struct Contender {
    called: Arc<AtomicBool>,
    waiter: Waiter,
    failures: u32,
    since: Time,
}

/// A statement's place among the statements that wait to be retried. Dropping it removes the statement.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    spot: Option<Spot>,
    called: Arc<AtomicBool>,
    waiter: Waiter,
    failures: u32,
    since: Time,
}

fn call(contender: &Contender) {
    contender.called.store(true, Ordering::Release);
    contender.waiter.wake();
}

/// Returns the contender that is first.
fn first(contenders: &[Contender]) -> Option<&Contender> {
    contenders.iter().min_by_key(|contender| (std::cmp::Reverse(contender.failures), contender.since))
}

impl Turns {
    fn spots(&self) -> MutexGuard<'_, HashMap<Spot, Vec<Contender>>> {
        self.spots.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Wakes the first waiting statement of each row and range, so that it is retried at once. Called when a
    /// transaction has released its rows.
    #[inline]
    pub(crate) fn released(&self) {
        if self.contended.load(Ordering::Acquire) > 0 {
            self.call_all();
        }
    }

    #[cold]
    fn call_all(&self) {
        self.spots().values().filter_map(|contenders| first(contenders)).for_each(call);
    }

    /// Takes a contender out of the list of its spot, and wakes the contender that is first there then.
    fn leave(&self, spot: &Spot, called: &Arc<AtomicBool>) {
        let mut spots = self.spots();
        let Some(contenders) = spots.get_mut(spot) else { return };
        contenders.retain(|contender| !Arc::ptr_eq(&contender.called, called));
        match first(contenders) {
            Some(next) => call(next),
            None => drop(spots.remove(spot)),
        }
        self.contended.store(spots.len(), Ordering::Release);
    }
}

impl Turn {
    /// Makes the place of a statement that has met a conflict. The statement does not compete for any row until
    /// [`Self::wait`].
    pub(crate) fn new(turns: &Arc<Turns>, waiter: &Waiter) -> Self {
        let (turns, called) = (turns.clone(), Arc::default());
        Self { turns, spot: None, called, waiter: waiter.clone(), failures: 0, since: waiter.now() }
    }

    /// Counts a failure of the statement at `spot`. Returns whether the statement is first there.
    fn fail(&mut self, spot: &Spot) -> bool {
        if self.spot.as_ref() != Some(spot) {
            self.leave();
            self.spot = Some(spot.clone());
        }
        self.failures += 1;
        self.called.store(false, Ordering::Release);
        let mut spots = self.turns.spots();
        let contenders = spots.entry(spot.clone()).or_default();
        match contenders.iter_mut().find(|contender| Arc::ptr_eq(&contender.called, &self.called)) {
            Some(own) => own.failures = self.failures,
            None => contenders.push(Contender {
                called: self.called.clone(),
                waiter: self.waiter.clone(),
                failures: self.failures,
                since: self.since,
            }),
        }
        let is_first = first(contenders).is_some_and(|first| Arc::ptr_eq(&first.called, &self.called));
        self.turns.contended.store(spots.len(), Ordering::Release);
        is_first
    }

    /// Counts a failure of the statement at `spot`, and waits until the statement is to be retried, but not beyond the
    /// time `limit`. If the statement is first at `spot`, it waits for `pause`, or until a transaction releases its
    /// rows. Otherwise it waits until it is first.
    pub(crate) fn wait(&mut self, spot: &Spot, pause: Duration, limit: Time) {
        let until = if self.fail(spot) { self.waiter.now().after(pause).min(limit) } else { limit };
        // The next attempt finds out how the wait ended.
        let _ = self.waiter.wait_until(Some(until), || self.called.load(Ordering::Acquire));
    }

    fn leave(&mut self) {
        if let Some(spot) = self.spot.take() {
            self.turns.leave(&spot, &self.called);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::{Key, TableId};

    fn spot(key: i64) -> Spot {
        Spot::Row(TableId(1), Key::Int(key))
    }

    #[test]
    fn the_one_that_has_failed_most_often_is_first_and_then_the_one_that_came_before() {
        let turns = Arc::new(Turns::default());
        let waiter = Waiter::thread(Duration::ZERO);
        let mut contenders: Vec<Turn> = (0..3).map(|_| Turn::new(&turns, &waiter)).collect();
        for (at, contender) in contenders.iter_mut().enumerate() {
            contender.since = Time(at as u64);
        }
        assert!(contenders[1].fail(&spot(1)), "nobody else is there");
        assert!(contenders[0].fail(&spot(1)), "it came before");
        assert!(!contenders[2].fail(&spot(1)));
        assert!(contenders[2].fail(&spot(1)), "it has failed twice");
        assert!(!contenders[0].called.load(Ordering::Acquire));
        // A contender that leaves wakes the next one; so does a contender that becomes first at another spot.
        assert!(contenders[2].fail(&spot(2)));
        assert!(contenders[0].called.load(Ordering::Acquire) && !contenders[1].called.load(Ordering::Acquire));
        contenders.remove(0);
        assert!(contenders[0].called.load(Ordering::Acquire));
        turns.released();
        assert!(contenders[1].called.load(Ordering::Acquire), "what it waits for may be free");
        contenders.clear();
        assert_eq!((turns.spots().len(), turns.contended.load(Ordering::Acquire)), (0, 0));
    }
}
