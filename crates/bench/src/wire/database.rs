//! A loaded server: its runs and their reports.

use super::breakdown::{self, ServerReading};
use super::closed_loop::{ClosedLoop, MeasuredPeriod, Sample};
use super::over_wire::OverWire;
use super::procedure::ServerProcedure;
use super::session::start_runtime;
use super::table_reader::TableReader;
use super::tables;
use super::target::Target;
use crate::machine::{SwitchCosts, cpu_of_process};
use crate::options::names::engine_of;
use crate::options::{By, RunOptions};
use crate::report::{Consistency, EngineReport, RunIdentity, SwitchReport, WireReport};
use crate::run::{LoadedDatabase, RunContext, RunFailure};
use hotrow_runtime::RunReport;
use hotrow_workloads::ClientIdentity;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// A function that loads a workload's rows into the server with the given name.
pub(crate) type LoadOverWire<W> =
    fn(&str, &W, &RunOptions, RunContext<'_>) -> Result<Box<dyn LoadedDatabase<W>>, RunFailure>;

/// Loads the rows of `workload` into the server called `name`: one at a URL of the options, or else one that is started
/// here for the engine of that name.
///
/// # Errors
/// The server could not be started or found, its tables could not be made, or the load failed or was interrupted.
pub(crate) fn load_over_wire<W: OverWire>(
    name: &str,
    workload: &W,
    options: &RunOptions,
    context: RunContext<'_>,
) -> Result<Box<dyn LoadedDatabase<W>>, RunFailure> {
    let runtime = start_runtime().map_err(RunFailure::Failed)?;
    let wire = &options.wire;
    let target = match wire.url(name) {
        Some(url) => Target::find(url, wire, &runtime),
        None => Target::start(name, options, &runtime),
    };
    let target = target.map_err(RunFailure::Failed)?;
    let begin = Instant::now();
    let mut database = ServerDatabase {
        tables: Vec::new(),
        procedure: None,
        clients: Vec::new(),
        load: Duration::ZERO,
        target,
        runtime,
    };
    let partitioned = !database.target.is_foreign && tables::are_partitioned(engine_of(name));
    let procedure = W::PROCEDURE.filter(|_| wire.by() == By::Call);
    if wire.replace_tables && database.target.is_foreign {
        let names: Vec<_> = workload.schemas().into_iter().map(|schema| schema.name).collect();
        tables::drop_all(&names, &database.target, &database.runtime).map_err(RunFailure::Failed)?;
        if let Some(procedure) = procedure {
            procedure.drop_on(&database.target, &database.runtime).map_err(RunFailure::Failed)?;
        }
    }
    for schema in workload.schemas() {
        tables::create(&schema, &database.target, partitioned, &database.runtime).map_err(RunFailure::Failed)?;
        database.tables.push(schema.name);
    }
    if let Some(procedure) = procedure {
        procedure.create_on(&database.target, &database.runtime).map_err(RunFailure::Failed)?;
        database.procedure = Some(procedure);
    }
    tables::copy(workload, workload.tables(), &database.target, &database.runtime, context)?;
    database.load = begin.elapsed();
    Ok(Box::new(database))
}

/// A loaded server, and the clients of its runs.
struct ServerDatabase<C> {
    target: Target,
    runtime: Runtime,
    /// The names of the tables that were made there.
    tables: Vec<String>,
    /// The procedure that was made on the server, if any.
    procedure: Option<ServerProcedure>,
    load: Duration,
    /// The clients of all runs since the load. The rows are compared with what they committed.
    clients: Vec<C>,
}

impl<C> ServerDatabase<C> {
    /// Judges the rows of the tables.
    fn check<W: OverWire<WireClient = C>>(&self, workload: &W) -> Consistency {
        let tables = TableReader { target: &self.target, runtime: &self.runtime };
        match workload.judge(&tables, &self.clients) {
            Ok(()) => Consistency::Ok,
            Err(violation) => Consistency::Failed(violation.to_string()),
        }
    }
}

impl<C> Drop for ServerDatabase<C> {
    /// Drops the procedure and the tables if the benchmark has not started the server itself.
    fn drop(&mut self) {
        if self.target.is_foreign {
            // A failure is ignored: if the server is gone, so are its procedure and its tables.
            let _ = self.procedure.map(|procedure| procedure.drop_on(&self.target, &self.runtime));
            let _ = tables::drop_all(&self.tables, &self.target, &self.runtime);
        }
    }
}

impl<W: OverWire> LoadedDatabase<W> for ServerDatabase<W::WireClient> {
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        context: RunContext<'_>,
    ) -> Result<EngineReport, RunFailure> {
        let options = identity.options;
        let stop = context.interrupt.begin_run();
        let (first, pipeline) = (self.clients.len() as u32, options.wire.pipeline());
        let clients = (options.wire.clients() * pipeline) as u32;
        let client_identity = |worker| ClientIdentity { worker, number: first + worker, seed: options.seed };
        let wire_clients = (0..clients).map(|worker| workload.wire_client(client_identity(worker))).collect();
        let mut config = self.target.config.clone();
        let asked = config.get_options().unwrap_or_default();
        // Spaces in a value are escaped in this list.
        let level = hotrow_sql::isolation::name(options.isolation).replace(' ', "\\ ");
        config.options(format!("{asked} -c default_transaction_isolation={level}").trim_start());
        let statements = match &self.procedure {
            Some(procedure) => vec![procedure.call.to_owned()],
            None => workload.statements(),
        };
        let closed_loop = ClosedLoop {
            config: &config,
            settings: &options.wire.settings,
            statements: &statements,
            by: options.wire.by(),
            pipeline,
            threads: options.threads(),
            warmup: options.warmup,
            measured: options.seconds,
            steps: options.steps,
            stop: stop.clone(),
            sample: &|| Sample {
                server_cpu: self.target.cpu(),
                client_cpu: cpu_of_process(std::process::id()),
                reading: options.report.breakdown.then(|| ServerReading::take(&self.target, &self.runtime)).flatten(),
            },
        };
        let costs = options.report.breakdown.then(SwitchCosts::measure).transpose();
        let costs = costs.map_err(|error| RunFailure::Failed(format!("switches could not be measured: {error}")))?;
        let threads = closed_loop.connect(wire_clients)?;
        let (wire_clients, measured) = context.progress.measuring(options, &stop, || closed_loop.run(threads))?;
        context.progress.checking();
        self.clients.extend(wire_clients);
        let consistency = self.check(workload);
        let (server_cpu, client_cpu) = (measured.server_cpu(), measured.client_cpu());
        let MeasuredPeriod { tally, elapsed, stopped_early, samples } = measured;
        let committed = tally.counts.committed;
        let run = RunReport {
            threads: options.threads(),
            elapsed,
            stopped_early,
            counts: tally.counts,
            cpu: server_cpu.unwrap_or_default(),
        };
        let report = EngineReport::new(identity, &run, self.load, &consistency, context.host);
        let us_per = |cpu: Option<Duration>, count: u64| {
            cpu.filter(|_| count > 0).map(|cpu| cpu.as_secs_f64() * 1e6 / count as f64)
        };
        let wire = WireReport {
            server: self.target.version.clone(),
            clients: options.wire.clients() as u32,
            by: options.wire.by().name(),
            pipeline: pipeline as u32,
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
            [report.costs.breakdown, report.costs.breakdown_us] = breakdown::shares(&before, &after, costs, committed);
        }
        Ok(report)
    }
}
