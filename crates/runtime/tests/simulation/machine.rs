//! Every engine on the simulated machine: threads that can be stopped at each access to an atomic, so also in the
//! middle of a call.
//!
//! `HOTROW_SIM_SEEDS=10000 RUSTFLAGS="--cfg machine" cargo test -p hotrow-runtime --test simulation --release machine`
//! runs the long form. A failure prints its schedule, with as few switches as its failure needs.

use crate::bugs::{ALL, Bugs, Case, Scripts, TWO_PHASE, VERSIONS, VLL};
use crate::engines::{FIND_DEADLOCKS, Never, run_scripts, settings};
use crate::planted::{two_phase, versions, vll};
use crate::script::{Mix, Script};
use crate::table::{Fixture, KEYS};
use hotrow_protocols::{ENGINES, open};
use hotrow_runtime::Random;
use hotrow_runtime::simulation::{SEED_VARIABLE, seeds};
use hotrow_sync::machine::{self, Changes, FailureKind, Report, Schedule, Strategy};
use hotrow_sync::{Waiter, thread};
use hotrow_txn::{EngineInfo, Isolation};
use std::cell::{Cell, RefCell};
use std::fmt::{self, Write as _};
use std::time::Duration;

/// A run that has more steps does not end.
const MOST_STEPS: u64 = 3_000_000;

/// The greatest time of a run in which no wait may last until its limit, whose shortest is longer.
const LONGEST: Duration = Duration::from_millis(100);

/// The greatest number of transactions of a thread. Most steps of a short run are those that open the database.
const MOST_TRANSACTIONS: usize = 12;

/// The decisions of a seed, beside the schedule.
struct Plan {
    /// The transactions of each thread.
    threads: Vec<Vec<Script>>,
    /// The longest wait for a lock.
    lock_timeout: Option<Duration>,
    /// The causes for which no transaction must end.
    never: Never,
    /// The number of waits that another thread cancels.
    cancels: u64,
}

impl Plan {
    fn new(random: &mut Random, fixture: &Fixture, levels: &[Isolation], may_time_out: bool) -> Self {
        let mix = *random.pick(&[
            Mix::Everything(2),
            Mix::Everything(3),
            Mix::Everything(KEYS),
            Mix::Phantoms,
            Mix::Walks,
            Mix::Walks,
            Mix::Upgrades,
            Mix::Upgrades,
            Mix::Queues,
            Mix::Retired,
        ]);
        let may_be_silent = random.chance(40);
        let (threads, most) = (2 + random.index(3), 1 + random.index(MOST_TRANSACTIONS));
        let mut thread = || -> Vec<_> {
            let count = 1 + random.index(most);
            let script = |_: usize| {
                let isolation = *random.pick(levels);
                Script::random(random, fixture, isolation, mix, may_be_silent)
            };
            (0..count).map(script).collect()
        };
        let threads = (0..threads).map(|_| thread()).collect();
        let short = Some(Duration::from_micros(20));
        let lock_timeout = *random.pick(&[None, short, short, Some(Duration::from_millis(2))]);
        let cancels = if random.chance(25) { 1 + random.below(4) } else { 0 };
        let never = Never { times_out: lock_timeout.is_none() && !may_time_out, deadlocks: mix == Mix::Queues };
        Self { threads, lock_timeout, never, cancels }
    }
}

/// The strategy of a seed.
fn strategy(random: &mut Random) -> Strategy {
    match random.below(2) {
        0 => Strategy::Random { switch_per_1024: *random.pick(&[8, 32, 128, 512]) },
        _ => Strategy::Priorities {
            changes: 1 + random.below(8) as u32,
            steps: *random.pick(&[100, 200, 500, 2000, 8000]),
            at: *random.pick(&[
                Changes::Everywhere,
                Changes::BeforeWrites,
                Changes::OnSharedLines,
                Changes::BeforeExchanges,
            ]),
        },
    }
}

/// A run that went wrong.
struct Wrong {
    what: String,
    schedule: Schedule,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what, self.schedule)
    }
}

/// A run that went well.
struct Ran {
    report: Report,
    commits: usize,
}

/// A database and the transactions that a seed runs on it.
struct Subject<'s> {
    open: &'s dyn Fn() -> Fixture,
    plan: &'s dyn Fn(&mut Random, &Fixture) -> Plan,
    /// The check when no transaction runs any more.
    judge: fn(&Fixture) -> Result<(), String>,
}

/// Runs the transactions of a seed, and judges what they did.
fn run_once(subject: &Subject<'_>, seed: u64, strategy: &Strategy) -> Result<Ran, Wrong> {
    let (judged, commits, never) = (RefCell::new(Ok(())), Cell::new(0), Cell::new(Never::default()));
    let ran = machine::run(strategy, seed, MOST_STEPS, || {
        let fixture = (subject.open)();
        let plan = (subject.plan)(&mut Random::new(seed), &fixture);
        let waiters: Vec<_> = plan.threads.iter().map(|_| Waiter::thread(Duration::from_micros(5))).collect();
        thread::scope(|scope| {
            for (scripts, waiter) in plan.threads.iter().zip(&waiters) {
                waiter.set_lock_timeout(plan.lock_timeout);
                let (fixture, never) = (&fixture, plan.never);
                scope.spawn(move || run_scripts(waiter, fixture, "thread", scripts, never));
            }
            let mut random = Random::new(!seed);
            let own = Waiter::thread(Duration::ZERO);
            for _ in 0..plan.cancels {
                own.pause(Duration::from_nanos(random.below(40_000)));
                random.pick(&waiters).cancel();
            }
        });
        commits.set(fixture.recording.history().transactions.iter().filter(|txn| txn.is_committed()).count());
        never.set(plan.never);
        let result = (subject.judge)(&fixture);
        machine::outside(|| *judged.borrow_mut() = result.clone());
    });
    match ran {
        Err(failure) => {
            let what = match &failure.kind {
                FailureKind::Stalled(threads) => format!("nobody can wake {}", threads.join(", ")),
                FailureKind::Panicked(thread, message) => format!("{thread} panicked: {message}"),
                FailureKind::Endless => format!("no end after {} steps", failure.report.steps),
            };
            Err(Wrong { what, schedule: failure.report.schedule })
        }
        Ok(report) => match judged.into_inner() {
            Err(what) => Err(Wrong { what, schedule: report.schedule }),
            Ok(()) if report.time > LONGEST && never.get().times_out => {
                Err(Wrong { what: "a wait lasted until its limit".to_owned(), schedule: report.schedule })
            }
            Ok(()) => Ok(Ran { report, commits: commits.get() }),
        },
    }
}

/// Runs a seed with a strategy of its own.
fn run_seed(subject: &Subject<'_>, seed: u64) -> Result<Ran, Wrong> {
    run_once(subject, seed, &strategy(&mut Random::new(seed ^ 0x5eed)))
}

/// Leaves out of a failed run as many switches as possible.
fn shrink(subject: &Subject<'_>, seed: u64, wrong: Wrong) -> Wrong {
    let Wrong { mut what, schedule } = wrong;
    let schedule = schedule.shrink(|shorter| {
        let again = run_once(subject, seed, &Strategy::Replay(shorter.clone())).err()?;
        what = again.what;
        Some(again.schedule)
    });
    Wrong { what, schedule }
}

/// Whether deadlocks of an engine with a seed's settings end by time-out.
fn may_time_out(info: &EngineInfo, seed: u64) -> bool {
    FIND_DEADLOCKS.contains(&info.name) && settings(seed).deadlock_time_outs
}

fn check_engine(info: &EngineInfo, levels: &[Isolation], count: u64) -> Result<(), String> {
    let (mut commits, mut steps, mut ran) = (0, 0, 0);
    for seed in seeds(count) {
        let every = if seed % 3 == 0 { 3 } else { 2 };
        let open = || Fixture::open(info.name, &settings(seed), seed % 4 != 0, every);
        let plan =
            |random: &mut Random, fixture: &Fixture| Plan::new(random, fixture, levels, may_time_out(info, seed));
        let subject = Subject { open: &open, plan: &plan, judge: Fixture::check_all };
        match run_seed(&subject, seed) {
            Ok(Ran { report, commits: some }) => {
                (commits, steps, ran) = (commits + some, steps + report.steps, ran + 1);
            }
            Err(wrong) => {
                let wrong = shrink(&subject, seed, wrong);
                let again = format!("see it again with {SEED_VARIABLE}={seed}");
                return Err(format!("{} at {levels:?}: {wrong}{again}", info.name));
            }
        }
    }
    #[expect(clippy::print_stdout, reason = "the figures of a long run")]
    {
        println!("{:12} {levels:?}: {ran} seeds, {commits} commits, {steps} steps", info.name);
    }
    assert!(commits > 0, "{} commits nothing", info.name);
    Ok(())
}

/// The engines that isolate, or the one that the environment names.
fn engines() -> impl Iterator<Item = &'static EngineInfo> {
    let chosen = std::env::var("HOTROW_SIM_ENGINE").ok();
    let is_chosen = move |info: &&EngineInfo| chosen.as_ref().is_none_or(|name| name == info.name);
    ENGINES.iter().filter(|info| info.isolates).filter(is_chosen)
}

fn check_engines(seeds: u64) {
    let mut wrong = String::new();
    for info in engines() {
        let alone = info.isolation.iter().map(|level| vec![*level]);
        for levels in alone.chain([info.isolation.to_vec()]) {
            if let Err(what) = check_engine(info, &levels, seeds) {
                writeln!(wrong, "{what}").expect("a string has room");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn engines_are_isolated_wherever_their_threads_are_stopped() {
    check_engines(40);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let mut differ = String::new();
    for info in engines() {
        for seed in seeds(3) {
            let open = || Fixture::open(info.name, &settings(seed), true, 2);
            let plan = |random: &mut Random, fixture: &Fixture| Plan::new(random, fixture, info.isolation, true);
            let subject = Subject { open: &open, plan: &plan, judge: Fixture::check_all };
            let run = || run_seed(&subject, seed).unwrap_or_else(|wrong| panic!("{}: {wrong}", info.name)).report;
            let (one, other) = (run(), run());
            if one != other {
                let switches = one.schedule.switches().iter().zip(other.schedule.switches());
                let first = switches.enumerate().find(|(_, (one, other))| one != other);
                writeln!(differ, "{}, seed {seed}: {first:?}", info.name).expect("a string has room");
            }
        }
    }
    assert!(differ.is_empty(), "{differ}");
}

/// Returns the first seed that finds a bug, and what it finds.
fn first_finding<B: Bugs>(bug: B, scripts: Scripts, count: u64) -> Option<(u64, Wrong)> {
    seeds(count).find_map(|seed| {
        let open = || {
            let fixture = Fixture::over(bug.engine(open("none").expect("it is in the registry")), true);
            fixture.redo.set_pauses(bug.pauses());
            fixture
        };
        let plan = |random: &mut Random, fixture: &Fixture| Plan {
            threads: scripts(fixture).into_iter().map(|script| vec![script]).collect(),
            lock_timeout: None,
            // The small engine of two-phase locking finds no deadlocks.
            never: Never::default(),
            cancels: if seed % 2 == 1 { random.below(3) } else { 0 },
        };
        let subject = Subject { open: &open, plan: &plan, judge: Fixture::check };
        run_seed(&subject, seed).err().map(|wrong| (seed, shrink(&subject, seed, wrong)))
    })
}

/// Asserts that each bug is found, and says by which seed and with how many switches.
fn assert_found<B: Bugs + PartialEq>(cases: &[Case<B>]) {
    let mut missed = Vec::new();
    for (at, &(bug, _, scripts, expected)) in cases.iter().enumerate() {
        if cases[..at].iter().any(|(other, _, others, _)| *other == bug && std::ptr::fn_addr_eq(*others, scripts)) {
            continue;
        }
        match first_finding(bug, scripts, 3000) {
            Some((seed, Wrong { what, schedule })) => {
                #[expect(clippy::print_stdout, reason = "the figures of a long run")]
                {
                    println!("{bug:?}: seed {seed}, {} switches: {what}", schedule.chosen());
                }
            }
            None => missed.push(format!("{bug:?}, {expected:?}")),
        }
    }
    assert_eq!(missed, Vec::<String>::new());
}

#[test]
fn planted_bugs_are_found() {
    assert_found(&TWO_PHASE);
    assert_found(&VLL);
    assert_found(&VERSIONS);
}

#[test]
fn nothing_is_found_where_no_bug_is_planted() {
    let mut found = String::new();
    for (at, scripts) in ALL.into_iter().enumerate() {
        let engines = [
            ("two_phase", first_finding(two_phase::Bug::None, scripts, 100)),
            ("vll", first_finding(vll::Bug::None, scripts, 100)),
            ("versions", first_finding(versions::Bug::None, scripts, 100)),
        ];
        for (name, finding) in engines {
            if let Some((seed, wrong)) = finding {
                writeln!(found, "{name}, scripts {at}, seed {seed}: {wrong}").expect("a string has room");
            }
        }
    }
    assert!(found.is_empty(), "{found}");
}
