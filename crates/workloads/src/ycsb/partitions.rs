//! The partitions that transactions touch, and the rows in each. Key k belongs to partition k modulo their number.

use super::procedures::Operations;
use crate::distribution::different;
use fastrand::Rng;
use std::ops::Range;

/// The partitions that the present transaction touches.
#[derive(Debug)]
pub(super) struct Partitions {
    all: u64,
    /// The share of transactions that touch all of `touched`. The others touch only the first of them.
    multi_partition: f64,
    /// The worker's own partition first, then the others.
    touched: Vec<u64>,
    /// The number of partitions in `touched` that the present transaction touches.
    present: usize,
}

impl Partitions {
    /// Makes the partitions of a worker's transactions. The share `multi_partition` of them touch `touched` of `all`
    /// partitions.
    pub(super) fn new(all: u32, touched: u32, multi_partition: f64, worker: u32) -> Self {
        let touched = vec![u64::from(worker % all); touched as usize];
        Self { all: u64::from(all), multi_partition, present: touched.len(), touched }
    }

    /// Returns the number of all partitions.
    #[inline]
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// Draws how many partitions the next transaction touches, and which ones besides the worker's own.
    pub(super) fn draw(&mut self, rng: &mut Rng) {
        if self.multi_partition < 1.0 {
            let is_multi = rng.f64() < self.multi_partition;
            self.present = if is_multi { self.touched.len() } else { 1 };
        }
        for position in 1..self.present {
            let mut partition = rng.u64(..self.all);
            while self.touched[..position].contains(&partition) {
                partition = (partition + 1) % self.all;
            }
            self.touched[position] = partition;
        }
    }

    /// Draws a key in `keys` that is not taken, for the operation at `position`. Operations take the touched partitions
    /// in turn. `draw` draws one of the partition's rows in `keys`, by its number within the partition.
    #[inline]
    pub(super) fn key(
        &self,
        position: usize,
        keys: Range<u64>,
        taken: &Operations,
        mut draw: impl FnMut(Range<u64>) -> u64,
    ) -> u64 {
        let partition = self.touched[position % self.present];
        // Rows are counted within their partition, so that the next free row is in the partition, too.
        let rows_below = |key: u64| key.saturating_sub(partition).div_ceil(self.all);
        let rows = rows_below(keys.start)..rows_below(keys.end);
        let key = |row| row * self.all + partition;
        key(different(|row| taken.has(key(row)), rows.clone(), || draw(rows.clone())))
    }
}
