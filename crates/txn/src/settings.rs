//! What users set of an engine.

use std::fmt;
use std::time::Duration;

/// What users set of an engine, on the command line or in code; each protocol takes from it what concerns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Worker threads that will run transactions.
    pub workers: usize,
    /// Partitions of the data, for engines that keep partitions apart: one for each worker unless set.
    pub partitions: Option<usize>,
    /// How many blocked transactions a queue may hold before no new ones are let in, for engines with such a queue.
    pub blocked_limit: Option<usize>,
    /// Whether deadlocks end by time, as in the papers, rather than being found: for engines that can have it either
    /// way.
    pub deadlock_time_outs: bool,
    /// Whether a transaction locks each row when it comes to it, as in the papers, even if its access set is known: for engines
    /// that otherwise lock an access set as the transaction begins.
    pub lock_as_it_goes: bool,
    /// How long a message between two partitions is on its way, in addition to what it takes anyway: to study on one machine
    /// what a network does.
    pub network_delay: Duration,
}

/// What may be set of engines, and not of every one: one of the [`Settings`], but for what sessions say.
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
    /// Whether sessions retire what they have written ([`Yielding::retire_writes`](crate::Yielding::retire_writes)): their own to say.
    EarlyRelease,
    /// [`Settings::network_delay`].
    NetworkDelay,
}

impl Default for Settings {
    /// A worker for each core, and everything else as the engine likes it.
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

/// An engine cannot have a setting; the text says what it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}
