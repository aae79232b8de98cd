//! A range lock manager without ranges: basic VLL, with a lock for each key of the range.

use super::manager::{KeyRange, RangeLockManager, TxnNumber};
use super::queue::TxnQueue;

/// The manager that locks every key in a range (§3.4.2). As in basic VLL, the counters of a record stand before its
/// bytes (§2.1). Here the records stand in the order of their keys, so the records of a range cost no look-up.
pub struct Records {
    records: Box<[Record]>,
    queue: TxnQueue,
    requests: Vec<(KeyRange, bool)>,
}

/// A small record, with its counters.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Record {
    /// The counter C_X.
    exclusive: u32,
    /// The counter C_S.
    shared: u32,
}

const IDLE: Record = Record { exclusive: 0, shared: 0 };

impl Records {
    /// The greatest number of bits that keys may have. With so many, the records take 64 MiB.
    pub const KEY_BITS_MAX: u32 = 20;

    /// Makes a manager for keys of `key_bits` bits, at most [`KEY_BITS_MAX`](Self::KEY_BITS_MAX).
    pub fn new(key_bits: u32) -> Self {
        Self { records: vec![IDLE; 1 << key_bits].into(), queue: TxnQueue::default(), requests: Vec::new() }
    }

    #[inline]
    fn in_range(&mut self, range: KeyRange) -> &mut [Record] {
        &mut self.records[range.first as usize..=range.last as usize]
    }
}

impl RangeLockManager for Records {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        if self.requests.len() <= txn as usize {
            self.requests.resize(txn as usize + 1, (range, exclusive));
        }
        self.requests[txn as usize] = (range, exclusive);
        let mut conflicts = 0;
        if exclusive {
            for record in self.in_range(range) {
                conflicts |= record.exclusive | record.shared;
                record.exclusive += 1;
            }
        } else {
            for record in self.in_range(range) {
                conflicts |= record.exclusive;
                record.shared += 1;
            }
        }
        self.queue.enqueue(txn, conflicts == 0);
        conflicts == 0
    }

    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>) {
        let (range, exclusive) = self.requests[txn as usize];
        if exclusive {
            self.in_range(range).iter_mut().for_each(|record| record.exclusive -= 1);
        } else {
            self.in_range(range).iter_mut().for_each(|record| record.shared -= 1);
        }
        granted.extend(self.queue.remove(txn));
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.records.iter().all(|record| record.exclusive == 0 && record.shared == 0)
    }
}
