//! How the coroutine of a connection waits, and how other threads wake it.

use crate::clients::IdleWaker;
use crate::execution::worker::SLICE;
use crate::socket::SocketWaiter;
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::coroutine::Suspender;
use hotrow_sync::{Arc, Mutex, MutexGuard, Scheduler, Time};
use rustix::event::PollFlags;
use socket2::Socket;

/// The scheduler of one connection: it suspends the connection's coroutine, and makes the worker resume it. It lasts as
/// long as the connection. The connection has a coroutine only while its messages are answered, and a new one each
/// time.
///
/// **Thread safety.** Any thread may call [`resume`](Scheduler::resume). An I/O worker may also call
/// [`note_left`](Self::note_left), [`wait`](Self::wait) and, while there is no coroutine, [`move_to`](Self::move_to).
/// All other methods are for the thread of the worker that runs the coroutine. The methods that wait are called within
/// the coroutine.
///
/// No wake is lost: `resume` sets `woken` first and then sends its message. A coroutine that has not seen `woken` when
/// it suspends itself is suspended by the time its worker takes the message, since both run on one thread.
pub struct CoroutineScheduler {
    address: Mutex<WakeAddress>,
    woken: AtomicBool,
    /// Whether the client has closed its end.
    left: AtomicBool,
    /// The time of the coroutine's first [`yield_now`](Scheduler::yield_now) since it was started or resumed, as
    /// [`Time`]; 0 before. Only the coroutine and its worker use it.
    runs_since: AtomicU64,
    current: Mutex<Current>,
}

/// A worker's inbox, as a [`CoroutineScheduler`] uses it: to make the worker resume a coroutine, or check an idle
/// connection.
pub trait Wake: Send + Sync {
    /// Makes the worker resume the coroutine of the connection with this number. If the coroutine is not suspended, the
    /// call has no effect.
    fn wake(&self, number: usize);

    /// Makes the worker check the connection with this number, if it is idle, because there may be something to send.
    fn wake_idle(&self, number: usize);
}

/// The address to which other threads send wakes.
struct WakeAddress {
    /// The connection's number at its worker.
    number: usize,
    worker: Arc<dyn Wake>,
}

/// The state of the connection's coroutine.
#[derive(Default)]
struct Current {
    /// Suspends the coroutine, while there is one.
    suspender: Option<Arc<Suspender>>,
    /// The wait for which the coroutine is suspended.
    wait: Option<Wait>,
}

/// The wait of a suspended coroutine: for an event, or until a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The event that ends the wait.
    pub event: WaitEvent,
    /// The time at which the coroutine is resumed even without the event, if there is one.
    pub deadline: Option<Time>,
}

/// The event that ends the wait of a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// A call of [`resume`](Scheduler::resume), such as when a lock is granted.
    Wake,
    /// A call of [`resume`](Scheduler::resume), or an event at the connection's socket.
    Socket,
    /// The coroutine's next turn: it can continue, and was suspended only to let other connections run.
    Turn,
}

impl CoroutineScheduler {
    /// Makes the scheduler of the connection that has the number `number` at `worker`.
    pub fn new(number: usize, worker: Arc<dyn Wake>) -> Self {
        Self {
            address: Mutex::new(WakeAddress { number, worker }),
            woken: AtomicBool::new(false),
            left: AtomicBool::new(false),
            runs_since: AtomicU64::new(0),
            current: Mutex::new(Current::default()),
        }
    }

    /// Changes the worker that is to be woken, and the connection's number there, when the connection moves. The
    /// connection must have no coroutine.
    pub fn move_to(&self, number: usize, worker: Arc<dyn Wake>) {
        *self.address() = WakeAddress { number, worker };
    }

    /// Sets the suspender when a coroutine of the connection begins, or `None` when the coroutine has ended.
    pub fn set_suspender(&self, suspender: Option<Arc<Suspender>>) {
        self.runs_since.store(0, Ordering::Release);
        *self.current() = Current { suspender, wait: None };
    }

    /// Returns the present wait of the coroutine, or `None` if it is not suspended.
    pub fn wait(&self) -> Option<Wait> {
        self.current().wait
    }

    /// Records that the client has closed its side of the connection. An I/O worker calls it, since the worker that
    /// runs the coroutine does not see the socket.
    pub fn note_left(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Whether [`note_left`](Self::note_left) was called.
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    fn suspend_for(&self, wait: Wait) {
        if self.woken.swap(false, Ordering::AcqRel) {
            return;
        }
        let suspender = {
            let mut current = self.current();
            current.wait = Some(wait);
            current.suspender.clone()
        };
        suspender.expect("only the connection's coroutine waits").suspend();
        self.runs_since.store(0, Ordering::Release);
        self.current().wait = None;
        self.woken.swap(false, Ordering::AcqRel);
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn address(&self) -> MutexGuard<'_, WakeAddress> {
        self.address.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl IdleWaker for CoroutineScheduler {
    /// Wakes the idle connection at its worker. If the connection is moving to another worker, the message may be lost,
    /// but the other worker checks the connection when it gets it.
    fn wake_idle(&self) {
        let address = self.address();
        address.worker.wake_idle(address.number);
    }
}

impl SocketWaiter for CoroutineScheduler {
    /// Suspends the coroutine until something happens to its socket, the deadline passes, or it is woken.
    fn wait_for_socket(&self, _: &Socket, _: PollFlags, deadline: Option<Time>) {
        self.suspend_for(Wait { event: WaitEvent::Socket, deadline });
    }
}

impl Scheduler for CoroutineScheduler {
    fn now(&self) -> Time {
        Time::now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.suspend_for(Wait { event: WaitEvent::Wake, deadline });
    }

    fn yield_now(&self) {
        let now = Time::now();
        match self.runs_since.load(Ordering::Acquire) {
            // A short statement ends before it asks a second time.
            0 => self.runs_since.store(now.0, Ordering::Release),
            since if now.since(Time(since)) < SLICE => {}
            _ => self.suspend_for(Wait { event: WaitEvent::Turn, deadline: None }),
        }
    }

    fn resume(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            let address = self.address();
            address.worker.wake(address.number);
        }
    }
}
