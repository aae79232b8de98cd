//! The deadlock policies.

use crate::shared::lock_table::{OwnerId, WaitPolicy};
use crate::shared::per_owner::PerOwner;
use hotrow_sync::Time;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::{Begin, EngineInfo, Isolation};
use std::time::Duration;

/// What makes a two-phase-locking engine: who may wait for whom.
pub trait Policy: WaitPolicy + Sized + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// Its knobs.
    type Config: Default + Clone + Send + Sync;

    /// The policy for one database.
    fn new(config: &Self::Config) -> Self;

    /// The longest wait of a transaction, one-shot or interactive, that brings no limit of its own.
    fn wait_limit(&self, one_shot: bool) -> Duration;

    /// `owner` begins a transaction; `retry` if its last one was aborted and is now tried again.
    fn begin(&self, owner: OwnerId, begin: &Begin<'_>, now: impl FnOnce() -> Time, retry: bool);
}

/// What all of the family offer. A level between the two is raised to serializable.
pub(super) const LEVELS: &[Isolation] = &[Isolation::ReadCommitted, Isolation::Serializable];

/// Wait-die: an older transaction waits for a younger one, a younger one aborts. No deadlock can arise.
pub struct WaitDie {
    config: WaitDieConfig,
    stamps: PerOwner<AtomicU64>,
}

/// Knobs of [`WaitDie`].
#[derive(Clone, Debug)]
pub struct WaitDieConfig {
    /// The longest wait. There are no deadlocks to end, but there are clients that never come back.
    pub wait_limit: Duration,
}

impl Default for WaitDieConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10) }
    }
}

impl Policy for WaitDie {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-waitdie",
        summary: "two-phase locking; the younger transaction aborts rather than wait for an older one",
        source: "ORTHRUS §4 (wait die)",
        needs_accesses: false,
        isolates: true,
        isolation: LEVELS,
    };
    type Config = WaitDieConfig;

    fn new(config: &Self::Config) -> Self {
        Self { config: config.clone(), stamps: PerOwner::new() }
    }

    fn wait_limit(&self, _one_shot: bool) -> Duration {
        self.config.wait_limit
    }

    /// A retry keeps its timestamp, so that it grows older until nothing can abort it.
    #[inline]
    fn begin(&self, owner: OwnerId, _begin: &Begin<'_>, now: impl FnOnce() -> Time, retry: bool) {
        if !retry {
            self.stamps.get(owner).store(now().0, Ordering::Release);
        }
    }
}

impl WaitDie {
    /// Equal timestamps are told apart by the owners' numbers.
    fn age(&self, owner: OwnerId) -> (u64, OwnerId) {
        (self.stamps.get(owner).load(Ordering::Acquire), owner)
    }
}

impl WaitPolicy for WaitDie {
    fn may_wait(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool {
        let own = self.age(waiter);
        blockers.iter().all(|&blocker| own < self.age(blocker))
    }
}

/// Time-outs: everybody waits, but not for ever. A deadlock ends when the first of its waits does.
pub struct Timeout {
    config: TimeoutConfig,
}

/// Knobs of [`Timeout`].
#[derive(Clone, Debug)]
pub struct TimeoutConfig {
    /// The longest wait of an interactive transaction for one lock.
    pub wait_limit: Duration,
    /// The longest wait of a one-shot transaction for one lock. Such a one takes microseconds and is retried by itself, so
    /// a wait of a thousand times that is a deadlock in all likelihood.
    pub one_shot_wait_limit: Duration,
}

impl Default for TimeoutConfig {
    /// A second, as PostgreSQL's `deadlock_timeout`; a millisecond for one-shot transactions.
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(1), one_shot_wait_limit: Duration::from_millis(1) }
    }
}

impl Policy for Timeout {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-timeout",
        summary: "two-phase locking; everybody waits, and a wait that takes too long aborts",
        source: "ORTHRUS §4, time-outs in place of detection",
        needs_accesses: false,
        isolates: true,
        isolation: LEVELS,
    };
    type Config = TimeoutConfig;

    fn new(config: &Self::Config) -> Self {
        Self { config: config.clone() }
    }

    #[inline]
    fn wait_limit(&self, one_shot: bool) -> Duration {
        if one_shot { self.config.one_shot_wait_limit } else { self.config.wait_limit }
    }

    #[inline]
    fn begin(&self, _owner: OwnerId, _begin: &Begin<'_>, _now: impl FnOnce() -> Time, _retry: bool) {}
}

impl WaitPolicy for Timeout {
    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_die_lets_only_the_older_wait() {
        let policy = WaitDie::new(&WaitDieConfig::default());
        let (old, young, twin) = (OwnerId(7), OwnerId(3), OwnerId(9));
        policy.begin(old, &Begin::default(), || Time(10), false);
        policy.begin(young, &Begin::default(), || Time(20), false);
        policy.begin(twin, &Begin::default(), || Time(20), false);
        assert!(policy.may_wait(old, &[young, twin]));
        assert!(!policy.may_wait(young, &[old]));
        assert!(!policy.may_wait(young, &[twin, old]));
        assert!(policy.may_wait(young, &[twin]) && !policy.may_wait(twin, &[young]), "ties go one way");
        policy.begin(young, &Begin::default(), || Time(30), true);
        assert!(policy.may_wait(young, &[twin]), "a retry keeps its age");
    }
}
