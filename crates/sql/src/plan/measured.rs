//! Operators that count what they do, for EXPLAIN ANALYZE.
//!
//! A plan that is to be measured is another one from the beginning: its operators stand within [`Measured`] ones. All
//! other plans are what they were.

use super::node::Node;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use std::fmt;

/// An operator that counts.
#[derive(Debug)]
pub struct Measured {
    /// What it is.
    pub node: Node,
    /// Whether it reads the clock.
    pub timed: bool,
    /// What it has counted.
    pub counts: Counts,
}

/// What an operator has done since it was [reset](Counts::reset). One session at a time runs it.
#[derive(Debug, Default)]
pub struct Counts {
    loops: AtomicU64,
    rows: AtomicU64,
    /// Until the first row, and all in all, in nanoseconds; what is done with the rows does not count.
    first_ns: AtomicU64,
    total_ns: AtomicU64,
}

impl Counts {
    /// One more run.
    pub(crate) fn add(&self, rows: u64, first_ns: u64, total_ns: u64) {
        // Relaxed: who reads them is who wrote them.
        let add = |count: &AtomicU64, more| count.fetch_add(more, Ordering::Relaxed);
        add(&self.loops, 1);
        add(&self.rows, rows);
        add(&self.first_ns, first_ns);
        add(&self.total_ns, total_ns);
    }

    fn reset(&self) {
        for count in [&self.loops, &self.rows, &self.first_ns, &self.total_ns] {
            // Relaxed: as above.
            count.store(0, Ordering::Relaxed);
        }
    }

    fn read(count: &AtomicU64) -> u64 {
        // Relaxed: as above.
        count.load(Ordering::Relaxed)
    }

    /// All rows of all loops.
    pub(crate) fn rows(&self) -> u64 {
        Self::read(&self.rows)
    }

    /// A number for one loop, rounded.
    pub(crate) fn of_a_loop(&self, number: u64) -> u64 {
        let loops = Self::read(&self.loops).max(1);
        (number + loops / 2) / loops
    }

    /// What is told of it, with times if these were taken.
    pub(crate) fn actual(&self, timed: bool) -> Actual {
        let loops = Self::read(&self.loops);
        let ms = |count: &AtomicU64| Self::read(count) as f64 / loops.max(1) as f64 / 1e6;
        let times_ms = timed.then(|| (ms(&self.first_ns), ms(&self.total_ns)));
        Actual { times_ms, rows: self.of_a_loop(self.rows()), loops }
    }
}

/// What an operator has done, for one loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Actual {
    /// Until the first row, and all in all.
    pub(crate) times_ms: Option<(f64, f64)>,
    pub(crate) rows: u64,
    pub(crate) loops: u64,
}

impl fmt::Display for Actual {
    /// ` (actual time=0.010..0.120 rows=3 loops=1)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.loops == 0 {
            return f.write_str(" (never executed)");
        }
        f.write_str(" (actual ")?;
        if let Some((first, total)) = self.times_ms {
            write!(f, "time={first:.3}..{total:.3} ")?;
        }
        write!(f, "rows={} loops={})", self.rows, self.loops)
    }
}

impl Node {
    /// Has the operators of a plan count. What only hands rows on does not, and what is kept for subqueries is looked
    /// for by name.
    pub(crate) fn measure(&mut self, timed: bool) {
        self.each_input_mut(&mut |input| input.measure(timed));
        if !matches!(self, Node::Materialise(..) | Node::Project(..) | Node::With(..)) {
            let node = std::mem::replace(self, Node::One);
            *self = Node::Measured(Box::new(Measured { node, timed, counts: Counts::default() }));
        }
    }

    /// What it has counted, or what hands rows on to it.
    pub(crate) fn counts(&self) -> Option<&Measured> {
        match self {
            Node::Measured(measured) => Some(measured),
            Node::Materialise(input, _) | Node::Project(input, _) => input.counts(),
            _ => None,
        }
    }

    pub(super) fn reset_counts(&self) {
        if let Node::Measured(measured) = self {
            measured.counts.reset();
        }
        self.each_input(&mut |input| input.reset_counts());
    }
}
