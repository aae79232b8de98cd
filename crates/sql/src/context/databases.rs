//! The databases that a transaction makes, renames and drops.

use crate::SqlError;
use crate::catalog::stored::{Entry, database_entry};
use crate::cluster::Cluster;
use crate::contents::Contents;
use hotrow_sync::Arc;

/// A change that a transaction makes to the list of databases.
#[derive(Debug)]
pub(crate) enum DatabaseChange {
    /// The transaction creates the database, which no other session can see before the commit.
    Made(Arc<Contents>),
    /// The transaction renames the database to this name. Sessions cannot connect to the database until the transaction
    /// ends.
    Renamed(Arc<Contents>, Arc<str>),
    /// The transaction drops the database. Sessions cannot connect to it any more, unless the transaction is rolled
    /// back.
    Dropped(Arc<Contents>),
}

impl DatabaseChange {
    /// Returns the definitions that the transaction has to store for the change.
    ///
    /// # Errors
    /// If a definition cannot be stored.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, SqlError> {
        let made = |name: &str, contents: &Contents| database_entry(name, contents.number, contents.stored.as_ref());
        let gone = |contents: &Contents| database_entry(&contents.name, contents.number, None);
        Ok(match self {
            DatabaseChange::Made(contents) => vec![made(&contents.name, contents)?],
            DatabaseChange::Renamed(contents, name) => vec![gone(contents)?, made(name, contents)?],
            DatabaseChange::Dropped(contents) => vec![gone(contents)?],
        })
    }

    /// Publishes the change if its transaction `commits`, and undoes it otherwise. Drops the tables of a database that
    /// no longer exists.
    pub(crate) fn end(self, cluster: &Cluster, commits: bool) {
        match (self, commits) {
            (DatabaseChange::Renamed(contents, name), true) => {
                // The database was taken from the list when no other handle of it existed.
                if let Ok(contents) = Arc::try_unwrap(contents) {
                    cluster.add(Arc::new(Contents { name, ..contents }));
                }
            }
            (DatabaseChange::Made(contents), true)
            | (DatabaseChange::Renamed(contents, _) | DatabaseChange::Dropped(contents), false) => {
                cluster.add(contents);
            }
            (DatabaseChange::Made(contents), false) | (DatabaseChange::Dropped(contents), true) => {
                contents.all_tables().into_iter().for_each(|table| cluster.engine().drop_table(table));
            }
        }
    }
}
