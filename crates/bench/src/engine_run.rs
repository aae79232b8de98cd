//! A database under one engine: loaded, and then driven and checked as often as wanted.

use crate::footprint::{self, Footprints};
use crate::host::{Host, core_distance_ns};
use crate::options::ConcurrencyName;
use crate::progress::Progress;
use crate::report::{Consistency, EngineReport, RunIdentity};
use crate::wire::WireDriver;
use crate::{Interrupt, RunOptions, SchedulerName};
use hotrow_protocols::none::NoIsolation;
use hotrow_protocols::{Instance, WithProtocol, dispatch};
use hotrow_runtime::{OneShot, OneShotConfig, PoolConfig, RunConfig, RunReport, Stop, drive, drive_pool};
use hotrow_sync::{Arc, Mutex, thread};
use hotrow_txn::{Abort, Engine, Inspection, Isolation, Protocol, Settings, Transaction};
use hotrow_workloads::{Client, LoadError, Seat, Violation, Workload};
use std::time::{Duration, Instant};

/// One transaction in so many has its latency and times taken.
const SAMPLE_EVERY: u32 = 16;

/// Why there is no report of a run.
#[derive(Debug)]
pub(crate) enum RunFailure {
    /// The interrupt was raised before anything was measured.
    Interrupted,
    /// What went wrong.
    Failed(String),
}

/// A loop that drives a workload where an engine would, for the workloads that have one.
pub(crate) struct BareLoop<W: Workload> {
    /// What users call it, or the several things that it drives.
    pub names: &'static [&'static str],
    /// Whether the one of this name can have the workload's options; says what it can have.
    pub refuse: fn(&str, &W::Options) -> Result<(), String>,
    /// Drives all clients under the one of this name.
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
    /// Whether it goes by this name, and what it then is called.
    pub(crate) fn named(&self, name: &str) -> Option<&'static str> {
        self.names.iter().copied().find(|own| *own == name)
    }
}

/// What drives a workload where no engine of this process does.
pub(crate) struct Drivers<W: Workload> {
    /// A loop without transactions, if there is one.
    pub bare: Option<BareLoop<W>>,
    /// Clients on the network, if its transactions can be sent as statements.
    pub wire: Option<WireDriver<W>>,
}

impl<W: Workload> Drivers<W> {
    /// Only engines run it.
    pub(crate) fn none() -> Self {
        Self { bare: None, wire: None }
    }

    /// Clients on the network.
    pub(crate) fn wire(driver: WireDriver<W>) -> Self {
        Self { bare: None, wire: Some(driver) }
    }
}

impl<W: Workload> Clone for Drivers<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Workload> Copy for Drivers<W> {}

/// What every run has at hand.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub host: &'a Host,
    pub progress: &'a Progress,
    pub interrupt: &'a Interrupt,
}

/// A loaded database under one engine, on which runs follow one another.
pub(crate) trait Bed<W: Workload> {
    /// Runs `workload`, whose rows are those that were loaded, and checks what all runs so far have left.
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        tools: Tools<'_>,
    ) -> Result<EngineReport, RunFailure>;
}

/// An empty database that can have the tables of `workload`.
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

/// Loads the rows of `workload` into a new database under the engine called `name`, or into a server over the wire.
pub(crate) fn load<W: Workload>(
    name: &str,
    workload: &W,
    drivers: Drivers<W>,
    options: &RunOptions,
    settings: &Settings,
    tools: Tools<'_>,
) -> Result<Box<dyn Bed<W>>, RunFailure> {
    if options.wire.over_wire {
        let driver = drivers.wire.ok_or_else(|| RunFailure::Failed(format!("{} has no statements", W::NAME)))?;
        return (driver.load)(name, workload, options, tools);
    }
    match drivers.bare.and_then(|bare| Some((bare.drive, bare.named(name)?))) {
        Some((bare, name)) => {
            let own_settings = settings.clone();
            let drive = move |instance: &_, tables, clients: &[_], _, config: &PoolConfig| {
                bare(name, instance, tables, clients, &config.run, &own_settings)
            };
            Loaded::<NoIsolation, W>::load(workload, Box::new(drive), settings, tools)
        }
        None => dispatch(name, Load { workload, settings, tools })
            .unwrap_or_else(|unknown| Err(RunFailure::Failed(unknown.to_string()))),
    }
}

/// How all clients of a run are driven.
type Drive<P, W> = Box<
    dyn Fn(
        &Instance<P>,
        <W as Workload>::Tables,
        &[Mutex<<W as Workload>::Client>],
        SchedulerName,
        &PoolConfig,
    ) -> Result<RunReport, String>,
>;

struct Loaded<P: Protocol, W: Workload> {
    instance: Arc<Instance<P>>,
    drive: Drive<P, W>,
    tables: W::Tables,
    load: Duration,
    /// The clients of all runs so far: the check compares the rows with what they committed.
    clients: Vec<W::Client>,
    /// The isolation level of a run so far whose transactions need not have read [one state](Isolation::reads_one_state).
    weak: Option<Isolation>,
}

impl<P: Protocol, W: Workload> Loaded<P, W> {
    fn load(
        workload: &W,
        drive: Drive<P, W>,
        settings: &Settings,
        tools: Tools<'_>,
    ) -> Result<Box<dyn Bed<W>>, RunFailure> {
        let instance = open::<P, W>(workload, settings).map_err(RunFailure::Failed)?;
        let begin = Instant::now();
        let tables = workload.create(&*instance);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let load = |progress: &hotrow_workloads::Progress<'_>| workload.load(&*instance, tables, threads, progress);
        tools.progress.loading(workload.rows(), tools.interrupt, load).map_err(|error| match error {
            LoadError::Stopped => RunFailure::Interrupted,
            error => RunFailure::Failed(error.to_string()),
        })?;
        let load = begin.elapsed();
        if W::CHECKS_LOAD {
            tools.progress.checking();
            let checked = workload.check(&*instance, tables, &[]);
            checked.map_err(|violation| RunFailure::Failed(format!("after the load: {violation}")))?;
        }
        let (clients, weak) = (Vec::new(), None);
        Ok(Box::new(Self { instance, drive, tables, load, clients, weak }))
    }

    /// An engine that does not isolate may lose updates, and a weak level show what never was: that is said, and is no
    /// failure.
    fn check(&self, workload: &W) -> Consistency {
        let isolates = self.instance.info().isolates;
        match workload.check(&*self.instance, self.tables, &self.clients) {
            Ok(()) => match self.instance.audit() {
                Ok(()) => Consistency::Ok,
                Err(what) => Consistency::Failed(format!("the engine is not as it should be at rest: {what}")),
            },
            Err(Violation::Anomaly(what) | Violation::TornRead(what)) if !isolates => Consistency::Unisolated(what),
            Err(violation) => match (violation, self.weak) {
                (Violation::TornRead(what), Some(level)) => Consistency::Weak(level, what),
                (violation, _) => Consistency::Failed(violation.to_string()),
            },
        }
    }
}

impl<P: Protocol, W: Workload> Bed<W> for Loaded<P, W> {
    fn measure(
        &mut self,
        workload: &W,
        identity: &RunIdentity<'_>,
        tools: Tools<'_>,
    ) -> Result<EngineReport, RunFailure> {
        let options = identity.options;
        let stop = tools.interrupt.begin_run();
        let (scheduler, slots) = (options.scheduler_of(identity.engine), options.slots_of(identity.engine));
        let (run, follows_waits) = (run_config(options, stop.clone()), options.slots.is_none());
        let config = PoolConfig { run, slots, follows_waits, ..PoolConfig::default() };
        let info = self.instance.info();
        let judged = workload.judged_isolation().unwrap_or(options.isolation);
        if !info.granted(judged).reads_one_state() {
            self.weak = Some(info.granted(judged));
        }
        let first = self.clients.len();
        let client = |number| {
            let (worker, number) = ((number / slots) as u32, (first + number) as u32);
            Mutex::new(workload.client(self.tables, Seat { worker, number, seed: options.seed }))
        };
        let clients: Vec<_> = (0..config.run.threads * slots).map(client).collect();
        let drive = || (self.drive)(&self.instance, self.tables, &clients, scheduler, &config);
        let look = || options.memory.then(|| footprint::look(&*self.instance, workload.schemas().len()));
        let loaded = look();
        let core_distance_ns = if config.run.threads > 1 { core_distance_ns() } else { None };
        let report = with_progress(tools.progress, options, &stop, drive).map_err(RunFailure::Failed)?;

        let memory = loaded.zip(look()).map(|(loaded, after)| Footprints::new(loaded, after));
        tools.progress.checking();
        self.clients.extend(clients.into_iter().map(|client| client.into_inner().unwrap_or_else(|e| e.into_inner())));
        let consistency = self.check(workload);
        let mut report = EngineReport::new(identity, &report, self.load, &consistency, tools.host);
        for level in [options.isolation, judged].into_iter().filter(|_| info.isolates) {
            report.grant(level, info.granted(level));
        }
        Ok(EngineReport { core_distance_ns, memory, ..report })
    }
}

pub(crate) fn with_progress<T>(
    progress: &Progress,
    options: &RunOptions,
    stop: &Stop,
    measure: impl FnOnce() -> T,
) -> T {
    thread::scope(|scope| {
        scope.spawn(|| progress.running(options.warmup + options.seconds, options.threads(), stop));
        let result = measure();
        // A run that failed has not raised it.
        stop.raise();
        result
    })
}

/// Loads under the engine that it is dispatched to.
struct Load<'a, W> {
    workload: &'a W,
    settings: &'a Settings,
    tools: Tools<'a>,
}

impl<W: Workload> WithProtocol for Load<'_, W> {
    type Output = Result<Box<dyn Bed<W>>, RunFailure>;

    fn run<P: Protocol>(self) -> Self::Output {
        let drive = |instance: &Instance<P>, _, clients: &[_], scheduler, config: &_| match scheduler {
            SchedulerName::Thread => drive_threads(instance, clients, config),
            SchedulerName::Pool => drive_slots(instance, clients, config),
        };
        Loaded::<P, W>::load(self.workload, Box::new(drive), self.settings, self.tools)
    }
}

/// Every client on a worker of its own.
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
            // What a worker's transactions share lives as long as they do.
            let _shared = &shared;
            step(runner)
        };
        (txn, step)
    })
    .map_err(|error| error.to_string())
}

/// Every client in a slot of its own, several on each worker.
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

/// The steps of a client, which nobody else uses meanwhile.
fn steps<T: Transaction, C: Client>(client: &Mutex<C>) -> impl FnMut(&mut OneShot<T>) -> Result<(), Abort> {
    let mut client = client.lock().unwrap_or_else(|poison| poison.into_inner());
    move |runner| client.step(runner)
}

fn run_config(options: &RunOptions, stop: Stop) -> RunConfig {
    let one_shot = OneShotConfig {
        isolation: options.isolation,
        concurrency: options.concurrency.map(ConcurrencyName::mix).unwrap_or_default(),
        batch: !options.no_batch,
        sample_every: SAMPLE_EVERY,
        seed: options.seed,
        ..OneShotConfig::default()
    };
    RunConfig {
        threads: options.threads(),
        warmup: options.warmup,
        measured: options.seconds,
        steps_per_worker: options.steps,
        one_shot,
        stop,
        ..RunConfig::default()
    }
}
