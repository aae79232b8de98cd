//! Tables of versions: for protocols that never change a row in place, and keep a row's past while a transaction may
//! need it.
//!
//! The unit is the *version*: a protocol's header, a next word for each index of the table, and a row that never
//! changes, in one allocation:
//!
//! ```text
//! | header | next word for each index | length of the variable part, if any | fixed part of the row | variable part |
//! ```
//!
//! A header of 16 bytes, the word of one hash index and a row of 32 bytes make 56 bytes: the words and the columns fit
//! into one cache line. No key is stored: it is made from the row.
//!
//! Every version is linked into every index, so an index entry *is* the link, and there is nothing else to keep
//! consistent or to collect. The lists, and why they need no latch, are in [`links`], the hash index in [`hash`], the
//! ordered index in [`ordered`].
//!
//! **The life of a version.** A [`Draft`] is a version that no other thread knows; making one is the only way to write
//! a row. Once published, the version is linked into one index after the other. When its protocol finds that no
//! transaction can need it, it is unlinked from all indexes, and retired through the epochs, many versions at a time.
//! The protocol decides what a version means, which transactions see it, and when none can need it. Storage only
//! requires that an unlinked version is not looked for.
//!
//! **Absent** from here: uniqueness (one key has many versions) and the order of versions in time. Only the order of
//! linking is guaranteed: of two versions of one key in one index, the one linked later comes first.

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
