//! Tables of versions: for protocols that never change a row in place, and keep a row's past while somebody may want it.
//!
//! The unit is the *version*: a protocol's header, a next word for each index of the table, and a row that does not change any
//! more, in one allocation:
//!
//! ```text
//! | header | next word for each index | length of the variable part, if any | fixed part of the row | variable part |
//! ```
//!
//! A header of 16 bytes, a hash index and a row of 32 bytes make 56: the words and the columns are one cache line. No key is
//! kept: it is made from the row.
//!
//! Every version is linked into every index, so an index entry *is* the link, and there is nothing else to keep in step or to
//! collect. The lists and why they need no latch are in [`links`], the hash index in [`hash`], the ordered one in [`ordered`].
//!
//! **The life of a version.** A [`Draft`] is one that nobody else knows; making it is the only way to write a row. Published, it is
//! linked into one index after the other. When its protocol finds that nobody can want it, it is unlinked from all of them,
//! and retired through the epochs, many at a time. What a version means, who sees it, and when nobody can want it is the protocol's
//! affair; storage only asks that a version that is unlinked is not looked for.
//!
//! **Absent** from here: uniqueness (versions of one key are many) and the order of versions in time. What is promised is the order
//! of linking: of two versions of one key in one index, the one linked later comes first.

mod draft;
mod format;
mod hash;
mod index;
mod links;
mod memory;
mod ordered;
mod table;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod version;

pub use draft::Draft;
pub use format::{VersionFormat, VersionHeader};
pub use index::{Equal, VersionIndex};
pub use memory::VersionMemory;
pub use ordered::{AnchorRef, Chain};
pub use table::VersionTable;
pub use version::{VersionPtr, VersionRef};
