//! Sockets: where clients connect, and the socket of one client.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `listener` | [`Listener`]: accepts connections at an address or at a file |
//! | `stream` | [`Stream`]: a client's socket with or without TLS; [`SocketWait`]: how its reads and writes wait |
//! | `presence` | whether a client is still connected, and whether it has sent something |
//! | `tls` | loads certificate and key |
//!
//! Nothing here knows the protocol's messages, sessions or execution models.

mod listener;
mod presence;
mod stream;
mod tls;

pub use listener::{ACCEPT_RETRY, Listener, ListenerStopper};
pub use presence::{has_input, has_left};
pub use stream::{SocketWait, SocketWaiter, Stream};
pub use tls::load_tls;
