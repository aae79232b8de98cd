//! A log on a simulated disk whose power fails, and what must be left of it.

use hotrow_log::disk::Disk;
use hotrow_log::disk::simulated::SimulatedDisk;
use hotrow_log::failure::Failure;
use hotrow_log::reader::LogFiles;
use hotrow_log::record::Record;
use hotrow_log::source::{Damage, LiveSource, Source};
use hotrow_log::writer::{Clock, Durability, Log, Options};
use hotrow_storage::{Change, End, Key, RedoSink, TableId};
use hotrow_sync::atomic::{AtomicI64, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};
use std::io::ErrorKind;
use std::time::Duration;

/// A mistake that is made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// The log gives up segments that no checkpoint holds.
    TruncationBeforeCheckpoint,
    /// All openings have the same salt.
    SameSalt,
}

/// A record of the history: its place in the log and the number that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Appended {
    end: u64,
    number: i64,
}

/// Wraps the disk on which the log is written.
pub type Wrap = dyn Fn(Arc<SimulatedDisk>) -> Arc<dyn Disk>;

/// A history of one log over crashes.
pub struct World<'w> {
    random: fastrand::Rng,
    wrap: &'w Wrap,
    mistake: Mistake,
    options: Options,
    time: Arc<AtomicI64>,
    disk: Arc<SimulatedDisk>,
    log: Option<Arc<Log>>,
    /// The records that are in the log, or may be lost.
    records: Vec<Appended>,
    /// The number of these that may not be lost.
    acknowledged: usize,
    /// The position of the durable checkpoint.
    checkpoint: u64,
    next_number: i64,
    room_maker: Arc<RoomMaker>,
    /// The waiter of transactions that append.
    appending: Waiter,
    /// The waiter of transactions that ask whether they are durable, which is cancelled.
    asking: Waiter,
    /// The number of crashes that were survived.
    pub crashes: u64,
}

/// A scheduler under which somebody makes room on the disk while a transaction waits for room in the log.
struct RoomMaker {
    /// The disk since the last crash.
    disk: Mutex<Arc<SimulatedDisk>>,
    now: AtomicU64,
}

impl Scheduler for RoomMaker {
    fn now(&self) -> Time {
        Time(self.now.fetch_add(1_000, Ordering::AcqRel))
    }

    fn suspend(&self, _deadline: Option<Time>) {
        self.disk.lock().expect("no panic under the latch").set_capacity(None);
    }

    fn resume(&self) {}
}

/// The lengths of keys that make records of a length again and again, so that frames of different openings meet.
const LENGTHS: [usize; 4] = [8, 8, 8, 300];

impl<'w> World<'w> {
    pub fn new(seed: u64, wrap: &'w Wrap, mistake: Mistake) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let time = Arc::new(AtomicI64::new(0));
        let clock = {
            let time = time.clone();
            Clock(Arc::new(move || time.load(Ordering::Acquire)))
        };
        let options = Options {
            durability: *random
                .choice([Durability::Sync, Durability::Sync, Durability::Async, Durability::Off].as_slice().iter())
                .expect("four"),
            segment_bytes: 4096 * random.u64(2..=4),
            ring_bytes: 8192,
            write_bytes: *random.choice([100, 1000, 5000].as_slice().iter()).expect("three"),
            interval: Duration::from_millis(10),
            spares: random.usize(..4),
            clock,
            salt: (mistake == Mistake::SameSalt).then_some(5),
        };
        let asking = Waiter::thread(Duration::ZERO);
        asking.cancel();
        let disk = SimulatedDisk::new(random.u64(..));
        let room_maker = Arc::new(RoomMaker { disk: Mutex::new(disk.clone()), now: AtomicU64::new(0) });
        let appending = Waiter::new(room_maker.clone());
        Self {
            random,
            wrap,
            mistake,
            options,
            time,
            disk,
            log: None,
            records: Vec::new(),
            acknowledged: 0,
            checkpoint: 0,
            next_number: 0,
            room_maker,
            appending,
            asking,
            crashes: 0,
        }
    }

    /// Opens the log, lives for a while, and ends in one of several ways; again and again.
    ///
    /// # Errors
    /// What is wrong with the log.
    pub fn run(&mut self) -> Result<(), String> {
        for _ in 0..4 {
            self.plan_faults();
            if self.open()? {
                self.live()?;
            }
            self.end()?;
        }
        Ok(())
    }

    fn plan_faults(&mut self) {
        let (operations, syncs, writes) = (self.disk.operations(), self.disk.syncs(), self.disk.writes());
        match self.random.u8(..8) {
            0 => self.disk.fail_sync_at(syncs + self.random.u64(..20)),
            1 => self.disk.fail_write_at(writes + self.random.u64(..20)),
            2..5 => self.disk.fail_power_at(operations + self.random.u64(..120)),
            _ => {}
        }
        let full = self.random.u8(..4) == 0;
        let segments = self.random.u64(3..8);
        self.disk.set_capacity(full.then_some(segments * self.options.segment_bytes));
    }

    /// Recovers and opens the log. Returns false if the power failed, or another fault was met.
    fn open(&mut self) -> Result<bool, String> {
        let read = match self.read() {
            Ok(read) => read,
            Err(Failure::Disk { .. }) => return Ok(false),
            Err(failure) => return Err(failure.to_string()),
        };
        let end = self.judge(&read)?;
        let mut opened = Log::open((self.wrap)(self.disk.clone()), &self.options, end);
        if let Err(Failure::Disk { error, .. }) = &opened
            && error.kind() == ErrorKind::StorageFull
        {
            self.disk.set_capacity(None);
            opened = Log::open((self.wrap)(self.disk.clone()), &self.options, end);
        }
        match opened {
            Ok(log) => {
                // What was recovered is shown to clients, so it stays.
                self.acknowledged = self.records.len();
                self.log = Some(log);
                Ok(true)
            }
            Err(Failure::Disk { .. }) => Ok(false),
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Reads the numbers and ends of all records behind the checkpoint.
    fn read(&self) -> Result<(Vec<Appended>, u64), Failure> {
        let disk = (self.wrap)(self.disk.clone());
        let files = LogFiles::open(&*disk)?;
        let (mut frames, mut read, mut end) = (files.frames(self.checkpoint)?, Vec::new(), self.checkpoint);
        while let Some(frame) = frames.next().map_err(failure_of)? {
            end = frame.end;
            match Record::read(frame.record) {
                Ok(Record::Clock(_)) => {}
                Ok(Record::Dropped { table }) => read.push(Appended { end, number: i64::from(table.0) }),
                Ok(Record::Transaction(mut changes)) => match changes.next() {
                    Some(Ok(hotrow_log::record::StoredChange::Delete { table, .. })) => {
                        read.push(Appended { end, number: i64::from(table.0) });
                    }
                    other => return Err(Failure::Refused(format!("a record with {other:?}"))),
                },
                other => return Err(Failure::Refused(format!("the record {other:?}"))),
            }
        }
        Ok((read, end))
    }

    /// Compares what was read with what was appended, and forgets what was lost. Returns the end of the log.
    fn judge(&mut self, (read, end): &(Vec<Appended>, u64)) -> Result<u64, String> {
        let covered = self.records.partition_point(|record| record.end <= self.checkpoint);
        let expected = &self.records[covered..];
        if read.len() > expected.len() || *read != expected[..read.len()] {
            let at = read.iter().zip(expected).position(|(read, expected)| read != expected).unwrap_or(expected.len());
            return Err(format!("record {at} is {:?} and not {:?}", read.get(at), expected.get(at)));
        }
        let kept = covered + read.len();
        if kept < self.acknowledged {
            let lost = self.records[kept];
            return Err(format!(
                "{lost:?} was acknowledged, and is lost, as are {} more",
                self.acknowledged - kept - 1
            ));
        }
        self.records.truncate(kept);
        Ok(*end)
    }

    fn live(&mut self) -> Result<(), String> {
        let log = self.log.clone().expect("it is open");
        for _ in 0..self.random.usize(1..60) {
            match self.random.u8(..10) {
                0..5 => self.append(&log),
                5..8 => drop(log.flush()),
                8 => log.tend(),
                _ => self.make_checkpoint(&log),
            }
            self.time.fetch_add(self.random.i64(..400_000), Ordering::AcqRel);
            self.acknowledge(&log);
            if self.random.u8(..20) == 0 {
                self.read_live(&log)?;
            }
            if self.random.u8(..30) == 0 {
                self.disk.set_capacity(None);
                log.tend();
                if log.failure().is_none() && log.admits().is_err() {
                    return Err("there is room, and the log is full".to_owned());
                }
            }
        }
        Ok(())
    }

    fn append(&mut self, log: &Log) {
        for _ in 0..self.random.usize(1..6) {
            log.tend();
            if log.admits().is_err() {
                return;
            }
            self.next_number += 1;
            let number = self.next_number;
            let table = TableId(number as u32);
            let end = if self.random.u8(..10) == 0 {
                // Nobody makes room while this waits, which is without a waiter of its own.
                self.disk.set_capacity(None);
                log.dropped(table);
                log.appended().0
            } else {
                // Now and then larger than a segment.
                let length = match self.random.u8(..100) {
                    0 => 20_000,
                    _ => LENGTHS[self.random.usize(..LENGTHS.len())],
                };
                if length > 1000 && self.options.durability == Durability::Sync && log.statistics().is_full {
                    return;
                }
                let change = Change::Delete { table, key: Key::from_bytes(&vec![7; length]) };
                log.append(End::Next, &mut [change].into_iter(), &self.appending).0
            };
            self.records.push(Appended { end, number });
        }
    }

    /// Notes which commits are over.
    fn acknowledge(&mut self, log: &Log) {
        if self.options.durability != Durability::Sync {
            return;
        }
        let durable = log.statistics().durable;
        let over = self.records.partition_point(|record| record.end <= durable);
        for record in self.acknowledged..over {
            let position = hotrow_storage::Position(self.records[record].end);
            if log.wait_durable(position, &self.asking).is_ok() {
                self.acknowledged = record + 1;
            }
        }
    }

    fn make_checkpoint(&mut self, log: &Log) {
        let durable = log.durable();
        let ends = self.records.iter().map(|record| record.end).filter(|end| *end <= durable && *end > self.checkpoint);
        let ends: Vec<u64> = ends.collect();
        let Some(position) = self.random.choice(&ends).copied() else { return };
        if self.mistake != Mistake::TruncationBeforeCheckpoint {
            self.checkpoint = position;
            let covered = self.records.partition_point(|record| record.end <= position);
            self.acknowledged = self.acknowledged.max(covered);
        }
        log.discard_before(position);
    }

    /// Reads the log while it is written.
    fn read_live(&self, log: &Log) -> Result<(), String> {
        if self.mistake != Mistake::None {
            return Ok(());
        }
        let (from, durable) = (self.checkpoint, log.durable());
        let covered = self.records.partition_point(|record| record.end <= from);
        let mut frames = match log.frames(from) {
            Err(damage) if !damage.what.contains("the power has failed") => return Err(damage.to_string()),
            Err(_) => return Ok(()),
            Ok(frames) => frames,
        };
        let mut read = covered;
        loop {
            match frames.next() {
                Ok(Some(frame)) if matches!(Record::read(frame.record), Ok(Record::Clock(_))) => {}
                Ok(Some(frame)) => {
                    if self.records.get(read).map(|record| record.end) != Some(frame.end) {
                        return Err(format!("the live log has a record at {} in place of {read}", frame.end));
                    }
                    read += 1;
                }
                Err(damage) if damage.what.contains("the power has failed") => return Ok(()),
                Err(damage) => return Err(format!("the live log: {damage}")),
                Ok(None) => break,
            }
        }
        match self.records.partition_point(|record| record.end <= durable) == read {
            true => Ok(()),
            false => Err(format!("the live log has {read} records, and is durable up to {durable}")),
        }
    }

    /// Ends the process in order, or kills it, or lets the power fail; then the power may fail once more while the log
    /// is opened.
    fn end(&mut self) -> Result<(), String> {
        let log = self.log.take();
        let end = self.random.u8(..8);
        if end == 0
            && let Some(log) = &log
            && log.close()
        {
            self.acknowledged = self.records.len();
        }
        // One of eight is killed and leaves what it has written in the memory of the operating system.
        if end != 1 {
            self.disk = self.disk.crash();
            *self.room_maker.disk.lock().expect("no panic under the latch") = self.disk.clone();
            self.crashes += 1;
        } else if self.disk.list("").is_err() {
            self.disk = self.disk.crash();
            *self.room_maker.disk.lock().expect("no panic under the latch") = self.disk.clone();
        } else {
            return Ok(());
        }
        let read = self.read().map_err(|failure| failure.to_string())?;
        let end = self.judge(&read)?;
        if self.random.bool() {
            self.disk.fail_power_at(self.random.u64(..12));
            // It may come to its end before.
            let _ = Log::open((self.wrap)(self.disk.clone()), &self.options, end);
            self.disk = self.disk.crash();
            *self.room_maker.disk.lock().expect("no panic under the latch") = self.disk.clone();
            let again = self.read().map_err(|failure| failure.to_string())?;
            if again != read {
                return Err(format!("a second crash leaves {} records of {}", again.0.len(), read.0.len()));
            }
        }
        Ok(())
    }
}

/// Tells a disk without power from damage.
fn failure_of(damage: Damage) -> Failure {
    if damage.what.contains("the power has failed") {
        return Failure::Disk { name: damage.file, error: std::io::Error::other(damage.what) };
    }
    Failure::Damage(damage)
}
