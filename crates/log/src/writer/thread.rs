//! The threads of a log: one writes records, the other makes segments.

use super::{Durability, Flushed, Log};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::thread::{Builder, JoinHandle, yield_now};
use hotrow_sync::{Arc, Time};
use std::io;
use std::time::Duration;

/// The time between two attempts to write or to make a segment while the disk is full.
const RETRY_FULL: Duration = Duration::from_millis(200);

/// The time for which the flusher sleeps while a record is reserved and not complete, after it has given its core away
/// a few times.
const INCOMPLETE: Duration = Duration::from_micros(50);
/// The number of times that the flusher gives its core away before it sleeps.
const YIELDS: u32 = 20;

/// The threads of a log. Dropping the object makes all records durable, if that is possible, and ends the threads.
#[derive(Debug)]
pub struct LogThreads {
    log: Arc<Log>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl LogThreads {
    /// Starts the threads of a log.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn start(log: Arc<Log>) -> io::Result<Self> {
        let mut this = Self { log: log.clone(), stop: Arc::default(), threads: Vec::new() };
        log.bells.has_thread.store(true, Ordering::Release);
        let (flusher, maker) = ((log.clone(), this.stop.clone()), (log, this.stop.clone()));
        let flusher = Builder::new().name("hotrow-log".into()).spawn(move || write(&flusher.0, &flusher.1))?;
        this.threads.push(flusher);
        let maker = Builder::new().name("hotrow-segments".into()).spawn(move || make(&maker.0, &maker.1))?;
        this.threads.push(maker);
        Ok(this)
    }
}

impl Drop for LogThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.log.bells.flusher.call();
        self.log.bells.maker.call();
        for thread in self.threads.drain(..) {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
        self.log.bells.has_thread.store(false, Ordering::Release);
        self.log.close();
    }
}

/// Writes records until `stop` is set.
fn write(log: &Log, stop: &AtomicBool) {
    let bell = &log.bells.flusher;
    // The time at which records are written even if no transaction waits for them, and how often in a row the next
    // record was not complete.
    let (mut due, mut looks) = (Time::now(), 0);
    while !stop.load(Ordering::Acquire) {
        let now = Time::now();
        let waits = log.has_waiters();
        if !waits && !log.has_unwritten() {
            // SeqCst: before the look at what is reserved. A transaction reserves and then looks at the flag.
            log.bells.is_idle.store(true, Ordering::SeqCst);
            if !log.has_unwritten() {
                bell.listen(None);
                due = Time::now().after(log.interval);
            }
            // SeqCst: as above; nothing depends on when it is seen.
            log.bells.is_idle.store(false, Ordering::SeqCst);
            continue;
        }
        if !waits && now < due && !log.is_filling() {
            bell.listen(Some(due));
            continue;
        }
        match log.flush() {
            Flushed::Done => {
                due = now.after(log.interval);
                looks = 0;
            }
            Flushed::Nothing if looks < YIELDS => {
                looks += 1;
                yield_now();
            }
            Flushed::Nothing => bell.listen(Some(now.after(INCOMPLETE))),
            Flushed::Stuck => bell.listen(Some(now.after(RETRY_FULL))),
        }
    }
}

/// Makes segments until `stop` is set.
fn make(log: &Log, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        log.tend();
        let retry = log.condition.is_full().then(|| Time::now().after(RETRY_FULL));
        log.bells.maker.listen(retry);
    }
}

impl Log {
    /// Whether a transaction waits for records to be written.
    fn has_waiters(&self) -> bool {
        !self.for_room.is_empty() || (self.durability == Durability::Sync && !self.for_durability.is_empty())
    }

    /// Whether records are in the ring.
    fn has_unwritten(&self) -> bool {
        self.ring.reserved() > self.ring.released()
    }

    /// Whether the ring is so full that it is better to write now.
    fn is_filling(&self) -> bool {
        self.ring.reserved() - self.ring.released() > self.ring.capacity() as u64 / 4
    }
}
