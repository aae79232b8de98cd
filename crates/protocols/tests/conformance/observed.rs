//! A scheduler through which a test sees that a thread waits, and ends the wait.

use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Arc, Condvar, Mutex, Scheduler, Time, mpsc};

/// A scheduler that says when its thread waits, and whose clock stands still until it is moved.
pub struct Observed {
    now: AtomicU64,
    notified: Mutex<bool>,
    wakeup: Condvar,
    waits: Mutex<mpsc::Sender<Option<Time>>>,
    unwinds: AtomicBool,
}

impl Observed {
    /// The scheduler, and where it says that its thread waits, and until when.
    pub fn new(now: Time) -> (Arc<Self>, mpsc::Receiver<Option<Time>>) {
        let (sender, receiver) = mpsc::channel();
        let (notified, wakeup) = (Mutex::new(false), Condvar::new());
        let (now, waits, unwinds) = (AtomicU64::new(now.0), Mutex::new(sender), AtomicBool::new(false));
        (Arc::new(Self { now, notified, wakeup, waits, unwinds }), receiver)
    }

    /// Moves the clock, and lets a thread that waits look at it.
    pub fn move_to(&self, time: Time) {
        self.now.store(time.0, Ordering::Release);
        self.resume();
    }

    /// Has the thread that waits unwind, as a suspended coroutine does that is dropped.
    pub fn unwind(&self) {
        self.unwinds.store(true, Ordering::Release);
        self.resume();
    }
}

impl Scheduler for Observed {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    fn suspend(&self, deadline: Option<Time>) {
        let mut notified = self.notified.lock().expect("not poisoned");
        if !*notified {
            // Nobody may be listening any more.
            let _ = self.waits.lock().expect("not poisoned").send(deadline);
        }
        while !std::mem::take(&mut *notified) {
            notified = self.wakeup.wait(notified).expect("not poisoned");
        }
        drop(notified);
        if self.unwinds.load(Ordering::Acquire) {
            std::panic::resume_unwind(Box::new("dropped while it waited"));
        }
    }

    fn resume(&self) {
        *self.notified.lock().expect("not poisoned") = true;
        self.wakeup.notify_all();
    }
}
