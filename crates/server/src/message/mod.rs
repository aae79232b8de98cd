//! The messages of PostgreSQL's protocol, as bytes.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `input` | [`Input`]: the bytes received from a client, cut into messages |
//! | `frontend` | the contents of clients' messages, read field by field |
//! | `extended` | [`Parse`], [`Bind`] and [`Execute`] messages |
//! | `backend` | the server's messages, written into an output buffer |
//!
//! Reading checks every length and every text, so no bytes of a client can panic the server. Nothing here calls a
//! session or a socket; [`Input::fill`] reads from whatever stream it is given.

pub mod backend;
mod extended;
mod frontend;
mod input;

pub use backend::RowShape;
pub use extended::{Bind, Execute, Parse};
pub use frontend::{Body, Formats, malformed};
pub use input::{Frame, Input};
