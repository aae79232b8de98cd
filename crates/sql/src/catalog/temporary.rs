//! The temporary relations of a session. Only the session knows them: they are in no shared catalog and in no log.
//!
//! They are in a schema of the session's own, `pg_temp_` with a number, so that the [full name](crate::full_name) of a
//! relation says whether it is temporary. A session has the schema from its first temporary relation on. In the search
//! path it comes first, unless the path mentions it; new relations do not go there by themselves.

use super::sequence::Sequence;
use super::table::Table;
use super::view::StoredView;
use crate::full_name::split;
use hotrow_storage::TableId;
use hotrow_sync::Arc;
use std::collections::{BTreeMap, BTreeSet};

/// The name by which statements mean the schema of their own session's temporary relations.
pub const ALIAS: &str = "pg_temp";

/// The beginning of the names of the schemas of temporary relations. Users cannot make schemas with such names.
const PREFIX: &str = "pg_temp_";

/// Whether the relation with this full name is temporary.
pub fn is_temporary(full_name: &str) -> bool {
    split(full_name).0.starts_with(PREFIX)
}

/// The committed temporary relations of a session, by their full names.
#[derive(Debug, Default)]
pub struct Temporary {
    schema: Option<String>,
    pub(super) tables: BTreeMap<String, Arc<Table>>,
    pub(super) sequences: BTreeMap<String, Arc<Sequence>>,
    pub(super) views: BTreeMap<String, Arc<StoredView>>,
    /// The literals in the expressions and conditions of the tables' indexes, as they are written in SQL.
    pub(super) literals: BTreeSet<String>,
    version: u64,
}

/// The temporary relations of a session that has none.
pub static NONE: Temporary = Temporary {
    schema: None,
    tables: BTreeMap::new(),
    sequences: BTreeMap::new(),
    views: BTreeMap::new(),
    literals: BTreeSet::new(),
    version: 0,
};

impl Temporary {
    /// Returns the schema of the session's temporary relations, or `None` if the session has never had any.
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// Returns a number that no other state of any session's temporary relations has. It is zero for a session that has
    /// never had any.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether the session has no temporary table that is committed.
    pub fn has_no_tables(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the literals that indexes of the session's temporary tables mention in their expressions and conditions.
    /// They stay in the keys of plans, as those of shared tables do.
    pub fn index_literals(&self) -> &BTreeSet<String> {
        &self.literals
    }

    /// Gives the session a schema for temporary relations. `number` is one that no other session has.
    pub fn make_schema(&mut self, number: u64) {
        self.schema = Some(format!("{PREFIX}{number}"));
        self.version = number;
    }

    /// Sets the number that [`version`](Self::version) returns.
    pub(super) fn set_version(&mut self, version: u64) {
        self.version = version;
    }

    /// Removes all temporary relations and the schema from this value. Returns the schema and the engine's numbers of
    /// the tables, which the caller drops, or `None` if the session has never had a temporary relation.
    pub fn clear(&mut self) -> Option<(String, Vec<TableId>)> {
        let Self { schema, tables, .. } = std::mem::take(self);
        Some((schema?, tables.values().map(|table| table.id).collect()))
    }
}
