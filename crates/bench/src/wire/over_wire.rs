//! A workload whose transactions can be sent as statements, and a client that sends them.

use super::failure::AttemptError;
use super::procedure::ServerProcedure;
use super::session::Session;
use super::table_reader::TableReader;
use hotrow_workloads::{ClientIdentity, Violation, Workload};
use std::future::Future;
use tokio_postgres::Row;

/// A workload whose transactions can be sent as statements.
pub(crate) trait OverWire: Workload {
    /// The procedure that runs the workload's transactions on the server, if there is one. With `--by call` each client
    /// prepares only the procedure's CALL, which is then statement 0.
    const PROCEDURE: Option<ServerProcedure> = None;

    /// The client that sends the workload's transactions.
    type WireClient: WireClient;

    /// Returns the numbers that the workload's tables have in a database that made them first, in the order of
    /// [`schemas`](Workload::schemas).
    fn tables(&self) -> Self::Tables;

    /// Returns the statements that each client prepares. A client names a statement by its position in this list.
    fn statements(&self) -> Vec<String>;

    /// Returns a client that sends transactions over the network. They are the same as those of the workload's own
    /// client with this identity.
    fn wire_client(&self, identity: ClientIdentity) -> Self::WireClient;

    /// Checks the rows of the tables: they must show the effects of the transactions that all clients since the load
    /// have committed.
    fn judge(&self, tables: &TableReader<'_>, clients: &[Self::WireClient]) -> Result<(), Violation>;
}

/// A client that sends its transactions over the network, and remembers the effects of those that have committed.
pub(crate) trait WireClient: Send + 'static {
    /// Draws the next transaction.
    fn draw(&mut self);

    /// Attempts the transaction that was drawn last, from its begin to its commit. [`Session::by`] says in which way it
    /// is sent. After an error the caller rolls the transaction back, and may attempt it again.
    fn attempt(&mut self, session: &mut Session) -> impl Future<Output = Result<(), AttemptError>>;

    /// Records that the transaction that was drawn last has committed. If the workload has several kinds, returns the
    /// kind of the transaction, and whether it found the rows that it asked for.
    fn committed(&mut self) -> Option<(usize, bool)>;
}

/// Returns the only row of a query by key.
///
/// # Errors
/// If the query has found no row, or several.
pub(super) fn one(rows: &[Row]) -> Result<&Row, AttemptError> {
    match rows {
        [row] => Ok(row),
        rows => Err(AttemptError::Unexpected(format!("a query of one row by its key found {}", rows.len()))),
    }
}

/// Checks that a change by key has changed exactly one row.
///
/// # Errors
/// If it has not.
pub(super) fn changed_one(rows: u64) -> Result<(), AttemptError> {
    match rows {
        1 => Ok(()),
        rows => Err(AttemptError::Unexpected(format!("a change of one row by its key changed {rows}"))),
    }
}
