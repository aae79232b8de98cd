//! Trials: real threads run random transactions on a small table, and everything that they see is recorded to be
//! judged. The transactions are put onto the threads as in a benchmark of the engine.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `table.rs` | the table and its rows |
//! | `transaction.rs` | the random transactions |
//!
//! The rows are few, so that transactions conflict, and the transactions are made to meet anomalies: they read before
//! they write, read the same thing twice, and move rows in and out of the ranges that others scan. Everything that the
//! engine let them see is a [`History`] for [`hotrow_check::check`]. The rows that are left must be those that the
//! history implies.

mod table;
mod transaction;

use hotrow_check::{History, Recorder, Recording, final_versions};
use hotrow_protocols::{Instance, WithProtocol, dispatch};
use hotrow_runtime::{OneShot, Planner, PoolConfig, RunConfig, drive, drive_pool};
use hotrow_sync::Arc;
use hotrow_txn::{
    Abort, Begin, Inspection, Isolation, Procedure, Protocol, Scheduler, Settings, Transaction, WorkerId,
};
use std::time::Duration;
use table::TrialTable;
use transaction::RandomTransaction;
pub use transaction::TrialWorkload;

/// The parameters of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The transactions to run.
    pub workload: TrialWorkload,
    /// The isolation level of all transactions. If it is `None`, each transaction has a random one of the engine's
    /// levels.
    pub isolation: Option<Isolation>,
    /// The number of threads.
    pub threads: usize,
    /// The number of transactions of all threads together. Each thread runs the same number.
    pub transactions: u64,
    /// The seed of the transactions. How they interleave is up to the machine.
    pub seed: u64,
}

/// The most times that a transaction is begun again because its access set was wrong.
const CORRECTIONS: u32 = 20;

/// How long a waiter spins before it parks.
const SPIN: Duration = Duration::from_micros(5);

/// The length of the measured period: a trial ends when all transactions have run, not by time.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Runs a trial on an empty database under the engine called `name`. Returns the history of the trial, for the caller
/// to check.
///
/// # Errors
/// There is no such engine; it cannot have the table; it fails its own audit at the end; or it leaves other rows than
/// the history implies.
pub fn run_trial(name: &str, trial: &Trial) -> Result<History, String> {
    struct Run<'a>(&'a Trial);

    impl WithProtocol for Run<'_> {
        type Output = Result<History, String>;

        fn run<P: Protocol>(self) -> Self::Output {
            let settings = Settings { workers: self.0.threads, ..Settings::default() };
            let config = P::configure(&settings).map_err(|error| error.to_string())?;
            TrialRun::new(self.0, Instance::<P>::new(config))?.run()
        }
    }

    dispatch(name, Run(trial)).unwrap_or_else(|unknown| Err(unknown.to_string()))
}

/// A loaded table, and the recording of the transactions that run on it.
struct TrialRun<'t, P: Protocol> {
    trial: &'t Trial,
    instance: Arc<Instance<P>>,
    table: TrialTable,
    levels: Vec<Isolation>,
    recording: Arc<Recording>,
}

impl<'t, P: Protocol> TrialRun<'t, P> {
    fn new(trial: &'t Trial, instance: Arc<Instance<P>>) -> Result<Self, String> {
        let table = TrialTable::load(&*instance, trial.workload.keys())?;
        let recording = Recording::new();
        recording.table(&*instance, table.id, table::STAMP).map_err(unreadable)?;
        let levels = match trial.isolation {
            Some(level) => vec![P::INFO.granted(level)],
            None => P::INFO.isolation.to_vec(),
        };
        Ok(Self { trial, instance, table, levels, recording })
    }

    fn run(&self) -> Result<History, String> {
        let Trial { threads, transactions, .. } = *self.trial;
        let steps_per_worker = Some(transactions.div_ceil(threads as u64));
        let (warmup, measured) = (Duration::ZERO, NEVER);
        let run = RunConfig { threads, warmup, measured, steps_per_worker, spin: SPIN, ..RunConfig::default() };
        let ran = match P::INFO.scheduler {
            Scheduler::Thread => drive(&run, |id: WorkerId, waiter| {
                let mut worker = self.instance.worker(id);
                let txn = self.instance.transaction(&mut worker, waiter.clone());
                let mut client = self.client(id.0 as usize);
                let client = move |runner: &mut OneShot<Recorder>| {
                    // The state that the worker's transactions share must live as long as they do.
                    let _worker = &worker;
                    client(runner)
                };
                (self.recorder(txn, id.0 as usize), client)
            }),
            Scheduler::Planned | Scheduler::Partition | Scheduler::Roles => {
                let pool = PoolConfig { run, ..PoolConfig::default() };
                let make_worker = |id| self.instance.worker(id);
                drive_pool(&pool, make_worker, |worker, slot, waiter| {
                    let txn = self.instance.transaction(worker, waiter.clone());
                    (self.recorder(txn, slot.number), self.client(slot.number))
                })
            }
        };
        ran.map_err(|error| error.to_string())?;
        self.instance.audit().map_err(|what| format!("when all transactions were over, {what}"))?;
        self.history()
    }

    fn recorder(&self, txn: P::Transaction, number: usize) -> Recorder {
        Recorder::new(Box::new(txn), &self.recording, &format!("client {number}"))
    }

    /// Returns a function that runs the next random transaction of client `number` at each call.
    fn client(&self, number: usize) -> impl FnMut(&mut OneShot<Recorder>) -> Result<(), Abort> {
        let mut random = fastrand::Rng::with_seed(self.trial.seed ^ (number as u64) << 32);
        let mut planner = Planner::default();
        move |runner| {
            let work = RandomTransaction::random(&mut random, self.trial.workload, &self.table);
            let isolation = random.choice(&self.levels).copied().unwrap_or_default();
            step(runner.transaction(), &mut planner, &work, isolation);
            Ok(())
        }
    }

    /// Returns the history, or an error if the rows that are left are not those that the history implies.
    fn history(&self) -> Result<History, String> {
        let present = self.recording.present(&*self.instance, self.table.id).map_err(unreadable)?;
        let history = std::mem::take(&mut *self.recording.history());
        // A history that implies no rows is for the checker to refuse.
        match final_versions(&history) {
            Ok(implied) if implied != present => {
                let differ = implied.keys().chain(present.keys()).find(|item| implied.get(item) != present.get(item));
                let item = differ.expect("they differ somewhere");
                let name = |stamp: Option<&hotrow_check::Stamp>| {
                    stamp.map_or("nothing".to_owned(), |stamp| format!("v{}", stamp.0))
                };
                Err(format!(
                    "the rows that are left are not those that the history implies: of {item} there is {}, not {}",
                    name(present.get(item)),
                    name(implied.get(item))
                ))
            }
            _ => Ok(history),
        }
    }
}

fn unreadable(abort: Abort) -> String {
    format!("the table could not be looked at: {abort}")
}

/// Runs one transaction, which is begun again while its access set is wrong.
fn step(txn: &mut Recorder, planner: &mut Planner, work: &RandomTransaction<'_>, isolation: Isolation) {
    planner.begin(txn.capabilities(), work);
    for _ in 0..=CORRECTIONS {
        let outcome = attempt(txn, planner, work, isolation);
        txn.abort();
        if outcome != Err(Abort::OutsidePlan) {
            break;
        }
    }
}

/// Makes one attempt of a transaction. The caller aborts the transaction afterwards, whether the attempt succeeded or
/// not.
fn attempt(
    txn: &mut Recorder,
    planner: &mut Planner,
    work: &RandomTransaction<'_>,
    isolation: Isolation,
) -> Result<(), Abort> {
    if planner.is_unknown() {
        planner.reconnoitre(txn, work)?;
    }
    txn.begin(&Begin { one_shot: true, accesses: planner.accesses(), ..Begin::at(isolation) })?;
    let done = work.run(txn);
    if done == Err(Abort::OutsidePlan) {
        planner.correct(txn, work);
    }
    done.and_then(|()| txn.commit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use hotrow_check::{Evidence, Objection, check, check_at};
    use hotrow_protocols::ENGINES;

    fn trial(engine: &str, workload: TrialWorkload, isolation: Option<Isolation>) -> History {
        let trial = Trial { workload, isolation, threads: 3, transactions: 600, seed: 7 };
        run_trial(engine, &trial).unwrap_or_else(|what| panic!("{what}"))
    }

    /// Runs a trial and judges it. On a loaded machine the search for a serial order may end at its bound, which proves
    /// nothing either way. Then another trial is run, up to ten in all.
    fn judged_trial(engine: &str, workload: TrialWorkload, isolation: Option<Isolation>) -> Evidence {
        for _ in 0..10 {
            match check(&trial(engine, workload, isolation)) {
                Ok(evidence) => return evidence,
                Err(Objection::Undecided) => {}
                Err(objection) => panic!("{engine}: {objection}"),
            }
        }
        panic!("{engine} at {isolation:?}, {workload:?}: ten histories, and none is explained or refuted");
    }

    #[test]
    fn every_engine_keeps_its_levels_apart_and_together() {
        for info in ENGINES.iter().filter(|info| info.isolates) {
            let levels = info.isolation.iter().copied().map(Some).chain([None]);
            for isolation in levels {
                for &workload in TrialWorkload::value_variants() {
                    let evidence = judged_trial(info.name, workload, isolation);
                    assert!(evidence.committed > 60, "{} at {isolation:?}, {workload:?}: {evidence}", info.name);
                    assert!(evidence.dependencies() > 60, "{} at {isolation:?}, {workload:?}: {evidence}", info.name);
                }
            }
        }
    }

    #[test]
    fn transactions_are_as_many_as_asked_for_and_begin_at_their_levels() {
        let history = trial("2pl-waitdie", TrialWorkload::Registers, None);
        assert_eq!(history.transactions.len(), 600);
        let at = |level| history.transactions.iter().filter(|record| record.isolation == level).count();
        assert!(at(Isolation::ReadCommitted) > 100 && at(Isolation::Serializable) > 100);
        let history = trial("serial", TrialWorkload::Predicate, Some(Isolation::ReadCommitted));
        assert!(history.transactions.iter().all(|record| record.isolation == Isolation::Serializable), "it is raised");
    }

    /// One thread at a time, so that what they meet is no accident: without isolation, scripts of two would show it
    /// too.
    #[test]
    fn a_history_without_isolation_is_refused() {
        let refused = (0..20).any(|seed| {
            let trial = Trial {
                workload: TrialWorkload::Registers,
                isolation: Some(Isolation::ReadCommitted),
                threads: 4,
                transactions: 4000,
                seed,
            };
            let history = run_trial("2pl-waitdie", &trial).unwrap_or_else(|what| panic!("{what}"));
            check_at(&history, Isolation::Serializable).is_err()
        });
        assert!(refused, "80,000 transactions at read committed on a few rows, and all of them serializable");
    }
}
