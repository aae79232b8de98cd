//! COPY's three formats, read and written a piece at a time.
//!
//! [`CopyReader`] is fed with pieces that end anywhere and yields rows of raw fields; [`CopyWriter`] turns rows of
//! values into one piece each. Neither allocates per field: fields lie in the reader's buffer, undone of their escapes
//! in place.

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
