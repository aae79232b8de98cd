//! A database with a log on a simulated disk, over several lives that end with crashes.

use super::disk::{Flaw, SteppingDisk};
use super::ledger::{Acknowledges, Cut, Ledger, Padding, PaddingTable};
use crate::engines::{Never, run_scripts};
use crate::script::{Mix, Script};
use crate::table::{Fixture, STAMP};
use hotrow_check::{History, Recording};
use hotrow_log::checkpoint::{self, Checkpoints};
use hotrow_log::directory::Directory;
use hotrow_log::disk::Disk;
use hotrow_log::disk::simulated::SimulatedDisk;
use hotrow_log::failure::Failure as LogFailure;
use hotrow_log::source::{LiveSource, Source};
use hotrow_log::writer::{Clock, Durability, Flushed, Log, Options};
use hotrow_log::{format, recovery};
use hotrow_runtime::Random;
use hotrow_runtime::simulation::{Failure, FailureKind, Schedule, Simulation, SimulationConfig, Task};
use hotrow_storage::{Column, IndexRef, TableId, TableSchema, Type};
use hotrow_sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Scan};
use std::ops::ControlFlow;
use std::time::Duration;

/// The number of lives of a database.
const LIVES: usize = 4;

/// The greatest number of moments of a life at which the power fails and the life goes on all the same.
const SIDE_CRASHES: usize = 4;

/// The engine that is simulated, and the transactions that it gets.
pub struct Subject<'s> {
    pub name: &'s str,
    pub open: &'s dyn Fn(u64) -> Arc<dyn Engine>,
    pub levels: &'s [Isolation],
    pub mixes: &'s [Mix],
    pub mistake: Mistake,
}

/// A mistake of the code that makes the database durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// Commits are acknowledged before their records are durable.
    AcknowledgesEarly,
    /// The log forgets what a checkpoint will hold before it is durable.
    TruncatesEarly,
    /// A promise of the disk is not asked for.
    Disk(Flaw),
}

/// A database over its lives.
pub struct World<'s> {
    subject: &'s Subject<'s>,
    seed: u64,
    random: Random,
    log_options: Options,
    checkpoint_options: checkpoint::Options,
    ordered: bool,
    recording: Arc<Recording>,
    /// The table of the transactions, and that of the padding.
    tables: (TableId, TableId),
    /// The number of transactions at the beginning of the history that all crashes have left.
    settled: usize,
    padding: Padding,
    /// The number of openings of the log.
    openings: u64,
    /// The number of crashes after which the database was recovered and checked.
    pub points: u64,
    /// The number of crashes at which a checkpoint, or the opening of the log, was under way.
    pub within_work: u64,
}

/// A data directory that is open for writing.
struct Opened {
    /// The disk of the checkpoints.
    stepping: Arc<SteppingDisk>,
    log: Arc<Log>,
    ledger: Arc<Ledger>,
    checkpoints: Arc<Checkpoints>,
}

/// A process with an open database.
struct Life {
    disk: Arc<SimulatedDisk>,
    opened: Opened,
    fixture: Arc<Fixture>,
    padding: PaddingTable,
    /// The number of sessions that still run.
    running: AtomicUsize,
    /// The number of steps of checkpoints that have begun and not ended.
    steps: AtomicUsize,
    /// A fault of the log or of a checkpoint that no fault of the disk explains.
    wrong: Mutex<Option<String>>,
}

/// A disk after the power has failed, and the number of transactions that had ended.
struct Crash {
    disk: Arc<SimulatedDisk>,
    ended: usize,
    closed: bool,
}

/// A database after its recovery, with what it has.
struct Recovered {
    engine: Arc<dyn Engine>,
    end: u64,
    history: History,
    padding: Padding,
    rows: Vec<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

fn text(failure: LogFailure) -> String {
    failure.to_string()
}

/// Whether a failure is the consequence of a fault that was planned.
fn is_of_disk(what: &str) -> bool {
    ["the power has failed", "the device reports", "until the next start"].iter().any(|fault| what.contains(fault))
}

fn padding_schema() -> TableSchema {
    let columns = vec![Column::new("id", Type::Int8), Column::new("text", Type::Text)];
    TableSchema { partitioned: true, ..TableSchema::new("padding", columns, &[0]) }
}

impl Life {
    fn note(&self, what: String) {
        if !is_of_disk(&what) {
            lock(&self.wrong).get_or_insert(what);
        }
    }

    fn is_running(&self, task: &Task) -> bool {
        self.running.load(Ordering::Acquire) > 0 && !task.is_over()
    }

    /// Writes the log, as its threads would.
    fn write(&self, task: &Task, mut random: Random) {
        while self.is_running(task) {
            match random.below(10) {
                0 => self.opened.log.tend(),
                1..4 => self.opened.ledger.pad(&self.padding, random.bits(), task.waiter()),
                _ => {}
            }
            let flushed = if random.chance(80) { self.opened.log.flush() } else { Flushed::Done };
            let longest_us = if flushed == Flushed::Nothing { 10_000 } else { 100 };
            task.waiter().pause(Duration::from_micros(random.below(longest_us)));
            task.waiter().clear_cancel();
        }
    }

    /// Makes checkpoints, as their thread would.
    fn make_checkpoints(&self, task: &Task, mut random: Random, mistake: Mistake) {
        self.opened.stepping.set_task(Some(task.clone()));
        while self.is_running(task) {
            self.steps.fetch_add(1, Ordering::AcqRel);
            let made = if random.chance(60) { self.advance(mistake) } else { self.merge() };
            self.steps.fetch_sub(1, Ordering::AcqRel);
            made.unwrap_or_else(|failure| self.note(format!("a checkpoint: {failure}")));
            task.waiter().pause(Duration::from_micros(random.below(500)));
            task.waiter().clear_cancel();
        }
        self.opened.stepping.set_task(None);
    }

    fn advance(&self, mistake: Mistake) -> Result<(), LogFailure> {
        let (from, durable) = (self.opened.checkpoints.position(), self.opened.log.durable());
        if from < durable {
            let mut frames = self.opened.log.frames(from)?;
            if mistake == Mistake::TruncatesEarly {
                self.opened.log.discard_before(durable);
            }
            self.opened.checkpoints.advance(&mut *frames, &|| false)?;
        }
        self.opened.log.discard_before(self.opened.checkpoints.needed());
        Ok(())
    }

    fn merge(&self) -> Result<(), LogFailure> {
        self.opened.checkpoints.merge(&|| false).map(drop)
    }
}

impl<'s> World<'s> {
    pub fn new(subject: &'s Subject<'s>, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xC0FF_EE00);
        let time = Arc::new(AtomicI64::new(0));
        let log_options = Options {
            durability: *random.pick(&[Durability::Sync, Durability::Sync, Durability::Sync, Durability::Async]),
            segment_bytes: 4096 * (2 + random.below(3)),
            ring_bytes: 16 << 10,
            write_bytes: *random.pick(&[100, 1000, 10_000]),
            spares: random.index(4),
            clock: Clock(Arc::new(move || time.fetch_add(400_000, Ordering::AcqRel))),
            ..Options::default()
        };
        let checkpoint_options = checkpoint::Options {
            batch_bytes: *random.pick(&[1000, 4000, 100_000]),
            block_bytes: *random.pick(&[100, 1000]),
            own_file_bytes: *random.pick(&[1, 1000, 10_000]),
            file_bytes: *random.pick(&[1000, 10_000]),
            most_runs: 2 + random.index(3),
            growth: 1 + random.below(2),
            reserve_bytes: 0,
            ..checkpoint::Options::default()
        };
        Self {
            subject,
            seed,
            log_options,
            checkpoint_options,
            ordered: random.chance(75),
            random,
            recording: Recording::new(),
            tables: (TableId(0), TableId(0)),
            settled: 0,
            padding: Padding::new(),
            openings: 0,
            points: 0,
            within_work: 0,
        }
    }

    /// Makes the database, and lives its lives.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn run(&mut self) -> Result<(), Box<Failure>> {
        let mut schedule = Schedule::default();
        let outcome = self.run_lives(&mut schedule);
        outcome.map_err(|kind| Box::new(Failure::new(kind, self.seed, schedule)))
    }

    fn run_lives(&mut self, schedule: &mut Schedule) -> Result<(), FailureKind> {
        let mut life = self.found().map_err(FailureKind::Wrong)?;
        for number in 0..LIVES {
            self.plan_faults(&life.disk);
            let (outcome, crashes) = self.simulate(&life, number);
            match outcome {
                Ok(done) => *schedule = done,
                Err(failure) => {
                    *schedule = failure.schedule;
                    return Err(failure.kind);
                }
            }
            life = self.go_on(life, &crashes).map_err(FailureKind::Wrong)?;
        }
        Ok(())
    }

    /// Makes a new directory with a table and some rows, all of it durable.
    fn found(&mut self) -> Result<Arc<Life>, String> {
        let disk = SimulatedDisk::new(self.random.bits());
        let engine = (self.subject.open)(self.seed);
        format::create(&*self.wrap(&disk)).map_err(text)?;
        let opened = self.open(&disk, 0)?;
        engine.set_redo(opened.ledger.clone());
        let every = if self.random.chance(30) { 3 } else { 2 };
        let loaded = Fixture::loaded(engine.clone(), self.ordered, every);
        let padding = engine.create_table(padding_schema());
        if !opened.log.close() {
            return Err(format!("the log fails at once: {:?}", opened.log.failure()));
        }
        self.recording.table(&*engine, loaded.table, STAMP).map_err(|abort| abort.to_string())?;
        self.tables = (loaded.table, padding);
        Ok(self.live(disk, engine, opened))
    }

    /// Returns a disk as code sees it that may not ask for all its promises. A new database is made without mistakes.
    fn wrap(&self, disk: &Arc<SimulatedDisk>) -> Arc<SteppingDisk> {
        let flaw = match self.subject.mistake {
            Mistake::Disk(flaw) if self.openings > 1 => flaw,
            _ => Flaw::None,
        };
        SteppingDisk::over(disk.clone(), flaw)
    }

    /// Opens what is on a disk for writing, from the end of what was recovered.
    fn open(&mut self, disk: &Arc<SimulatedDisk>, end: u64) -> Result<Opened, String> {
        self.openings += 1;
        let stepping = self.wrap(disk);
        let checkpoints = Checkpoints::open(stepping.clone(), self.checkpoint_options.clone()).map_err(text)?;
        let log = Log::open(self.wrap(disk), &self.log_options, end).map_err(text)?;
        log.discard_before(checkpoints.needed());
        let acknowledges = match self.subject.mistake {
            Mistake::AcknowledgesEarly => Acknowledges::Early,
            _ => Acknowledges::InTime,
        };
        let ledger = Ledger::new(log.clone(), self.recording.clone(), acknowledges);
        Ok(Opened { stepping, log, ledger, checkpoints })
    }

    /// Begins a life of an engine whose sink is the ledger.
    fn live(&self, disk: Arc<SimulatedDisk>, engine: Arc<dyn Engine>, opened: Opened) -> Arc<Life> {
        let padding = PaddingTable { table: self.tables.1, layout: engine.layout(self.tables.1) };
        let fixture = Arc::new(self.fixture(engine));
        let (running, steps, wrong) = Default::default();
        Arc::new(Life { disk, opened, fixture, padding, running, steps, wrong })
    }

    fn fixture(&self, engine: Arc<dyn Engine>) -> Fixture {
        Fixture::of(engine, self.tables.0, self.ordered, self.recording.clone())
    }

    fn plan_faults(&mut self, disk: &SimulatedDisk) {
        match self.random.below(8) {
            0 => disk.fail_sync_at(disk.syncs() + self.random.below(30)),
            1 => disk.fail_write_at(disk.writes() + self.random.below(30)),
            2..6 => disk.fail_power_at(disk.operations() + self.random.below(150)),
            _ => {}
        }
    }

    /// Runs sessions, the log and checkpoints. Returns the disks of the crashes that happened on the side.
    fn simulate(&mut self, life: &Arc<Life>, number: usize) -> (Result<Schedule, Box<Failure>>, Vec<Crash>) {
        let faults = *self.random.pick(&[0, 5]);
        let config = SimulationConfig {
            stay_percent: *self.random.pick(&[0, 60, 85]),
            cancel_per_mille: faults,
            wake_per_mille: 4 * faults,
            ..SimulationConfig::new(self.random.bits())
        };
        let mut simulation = Simulation::new(config);
        let mix = *self.random.pick(self.subject.mixes);
        let may_be_silent = self.random.chance(30);
        let log_is_sync = self.log_options.durability == Durability::Sync;
        let sessions = 2 + self.random.index(4);
        life.running.store(sessions, Ordering::Release);
        for letter in ["a", "b", "c", "d", "e"].into_iter().take(sessions) {
            let (name, is_sync) = (format!("{letter}{number}"), log_is_sync && self.random.chance(85));
            let script = |_| {
                let isolation = *self.random.pick(self.subject.levels);
                Script::random(&mut self.random, &life.fixture, isolation, mix, may_be_silent)
            };
            let scripts: Vec<_> = (0..1 + number % 2 + sessions % 3).map(script).collect();
            let life = life.clone();
            simulation.spawn(letter, move |task| {
                life.opened.ledger.add_session(task.waiter(), &name, is_sync);
                run_scripts(task, &life.fixture, &name, &scripts, Never::default());
                life.running.fetch_sub(1, Ordering::AcqRel);
            });
        }
        let mistake = self.subject.mistake;
        let (of_log, random) = (life.clone(), Random::new(self.random.bits()));
        simulation.spawn("log", move |task| of_log.write(task, random));
        let (of_checkpoints, random) = (life.clone(), Random::new(self.random.bits()));
        simulation.spawn("checkpoints", move |task| of_checkpoints.make_checkpoints(task, random, mistake));
        let crashes = Arc::new(Mutex::new(Vec::new()));
        let (watched, kept, mut random) = (life.clone(), crashes.clone(), Random::new(self.random.bits()));
        let (mut left, mut within) = (SIDE_CRASHES, 0);
        let within_work = Arc::new(AtomicUsize::new(0));
        let counted = within_work.clone();
        simulation.after_each_step(move |_| {
            if left > 0 && random.below(40) == 0 && watched.opened.log.failure().is_none() {
                left -= 1;
                within += watched.steps.load(Ordering::Acquire);
                counted.store(within, Ordering::Release);
                let ended = watched.fixture.recording.history().transactions.len();
                lock(&kept).push(Crash { disk: watched.disk.crash(), ended, closed: false });
            }
            lock(&watched.wrong).clone().map_or(Ok(()), Err)
        });
        let outcome = simulation.run();
        self.within_work += within_work.load(Ordering::Acquire) as u64;
        (outcome, std::mem::take(&mut *lock(&crashes)))
    }

    /// Judges the crashes of a life, lets it end with another one, and opens what is left.
    fn go_on(&mut self, life: Arc<Life>, crashes: &[Crash]) -> Result<Arc<Life>, String> {
        for (number, crash) in crashes.iter().enumerate() {
            self.judge(&life, crash).map_err(|wrong| format!("crash {number} on the side: {wrong}"))?;
        }
        let closed = self.random.chance(10) && life.opened.log.close();
        // One of eight is killed, and leaves what it has written in the memory of the operating system.
        let mut is_killed = self.random.below(8) == 0 && life.disk.list("").is_ok();
        let disk = if is_killed { life.disk.copy(self.random.bits()) } else { life.disk.crash() };
        let ended = self.recording.history().transactions.len();
        let mut crash = Crash { disk, ended, closed };
        let mut recovered = self.judge(&life, &crash)?;
        while self.random.chance(40) {
            // The power fails while the log is opened.
            crash.disk.fail_power_at(self.random.below(16));
            match self.open(&crash.disk, recovered.end) {
                Ok(_) => is_killed = false,
                Err(wrong) if is_of_disk(&wrong) => self.within_work += 1,
                Err(wrong) => return Err(wrong),
            }
            crash.disk = crash.disk.crash();
            let again = self.judge(&life, &crash).map_err(|wrong| format!("a second crash: {wrong}"))?;
            if !is_killed
                && (again.end, &again.rows, &again.padding) != (recovered.end, &recovered.rows, &recovered.padding)
            {
                let ends = (recovered.end, again.end);
                return Err(format!("a second crash makes {:?} of {:?}, ends {ends:?}", again.rows, recovered.rows));
            }
            (recovered, is_killed) = (again, false);
        }
        let Recovered { engine, end, history, padding, .. } = recovered;
        self.settled = history.transactions.len();
        *self.recording.history() = history;
        self.padding = padding;
        let opened = self.open(&crash.disk, end)?;
        engine.set_redo(opened.ledger.clone());
        Ok(self.live(crash.disk, engine, opened))
    }

    /// Recovers what a crash has left, and compares it with what must be there.
    fn judge(&mut self, life: &Life, crash: &Crash) -> Result<Recovered, String> {
        let engine = (self.subject.open)(self.seed);
        let directory = Directory::over(self.wrap(&crash.disk)).map_err(text)?;
        let options = recovery::Options { threads: 1 + (self.points % 2) as usize, range_bytes: 1000 };
        let target: &dyn Engine = &*engine;
        let recovered = directory.recover(&target, &options, &|_| ()).map_err(text)?;
        self.points += 1;
        let history = self.recording.history().clone();
        let cut = Cut { settled: self.settled, ended: crash.ended, end: recovered.end, closed: crash.closed };
        let history = life.opened.ledger.survivors(&history, cut)?;
        let fixture = self.fixture(engine);
        fixture.check_against(&history).map_err(|wrong| format!("after the crash {wrong}"))?;
        let rows = fixture.rows(&[Scan::all(fixture.table, IndexRef::Primary)]).map_err(|abort| abort.to_string())?;
        let padding = padding_of(&*fixture.engine, self.tables.1).map_err(|abort| abort.to_string())?;
        let expected = life.opened.ledger.padding(&self.padding, recovered.end);
        if padding != expected {
            return Err(format!("the padding is {padding:?}, and not {expected:?}"));
        }
        Ok(Recovered { engine: fixture.engine, end: recovered.end, history, padding, rows })
    }
}

/// Reads the rows of padding.
fn padding_of(engine: &dyn Engine, table: TableId) -> Result<Padding, Abort> {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    txn.begin(&Begin::default())?;
    let mut padding = Padding::new();
    txn.scan(&Scan::all(table, IndexRef::Primary), &mut |row| {
        padding.insert(row.int8(0), row.text(1).len());
        ControlFlow::Continue(())
    })?;
    txn.commit()?;
    Ok(padding)
}
