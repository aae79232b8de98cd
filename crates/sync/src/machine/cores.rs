//! The cores of a timed run: each has a clock, and the thread on the core whose clock is furthest behind goes on.
//!
//! A thread that is ready has a core, or stands in a queue for one. The first thread, which starts the others and waits
//! for them, has a core of its own, which has the greatest number. So it takes no time from the other threads.
//!
//! Times are in picoseconds.

use super::access::Access;
use super::caches::Caches;
use super::hardware::{Hardware, picoseconds};
use super::places::{Place, Places};
use std::collections::{BTreeSet, VecDeque};
use std::panic::Location;
use std::time::Duration;

/// A core, and the thread on it.
#[derive(Clone, Copy, Debug, Default)]
struct Core {
    clock: u64,
    thread: Option<usize>,
    /// The time at which the core got its present thread.
    since: u64,
}

/// A thread of a timed run.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// The core on which the thread is, or was last.
    core: usize,
    /// The time that the thread has had on cores, without its present stay on one.
    used: u64,
    deadline: Option<u64>,
    /// Whether the thread is on a core or in the queue.
    is_ready: bool,
}

/// The costs of code, waits and switches, in picoseconds: see [`Hardware`].
#[derive(Clone, Copy, Debug)]
struct Times {
    block: u64,
    exchange: u64,
    spin: u64,
    r#yield: u64,
    wake: u64,
    woken: u64,
    switch: u64,
    slice: u64,
}

/// The cores of a timed run.
#[derive(Debug)]
pub(super) struct Cores {
    name: String,
    times: Times,
    store_share: f64,
    prefetch_share: f64,
    caches: Caches,
    places: Places,
    cores: Vec<Core>,
    threads: Vec<Own>,
    /// Threads that wait for a core, with the times at which they became ready.
    queue: VecDeque<(u64, usize)>,
    /// The deadlines of the threads that wait, with the threads; a thread that waits without a deadline has no entry.
    deadlines: BTreeSet<(u64, usize)>,
    /// The core whose thread runs.
    running: usize,
    /// The time up to which no other thread has anything to do.
    horizon: u64,
}

impl Cores {
    pub(super) fn new(hardware: &Hardware) -> Self {
        Self {
            name: hardware.name.clone(),
            times: Times {
                block: picoseconds(hardware.block_ns),
                exchange: picoseconds(hardware.exchange_ns),
                spin: picoseconds(hardware.threads.spin_ns),
                r#yield: picoseconds(hardware.threads.yield_ns),
                wake: picoseconds(hardware.threads.wake_ns),
                woken: picoseconds(hardware.threads.woken_ns),
                switch: picoseconds(hardware.threads.switch_ns),
                slice: picoseconds(hardware.threads.slice_ns),
            },
            store_share: hardware.lines.store_share,
            prefetch_share: hardware.lines.prefetch_share,
            caches: Caches::new(hardware),
            places: Places::default(),
            cores: vec![Core::default(); hardware.cores + 1],
            threads: Vec::new(),
            queue: VecDeque::new(),
            deadlines: BTreeSet::new(),
            running: hardware.cores,
            horizon: u64::MAX,
        }
    }

    /// Returns the name of the hardware.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the places at which threads have waited for lines.
    pub(super) fn places(&self) -> Vec<Place> {
        self.places.all()
    }

    /// Returns the number of cores, without the one of the first thread.
    pub(super) fn count(&self) -> usize {
        self.cores.len() - 1
    }

    fn clock(&mut self) -> &mut u64 {
        &mut self.cores[self.running].clock
    }

    /// Returns the time of the thread that runs.
    pub(super) fn now(&self) -> u64 {
        self.cores[self.running].clock
    }

    /// Returns the time that the thread that runs has had on cores.
    pub(super) fn used(&self) -> Duration {
        let core = self.cores[self.running];
        let before = core.thread.map_or(0, |thread| self.threads[thread].used);
        Duration::from_nanos((before + (core.clock - core.since)) / 1000)
    }

    /// Adds `blocks` basic blocks of work to the time of the thread that runs.
    pub(super) fn work(&mut self, blocks: u64) {
        *self.clock() += blocks * self.times.block;
    }

    /// Makes the thread that runs pay for a plain access to the line with this number.
    #[inline]
    pub(super) fn plain(&mut self, number: u32, writes: bool) {
        let (core, now) = (self.running, self.now());
        let cost = self.caches.access_line(core, number, writes, now);
        if cost > 0 {
            let waited = if writes { (cost as f64 * self.store_share) as u64 } else { cost };
            self.places.note(None, waited);
            *self.clock() += waited;
        }
    }

    /// Requests a line for the thread that runs. The thread waits for a share of the time only.
    pub(super) fn prefetch(&mut self, access: Access) {
        let (core, now) = (self.running, self.now());
        let cost = self.caches.access(core, access, now);
        *self.clock() += (cost as f64 * self.prefetch_share) as u64;
    }

    /// Makes the thread that runs pay for a step, with its access to an atomic if it makes one. Returns whether another
    /// thread may have to go on.
    pub(super) fn step(&mut self, access: Access, at: &'static Location<'static>) -> bool {
        let (core, now) = (self.running, self.now());
        let cost = self.caches.access(core, access, now);
        let waited = if let Access::Writes(_) = access { (cost as f64 * self.store_share) as u64 } else { cost };
        if waited > 0 {
            self.places.note(Some(at), waited);
        }
        let more = if let Access::Elsewhere | Access::Exchanges(_) = access { self.times.exchange } else { 0 };
        *self.clock() += waited + more;
        self.is_due()
    }

    fn is_due(&self) -> bool {
        let core = self.cores[self.running];
        core.clock > self.horizon || !self.queue.is_empty() && core.clock - core.since > self.times.slice
    }

    /// Makes the thread that runs pay for one turn of a spin loop, or for a yield. A yield gives the core to a thread
    /// that waits for one. Returns whether another thread may have to go on.
    pub(super) fn give_way(&mut self, yields: bool) -> bool {
        *self.clock() += if yields { self.times.r#yield } else { self.times.spin };
        yields && self.requeue() || self.is_due()
    }

    /// Adds a thread, and makes it ready.
    pub(super) fn add_thread(&mut self) {
        let thread = self.threads.len();
        self.threads.push(Own::default());
        let at = if thread == 0 { 0 } else { self.now() + self.times.woken };
        self.make_ready(thread, at);
    }

    /// Makes a waiting thread ready. The thread that runs pays for the wake.
    pub(super) fn wake(&mut self, thread: usize) {
        *self.clock() += self.times.wake;
        if self.threads[thread].is_ready {
            // Its deadline has passed before.
            return;
        }
        if let Some(deadline) = self.threads[thread].deadline.take() {
            self.deadlines.remove(&(deadline, thread));
        }
        let at = self.now() + self.times.woken;
        self.make_ready(thread, at);
    }

    fn make_ready(&mut self, thread: usize, at: u64) {
        let count = self.count();
        self.threads[thread].is_ready = true;
        let own = self.threads[thread].core;
        let is_free = |core: &usize| self.cores[*core].thread.is_none();
        let free = match thread {
            0 => Some(count),
            _ => Some(own).filter(is_free).or_else(|| (0..count).find(is_free)),
        };
        match free {
            Some(core) => {
                self.cores[core].clock = self.cores[core].clock.max(at);
                self.put(thread, core);
                self.horizon = self.horizon.min(self.cores[core].clock);
            }
            None => self.queue.push_back((at, thread)),
        }
    }

    fn put(&mut self, thread: usize, core: usize) {
        self.threads[thread].core = core;
        let core = &mut self.cores[core];
        (core.thread, core.since) = (Some(thread), core.clock);
    }

    /// Takes a core from its thread, and gives it to the thread that has waited for a core longest. Returns the thread
    /// that had it.
    fn release(&mut self, number: usize) -> Option<usize> {
        let core = &mut self.cores[number];
        let thread = core.thread.take()?;
        self.threads[thread].used += core.clock - core.since;
        if number < self.count()
            && let Some((at, next)) = self.queue.pop_front()
        {
            let core = &mut self.cores[number];
            core.clock = core.clock.max(at) + self.times.switch;
            self.put(next, number);
        }
        Some(thread)
    }

    /// Takes the core from the thread that runs, because the thread waits or has ended. At the deadline, if there is
    /// one, the thread becomes ready again.
    pub(super) fn stop(&mut self, deadline: Option<u64>) {
        let Some(thread) = self.release(self.running) else { return };
        self.threads[thread].is_ready = false;
        self.threads[thread].deadline = deadline;
        self.deadlines.extend(deadline.map(|deadline| (deadline, thread)));
    }

    /// Puts the thread that runs behind the threads that wait for a core. Returns false, without effect, if no thread
    /// waits for one.
    fn requeue(&mut self) -> bool {
        if self.queue.is_empty() || self.running == self.count() {
            return false;
        }
        let now = self.now();
        if let Some(thread) = self.release(self.running) {
            self.queue.push_back((now, thread));
        }
        true
    }

    /// Returns the thread that goes on: that of the core whose clock is furthest behind. Returns `None` if all threads
    /// wait for ever.
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.cores[self.running].thread.is_some() {
            let core = self.cores[self.running];
            if core.clock - core.since > self.times.slice {
                self.requeue();
            }
        }
        loop {
            let (mut first, mut second) = ((u64::MAX, None), u64::MAX);
            for (number, core) in self.cores.iter().enumerate() {
                if core.thread.is_some() {
                    if core.clock < first.0 {
                        second = first.0;
                        first = (core.clock, Some(number));
                    } else {
                        second = second.min(core.clock);
                    }
                }
            }
            if let Some(&(deadline, thread)) = self.deadlines.first() {
                if deadline <= first.0 {
                    self.deadlines.pop_first();
                    self.threads[thread].deadline = None;
                    self.make_ready(thread, deadline);
                    continue;
                }
                second = second.min(deadline);
            }
            self.running = first.1?;
            self.horizon = second;
            return self.cores[self.running].thread;
        }
    }
}
