//! A workload whose transactions can be sent as statements, and a client that sends them.

use super::failure::AttemptError;
use super::session::Session;
use super::table_reader::TableReader;
use hotrow_workloads::{ClientIdentity, Violation, Workload};
use std::future::Future;
use tokio_postgres::Row;

/// A workload whose transactions can be sent as statements.
pub(crate) trait OverWire: Workload {
    /// The client that sends the workload's transactions.
    type WireClient: WireClient;

    /// Returns the numbers of the tables in a database that has no others and has made them in the order of
    /// [`schemas`](Workload::schemas).
    fn tables(&self) -> Self::Tables;

    /// Returns the statements that each client prepares. Clients call them by their positions.
    fn statements(&self) -> Vec<String>;

    /// Returns a client on the network. Its transactions are those that the workload's own client in this identity has.
    fn wire_client(&self, identity: ClientIdentity) -> Self::WireClient;

    /// Compares the rows of the tables with what all clients since the load know to be committed.
    fn judge(&self, tables: &TableReader<'_>, clients: &[Self::WireClient]) -> Result<(), Violation>;
}

/// A client's stream of transactions. It remembers what its committed transactions did.
pub(crate) trait WireClient: Send + 'static {
    /// Draws the next transaction.
    fn draw(&mut self);

    /// Attempts the transaction that was drawn last, from its begin to its commit. After an error the caller rolls the
    /// transaction back, and may attempt it again.
    fn attempt(&mut self, session: &mut Session) -> impl Future<Output = Result<(), AttemptError>>;

    /// Notes that the transaction has committed. Returns its kind and whether it found what it was looking for, if the
    /// workload has several kinds.
    fn committed(&mut self) -> Option<(usize, bool)>;
}

/// Returns the row of a query by key, which must have found exactly one.
pub(super) fn one(rows: &[Row]) -> Result<&Row, AttemptError> {
    match rows {
        [row] => Ok(row),
        rows => Err(AttemptError::Unexpected(format!("a query of one row by its key found {}", rows.len()))),
    }
}

/// Accepts a change by key, which must have changed exactly one row.
pub(super) fn changed_one(rows: u64) -> Result<(), AttemptError> {
    match rows {
        1 => Ok(()),
        rows => Err(AttemptError::Unexpected(format!("a change of one row by its key changed {rows}"))),
    }
}
