//! The registry of engines: only here does an engine's name become a type.

use crate::Instance;
use crate::atomic::Atomic;
use crate::hekaton::{Hekaton, Optimistic, Pessimistic};
use crate::hier::{Hierarchical, Inherited, Released};
use crate::ilock::Interactive;
use crate::none::NoIsolation;
use crate::one_version::OneVersion;
use crate::ordered::{Ordered, Split, Whole};
use crate::orthrus::{OneTable, Orthrus, Owning, Split as SplitOwning};
use crate::partition::{Analysed as PartitionAnalysed, Counting, HStore, Partitioned, Queueing};
use crate::partition_store::PartitionStore;
use crate::row_nowait::RowNoWait;
use crate::serial::Serial;
use crate::two_phase::{Centralized, Dreadlocks, Timeout, TwoPhase, WaitDie, WaitFor};
use crate::vll::{Analysed, InVectors, Plain, Vll};
use hotrow_sync::Arc;
use hotrow_txn::{Engine, EngineInfo, Protocol, Setting, Settings, SettingsError};
use std::fmt;

/// A task for a protocol whose type is chosen at run time.
pub trait WithProtocol {
    /// The result of the task.
    type Output;

    /// Carries the task out with protocol `P`.
    fn run<P: Protocol>(self) -> Self::Output;
}

/// The reason why a database was not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// There is no such engine.
    Unknown(UnknownEngine),
    /// The engine does not accept one of the settings.
    Settings(SettingsError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Unknown(unknown) => unknown.fmt(f),
            OpenError::Settings(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// The error that no engine has the name that was asked for, with that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(pub String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ENGINES.iter().map(|info| info.name).collect();
        write!(f, "unknown engine {:?}: expected one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownEngine {}

macro_rules! registry {
    ($($protocol:ty),+ $(,)?) => {
        /// All engines, in the order in which reports list them.
        pub static ENGINES: &[EngineInfo] = &[$(<$protocol as Protocol>::INFO),+];

        /// Runs the task `what` with the protocol of the engine called `name`.
        pub fn dispatch<W: WithProtocol>(name: &str, what: W) -> Result<W::Output, UnknownEngine> {
            $(if name == <$protocol as Protocol>::INFO.name {
                return Ok(what.run::<$protocol>());
            })+
            Err(UnknownEngine(name.to_owned()))
        }
    };
}

registry!(
    Serial,
    NoIsolation,
    TwoPhase<WaitDie>,
    TwoPhase<WaitFor>,
    TwoPhase<Dreadlocks>,
    TwoPhase<Timeout>,
    TwoPhase<Centralized>,
    Hierarchical<Released>,
    Hierarchical<Inherited>,
    OneVersion,
    Interactive,
    RowNoWait,
    Ordered<Whole>,
    Ordered<Split>,
    Atomic,
    Vll<Plain>,
    Vll<Analysed>,
    Vll<InVectors>,
    Partitioned<Counting>,
    Partitioned<PartitionAnalysed>,
    Partitioned<HStore>,
    Partitioned<Queueing>,
    Orthrus<Owning>,
    Orthrus<SplitOwning>,
    Orthrus<OneTable>,
    PartitionStore,
    Hekaton<Optimistic>,
    Hekaton<Pessimistic>,
);

/// Fails if none of the engines called `names` has the setting `setting`. The error names `option`, by which the user
/// has set it, and the engines that have the setting. `in_pool` says whether an engine's transactions run in a pool.
pub fn refuse_unheeded(
    option: &str,
    setting: Setting,
    names: &[&str],
    in_pool: impl Fn(&EngineInfo) -> bool,
) -> Result<(), SettingsError> {
    let able = |in_pool: &dyn Fn(&EngineInfo) -> bool| {
        let heed = ENGINES.iter().filter(|info| info.has(setting, in_pool(info)));
        heed.map(|info| info.name).collect::<Vec<_>>()
    };
    let here = able(&in_pool);
    if names.iter().any(|name| here.contains(name)) {
        return Ok(());
    }
    let given = names.join(", ");
    let expected = match here.is_empty() {
        false => format!("expected one of {}", here.join(", ")),
        true => format!("expected a pool, and one of {}", able(&|_| true).join(", ")),
    };
    Err(SettingsError(format!("{option} means nothing to engine {given} as it is run here: {expected}")))
}

/// Opens an empty database under the engine called `name`, with its default settings.
pub fn open(name: &str) -> Result<Arc<dyn Engine>, UnknownEngine> {
    match open_with(name, &Settings::default()) {
        Ok(engine) => Ok(engine),
        Err(OpenError::Unknown(unknown)) => Err(unknown),
        Err(OpenError::Settings(error)) => unreachable!("every engine takes the default settings: {error}"),
    }
}

/// Opens an empty database under the engine called `name`.
pub fn open_with(name: &str, settings: &Settings) -> Result<Arc<dyn Engine>, OpenError> {
    struct Open<'s>(&'s Settings);

    impl WithProtocol for Open<'_> {
        type Output = Result<Arc<dyn Engine>, SettingsError>;

        fn run<P: Protocol>(self) -> Self::Output {
            Ok(Instance::<P>::new(P::configure(self.0)?))
        }
    }

    dispatch(name, Open(settings)).map_err(OpenError::Unknown)?.map_err(OpenError::Settings)
}
