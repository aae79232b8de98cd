//! `none`: no isolation at all, the floor that engines are measured from. For benchmarks only.
//!
//! **Source.** VLL §3.2 measures every engine as overhead over a system without concurrency control.
//!
//! **The idea.** Nothing is locked. Rows are read and written word by word with relaxed atomics, so that a reader
//! beside a writer sees some mixture of words, but the program stays well-defined. Lost updates are lost. A transaction
//! can undo its changes as long as no other transaction changed the same rows.
//!
//! **Invariants**
//!
//! 1. No row is ever borrowed: a read copies it, an update works on a copy and stores that.
//! 2. Indexes stay whole: linking and unlinking is storage's, and safe for any number of threads.
//! 3. The rows that are handed to a redo sink are as they are at commit, whichever transaction made them so. Replaying
//!    them gives the committed state again where transactions run one after the other, and nowhere else: nothing says
//!    which of two writers came later.

mod transaction;

pub use transaction::{NoIsolation, NoneConfig, NoneTransaction};
