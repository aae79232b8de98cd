//! A loaded database, and what its runs need.

use super::progress::Progress;
use crate::interrupt::Interrupt;
use crate::machine::Host;
use crate::report::{EngineReport, RunIdentity};
use hotrow_workloads::{LoadError, Workload};

/// A loaded database, on which runs follow one another.
pub(crate) trait LoadedDatabase<W: Workload> {
    /// Runs `workload`, whose rows are those that were loaded, and checks what all runs since the load have left.
    ///
    /// # Errors
    /// The run failed, or the interrupt came before anything was measured. A failed check is no error here: the report
    /// says it.
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        context: RunContext<'_>,
    ) -> Result<EngineReport, RunFailure>;
}

/// The context of every run, whatever it runs on.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub host: &'a Host,
    pub progress: &'a Progress,
    pub interrupt: &'a Interrupt,
}

/// The reason why a run has no report.
#[derive(Debug)]
pub(crate) enum RunFailure {
    /// The interrupt was raised before anything was measured.
    Interrupted,
    /// The run failed; the message says why.
    Failed(String),
}

impl From<LoadError> for RunFailure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Stopped => RunFailure::Interrupted,
            error => RunFailure::Failed(error.to_string()),
        }
    }
}
