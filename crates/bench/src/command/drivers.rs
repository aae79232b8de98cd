//! The drivers of a workload other than the engines of this process.

use crate::options::RunOptions;
use crate::run::{BareLoop, LoadedDatabase, RunContext, RunFailure, load_bare, load_engine};
use crate::wire::{LoadOverWire, OverWire, load_over_wire};
use hotrow_txn::Settings;
use hotrow_workloads::Workload;

/// The ways to run a workload other than on an engine in this process: in a loop without transactions, and as
/// statements to a server.
pub(crate) struct Drivers<W: Workload> {
    /// The loop that runs the workload without transactions, if it has one.
    pub bare: Option<BareLoop<W>>,
    /// The function that loads the workload's rows into a server, if its transactions can be sent as statements.
    pub wire: Option<LoadOverWire<W>>,
    /// Whether the workload's transactions can also be sent as calls of a procedure.
    pub has_procedure: bool,
}

impl<W: Workload> Drivers<W> {
    /// Returns the drivers of a workload that runs on engines in this process only: there are none.
    pub(crate) fn none() -> Self {
        Self { bare: None, wire: None, has_procedure: false }
    }

    /// Returns the drivers of a workload whose transactions can be sent over the network as statements.
    pub(crate) fn over_wire() -> Self
    where
        W: OverWire,
    {
        Self { bare: None, wire: Some(load_over_wire), has_procedure: W::PROCEDURE.is_some() }
    }

    /// Adds a loop that runs the workload without transactions.
    pub(crate) fn with_bare(self, bare: BareLoop<W>) -> Self {
        Self { bare: Some(bare), ..self }
    }

    /// Loads the rows of `workload` into a new database in this process, or into a server if the options ask for a run
    /// over the network. `name` is the engine, the loop without transactions, or the server.
    pub(crate) fn load(
        self,
        name: &str,
        workload: &W,
        options: &RunOptions,
        settings: &Settings,
        context: RunContext<'_>,
    ) -> Result<Box<dyn LoadedDatabase<W>>, RunFailure> {
        if options.wire.over_wire {
            let load = self.wire.ok_or_else(|| RunFailure::Failed(format!("{} has no statements", W::NAME)))?;
            return load(name, workload, options, context);
        }
        match self.bare.and_then(|bare| Some((bare.named(name)?, bare))) {
            Some((name, bare)) => load_bare(name, bare, workload, settings, context),
            None => load_engine(name, workload, options, settings, context),
        }
    }
}

impl<W: Workload> Clone for Drivers<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Workload> Copy for Drivers<W> {}
