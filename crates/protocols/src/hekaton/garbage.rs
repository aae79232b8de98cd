//! Versions that have ended, and when they are collected.
//!
//! A transaction that ends versions puts them into the backlog of its slot, and looks every few transactions which of
//! these no transaction can want any more: those are unlinked from all indexes and retired. So collecting needs no
//! thread of its own, is done by the transactions that make it necessary, and keeps up with them: each looks at more
//! versions than it ended.
//!
//! A backlog is in the order of the versions' ends. A version that is first, and that a transaction still reads, is
//! moved to the versions that are *held* by the transactions that read at that time. So a long reader keeps the
//! versions that it can see, but none that began and ended since, and costs other transactions no time.
//! [`snapshots`](super::snapshots) says which versions stay.
//!
//! **Memory.** The memory of collected versions is freed when all transactions have left the epochs in which they might
//! have met them. A long scan goes over to the present epoch after each part of its range, up to 256 keys, unless it
//! depends on a transaction that is about to commit.
//!
//! **Short-lived clients collect.** The sweeper stays in the slot too: the next transaction object that runs there goes
//! on where the last one was. Otherwise clients that end after a few transactions, or connect for each of them, would
//! never reach the transaction that looks at the slots.
//!
//! **Idle clients keep nothing.** Backlogs belong to the slots, which all transactions see. Each time that a
//! transaction looks after its own backlog it visits another slot, one after the other, and collects there what the
//! owner, had it run meanwhile, would have collected by now. If much is left there, the next transactions of the
//! visitor go on with that slot. A slot that is as busy as the visitor's is so left alone: its versions are in its own
//! core's caches.
//!
//! **Invariant.** The transaction that ended a version puts it into a backlog, once. The transaction that takes it out,
//! under the latch, alone unlinks and retires it.

use super::clock::{Clock, Timestamp};
use super::database::Database;
use super::record;
use super::snapshots::{Life, Snapshot, Verdict, View};
use super::txn_id::SlotNumber;
use super::words::{Begin, Words};
use hotrow_storage::{Garbage, Guard, TableId, VersionPtr};
use hotrow_sync::Latch;
use std::collections::{BTreeMap, VecDeque};

/// The number of transactions after which one looks again at what all transactions may read; where there are many slots
/// to look at, it is larger.
const LOOK_EVERY: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 16 };
const SLOTS_TO_A_TRANSACTION: u32 = 16;

/// The number of versions from which on a transaction that has ended as many looks at its end what may be collected.
const MANY: usize = 256;

/// The number of versions that a sweep looks at beside twice as many as the transaction has ended.
const LOOKS: usize = 64;

/// The greatest number of versions of one table that are retired together.
const RETIRED_TOGETHER: usize = 64;

/// The number of entries for which a list keeps room for the next transactions.
const KEPT: usize = 1024;

/// A version that was replaced or deleted, with its table, and its begin and end timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub table: TableId,
    pub version: VersionPtr<Words>,
    pub life: Life,
}

/// The versions that transactions of one slot have replaced or deleted, and that have not been collected.
#[derive(Default)]
pub(super) struct Backlog {
    /// The versions that have not been looked at yet, in the order of their ends.
    ended: VecDeque<Ended>,
    /// The versions that a transaction still reads, by the time at which it reads them, the earliest if there are
    /// several. While that transaction reads, they are not looked at again.
    held: BTreeMap<Timestamp, Vec<Ended>>,
    /// The versions that were held by transactions that have ended since.
    released: Vec<Vec<Ended>>,
}

impl Backlog {
    /// Returns the number of versions in the backlog, and how many of them a transaction read when they were looked at.
    pub fn len(&self) -> (usize, usize) {
        let held = self.held.values().chain(&self.released).map(Vec::len).sum();
        (self.ended.len() + held, held)
    }

    /// Moves the versions that no transaction can want to `dead`. It looks at the first `looks` versions that ended at
    /// `until` at the latest, and at as many that were held. Returns whether a transaction that looks again may find
    /// more.
    fn collect(&mut self, view: &View, until: Timestamp, looks: usize, dead: &mut Vec<Ended>) -> bool {
        let mut looked = 0;
        while looked < looks {
            let Some(&first) = self.ended.front().filter(|first| first.life.end <= until) else { break };
            match view.verdict(first.life) {
                Verdict::TooEarly => break,
                Verdict::Held(by) => self.held.entry(by).or_default().push(first),
                Verdict::Dead => dead.push(first),
            }
            self.ended.pop_front();
            looked += 1;
        }
        if self.ended.capacity() > KEPT && self.ended.len() < KEPT {
            self.ended.shrink_to(KEPT);
        }
        self.released.extend(self.held.extract_if(.., |&by, _| !view.has_reader_at(by)).map(|(_, versions)| versions));
        for _ in 0..looks {
            let Some(versions) = self.released.last_mut() else { break };
            if let Some(last) = versions.pop() {
                match view.verdict(last.life) {
                    // The view is older than the transaction that held it.
                    Verdict::TooEarly => {
                        versions.push(last);
                        return looked == looks;
                    }
                    Verdict::Held(by) => self.held.entry(by).or_default().push(last),
                    Verdict::Dead => dead.push(last),
                }
            } else {
                self.released.pop();
            }
        }
        looked == looks || !self.released.is_empty()
    }
}

/// The work of garbage collection that a transaction does after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The transaction collects from the backlog of its own slot.
    Sweep,
    /// The transaction first reads from all slots which versions are still needed. Then it collects from its own
    /// backlog, and from that of another slot.
    LookAndSweep,
}

/// Collects the versions that no transaction can read any more. [`Shared::sweep`](super::shared::Shared::sweep) lists
/// the steps in order.
pub(super) struct Sweeper {
    view: View,
    /// The time before which versions were collectable at the look before the last. Transactions that are awake have
    /// collected them since.
    overdue: Timestamp,
    transactions: u32,
    /// The versions that the running transaction has ended.
    ended: Vec<Ended>,
    /// Whether the transaction's own backlog may hold more to collect.
    is_behind: bool,
    /// The slot whose backlog was visited last.
    visited: SlotNumber,
    /// Whether the visited slot may hold more to collect, so that the next visit is to it again.
    stays: bool,
    dead: Vec<Ended>,
}

impl Default for Sweeper {
    fn default() -> Self {
        Self {
            view: View::default(),
            overdue: Timestamp::LOADED,
            transactions: 0,
            ended: Vec::new(),
            is_behind: false,
            visited: SlotNumber::FIRST,
            stays: false,
            dead: Vec::new(),
        }
    }
}

impl Sweeper {
    /// Returns the sweeper without its buffers, as it is stored while its slot is free.
    pub fn put_away(self) -> Self {
        Self { ended: Vec::new(), dead: Vec::new(), ..self }
    }

    /// Adds a version that the transaction has ended.
    pub fn push(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// Counts a transaction that has just ended, and returns the collection that is due after it: `None`, a sweep, or a
    /// sweep with a [look around](Self::look_around) before it. `slots` is the number of slots.
    #[inline]
    pub fn count_transaction(&mut self, slots: u32) -> Option<Due> {
        self.transactions += 1;
        let every = LOOK_EVERY.max(slots / SLOTS_TO_A_TRANSACTION);
        if self.transactions >= every || self.ended.len() >= MANY {
            self.transactions = 0;
            return Some(Due::LookAndSweep);
        }
        let is_idle = self.ended.is_empty() && !self.is_behind && !self.stays;
        (!is_idle).then_some(Due::Sweep)
    }

    /// Reads from the slots again which versions the transactions may read. `slots` is as in [`View::refresh`].
    pub fn look_around<S: Iterator<Item = Snapshot>>(&mut self, clock: &Clock, slots: impl FnOnce() -> S) {
        self.overdue = self.view.until();
        self.view.refresh(clock, slots);
    }

    /// Puts the versions that the transaction has ended into the backlog of its slot. Then it collects there, if `due`
    /// asks for a new look at the slots, or if the last sweep left versions that may be collectable.
    pub fn sweep(&mut self, backlog: &Latch<Backlog>, due: Due) {
        let looks = 2 * self.ended.len() + LOOKS;
        let mut backlog = backlog.lock();
        debug_assert!(backlog.ended.back().zip(self.ended.first()).is_none_or(|(a, b)| a.life.end <= b.life.end));
        backlog.ended.extend(self.ended.drain(..));
        self.ended.shrink_to(KEPT);
        if due == Due::LookAndSweep || self.is_behind {
            self.is_behind = backlog.collect(&self.view, self.view.until(), looks, &mut self.dead);
        }
    }

    /// Returns the slot whose backlog the caller visits after a sweep, or `None` if no visit is due. A visit is due
    /// after [`Due::LookAndSweep`], and whenever the last visit may have left versions to collect. In the latter case
    /// the slot is the same again. Otherwise it is the next one: `after` returns the slot that follows a given slot.
    /// The slot may be the caller's own, which needs no visit.
    pub fn next_visit(&mut self, due: Due, after: impl FnOnce(SlotNumber) -> SlotNumber) -> Option<SlotNumber> {
        if due == Due::Sweep && !self.stays {
            return None;
        }
        if !self.stays {
            self.visited = after(self.visited);
        }
        self.stays = false;
        Some(self.visited)
    }

    /// Collects from the backlog of another slot the versions that its owner, if it ran, would have collected by now.
    /// Does nothing if the latch of the backlog is held.
    pub fn visit(&mut self, backlog: &Latch<Backlog>) {
        self.stays = backlog
            .try_lock()
            .is_some_and(|mut backlog| backlog.collect(&self.view, self.overdue, LOOKS, &mut self.dead));
    }

    /// Unlinks the collected versions from all indexes, and appends them to `garbage`.
    pub fn unlink(&mut self, database: &Database, guard: Guard<'_>, garbage: &mut Vec<Garbage>) {
        // The versions of one table together.
        self.dead.sort_unstable_by_key(|ended| ended.table);
        for of_table in self.dead.chunk_by(|one, other| one.table == other.table) {
            // The versions of a dropped table went with it.
            let Some(table) = database.table(guard, of_table[0].table) else { continue };
            for together in of_table.chunks(RETIRED_TOGETHER) {
                let versions: Vec<_> =
                    together.iter().map(|ended| record::deref(ended.version, guard, table)).collect();
                table.unlink_all(guard, &versions, garbage);
                garbage.push(record::garbage(table, together.iter().map(|ended| ended.version).collect()));
            }
        }
        self.dead.clear();
        self.dead.shrink_to(KEPT);
    }
}

/// Returns the life of a version that began at `begin` and that a transaction ended at `end`.
pub(super) fn life(begin: Begin, end: Timestamp, is_last: bool) -> Life {
    let begin = match begin {
        Begin::At(time) => time,
        // Its maker is about to say when: some time before.
        Begin::By(_) => Timestamp(0),
    };
    Life { begin, end, is_last }
}
