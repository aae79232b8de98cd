//! The assignment of transactions to worker threads by their types, so that a thread has transactions that touch the
//! same tables.
//!
//! With a random assignment each thread draws from the whole mix, and a transaction of one type follows one of another.
//! The paper *Improving OLTP Scalability using Speculative Lock Inheritance* (§4.4) proposes to bias the assignment: a
//! thread that runs similar transactions one after the other requests the same locks again and again.
//!
//! A [`Dealer`] knows how many transactions of each group of types it has dealt to all threads together. It deals to a
//! thread from the thread's own group, unless that group is ahead of its share of the mix. Then it deals from the group
//! that is most behind. So the mix of all threads together is the workload's, even if the transactions of one group
//! take longer than those of another. Dealing is by batches, so that threads seldom meet at the dealer.

use fastrand::Rng;
use hotrow_sync::{Arc, Mutex};

/// The number of transactions that a thread gets at a time.
const BATCH: u64 = 64;

/// The types of a workload's transactions, in groups that touch similar sets of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    groups: Vec<Group>,
}

/// A group of types that touch similar sets of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The sum of the weights of the group's types.
    weight: u64,
    /// The weight of each type, relative to all types of the workload; zero for a type of another group.
    weights: Vec<u32>,
}

impl Types {
    /// Makes the groups of types with these `weights`. The type numbered `k` is in the group `group_of[k]`. Groups
    /// whose types all have a weight of zero are left out.
    ///
    /// # Panics
    /// If `weights` and `group_of` are not equally long.
    pub fn new(weights: &[u32], group_of: &[usize]) -> Self {
        assert_eq!(weights.len(), group_of.len(), "every type has a weight and a group");
        let groups = group_of.iter().max().map_or(0, |last| last + 1);
        let group = |number| {
            let own = weights.iter().zip(group_of).map(|(&weight, &group)| if group == number { weight } else { 0 });
            let weights: Vec<u32> = own.collect();
            Group { weight: weights.iter().copied().map(u64::from).sum(), weights }
        };
        Self { groups: (0..groups).map(group).filter(|group| group.weight > 0).collect() }
    }

    /// Returns the groups from which the mix has transactions.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn weight(&self) -> u64 {
        self.groups.iter().map(|group| group.weight).sum()
    }
}

/// A source of transaction types for the threads of a run.
///
/// **Thread safety**: any thread may deal at any time; a latch guards the counts.
#[derive(Debug)]
pub struct Dealer {
    types: Types,
    workers: u32,
    /// The number of transactions dealt of each group.
    dealt: Mutex<Vec<u64>>,
}

impl Dealer {
    /// Makes the dealer of a run with `workers` threads.
    ///
    /// # Panics
    /// If the mix has no transactions, or there are no threads.
    pub fn new(types: Types, workers: u32) -> Arc<Self> {
        assert!(types.weight() > 0 && workers > 0, "a dealer needs types and threads");
        let dealt = Mutex::new(vec![0; types.groups.len()]);
        Arc::new(Self { types, workers, dealt })
    }

    /// Returns the source of types for a client of the thread numbered `worker`. The threads divide the groups among
    /// themselves by the groups' weights.
    pub fn hand(self: &Arc<Self>, worker: u32) -> Hand {
        // The middle of the thread's part of the mix, in units of half a thread's part.
        let middle = (2 * u64::from(worker % self.workers) + 1) * self.types.weight();
        let mut end = 0;
        let own = self.types.groups.iter().position(|group| {
            end += group.weight * 2 * u64::from(self.workers);
            middle < end
        });
        Hand { dealer: Arc::clone(self), own: own.unwrap_or(0), group: 0, left: 0 }
    }

    /// Deals a batch to a thread whose own group is `own`, and returns the group that the batch is from.
    fn deal(&self, own: usize) -> usize {
        let mut dealt = self.dealt.lock().unwrap_or_else(|poison| poison.into_inner());
        let all = i128::from(self.types.weight());
        let total = i128::from(dealt.iter().sum::<u64>() + BATCH);
        let behind =
            |group: usize| i128::from(self.types.groups[group].weight) * total - i128::from(dealt[group]) * all;
        let ahead_at_most = i128::from(BATCH) * i128::from(self.workers) * all;
        let group = if behind(own) > -ahead_at_most {
            own
        } else {
            (0..dealt.len()).max_by_key(|&group| behind(group)).unwrap_or(own)
        };
        dealt[group] += BATCH;
        group
    }
}

/// The types that a dealer has given to one client.
#[derive(Clone, Debug)]
pub struct Hand {
    dealer: Arc<Dealer>,
    /// The number of the thread's own group.
    own: usize,
    /// The number of the group that the current batch is from.
    group: usize,
    /// The number of transactions that are left of the batch.
    left: u64,
}

impl Hand {
    /// Draws the type of the next transaction.
    pub(crate) fn draw(&mut self, rng: &mut Rng) -> usize {
        if self.left == 0 {
            self.group = self.dealer.deal(self.own);
            self.left = BATCH;
        }
        self.left -= 1;
        draw_weighted(rng, &self.dealer.types.groups[self.group].weights)
    }
}

/// Draws a position in `weights`, each with a probability that is proportional to its weight. The weights must not all
/// be zero.
#[inline]
pub(crate) fn draw_weighted(rng: &mut Rng, weights: &[u32]) -> usize {
    let mut point = rng.u32(..weights.iter().sum::<u32>());
    for (position, &weight) in weights.iter().enumerate() {
        if point < weight {
            return position;
        }
        point -= weight;
    }
    unreachable!("the point is below the sum of the weights")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TATP's mix, in groups by the tables that the transactions touch.
    fn tatp() -> Types {
        Types::new(&[35, 10, 35, 2, 14, 2, 2], &[0, 2, 1, 0, 0, 2, 2])
    }

    #[test]
    fn groups_that_the_mix_leaves_out_do_not_count() {
        for (weights, expected) in [([1, 1, 1], 2), ([1, 0, 1], 1), ([0, 1, 0], 1), ([0, 0, 0], 0), ([0, 7, 1], 2)] {
            assert_eq!(Types::new(&weights, &[0, 1, 0]).groups().len(), expected, "{weights:?}");
        }
    }

    /// Threads that are not equally fast draw types. Returns how often each thread has drawn each type.
    fn drawn(types: &Types, speeds: &[u32], rounds: u32) -> Vec<Vec<u64>> {
        let dealer = Dealer::new(types.clone(), speeds.len() as u32);
        let mut hands: Vec<_> = (0..speeds.len() as u32).map(|worker| dealer.hand(worker)).collect();
        let kinds = types.groups()[0].weights.len();
        let mut drawn = vec![vec![0; kinds]; speeds.len()];
        let mut rng = Rng::with_seed(3);
        for _ in 0..rounds {
            for (worker, &speed) in speeds.iter().enumerate() {
                (0..speed).for_each(|_| drawn[worker][hands[worker].draw(&mut rng)] += 1);
            }
        }
        drawn
    }

    #[test]
    fn the_mix_of_all_threads_together_is_the_workloads() {
        let types = tatp();
        for speeds in [&[1, 1][..], &[1, 5], &[3, 1, 1], &[1; 8], &[9, 1, 1, 1, 1, 1, 2]] {
            let drawn = drawn(&types, speeds, 20_000);
            let total: u64 = drawn.iter().flatten().sum();
            for (kind, share) in [0.35, 0.10, 0.35, 0.02, 0.14, 0.02, 0.02].into_iter().enumerate() {
                let count: u64 = drawn.iter().map(|thread| thread[kind]).sum();
                let actual = count as f64 / total as f64;
                assert!((actual - share).abs() < 0.02, "type {kind} with {speeds:?}: {actual}");
            }
        }
    }

    #[test]
    fn a_thread_keeps_to_its_own_group_as_far_as_the_mix_allows() {
        // Two threads, equally fast: 51 % and 35 % of the transactions are of their groups, and 14 % of a third one.
        let drawn = drawn(&tatp(), &[1, 1], 50_000);
        let of = |thread: usize, kinds: &[usize]| kinds.iter().map(|&kind| drawn[thread][kind]).sum::<u64>();
        let all = [0, 1, 2, 3, 4, 5, 6];
        let share = |thread, kinds: &[usize]| of(thread, kinds) as f64 / of(thread, &all) as f64;
        assert!(share(0, &[0, 3, 4]) > 0.9, "{drawn:?}");
        assert!(share(1, &[2]) > 0.6, "{drawn:?}");
        // With groups of equal weight, each thread has its own alone.
        let halves = Types::new(&[1, 1], &[0, 1]);
        let drawn = self::drawn(&halves, &[1, 1], 10_000);
        assert_eq!((drawn[0][1], drawn[1][0]), (0, 0));
    }

    #[test]
    fn threads_divide_the_groups_by_weight() {
        for (weights, threads, expected) in [
            ([1, 1], 2, &[0, 1][..]),
            ([1, 1], 4, &[0, 0, 1, 1]),
            ([3, 1], 4, &[0, 0, 0, 1]),
            ([9, 1], 2, &[0, 0]),
            ([1, 9], 2, &[1, 1]),
        ] {
            let dealer = Dealer::new(Types::new(&weights, &[0, 1]), threads);
            let own: Vec<_> = (0..threads).map(|worker| dealer.hand(worker).own).collect();
            assert_eq!(own, expected, "{weights:?} on {threads} threads");
        }
    }

    #[test]
    fn draws_are_in_proportion_to_the_weights() {
        let mut rng = Rng::with_seed(1);
        let mut counts = [0_u32; 3];
        (0..10_000).for_each(|_| counts[draw_weighted(&mut rng, &[1, 0, 3])] += 1);
        assert_eq!(counts[1], 0);
        assert!((2300..2700).contains(&counts[0]), "{counts:?}");
    }
}
