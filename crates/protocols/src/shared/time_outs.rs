//! The time-outs of waits under the engines in which every transaction waits, and the ends of their deadlocks.
//!
//! A deadlock is [found](super::deadlocks) when it arises. The papers end deadlocks by time alone, which stays as a
//! setting: a wait is then taken for a deadlock when for some time no transaction in its way has come or gone, so that
//! transactions behind a deadlock in a long queue do not give up with it.

use hotrow_sync::{Time, Waiter};
use hotrow_txn::Settings;
use std::time::Duration;

/// The time-outs of waits and of deadlocks.
#[derive(Clone, Debug)]
pub struct TimeOuts {
    /// Whether deadlocks end by time-out, as in the papers. Otherwise deadlocks are found, the other fields have no
    /// effect, and a wait ends by time only if its waiter has a limit.
    pub end_deadlocks: bool,
    /// The longest time that a transaction waits for one lock.
    pub wait_limit: Duration,
    /// The time after which the wait of an interactive transaction counts as a deadlock, if no transaction that it
    /// waits for has come or gone meanwhile.
    pub patience: Duration,
    /// The time after which the wait of a one-shot transaction counts as a deadlock, if no transaction that it waits
    /// for has come or gone meanwhile. A one-shot transaction takes microseconds, so a wait a thousand times as long is
    /// a deadlock in all likelihood, and it is retried without a client's help.
    pub one_shot_patience: Duration,
}

impl Default for TimeOuts {
    /// Deadlocks are found. By time they end after a second, or after a millisecond for one-shot transactions.
    fn default() -> Self {
        Self {
            end_deadlocks: false,
            wait_limit: Duration::from_secs(10),
            patience: Duration::from_secs(1),
            one_shot_patience: Duration::from_millis(1),
        }
    }
}

impl TimeOuts {
    /// Returns the time-outs that a user has chosen.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { end_deadlocks: settings.deadlock_time_outs, ..Self::default() }
    }

    /// Returns the limits of a transaction's waits.
    #[inline]
    pub(crate) fn limits(&self, one_shot: bool) -> Limits {
        match self.end_deadlocks {
            false => Limits::default(),
            true => Limits {
                whole: Some(self.wait_limit),
                still: Some(if one_shot { self.one_shot_patience } else { self.patience }),
                one_shot,
            },
        }
    }
}

/// The limits of a transaction's waits, which the limits of its waiter override. By default waits have no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The longest wait as a whole.
    whole: Option<Duration>,
    /// The longest wait in which nothing moves.
    still: Option<Duration>,
    one_shot: bool,
}

impl Limits {
    /// Returns the limits under which no wait takes longer than `limit`.
    pub(crate) fn within(limit: Duration) -> Self {
        Self { whole: Some(limit), ..Self::default() }
    }

    /// Returns the limits of a wait that begins now: the longest time as a whole, and the longest time during which no
    /// transaction that it waits for comes or goes.
    pub(crate) fn now(&self, waiter: &Waiter) -> (Option<Duration>, Option<Duration>) {
        let own = waiter.lock_timeout();
        let still = match (self.still, waiter.deadlock_timeout()) {
            (None, _) => None,
            (still, _) if self.one_shot && own.is_none() => still,
            (_, Some(timeout)) => Some(timeout),
            // A transaction with a limit of its own is held to that alone.
            (still, None) => still.filter(|_| own.is_none()),
        };
        (own.or(self.whole), still)
    }
}

/// The waiter of a transaction each of whose waits has a limit.
pub(crate) struct LimitedWaiter {
    pub(crate) waiter: Waiter,
    /// The longest wait, unless the waiter has another limit.
    default_limit: Duration,
}

impl LimitedWaiter {
    pub(crate) fn new(waiter: Waiter, default_limit: Duration) -> Self {
        Self { waiter, default_limit }
    }

    /// Returns the longest time for which a wait that begins now may last.
    #[inline]
    pub(crate) fn limit(&self) -> Duration {
        self.waiter.lock_timeout().unwrap_or(self.default_limit)
    }
}

/// The two limits of one wait, of which either may be missing. The first is a fixed time at which the wait ends. The
/// second ends the wait earlier, as a likely deadlock, when for some time no transaction in the way of the wait has
/// come or gone. When some have, the second limit may be renewed, and the time begins anew.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    limit: Option<Time>,
    still: Option<(Duration, Time)>,
}

impl Patience {
    pub(crate) fn new(now: Time, (limit, still): (Option<Duration>, Option<Duration>)) -> Self {
        Self { limit: limit.map(|limit| now.after(limit)), still: still.map(|still| (still, now.after(still))) }
    }

    /// Returns the time at which the wait ends if nothing moves, or `None` if it has no end.
    pub(crate) fn until(&self) -> Option<Time> {
        [self.limit, self.still.map(|(_, until)| until)].into_iter().flatten().min()
    }

    /// Whether the second limit comes before the first, so that it may be renewed.
    pub(crate) fn is_left(&self) -> bool {
        self.until().is_some_and(|until| self.limit.is_none_or(|limit| until < limit))
    }

    /// Renews the second limit, after a transaction in the way of the wait has come or gone.
    pub(crate) fn renew(&mut self, now: Time) {
        if let Some((still, until)) = &mut self.still {
            *until = now.after(*still);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_limited_as_its_waiter_says_when_it_begins() {
        let ms = Duration::from_millis;
        let (found, timed) = (TimeOuts::default(), TimeOuts { end_deadlocks: true, ..TimeOuts::default() });
        let (ten_s, second) = (Some(ms(10_000)), Some(ms(1_000)));
        let cases = [
            // time-outs, one-shot, lock_timeout, deadlock_timeout: as a whole, while nothing moves
            (&found, false, None, None, (None, None)),
            (&found, false, None, Some(ms(5)), (None, None)),
            (&found, true, Some(ms(7)), None, (Some(ms(7)), None)),
            (&timed, false, None, None, (ten_s, second)),
            (&timed, false, None, Some(ms(5)), (ten_s, Some(ms(5)))),
            (&timed, false, Some(ms(7)), None, (Some(ms(7)), None)),
            (&timed, false, Some(ms(7)), Some(ms(5)), (Some(ms(7)), Some(ms(5)))),
            (&timed, true, None, Some(ms(5)), (ten_s, Some(ms(1)))),
            (&timed, true, Some(ms(7)), Some(ms(5)), (Some(ms(7)), Some(ms(5)))),
        ];
        for (time_outs, one_shot, lock, deadlock, expected) in cases {
            let waiter = Waiter::thread(Duration::ZERO);
            let limits = time_outs.limits(one_shot);
            waiter.set_lock_timeout(lock);
            waiter.set_deadlock_timeout(deadlock);
            let by_time = time_outs.end_deadlocks;
            assert_eq!(limits.now(&waiter), expected, "{by_time} {one_shot} {lock:?} {deadlock:?}");
        }
    }
}
