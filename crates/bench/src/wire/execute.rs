//! One statement on the server that a URL leads to.

use super::failure::explain;
use super::session::connect;
use crate::options::Url;
use tokio::runtime::Builder;

/// Connects to a server, and runs a statement there, however long it takes.
///
/// # Errors
/// The server's message, or the reason why there is no connection.
pub fn execute(url: &Url, statement: &str) -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let executed = runtime.block_on(async { connect(&url.config).await?.batch_execute(statement).await });
    executed.map_err(|error| explain(&error))
}
