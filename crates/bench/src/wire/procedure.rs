//! A procedure on a server: made, called, and dropped.

use super::failure::explain;
use super::target::Target;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;

/// A procedure that a server runs for a workload, in the SQL that Hotrow and PostgreSQL have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerProcedure {
    /// The name of the procedure.
    pub name: &'static str,
    /// The name with the types of the input arguments.
    pub signature: &'static str,
    /// The statement that makes the procedure.
    pub create: &'static str,
    /// The CALL statement, with a parameter for each input argument.
    pub call: &'static str,
}

impl ServerProcedure {
    /// Makes the procedure on a server.
    ///
    /// # Errors
    /// If the server has a procedure with this signature already, or refuses the statement.
    pub(super) fn create_on(&self, target: &Target, runtime: &Runtime) -> Result<(), String> {
        let name = self.name;
        runtime.block_on(target.admin.batch_execute(self.create)).map_err(|error| match error.code() {
            Some(code) if *code == SqlState::DUPLICATE_FUNCTION => {
                format!("the server has a procedure {name} already: drop it, or give --replace-tables")
            }
            _ => format!("{}; it was asked for procedure {name}", explain(&error)),
        })
    }

    /// Drops the procedure with this signature, if the server has one.
    ///
    /// # Errors
    /// If the server refuses.
    pub(super) fn drop_on(&self, target: &Target, runtime: &Runtime) -> Result<(), String> {
        let sql = format!("DROP PROCEDURE IF EXISTS {}", self.signature);
        runtime.block_on(target.admin.batch_execute(&sql)).map_err(|error| explain(&error))
    }
}
