//! How long and how large figures are measured.

use std::time::Duration;

/// How much is measured, on how many cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub size: Size,
    /// Cores of this machine.
    pub cores: u64,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// As much as it takes for smooth curves.
    Full,
    /// All figures within ten minutes.
    Quick,
    /// So many transactions of each worker, on tables of a few rows: for tests, which do not measure.
    Steps(u64),
}

impl Scale {
    /// The value for this size.
    pub(crate) fn pick<T>(&self, full: T, quick: T, steps: T) -> T {
        match self.size {
            Size::Full => full,
            Size::Quick => quick,
            Size::Steps(_) => steps,
        }
    }

    /// Runs of each point.
    pub(crate) fn repetitions(&self) -> u32 {
        self.pick(5, 3, 1)
    }

    /// Length of a run's measured period.
    pub(crate) fn measured(&self) -> Duration {
        self.pick(Duration::from_millis(1000), Duration::from_millis(100), Duration::from_secs(600))
    }

    /// What a run does before it is measured.
    pub(crate) fn warmup(&self) -> Duration {
        self.pick(Duration::from_millis(200), Duration::from_millis(20), Duration::ZERO)
    }

    /// Steps that end the measured period of a run before its time.
    pub(crate) fn steps(&self) -> Option<u64> {
        match self.size {
            Size::Steps(steps) => Some(steps),
            Size::Full | Size::Quick => None,
        }
    }

    /// More threads than cores: so many that transactions are as much in each other's way as on a larger machine.
    pub(crate) fn crowd(&self) -> u64 {
        4 * self.cores
    }

    /// Numbers of threads to scale over: powers of two up to the cores, the cores, and beyond them up to the crowd.
    pub(crate) fn thread_counts(&self) -> Vec<u64> {
        let powers = std::iter::successors(Some(1), |threads| Some(threads * 2));
        let mut counts: Vec<u64> = powers.take_while(|&threads| threads < self.cores).collect();
        counts.extend([self.cores, 2 * self.cores, self.crowd()]);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_go_up_to_the_cores_and_beyond() {
        for (cores, expected) in
            [(1, &[1, 2, 4][..]), (2, &[1, 2, 4, 8]), (6, &[1, 2, 4, 6, 12, 24]), (8, &[1, 2, 4, 8, 16, 32])]
        {
            assert_eq!(Scale { size: Size::Full, cores }.thread_counts(), expected);
        }
    }
}
