//! Operators that count their rows and runs, for EXPLAIN ANALYZE.
//!
//! The operators of a plan are wrapped in [`Measured`] only for EXPLAIN ANALYZE, so that other plans have no overhead.

use super::node::Node;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use std::fmt;

/// An operator with counters of its rows and runs.
#[derive(Debug)]
pub struct Measured {
    /// The operator itself.
    pub node: Node,
    /// Whether the times are measured, too.
    pub timed: bool,
    /// The counts of the operator.
    pub counts: Counts,
}

/// The counters of an operator since the last [reset](Counts::reset). Only one session at a time runs the operator.
#[derive(Debug, Default)]
pub struct Counts {
    loops: AtomicU64,
    rows: AtomicU64,
    /// The times until the first row and in total, in nanoseconds, without the time that the consumer of the rows
    /// takes.
    first_ns: AtomicU64,
    total_ns: AtomicU64,
}

impl Counts {
    /// Adds one run of the operator.
    pub(crate) fn add(&self, rows: u64, first_ns: u64, total_ns: u64) {
        // Relaxed: the session that reads the counts is the one that wrote them.
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

    /// Returns the number of rows in all runs of the operator.
    pub(crate) fn rows(&self) -> u64 {
        Self::read(&self.rows)
    }

    /// Returns the average of a total per run, rounded.
    pub(crate) fn of_a_loop(&self, number: u64) -> u64 {
        let loops = Self::read(&self.loops).max(1);
        (number + loops / 2) / loops
    }

    /// Returns the averages that EXPLAIN shows, with times if `timed` is set.
    pub(crate) fn actual(&self, timed: bool) -> Actual {
        let loops = Self::read(&self.loops);
        let ms = |count: &AtomicU64| Self::read(count) as f64 / loops.max(1) as f64 / 1e6;
        let times_ms = timed.then(|| (ms(&self.first_ns), ms(&self.total_ns)));
        Actual { times_ms, rows: self.of_a_loop(self.rows()), loops }
    }
}

/// The work of an operator, averaged over its runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Actual {
    /// The times until the first row and in total, in milliseconds; `None` if the clock was not read.
    pub(crate) times_ms: Option<(f64, f64)>,
    pub(crate) rows: u64,
    pub(crate) loops: u64,
}

impl fmt::Display for Actual {
    /// Writes the part of the operator's line in EXPLAIN: ` (actual time=0.010..0.120 rows=3 loops=1)`.
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
    /// Wraps this operator and all operators below it in counters, which also measure times if `timed` is set.
    /// Operators that only pass rows on are not wrapped. Neither is an operator that stores rows for subqueries, since
    /// the executor recognises it by its variant.
    pub(crate) fn measure(&mut self, timed: bool) {
        self.each_input_mut(&mut |input| input.measure(timed));
        if !matches!(self, Node::Materialise(..) | Node::Project(..) | Node::With(..)) {
            let node = std::mem::replace(self, Node::One);
            *self = Node::Measured(Box::new(Measured { node, timed, counts: Counts::default() }));
        }
    }

    /// Returns this operator's counters. If the operator only passes rows on, returns those of its input. Returns
    /// `None` if neither is wrapped.
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
