//! The closed loop: every client has one transaction after the other, and waits for each answer. In a pipeline, several
//! clients share a connection.

use super::breakdown::ServerReading;
use super::failure::{AttemptError, explain};
use super::over_wire::WireClient;
use super::session::{Session, start_runtime};
use crate::options::By;
use crate::run::RunFailure;
use hotrow_runtime::{Counts, Stop};
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, thread};
use hotrow_txn::Abort;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::LocalSet;
use tokio_postgres::Config;

/// How long clients may wait after the end of a run for the answers to their last statements.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often a thread of clients looks whether the run is over.
const TICK: Duration = Duration::from_millis(20);

/// The parameters of a closed loop.
pub(super) struct ClosedLoop<'a> {
    pub config: &'a Config,
    /// Statements that each client sends once, after it has connected.
    pub settings: &'a [String],
    pub statements: &'a [String],
    pub by: By,
    /// The number of clients that share a connection.
    pub pipeline: usize,
    /// The greatest number of threads over which the connections are spread. There are no more threads than
    /// connections.
    pub threads: usize,
    pub warmup: Duration,
    pub measured: Duration,
    /// The number of transactions of each client that end the measured period before its time: a bound for tests.
    pub steps: Option<u64>,
    pub stop: Stop,
    /// Takes a sample, at the beginning of the measured period and at its end.
    pub sample: &'a (dyn Fn() -> Sample + Sync),
}

/// The CPU time that server and clients have used until the time of the sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// CPU time of the server, if it is known.
    pub server_cpu: Option<Duration>,
    /// CPU time of this process.
    pub client_cpu: Option<Duration>,
    /// The server's CPU time and counts for the breakdown; `None` if no breakdown was asked for or the server has no
    /// counts.
    pub reading: Option<ServerReading>,
}

/// The counts of the measured period.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub counts: Counts,
    pub statements: u64,
    /// The number of attempts that ended with an error which a retry cures, by SQLSTATE.
    pub states: BTreeMap<String, u64>,
}

/// The measured period of a run.
pub(super) struct MeasuredPeriod {
    pub tally: Tally,
    pub elapsed: Duration,
    pub stopped_early: bool,
    /// The samples before the period and after it.
    pub samples: [Sample; 2],
}

impl MeasuredPeriod {
    /// Returns the CPU time of the server in the period, if it is known.
    pub(super) fn server_cpu(&self) -> Option<Duration> {
        self.between(|sample| sample.server_cpu)
    }

    /// Returns the CPU time of this process in the period, if it is known.
    pub(super) fn client_cpu(&self) -> Option<Duration> {
        self.between(|sample| sample.client_cpu)
    }

    fn between(&self, cpu: fn(&Sample) -> Option<Duration>) -> Option<Duration> {
        let [before, after] = &self.samples;
        Some(cpu(after)?.saturating_sub(cpu(before)?))
    }
}

/// The state of a run that all threads share.
struct Shared {
    stop: Stop,
    measured: AtomicBool,
    steps: Option<u64>,
    /// The number of clients that still have transactions to run.
    running: AtomicUsize,
    failure: Mutex<Option<String>>,
}

impl Shared {
    /// Ends the run with a failure, unless an earlier one has ended it.
    fn fail(&self, what: String) {
        self.failure.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(what);
        self.stop.raise();
    }

    /// Notes that a client has ended. The last one ends the run.
    fn end_client(&self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.stop.raise();
        }
    }
}

/// The connected clients of one thread.
pub(super) struct ClientThread<C> {
    runtime: Runtime,
    clients: Vec<(Session, C)>,
}

impl ClosedLoop<'_> {
    /// Runs connected clients through warm-up and the measured period. Returns the clients and the measurements.
    pub(super) fn run<C: WireClient>(
        &self,
        threads: Vec<ClientThread<C>>,
    ) -> Result<(Vec<C>, MeasuredPeriod), RunFailure> {
        let shared = Arc::new(Shared {
            stop: self.stop.clone(),
            measured: AtomicBool::new(self.warmup.is_zero()),
            steps: self.steps,
            running: AtomicUsize::new(threads.iter().map(|thread| thread.clients.len()).sum()),
            failure: Mutex::new(None),
        });
        let (mut clients, mut tally) = (Vec::new(), Tally::default());
        let mut measured = thread::scope(|scope| {
            let work = |clients: ClientThread<C>| clients.run(&shared);
            let threads: Vec<_> = threads.into_iter().map(|clients| scope.spawn(move || work(clients))).collect();
            let measured = self.watch(&shared);
            for thread in threads {
                let (ended, counted) = thread.join().expect("clients do not panic");
                clients.extend(ended);
                tally.add(&counted);
            }
            measured
        });
        match shared.failure.lock().unwrap_or_else(|poison| poison.into_inner()).take() {
            Some(what) => Err(RunFailure::Failed(what)),
            None => {
                measured.tally = tally;
                Ok((clients, measured))
            }
        }
    }

    /// Connects the clients: one connection for each [`pipeline`](Self::pipeline) clients. The connections are spread
    /// over the threads.
    pub(super) fn connect<C: WireClient>(&self, clients: Vec<C>) -> Result<Vec<ClientThread<C>>, RunFailure> {
        let threads = self.threads.min(clients.len().div_ceil(self.pipeline));
        let mut parts: Vec<Vec<C>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, client) in clients.into_iter().enumerate() {
            parts[number / self.pipeline % threads].push(client);
        }
        let connected: Result<Vec<_>, String> = thread::scope(|scope| {
            let connect = |part: Vec<C>| self.connect_thread(part);
            let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || connect(part))).collect();
            threads.into_iter().map(|thread| thread.join().expect("connecting does not panic")).collect()
        });
        let connected = connected.map_err(RunFailure::Failed)?;
        if self.stop.is_raised() { Err(RunFailure::Interrupted) } else { Ok(connected) }
    }

    fn connect_thread<C: WireClient>(&self, clients: Vec<C>) -> Result<ClientThread<C>, String> {
        let runtime = start_runtime()?;
        let clients = runtime.block_on(async {
            let mut connected: Vec<(Session, C)> = Vec::with_capacity(clients.len());
            for (number, client) in clients.into_iter().enumerate() {
                if self.stop.is_raised() {
                    break;
                }
                let session = match connected.last() {
                    Some((session, _)) if number % self.pipeline > 0 => session.share(),
                    _ => Session::open(self.config, self.settings, self.statements, self.by)
                        .await
                        .map_err(|error| format!("a client could not connect: {}", explain(&error)))?,
                };
                connected.push((session, client));
            }
            Ok::<_, String>(connected)
        })?;
        Ok(ClientThread { runtime, clients })
    }

    /// Waits until warm-up and measured period are over, and takes a sample at both ends of the period.
    fn watch(&self, shared: &Shared) -> MeasuredPeriod {
        self.stop.wait(self.warmup);
        let before = (self.sample)();
        shared.measured.store(true, Ordering::Release);
        let begin = Instant::now();
        let stopped_early = self.stop.wait(self.measured);
        let elapsed = begin.elapsed();
        let after = (self.sample)();
        self.stop.raise();
        MeasuredPeriod {
            tally: Tally::default(),
            elapsed,
            stopped_early: stopped_early && self.steps.is_none(),
            samples: [before, after],
        }
    }
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.statements += other.statements;
        for (state, count) in &other.states {
            *self.states.entry(state.clone()).or_default() += count;
        }
    }
}

impl<C: WireClient> ClientThread<C> {
    /// Runs all clients of the thread until the stop. Returns the clients and their counts.
    fn run(self, shared: &Arc<Shared>) -> (Vec<C>, Tally) {
        let tally = Rc::new(RefCell::new(Tally::default()));
        let tasks = LocalSet::new();
        let running: Vec<_> = self
            .clients
            .into_iter()
            .map(|(session, client)| {
                let client = RunningClient { session, client, shared: Arc::clone(shared), tally: Rc::clone(&tally) };
                tasks.spawn_local(client.run())
            })
            .collect();
        let ended = self.runtime.block_on(tasks.run_until(async {
            let patience = tokio::spawn(out_of_patience(shared.stop.clone()));
            let aborts: Vec<_> = running.iter().map(|client| client.abort_handle()).collect();
            let all = async {
                let mut ended = Vec::new();
                for client in running {
                    ended.extend(client.await.ok());
                }
                ended
            };
            tokio::select! {
                ended = all => ended,
                _ = patience => {
                    aborts.iter().for_each(|client| client.abort());
                    let seconds = PATIENCE.as_secs();
                    shared.fail(format!("a client has had no answer for {seconds} s after the end of the run"));
                    Vec::new()
                }
            }
        }));
        drop(tasks);
        let tally = Rc::try_unwrap(tally).map_or_else(|_| Tally::default(), RefCell::into_inner);
        (ended, tally)
    }
}

/// Returns when the run is over and its clients have had [`PATIENCE`] to end.
async fn out_of_patience(stop: Stop) {
    while !stop.is_raised() {
        // Nothing wakes a runtime when the flag is raised, and only the end of a run waits for this sleep.
        tokio::time::sleep(TICK).await;
    }
    // The deadline itself.
    tokio::time::sleep(PATIENCE).await;
}

/// One client while it runs.
struct RunningClient<C> {
    session: Session,
    client: C,
    shared: Arc<Shared>,
    tally: Rc<RefCell<Tally>>,
}

impl<C: WireClient> RunningClient<C> {
    /// Runs transaction after transaction until the stop. Returns the client, which knows exactly what has committed.
    async fn run(mut self) -> C {
        let mut steps = 0;
        let mut counts = false;
        while !self.shared.stop.is_raised() && self.shared.steps.is_none_or(|most| steps < most) {
            if !counts && self.shared.measured.load(Ordering::Acquire) {
                counts = true;
                self.session.take_sent();
            }
            if let Err(what) = self.step(counts).await {
                self.shared.fail(what);
                break;
            }
            steps += 1;
        }
        self.shared.end_client();
        self.client
    }

    /// Runs one transaction, which is retried until it commits or the run is over.
    async fn step(&mut self, counts: bool) -> Result<(), String> {
        self.client.draw();
        let begin = Instant::now();
        let mut retries = 0;
        loop {
            let outcome = self.client.attempt(&mut self.session).await;
            // An attempt that ends after the measured period does not count.
            let counts = counts && !(self.shared.stop.is_raised() && self.shared.steps.is_none());
            match outcome {
                Ok(()) => {
                    let note = self.client.committed();
                    let sent = self.session.take_sent();
                    if counts {
                        self.count(sent, retries, begin.elapsed(), note);
                    }
                    return Ok(());
                }
                Err(AttemptError::RolledBack) => {
                    if counts {
                        self.tally.borrow_mut().counts.aborted.count(Abort::User);
                    }
                    return self.session.rollback().await.map_err(|error| explain(&error));
                }
                Err(error) => {
                    let state = error.retried().ok_or_else(|| error.explain())?;
                    if counts {
                        let mut tally = self.tally.borrow_mut();
                        *tally.states.entry(state.code().to_owned()).or_default() += 1;
                    }
                    self.session.rollback().await.map_err(|error| explain(&error))?;
                    if self.shared.stop.is_raised() {
                        return Ok(());
                    }
                    retries += 1;
                }
            }
        }
    }

    /// Counts a committed transaction.
    fn count(&self, sent: u64, retries: u64, latency: Duration, note: Option<(usize, bool)>) {
        let mut tally = self.tally.borrow_mut();
        tally.statements += sent;
        let counts = &mut tally.counts;
        counts.committed += 1;
        counts.retries += retries;
        counts.latency_ns.saturating_record(latency.as_nanos() as u64);
        if let Some((kind, succeeded)) = note {
            counts.kinds.count(kind, succeeded);
        }
    }
}
