//! A bounded queue between two threads: one pushes, the other pops.
//!
//! **Thread safety.** A [`Producer`] and a [`Consumer`] belong to one thread each at any time, which `&mut self`
//! ensures; they may move between threads. Neither ever waits: the caller deals with a full or an empty ring.
//!
//! **Invariants**
//!
//! 1. `head` and `tail` count the values popped and pushed, modulo 2^64. `head` is stored by the consumer only, `tail`
//!    by the producer only. 0 ≤ `tail − head` ≤ capacity.
//! 2. The slots from `head` up to `tail`, modulo the capacity, hold a value each and belong to the consumer. The other
//!    slots hold none and belong to the producer.
//!
//! **Why that is enough.** A value passes to the consumer when `tail` is stored with release, after the value was
//! written; the consumer loads it with acquire before it reads the value. A slot passes back when `head` is stored with
//! release, after the value was read; the producer loads it with acquire before it writes the slot again. Each side
//! keeps the last index of the other that it saw: an old one only makes the ring look fuller to the producer and
//! emptier to the consumer than it is. A side loads it anew only when it says that there is nothing to do. So the two
//! threads exchange a cache line once per burst and not once per value.

use crate::atomic::{AtomicUsize, Ordering};
use crate::cell::UnsafeCell;
use crate::{Arc, CachePadded};
use std::fmt;
use std::mem::MaybeUninit;

/// Makes a bounded queue from one thread to another, with room for `capacity` values, rounded up to a power of two.
/// Returns its two ends.
///
/// # Panics
///
/// If `capacity` is zero or does not fit into memory.
pub fn channel<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!(capacity > 0, "a ring holds at least one value");
    let capacity = capacity.checked_next_power_of_two().expect("a ring fits into memory");
    let slots = (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    let shared =
        Arc::new(Shared { head: CachePadded(AtomicUsize::new(0)), tail: CachePadded(AtomicUsize::new(0)), slots });
    let producer = Producer { shared: shared.clone(), tail: 0, seen_head: 0 };
    (producer, Consumer { shared, head: 0, seen_tail: 0 })
}

/// The end of a ring into which values are pushed.
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    tail: usize,
    seen_head: usize,
}

/// The end of a ring from which values are popped.
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    seen_tail: usize,
}

struct Shared<T> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a slot is used only by the side that invariant 2 gives it to, so the ring sends values and shares none.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Producer<T> {
    /// Appends a value to the ring.
    ///
    /// # Errors
    ///
    /// The value itself, if the ring is full.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), T> {
        let capacity = self.shared.slots.len();
        if self.tail.wrapping_sub(self.seen_head) == capacity {
            self.seen_head = self.shared.head.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.seen_head) == capacity {
                return Err(value);
            }
        }
        // SAFETY: tail − head is less than the capacity, so the slot at `tail` belongs to the producer and holds no
        // value.
        self.shared.slot(self.tail).with_mut(|slot| unsafe { (*slot).write(value) });
        self.tail = self.tail.wrapping_add(1);
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// Returns the number of values in the ring. The consumer may be taking some away.
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.shared.head.load(Ordering::Acquire))
    }

    /// Returns the number of values that were ever pushed, modulo 2^64.
    pub fn pushed(&self) -> usize {
        self.tail
    }

    /// Whether the consumer has taken every value that was pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the greatest number of values that the ring holds.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }
}

impl<T> Consumer<T> {
    /// Takes the oldest value from the ring, or returns `None` if the ring is empty.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        if self.head == self.seen_tail {
            self.seen_tail = self.shared.tail.load(Ordering::Acquire);
            if self.head == self.seen_tail {
                return None;
            }
        }
        // SAFETY: head < tail, so the slot at `head` belongs to the consumer and holds a value. It is moved out once:
        // `head` passes it below.
        let value = self.shared.slot(self.head).with_mut(|slot| unsafe { (*slot).assume_init_read() });
        self.head = self.head.wrapping_add(1);
        self.shared.head.store(self.head, Ordering::Release);
        Some(value)
    }

    /// Returns the number of values in the ring. The producer may be adding some.
    pub fn len(&self) -> usize {
        self.shared.tail.load(Ordering::Acquire).wrapping_sub(self.head)
    }

    /// Whether there is nothing to pop at the moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the greatest number of values that the ring holds.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }
}

impl<T> Shared<T> {
    #[inline]
    fn slot(&self, index: usize) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[index & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let (mut head, tail) = (self.head.load(Ordering::Acquire), self.tail.load(Ordering::Acquire));
        while head != tail {
            // SAFETY: the slots from `head` to `tail` hold a value each, and both ends are gone.
            self.slot(head).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            head = head.wrapping_add(1);
        }
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish()
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Backoff, thread};
    use std::collections::VecDeque;

    #[test]
    fn capacities_are_rounded_up() {
        for (asked, given) in [(1, 1), (2, 2), (3, 4), (5, 8), (64, 64), (65, 128)] {
            let (producer, consumer) = channel::<u8>(asked);
            assert_eq!((producer.capacity(), consumer.capacity()), (given, given), "asked for {asked}");
        }
    }

    #[test]
    fn a_ring_is_a_bounded_queue() {
        for capacity in [1, 2, 4, 16] {
            let (mut producer, mut consumer) = channel(capacity);
            let mut model = VecDeque::new();
            for step in 0..1000_usize {
                // Runs of pushes and of pops of all lengths, so that the ring becomes full and empty at all positions.
                if (step * step / 7) % 5 < 3 {
                    let pushed = producer.try_push(Box::new(step)).map_err(|value| *value);
                    assert_eq!(pushed, if model.len() < capacity { Ok(()) } else { Err(step) });
                    if pushed.is_ok() {
                        model.push_back(step);
                    }
                } else {
                    assert_eq!(consumer.try_pop().map(|value| *value), model.pop_front());
                }
                assert_eq!((producer.len(), consumer.len()), (model.len(), model.len()));
                assert_eq!((producer.is_empty(), consumer.is_empty()), (model.is_empty(), model.is_empty()));
            }
        }
    }

    #[test]
    fn what_is_left_is_dropped_with_the_ring() {
        let value = Arc::new(());
        let (mut producer, mut consumer) = channel(4);
        for _ in 0..3 {
            producer.try_push(value.clone()).expect("room");
            drop(consumer.try_pop());
        }
        for _ in 0..4 {
            producer.try_push(value.clone()).expect("room");
        }
        assert_eq!(Arc::strong_count(&value), 5);
        drop(producer);
        assert_eq!(Arc::strong_count(&value), 5, "the consumer may still pop");
        drop(consumer);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn values_arrive_once_and_in_order() {
        const VALUES: usize = 200_000;
        for capacity in [1, 2, 64] {
            let (mut producer, mut consumer) = channel(capacity);
            thread::scope(|scope| {
                scope.spawn(move || {
                    for value in 0..VALUES {
                        let mut value = Box::new(value);
                        let mut backoff = Backoff::new();
                        while let Err(refused) = producer.try_push(value) {
                            value = refused;
                            backoff.snooze();
                        }
                    }
                });
                for expected in 0..VALUES {
                    let mut backoff = Backoff::new();
                    let value = loop {
                        match consumer.try_pop() {
                            Some(value) => break value,
                            None => backoff.snooze(),
                        }
                    };
                    assert_eq!(*value, expected, "capacity {capacity}");
                }
                assert!(consumer.is_empty());
            });
        }
    }
}
