//! A lone transaction writes its record itself if it has a thread, and otherwise the flusher does.

use hotrow_log::disk::simulated::SimulatedDisk;
use hotrow_log::disk::{Disk, File};
use hotrow_log::writer::{Log, LogThreads, Options};
use hotrow_storage::{Change, End, Key, RedoSink, TableId};
use hotrow_sync::thread::{self, ThreadId};
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};
use std::io;
use std::time::Duration;

/// A disk that records which threads write durably.
#[derive(Debug)]
struct WatchedDisk {
    inner: Arc<SimulatedDisk>,
    writers: Writers,
}

type Writers = Arc<Mutex<Vec<ThreadId>>>;

impl WatchedDisk {
    fn watch(&self, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(WatchedFile { inner, writers: self.writers.clone() })
    }
}

impl Disk for WatchedDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.inner.create(name).map(|file| self.watch(file))
    }

    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>> {
        self.inner.open(name, writes).map(|file| self.watch(file))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.create_folder(folder)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.sync_folder(folder)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }
}

#[derive(Debug)]
struct WatchedFile {
    inner: Arc<dyn File>,
    writers: Writers,
}

impl File for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.writers.lock().expect("no panic under the latch").push(thread::current().id());
        self.inner.write_durably_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

/// A scheduler that blocks its thread, and says that other transactions could use it.
struct Shared(ThreadScheduler);

impl Scheduler for Shared {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.0.suspend(deadline);
    }

    fn resume(&self) {
        self.0.resume();
    }
}

/// Returns how many of a hundred commits, one after another, their own thread has written.
fn written_by_itself(waiter: &Waiter) -> usize {
    let writers = Writers::default();
    let disk = Arc::new(WatchedDisk { inner: SimulatedDisk::new(1), writers: writers.clone() });
    let log = Log::open(disk, &Options { segment_bytes: 64 << 10, ..Options::default() }, 0).expect("room");
    let threads = LogThreads::start(log.clone()).expect("two threads");
    writers.lock().expect("no panic under the latch").clear();
    for number in 0..100_u8 {
        let change = Change::Delete { table: TableId(0), key: Key::from_bytes(&[number; 8]) };
        let position = log.append(End::Next, &mut [change].into_iter(), waiter);
        log.wait_durable(position, waiter).expect("the disk works");
    }
    let own = thread::current().id();
    let written = writers.lock().expect("no panic under the latch").iter().filter(|&&writer| writer == own).count();
    drop(threads);
    written
}

#[test]
fn a_transaction_that_waits_alone_with_a_thread_of_its_own_writes_its_record_itself() {
    let waiter = Waiter::thread(Duration::ZERO);
    // The flusher may write some of them: it looks once when it starts.
    assert!(written_by_itself(&waiter) >= 50);
    assert!(waiter.waited_ns() >= 50, "the writes count as waits");
}

#[test]
fn a_transaction_whose_thread_others_could_use_leaves_its_record_to_the_flusher() {
    assert_eq!(written_by_itself(&Waiter::new(Arc::new(Shared(ThreadScheduler::new(Duration::ZERO))))), 0);
}
