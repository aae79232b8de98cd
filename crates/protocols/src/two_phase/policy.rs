//! The deadlock policies.

use crate::shared::deadlocks::{Blocked, Request, Waits};
use crate::shared::lock_table::{LockTable, Name, OwnerId, Requester, WaitPolicy};
use crate::shared::per_owner::PerOwner;
use crate::shared::time_outs::{Limits, TimeOuts};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Time};
use hotrow_txn::{Begin, Capabilities, Deadlock, EngineInfo, Isolation, Scheduler, Setting, Settings};
use std::time::Duration;

/// The deadlock policy of a two-phase-locking engine: which transaction may wait for which. The engines of the family
/// differ in nothing else.
pub trait Policy: WaitPolicy + Sized + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// The knobs of the engine.
    type Config: Default + Clone + Send + Sync;

    /// Returns the knobs that a user has chosen.
    fn configure(_settings: &Settings) -> Self::Config {
        Self::Config::default()
    }

    /// Makes the policy for one database.
    fn new(config: &Self::Config) -> Self;

    /// Returns the limits of the waits of a transaction, one-shot or interactive.
    fn limits(&self, one_shot: bool) -> Limits;

    /// Begins a transaction of `owner`. `retry` says whether the transaction is a retry of the owner's last one, which
    /// was aborted.
    fn begin(&self, owner: OwnerId, begin: &Begin<'_>, now: impl FnOnce() -> Time, retry: bool);
}

/// The isolation levels that all engines of the family offer. A level between the two is raised to serializable.
pub(super) const LEVELS: &[Isolation] = &[Isolation::ReadCommitted, Isolation::Serializable];

/// The policy of `2pl-waitdie`: an older transaction waits for a younger one, and a younger transaction aborts rather
/// than wait for an older one. No deadlock can arise.
///
/// A transaction that holds nothing yet may wait for any other: only transactions that stand behind it in the same
/// queue wait for it. A transaction that holds a lock is therefore compared with all holders of the lock and all before
/// it in the queue, conflicting or not. Leave the newcomers out of a cycle of waits: each waits for a holder of the
/// lock, or for one that stands before it, and these were there when the transaction behind the newcomer was compared
/// with them. A cycle remains of transactions of which each is older than the next. An upgrade that goes before others
/// changes nothing of that, for it was a holder before.
pub struct WaitDie {
    config: WaitDieConfig,
    stamps: PerOwner<AtomicU64>,
}

/// Knobs of [`WaitDie`].
#[derive(Clone, Debug)]
pub struct WaitDieConfig {
    /// The longest time that a transaction waits for one lock before it is aborted. Deadlocks do not occur, but a
    /// client may hold locks and never end its transaction.
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
        summary: "two-phase locking; a transaction that holds locks aborts rather than wait for an older one",
        source: "ORTHRUS §4 (wait die)",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = WaitDieConfig;

    fn new(config: &Self::Config) -> Self {
        Self { config: config.clone(), stamps: PerOwner::new() }
    }

    fn limits(&self, _one_shot: bool) -> Limits {
        Limits::within(self.config.wait_limit)
    }

    /// Begins a transaction. A retry keeps its timestamp, so that it grows older until nothing can abort it.
    #[inline]
    fn begin(&self, owner: OwnerId, _begin: &Begin<'_>, now: impl FnOnce() -> Time, retry: bool) {
        if !retry {
            self.stamps.get(owner).store(now().0, Ordering::Release);
        }
    }
}

impl WaitDie {
    /// Returns the age of an owner's transaction. Equal timestamps are told apart by the owners' numbers.
    fn age(&self, owner: OwnerId) -> (u64, OwnerId) {
        (self.stamps.get(owner).load(Ordering::Acquire), owner)
    }
}

impl WaitPolicy for WaitDie {
    const NEWCOMERS_WAIT: bool = true;

    fn may_wait(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool {
        let own = self.age(waiter);
        blockers.iter().all(|&blocker| own < self.age(blocker))
    }
}

/// The policy of `2pl-timeout`: every transaction may wait for every other, so deadlocks can arise. By default each
/// deadlock is found when it arises, and one of its transactions aborts, as a rule the youngest. If
/// [`end_deadlocks`](TimeOuts::end_deadlocks) is set, no transaction looks for deadlocks, as in the paper: a deadlock
/// lasts until the wait of one of its transactions times out, and this transaction aborts.
pub struct Timeout {
    time_outs: TimeOuts,
    /// The transactions that wait, or `None` if deadlocks end by time-out.
    waits: Option<Arc<Waits<NameWait>>>,
}

impl Policy for Timeout {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-timeout",
        summary: "two-phase locking; all wait, and deadlocks are found in a list of the transactions that wait, or end by time",
        source: "ORTHRUS §4, time-outs in place of detection",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[Setting::DeadlockTimeOuts],
        pool_settings: &[],
    };
    type Config = TimeOuts;

    fn new(config: &Self::Config) -> Self {
        let waits = (!config.end_deadlocks).then(Waits::new);
        Self { time_outs: config.clone(), waits }
    }

    fn configure(settings: &Settings) -> TimeOuts {
        TimeOuts::of(settings)
    }

    #[inline]
    fn limits(&self, one_shot: bool) -> Limits {
        self.time_outs.limits(one_shot)
    }

    #[inline]
    fn begin(&self, _owner: OwnerId, _begin: &Begin<'_>, _now: impl FnOnce() -> Time, _retry: bool) {}
}

impl WaitPolicy for Timeout {
    const LISTS: bool = true;

    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        true
    }

    fn begins_to_wait(&self, requester: &Requester, request: Request<'_>, name: Name) -> Option<Deadlock> {
        let waits = self.waits.as_ref().filter(|_| requester.holds_any())?;
        waits.begin(request, NameWait { table: requester.table().clone(), owner: requester.id(), name })
    }

    fn verdict(&self, requester: &Requester) -> Option<Deadlock> {
        self.waits.as_ref()?.verdict(requester.parked())
    }

    fn ends_to_wait(&self, requester: &Requester) {
        if let Some(waits) = self.waits.as_ref().filter(|_| requester.holds_any()) {
            waits.end(requester.parked());
        }
    }
}

/// The policy of `lock-table`, the lock manager that iLock is measured against. It is [`Timeout`] under another name.
pub struct Centralized(Timeout);

impl Policy for Centralized {
    const INFO: EngineInfo = EngineInfo {
        name: "lock-table",
        summary: "as 2pl-timeout: the lock table that ilock is measured against",
        source: "interactive transactions §5 (Lock-Table)",
        // It locks as it goes whatever is set.
        settings: &[Setting::DeadlockTimeOuts, Setting::LockAsItGoes],
        ..Timeout::INFO
    };
    type Config = TimeOuts;

    fn new(config: &Self::Config) -> Self {
        Self(Timeout::new(config))
    }

    fn configure(settings: &Settings) -> TimeOuts {
        TimeOuts::of(settings)
    }

    #[inline]
    fn limits(&self, one_shot: bool) -> Limits {
        self.0.limits(one_shot)
    }

    #[inline]
    fn begin(&self, owner: OwnerId, begin: &Begin<'_>, now: impl FnOnce() -> Time, retry: bool) {
        self.0.begin(owner, begin, now, retry);
    }
}

impl WaitPolicy for Centralized {
    const LISTS: bool = Timeout::LISTS;

    fn may_wait(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool {
        self.0.may_wait(waiter, blockers)
    }

    fn begins_to_wait(&self, requester: &Requester, request: Request<'_>, name: Name) -> Option<Deadlock> {
        self.0.begins_to_wait(requester, request, name)
    }

    fn verdict(&self, requester: &Requester) -> Option<Deadlock> {
        self.0.verdict(requester)
    }

    fn ends_to_wait(&self, requester: &Requester) {
        self.0.ends_to_wait(requester);
    }
}

/// A listed transaction that holds and awaits names in a lock table only.
struct NameWait {
    table: Arc<LockTable>,
    owner: OwnerId,
    name: Name,
}

impl Blocked for NameWait {
    type Lock = Name;

    fn awaited(&self) -> Name {
        self.name
    }

    fn holds(&mut self, name: Name) -> bool {
        self.table.is_held(name, self.owner)
    }

    fn hash(Name(name): Name) -> u64 {
        name
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
