//! Versions that have ended, and when they are collected.
//!
//! Whoever ends versions queues them, and after each of its transactions looks at a few: those that nobody can want any more are
//! unlinked from all indexes and retired. So collecting needs no thread of its own, is done by those that make it necessary, and
//! keeps up with them: each transaction looks at more versions than it ended.
//!
//! A queue is in the order of the versions' ends. What stands first and is still read by somebody goes to those that are *held*, so that
//! a long reader keeps what it can see, and nothing that came and went since.

use super::Shared;
use super::clock::Timestamp;
use super::record;
use super::snapshots::{Life, Verdict, View};
use super::words::{Begin, Words};
use hotrow_storage::{Garbage, Guard, TableId, Tables, VersionPtr, VersionTable};
use std::collections::VecDeque;

/// After so many transactions a queue's owner looks again at what everybody may read.
const LOOK_EVERY: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 16 };

/// Versions that a transaction looks at beside twice as many as it ended.
const LOOKS: usize = 8;

/// Orphans that are taken over at once.
const ORPHANS: usize = 32;

/// Versions of one table that are retired together.
const RETIRED_TOGETHER: usize = 64;

/// A version that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub table: TableId,
    pub version: VersionPtr<Words>,
    pub life: Life,
}

/// What one transaction object has ended, and what it takes out.
#[derive(Default)]
pub(super) struct Queue {
    ended: VecDeque<Ended>,
    held: VecDeque<Ended>,
    view: View,
    transactions: u32,
    dead: Vec<Ended>,
}

impl Queue {
    /// Adds a version that its owner has ended.
    pub fn push(&mut self, ended: Ended) {
        debug_assert!(self.ended.back().is_none_or(|last| last.life.end <= ended.life.end));
        self.ended.push_back(ended);
    }

    /// Whether there is nothing to do, and will be nothing until something is pushed.
    fn is_idle(&self, shared: &Shared) -> bool {
        self.ended.is_empty() && self.held.is_empty() && !shared.has_orphans()
    }

    /// After a transaction that ended so many versions: collects a few. What is to be retired is appended to `garbage`.
    #[inline]
    pub fn work(
        &mut self,
        shared: &Shared,
        database: &Tables<VersionTable<Words>>,
        guard: Guard<'_>,
        ended: usize,
        garbage: &mut Vec<Garbage>,
    ) {
        if !self.is_idle(shared) {
            self.collect(shared, 2 * ended + LOOKS);
            self.unlink(database, guard, garbage);
        }
    }

    fn collect(&mut self, shared: &Shared, looks: usize) {
        self.transactions = self.transactions.wrapping_add(1);
        if self.transactions.is_multiple_of(LOOK_EVERY) {
            self.view.refresh(&shared.clock, &shared.transactions);
            shared.take_orphans(&mut self.held, ORPHANS);
        }
        for _ in 0..looks.min(self.ended.len()) {
            let Some(&first) = self.ended.front() else { break };
            match self.view.verdict(first.life) {
                Verdict::TooEarly => break,
                Verdict::Held => self.held.push_back(first),
                Verdict::Dead => self.dead.push(first),
            }
            self.ended.pop_front();
        }
        for _ in 0..LOOKS.min(self.held.len()) {
            let Some(first) = self.held.pop_front() else { break };
            match self.view.verdict(first.life) {
                Verdict::Dead => self.dead.push(first),
                Verdict::Held | Verdict::TooEarly => self.held.push_back(first),
            }
        }
    }

    fn unlink(&mut self, database: &Tables<VersionTable<Words>>, guard: Guard<'_>, garbage: &mut Vec<Garbage>) {
        // Those of one table together.
        self.dead.sort_unstable_by_key(|ended| ended.table);
        for of_table in self.dead.chunk_by(|one, other| one.table == other.table) {
            // What a dropped table had went with it.
            let Some(table) = database.table(guard, of_table[0].table) else { continue };
            for together in of_table.chunks(RETIRED_TOGETHER) {
                for ended in together {
                    table.unlink(guard, record::deref(ended.version, guard, table), table.indexes().len(), garbage);
                }
                garbage.push(record::garbage(table, together.iter().map(|ended| ended.version).collect()));
            }
        }
        self.dead.clear();
    }

    /// Leaves everything to others: the owner is going.
    pub fn orphan(&mut self, shared: &Shared) {
        shared.adopt(self.ended.drain(..).chain(self.held.drain(..)));
    }
}

/// The life of a version that a transaction ended at `end`.
pub(super) fn life(begin: Begin, end: Timestamp, is_last: bool) -> Life {
    let begin = match begin {
        Begin::At(time) => time,
        // Its maker is about to say when: some time before.
        Begin::By(_) => Timestamp(0),
    };
    Life { begin, end, is_last }
}
