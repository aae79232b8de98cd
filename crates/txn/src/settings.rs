//! The settings of an engine.

use std::fmt;
use std::time::Duration;

/// The settings of an engine, from the command line or from code. Each protocol uses those that concern it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of worker threads that will run transactions.
    pub workers: usize,
    /// The number of partitions of the data, for engines with partitions; one for each worker unless set.
    pub partitions: Option<usize>,
    /// The number of blocked transactions that a queue may hold before no new ones are let in, for engines with such a
    /// queue.
    pub blocked_limit: Option<usize>,
    /// Whether deadlocks end by time-out, as in the papers, rather than by detection: for engines that offer both.
    pub deadlock_time_outs: bool,
    /// Whether a transaction locks each row when it reaches it, as in the papers, even if its access set is known: for
    /// engines that otherwise lock an access set as the transaction begins.
    pub lock_as_it_goes: bool,
    /// The time that a message between two partitions takes, in addition to what it takes anyway: to study the effects
    /// of a network on one machine.
    pub network_delay: Duration,
}

/// A setting that only some engines have: one of the [`Settings`], or one that sessions make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// [`Settings::partitions`].
    Partitions,
    /// [`Settings::blocked_limit`].
    BlockedLimit,
    /// [`Settings::deadlock_time_outs`].
    DeadlockTimeOuts,
    /// [`Settings::lock_as_it_goes`].
    LockAsItGoes,
    /// Whether sessions retire what they have written
    /// ([`Yielding::retire_writes`](crate::Yielding::retire_writes)). Sessions set it, not [`Settings`].
    EarlyRelease,
    /// [`Settings::network_delay`].
    NetworkDelay,
}

impl Default for Settings {
    /// One worker for each core, and the engine's defaults for everything else.
    fn default() -> Self {
        Self {
            workers: hotrow_sync::cores(),
            partitions: None,
            blocked_limit: None,
            deadlock_time_outs: false,
            lock_as_it_goes: false,
            network_delay: Duration::ZERO,
        }
    }
}

/// The error for a setting that an engine cannot have; the text says what it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}
