//! Strict two-phase locking over one lock table, a deadlock policy each: `2pl-waitdie`, `2pl-timeout`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §4, the baselines.
//!
//! **The idea.** A transaction locks each row as it comes to it, shared to read and exclusive to write, and keeps its locks
//! until it ends. Rows are changed in place; a log undoes them. What happens when a lock is not free is the deadlock
//! policy's choice, the only thing in which the engines differ.
//!
//! | paper | code |
//! | --- | --- |
//! | lock table, latch per bucket, no intention locks | [`shared::lock_table`](crate::shared::lock_table) |
//! | memory from thread-local pools only | the requester's own list of held names; requests inside the head's cache line |
//! | wait die | [`WaitDie`] |
//! | timestamps from the core's own counter | [`WaitDie::begin`] |
//!
//! # Phantoms
//!
//! The paper locks records only. Serializable transactions here also lock what is *not* there.
//!
//! **Absent keys.** A lock is a name, not a record: reading an absent key locks its name, and so keeps inserters out.
//!
//! **Ranges.** An ordered index is a sequence of keys with gaps between them; a gap is named by the key above it, the
//! last one by the index. A scan locks shared the gap below each entry that it passes, and the first gap beyond its
//! range. Linking an entry takes the *insert* mode of the gap that it falls into, unlinking one that of the entry's own
//! gap (the two gaps beside it become one). Insert and shared conflict; two inserters do not. An entry whose insert has
//! not committed may go again, and then its gap merges with the next: so wherever such an entry names a gap, scanners and
//! inserters alike take the gaps of all entries up to the first whose insert has committed.
//!
//! Invariants, and why they hold:
//!
//! 1. *The end of a scanner's gaps stays.* The last gap that a scan locks is that of a committed entry (or the index's
//!    end). Only a committed delete unlinks that entry, and it needs the insert mode of the gap, which the scan excludes.
//! 2. *A scanned gap stays empty while its scanner runs.* An inserter links its entry, then looks which gaps that falls
//!    into, takes the insert mode of those, and looks again until they have not changed. A scanner locks its gaps, then
//!    reads the entries again until they have not changed. If the link came before the scanner's last look, that meets
//!    the entry and waits for its row. Otherwise the inserter's last look, which comes after its link, begins below the
//!    committed entry of 1 and ends at the first committed one: at that entry, or at one before it that is in the
//!    scanner's gaps too, or at one that was inserted after the scanner's last look, which cannot have committed, by
//!    the same argument. In each case the inserter asks for a gap that the scanner holds, and waits.
//! 3. *One's own insert does not open a scanned gap to others.* Until it ends, its entry is uncommitted: those who insert
//!    below it go on to the gaps above, which its scan holds. A scan that breaks off at an entry of its own transaction
//!    locks on to the first committed one, as the entry may be rolled back to a savepoint.
//!
//! A table without an ordered index has [`STRIPES`] pseudo-gaps, chosen by the key's hash: a scan of everything locks
//! all of them. A secondary hash index has one gap per key: the key's.
//!
//! **Unique indexes.** Whoever adds or takes away a row with certain columns of a unique index locks the name of those
//! columns exclusively; so whether another row has them is settled while the lock is held.
//!
//! # Read committed
//!
//! A read's lock is released when the transaction goes on to its next call (cursor stability); gaps are not locked. Writes are as
//! in serializable, announcing themselves to gaps included, since others may be serializable.
//!
//! # Departures
//!
//! Requests are not objects linked into the head from a pool: a granted request is 8 bytes in the head's own cache line,
//! and the pool holds what its owner needs to release it. One line less is touched per lock.
//!
//! Wait-die compares timestamps of the process's clock, taken at the first try and kept for the retries: on a machine with one
//! invariant counter for all cores the two are the same. A request also waits for conflicting requests before it in the
//! queue, so it must be older than those, too.

mod gaps;
mod policy;
mod scan;
mod transaction;

pub use policy::{Policy, Timeout, TimeoutConfig, WaitDie, WaitDieConfig};
pub use transaction::{TwoPhase, TwoPhaseConfig, TwoPhaseTransaction};

/// Pseudo-gaps of a table without an ordered index.
pub(crate) const STRIPES: u64 = 16;
