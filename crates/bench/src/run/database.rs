//! A loaded database, and what its runs need.

use super::progress::Progress;
use crate::interrupt::Interrupt;
use crate::machine::Host;
use crate::report::{EngineReport, RunIdentity};
use hotrow_workloads::{LoadError, Workload};

/// A database that is loaded with a workload's rows, on which any number of runs are made.
pub(crate) trait LoadedDatabase<W: Workload> {
    /// Runs `workload`, whose rows the database has, and checks the rows after it: they must show the effects of all
    /// runs since the load.
    ///
    /// # Errors
    /// The run failed, or the interrupt came before anything was measured. A failed check is no error: it is part of
    /// the report.
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        context: RunContext<'_>,
    ) -> Result<EngineReport, RunFailure>;
}

/// The objects that every run uses: the machine's description, the display of progress, and the interrupt.
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
