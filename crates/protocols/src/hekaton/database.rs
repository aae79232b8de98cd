//! A database of versions, and one of its tables as a call of a transaction uses it.

use super::words::Words;
use hotrow_storage::{Guard, Tables, VersionTable};

/// The tables of a database whose rows have versions.
pub(super) type Database = Tables<VersionTable<Words>>;

/// The guard of the epoch in which a call runs, and the table that the call uses.
pub(super) type Scene<'g> = (Guard<'g>, &'g VersionTable<Words>);
