//! COPY's three formats, read and written a piece at a time.
//!
//! [`CopyReader`] is fed with pieces that end anywhere and yields rows of raw fields. [`CopyWriter`] turns each row of
//! values into a piece. Neither allocates per field: the fields lie in the reader's buffer, where their escapes are
//! undone in place.

mod options;
mod read;
mod read_binary;
mod read_csv;
mod read_text;
mod write;

pub use options::{CopyFormat, CopyOptions};
pub use read::{CopyReader, CopyRow};
pub use write::CopyWriter;

#[cfg(test)]
mod tests;
