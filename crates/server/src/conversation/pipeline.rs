//! The statements that a pipeline will execute: the messages from an Execute to the Sync, read ahead.
//!
//! Reading ahead executes and consumes nothing; each message is answered when its turn comes. Only messages that have
//! come are read, since a client may wait for answers before it sends more.

use crate::message::{Bind, Body, Execute, Input, Parse};
use hotrow_sql::{Session, Statement};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use std::collections::HashMap;

/// A statement with its parameters.
type Bound = (Arc<Statement>, Vec<Value<'static>>);

/// Returns the statements that the messages in the input buffer will execute after the present Execute and before the
/// Sync. Consumes no message.
///
/// Returns `None` if the Sync has not come, if nothing will be executed, if a message will fail, or if the messages are
/// unusual: an Execute limits the number of rows, executes a portal that was bound earlier, or executes a portal twice.
pub fn rest_of_pipeline(input: &Input, session: &Session) -> Option<Vec<Bound>> {
    // `None` stands for a statement that will have been closed.
    let mut statements: HashMap<&str, Option<Arc<Statement>>> = HashMap::new();
    let mut portals: HashMap<&str, Bound> = HashMap::new();
    let mut executed = Vec::new();
    for (kind, message) in input.ahead() {
        match kind {
            b'P' => {
                let Parse { name, text, types } = Parse::read(message, |oid| session.type_of_oid(oid)).ok()?;
                statements.insert(name, Some(session.foresee(text, &types).ok()?));
            }
            b'B' => {
                let mut bind = Bind::read(message).ok()?;
                let statement = match statements.get(bind.name) {
                    Some(known) => known.clone()?,
                    None => session.statement(bind.name).ok()?,
                };
                bind.check(statement.param_types()).ok()?;
                let mut values = Vec::new();
                bind.values(statement.param_types(), session.styles(), &mut values).ok()?;
                portals.insert(bind.portal, (statement, values));
            }
            b'E' => {
                let Execute { portal, max_rows: ..=0 } = Execute::read(message).ok()? else { return None };
                executed.push(portals.remove(portal)?);
            }
            b'C' => {
                let mut body = Body::new(message);
                if body.u8().ok()? == b'S' {
                    statements.insert(body.text().ok()?, None);
                } else {
                    portals.remove(body.text().ok()?);
                }
            }
            b'D' | b'H' => {}
            b'S' => return (!executed.is_empty()).then_some(executed),
            _ => return None,
        }
    }
    None
}
