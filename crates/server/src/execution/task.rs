//! A connection as its worker's wakers see it: how its coroutine waits, for a lock or for its socket.

use super::worker::Message;
use crate::socket::SocketWaiter;
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::coroutine::Suspender;
use hotrow_sync::{Arc, Inbox, Mutex, MutexGuard, Scheduler, Time};
use rustix::event::PollFlags;
use socket2::Socket;
use std::time::Duration;

/// A coroutine that has run for so long lets its worker's other connections run. About what a short statement takes: then a long statement
/// and its neighbours go by turns, and to look for them costs a hundredth of the time.
pub(super) const SLICE: Duration = Duration::from_micros(100);

/// How the coroutine of one connection waits. The connection has a coroutine only while its messages are being answered, each
/// time another one.
///
/// **Thread safety.** Anybody may [`resume`](Scheduler::resume); whoever reads for another worker may say that the client has left, and look
/// at the [`wait`](Self::wait); everything else is for the worker's thread, and the waits for code that runs in the coroutine.
///
/// No wake is lost: `resume` says `woken` first and then sends its message. A coroutine that has not seen `woken` when it
/// suspends itself is suspended when its worker takes the message, since both are on one thread.
pub struct Task {
    at: Mutex<At>,
    woken: AtomicBool,
    /// The client has closed its end.
    left: AtomicBool,
    /// Since when its coroutine runs, as [`Time`], once it has asked; 0 before. Only the coroutine and its worker use it.
    runs_since: AtomicU64,
    now: Mutex<Now>,
}

/// Where its wakers find it.
struct At {
    /// The connection's number at its worker.
    number: usize,
    inbox: Arc<Inbox<Message>>,
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
    /// Whether it could go on, and only lets others run.
    pub yields: bool,
    /// Until when it waits.
    pub deadline: Option<Time>,
}

impl Task {
    /// Of the connection with this number at the worker who has this inbox.
    pub fn new(number: usize, inbox: Arc<Inbox<Message>>) -> Self {
        let (woken, left) = (AtomicBool::new(false), AtomicBool::new(false));
        let at = Mutex::new(At { number, inbox });
        Self { at, woken, left, runs_since: AtomicU64::new(0), now: Mutex::new(Now::default()) }
    }

    /// The connection, which has no coroutine now, has another worker and another number.
    pub fn move_to(&self, number: usize, inbox: Arc<Inbox<Message>>) {
        *self.at.lock().unwrap_or_else(|poison| poison.into_inner()) = At { number, inbox };
    }

    /// The connection's coroutine begins, or, without a suspender, has ended.
    pub fn set_suspender(&self, suspender: Option<Arc<Suspender>>) {
        self.runs_since.store(0, Ordering::Release);
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
        self.runs_since.store(0, Ordering::Release);
        self.now().wait = None;
        self.woken.swap(false, Ordering::AcqRel);
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl SocketWaiter for Task {
    /// Suspends the coroutine until something happens to its socket, the deadline passes, or it is woken.
    fn wait_for_socket(&self, _: &Socket, _: PollFlags, deadline: Option<Time>) {
        self.suspend_for(Wait { for_socket: true, yields: false, deadline });
    }
}

impl Scheduler for Task {
    fn now(&self) -> Time {
        Time::now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.suspend_for(Wait { for_socket: false, yields: false, deadline });
    }

    fn yield_now(&self) {
        let now = Time::now();
        match self.runs_since.load(Ordering::Acquire) {
            // A short statement ends before it asks the second time.
            0 => self.runs_since.store(now.0, Ordering::Release),
            since if now.since(Time(since)) < SLICE => {}
            _ => self.suspend_for(Wait { for_socket: false, yields: true, deadline: None }),
        }
    }

    fn resume(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            let at = self.at.lock().unwrap_or_else(|poison| poison.into_inner());
            at.inbox.send(Message::Wake(at.number));
        }
    }
}
