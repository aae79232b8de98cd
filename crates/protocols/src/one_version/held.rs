//! The locks that one transaction holds.

use super::queues::LockName;
use crate::shared::mode::Mode;
use hotrow_storage::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The locks that a transaction holds to its end, with their modes.
///
/// Adding a lock takes no search, and neither does releasing all. A transaction that holds few locks searches them one
/// by one. For many locks, the places are noted when a lock is first searched for, as a rule because a key has a lock
/// that is held for another key already.
#[derive(Default)]
pub(super) struct Held {
    locks: Vec<(LockName, Mode)>,
    /// The places of the first locks, as many as have been noted.
    places: HashMap<LockName, usize, BuildHasherDefault<NameHasher>>,
}

/// The number of locks up to which a search goes through them one by one.
const LOOKED_THROUGH: usize = 32;

/// The number of locks for which room is kept from one transaction to the next.
const KEPT_LOCKS: usize = 1 << 14;

/// A hasher of lock names, which mixes their parts.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }
}

impl Hash for LockName {
    fn hash<S: Hasher>(&self, state: &mut S) {
        state.write_u64(u64::from(self.table.0) << 32 | u64::from(self.number));
        state.write_u64(u64::from(self.index.0));
    }
}

impl Held {
    /// Returns the number of held locks.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Adds a lock that the transaction does not hold yet.
    #[inline]
    pub(super) fn push(&mut self, name: LockName, mode: Mode) {
        self.locks.push((name, mode));
    }

    /// Removes and returns the lock that was added last.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<LockName> {
        let (name, _) = self.locks.pop()?;
        if self.places.len() > self.locks.len() {
            self.places.remove(&name);
        }
        Some(name)
    }

    /// Returns the modes in which a lock is held: none if it is not held.
    pub(super) fn mode(&mut self, name: LockName) -> Mode {
        self.place(name).map_or(Mode::NONE, |place| self.locks[place].1)
    }

    /// Sets the modes in which a lock is held. Adds the lock if it was not held.
    pub(super) fn set(&mut self, name: LockName, mode: Mode) {
        match self.place(name) {
            Some(place) => self.locks[place].1 = mode,
            None => self.push(name, mode),
        }
    }

    /// Removes a lock, and returns the modes in which it was held, or `None` if it was not held.
    pub(super) fn remove(&mut self, name: LockName) -> Option<Mode> {
        let place = self.place(name)?;
        let was_noted = place < self.places.len();
        let (_, mode) = self.locks.swap_remove(place);
        if was_noted {
            self.places.remove(&name);
            if let Some(&(moved, _)) = self.locks.get(place) {
                self.places.insert(moved, place);
            }
        }
        Some(mode)
    }

    fn place(&mut self, name: LockName) -> Option<usize> {
        if self.locks.len() <= LOOKED_THROUGH {
            return self.locks.iter().rposition(|&(held, _)| held == name);
        }
        let noted = self.places.len();
        let names = self.locks.iter().enumerate().skip(noted).map(|(place, &(name, _))| (name, place));
        self.places.extend(names);
        self.places.get(&name).copied()
    }

    /// Removes all locks, the last one first, and calls `release` for each.
    #[inline]
    pub(super) fn release_all(&mut self, mut release: impl FnMut(LockName, Mode)) {
        while let Some((name, mode)) = self.locks.pop() {
            release(name, mode);
        }
        if !self.places.is_empty() {
            self.places.clear();
        }
        if self.locks.capacity() > KEPT_LOCKS {
            self.locks.shrink_to(KEPT_LOCKS);
            self.places.shrink_to(KEPT_LOCKS);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use hotrow_storage::{IndexNumber, TableId};

    fn name(number: u32) -> LockName {
        LockName { table: TableId(number / 7), index: IndexNumber((number % 3) as u16), number }
    }

    #[test]
    fn every_lock_is_found_by_its_name_whatever_came_and_went() {
        for count in [1, LOOKED_THROUGH as u32, LOOKED_THROUGH as u32 + 1, 500] {
            let mut held = Held::default();
            (0..count).for_each(|number| held.push(name(number), Mode::SHARED));
            assert_eq!(held.mode(name(count)), Mode::NONE);
            // Every third one goes, whether or not its place was noted, and a new one comes after each.
            for number in (0..count).step_by(3) {
                assert_eq!(held.remove(name(number)), Some(Mode::SHARED), "{number} of {count}");
                held.push(name(count + number), Mode::INSERT);
            }
            held.push(name(9_999), Mode::SHARED);
            assert_eq!(held.pop(), Some(name(9_999)));
            held.set(name(count), Mode::EXCLUSIVE);
            for number in 0..2 * count {
                let expected = match (number < count, number % 3 == 0) {
                    _ if number == count => Mode::EXCLUSIVE,
                    (true, true) => Mode::NONE,
                    (true, false) => Mode::SHARED,
                    (false, _) if (number - count) % 3 == 0 => Mode::INSERT,
                    (false, _) => Mode::NONE,
                };
                assert_eq!(held.mode(name(number)), expected, "{number} of {count}");
            }
            let mut released = Vec::new();
            held.release_all(|name, _| released.push(name.number));
            released.sort_unstable();
            released.dedup();
            assert_eq!((released.len(), held.len()), (count as usize, 0));
            assert_eq!(held.mode(name(1)), Mode::NONE);
        }
    }
}
