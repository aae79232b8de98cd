//! The transaction objects of a lock manager, by small numbers.

use super::parked::Parked;
use hotrow_sync::{Arc, Mutex};

/// The number of a transaction object in the lock table. Numbers are small. When the object is dropped, its number
/// becomes that of a later object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerId(pub(crate) u32);

/// The transaction objects of a lock manager: the number of each, and the place where it waits. A number is used again
/// once its transaction object is gone.
#[derive(Default)]
pub(crate) struct Owners(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    /// The place where each transaction waits, by the transaction's number.
    parked: Vec<Arc<Parked>>,
    free: Vec<u32>,
}

impl Owners {
    /// Adds a transaction object that waits at `parked`, and returns its number.
    pub(crate) fn add(&self, parked: &Arc<Parked>) -> OwnerId {
        let mut numbers = self.0.lock().expect("no panic under the mutex");
        if let Some(id) = numbers.free.pop() {
            numbers.parked[id as usize] = parked.clone();
            return OwnerId(id);
        }
        numbers.parked.push(parked.clone());
        OwnerId(numbers.parked.len() as u32 - 1)
    }

    /// Removes a transaction object, which holds no lock any more.
    pub(crate) fn remove(&self, owner: OwnerId) {
        self.0.lock().expect("no panic under the mutex").free.push(owner.0);
    }

    /// Returns the labels of all transaction objects that exist now.
    pub(crate) fn labels(&self) -> Labels {
        Labels(self.0.lock().expect("no panic under the mutex").parked.clone())
    }
}

/// The labels of the transactions of all objects that existed at one moment. A label is read when it is asked for, so
/// it may be that of the object's next transaction.
pub(crate) struct Labels(Vec<Arc<Parked>>);

impl Labels {
    /// Returns the label of a transaction; zero if no object had the number at that moment.
    pub(crate) fn of(&self, OwnerId(id): OwnerId) -> u32 {
        self.0.get(id as usize).map_or(0, |parked| parked.label())
    }

    /// Whether an object had this number at that moment. A report need not show the waits of other objects'
    /// transactions, which have begun since.
    pub(crate) fn know(&self, OwnerId(id): OwnerId) -> bool {
        (id as usize) < self.0.len()
    }
}
