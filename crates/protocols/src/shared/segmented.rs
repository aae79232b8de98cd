//! A vector that grows without moving its values.

use hotrow_sync::OnceLock;

/// Values by position, in segments each twice as large as the one before. A segment is made when one of its values is
/// first asked for. Any thread may call any method at any time.
#[derive(Debug)]
pub(crate) struct Segmented<T, const FIRST: usize> {
    segments: Box<[OnceLock<Box<[T]>>]>,
}

impl<T: Default, const FIRST: usize> Segmented<T, FIRST> {
    /// Makes a vector with a value for each `u32`. No segment is allocated yet.
    pub(crate) fn new() -> Self {
        const { assert!(FIRST.is_power_of_two()) };
        Self { segments: (FIRST.ilog2()..=u32::BITS).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the value at a position, which is the default before its first use.
    #[inline]
    pub(crate) fn at(&self, position: u32) -> &T {
        let from_first = position as usize + FIRST;
        let segment = (from_first / FIRST).ilog2();
        let size = FIRST << segment;
        let make = || (0..size).map(|_| T::default()).collect();
        &self.segments[segment as usize].get_or_init(make)[from_first - size]
    }
}

impl<T: Default, const FIRST: usize> Default for Segmented<T, FIRST> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use hotrow_sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn each_position_has_its_own_value() {
        let values = Segmented::<AtomicU32, 4>::new();
        let positions = [0, 1, 3, 4, 5, 11, 12, 27, 28, 1000];
        for position in positions {
            assert_eq!(values.at(position).swap(position + 1, Ordering::AcqRel), 0, "{position}");
        }
        for position in positions {
            assert_eq!(values.at(position).load(Ordering::Acquire), position + 1);
        }
        assert_eq!(values.segments[1].get().map(|segment| segment.len()), Some(8));
        assert!(values.segments[5].get().is_none(), "nobody asked for it");
    }
}
