//! The one place where an engine's name becomes a type.

use crate::Instance;
use crate::none::NoIsolation;
use crate::ordered::{Ordered, Split, Whole};
use crate::serial::Serial;
use crate::two_phase::{Dreadlocks, Timeout, TwoPhase, WaitDie, WaitFor};
use hotrow_sync::Arc;
use hotrow_txn::{Engine, EngineInfo, Protocol};
use std::fmt;

/// What to do with a protocol whose type is chosen at run time.
pub trait WithProtocol {
    /// What it returns.
    type Output;

    /// Does it.
    fn run<P: Protocol>(self) -> Self::Output;
}

/// There is no engine of that name.
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
        /// All engines, in the order of the reports.
        pub static ENGINES: &[EngineInfo] = &[$(<$protocol as Protocol>::INFO),+];

        /// Does `what` with the protocol of the engine called `name`.
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
    Ordered<Whole>,
    Ordered<Split>
);

/// An empty database under the engine called `name`, with its default settings.
pub fn open(name: &str) -> Result<Arc<dyn Engine>, UnknownEngine> {
    struct Open;

    impl WithProtocol for Open {
        type Output = Arc<dyn Engine>;

        fn run<P: Protocol>(self) -> Self::Output {
            Instance::<P>::new(P::Config::default())
        }
    }

    dispatch(name, Open)
}
