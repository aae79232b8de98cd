//! The registry of the sessions of a database, and the totals of their counters.

use crate::counters::Totals;
use crate::seat::Seat;
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::BTreeMap;

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Activity(Mutex<Everybody>);

#[derive(Debug, Default)]
struct Everybody {
    /// The seats of the sessions that are open, by address.
    here: BTreeMap<usize, Arc<Seat>>,
    gone: Totals,
}

impl Activity {
    fn everybody(&self) -> MutexGuard<'_, Everybody> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Adds the seat of a session that begins.
    pub(crate) fn enter(&self, seat: &Arc<Seat>) {
        self.everybody().here.insert(Arc::as_ptr(seat).addr(), seat.clone());
    }

    /// Removes the seat of a session that has ended, and keeps its counters in the totals.
    pub(crate) fn leave(&self, seat: &Arc<Seat>) {
        let mut everybody = self.everybody();
        if everybody.here.remove(&Arc::as_ptr(seat).addr()).is_some() {
            everybody.gone.add(&seat.counters);
        }
    }

    /// Returns the seats of all open sessions, ordered by process number.
    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        let mut seats: Vec<_> = self.everybody().here.values().cloned().collect();
        seats.sort_by_key(|seat| seat.pid());
        seats
    }

    pub(crate) fn totals(&self) -> Totals {
        let everybody = self.everybody();
        let mut totals = everybody.gone;
        everybody.here.values().for_each(|seat| totals.add(&seat.counters));
        totals
    }
}
