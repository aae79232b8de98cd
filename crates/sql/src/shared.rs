//! The state that the sessions of one database share, except for the plans.

use crate::catalog::place_log::PlaceLog;
use crate::catalog::stored::Stored;
use crate::catalog::{Catalog, Table};
use crate::cluster::Cluster;
use crate::contention::Contended;
use crate::contents::Contents;
use crate::notifications::Listeners;
use crate::schema;
use hotrow_storage::TableId;
use hotrow_sync::Arc;
use std::ops::Deref;

/// The state that the sessions of a database share, apart from the plans. It dereferences to [`Cluster`], which holds
/// the state that they share with the sessions of the other databases.
pub struct Shared {
    cluster: Arc<Cluster>,
    contents: Arc<Contents>,
}

impl Deref for Shared {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl Shared {
    /// Makes the state of the sessions of a database.
    pub(crate) fn new(cluster: Arc<Cluster>, contents: Arc<Contents>) -> Self {
        Self { cluster, contents }
    }

    /// Returns the state that the sessions of all databases share.
    pub(crate) fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Returns the contents of the database.
    pub(crate) fn contents(&self) -> &Arc<Contents> {
        &self.contents
    }

    /// Returns the OID of the database.
    pub(crate) fn number(&self) -> u32 {
        self.contents.number
    }

    /// Returns the name of the database.
    pub fn name(&self) -> &str {
        &self.contents.name
    }

    #[inline]
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.contents.catalog
    }

    /// Returns the stored definitions, or `None` if the database has no log.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.contents.stored.as_ref()
    }

    pub(crate) fn listeners(&self) -> &Listeners {
        &self.contents.listeners
    }

    /// Returns the engine's numbers of all committed tables.
    pub fn tables(&self) -> Vec<TableId> {
        self.catalog().tables().iter().map(|table| table.id).collect()
    }

    /// Returns the engine's number of the committed table of this name in this schema, or `None` if there is none. The
    /// number changes when ALTER TABLE or TRUNCATE replaces the table.
    pub fn table(&self, schema: &str, name: &str) -> Option<TableId> {
        self.catalog().table(&schema::full(schema, name)).map(|table| table.id)
    }

    /// Returns the log of the sequences' places, or `None` if the database has no log.
    pub(crate) fn places(&self) -> Option<&PlaceLog> {
        self.contents.places()
    }

    /// Returns the name, the number of rows and the contention of each table. The number of rows is approximate while
    /// transactions run.
    pub fn tables_in_numbers(&self) -> Vec<(String, u64, Contended)> {
        let tables = self.catalog().tables();
        let contended = self.contention.tables(&tables.iter().map(|table| table.id).collect::<Vec<_>>());
        let rows = |table: &Table| self.engine().row_count(table.id);
        tables
            .iter()
            .zip(contended)
            .map(|(table, contended)| (schema::shown(table.name()), rows(table), contended))
            .collect()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("engine", &self.engine().info().name).field("name", &self.name()).finish()
    }
}
