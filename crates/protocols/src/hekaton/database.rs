//! A database of versions, and one of its tables as a call of a transaction uses it.

use super::words::Words;
use hotrow_storage::{Guard, Tables, VersionTable};

/// A database of versions.
pub(super) type Database = Tables<VersionTable<Words>>;

/// A table, and the guard of the epoch in which a call uses it.
pub(super) type Scene<'g> = (Guard<'g>, &'g VersionTable<Words>);
