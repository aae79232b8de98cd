//! The distance between two cores, in nanoseconds.

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Time, hint, thread};
use std::time::Duration;

/// Measures the time in which a cache line is transferred from one core to another and back, in nanoseconds.
/// Transactions that share data pay this price. Returns `None` if no second core answers within 20 ms.
///
/// A virtual machine may move its cores, so that the result changes between two runs.
pub(crate) fn core_distance_ns() -> Option<f64> {
    const BATCHES: usize = 9;
    const TRIPS: u64 = 200;
    const END: u64 = u64::MAX;
    let line = AtomicU64::new(0);
    let deadline = Time::now().after(Duration::from_millis(20));
    thread::scope(|scope| {
        scope.spawn(|| {
            // An odd number is a question; the number after it is its answer.
            loop {
                match line.load(Ordering::Acquire) {
                    END => return,
                    question if question % 2 == 1 => {
                        // The asking thread may have given up meanwhile: its END must not be overwritten.
                        let _ = line.compare_exchange(question, question + 1, Ordering::AcqRel, Ordering::Acquire);
                    }
                    _ => hint::spin_loop(),
                }
            }
        });
        let mut question = 1;
        let mut batch = || {
            let begin = Time::now();
            for _ in 0..TRIPS {
                line.store(question, Ordering::Release);
                let mut looks = 0_u32;
                while line.load(Ordering::Acquire) == question {
                    looks += 1;
                    if looks.is_multiple_of(4096) && Time::now() > deadline {
                        return None;
                    }
                    hint::spin_loop();
                }
                question += 2;
            }
            Some(Time::now().since(begin).as_nanos() as f64 / TRIPS as f64)
        };
        let trips: Option<Vec<f64>> = (0..BATCHES).map(|_| batch()).collect();
        line.store(END, Ordering::Release);
        let mut trips = trips?;
        trips.sort_by(f64::total_cmp);
        Some(trips[BATCHES / 2])
    })
}
