//! The contents of one database of a server: its catalog, with its stored definitions, and its notifications.

use crate::catalog::Catalog;
use crate::catalog::place_log::PlaceLog;
use crate::catalog::stored::Stored;
use crate::notifications::Listeners;
use hotrow_storage::TableId;
use hotrow_sync::Arc;
use std::fmt;

/// The contents of a database. All of its sessions share them.
pub struct Contents {
    /// The name of the database.
    pub(crate) name: Arc<str>,
    /// The OID of the database.
    pub(crate) number: u32,
    pub(crate) catalog: Catalog,
    /// The stored definitions; `None` if the database has no log.
    pub(crate) stored: Option<Stored>,
    pub(crate) listeners: Listeners,
}

impl Contents {
    /// Appends the present numbers of all sequences to the log, so that the next process skips none.
    pub(crate) fn store_places(&self) {
        if let Some(log) = self.places() {
            self.catalog.sequences().iter().for_each(|sequence| sequence.place.store(log));
        }
    }

    /// Returns the log of the sequences' places, or `None` if the database has no log.
    pub(crate) fn places(&self) -> Option<&PlaceLog> {
        self.stored.as_ref().map(Stored::places)
    }

    /// Returns the engine's numbers of all committed tables, and of the tables that store the definitions and the
    /// sequences' places.
    pub(crate) fn all_tables(&self) -> Vec<TableId> {
        let tables = self.catalog.tables();
        let stored = self.stored.iter().flat_map(Stored::tables);
        tables.iter().map(|table| table.id).chain(stored).collect()
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").field("name", &self.name).finish_non_exhaustive()
    }
}
