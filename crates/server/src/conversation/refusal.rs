//! The errors for clients that the server does not serve.

use crate::clients::SessionLimit;
use crate::message::backend;
use bytes::BytesMut;
use hotrow_sql::{SqlError, state};
use socket2::Socket;
use std::io::Write;

/// Sends error 53300 to a client that the server does not serve, without reading from it. The caller closes the socket.
pub fn turn_away(mut socket: &Socket) {
    let mut out = BytesMut::new();
    backend::error(&mut out, "FATAL", &too_many_clients());
    // The client is turned away whether it takes the message or not.
    let _ = socket.write_all(&out);
}

/// Returns the error (53300) for a client that gets no session because of `limit`.
pub fn no_session(limit: SessionLimit, administrator: &str) -> SqlError {
    match limit {
        SessionLimit::Full => too_many_clients(),
        SessionLimit::Reserved => reserved(administrator),
    }
}

fn too_many_clients() -> SqlError {
    SqlError::new(state::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
        .hint("Raise the server's limit on connections, or use a pool of connections.")
}

fn reserved(administrator: &str) -> SqlError {
    let message = "remaining connection slots are reserved for non-replication superuser connections";
    SqlError::new(state::TOO_MANY_CONNECTIONS, message)
        .hint(format!("They are for the user \"{administrator}\": --administrator and --reserved-connections."))
}
