//! Trials: real threads run random transactions on a small table, and everything that they see is recorded to be judged.
//!
//! The rows are few, so that transactions meet, and the transactions are made to go wrong: they read before they write, look
//! twice at the same thing, and move rows in and out of the ranges that others scan. What the engine let them see is a
//! [`History`], for [`hotrow_check::check`]; and the rows that are left must be those that it implies.

mod table;
mod work;

use hotrow_check::{History, Recorder, Recording, final_versions};
use hotrow_runtime::Planner;
use hotrow_sync::{Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Procedure, Transaction};
use std::time::Duration;
use table::Table;
pub use work::TrialWorkload;
use work::Work;

/// How to try an engine.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What to run.
    pub workload: TrialWorkload,
    /// At this level; none for all of the engine's levels in one history, each transaction at another.
    pub isolation: Option<Isolation>,
    /// Threads.
    pub threads: usize,
    /// Transactions, of all threads together.
    pub transactions: u64,
    /// The seed of the transactions. What they meet is up to the machine.
    pub seed: u64,
}

/// How often a transaction is begun again whose access set was wrong.
const CORRECTIONS: u32 = 20;

/// A waiter spins for so long before it parks.
const SPIN: Duration = Duration::from_micros(5);

/// Runs a trial on an engine whose database is empty.
///
/// # Errors
/// If the engine cannot so much as load the table, does not pass its own audit at the end, or leaves other rows than the
/// history implies.
pub fn run_trial(trial: &Trial, engine: &dyn Engine) -> Result<History, String> {
    let cannot = |abort: Abort| format!("the table could not be looked at: {abort}");
    let table = Table::load(engine, trial.workload.keys())?;
    let recording = Recording::new();
    recording.table(engine, table.id, table::STAMP).map_err(cannot)?;
    let levels = match trial.isolation {
        Some(level) => vec![engine.info().granted(level)],
        None => engine.info().isolation.to_vec(),
    };
    thread::scope(|scope| {
        for number in 0..trial.threads as u64 {
            let recorder =
                || Recorder::new(engine.transaction(Waiter::thread(SPIN)), &recording, &format!("thread {number}"));
            let share = trial.transactions / trial.threads as u64
                + u64::from(number < trial.transactions % trial.threads as u64);
            let random = fastrand::Rng::with_seed(trial.seed ^ number << 32);
            let (table, levels, txn) = (&table, &levels, recorder());
            scope.spawn(move || work(txn, trial.workload, table, levels, share, random));
        }
    });
    engine.audit().map_err(|what| format!("when all transactions were over, {what}"))?;
    let present = recording.present(engine, table.id).map_err(cannot)?;
    let history = std::mem::take(&mut *recording.history());
    // A history that is too broken to imply anything is for the checker to judge.
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

/// One thread's part.
fn work(
    mut txn: Recorder,
    workload: TrialWorkload,
    table: &Table,
    levels: &[Isolation],
    transactions: u64,
    mut random: fastrand::Rng,
) {
    let mut planner = Planner::default();
    for _ in 0..transactions {
        let work = Work::random(&mut random, workload, table);
        let isolation = random.choice(levels).copied().unwrap_or_default();
        planner.begin(txn.needs_accesses(), &work);
        for _ in 0..=CORRECTIONS {
            let outcome = attempt(&mut txn, &mut planner, &work, isolation);
            txn.abort();
            if outcome != Err(Abort::OutsidePlan) {
                break;
            }
        }
    }
}

/// One attempt. Whether it succeeded or not, an abort ends what is left of it.
fn attempt(txn: &mut Recorder, planner: &mut Planner, work: &Work<'_>, isolation: Isolation) -> Result<(), Abort> {
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
    use hotrow_check::{check, check_at};
    use hotrow_protocols::{ENGINES, open};

    fn trial(engine: &str, workload: TrialWorkload, isolation: Option<Isolation>) -> History {
        let engine = open(engine).expect("it is in the registry");
        let trial = Trial { workload, isolation, threads: 3, transactions: 600, seed: 7 };
        run_trial(&trial, &*engine).unwrap_or_else(|what| panic!("{what}"))
    }

    #[test]
    fn every_engine_keeps_its_levels_apart_and_together() {
        for info in ENGINES.iter().filter(|info| info.isolates) {
            let levels = info.isolation.iter().copied().map(Some).chain([None]);
            for isolation in levels {
                for &workload in TrialWorkload::value_variants() {
                    let history = trial(info.name, workload, isolation);
                    let evidence = check(&history).unwrap_or_else(|anomaly| panic!("{}: {anomaly}", info.name));
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

    /// One thread at a time, so that what they meet is no accident: without isolation, scripts of two would show it too.
    #[test]
    fn a_history_without_isolation_is_refused() {
        let refused = (0..20).any(|seed| {
            let engine = open("2pl-waitdie").expect("it is in the registry");
            let trial = Trial {
                workload: TrialWorkload::Registers,
                isolation: Some(Isolation::ReadCommitted),
                threads: 4,
                transactions: 4000,
                seed,
            };
            let history = run_trial(&trial, &*engine).unwrap_or_else(|what| panic!("{what}"));
            check_at(&history, Isolation::Serializable).is_err()
        });
        assert!(refused, "80,000 transactions at read committed on a few rows, and all of them serializable");
    }
}
