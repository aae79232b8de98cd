//! The registry of the sessions of a database, and the totals of their counters.

use crate::counters::Totals;
use crate::session_entry::SessionEntry;
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::BTreeMap;

/// The open sessions of a database, and the summed counters of the sessions that have ended. Thread-safe.
#[derive(Debug, Default)]
pub(crate) struct Activity(Mutex<Everybody>);

#[derive(Debug, Default)]
struct Everybody {
    /// The entries of the sessions that are open, by address.
    here: BTreeMap<usize, Arc<SessionEntry>>,
    gone: Totals,
}

impl Activity {
    fn everybody(&self) -> MutexGuard<'_, Everybody> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Adds the entry of a session that begins.
    pub(crate) fn enter(&self, entry: &Arc<SessionEntry>) {
        self.everybody().here.insert(Arc::as_ptr(entry).addr(), entry.clone());
    }

    /// Removes the entry of a session that has ended, and adds the session's counters to the totals.
    pub(crate) fn leave(&self, entry: &Arc<SessionEntry>) {
        let mut everybody = self.everybody();
        if everybody.here.remove(&Arc::as_ptr(entry).addr()).is_some() {
            everybody.gone.add(&entry.counters);
        }
    }

    /// Returns the entries of all open sessions, ordered by process number.
    pub(crate) fn entries(&self) -> Vec<Arc<SessionEntry>> {
        let mut entries: Vec<_> = self.everybody().here.values().cloned().collect();
        entries.sort_by_key(|entry| entry.pid());
        entries
    }

    pub(crate) fn totals(&self) -> Totals {
        let everybody = self.everybody();
        let mut totals = everybody.gone;
        everybody.here.values().for_each(|entry| totals.add(&entry.counters));
        totals
    }
}
