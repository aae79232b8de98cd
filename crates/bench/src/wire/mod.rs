//! Workloads over the network: their transactions as prepared statements, from many clients, to any server that speaks
//! PostgreSQL's protocol.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `options.rs` | the command line |
//! | `target.rs` | the server: one of ours in a process of its own, or one that a URL leads to |
//! | `process.rs` | its CPU time |
//! | `times.rs` | where that goes |
//! | `tables.rs` | the workload's tables there: made, and filled by COPY |
//! | `look.rs` | what is in them after a run: summed up, or read back |
//! | `decimal.rs` | decimals, as the driver sends and takes them |
//! | `session.rs` | a client's connection |
//! | `drive.rs` | the closed loop |
//! | `failure.rs` | what a retry cures, and what is said of the rest |
//! | one for each workload | its transactions as statements |
//!
//! **How it measures.** The server's CPU time is that of its processes, user and system, and so apart from the clients', whose
//! own is reported too. Every statement is a request and a reply; those that begin and end transactions count. Latency runs from
//! the first statement to the answer to COMMIT, retries included, and is taken of every transaction. What the server refuses
//! with 40001, 40P01 or 55P03 is tried again at once, and counted.
//!
//! **Consistency.** After the run the tables are summed up in SQL, and the sums compared with what the clients know to be
//! committed. Those of TPC-C are read back row by row instead, and judged as if they had been here all the time.

mod decimal;
mod drive;
mod failure;
mod interactive;
mod look;
mod options;
mod process;
mod session;
mod tables;
mod target;
mod tatp;
mod times;
mod tpcb;
mod tpcc;
mod ycsb;

pub use options::{Url, WireOptions};

pub(crate) use failure::AttemptError;
pub(crate) use options::{EXECUTIONS, engine_of, refuse_options};
pub(crate) use session::Session;
pub(crate) use times::PARTS;

use crate::RunOptions;
use crate::engine_run::{Bed, RunFailure, Tools, with_progress};
use crate::report::{Consistency, EngineReport, RunIdentity, SwitchReport, WireReport};
use drive::{Drive, Driven, Sample};
use hotrow_runtime::RunReport;
use hotrow_workloads::{Seat, Violation, Workload};
use look::Look;
use std::future::Future;
use std::time::{Duration, Instant};
use target::Target;
use times::{Costs, Reading};
use tokio::runtime::Runtime;
use tokio_postgres::Row;

/// A workload whose transactions can be sent as statements.
pub(crate) trait OverWire: Workload {
    /// Who sends them.
    type Caller: Caller;

    /// The numbers of its tables in a database that has nothing else, made in the order of
    /// [`schemas`](Workload::schemas).
    fn tables(&self) -> Self::Tables;

    /// The statements, which callers know by their positions.
    fn statements(&self) -> Vec<String>;

    /// A client, whose transactions are those of the workload's own client in this seat.
    fn caller(&self, seat: Seat) -> Self::Caller;

    /// Compares what is in the tables with what all callers since the load know to be committed.
    fn judge(&self, tables: &Look<'_>, callers: &[Self::Caller]) -> Result<(), Violation>;
}

/// One client's stream of transactions. It remembers what its committed transactions did.
pub(crate) trait Caller: Send + 'static {
    /// Makes the next transaction up.
    fn draw(&mut self);

    /// Tries the transaction made up last, from its begin to its commit. After an error whoever called takes it back, and
    /// may try again.
    fn attempt(&mut self, session: &mut Session) -> impl Future<Output = Result<(), AttemptError>>;

    /// Notes that it has committed. Returns of what kind it was and whether it found what it was looking for, in workloads with
    /// several kinds.
    fn committed(&mut self) -> Option<(usize, bool)>;
}

/// The one row that a query must have found.
fn one(rows: &[Row]) -> Result<&Row, AttemptError> {
    match rows {
        [row] => Ok(row),
        rows => Err(AttemptError::Unexpected(format!("a query of one row by its key found {}", rows.len()))),
    }
}

/// Takes an update of one row by its key for done, or the row for lost.
fn changed_one(rows: u64) -> Result<(), AttemptError> {
    match rows {
        1 => Ok(()),
        rows => Err(AttemptError::Unexpected(format!("a change of one row by its key changed {rows}"))),
    }
}

/// What one thread runs its connections on.
fn runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("the clients' runtime could not be started: {error}"))
}

/// Runs a workload over the network.
pub(crate) struct WireDriver<W> {
    /// Loads its rows into the server of a name: an engine's, or one that a URL leads to.
    pub load: LoadOverWire<W>,
}

type LoadOverWire<W> = fn(&str, &W, &RunOptions, Tools<'_>) -> Result<Box<dyn Bed<W>>, RunFailure>;

impl<W: OverWire> WireDriver<W> {
    /// That of a workload whose transactions can be sent.
    pub(crate) fn new() -> Self {
        Self { load }
    }
}

impl<W> Clone for WireDriver<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for WireDriver<W> {}

/// Loads the rows of `workload` into the server called `name`.
fn load<W: OverWire>(
    name: &str,
    workload: &W,
    options: &RunOptions,
    tools: Tools<'_>,
) -> Result<Box<dyn Bed<W>>, RunFailure> {
    let runtime = runtime().map_err(RunFailure::Failed)?;
    let wire = &options.wire;
    let target = match wire.url(name) {
        Some(url) => Target::find(url, wire, &runtime),
        None => Target::start(name, options, &runtime),
    };
    let target = target.map_err(RunFailure::Failed)?;
    let begin = Instant::now();
    let mut bed = WireBed { tables: Vec::new(), callers: Vec::new(), load: Duration::ZERO, target, runtime };
    let partitioned = !bed.target.is_foreign && tables::are_partitioned(engine_of(name));
    if wire.replace_tables && bed.target.is_foreign {
        let names: Vec<_> = workload.schemas().into_iter().map(|schema| schema.name).collect();
        tables::drop_all(&names, &bed.target, &bed.runtime).map_err(RunFailure::Failed)?;
    }
    for schema in workload.schemas() {
        tables::create(&schema, &bed.target, partitioned, &bed.runtime).map_err(RunFailure::Failed)?;
        bed.tables.push(schema.name);
    }
    tables::copy(workload, &bed.target, &bed.runtime, tools)?;
    bed.load = begin.elapsed();
    Ok(Box::new(bed))
}

/// A loaded server.
struct WireBed<C> {
    target: Target,
    runtime: Runtime,
    /// The tables that were made there.
    tables: Vec<String>,
    load: Duration,
    /// The clients of all runs so far: the sums are compared with what they committed.
    callers: Vec<C>,
}

impl<C> WireBed<C> {
    /// Looks at the tables and judges them.
    fn check<W: OverWire<Caller = C>>(&self, workload: &W) -> Consistency {
        match workload.judge(&Look { target: &self.target, runtime: &self.runtime }, &self.callers) {
            Ok(()) => Consistency::Ok,
            Err(violation) => Consistency::Failed(violation.to_string()),
        }
    }
}

impl<C> Drop for WireBed<C> {
    /// Leaves nothing behind on somebody else's server.
    fn drop(&mut self) {
        if self.target.is_foreign {
            // If the server is gone, so is who could do something about it.
            let _ = tables::drop_all(&self.tables, &self.target, &self.runtime);
        }
    }
}

impl<W: OverWire> Bed<W> for WireBed<W::Caller> {
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        tools: Tools<'_>,
    ) -> Result<EngineReport, RunFailure> {
        let options = identity.options;
        let stop = tools.interrupt.begin_run();
        let (first, clients) = (self.callers.len() as u32, options.wire.clients() as u32);
        let seat = |worker| Seat { worker, number: first + worker, seed: options.seed };
        let callers = (0..clients).map(|worker| workload.caller(seat(worker))).collect();
        let mut config = self.target.config.clone();
        let asked = config.get_options().unwrap_or_default();
        // A setting's value in this list has its spaces behind backslashes.
        let level = hotrow_sql::isolation::name(options.isolation).replace(' ', "\\ ");
        config.options(format!("{asked} -c default_transaction_isolation={level}").trim_start());
        let statements = workload.statements();
        let drive = Drive {
            config: &config,
            settings: &options.wire.settings,
            statements: &statements,
            threads: options.threads(),
            warmup: options.warmup,
            measured: options.seconds,
            steps: options.steps,
            stop: stop.clone(),
            sample: &|| Sample {
                server_cpu: self.target.cpu(),
                client_cpu: process::cpu_of(std::process::id()),
                reading: options.breakdown.then(|| Reading::take(&self.target, &self.runtime)).flatten(),
            },
        };
        let costs = options.breakdown.then(Costs::measure).transpose();
        let costs = costs.map_err(|error| RunFailure::Failed(format!("switches could not be measured: {error}")))?;
        let crews = drive.connect(callers)?;
        let (callers, driven) = with_progress(tools.progress, options, &stop, || drive.run(crews))?;
        tools.progress.checking();
        self.callers.extend(callers);
        let consistency = self.check(workload);
        let (server_cpu, client_cpu) = (driven.server_cpu(), driven.client_cpu());
        let Driven { tally, elapsed, stopped_early, samples } = driven;
        let committed = tally.counts.committed;
        let run = RunReport {
            threads: options.threads(),
            elapsed,
            stopped_early,
            counts: tally.counts,
            cpu: server_cpu.unwrap_or_default(),
        };
        let report = EngineReport::new(identity, &run, self.load, &consistency, tools.host);
        let us_per = |cpu: Option<Duration>, count: u64| {
            cpu.filter(|_| count > 0).map(|cpu| cpu.as_secs_f64() * 1e6 / count as f64)
        };
        let wire = WireReport {
            server: self.target.version.clone(),
            clients,
            statements: tally.statements,
            statements_per_second: tally.statements as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
            server_cpu_us_per_txn: us_per(server_cpu, committed),
            server_cpu_us_per_statement: us_per(server_cpu, tally.statements),
            client_cpu_us_per_txn: us_per(client_cpu, committed),
            sqlstates: tally.states,
            switches: costs.as_ref().map(SwitchReport::from),
        };
        let mut report = EngineReport { wire: Some(wire), ..report };
        if let (Some(costs), [Some(before), Some(after)]) = (&costs, samples.map(|sample| sample.reading)) {
            [report.breakdown, report.breakdown_us] = times::shares(&before, &after, costs, committed);
        }
        Ok(report)
    }
}
