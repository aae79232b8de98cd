//! Real threads that transfer between rows, insert, delete and add up, in small pages, with early escalation.
//!
//! `HOTROW_STRESS=200000 cargo test --release -p hotrow-protocols hier::` is the long form.

use super::super::{Inherited, Released};
use super::*;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::thread;

const THREADS: u64 = 4;

/// The numbers of rows beyond the first ones, which are inserted and deleted in pairs.
const MORE: i64 = 8;

/// Transactions of each thread.
fn transactions() -> u64 {
    std::env::var("HOTROW_STRESS").ok().map_or(2000, |text| text.parse().expect("HOTROW_STRESS is a number"))
}

fn next(random: &mut u64, below: i64) -> i64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random >> 16) as i64 % below
}

impl<V: Variant> World<V> {
    fn change(&self, txn: &mut Txn<V>, key: i64, by: i64) -> Result<Write, Abort> {
        txn.update(self.tables[0], &Key::Int(key), &mut |row| {
            let number = row.as_ref().int8(1);
            row.set_int8(1, number + by);
            Ok(())
        })
    }

    /// Does something after which the sum of all numbers is what it was, and the rows beyond the first ones are there
    /// in pairs.
    fn work(&self, txn: &mut Txn<V>, random: &mut u64) -> Result<(), Abort> {
        match next(random, 8) {
            0 => {
                let sum = self.sum(txn)?;
                assert_eq!(sum, 0, "a sum of numbers that were there together");
            }
            1 => {
                let pair = KEYS + 2 * next(random, MORE);
                for key in [pair, pair + 1] {
                    if txn.insert(self.tables[0], self.row(key).as_ref())? == Write::Done {
                        self.change(txn, key, 0)?;
                    }
                }
            }
            2 => {
                let pair = KEYS + 2 * next(random, MORE);
                let there = [pair, pair + 1].map(|key| self.read(txn, key));
                let [first, second] = there;
                assert_eq!(first?.is_some(), second?.is_some(), "half of a pair");
            }
            3 => {
                let pair = KEYS + 2 * next(random, MORE);
                for key in [pair + 1, pair] {
                    let number = self.read(txn, key)?;
                    if number == Some(0) {
                        txn.delete(self.tables[0], &Key::Int(key))?;
                    }
                }
            }
            4 => {
                for _ in 0..12 {
                    self.read(txn, next(random, KEYS))?;
                }
            }
            _ => {
                let moved = next(random, 100);
                for _ in 0..1 + next(random, 4) {
                    let (from, to) = (next(random, KEYS), next(random, KEYS));
                    txn.read_for_update(self.tables[0], &Key::Int(from))?;
                    self.change(txn, from, -moved)?;
                    self.change(txn, to, moved)?;
                }
            }
        }
        Ok(())
    }

    fn stress(&self) {
        let committed = AtomicU64::new(0);
        thread::scope(|scope| {
            for number in 1..=THREADS {
                let committed = &committed;
                scope.spawn(move || {
                    let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let waiter = Waiter::thread(Duration::ZERO);
                    waiter.set_lock_timeout(Some(Duration::from_secs(60)));
                    let mut txn = self.instance.transaction(&mut self.instance.worker(WorkerId(0)), waiter);
                    for _ in 0..transactions() {
                        let state = random;
                        loop {
                            random = state;
                            txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
                            let done = self.work(&mut txn, &mut random).and_then(|()| txn.commit());
                            if done.is_ok() {
                                break;
                            }
                            txn.abort();
                            assert_eq!(done, Err(Abort::Deadlock), "no wait lasts for ever");
                        }
                        committed.fetch_add(1, Ordering::AcqRel);
                    }
                });
            }
        });
        assert_eq!(committed.into_inner(), THREADS * transactions());
        self.assert_at_rest();
        let mut txn = self.begin();
        assert_eq!(self.sum(&mut txn), Ok(0));
        txn.commit().expect("it commits");
    }
}

fn config() -> HierarchyConfig {
    HierarchyConfig { page_bytes: 512, escalation: 5, hot_percent: 0, ..HierarchyConfig::default() }
}

#[test]
fn transfers_in_a_hierarchy_keep_their_sum() {
    World::<Released>::new(config()).stress();
}

#[test]
fn transfers_with_inherited_locks_keep_their_sum() {
    World::<Inherited>::new(config()).stress();
}
