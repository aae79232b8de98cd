//! The part of a transaction's interface for callers that make access sets, or add to them.

use crate::Accesses;
use hotrow_storage::{TableId, TableSchema};
use hotrow_sync::Arc;

/// The part of a transaction's interface for a caller that makes access sets, because the engine [needs
/// them](crate::Capabilities::needs_accesses). For other engines `schema_of` returns `None`, and `add_missing` adds
/// nothing. A procedure [announces](Self::announce) rows whose keys it learns while it runs.
pub trait Planned {
    /// Returns a table's definition, from which the caller learns how to make keys; `None` if there is no such table,
    /// or no transaction runs.
    fn schema_of(&mut self, table: TableId) -> Option<Arc<TableSchema>>;

    /// Adds the rows, ranges and entries that the transaction accessed outside its access set, so that the set of the
    /// next attempt contains them. They are available after [`Abort::OutsidePlan`](crate::Abort::OutsidePlan), until
    /// [`abort`](crate::Transaction::abort).
    fn add_missing(&mut self, accesses: &mut Accesses);

    /// Tells the engine which rows the transaction is about to insert, once their keys are known. If it helps the
    /// engine to ask for the locks of all these rows together, it calls `add`, which adds the rows to a set. The call
    /// is a hint: it changes no row, and has no error.
    fn announce(&mut self, add: &mut dyn FnMut(&mut Accesses));
}
