//! The order in which transactions of several partitions enter them.
//!
//! **The idea.** All partitions have such transactions in one order; then there is no cycle of waits (§2.4, the second
//! way out). A transaction draws, in one step, the next number of each partition that it will enter. Numbers are dense:
//! a partition lets number n + 1 in when it has let n in, however the messages overtake each other on their way.
//! Transactions of one partition need no number: they stand in one queue only.

use super::id::PartitionId;
use hotrow_sync::{CachePadded, Latch};

/// The counters from which transactions of several partitions draw their numbers, one counter for each partition. All
/// threads share it.
#[derive(Debug)]
pub(super) struct Sequencer {
    next: CachePadded<Latch<Box<[u64]>>>,
}

impl Sequencer {
    /// Makes a sequencer, in which every partition's numbers begin at zero.
    pub(super) fn new(partitions: usize) -> Self {
        Self { next: CachePadded(Latch::new(vec![0; partitions].into())) }
    }

    /// Draws the next number of each of `partitions`, which are different, and writes it to the reference beside the
    /// partition. A transaction that has drawn numbers must bring all of them to their partitions: the transactions
    /// behind it are let in after them.
    pub(super) fn draw<'p>(&self, partitions: impl Iterator<Item = (PartitionId, &'p mut u64)>) {
        let mut next = self.next.0.lock();
        for (PartitionId(partition), number) in partitions {
            let next = &mut next[usize::from(partition)];
            *number = *next;
            *next += 1;
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn check(sequencer: &Sequencer, partitions: &[u16], expected: &[u64]) {
        let mut numbers = vec![0; partitions.len()];
        sequencer.draw(partitions.iter().map(|&partition| PartitionId(partition)).zip(&mut numbers));
        assert_eq!(numbers, expected, "of partitions {partitions:?}");
    }

    #[test]
    fn each_partition_counts_by_itself_and_leaves_no_number_out() {
        let sequencer = Sequencer::new(4);
        check(&sequencer, &[0, 1], &[0, 0]);
        check(&sequencer, &[1, 3], &[1, 0]);
        check(&sequencer, &[0, 1, 3], &[1, 2, 1]);
        check(&sequencer, &[2, 3], &[0, 2]);
    }
}
