//! Engines that must hold what they promise.

use crate::script::{End, Mix, Script};
use crate::table::{Fixture, KEYS, Seen};
use hotrow_check::Recorder;
use hotrow_protocols::ENGINES;
use hotrow_runtime::simulation::{Failure, FailureKind, Simulation, SimulationConfig, Task, for_each_seed};
use hotrow_runtime::{Planner, Random};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Concurrency, Engine, EngineInfo, Isolation, Scheduler, Setting, Settings, Transaction, Yielding,
};
use std::time::Duration;

/// Engines that find deadlocks, or let them last until a wait times out, as their settings say. If deadlocks do not end
/// by time-out, a wait ends because another transaction goes on, and a time-out is a deadlock that should not exist.
pub const FIND_DEADLOCKS: [&str; 4] = ["2pl-timeout", "lock-table", "1v", "ilock"];

/// Engines in which no transaction waits: a transaction that meets another one aborts.
const NOBODY_WAITS: [&str; 1] = ["row-nowait"];

/// Engines that look for blocked transactions that could run.
const ANALYSE_CONTENTION: [&str; 2] = ["vll-sca", "vll-st-sca"];

/// The causes for which a script's transaction must not end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never {
    /// Whether no wait may time out.
    pub times_out: bool,
    /// Whether no transaction may be the victim of a deadlock, if the engine locks access sets as transactions begin.
    pub deadlocks: bool,
}

/// The place where a client's transactions run: a task of the simulator, or a thread with this waiter.
pub trait Place {
    fn waiter(&self) -> &Waiter;

    /// Makes a transaction object that waits through the waiter.
    fn transaction(&self, engine: &dyn Engine) -> Box<dyn Transaction>;

    /// Limits waits for which the simulator has no end: a virtual thread that waits for ever is found without a limit.
    fn limit_waits(&self);

    /// Lets others run before this step, where they do not run anyway.
    fn step(&self, step: &str);

    /// Whether the client should end soon.
    fn is_over(&self) -> bool;
}

impl Place for Task {
    fn waiter(&self) -> &Waiter {
        self.waiter()
    }

    fn transaction(&self, engine: &dyn Engine) -> Box<dyn Transaction> {
        Box::new(self.transaction(engine))
    }

    fn limit_waits(&self) {
        // Whatever else it is, a wait that no other transaction ends is over then.
        self.waiter().set_lock_timeout(Some(Duration::from_secs(10)));
    }

    fn step(&self, step: &str) {
        self.step(step);
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }
}

impl Place for Waiter {
    fn waiter(&self) -> &Waiter {
        self
    }

    fn transaction(&self, engine: &dyn Engine) -> Box<dyn Transaction> {
        engine.transaction(self.clone())
    }

    fn limit_waits(&self) {}

    fn step(&self, _step: &str) {}

    fn is_over(&self) -> bool {
        false
    }
}

/// Runs scripts one after the other, as a client would: retries what a retry can cure, a bounded number of times.
pub fn run_scripts(place: &impl Place, fixture: &Fixture, session: &str, scripts: &[Script], never: Never) {
    let waiter = place.waiter();
    place.limit_waits();
    let connect = || Recorder::new(place.transaction(&*fixture.engine), &fixture.recording, session);
    let mut txn = connect();
    let mut planner = Planner::default();
    for script in scripts {
        let mut attempts = 0;
        planner.begin(txn.capabilities(), script);
        loop {
            let outcome = script.call(&mut txn, &mut planner).and_then(|()| match script.end {
                End::Commit => txn.commit(),
                End::Rollback => {
                    place.step("rollback");
                    Err(Abort::User)
                }
                End::Vanish => {
                    place.step("vanish");
                    txn = connect();
                    Ok(())
                }
            });
            if let Err(abort) = outcome {
                fixture.seen().add_abort(abort);
            }
            attempts += 1;
            let is_last = place.is_over() || attempts > 20;
            let outcome = match outcome {
                Err(abort) if abort.is_retryable() && !is_last => {
                    let waited = txn.give_way(None);
                    fixture.seen().gave_way += u64::from(waited == Ok(true));
                    waited.and(Err(abort))
                }
                outcome => outcome,
            };
            txn.abort();
            waiter.clear_cancel();
            assert!(outcome != Err(Abort::Timeout) || !never.times_out, "a deadlock");
            let deadlocked = outcome == Err(Abort::Deadlock) && txn.capabilities().locks_accesses;
            assert!(!deadlocked || !never.deadlocks, "a deadlock of transactions that lock no more than they declare");
            if is_last || !outcome.is_err_and(|abort| abort.is_retryable()) {
                // It does not come back to where it has its turn.
                txn.idle();
                break;
            }
        }
    }
    fixture.seen().add_session(planner.estimates(), txn.statistics());
}

/// Settings that differ from seed to seed: few partitions and short queues, so that what they limit is met.
pub fn settings(seed: u64) -> Settings {
    let mut random = Random::new(seed);
    Settings {
        workers: 3,
        partitions: Some(2 + random.index(2)),
        blocked_limit: *random.pick(&[None, None, Some(1), Some(2)]),
        deadlock_time_outs: seed % 4 == 1,
        lock_as_it_goes: seed % 3 == 1,
        network_delay: *random.pick(&[Duration::ZERO, Duration::from_micros(50)]),
        cc_threads: *random.pick(&[None, Some(0), Some(2)]),
        escalation: *random.pick(&[None, Some(0), Some(2), Some(3)]),
        hot_percent: *random.pick(&[None, Some(0), Some(0)]),
        momentum: *random.pick(&[None, Some(0), Some(1)]),
    }
}

/// Runs one seed: a few tasks with a few random transactions each, each at one of `levels`.
pub fn simulate(fixture: Fixture, levels: &[Isolation], seed: u64) -> (Arc<Fixture>, Result<(), Box<Failure>>) {
    let fixture = Arc::new(fixture);
    let salt = levels.iter().fold(0, |salt, &level| salt * 8 + level as u64);
    let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(salt));
    let (faults, right) = (SimulationConfig::with_faults(seed), SimulationConfig::new(seed));
    let without_time_outs = SimulationConfig { time_out_per_mille: 0, cancel_per_mille: 20, ..faults };
    let config = *random.pick(&[faults, right, without_time_outs]);
    let config = SimulationConfig { stay_percent: *random.pick(&[0, 60, 85]), ..config };
    let deadlocks = FIND_DEADLOCKS.contains(&fixture.engine.info().name) && settings(seed).deadlock_time_outs;
    let may_time_out = deadlocks || config.time_out_per_mille > 0;
    let mut simulation = Simulation::new(config);
    let mix = *random.pick(&[
        Mix::Everything(1),
        Mix::Everything(3),
        Mix::Everything(KEYS),
        Mix::Phantoms,
        Mix::Phantoms,
        Mix::Queues,
        Mix::Retired,
    ]);
    let may_be_silent = random.chance(40);
    let tasks = if mix == Mix::Queues { 8 } else { 2 + random.index(4) };
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().take(tasks) {
        let count = 1 + random.index(3);
        let script = |_| {
            let isolation = *random.pick(levels);
            Script::random(&mut random, &fixture, isolation, mix, may_be_silent)
        };
        let scripts: Vec<_> = (0..count).map(script).collect();
        let fixture = fixture.clone();
        let never = Never { times_out: !may_time_out, deadlocks: mix == Mix::Queues };
        simulation.spawn(name, move |task| run_scripts(task, &fixture, name, &scripts, never));
    }
    // Whoever waits there is to stand in a queue, or to depend on others.
    fixture.redo.set_pauses(mix != Mix::Queues || is_multiversion(fixture.engine.info()));
    let audited = fixture.clone();
    simulation.after_each_step(move |waiting| audited.audit(if mix == Mix::Queues { waiting } else { 0 }));
    let outcome = simulation.run().and_then(|schedule| {
        let judged = fixture.check_all();
        judged.map_err(|what| Box::new(Failure::new(FailureKind::Wrong(what), seed, schedule)))
    });
    (fixture, outcome)
}

#[track_caller]
fn check_engines(levels: &[Isolation], seeds: u64) {
    let chosen = std::env::var("HOTROW_SIM_ENGINE").ok();
    let is_chosen = |info: &&EngineInfo| chosen.as_ref().is_none_or(|name| name == info.name);
    let isolating = ENGINES.iter().filter(|info| info.isolates).filter(is_chosen);
    for info in isolating.filter(|info| levels.iter().all(|level| info.isolation.contains(level))) {
        let (mut ran, mut committed, mut recorded, mut seen) = (0, 0, 0, Seen::default());
        for_each_seed(seeds, |seed| {
            // Between few keys there is room for several transactions' inserts.
            let every = if seed % 3 == 0 { 3 } else { 2 };
            let fixture = Fixture::open(info.name, &settings(seed), seed % 4 != 0, every);
            let (fixture, outcome) = simulate(fixture, levels, seed);
            committed += fixture.recording.history().transactions.iter().filter(|t| t.is_committed()).count();
            recorded += fixture.redo.transactions();
            ran += 1;
            seen.add(&fixture.seen());
            outcome.map_err(|failure| failure.of(&format!("{} at {levels:?}", info.name)))
        });
        assert!(committed > 0 && recorded > 0, "{} commits nothing", info.name);
        if ran >= 100 {
            assert_seen(info, levels, &seen);
        }
    }
}

/// Whether an engine keeps versions: it has snapshots.
fn is_multiversion(info: &EngineInfo) -> bool {
    info.isolation.contains(&Isolation::Snapshot)
}

/// Asserts that the mechanisms peculiar to an engine were used. If they were not, its audits and histories say nothing
/// of them.
#[track_caller]
fn assert_seen(info: &EngineInfo, levels: &[Isolation], seen: &Seen) {
    // Where the first writer wins nobody stands in a queue.
    let queues = !NOBODY_WAITS.contains(&info.name);
    assert!(is_multiversion(info) || queues == (seen.queues > 0), "{}: {seen:?}", info.name);
    // At read committed a statement waits, and not the transaction as a whole.
    let statements_wait = is_multiversion(info) && levels == [Isolation::ReadCommitted];
    assert!(statements_wait || is_multiversion(info) == (seen.gave_way > 0), "{}: {seen:?}", info.name);
    let speculations = [seen.speculative_reads, seen.speculative_ignores, seen.dependencies];
    assert!(!is_multiversion(info) || !speculations.contains(&0), "{}: {seen:?}", info.name);
    let looks_again = |level: &Isolation| level.covers(Isolation::RepeatableRead);
    // Half of the transactions are what the engine is named for, and the others are either kind.
    let default = info.concurrency.filter(|_| levels.iter().all(looks_again));
    assert!(default.is_none() || seen.validations > 0, "{}: {seen:?}", info.name);
    let waits_in_circles = default == Some(Concurrency::Pessimistic) && levels == [Isolation::Serializable];
    assert!(!waits_in_circles || seen.deadlocks > 0, "{}: {seen:?}", info.name);
    assert!(!FIND_DEADLOCKS.contains(&info.name) || seen.deadlocks > 0, "{}: {seen:?}", info.name);
    let releases_early = info.settings.contains(&Setting::EarlyRelease);
    assert!(releases_early == (seen.retired > 0) && (!releases_early || seen.cascades > 0), "{}: {seen:?}", info.name);
    let planned = !info.capabilities.needs_accesses || seen.reconnaissances > 0 && seen.wrong > 0;
    assert!(planned, "{}: {seen:?}", info.name);
    assert!(!ANALYSE_CONTENTION.contains(&info.name) || seen.analyses_found > 0, "{}: {seen:?}", info.name);
    assert!(!info.settings.contains(&Setting::Escalation) || seen.hierarchy.escalations > 0, "{}: {seen:?}", info.name);
    let inheritance = [seen.hierarchy.used, seen.hierarchy.discarded, seen.hierarchy.invalidated];
    assert!(!info.settings.contains(&Setting::HotPercent) || !inheritance.contains(&0), "{}: {seen:?}", info.name);
    // No thread settles on a partition here, so that whoever needs one takes it, and sends it no messages.
    assert!(info.scheduler != Scheduler::Partition || seen.messages == 0, "{}: {seen:?}", info.name);
}

#[test]
fn serializable_is_serializable() {
    check_engines(&[Isolation::Serializable], 300);
}

#[test]
fn a_snapshot_is_of_one_moment() {
    check_engines(&[Isolation::Snapshot], 300);
    check_engines(&Isolation::ALL, 300);
}

#[test]
fn read_committed_reads_what_was_committed() {
    check_engines(&[Isolation::ReadCommitted], 300);
}

#[test]
fn repeatable_read_keeps_what_was_read() {
    check_engines(&[Isolation::RepeatableRead], 300);
}

#[test]
fn levels_side_by_side_each_keep_their_promise() {
    check_engines(&[Isolation::ReadCommitted, Isolation::Serializable], 300);
    check_engines(&[Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable], 300);
}
