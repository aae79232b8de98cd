//! The workloads of `hotrow bench`, each with what can drive it.
//!
//! A workload's type is chosen at run time, by a word of the command line. This module is the only place that knows all
//! workloads: it calls a [`WithWorkload`] with the type, the options and the [`Drivers`]. Commands of a figure come
//! this way, too. A new workload is a variant of [`BenchCommand`], a name in [`WORKLOADS`] and a line in
//! [`BenchCommand::with_workload`].

mod drivers;

pub(crate) use drivers::Drivers;

use crate::options::names::{BARE, durability_of, is_engine, managers, names_offering};
use crate::options::{RunOptions, WorkloadOptions};
use crate::run::{range_lock_loop, ycsb_loop};
use hotrow_workloads::Workload;
use hotrow_workloads::bimodal::Bimodal;
use hotrow_workloads::hekaton::Hekaton;
use hotrow_workloads::interactive::Interactive;
use hotrow_workloads::micro::Micro;
use hotrow_workloads::range::Range;
use hotrow_workloads::roving::Roving;
use hotrow_workloads::tatp::Tatp;
use hotrow_workloads::tpcb::Tpcb;
use hotrow_workloads::tpcc::Tpcc;
use hotrow_workloads::transfers::Transfers;
use hotrow_workloads::ycsb::Ycsb;

/// The names of the workloads that `hotrow bench` runs.
pub const WORKLOADS: [&str; 11] = [
    Ycsb::NAME,
    Interactive::NAME,
    Tpcb::NAME,
    Tpcc::NAME,
    Tatp::NAME,
    Transfers::NAME,
    Micro::NAME,
    Hekaton::NAME,
    Bimodal::NAME,
    Roving::NAME,
    Range::NAME,
];

/// The arguments of `hotrow bench`: a workload, with the options of its runs.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum BenchCommand {
    /// Reads and read-modify-writes of one table's rows
    #[command(mut_arg("engines", |arg| arg.value_parser(names_offering(|name| is_engine(name) || name == BARE))))]
    Ycsb(WorkloadOptions<<Ycsb as Workload>::Options>),
    /// Reads and writes of keys and values, each a request of its own, as in the interactive paper
    Interactive(WorkloadOptions<<Interactive as Workload>::Options>),
    /// TPC-B on pgbench's tables
    Tpcb(WorkloadOptions<<Tpcb as Workload>::Options>),
    /// TPC-C on BenchBase's tables
    Tpcc(WorkloadOptions<<Tpcc as Workload>::Options>),
    /// TATP: short transactions of a register of mobile subscribers
    Tatp(WorkloadOptions<<Tatp as Workload>::Options>),
    /// Transfers between accounts, a few of them very popular, as in SpacetimeDB's keynote-2
    Transfers(WorkloadOptions<<Transfers as Workload>::Options>),
    /// Short or long updates of a few records, some of them hot, as in the VLL paper
    Micro(WorkloadOptions<<Micro as Workload>::Options>),
    /// Short reads and writes of small rows beside long readers, as in the Hekaton paper
    Hekaton(WorkloadOptions<<Hekaton as Workload>::Options>),
    /// Groups of transactions that touch different tables, as in the SLI paper
    Bimodal(WorkloadOptions<<Bimodal as Workload>::Options>),
    /// Appends to a table, and reads of its newest rows: a hotspot that moves on, as in the SLI paper
    Roving(WorkloadOptions<<Roving as Workload>::Options>),
    /// Locks on ranges of keys under a lock manager alone, without an engine, as in the VLL paper
    #[command(mut_arg("engines", managers))]
    Range(WorkloadOptions<<Range as Workload>::Options>),
}

/// An action on a command's workload, whose type is chosen at run time.
pub(crate) trait WithWorkload {
    /// The result of the action.
    type Output;

    /// Carries the action out. `drivers` are the ways to run the workload other than on an engine in this process.
    fn run<W: Workload>(self, options: &WorkloadOptions<W::Options>, drivers: Drivers<W>) -> Self::Output;
}

impl BenchCommand {
    /// Returns `network` or `disk` if a run of the command needs one, as it does over the wire or with a log; `None` if
    /// it needs only this process's memory and threads.
    pub fn wants_outside(&self) -> Option<&'static str> {
        struct Wants;

        impl WithWorkload for Wants {
            type Output = Option<&'static str>;

            fn run<W: Workload>(self, options: &WorkloadOptions<W::Options>, _: Drivers<W>) -> Self::Output {
                let RunOptions { wire, engines, .. } = &options.run;
                let has_log = engines.iter().any(|name| durability_of(name).is_some());
                (wire.over_wire || !wire.urls.is_empty()).then_some("network").or(has_log.then_some("disk"))
            }
        }

        self.with_workload(Wants)
    }

    /// Carries `action` out on the workload of the command.
    pub(crate) fn with_workload<A: WithWorkload>(&self, action: A) -> A::Output {
        match self {
            BenchCommand::Ycsb(options) => action.run::<Ycsb>(options, Drivers::over_wire().with_bare(ycsb_loop())),
            BenchCommand::Interactive(options) => action.run::<Interactive>(options, Drivers::over_wire()),
            BenchCommand::Tpcb(options) => action.run::<Tpcb>(options, Drivers::over_wire()),
            BenchCommand::Tpcc(options) => action.run::<Tpcc>(options, Drivers::over_wire()),
            BenchCommand::Tatp(options) => action.run::<Tatp>(options, Drivers::over_wire()),
            BenchCommand::Transfers(options) => action.run::<Transfers>(options, Drivers::over_wire()),
            BenchCommand::Micro(options) => action.run::<Micro>(options, Drivers::none()),
            BenchCommand::Hekaton(options) => action.run::<Hekaton>(options, Drivers::none()),
            BenchCommand::Bimodal(options) => action.run::<Bimodal>(options, Drivers::none()),
            BenchCommand::Roving(options) => action.run::<Roving>(options, Drivers::none()),
            BenchCommand::Range(options) => action.run::<Range>(options, Drivers::none().with_bare(range_lock_loop())),
        }
    }
}
