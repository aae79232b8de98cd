//! Random numbers that are the same on every machine and with every version of every crate.

use hotrow_storage::mix;

/// A small generator of pseudo-random numbers (SplitMix64 with another finaliser). The same seed gives the same numbers
/// on every machine and in every version, so that a failure that a seed has shown can be reproduced. It is not for
/// secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Makes a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed ^ 0x6A09_E667_F3BC_C909) }
    }

    /// Draws the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Draws a number below `bound`, nearly uniformly. Returns zero if `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a position in a list of `len` elements, which must not be zero.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns `true` with a probability of `percent` per cent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws an element of a list.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_every_value() {
        let mut random = Random::new(7);
        let mut again = Random::new(7);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            let value = random.below(10);
            assert_eq!(value, again.below(10));
            seen[value as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (50..200).contains(&count)), "{seen:?}");
        assert_eq!(Random::new(1).below(0), 0);
    }
}
