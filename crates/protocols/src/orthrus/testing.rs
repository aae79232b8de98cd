//! A thread for tests, which does the duties of a worker before it sleeps, as a worker of the pool does.

use super::table::LockTable;
use super::worker::OrthrusWorker;
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};
use hotrow_txn::Duties;
use std::time::Duration;

/// A thread with a worker, which is the scheduler of its transactions. Before it parks, it does the duties that a
/// worker of the pool does when all of its transactions wait.
pub(super) struct Thread<T: LockTable> {
    parked: Arc<ThreadScheduler>,
    worker: Mutex<OrthrusWorker<T>>,
}

impl<T: LockTable> Thread<T> {
    /// Makes a thread with this worker, and the waiter of its transactions.
    pub(super) fn new(worker: OrthrusWorker<T>) -> (Arc<Self>, Waiter) {
        let parked = Arc::new(ThreadScheduler::new(Duration::ZERO));
        let thread = Arc::new(Self { parked, worker: Mutex::new(worker) });
        (thread.clone(), Waiter::new(thread))
    }

    /// Calls `work` with the worker.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut OrthrusWorker<T>) -> R) -> R {
        work(&mut self.worker.lock().expect("no thread panics"))
    }

    /// Returns the waiter through which the worker itself waits. The waiter does not refer to the worker.
    pub(super) fn parking(&self) -> Waiter {
        Waiter::new(self.parked.clone())
    }
}

impl<T: LockTable> Scheduler for Thread<T> {
    fn now(&self) -> Time {
        self.parked.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        if self.with(|worker| !worker.receive() && worker.doze()) {
            self.parked.suspend(deadline);
        }
        self.with(Duties::rouse);
    }

    fn resume(&self) {
        self.parked.resume();
    }
}
