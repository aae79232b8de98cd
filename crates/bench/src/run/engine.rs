//! A database in this process, under one engine or a bare loop.

use super::bare_loop::BareLoop;
use super::database::{LoadedDatabase, RunContext, RunFailure};
use super::log_folder::LogFolder;
use crate::machine::core_distance_ns;
use crate::options::names::{durability_of, engine_of};
use crate::options::{AssignName, ConcurrencyName, RunOptions, SchedulerName};
use crate::report::{Consistency, EngineReport, Footprints, MemorySnapshot, RunIdentity};
use hotrow_protocols::none::NoIsolation;
use hotrow_protocols::{Instance, WithProtocol, dispatch};
use hotrow_runtime::{OneShot, OneShotConfig, PoolConfig, RunConfig, RunReport, Stop, drive, drive_pool};
use hotrow_sync::{Arc, Mutex, Time, thread};
use hotrow_txn::{Abort, Engine, Inspection, Isolation, Protocol, Settings, Transaction};
use hotrow_workloads::{Client, ClientIdentity, Dealer, Violation, Workload};
use std::time::Duration;

/// The number of transactions of which one is sampled for its latency and its times.
const SAMPLE_EVERY: u32 = 16;
/// The number of transactions of which one is sampled on a simulated machine, whose runs are short.
const SAMPLE_EVERY_SIMULATED: u32 = 2;
/// The number of samples of which one is broken down into its times, if the user asks for a breakdown.
const BREAKDOWN_EVERY: u32 = 2;

/// Loads the rows of `workload` into a new database under the engine called `name`.
///
/// # Errors
/// There is no such engine, it cannot have the settings or the tables, or the load failed or was interrupted.
pub(crate) fn load_engine<W: Workload>(
    name: &str,
    workload: &W,
    options: &RunOptions,
    settings: &Settings,
    context: RunContext<'_>,
) -> Result<Box<dyn LoadedDatabase<W>>, RunFailure> {
    let log = durability_of(name).map(|durability| LogFolder::new(options, durability)).transpose();
    let log = log.map_err(RunFailure::Failed)?;
    dispatch(engine_of(name), Load { workload, settings, context, log })
        .unwrap_or_else(|unknown| Err(RunFailure::Failed(unknown.to_string())))
}

/// Loads the rows of `workload` into a new database on which `bare_loop` runs, in the way that `name`, one of its
/// names, stands for.
///
/// # Errors
/// The load failed or was interrupted.
pub(crate) fn load_bare<W: Workload>(
    name: &'static str,
    bare_loop: BareLoop<W>,
    workload: &W,
    settings: &Settings,
    context: RunContext<'_>,
) -> Result<Box<dyn LoadedDatabase<W>>, RunFailure> {
    let own_settings = settings.clone();
    let drive = move |instance: &_, tables, clients: &[_], _, config: &PoolConfig| {
        (bare_loop.drive)(name, instance, tables, clients, &config.run, &own_settings)
    };
    EngineDatabase::<NoIsolation, W>::load(workload, Box::new(drive), settings, context, None)
}

/// Opens an empty database that can have the tables of `workload`.
fn open<P: Protocol, W: Workload>(workload: &W, settings: &Settings) -> Result<Arc<Instance<P>>, String> {
    let name = P::INFO.name;
    let config = P::configure(settings).map_err(|error| format!("engine {name}: {error}"))?;
    let instance = Instance::<P>::new(config);
    for schema in workload.schemas() {
        instance
            .admits(&schema)
            .map_err(|why| format!("engine {name} cannot have the table {}: {why}", schema.name))?;
    }
    Ok(instance)
}

/// A function that drives all clients of a run.
type Drive<P, W> = Box<
    dyn Fn(
        &Instance<P>,
        <W as Workload>::Tables,
        &[Mutex<<W as Workload>::Client>],
        SchedulerName,
        &PoolConfig,
    ) -> Result<RunReport, String>,
>;

/// A database under one protocol, and the clients of its runs.
struct EngineDatabase<P: Protocol, W: Workload> {
    instance: Arc<Instance<P>>,
    drive: Drive<P, W>,
    tables: W::Tables,
    load: Duration,
    /// The clients of all runs since the load. The check compares the rows with what they committed.
    clients: Vec<W::Client>,
    /// The level of a run since the load whose transactions need not have read
    /// [one state](Isolation::reads_one_state).
    weak_level: Option<Isolation>,
    /// The log, if the database has one. It is removed last.
    log: Option<LogFolder>,
}

impl<P: Protocol, W: Workload> EngineDatabase<P, W> {
    fn load(
        workload: &W,
        drive: Drive<P, W>,
        settings: &Settings,
        context: RunContext<'_>,
        log: Option<LogFolder>,
    ) -> Result<Box<dyn LoadedDatabase<W>>, RunFailure> {
        let instance = open::<P, W>(workload, settings).map_err(RunFailure::Failed)?;
        if let Some(log) = &log {
            instance.set_redo(log.live.sink());
        }
        let begin = Time::now();
        let tables = workload.create(&*instance);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let load = |progress: &hotrow_workloads::Progress<'_>| workload.load(&*instance, tables, threads, progress);
        context.progress.loading(workload.rows(), context.interrupt, load)?;
        if let Some(log) = &log {
            log.settle().map_err(RunFailure::Failed)?;
        }
        let load = Time::now().since(begin);
        if W::CHECKS_LOAD {
            context.progress.checking();
            let checked = workload.check(&*instance, tables, &[]);
            checked.map_err(|violation| RunFailure::Failed(format!("after the load: {violation}")))?;
        }
        Ok(Box::new(Self { instance, drive, tables, load, clients: Vec::new(), weak_level: None, log }))
    }

    /// Checks the rows and the engine. That an engine without isolation lost updates, or that a transaction at a weak
    /// level read rows as they never were together, is reported and is no failure.
    fn check(&self, workload: &W) -> Consistency {
        let isolates = self.instance.info().isolates;
        match workload.check(&*self.instance, self.tables, &self.clients) {
            Ok(()) => match self.instance.audit() {
                Ok(()) => Consistency::Ok,
                Err(what) => Consistency::Failed(format!("the engine is not as it should be at rest: {what}")),
            },
            Err(Violation::Anomaly(what) | Violation::TornRead(what)) if !isolates => Consistency::Unisolated(what),
            Err(violation) => match (violation, self.weak_level) {
                (Violation::TornRead(what), Some(level)) => Consistency::Weak(level, what),
                (violation, _) => Consistency::Failed(violation.to_string()),
            },
        }
    }
}

impl<P: Protocol, W: Workload> LoadedDatabase<W> for EngineDatabase<P, W> {
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        context: RunContext<'_>,
    ) -> Result<EngineReport, RunFailure> {
        let options = identity.options;
        let stop = context.interrupt.begin_run();
        let (scheduler, slots) = (options.scheduler_of(identity.engine), options.slots_of(identity.engine));
        let (run, follows_waits) = (run_config(options, stop.clone()), options.placement.slots.is_none());
        let config = PoolConfig { run, slots, follows_waits, ..PoolConfig::default() };
        let info = self.instance.info();
        let judged = workload.judged_isolation().unwrap_or(options.isolation);
        if !info.granted(judged).reads_one_state() {
            self.weak_level = Some(info.granted(judged));
        }
        let first = self.clients.len();
        let dealer = dealer(workload, options);
        let client = |number| {
            let (worker, number) = ((number / slots) as u32, (first + number) as u32);
            let mut client = workload.client(self.tables, ClientIdentity { worker, number, seed: options.seed });
            if let Some(dealer) = &dealer {
                client.deal(dealer.hand(worker));
            }
            Mutex::new(client)
        };
        let clients: Vec<_> = (0..config.run.threads * slots).map(client).collect();
        let drive = || (self.drive)(&self.instance, self.tables, &clients, scheduler, &config);
        let snapshot =
            || options.report.memory.then(|| MemorySnapshot::take(&*self.instance, workload.schemas().len()));
        let loaded = snapshot();
        let core_distance_ns = if config.run.threads > 1 { core_distance_ns() } else { None };
        let before = self.log.as_ref().map(LogFolder::figures);
        let report = context.progress.measuring(options, &stop, drive).map_err(RunFailure::Failed)?;
        let log = self.log.as_ref().zip(before).map(|(log, before)| log.since(before)).transpose();
        let log = log.map_err(RunFailure::Failed)?;

        let memory = loaded.zip(snapshot()).map(|(loaded, after)| Footprints::new(loaded, after));
        context.progress.checking();
        self.clients.extend(clients.into_iter().map(|client| client.into_inner().unwrap_or_else(|e| e.into_inner())));
        let consistency = self.check(workload);
        let mut report = EngineReport::new(identity, &report, self.load, &consistency, context.host);
        for level in [options.isolation, judged].into_iter().filter(|_| info.isolates) {
            report.grant(level, info.granted(level));
        }
        Ok(EngineReport { core_distance_ns, memory, log, ..report })
    }
}

/// Loads a database under the protocol that it is dispatched to.
struct Load<'a, W> {
    workload: &'a W,
    settings: &'a Settings,
    context: RunContext<'a>,
    log: Option<LogFolder>,
}

impl<W: Workload> WithProtocol for Load<'_, W> {
    type Output = Result<Box<dyn LoadedDatabase<W>>, RunFailure>;

    fn run<P: Protocol>(self) -> Self::Output {
        let drive = |instance: &Instance<P>, _, clients: &[_], scheduler, config: &_| match scheduler {
            SchedulerName::Thread => drive_threads(instance, clients, config),
            SchedulerName::Pool => drive_slots(instance, clients, config),
        };
        EngineDatabase::<P, W>::load(self.workload, Box::new(drive), self.settings, self.context, self.log)
    }
}

/// Returns the source of transaction types for the clients of a run, or `None` if each client draws from the whole mix.
fn dealer<W: Workload>(workload: &W, options: &RunOptions) -> Option<Arc<Dealer>> {
    let types = workload.types().filter(|_| options.placement.assign == AssignName::ByType)?;
    Some(Dealer::new(types, options.threads() as u32))
}

/// Drives every client on a worker of its own.
fn drive_threads<P: Protocol, C: Client>(
    instance: &Instance<P>,
    clients: &[Mutex<C>],
    config: &PoolConfig,
) -> Result<RunReport, String> {
    drive(&config.run, |worker, waiter| {
        let mut step = steps(&clients[worker.0 as usize]);
        let mut shared = instance.worker(worker);
        let txn = instance.transaction(&mut shared, waiter.clone());
        let step = move |runner: &mut OneShot<P::Transaction>| {
            // The state that the worker's transactions share must live as long as they do.
            let _shared = &shared;
            step(runner)
        };
        (txn, step)
    })
    .map_err(|error| error.to_string())
}

/// Drives every client in a slot of its own, several of them on each worker.
fn drive_slots<P: Protocol, C: Client>(
    instance: &Instance<P>,
    clients: &[Mutex<C>],
    config: &PoolConfig,
) -> Result<RunReport, String> {
    let make_worker = |worker| instance.worker(worker);
    drive_pool(config, make_worker, |shared, slot, waiter| {
        (instance.transaction(shared, waiter.clone()), steps(&clients[slot.number]))
    })
    .map_err(|error| error.to_string())
}

/// Returns a function that runs the client's next transaction at each call. The client is locked as long as the
/// function lives.
fn steps<T: Transaction, C: Client>(client: &Mutex<C>) -> impl FnMut(&mut OneShot<T>) -> Result<(), Abort> {
    let mut client = client.lock().unwrap_or_else(|poison| poison.into_inner());
    move |runner| client.step(runner)
}

/// Returns the configuration of the runners.
fn run_config(options: &RunOptions, stop: Stop) -> RunConfig {
    let default = OneShotConfig::default();
    let one_shot = OneShotConfig {
        isolation: options.isolation,
        concurrency: options.concurrency.map(ConcurrencyName::mix).unwrap_or_default(),
        batch: !options.no_batch,
        sample_every: if hotrow_sync::simulated_hardware().is_some() { SAMPLE_EVERY_SIMULATED } else { SAMPLE_EVERY },
        breakdown_every: if options.report.breakdown { BREAKDOWN_EVERY } else { default.breakdown_every },
        seed: options.seed,
        ..default
    };
    let default = RunConfig::default();
    // Threads that share a core would keep each other from it.
    let spin = options.placement.spin_us.filter(|_| options.threads() <= hotrow_sync::cores());
    RunConfig {
        threads: options.threads(),
        warmup: options.warmup,
        measured: options.seconds,
        steps_per_worker: options.steps,
        spin: spin.map_or(default.spin, |us| Duration::from_micros(us.into())),
        one_shot,
        stop,
    }
}
