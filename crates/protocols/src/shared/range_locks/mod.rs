//! Locks on ranges of keys.
//!
//! **Source.** *VLL: a lock manager redesign for main memory database systems*, §2.7 (VLLR).
//!
//! | file | what |
//! | --- | --- |
//! | [`prefix`] | ranges of keys as sets of bit-string prefixes |
//! | [`counters`] | the counters: VLLR's lock state |
//! | [`subtrees`] | the same where every bit is a level, six levels at a step |
//! | [`managers`] | lock managers for ranges, to be compared: VLLR, with queues, and record by record |
//!
//! **How an engine uses it.** It keeps [`PrefixCounters`] where it keeps its other counters: behind the critical
//! section in which locks are requested. A transaction gathers its prefixes in [`PrefixLocks`] beforehand: for a scan
//! those of its range, shared, by [`KeySpace::range`]; for an entry that is linked or unlinked its own, exclusive, by
//! [`KeySpace::point`]. Then no entry comes or goes in a range that is scanned.
//!
//! An engine that keeps a list of locked ranges uses prefixes as places in which it looks for them:
//! [`KeySpace::neighbours`] are those of a range.

mod counters;
pub mod managers;
mod prefix;
mod subtrees;

pub(crate) use counters::{Counted, PrefixCounters, PrefixLocks};
pub(crate) use prefix::{BitRange, Cover, Granularity, KeySpace};
