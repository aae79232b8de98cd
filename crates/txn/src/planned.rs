//! What a caller that makes access sets asks of a transaction.

use crate::Accesses;
use hotrow_storage::{TableId, TableSchema};
use hotrow_sync::Arc;

/// What a caller asks that makes access sets, of the transactions of an engine that [needs
/// them](crate::Capabilities::needs_accesses). Other engines know nothing here.
pub trait Planned {
    /// Returns a table's definition, so that the caller knows how keys are made; none if there is no such table, or no
    /// transaction runs.
    fn schema_of(&mut self, table: TableId) -> Option<Arc<TableSchema>>;

    /// Adds what the transaction touched outside its access set, so that the set of the next attempt has it: after
    /// [`Abort::OutsidePlan`](crate::Abort::OutsidePlan), until [`abort`](crate::Transaction::abort).
    fn add_missing(&mut self, accesses: &mut Accesses);
}
