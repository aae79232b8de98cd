//! Explores every interleaving, and every order of memory that the fences leave open, of a small model of reclamation:
#![cfg(loom)]

use hotrow_storage::{Collector, Garbage};
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::{Arc, thread};

struct Value(Arc<AtomicBool>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// A value is linked first, then replaced; a reader that finds the old value must not see it freed.
#[test]
fn a_reader_keeps_what_it_found() {
    model(3, || {
        let collector = Collector::new();
        let present = Arc::new(AtomicUsize::new(0));
        let freed = Arc::new(AtomicBool::new(false));
        let mut reader = collector.participant();
        let reading = {
            let (present, freed) = (present.clone(), freed.clone());
            thread::spawn(move || {
                reader.enter();
                // Relaxed: the weakest load that a look-up could make; the epoch alone must keep the value.
                if present.load(Ordering::Relaxed) == 0 {
                    assert!(!freed.load(Ordering::Acquire), "freed under a reader's eyes");
                }
                reader.leave();
                reader
            })
        };
        // Relaxed: as above.
        present.store(1, Ordering::Relaxed);
        collector.defer(Garbage::boxed(Box::new(Value(freed.clone()))));
        drop(reading.join().expect("no panic"));
        collector.collect();
        assert!(freed.load(Ordering::Acquire), "all have left");
    });
}

/// A value is linked first, then replaced, as above; a third thread scans while the old value is retired.
#[test]
fn a_scan_that_comes_early_frees_nothing_that_comes_late() {
    model(3, || {
        let collector = Collector::new();
        let present = Arc::new(AtomicUsize::new(0));
        let freed = Arc::new(AtomicBool::new(false));
        let mut reader = collector.participant();
        let reading = {
            let (present, freed) = (present.clone(), freed.clone());
            thread::spawn(move || {
                reader.enter();
                // Relaxed: as in the other model.
                if present.load(Ordering::Relaxed) == 0 {
                    assert!(!freed.load(Ordering::Acquire), "freed under a reader's eyes");
                }
                reader.leave();
                reader
            })
        };
        let collecting = {
            let collector = collector.clone();
            thread::spawn(move || collector.collect())
        };
        // Relaxed: as in the other model.
        present.store(1, Ordering::Relaxed);
        collector.defer(Garbage::boxed(Box::new(Value(freed))));
        collecting.join().expect("no panic");
        drop(reading.join().expect("no panic"));
    });
}
