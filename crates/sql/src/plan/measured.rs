//! Operators that count what they do, for EXPLAIN ANALYZE.
//!
//! A plan is measured only if it was made for that: its operators are wrapped in [`Measured`]. Other plans pay nothing.

use super::node::Node;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use std::fmt;

/// An operator that counts.
#[derive(Debug)]
pub struct Measured {
    /// The operator itself.
    pub node: Node,
    /// Whether it reads the clock.
    pub timed: bool,
    /// The counts of the operator.
    pub counts: Counts,
}

/// The work of an operator since the last [reset](Counts::reset). Only one session at a time runs the operator.
#[derive(Debug, Default)]
pub struct Counts {
    loops: AtomicU64,
    rows: AtomicU64,
    /// The times until the first row and in total, in nanoseconds, without the time that the consumer takes for the
    /// rows.
    first_ns: AtomicU64,
    total_ns: AtomicU64,
}

impl Counts {
    /// Adds one run of the operator.
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

    /// The number of rows of all loops.
    pub(crate) fn rows(&self) -> u64 {
        Self::read(&self.rows)
    }

    /// Divides a total by the number of loops, rounded.
    pub(crate) fn of_a_loop(&self, number: u64) -> u64 {
        let loops = Self::read(&self.loops).max(1);
        (number + loops / 2) / loops
    }

    /// The averages that EXPLAIN shows, with times if the clock was read.
    pub(crate) fn actual(&self, timed: bool) -> Actual {
        let loops = Self::read(&self.loops);
        let ms = |count: &AtomicU64| Self::read(count) as f64 / loops.max(1) as f64 / 1e6;
        let times_ms = timed.then(|| (ms(&self.first_ns), ms(&self.total_ns)));
        Actual { times_ms, rows: self.of_a_loop(self.rows()), loops }
    }
}

/// The work of an operator, averaged over its loops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Actual {
    /// The times until the first row and in total, in milliseconds.
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
    /// Makes the operators of the plan count. An operator that only hands rows on does not count. Neither does an
    /// operator that keeps rows for subqueries, since the executor finds it by its variant.
    pub(crate) fn measure(&mut self, timed: bool) {
        self.each_input_mut(&mut |input| input.measure(timed));
        if !matches!(self, Node::Materialise(..) | Node::Project(..) | Node::With(..)) {
            let node = std::mem::replace(self, Node::One);
            *self = Node::Measured(Box::new(Measured { node, timed, counts: Counts::default() }));
        }
    }

    /// The operator that counts the rows of this one: the operator itself, or its input if it only hands rows on.
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
