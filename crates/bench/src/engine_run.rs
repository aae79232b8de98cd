//! A database under one engine: loaded, and then driven and checked as often as wanted.

use crate::host::Host;
use crate::progress::Progress;
use crate::report::{Consistency, EngineReport, RunIdentity};
use crate::{Interrupt, RunOptions, bare};
use hotrow_protocols::none::NoIsolation;
use hotrow_protocols::{Instance, WithProtocol, dispatch};
use hotrow_runtime::{OneShot, OneShotConfig, RunConfig, RunReport, Stop, drive};
use hotrow_sync::{Arc, Mutex, MutexGuard, thread};
use hotrow_txn::{Engine, Isolation, Protocol, WorkerId};
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

/// How the bare loop drives a workload, for those that it knows.
pub(crate) type BareLoop<W> =
    fn(&Instance<NoIsolation>, <W as Workload>::Tables, &[Mutex<<W as Workload>::Client>], &RunConfig) -> RunReport;

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

/// Loads the rows of `workload` into a new database under the engine called `name`.
pub(crate) fn load<W: Workload>(
    name: &str,
    workload: &W,
    bare: Option<BareLoop<W>>,
    tools: Tools<'_>,
) -> Result<Box<dyn Bed<W>>, RunFailure> {
    match bare.filter(|_| name == bare::NAME) {
        Some(bare) => {
            let drive =
                move |instance: &_, tables, clients: &[_], config: &_| Ok(bare(instance, tables, clients, config));
            Loaded::<NoIsolation, W>::load(workload, Box::new(drive), tools)
        }
        None => dispatch(name, Load { workload, tools })
            .unwrap_or_else(|unknown| Err(RunFailure::Failed(unknown.to_string()))),
    }
}

/// How all clients of a run are driven.
type Drive<P, W> = Box<
    dyn Fn(
        &Instance<P>,
        <W as Workload>::Tables,
        &[Mutex<<W as Workload>::Client>],
        &RunConfig,
    ) -> Result<RunReport, String>,
>;

struct Loaded<P: Protocol, W: Workload> {
    instance: Arc<Instance<P>>,
    drive: Drive<P, W>,
    tables: W::Tables,
    load: Duration,
    /// The clients of all runs so far: the check compares the rows with what they committed.
    clients: Vec<W::Client>,
    /// The weakest isolation level of all runs so far.
    weakest: Isolation,
}

impl<P: Protocol, W: Workload> Loaded<P, W> {
    fn load(workload: &W, drive: Drive<P, W>, tools: Tools<'_>) -> Result<Box<dyn Bed<W>>, RunFailure> {
        let instance = Instance::<P>::new(P::Config::default());
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
        let (clients, weakest) = (Vec::new(), Isolation::Serializable);
        Ok(Box::new(Self { instance, drive, tables, load, clients, weakest }))
    }

    /// An engine that does not isolate may lose updates, and a weak level show what never was: that is said, and is no
    /// failure.
    fn check(&self, workload: &W) -> Consistency {
        let (isolates, weakest) = (self.instance.info().isolates, self.weakest);
        match workload.check(&*self.instance, self.tables, &self.clients) {
            Ok(()) => Consistency::Ok,
            Err(Violation::Anomaly(what) | Violation::TornRead { what, .. }) if !isolates => {
                Consistency::Unisolated(what)
            }
            Err(Violation::TornRead { promised_from, what }) if weakest < promised_from => {
                Consistency::Weak(weakest, what)
            }
            Err(violation) => Consistency::Failed(violation.to_string()),
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
        let config = run_config(options, stop.clone());
        self.weakest = self.weakest.min(self.instance.info().granted(options.isolation));
        let first = self.clients.len() as u32;
        let client = |worker| {
            let seat = Seat { worker, number: first + worker, seed: options.seed };
            Mutex::new(workload.client(self.tables, seat))
        };
        let clients: Vec<_> = (0..config.threads as u32).map(client).collect();
        let drive = || (self.drive)(&self.instance, self.tables, &clients, &config);
        let report = with_progress(tools.progress, options, &stop, drive).map_err(RunFailure::Failed)?;

        tools.progress.checking();
        self.clients.extend(clients.into_iter().map(|client| client.into_inner().unwrap_or_else(|e| e.into_inner())));
        let consistency = self.check(workload);
        Ok(EngineReport::new(identity, &report, self.load, &consistency, tools.host))
    }
}

fn with_progress<T>(progress: &Progress, options: &RunOptions, stop: &Stop, measure: impl FnOnce() -> T) -> T {
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
    tools: Tools<'a>,
}

impl<W: Workload> WithProtocol for Load<'_, W> {
    type Output = Result<Box<dyn Bed<W>>, RunFailure>;

    fn run<P: Protocol>(self) -> Self::Output {
        let drive = |instance: &Instance<P>, _, clients: &[_], config: &_| drive_clients(instance, clients, config);
        Loaded::<P, W>::load(self.workload, Box::new(drive), self.tools)
    }
}

/// Every client on a worker of its own.
fn drive_clients<P: Protocol, C: Client>(
    instance: &Instance<P>,
    clients: &[Mutex<C>],
    config: &RunConfig,
) -> Result<RunReport, String> {
    drive(config, |worker: WorkerId, waiter| {
        let mut client: MutexGuard<'_, C> =
            clients[worker.0 as usize].lock().unwrap_or_else(|poison| poison.into_inner());
        let mut shared = instance.worker(worker);
        let txn = instance.transaction(&mut shared, waiter.clone());
        let step = move |runner: &mut OneShot<P::Transaction>| {
            // What a worker's transactions share lives as long as they do.
            let _shared = &shared;
            client.step(runner)
        };
        (txn, step)
    })
    .map_err(|error| error.to_string())
}

fn run_config(options: &RunOptions, stop: Stop) -> RunConfig {
    let one_shot = OneShotConfig {
        isolation: options.isolation,
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
