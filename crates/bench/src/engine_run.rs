//! One run of one engine: a database of its own, loaded, driven, checked.

use crate::host::Host;
use crate::progress::Progress;
use crate::report::{Consistency, EngineReport, RunIdentity};
use crate::{Interrupt, RunOptions, bare};
use hotrow_protocols::none::NoIsolation;
use hotrow_protocols::{Instance, WithProtocol, dispatch};
use hotrow_runtime::{OneShot, OneShotConfig, RunConfig, RunReport, Stop, drive};
use hotrow_sync::{Mutex, MutexGuard, thread};
use hotrow_txn::{Engine, Protocol, WorkerId};
use hotrow_workloads::{Client, LoadError, Violation, Workload};
use std::time::Instant;

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

/// Everything that a run needs to know.
pub(crate) struct Run<'a, W: Workload> {
    pub workload: &'a W,
    pub bare: Option<BareLoop<W>>,
    pub identity: RunIdentity<'a>,
    pub host: &'a Host,
    pub progress: &'a Progress,
    pub interrupt: &'a Interrupt,
}

impl<W: Workload> Run<'_, W> {
    /// Runs the engine of the identity.
    pub(crate) fn run(&self) -> Result<EngineReport, RunFailure> {
        match self.bare.filter(|_| self.identity.engine == bare::NAME) {
            Some(bare) => {
                let instance = Instance::<NoIsolation>::new(Default::default());
                self.run_on(&*instance, |tables, clients, config| Ok(bare(&instance, tables, clients, config)))
            }
            None => dispatch(self.identity.engine, self)
                .unwrap_or_else(|unknown| Err(RunFailure::Failed(unknown.to_string()))),
        }
    }

    fn run_on(
        &self,
        engine: &dyn Engine,
        measure: impl FnOnce(W::Tables, &[Mutex<W::Client>], &RunConfig) -> Result<RunReport, String>,
    ) -> Result<EngineReport, RunFailure> {
        let options = self.identity.options;
        let begin = Instant::now();
        let tables = self.workload.create(engine);
        self.load(engine, tables)?;
        let load = begin.elapsed();

        let stop = self.interrupt.begin_run();
        let config = run_config(options, stop.clone());
        let client = |worker| Mutex::new(self.workload.client(tables, worker as u32, options.seed));
        let clients: Vec<_> = (0..config.threads).map(client).collect();
        let report = self.with_progress(options, &stop, || measure(tables, &clients, &config));
        let report = report.map_err(RunFailure::Failed)?;

        self.progress.checking();
        let clients: Vec<_> =
            clients.into_iter().map(|client| client.into_inner().unwrap_or_else(|e| e.into_inner())).collect();
        let consistency = self.check(engine, tables, &clients);
        Ok(EngineReport::new(&self.identity, &report, load, &consistency, self.host))
    }

    fn load(&self, engine: &dyn Engine, tables: W::Tables) -> Result<(), RunFailure> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let load = |progress: &hotrow_workloads::Progress<'_>| self.workload.load(engine, tables, threads, progress);
        self.progress.loading(self.workload.rows(), self.interrupt, load).map_err(|error| match error {
            LoadError::Stopped => RunFailure::Interrupted,
            error => RunFailure::Failed(error.to_string()),
        })
    }

    fn with_progress<T>(&self, options: &RunOptions, stop: &Stop, measure: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            scope.spawn(|| self.progress.running(options.warmup + options.seconds, options.threads(), stop));
            let result = measure();
            // A run that failed has not raised it.
            stop.raise();
            result
        })
    }

    /// An engine that does not isolate may lose updates: that is said, and is no failure.
    fn check(&self, engine: &dyn Engine, tables: W::Tables, clients: &[W::Client]) -> Consistency {
        match self.workload.check(engine, tables, clients) {
            Ok(()) => Consistency::Ok,
            Err(Violation::Anomaly(what)) if !engine.info().isolates => Consistency::Unisolated(what),
            Err(violation) => Consistency::Failed(violation.to_string()),
        }
    }
}

impl<W: Workload> WithProtocol for &Run<'_, W> {
    type Output = Result<EngineReport, RunFailure>;

    fn run<P: Protocol>(self) -> Self::Output {
        let instance = Instance::<P>::new(P::Config::default());
        self.run_on(&*instance, |_, clients, config| drive_clients(&instance, clients, config))
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
        one_shot,
        stop,
        ..RunConfig::default()
    }
}
