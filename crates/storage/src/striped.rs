//! Things that there are several of, so that threads rarely share one; and a sum that many threads add to.

use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_sync::{CachePadded, PlainAtomicU64};

/// How many there are of a thing that is spread over threads.
pub(crate) const STRIPES: usize = 16;

static THREADS: PlainAtomicU64 = PlainAtomicU64::new(0);

std::thread_local! {
    // Relaxed: a number of its own, which orders nothing.
    static STRIPE: usize = THREADS.fetch_add(1, Ordering::Relaxed) as usize % STRIPES;
}

/// The stripe of this thread.
#[inline]
pub(crate) fn stripe() -> usize {
    STRIPE.with(|stripe| *stripe)
}

/// A sum in stripes: a thread adds to its own.
#[derive(Debug)]
pub(crate) struct Striped(Box<[CachePadded<AtomicI64>; STRIPES]>);

impl Striped {
    /// Zero.
    pub fn new() -> Self {
        Self(Box::new(std::array::from_fn(|_| CachePadded(AtomicI64::new(0)))))
    }

    /// Adds to the stripe of this thread; what that is afterwards.
    #[inline]
    pub fn add(&self, delta: i64) -> i64 {
        // Relaxed: a figure, which orders nothing.
        self.0[stripe()].fetch_add(delta, Ordering::Relaxed).wrapping_add(delta)
    }

    /// The stripes, each as it was at some moment.
    pub fn stripes(&self) -> impl Iterator<Item = i64> {
        // Relaxed: a sum over stripes is out of date anyway.
        self.0.iter().map(|stripe| stripe.load(Ordering::Relaxed))
    }

    /// The sum, or what it was a moment ago; a decrement may be counted before the increment that it undoes.
    pub fn sum(&self) -> u64 {
        self.stripes().sum::<i64>().max(0) as u64
    }
}
