//! A loop that runs a workload in place of an engine.

use hotrow_protocols::Instance;
use hotrow_protocols::none::NoIsolation;
use hotrow_runtime::{RunConfig, RunReport};
use hotrow_sync::Mutex;
use hotrow_txn::Settings;
use hotrow_workloads::Workload;

/// A loop that runs a workload in place of an engine, such as YCSB without transactions, or range locks under a lock
/// manager alone. It has a name for each way in which it can run.
pub(crate) struct BareLoop<W: Workload> {
    /// The names by which users choose the loop.
    pub names: &'static [&'static str],
    /// Refuses options of the workload that are not possible under a name of the loop; the message says what is
    /// possible.
    pub refuse: fn(&str, &W::Options) -> Result<(), String>,
    /// Runs the transactions of all clients, in the way that the name stands for.
    pub drive: BareDrive<W>,
}

type BareDrive<W> = fn(
    &str,
    &Instance<NoIsolation>,
    <W as Workload>::Tables,
    &[Mutex<<W as Workload>::Client>],
    &RunConfig,
    &Settings,
) -> Result<RunReport, String>;

impl<W: Workload> Clone for BareLoop<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Workload> Copy for BareLoop<W> {}

impl<W: Workload> BareLoop<W> {
    /// Returns `name` if it is a name of the loop, else `None`.
    pub(crate) fn named(&self, name: &str) -> Option<&'static str> {
        self.names.iter().copied().find(|own| *own == name)
    }
}
