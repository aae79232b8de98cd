//! How a request waits under request-to-thread: its thread blocks, for a lock as for the client.

use super::pool::RequestPool;
use crate::execution::blocking::BlockingScheduler;
use crate::execution::worker::SLICE;
use crate::socket::SocketWaiter;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Scheduler, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

/// The scheduler of a connection whose requests run in a pool. It blocks the thread of a request while the request
/// waits, for a lock or for the socket, and lets the pool run another request meanwhile.
pub struct PoolScheduler {
    pool: Arc<RequestPool>,
    blocking: BlockingScheduler,
    /// The time at which the session last let another request run, as [`Time`]. Only the session's thread uses it.
    yielded: AtomicU64,
}

impl PoolScheduler {
    /// Makes the scheduler of a session whose requests run in `pool` and wait for locks through `blocking`.
    pub fn new(pool: Arc<RequestPool>, blocking: BlockingScheduler) -> Self {
        Self { pool, blocking, yielded: AtomicU64::new(0) }
    }
}

impl SocketWaiter for PoolScheduler {
    fn wait_for_socket(&self, socket: &Socket, events: PollFlags, deadline: Option<Time>) {
        self.pool.block(|| {
            let mut sockets = [PollFd::new(socket, events)];
            // A limit beyond the system's range counts as none. The caller meets an error at its next try.
            let limit = deadline.and_then(|deadline| Timespec::try_from(deadline.since(Time::now())).ok());
            let _ = poll(&mut sockets, limit.as_ref());
        });
    }
}

impl Scheduler for PoolScheduler {
    fn now(&self) -> Time {
        self.blocking.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.pool.block(|| self.blocking.suspend(deadline));
    }

    /// Lets another request run from time to time. This thread goes on, too; the system lets both take turns.
    fn yield_now(&self) {
        let now = self.now();
        if now.since(Time(self.yielded.load(Ordering::Acquire))) >= SLICE {
            self.yielded.store(now.0, Ordering::Release);
            self.pool.let_another_run();
        }
    }

    fn resume(&self) {
        self.blocking.resume();
    }

    fn spin(&self, deadline: Option<Time>, condition: &mut dyn FnMut() -> bool) -> bool {
        self.blocking.spin(deadline, condition)
    }
}
