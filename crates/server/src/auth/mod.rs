//! The authentication of clients: users with their passwords, and the proof of a password by SCRAM-SHA-256.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `passwords` | [`Passwords`]: users and their verifiers, from a file or a list |
//! | `scram` | verifiers and the server's side of the exchange, as text in and text out |
//! | `random` | random bytes of the system |
//!
//! The server keeps no password, only verifiers. An attempt as an unknown user takes the same steps and the same time
//! as one with a wrong password, so a client cannot find out which users exist. Nothing here reads or writes a socket.

mod passwords;
mod random;
mod scram;

pub use passwords::Passwords;
pub use random::random;
pub use scram::{Exchange, MECHANISM, Malformed};
