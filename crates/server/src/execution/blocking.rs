//! How a session waits for a lock under the models that block threads.

use crate::ServerConfig;
use crate::clients::ClientHandle;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Scheduler, Time};
use std::sync::Weak;
use std::time::Duration;

/// A scheduler that blocks a session's thread while the session waits for a lock. At an
/// [interval](ServerConfig::presence_interval) it checks that the client is still connected, and otherwise cancels the
/// statement.
pub struct BlockingScheduler {
    thread: ThreadScheduler,
    client: Weak<ClientHandle>,
    interval: Duration,
    /// The time at which the session next checks whether its client has left, as [`Time`]. Only the session's thread,
    /// which suspends, uses it.
    next_look: AtomicU64,
}

impl BlockingScheduler {
    /// Makes the scheduler of the session of `client`.
    pub fn new(config: &ServerConfig, client: &Arc<ClientHandle>) -> Self {
        Self {
            thread: ThreadScheduler::new(config.wait_spin),
            client: Arc::downgrade(client),
            interval: config.presence_interval,
            next_look: AtomicU64::new(0),
        }
    }
}

impl Scheduler for BlockingScheduler {
    fn now(&self) -> Time {
        self.thread.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        let look = Time(self.next_look.load(Ordering::Acquire));
        self.thread.suspend(Some(deadline.map_or(look, |deadline| deadline.min(look))));
        let now = self.now();
        if now >= look {
            self.next_look.store(now.after(self.interval).0, Ordering::Release);
            if let Some(client) = self.client.upgrade() {
                client.cancel_if_left();
            }
        }
    }

    fn resume(&self) {
        self.thread.resume();
    }

    fn spin(&self, deadline: Option<Time>, condition: &mut dyn FnMut() -> bool) -> bool {
        self.thread.spin(deadline, condition)
    }

    fn has_thread(&self) -> bool {
        true
    }
}
