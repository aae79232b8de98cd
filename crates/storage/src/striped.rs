//! Stripes, which spread memory over threads so that they rarely share it; and a sum that many threads add to.

use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_sync::{CachePadded, thread_number};

/// The number of stripes.
pub(crate) const STRIPES: usize = 16;

/// Returns the number of this thread's stripe.
#[inline]
pub(crate) fn stripe() -> usize {
    thread_number() as usize % STRIPES
}

/// A sum that many threads add to: each thread adds to its own stripe, a part of the sum in a cache line of its own.
/// Several threads share a stripe if there are more threads than stripes.
#[derive(Debug)]
pub(crate) struct Striped(Box<[CachePadded<AtomicI64>; STRIPES]>);

impl Striped {
    /// Makes a sum that is zero.
    pub fn new() -> Self {
        Self(Box::new(std::array::from_fn(|_| CachePadded(AtomicI64::new(0)))))
    }

    /// Adds to the stripe of this thread. Returns the stripe's new value.
    #[inline]
    pub fn add(&self, delta: i64) -> i64 {
        // Relaxed: a figure, which orders nothing.
        self.0[stripe()].fetch_add(delta, Ordering::Relaxed).wrapping_add(delta)
    }

    /// Returns the values of all stripes. Each is a value that the stripe had at some moment.
    pub fn stripes(&self) -> impl Iterator<Item = i64> {
        // Relaxed: a sum over stripes is out of date anyway.
        self.0.iter().map(|stripe| stripe.load(Ordering::Relaxed))
    }

    /// Returns the sum, now or a moment ago. A decrement may be counted before the increment that it undoes; a sum
    /// below zero counts as zero.
    pub fn sum(&self) -> u64 {
        self.stripes().sum::<i64>().max(0) as u64
    }
}
