//! Numbers that tell transactions apart.

use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// The source of the numbers of a database's transactions, which gives out blocks of numbers.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The number of blocks that were given out.
    blocks: AtomicU64,
}

/// The number of a transaction object's present transaction: positive, less than 2^62, and different from the numbers
/// of all earlier transactions.
#[derive(Debug)]
pub struct Number {
    now: u64,
    numbers: Arc<Numbers>,
}

/// The number of numbers in a block. Each transaction object takes a block, and another one when that is used up.
const BLOCK: u64 = 1 << 24;

impl Number {
    pub(crate) fn new(numbers: &Arc<Numbers>) -> Self {
        Self { now: numbers.add_block(), numbers: numbers.clone() }
    }

    /// Draws a new number, for the next transaction of the object.
    #[inline]
    pub(crate) fn renew(&mut self) {
        self.now += 1;
        if self.now.is_multiple_of(BLOCK) {
            self.now = self.numbers.add_block() + 1;
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.now
    }
}

impl Numbers {
    /// Takes another block, and returns the number before its first.
    fn add_block(&self) -> u64 {
        self.blocks.fetch_add(1, Ordering::AcqRel) * BLOCK
    }
}
