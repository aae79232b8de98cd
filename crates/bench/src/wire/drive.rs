//! The closed loop: every client has one transaction after the other, and waits for each answer.

use super::Caller;
use super::failure::{AttemptError, explain};
use super::session::Session;
use super::times::Reading;
use crate::engine_run::RunFailure;
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

/// After the end of a run, clients may still wait so long for the answers to their last statements.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often it is looked whether the run is over, by who waits for clients.
const TICK: Duration = Duration::from_millis(20);

/// How clients are driven.
pub(super) struct Drive<'a> {
    pub config: &'a Config,
    /// Statements that each client begins with.
    pub settings: &'a [String],
    pub statements: &'a [String],
    /// Threads that the clients are put onto.
    pub threads: usize,
    pub warmup: Duration,
    pub measured: Duration,
    /// Transactions of each client that end the measured period before its time: a bound for tests.
    pub steps: Option<u64>,
    pub stop: Stop,
    /// What is taken at the beginning of the measured period, and at its end.
    pub sample: &'a (dyn Fn() -> Sample + Sync),
}

/// What server and clients have used so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// CPU time of the server, if it is known.
    pub server_cpu: Option<Duration>,
    /// CPU time of this process.
    pub client_cpu: Option<Duration>,
    /// Where the server's went, if that was asked for.
    pub reading: Option<Reading>,
}

/// What was counted in the measured period.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub counts: Counts,
    pub statements: u64,
    /// Attempts that ended with an error which a retry cures, by SQLSTATE.
    pub states: BTreeMap<String, u64>,
}

/// A run.
pub(super) struct Driven {
    pub tally: Tally,
    pub elapsed: Duration,
    pub stopped_early: bool,
    /// Before the measured period, and after it.
    pub samples: [Sample; 2],
}

impl Driven {
    /// CPU time of the server in the measured period, if it is known.
    pub(super) fn server_cpu(&self) -> Option<Duration> {
        self.between(|sample| sample.server_cpu)
    }

    /// CPU time of this process in the measured period.
    pub(super) fn client_cpu(&self) -> Option<Duration> {
        self.between(|sample| sample.client_cpu)
    }

    fn between(&self, cpu: fn(&Sample) -> Option<Duration>) -> Option<Duration> {
        let [before, after] = &self.samples;
        Some(cpu(after)?.saturating_sub(cpu(before)?))
    }
}

/// What all threads look at.
struct Shared {
    stop: Stop,
    measured: AtomicBool,
    steps: Option<u64>,
    /// Clients that still have transactions to run.
    running: AtomicUsize,
    failure: Mutex<Option<String>>,
}

impl Shared {
    fn fail(&self, what: String) {
        self.failure.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(what);
        self.stop.raise();
    }

    fn end_client(&self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.stop.raise();
        }
    }
}

/// One thread's clients, connected.
pub(super) struct Crew<C> {
    runtime: Runtime,
    members: Vec<(Session, C)>,
}

impl Drive<'_> {
    /// Runs connected clients through warm-up and the measured period, and hands their callers back.
    pub(super) fn run<C: Caller>(&self, crews: Vec<Crew<C>>) -> Result<(Vec<C>, Driven), RunFailure> {
        let shared = Arc::new(Shared {
            stop: self.stop.clone(),
            measured: AtomicBool::new(self.warmup.is_zero()),
            steps: self.steps,
            running: AtomicUsize::new(crews.iter().map(|crew| crew.members.len()).sum()),
            failure: Mutex::new(None),
        });
        let (mut callers, mut tally) = (Vec::new(), Tally::default());
        let mut driven = thread::scope(|scope| {
            let work = |crew: Crew<C>| crew.run(&shared);
            let threads: Vec<_> = crews.into_iter().map(|crew| scope.spawn(move || work(crew))).collect();
            let driven = self.watch(&shared);
            for thread in threads {
                let (members, counted) = thread.join().expect("clients do not panic");
                callers.extend(members);
                tally.add(&counted);
            }
            driven
        });
        match shared.failure.lock().unwrap_or_else(|poison| poison.into_inner()).take() {
            Some(what) => Err(RunFailure::Failed(what)),
            None => {
                driven.tally = tally;
                Ok((callers, driven))
            }
        }
    }

    /// Connects a client for each of `callers`, spread over the threads.
    pub(super) fn connect<C: Caller>(&self, callers: Vec<C>) -> Result<Vec<Crew<C>>, RunFailure> {
        let threads = self.threads.min(callers.len());
        let mut parts: Vec<Vec<C>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, caller) in callers.into_iter().enumerate() {
            parts[number % threads].push(caller);
        }
        let crews: Result<Vec<_>, String> = thread::scope(|scope| {
            let connect = |part: Vec<C>| self.connect_crew(part);
            let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || connect(part))).collect();
            threads.into_iter().map(|thread| thread.join().expect("connecting does not panic")).collect()
        });
        let crews = crews.map_err(RunFailure::Failed)?;
        if self.stop.is_raised() { Err(RunFailure::Interrupted) } else { Ok(crews) }
    }

    fn connect_crew<C: Caller>(&self, callers: Vec<C>) -> Result<Crew<C>, String> {
        let runtime = super::runtime()?;
        let number = callers.len();
        let members = runtime.block_on(async {
            let mut members = Vec::with_capacity(number);
            for caller in callers {
                if self.stop.is_raised() {
                    break;
                }
                let session = Session::open(self.config, self.settings, self.statements).await;
                let session = session.map_err(|error| format!("a client could not connect: {}", explain(&error)))?;
                members.push((session, caller));
            }
            Ok::<_, String>(members)
        })?;
        Ok(Crew { runtime, members })
    }

    /// Waits for warm-up and measured period, and takes the times.
    fn watch(&self, shared: &Shared) -> Driven {
        self.stop.wait(self.warmup);
        let before = (self.sample)();
        shared.measured.store(true, Ordering::Release);
        let begin = Instant::now();
        let stopped_early = self.stop.wait(self.measured);
        let elapsed = begin.elapsed();
        let after = (self.sample)();
        self.stop.raise();
        Driven {
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

impl<C: Caller> Crew<C> {
    /// Runs all its clients until the stop: the callers, and what was counted.
    fn run(self, shared: &Arc<Shared>) -> (Vec<C>, Tally) {
        let tally = Rc::new(RefCell::new(Tally::default()));
        let tasks = LocalSet::new();
        let clients: Vec<_> = self
            .members
            .into_iter()
            .map(|(session, caller)| {
                let client = Running { session, caller, shared: Arc::clone(shared), tally: Rc::clone(&tally) };
                tasks.spawn_local(client.run())
            })
            .collect();
        let callers = self.runtime.block_on(tasks.run_until(async {
            let patience = tokio::spawn(out_of_patience(shared.stop.clone()));
            let aborts: Vec<_> = clients.iter().map(|client| client.abort_handle()).collect();
            let all = async {
                let mut callers = Vec::new();
                for client in clients {
                    callers.extend(client.await.ok());
                }
                callers
            };
            tokio::select! {
                callers = all => callers,
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
        (callers, tally)
    }
}

/// Returns when the run is over, and everybody has had the time to end.
async fn out_of_patience(stop: Stop) {
    while !stop.is_raised() {
        // Nothing wakes a runtime when the flag is raised, and nobody waits for this but a run that is over.
        tokio::time::sleep(TICK).await;
    }
    // The deadline itself.
    tokio::time::sleep(PATIENCE).await;
}

/// One client.
struct Running<C> {
    session: Session,
    caller: C,
    shared: Arc<Shared>,
    tally: Rc<RefCell<Tally>>,
}

impl<C: Caller> Running<C> {
    /// Transaction after transaction until the stop. What the caller knows to be committed is what is.
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
        self.caller
    }

    /// One transaction, tried again until it commits or the run is over.
    async fn step(&mut self, counts: bool) -> Result<(), String> {
        self.caller.draw();
        let begin = Instant::now();
        let mut retries = 0;
        loop {
            let outcome = self.caller.attempt(&mut self.session).await;
            // What ends after the measured period does not count.
            let counts = counts && !(self.shared.stop.is_raised() && self.shared.steps.is_none());
            match outcome {
                Ok(()) => {
                    let note = self.caller.committed();
                    let sent = self.session.take_sent();
                    if counts {
                        self.count(sent, retries, begin.elapsed(), note);
                    }
                    return Ok(());
                }
                Err(AttemptError::TakenBack) => {
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
