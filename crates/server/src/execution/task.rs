//! A connection as its worker's wakers see it: how its coroutine waits, for a lock or for its socket.

use super::worker::Message;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::coroutine::Suspender;
use hotrow_sync::{Arc, Inbox, Mutex, MutexGuard, Scheduler, Time};

/// How the coroutine of one connection waits. The connection has a coroutine only while its messages are being answered, each
/// time another one.
///
/// **Thread safety.** Anybody may [`resume`](Scheduler::resume); whoever reads for another worker may say that the client has left, and look
/// at the [`wait`](Self::wait); everything else is for the worker's thread, and the waits for code that runs in the coroutine.
///
/// No wake is lost: `resume` says `woken` first and then sends its message. A coroutine that has not seen `woken` when it
/// suspends itself is suspended when its worker takes the message, since both are on one thread.
pub struct Task {
    /// The connection's number at its worker.
    number: usize,
    inbox: Arc<Inbox<Message>>,
    woken: AtomicBool,
    /// The client has closed its end.
    left: AtomicBool,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    /// The coroutine's that runs or is suspended.
    suspender: Option<Arc<Suspender>>,
    /// What it is suspended for.
    wait: Option<Wait>,
}

/// What a suspended coroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Whether its socket can end the wait.
    pub for_socket: bool,
    /// Until when it waits.
    pub deadline: Option<Time>,
}

impl Task {
    /// Of the connection with this number at the worker who has this inbox.
    pub fn new(number: usize, inbox: Arc<Inbox<Message>>) -> Self {
        let (woken, left) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { number, inbox, woken, left, now: Mutex::new(Now::default()) }
    }

    /// The connection's coroutine begins, or, without a suspender, has ended.
    pub fn set_suspender(&self, suspender: Option<Arc<Suspender>>) {
        *self.now() = Now { suspender, wait: None };
    }

    /// What the coroutine waits for, which has suspended itself.
    pub fn wait(&self) -> Option<Wait> {
        self.now().wait
    }

    /// Says, for whoever reads, that the client has closed its end.
    pub fn say_left(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Whether that was said.
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    /// Suspends the coroutine until something happens to its socket, the deadline passes, or it is woken.
    pub fn wait_for_socket(&self, deadline: Option<Time>) {
        self.suspend_for(Wait { for_socket: true, deadline });
    }

    fn suspend_for(&self, wait: Wait) {
        if self.woken.swap(false, Ordering::AcqRel) {
            return;
        }
        let suspender = {
            let mut now = self.now();
            now.wait = Some(wait);
            now.suspender.clone()
        };
        suspender.expect("only the connection's coroutine waits").suspend();
        self.now().wait = None;
        self.woken.swap(false, Ordering::AcqRel);
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Scheduler for Task {
    fn now(&self) -> Time {
        Time::now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.suspend_for(Wait { for_socket: false, deadline });
    }

    fn resume(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.inbox.send(Message::Wake(self.number));
        }
    }
}
