//! COPY's three formats: text, CSV and binary, parsed and written piece by piece.
//!
//! The caller feeds a [`CopyReader`] with pieces of data, which may end anywhere, and gets rows of raw fields. A
//! [`CopyWriter`] makes a piece of data of each row. Neither allocates memory per field: the fields are slices of the
//! reader's buffer, in which it removes their escapes in place.

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
