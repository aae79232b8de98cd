//! The decision which virtual thread takes the next step.

use super::access::{Access, Lines};
use super::schedule::Schedule;

/// One in this number of choices may let a deadline pass early.
const EARLY: u64 = 4;

/// A rule that chooses the thread that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Before each step, with this probability, another thread goes on: any of the threads that can, each with the same
    /// probability.
    Random {
        /// The probability, in 1024ths. Zero counts as 1, and anything above 1023 as 1023.
        switch_per_1024: u32,
    },
    /// Each thread has a random priority, and the thread with the highest priority goes on as long as it can. At
    /// `changes` random steps out of the first `steps` with more than one thread, the thread that would go on gets the
    /// least priority, as does a thread that spins or yields. A bug that needs *d* steps in a certain order is found
    /// with a probability of at least 1 / (threads × steps^(d − 1)), if `changes` is d − 1 (*A Randomized Scheduler
    /// with Probabilistic Guarantees of Finding Bugs*, section 3).
    Priorities {
        /// The number of steps at which a priority changes.
        changes: u32,
        /// An estimate of the number of steps of the run that count.
        steps: u64,
        /// The steps before which a priority may change; only these are counted.
        at: Changes,
    },
    /// Repeats the switches of another run, as far as the threads reach the same steps.
    Replay(Schedule),
}

/// The steps before which priorities may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// All steps.
    Everywhere,
    /// Steps that write.
    BeforeWrites,
    /// Accesses to a shared line. A line is shared once a thread other than its first user has written to it, or has
    /// accessed it after the first user wrote to it. So the first access to a line never counts.
    OnSharedLines,
    /// Accesses to a shared line that read and write at once, such as those that take a latch.
    BeforeExchanges,
}

/// A sequence of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// The reason why another thread may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The thread that runs is at a step like any other.
    Step,
    /// The thread waits for other threads, but can run: it spins or yields.
    GivesWay,
    /// The thread cannot go on: it waits, or has ended.
    Stops,
}

/// A strategy, with its state in one run.
#[derive(Debug)]
pub(super) enum Chooser {
    Random {
        random: Random,
        /// The number of steps until the next switch.
        left: u64,
        switch_per_1024: u32,
    },
    Priorities {
        random: Random,
        /// The priority of each thread. The thread with the greatest priority goes on.
        priorities: Vec<i64>,
        /// The numbers of the steps at which a priority changes, in descending order.
        changes: Vec<u64>,
        /// The number of steps that count (see [`Changes`]) since there were two threads.
        seen: u64,
        at: Changes,
        /// The lines that were used since there were two threads, if the strategy needs them.
        lines: Lines,
        /// The least priority of all.
        least: i64,
    },
    Replay(Schedule),
}

impl Chooser {
    pub(super) fn new(strategy: &Strategy, seed: u64) -> Self {
        let mut random = Random::new(seed);
        match strategy {
            Strategy::Random { switch_per_1024 } => {
                let mut chooser = Chooser::Random { random, left: 0, switch_per_1024: *switch_per_1024 };
                chooser.draw();
                chooser
            }
            Strategy::Priorities { changes, steps, at } => {
                let mut changes: Vec<_> = (0..*changes).map(|_| random.below((*steps).max(1))).collect();
                changes.sort_unstable_by(|one, other| other.cmp(one));
                {
                    let (at, lines) = (*at, Lines::default());
                    Chooser::Priorities { random, priorities: Vec::new(), changes, seen: 0, at, lines, least: 0 }
                }
            }
            Strategy::Replay(schedule) => Chooser::Replay(schedule.clone()),
        }
    }

    /// Draws the number of steps until the next switch, which is geometrically distributed.
    fn draw(&mut self) {
        if let Chooser::Random { random, left, switch_per_1024 } = self {
            let stay = 1.0 - f64::from(*switch_per_1024).clamp(1.0, 1023.0) / 1024.0;
            let uniform = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
            *left = ((1.0 - uniform).ln() / stay.ln()) as u64;
        }
    }

    /// Adds a thread, which gets a random priority if the strategy has priorities.
    pub(super) fn add_thread(&mut self) {
        if let Chooser::Priorities { random, priorities, .. } = self {
            priorities.push((random.next() >> 2) as i64);
        }
    }

    /// Whether the thread that runs may be stopped before its own step `own`, which makes this access.
    #[inline]
    pub(super) fn is_due(&mut self, thread: usize, own: u64, access: Access) -> bool {
        match self {
            Chooser::Random { left: 0, .. } => true,
            Chooser::Random { left, .. } => {
                *left -= 1;
                false
            }
            Chooser::Priorities { priorities, changes, seen, at, lines, .. } => {
                let counts = priorities.len() > 1
                    && match at {
                        Changes::Everywhere => true,
                        Changes::BeforeWrites => access.writes(),
                        Changes::OnSharedLines => lines.is_shared(thread, access),
                        Changes::BeforeExchanges => {
                            lines.is_shared(thread, access) && matches!(access, Access::Exchanges(_))
                        }
                    };
                *seen += u64::from(counts);
                counts && changes.last().is_some_and(|change| change < seen)
            }
            Chooser::Replay(schedule) => schedule.next(thread, own).is_some(),
        }
    }

    /// Chooses the thread that goes on. `ready` has the threads that can go on, in ascending order. `early` has threads
    /// whose deadlines come soon: one of them can go on, too, as if all other threads had stood still until then. At
    /// least one of the two lists is not empty. `thread` is the thread that ran, at its own step `own`.
    pub(super) fn choose(
        &mut self,
        ready: &mut Vec<usize>,
        early: &[usize],
        thread: usize,
        own: u64,
        pause: Pause,
    ) -> usize {
        match self {
            Chooser::Random { random, .. } | Chooser::Priorities { random, .. } => {
                if ready.is_empty() || !early.is_empty() && random.below(EARLY) == 0 {
                    ready.extend(early);
                    ready.sort_unstable();
                }
            }
            Chooser::Replay(schedule) => {
                let told = schedule.next(thread, own).filter(|next| early.contains(next));
                let first = early.first().copied().filter(|_| ready.is_empty());
                ready.extend(told.or(first));
            }
        }
        // A thread that gives way waits for another one, so another one is chosen if there is any.
        let others = |random: &mut Random| {
            let others = ready.len() - usize::from(ready.contains(&thread));
            let chosen = (others > 0).then(|| random.below(others as u64) as usize);
            chosen.and_then(|at| ready.iter().copied().filter(|other| *other != thread).nth(at)).unwrap_or(thread)
        };
        match self {
            Chooser::Random { random, .. } => {
                let chosen = others(random);
                self.draw();
                chosen
            }
            Chooser::Priorities { priorities, changes, least, .. } => {
                if pause != Pause::Stops {
                    *least -= 1;
                    priorities[thread] = *least;
                }
                if pause == Pause::Step {
                    changes.pop();
                }
                ready.iter().copied().max_by_key(|at| priorities[*at]).unwrap_or(thread)
            }
            Chooser::Replay(schedule) => {
                let told = schedule.next(thread, own).filter(|next| ready.contains(next));
                let after = ready.iter().copied().find(|other| *other > thread);
                told.or(after).unwrap_or(ready[0])
            }
        }
    }
}
