//! The threads of attendants: additional workers of an engine that do concurrency control for the transactions of
//! sessions, and run no transactions themselves.

use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::wait::LONGEST_SPIN;
use hotrow_sync::{Arc, Doorbell, Time, Waiter, thread};
use hotrow_txn::{Duties, Engine};
use std::fmt;

/// The threads of an engine's [attendants](Engine::attendants): workers that do concurrency control for the
/// transactions of sessions, and run none themselves. A program with sessions starts them once for each engine.
/// Dropping the value stops the threads, and waits until all of them have ended.
#[derive(Default)]
pub struct Attendants {
    threads: Vec<Attendant>,
}

struct Attendant {
    stop: Arc<AtomicBool>,
    doorbell: Arc<Doorbell>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Attendants {
    /// Starts a thread for each attendant of an engine, in order. If the system refuses a thread, this attendant and
    /// all later ones get none, and the threads of sessions do their work.
    pub fn start(engine: &dyn Engine) -> Self {
        let attendants = engine.attendants().into_iter().enumerate();
        Self { threads: attendants.map_while(|(number, duties)| Attendant::start(number, duties).ok()).collect() }
    }
}

impl Attendant {
    fn start(number: usize, duties: Box<dyn Duties>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let doorbell = Arc::new(Doorbell::new(Waiter::thread(std::time::Duration::ZERO)));
        let (stopped, bell) = (stop.clone(), doorbell.clone());
        let name = format!("attendant {number}");
        let thread = thread::Builder::new().name(name).spawn(move || attend(duties, &bell, &stopped))?;
        Ok(Self { stop, doorbell, thread: Some(thread) })
    }
}

impl Drop for Attendants {
    fn drop(&mut self) {
        for attendant in &self.threads {
            attendant.stop.store(true, Ordering::Release);
            attendant.doorbell.call();
        }
        for attendant in &mut self.threads {
            // An error says that the thread has panicked. The panic has dropped the duties, which have left.
            let _ = attendant.thread.take().map(thread::JoinHandle::join);
        }
    }
}

impl fmt::Debug for Attendants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attendants").field("threads", &self.threads.len()).finish()
    }
}

/// Does an attendant's duties until `stop` is set. If no message has come for [`LONGEST_SPIN`], the thread sleeps until
/// it is woken.
fn attend(mut duties: Box<dyn Duties>, doorbell: &Arc<Doorbell>, stop: &AtomicBool) {
    let waiter = Waiter::new(doorbell.clone());
    duties.settle(&waiter);
    let mut idle_since: Option<Time> = None;
    while !stop.load(Ordering::Acquire) {
        if duties.receive() {
            idle_since = None;
            continue;
        }
        let now = waiter.now();
        if now < idle_since.get_or_insert(now).after(LONGEST_SPIN) {
            // Another thread may need the core to send a message.
            thread::yield_now();
            continue;
        }
        if duties.doze() {
            doorbell.listen(None);
        }
        duties.rouse();
        idle_since = None;
    }
    duties.leave();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Duties that set the first flag when they settle, and the second flag when they leave.
    struct Flags(Arc<AtomicBool>, Arc<AtomicBool>);

    impl Duties for Flags {
        fn settle(&mut self, _waiter: &Waiter) {
            self.0.store(true, Ordering::Release);
        }

        fn leave(&mut self) {
            self.1.store(true, Ordering::Release);
        }
    }

    #[test]
    fn an_attendant_settles_and_leaves() {
        let flags = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let [settled, left] = flags.clone();
        let attendant = Attendant::start(0, Box::new(Flags(settled, left))).expect("the system has a thread");
        while !flags[0].load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert!(!flags[1].load(Ordering::Acquire));
        drop(Attendants { threads: vec![attendant] });
        assert!(flags[1].load(Ordering::Acquire));
    }
}
