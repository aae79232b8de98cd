//! LISTEN, UNLISTEN and NOTIFY.

use super::cursor::Cursor;
use crate::SqlError;
use crate::notifications::Action;

/// Reads LISTEN and UNLISTEN.
pub(super) fn channels(cursor: &mut Cursor<'_>) -> Result<Action, SqlError> {
    if cursor.take("listen") {
        return Ok(Action::Listen(cursor.name()?));
    }
    cursor.expect("unlisten")?;
    if cursor.take_symbol(b'*') { Ok(Action::UnlistenAll) } else { Ok(Action::Unlisten(cursor.name()?)) }
}

/// Reads NOTIFY. Returns the channel and the payload.
pub(super) fn notify(cursor: &mut Cursor<'_>) -> Result<(String, String), SqlError> {
    cursor.expect("notify")?;
    let channel = cursor.name()?;
    let payload = if cursor.take_symbol(b',') { cursor.string()? } else { String::new() };
    Ok((channel, payload))
}
