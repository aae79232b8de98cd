//! The scale of figures: how long runs are, and how large tables are.

use std::time::Duration;

/// The extent of the measurements, and the number of cores on which they are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub size: Size,
    /// The number of cores of this machine.
    pub cores: u64,
}

/// The extent of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Runs that are long and many enough for smooth curves.
    Full,
    /// Runs and tables that are so small that all figures take less than ten minutes.
    Quick,
    /// Short runs on a simulated machine. Such a machine can have as many cores as the paper's, so that a thread on
    /// each core meets as many others as in the paper.
    Simulated,
    /// This number of transactions of each worker, on tables of a few rows: tests use it to see that everything works.
    Steps(u64),
}

impl Scale {
    /// Returns the value for this size: `full`, `quick`, or `steps` for tests. A simulation is as small as `quick`.
    pub(crate) fn pick<T>(&self, full: T, quick: T, steps: T) -> T {
        match self.size {
            Size::Full => full,
            Size::Quick | Size::Simulated => quick,
            Size::Steps(_) => steps,
        }
    }

    /// Returns `paper`, the paper's value, in a simulation, and otherwise `here`, the value for this machine.
    pub(crate) fn of_paper<T>(&self, paper: T, here: T) -> T {
        if self.size == Size::Simulated { paper } else { here }
    }

    /// Returns the number of runs of each point. In a simulation that is one, as further runs would be the same.
    pub(crate) fn repetitions(&self) -> u32 {
        self.of_paper(1, self.pick(5, 3, 1))
    }

    /// Returns the length of a run's measured period.
    pub(crate) fn measured(&self) -> Duration {
        if self.size == Size::Simulated {
            return Duration::from_millis(8);
        }
        self.pick(Duration::from_millis(1000), Duration::from_millis(100), Duration::from_secs(600))
    }

    /// Returns the length of a run's warm-up.
    pub(crate) fn warmup(&self) -> Duration {
        if self.size == Size::Simulated {
            return Duration::from_millis(3);
        }
        self.pick(Duration::from_millis(200), Duration::from_millis(20), Duration::ZERO)
    }

    /// Returns the number of transactions of each worker after which a run ends early, or `None` if runs end by time.
    pub(crate) fn steps(&self) -> Option<u64> {
        match self.size {
            Size::Steps(steps) => Some(steps),
            Size::Full | Size::Quick | Size::Simulated => None,
        }
    }

    /// Returns the number of threads for figures with many conflicts: four times the number of cores, so that
    /// transactions conflict as much as on a larger machine. In a simulation it is the number of cores, since the
    /// simulated machine is as large as it need be.
    pub(crate) fn crowd(&self) -> u64 {
        self.of_paper(self.cores, 4 * self.cores)
    }

    /// Returns the numbers of threads at which figures measure how engines scale: the powers of two below the number of
    /// cores, that number, and, on a real machine, two and four times as many.
    pub(crate) fn thread_counts(&self) -> Vec<u64> {
        let powers = std::iter::successors(Some(1), |threads| Some(threads * 2));
        let mut counts: Vec<u64> = powers.take_while(|&threads| threads < self.cores).collect();
        counts.push(self.cores);
        counts.extend(self.of_paper(&[][..], &[2 * self.cores, 4 * self.cores]));
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
        for (cores, expected) in [(1, &[1][..]), (6, &[1, 2, 4, 6])] {
            assert_eq!(Scale { size: Size::Simulated, cores }.thread_counts(), expected);
        }
    }
}
