//! The settings of an engine.

use std::fmt;
use std::time::Duration;

/// The settings of an engine, from the command line or from code. Each protocol uses those that concern it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of worker threads that will run transactions.
    pub workers: usize,
    /// The number of partitions of the data, for engines with partitions. `None` means one for each worker.
    pub partitions: Option<usize>,
    /// The number of blocked transactions that a queue may hold before no new ones are let in. It is for engines with
    /// such a queue; `None` means the engine's default.
    pub blocked_limit: Option<usize>,
    /// The number of the workers that do concurrency control for the others, for engines with such workers. With 0 each
    /// worker has both roles; `None` means that the engine chooses by load.
    pub cc_threads: Option<usize>,
    /// Whether deadlocks end by time-out, as in the papers, rather than by detection. It is for engines that offer
    /// both.
    pub deadlock_time_outs: bool,
    /// Whether a transaction locks each row when it reaches it, as in the papers, even if its access set is known. It
    /// is for engines that otherwise lock an access set as the transaction begins.
    pub lock_as_it_goes: bool,
    /// The number of row locks in one page at which a transaction tries to lock the page as a whole, for engines with
    /// such locks. A table is locked as a whole at four times as many locks in it. With 0 neither is; `None` means the
    /// engine's default.
    pub escalation: Option<usize>,
    /// The percentage of the recent requests for a lock that must have met latch contention for the lock to be hot, for
    /// engines that pass hot locks on. With 0 every lock is hot; `None` means the engine's default.
    pub hot_percent: Option<u8>,
    /// The number of successive transactions of a thread that may leave a lock that was passed on to them unused,
    /// before the lock is released. It is for engines that pass locks on. With 0, as in the paper, the first such
    /// transaction releases the lock; `None` means the engine's default.
    pub momentum: Option<u8>,
    /// The time that a message between two partitions takes in addition to its real time. With it, the effects of a
    /// network can be studied on one machine.
    pub network_delay: Duration,
}

/// The name of a setting that only some engines have: one of the [`Settings`], or one that sessions make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The setting [`Settings::partitions`].
    Partitions,
    /// The setting [`Settings::blocked_limit`].
    BlockedLimit,
    /// The setting [`Settings::cc_threads`].
    CcThreads,
    /// The setting [`Settings::deadlock_time_outs`].
    DeadlockTimeOuts,
    /// The setting [`Settings::lock_as_it_goes`].
    LockAsItGoes,
    /// The choice whether sessions retire what they have written
    /// ([`Yielding::retire_writes`](crate::Yielding::retire_writes)). Sessions have this setting; it is not in
    /// [`Settings`].
    EarlyRelease,
    /// The setting [`Settings::escalation`].
    Escalation,
    /// The setting [`Settings::hot_percent`].
    HotPercent,
    /// The setting [`Settings::momentum`].
    Momentum,
    /// The setting [`Settings::network_delay`].
    NetworkDelay,
}

impl Default for Settings {
    /// Returns settings with one worker for each core, and the engine's defaults for everything else.
    fn default() -> Self {
        Self {
            workers: hotrow_sync::cores(),
            partitions: None,
            blocked_limit: None,
            cc_threads: None,
            deadlock_time_outs: false,
            lock_as_it_goes: false,
            escalation: None,
            hot_percent: None,
            momentum: None,
            network_delay: Duration::ZERO,
        }
    }
}

/// The error for a setting that an engine cannot have. The text says which settings it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}
