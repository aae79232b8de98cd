//! Statistics of contention: the rows and ranges at which sessions have waited or met conflicts, how often, how long,
//! and with which statements.
//!
//! A *spot* is a row, a range, or another place of a wait or conflict. The number of spots is limited. When a shard of
//! the map is full, a new spot replaces the shard's least counted spot and inherits its count as an upper bound
//! (Metwally et al., *Efficient Computation of Frequent and Top-k Elements in Data Streams*, §3). So frequent spots
//! stay in the map, and a count is too high by at most its inherited part.

use crate::watched::{Spot, Trouble};
use hotrow_storage::TableId;
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

const SHARDS: usize = 64;
const SPOTS_OF_SHARD: usize = 64;

/// The greatest number of statements that are kept for one spot: the most frequent ones.
const STATEMENTS: usize = 4;

/// The number of bytes of a statement's text that are kept.
const TEXT: usize = 200;

/// The number of waits and conflicts at a spot or at a table, with the duration of the waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contended {
    /// The number of calls that waited.
    pub waits: u64,
    /// The total time of these waits, in nanoseconds.
    pub wait_ns: u64,
    /// The longest wait, in nanoseconds.
    pub longest_ns: u64,
    /// The number of calls that failed because of other transactions.
    pub conflicts: u64,
}

impl Contended {
    fn add(&mut self, trouble: &Trouble) {
        self.waits += u64::from(trouble.waited_ns > 0);
        self.wait_ns += trouble.waited_ns;
        self.longest_ns = self.longest_ns.max(trouble.waited_ns);
        self.conflicts += u64::from(trouble.conflict);
    }
}

/// The statistics of one spot: a row, a range, or another place of waits and conflicts.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtSpot {
    pub(crate) contended: Contended,
    /// The number of waits and conflicts at the spot, including `inherited`, the count of the spot that this one
    /// replaced.
    pub(crate) met: u64,
    pub(crate) inherited: u64,
    /// The spot's most frequent statements, each with the number of its waits and conflicts there.
    pub(crate) statements: Vec<(Arc<str>, u64)>,
}

impl AtSpot {
    fn add(&mut self, trouble: &Trouble, text: &str) {
        self.contended.add(trouble);
        self.met += 1;
        if let Some((_, count)) = self.statements.iter_mut().find(|(known, _)| **known == *text) {
            *count += 1;
        } else if self.statements.len() < STATEMENTS {
            self.statements.push((text.into(), 1));
        } else if let Some(rarest) = self.statements.iter_mut().min_by_key(|(_, count)| *count) {
            *rarest = (text.into(), rarest.1 + 1);
        }
    }
}

/// The contention statistics of all sessions of a database. Thread-safe.
#[derive(Debug)]
pub(crate) struct Contention {
    shards: Vec<Mutex<HashMap<Spot, AtSpot>>>,
    hasher: RandomState,
    tables: Mutex<HashMap<TableId, Contended>>,
}

impl Default for Contention {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: RandomState::new(), tables: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

fn add_to(shard: &mut HashMap<Spot, AtSpot>, trouble: &Trouble, text: &str) {
    if let Some(known) = shard.get_mut(&trouble.spot) {
        return known.add(trouble, text);
    }
    let rarest = shard.iter().min_by_key(|(_, at)| at.met).filter(|_| shard.len() >= SPOTS_OF_SHARD);
    let mut at = AtSpot::default();
    if let Some((spot, met)) = rarest.map(|(spot, at)| (spot.clone(), at.met)) {
        shard.remove(&spot);
        at = AtSpot { met, inherited: met, ..at };
    }
    at.add(trouble, text);
    shard.insert(trouble.spot.clone(), at);
}

impl Contention {
    /// Adds the waits and conflicts of a statement. `text` is the statement's text, of which only the beginning is
    /// stored.
    pub(crate) fn add(&self, troubles: impl Iterator<Item = Trouble>, text: &str) {
        let text = &text[..text.floor_char_boundary(TEXT)];
        for trouble in troubles {
            if let Some(table) = trouble.spot.table() {
                lock(&self.tables).entry(table).or_default().add(&trouble);
            }
            let shard = &self.shards[self.hasher.hash_one(&trouble.spot) as usize % SHARDS];
            add_to(&mut lock(shard), &trouble, text);
        }
    }

    /// Returns the statistics of all known spots, in no particular order.
    pub(crate) fn spots(&self) -> Vec<(Spot, AtSpot)> {
        let shards = self.shards.iter();
        shards
            .flat_map(|shard| lock(shard).iter().map(|(spot, at)| (spot.clone(), at.clone())).collect::<Vec<_>>())
            .collect()
    }

    /// Returns the statistics of these tables, in the order of `tables`, and removes the statistics of all other
    /// tables. So `tables` must be all tables that still exist.
    pub(crate) fn tables(&self, tables: &[TableId]) -> Vec<Contended> {
        let mut known = lock(&self.tables);
        known.retain(|table, _| tables.contains(table));
        tables.iter().map(|table| known.get(table).copied().unwrap_or_default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::Key;

    fn row(number: i64) -> Trouble {
        Trouble { spot: Spot::Row(TableId(1), Key::Int(number)), waited_ns: 5, conflict: number < 0 }
    }

    #[test]
    fn what_is_met_often_stays_whatever_comes_beside_it() {
        let contention = Contention::default();
        for number in 0..100_000 {
            contention.add([row(-1), row(number)].into_iter(), "");
        }
        let spots = contention.spots();
        assert!(spots.len() <= SHARDS * SPOTS_OF_SHARD, "{}", spots.len());
        let hottest = spots.iter().max_by_key(|(_, at)| at.met).expect("there are some");
        assert_eq!(hottest.0, row(-1).spot);
        let expected = Contended { waits: 100_000, wait_ns: 500_000, longest_ns: 5, conflicts: 100_000 };
        assert_eq!((hottest.1.contended, hottest.1.inherited), (expected, 0));
        assert!(spots.iter().all(|(_, at)| at.met - at.inherited == at.contended.waits), "{spots:?}");
        let of_table = contention.tables(&[TableId(1), TableId(2)]);
        assert_eq!((of_table[0].waits, of_table[1]), (200_000, Contended::default()));
        assert_eq!(contention.tables(&[TableId(2)]), [Contended::default()]);
        assert_eq!(contention.tables(&[TableId(1)]), [Contended::default()], "it was gone");
    }

    #[test]
    fn a_spot_knows_its_most_frequent_statements_and_how_they_begin() {
        let contention = Contention::default();
        for text in ["a", "b", "c", "b", "d", "b", "e", "b", &"é".repeat(TEXT)] {
            contention.add([row(1)].into_iter(), text);
        }
        let statements = contention.spots()[0].1.statements.clone();
        assert_eq!(statements.len(), STATEMENTS);
        assert!(statements.contains(&("b".into(), 4)), "{statements:?}");
        assert!(statements.iter().any(|(text, _)| **text == *"é".repeat(TEXT / 2)), "{statements:?}");
    }
}
