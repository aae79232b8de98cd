//! The redo sink of a simulated database: a log, and a ledger of which transaction has which place in it.

use hotrow_check::{History, Outcome, Recording};
use hotrow_log::writer::Log;
use hotrow_storage::{
    Change, End, Key, LogFailed, Position, RedoSink, Refusal, Row, RowLayout, RowRef, TableId, TableSchema, Value, mix,
};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::Abort;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The greatest pause of a transaction before it appends its record, in nanoseconds.
const LONGEST_PAUSE_NS: u64 = 100_000;

/// Keys of padding are below this.
const PADDING_KEYS: u64 = 6;

/// The lengths of padding. None stands for a deletion, or for a length with which the frame ends where a page ends.
const PADDING_BYTES: [Option<usize>; 6] = [None, Some(10), Some(900), Some(900), Some(5000), None];

/// The length of padding from which on all frames have the same number of bytes beside it.
const SHORT: usize = 128;

/// The bytes of a page of the log.
const PAGE: u64 = 4096;

/// The rows of padding: the length of each by its key.
pub type Padding = BTreeMap<i64, usize>;

/// The moment of the wait at which a transaction is told that its record is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledges {
    /// When the log says so.
    InTime,
    /// At once.
    Early,
}

/// The table that padding is written to.
pub struct PaddingTable {
    pub table: TableId,
    pub layout: Arc<RowLayout>,
}

/// A session, whose records the ledger recognises by its waiter.
struct Session {
    waiter: Waiter,
    name: String,
    /// Whether its commits wait until they are durable.
    is_sync: bool,
}

/// A log and what was appended to it. A transaction that appends pauses first, so that other transactions run while it
/// has its locks, and not only then if it has released them.
pub struct Ledger {
    log: Arc<Log>,
    acknowledges: Acknowledges,
    recording: Arc<Recording>,
    sessions: Mutex<Vec<Session>>,
    /// The ends of the records of transactions, by the session and the transaction's number in it.
    ends: Mutex<HashMap<(String, usize), u64>>,
    padding: Mutex<Vec<(u64, i64, Option<usize>)>>,
    /// The position from which on the log was opened.
    start: u64,
    /// The bytes that a frame of padding has beside the padding.
    overhead: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// The point of the history and of the log at which the power failed.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The number of transactions at the beginning of the history that earlier crashes have left.
    pub settled: usize,
    /// The number of transactions that had ended.
    pub ended: usize,
    /// The end of the log that was recovered.
    pub end: u64,
    /// Whether the log was closed before, so that nothing may be lost.
    pub closed: bool,
}

impl Ledger {
    pub fn new(log: Arc<Log>, recording: Arc<Recording>, acknowledges: Acknowledges) -> Arc<Self> {
        let (sessions, ends, padding) = Default::default();
        let (start, overhead) = (log.appended().0, AtomicU64::new(u64::MAX));
        Arc::new(Self { log, acknowledges, recording, sessions, ends, padding, start, overhead })
    }

    /// Adds a session. Its name differs from those of all sessions of the recording.
    pub fn add_session(&self, waiter: &Waiter, name: &str, is_sync: bool) {
        waiter.set_waits_for_log(is_sync);
        lock(&self.sessions).push(Session { waiter: waiter.clone(), name: name.to_owned(), is_sync });
    }

    /// Appends the record of a row that no transaction reads, or of its deletion.
    pub fn pad(&self, to: &PaddingTable, random: u64, waiter: &Waiter) {
        let key = (random % PADDING_KEYS) as i64;
        let length = PADDING_BYTES[(random / PADDING_KEYS) as usize % PADDING_BYTES.len()];
        let length = length.or_else(|| self.length_to_page_end());
        let row = length.map(|length| {
            let text = "x".repeat(length);
            Row::from_values(&to.layout, &[Value::Int8(key), Value::text(&text)])
        });
        let change = match &row {
            Some(row) => Change::Put { table: to.table, row: row.as_ref() },
            None => Change::Delete { table: to.table, key: Key::Int(key) },
        };
        let before = self.log.appended();
        let end = self.log.append(End::Next, &mut [change].into_iter(), waiter);
        if let Some(length) = length.filter(|length| *length >= SHORT) {
            self.overhead.fetch_min(end.0 - before.0 - length as u64, Ordering::AcqRel);
        }
        lock(&self.padding).push((end.0, key, length));
    }

    /// Returns the length of padding that makes the next frame end where a page of the log ends, if the frame is not
    /// too short. The first frame of this kind shows how many bytes a frame has beside its padding.
    fn length_to_page_end(&self) -> Option<usize> {
        let rest = PAGE - (self.log.appended().0 - self.start) % PAGE;
        let length = match self.overhead.load(Ordering::Acquire) {
            u64::MAX => SHORT as u64,
            overhead => rest.checked_sub(overhead)?,
        };
        Some(length as usize).filter(|length| *length >= SHORT)
    }

    /// Returns the padding after a crash, which was `settled` before this log was opened.
    pub fn padding(&self, settled: &Padding, end: u64) -> Padding {
        let mut padding = settled.clone();
        for &(_, key, length) in lock(&self.padding).iter().filter(|(at, ..)| *at <= end) {
            match length {
                Some(length) => padding.insert(key, length),
                None => padding.remove(&key),
            };
        }
        padding
    }

    /// Returns the history that a crash leaves: the transactions whose records are in the log up to its end, and those
    /// that changed nothing and were acknowledged. A transaction that was not told whether it is committed is committed
    /// if its record is there.
    ///
    /// # Errors
    /// If a transaction that was acknowledged is lost, or one that was aborted has a record.
    pub fn survivors(&self, history: &History, cut: Cut) -> Result<History, String> {
        let (ends, sessions) = (lock(&self.ends), lock(&self.sessions));
        let mut left = History { initial: history.initial.clone(), transactions: Vec::new() };
        left.transactions.extend_from_slice(&history.transactions[..cut.settled]);
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for (at, record) in history.transactions.iter().enumerate().skip(cut.settled) {
            let number = numbers.entry(&record.session).or_default();
            let end = ends.get(&(record.session.clone(), *number));
            *number += 1;
            let is_sync = sessions.iter().any(|session| session.name == record.session && session.is_sync);
            let is_told = record.is_committed() && is_sync && at < cut.ended;
            let describe = || format!("transaction {number} of session {}", record.session);
            match end {
                None if is_told => left.transactions.push(record.clone()),
                None => {}
                Some(end) if *end <= cut.end => {
                    let mut record = record.clone();
                    match record.outcome {
                        Outcome::Committed => {}
                        Outcome::Aborted(Abort::LogFailed) => {
                            // It took place at some moment after its last call.
                            record.ending = record.events.last().map_or(record.began, |event| event.at);
                            record.outcome = Outcome::Committed;
                        }
                        other => return Err(format!("{} has a record, though it ended as {other:?}", describe())),
                    }
                    left.transactions.push(record);
                }
                Some(end) if is_told || cut.closed => {
                    return Err(format!(
                        "{} was acknowledged at {end}, and is lost: the log ends at {}",
                        describe(),
                        cut.end
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(left)
    }
}

impl RedoSink for Ledger {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.log.created(table, schema);
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.log.loaded(table, row);
    }

    fn dropped(&self, table: TableId) {
        self.log.dropped(table);
    }

    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        let is_own = |session: &&Session| session.waiter.is(waiter);
        let session = lock(&self.sessions).iter().find(is_own).expect("a session's waiter").name.clone();
        let history = |session: &str| {
            let history = self.recording.history();
            history.transactions.iter().filter(|record| record.session == session).count()
        };
        let number = history(&session);
        waiter.pause(Duration::from_nanos(mix(waiter.now().0) % LONGEST_PAUSE_NS));
        let position = self.log.append(end, changes, waiter);
        lock(&self.ends).insert((session, number), position.0);
        position
    }

    fn appended(&self) -> Position {
        self.log.appended()
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        match self.acknowledges {
            Acknowledges::InTime => self.log.wait_durable(position, waiter),
            Acknowledges::Early => Ok(()),
        }
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.log.admits()
    }
}
