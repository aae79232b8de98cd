//! The threads that make checkpoints while the database runs.

use super::Checkpoints;
use crate::failure::Failure;
use crate::source::LiveSource;
use hotrow_sync::thread::JoinHandle;
use hotrow_sync::{Arc, Condvar, Mutex, MutexGuard};
use std::io;
use std::time::Duration;

/// The time between two looks at the length of the log.
const LOOK: Duration = Duration::from_millis(100);
/// The place in [`State::failures`] of the thread that makes checkpoints.
const ADVANCE: usize = 0;
/// The place in [`State::failures`] of the thread that merges.
const MERGE: usize = 1;

/// The number of looks after which a step that failed is tried again.
const LOOKS_AFTER_FAILURE: u32 = 50;

/// The two threads that make checkpoints while the database runs. One makes a checkpoint whenever the log has grown by
/// [`trigger_bytes`](super::Options::trigger_bytes), the other merges. Dropping the object ends the threads, even in
/// the middle of a step, since nothing is lost then.
#[derive(Debug)]
pub struct Checkpointer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stop: bool,
    /// Whether a checkpoint was asked for.
    asked: bool,
    /// Whether something was published that may have made a merge due.
    advanced: bool,
    /// Why the last step of each thread failed, or `None` if it did not.
    failures: [Option<String>; 2],
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Waits until `takes` finds something to do, but not longer than [`LOOK`]. Returns whether it has found something,
    /// or `None` if the thread is to end.
    fn wait(&self, takes: fn(&mut State) -> bool) -> Option<bool> {
        let mut state = self.state();
        let mut taken = takes(&mut state);
        if !state.stop && !taken {
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.map_or_else(|poison| poison.into_inner().0, |(state, _)| state);
            taken = takes(&mut state);
        }
        (!state.stop).then_some(taken)
    }

    /// Runs a step whenever `takes` or `is_due` returns true, until the thread is to end. A step that fails is repeated
    /// after [`LOOKS_AFTER_FAILURE`] looks, or as soon as `takes` returns true.
    fn work(
        &self,
        thread: usize,
        takes: fn(&mut State) -> bool,
        is_due: impl Fn() -> bool,
        step: impl Fn(&dyn Fn() -> bool) -> Result<(), Failure>,
    ) {
        let (mut pause, mut is_left) = (0_u32, false);
        while let Some(taken) = self.wait(takes) {
            is_left |= taken;
            // A request after a failure is tried at once, since the cause may have been mended.
            pause = if taken { 0 } else { pause.saturating_sub(1) };
            if pause > 0 || !(is_left || is_due()) {
                continue;
            }
            let done = step(&|| self.state().stop);
            is_left = done.is_err();
            pause = if is_left { LOOKS_AFTER_FAILURE } else { 0 };
            if !matches!(done, Err(Failure::Stopped)) {
                self.state().failures[thread] = done.err().map(|failure| failure.to_string());
            }
        }
    }
}

impl Checkpointer {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn start(checkpoints: Arc<Checkpoints>, log: Arc<dyn LiveSource>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut started = Self { shared: shared.clone(), threads: Vec::new() };
        let (own, of_merges) = (shared.clone(), checkpoints.clone());
        started.spawn("merge", move || {
            let takes = |state: &mut State| std::mem::take(&mut state.advanced);
            own.work(MERGE, takes, || false, |stop| of_merges.merge_all(stop));
        })?;
        started.spawn("checkpoint", move || {
            let takes = |state: &mut State| std::mem::take(&mut state.asked);
            let grown = || log.durable().saturating_sub(checkpoints.position());
            let is_due = || grown() >= checkpoints.options().trigger_bytes;
            shared.work(ADVANCE, takes, is_due, |stop| {
                let done = checkpoints.advance_all(&*log, stop);
                shared.state().advanced = true;
                shared.changed.notify_all();
                done
            });
        })?;
        // An earlier process may have left merges that are due.
        started.shared.state().advanced = true;
        Ok(started)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(hotrow_sync::thread::Builder::new().name(name.to_owned()).spawn(work)?);
        Ok(())
    }

    /// Asks for a checkpoint now, however short the log is, and whether or not the last one failed. Does not wait for
    /// it.
    pub fn ask(&self) {
        let mut state = self.shared.state();
        (state.asked, state.failures[ADVANCE]) = (true, None);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Returns why the last attempt to make a checkpoint failed, for people, or `None` if it did not. A call of
    /// [`ask`](Self::ask) forgets the failure.
    pub fn failure_to_advance(&self) -> Option<String> {
        self.shared.state().failures[ADVANCE].clone()
    }

    /// Returns why the last checkpoint or the last merge failed, for people, or `None` if neither failed.
    pub fn failure(&self) -> Option<String> {
        self.shared.state().failures.iter().flatten().next().cloned()
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}
