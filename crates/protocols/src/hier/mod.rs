//! Strict two-phase locking in a hierarchy, without and with speculative lock inheritance: `hier`, `sli`.
//!
//! **Paper.** Johnson, Pandis, Ailamaki: Improving OLTP Scalability using Speculative Lock Inheritance. §3 describes
//! the lock manager of Shore-MT, which is `hier`; §4 the inheritance, which makes it `sli`.
//!
//! **The idea.** The database, its tables, their pages and their rows are a hierarchy. A transaction that locks a row
//! first announces so with intention locks on all nodes above it. So a transaction can also lock a table or a page as a
//! whole. The price is that all transactions meet at the locks of the few nodes high in the hierarchy. These locks are
//! compatible, but their queues are protected by latches, and there the threads of many cores wait for each other.
//! Under inheritance, a transaction that ends passes such locks on to the next transaction of its thread, and the lock
//! manager learns nothing of it. A transaction that needs a conflicting lock takes them away.
//!
//! | paper | code |
//! | --- | --- |
//! | lock modes, compatibility (§3.1) | [`mode`] |
//! | lock head, its latch and request queue (§3.2) | [`head`]; the latch is that of the bucket, see below |
//! | lock request; its status, changed by compare-and-swap (§3.2, §4.1) | [`request`] |
//! | lock manager (§3.2) | [`manager`]; intention locks are taken by the [`locker`] |
//! | transaction's private list, youngest first at release (§3.2) | [`locker`]; nodes above rows in [`higher`] |
//! | agent thread, its list of inherited requests (§4.1) | [`agents`], [`inheritance`] |
//! | the five criteria (§4.2) | [`Locker::release_all`](locker::Locker), [`Request::pass_on`](request::Request) |
//! | hot: share of recent acquires that met latch contention (§4.2) | [`Head::note`](head::Head) |
//! | invalidation, orphans, deadlocks (§4.1, §4.3) | [`Request::admits`](request::Request), [`inheritance`] |
//!
//! # What is locked where
//!
//! A *page* is a segment of a table's memory, and the rows in it are those whose records lie there. The children of a
//! table are its pages, and what has no record: absent keys, gaps and unique keys, as
//! [`shared::gaps`](crate::shared::gaps) names them. To lock a row, a transaction looks its record up, locks the page,
//! locks the row, and looks again.
//!
//! A lock on a page as a whole covers the rows of the page whose inserts have committed. A transaction that inserts a
//! row holds the row's own lock until it commits, and no lock on the page. So the row's own lock is what a reader waits
//! for while the insert is not committed, even a reader that has the page.
//!
//! **Escalation.** If a transaction holds many locks on rows of a page, it locks the page as a whole and releases them.
//! At four times as many locks in a table, it locks the table. It does so only if no other transaction is in the way;
//! otherwise it tries again after as many more. A row's lock is released only if the node covers the row.
//!
//! **FOR UPDATE** takes the update mode: plain readers go on, and the transaction waits for them when it updates the
//! row.
//!
//! # Invariants
//!
//! 1. The modes of all requests in a head's queue are pairwise compatible, inherited ones included.
//! 2. If a transaction holds a lock in a mode, it holds the node above in the intention mode of that, or stronger,
//!    until it ends or locks a node above as a whole.
//! 3. A waiting request conflicts with no inherited mode. A request that is about to wait takes conflicting inherited
//!    modes away and marks all requests in the queue as awaited, and a request that is awaited is not passed on.
//! 4. The wait-for graph has all edges ([`wait_graph`](crate::shared::wait_graph)). Edges lead to transactions that
//!    hold a lock or wait for it. By 3, no edge can come into being when an inherited lock is reclaimed.
//!
//! # Why inheritance changes no outcome
//!
//! Reclaiming is acquiring. When a transaction reclaims a request in a mode, the request stands in the queue with at
//! least that mode. By invariant 1 the lock could be granted at that moment; by 3 no waiting request conflicts with it.
//! So a lock manager that knew nothing of inheritance would have granted the same request at the same moment. A
//! transaction holds a reclaimed lock only in the mode that it has asked for: the rest of an inherited mode stays with
//! the request, and others may take it away. So inheritance closes no cycle of waits (§4.3). If a transaction asks for
//! more than was inherited, the inherited request is released first: it does not wait with a lock that it has not asked
//! for.
//!
//! **An idle agent keeps no transaction waiting**, and one whose thread has ended neither: taking an inherited lock
//! away needs nothing of it.
//!
//! **Locks on rows are not inherited**, as in the paper. Nor are they under other engines: where a thread locks the
//! same rows again, they are in its cache, and what inheritance could save is a small part of the transaction.
//!
//! # Isolation levels
//!
//! At **read committed** a row's shared lock is released when the transaction goes on to its next call; gaps are not
//! locked to be read. Intention locks stay to the end. At **serializable** all locks stay to the end.
//!
//! # Departures
//!
//! 1. The latch of a head is that of its bucket. Locks above the rows have a table of buckets of their own, which has
//!    many more buckets than such locks exist, so that each has a latch for itself.
//! 2. Deadlocks are found in the wait-for graph that other engines have, too. Shore-MT has Dreadlocks.
//! 3. An agent's thread may run several transactions at a time, in a pool or in the server. The first one that begins
//!    takes all inherited requests, and each one that ends leaves its own.
//! 4. A transaction that is rolled back passes its locks on as one that commits.
//! 5. An inherited request keeps its strongest mode: a transaction that reads in a table reclaims the intention shared
//!    part of an inherited intention exclusive lock, and the next one may use the rest.
//! 6. Inheritance lasts as long as it is used: a reclaimed lock counts as hot as when the lock manager granted it last.
//! 7. An inherited lock is kept for up to 16 transactions that do not use it: the momentum that §4.4 considers for
//!    workloads of several kinds of transactions. With a momentum of zero the first one releases it, as in the paper.
//!    Transactions here take microseconds. So threads that let go of the locks of other kinds of transactions, and soon
//!    ask for them again, would meet at the latches nearly as often as without inheritance.

mod agents;
mod head;
mod higher;
mod inheritance;
mod lock;
mod locker;
mod manager;
mod mode;
mod request;
mod transaction;
mod variants;

pub use transaction::{Hierarchical, HierarchicalLocking, HierarchicalTransaction, HierarchyConfig};
pub use variants::{Inherited, Released, Variant};

#[cfg(all(test, any(loom, shuttle)))]
mod model;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
