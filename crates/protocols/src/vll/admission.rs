//! The admission of a transaction: how it asks for its locks, and waits for them.

use super::Variant;
use super::counters::Counters;
use super::critical::{Begun, Core};
use super::queue::Slot;
use crate::shared::contention::{Claim, Mark};
use crate::shared::counts::{Counts, Requests, bury};
use crate::shared::planned::{
    Admission, Copies, Glance, LateLocks, Needs, Partitions, Place, Plan, PlannedRow, Scene, drop_lost_tables,
};
use crate::shared::range_locks::Counted;
use crate::shared::record;
use hotrow_storage::{Guard, RecordPtr, RecordRef, Row, Table};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Backoff, Time, Waiter, Wake};
use hotrow_txn::{Abort, Accesses, Intent, Statistics};
use std::time::Duration;

/// The registration of a transaction object with the lock manager: its slot, which stands for it in the queue, and its
/// waiter.
pub(super) struct Member {
    core: Arc<Core>,
    slot: Slot,
    waiter: Waiter,
    /// Whether the worker has more to do than this transaction. If it has not, its processor is idle while the
    /// transaction waits.
    is_pooled: Arc<AtomicBool>,
    /// Whether the transaction has not published its requests, though another transaction may want to know them.
    is_concealed: bool,
}

/// The reason why a transaction has not got its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The record of the request at this position is being unlinked. The caller looks the key up again, and retries.
    Dead(usize),
    /// The transaction aborts with this error.
    Over(Abort),
}

impl Member {
    pub(super) fn new(core: &Arc<Core>, waiter: Waiter, is_pooled: Arc<AtomicBool>) -> Self {
        let slot = core.slots().take(waiter.clone());
        Self { core: core.clone(), slot, waiter, is_pooled, is_concealed: false }
    }

    /// Publishes the requests of the next transaction, which contention analyses of the queue read. A transaction of a
    /// pool ends soon, so it publishes nothing as long as no transaction is blocked: then no analysis runs. A session's
    /// transaction may stay in the queue for long, and publishes its requests in any case. If the last transaction
    /// `keeps` its locks, its slot is still in the queue for them, and nothing is published.
    #[inline]
    pub(super) fn publish(&mut self, keeps: bool, marks: impl Iterator<Item = Mark>) {
        if !self.core.analyses() {
            return;
        }
        self.is_concealed = keeps || (self.is_pooled() && !self.core.are_blocked());
        if self.is_concealed {
            self.slot.conceal();
        } else {
            self.slot.publish(marks);
        }
    }

    /// Publishes the requests of a transaction that is blocked, if they were concealed.
    #[cold]
    fn publish_late(&mut self, marks: impl Iterator<Item = Mark>) {
        if std::mem::take(&mut self.is_concealed) {
            self.slot.publish(marks);
            self.core.has_changed();
        }
    }

    /// Adds to the requests that the transaction publishes. The caller is in the critical section.
    fn publish_more(&self, marks: impl Iterator<Item = Mark>) {
        if self.core.analyses() {
            self.slot.publish_more(marks);
        }
    }

    /// Asks for all locks in one step, and waits until all are granted. The first wait sets the deadline, from the
    /// limit, and later waits keep it. The requests `kept` of the last transaction are given back first, in any case.
    /// `marks` returns the marks of the requests. If the call fails, `unused` is called for each record that has no row
    /// and is dead now.
    #[inline]
    pub(super) fn enter<R: Requests, M: Iterator<Item = Mark>>(
        &mut self,
        kept: Option<&R>,
        (requests, prefixes): (&R, &[Counted]),
        marks: impl Fn() -> M,
        limit: (&mut Option<Time>, Option<Duration>),
        statistics: &mut Statistics,
        mut unused: impl FnMut(usize),
    ) -> Result<(), Refused> {
        match self.core.begin(&mut self.slot, kept, requests, prefixes, &mut unused) {
            Begun::Free => Ok(()),
            Begun::Dead(at) => Err(Refused::Dead(at)),
            Begun::Exhausted => Err(Refused::Over(Abort::Resources)),
            Begun::Blocked => {
                self.publish_late(marks());
                let mut waiting = Waiting { member: self, requests, prefixes, unused: &mut unused };
                waiting.wait(limit, statistics).map_err(Refused::Over)
            }
        }
    }

    /// Gives back all requests of the transaction, and removes it from the queue. If the worker is in no pool, also
    /// looks for blocked transactions that can run.
    #[inline]
    pub(super) fn leave(
        &mut self,
        requests: &impl Requests,
        prefixes: &[Counted],
        statistics: &mut Statistics,
        unused: impl FnMut(usize),
    ) {
        let are_blocked = self.core.finish(&self.slot, requests, prefixes, unused);
        if are_blocked && self.idles() {
            self.core.analyse(statistics);
        }
    }

    /// Whether contention analysis falls to the transactions themselves, since their worker is of no pool.
    fn idles(&self) -> bool {
        self.core.analyses() && !self.is_pooled()
    }

    #[inline]
    fn is_pooled(&self) -> bool {
        // Relaxed: set before the first transaction of the worker runs.
        self.is_pooled.load(Ordering::Relaxed)
    }

    /// Whether the locks of a transaction may be given back together with the requests of the next one: the next one is
    /// to come soon, and no transaction waits.
    #[inline]
    fn may_keep(&self) -> bool {
        self.is_pooled() && !self.core.are_blocked()
    }

    /// Whether the transaction is not blocked any more.
    #[inline]
    fn is_called(&self) -> bool {
        !self.slot.waits()
    }
}

/// A wait for locks. If it ends in any way without the locks, nothing is left of the requests.
struct Waiting<'w, R: Requests, U: FnMut(usize)> {
    member: &'w mut Member,
    requests: &'w R,
    prefixes: &'w [Counted],
    unused: &'w mut U,
}

impl<R: Requests, U: FnMut(usize)> Waiting<'_, R, U> {
    #[cold]
    fn wait(
        &mut self,
        (deadline, limit): (&mut Option<Time>, Option<Duration>),
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        if self.member.idles() {
            self.member.core.analyse(statistics);
        }
        let start = self.member.waiter.now();
        if deadline.is_none() {
            *deadline = limit.map(|limit| start.after(limit));
        }
        // Dropped while it is armed, be it that a coroutine is that waits, the transaction withdraws.
        let mut armed = Armed { waiting: self, is_armed: true };
        let wake = {
            let member = &armed.waiting.member;
            member.waiter.wait_until(*deadline, || member.is_called())
        };
        statistics.waits += 1;
        statistics.wait_ns += armed.waiting.member.waiter.now().since(start).as_nanos() as u64;
        let called = wake == Wake::Ready || (wake == Wake::TimedOut && armed.waiting.member.is_called());
        armed.is_armed = !called;
        drop(armed);
        match wake {
            _ if called => Ok(()),
            Wake::Cancelled => Err(Abort::Cancelled),
            Wake::Ready | Wake::TimedOut => Err(Abort::Timeout),
        }
    }

    fn withdraw(&mut self) {
        let Self { member, requests, prefixes, unused } = self;
        member.core.finish(&member.slot, *requests, prefixes, unused);
    }
}

struct Armed<'a, 'w, R: Requests, U: FnMut(usize)> {
    waiting: &'a mut Waiting<'w, R, U>,
    is_armed: bool,
}

impl<R: Requests, U: FnMut(usize)> Drop for Armed<'_, '_, R, U> {
    fn drop(&mut self) {
        if self.is_armed {
            self.waiting.withdraw();
        }
    }
}

/// The rows of a plan, as requests that are counted at their records.
#[derive(Clone, Copy)]
struct Rows<'r, C: Counters> {
    rows: &'r [PlannedRow<C>],
    guard: Guard<'r>,
}

impl<C: Counters> Rows<'_, C> {
    #[inline]
    fn record(&self, at: usize) -> RecordPtr<C> {
        self.rows[at].record.expect("the engine asked for records")
    }
}

impl<C: Counters> Requests for Rows<'_, C> {
    #[inline]
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn intent(&self, at: usize) -> Intent {
        self.rows[at].intent
    }

    fn is_same(&self, one: usize, other: usize) -> bool {
        self.rows[one].record == self.rows[other].record
    }

    #[inline]
    fn counts(&self, at: usize) -> Counts {
        C::get(self.record(at), self.guard)
    }

    #[inline]
    fn set_counts(&self, at: usize, counts: Counts) {
        C::set(self.record(at), self.guard, counts);
    }

    #[inline]
    fn is_present(&self, at: usize) -> bool {
        self.rows[at].record.is_some_and(|record| record::is_present(record, self.guard))
    }
}

/// The number of the next transactions of a slot that give their locks back at once, after a transaction had kept its
/// locks and others were blocked when the next one began.
pub(super) const KEEPS_NOT: u32 = 64;

/// The admission of one transaction of a VLL engine: it counts the requests of the transaction's plan, waits until they
/// are granted, and gives them back.
pub struct VllAdmission<V: Variant> {
    member: Member,
    /// Whether the last transaction is over, and has not given back its requests `kept`, all of which are for rows that
    /// are present.
    keeps: bool,
    /// The number of further transactions that keep no locks.
    keeps_not: u32,
    kept: Vec<PlannedRow<V::Record>>,
}

impl<V: Variant> VllAdmission<V> {
    pub(super) fn new(member: Member) -> Self {
        Self { member, keeps: false, keeps_not: 0, kept: Vec::new() }
    }

    /// Publishes the requests of the plan. `keeps` says whether the last transaction's requests are kept.
    #[inline]
    fn publish(&mut self, keeps: bool, plan: &Plan<V::Record>) {
        let prefixes = plan.prefixes.counted();
        self.member.publish(keeps, marks(&plan.rows, prefixes));
        if self.member.core.has_ledgers() {
            self.member.slot.write_down(plan.rows.iter().map(|row| (row.name, row.intent)), prefixes);
        }
    }

    /// Publishes requests that were added to the plan. The caller is in the critical section.
    fn publish_more(&self, row: Option<PlannedRow<V::Record>>, prefixes: &[Counted]) {
        self.member.publish_more(marks(row.as_slice(), prefixes));
        if self.member.core.has_ledgers() {
            self.member.slot.write_down_more(row.map(|row| (row.name, row.intent)), prefixes);
        }
    }
}

/// Returns the marks of the requests for these rows and prefixes.
#[inline]
fn marks<H>(rows: &[PlannedRow<H>], prefixes: &[Counted]) -> impl Iterator<Item = Mark> {
    rows.iter().map(mark).chain(prefixes.iter().map(|counted| counted.mark()))
}

#[inline]
fn mark<H>(row: &PlannedRow<H>) -> Mark {
    let claim = match row.intent {
        Intent::Read => Claim::Shared,
        Intent::Write => Claim::Exclusive,
    };
    Mark::new(row.name, claim)
}

impl<V: Variant> LateLocks for VllAdmission<V> {
    type Header = V::Record;

    const LOCKS_MADE: bool = true;

    fn add_row(&mut self, scene: Scene<'_, V::Record>, plan: &mut Plan<V::Record>, row: PlannedRow<V::Record>) -> bool {
        let Some(record) = row.record else { return false };
        let critical = self.member.core.enter();
        let before = Counters::get(record, scene.guard);
        let after = before.with(row.intent).filter(|_| !before.conflicts(row.intent));
        if let Some(after) = after {
            Counters::set(record, scene.guard, after);
            plan.rows.push(row);
            self.publish_more(Some(row), &[]);
        }
        drop(critical);
        after.is_some()
    }

    /// Counts the exclusive request in the record, and publishes it. Both happen before the record is linked, so a
    /// transaction that finds the record also finds the request.
    #[inline]
    fn lock_made(
        &mut self,
        scene: Scene<'_, V::Record>,
        record: RecordRef<'_, V::Record>,
        row: &PlannedRow<V::Record>,
    ) {
        Counters::set(record.ptr(), scene.guard, Counts::new(1, 0));
        self.member.publish_more(std::iter::once(mark(row)));
    }

    #[inline]
    fn add_made(&mut self, plan: &mut Plan<V::Record>, row: PlannedRow<V::Record>) {
        plan.rows.push(row);
        if self.member.core.has_ledgers() {
            self.member.slot.write_down_more(Some((row.name, row.intent)), &[]);
        }
    }

    fn add_prefixes(&mut self, plan: &mut Plan<V::Record>, locks: &[Counted], _place: Place) -> bool {
        let held = plan.prefixes.counted();
        let mut critical = self.member.core.enter();
        let is_free =
            !critical.prefixes.would_conflict(held, locks) && critical.prefixes.request_more(held, locks).is_ok();
        if is_free {
            plan.prefixes.append(locks);
            self.publish_more(None, locks);
        }
        drop(critical);
        is_free
    }
}

impl<V: Variant> Admission for VllAdmission<V> {
    #[inline]
    fn needs(&self) -> Needs {
        Needs { records: true, partitions: Partitions::Unknown }
    }

    #[inline]
    fn admit(
        &mut self,
        scene: Scene<'_, V::Record>,
        _accesses: &Accesses,
        plan: &mut Plan<V::Record>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        if self.keeps && (self.member.core.are_blocked() || self.member.core.has_ledgers()) {
            // The published requests are those of one transaction.
            if self.member.core.are_blocked() {
                self.keeps_not = KEEPS_NOT;
            }
            self.release_kept(scene, statistics);
        }
        let mut keeps = std::mem::take(&mut self.keeps);
        let mut kept_rows = std::mem::take(&mut self.kept);
        drop_lost_tables(scene, &mut kept_rows);
        self.publish(keeps, plan);
        for row in &plan.rows {
            if let Some(record) = row.record {
                Counters::prefetch(record, scene.guard);
            }
        }
        let mut deadline = None;
        let mut backoff = Backoff::new();
        loop {
            let Plan { rows, prefixes, unused, .. } = plan;
            let requests = Rows { rows, guard: scene.guard };
            let kept = std::mem::take(&mut keeps).then_some(Rows { rows: &kept_rows, ..requests });
            let bury = |at: usize| unused.push((rows[at].table, rows[at].record.expect("it has been counted")));
            let limit = (&mut deadline, Some(limit));
            let asked = || marks(rows, prefixes.counted());
            let entered =
                self.member.enter(kept.as_ref(), (&requests, prefixes.counted()), asked, limit, statistics, bury);
            match entered {
                Ok(()) => break,
                Err(Refused::Over(abort)) => return Err(abort),
                Err(Refused::Dead(at)) => {
                    // It is being unlinked.
                    backoff.snooze();
                    plan.find_again(scene, at);
                }
            }
        }
        kept_rows.clear();
        self.kept = kept_rows;
        statistics.locks += plan.rows.len() as u64;
        Ok(())
    }

    #[inline]
    fn release(&mut self, scene: Scene<'_, V::Record>, plan: &mut Plan<V::Record>, statistics: &mut Statistics) {
        let Plan { rows, prefixes, unused, .. } = plan;
        drop_lost_tables(scene, rows);
        let requests = Rows { rows, guard: scene.guard };
        let bury = |at: usize| unused.push((rows[at].table, rows[at].record.expect("it has been counted")));
        self.member.leave(&requests, prefixes.counted(), statistics, bury);
        rows.clear();
        prefixes.clear();
    }

    #[inline]
    fn keep(&mut self, scene: Scene<'_, V::Record>, plan: &mut Plan<V::Record>) -> bool {
        let Plan { rows, prefixes, .. } = plan;
        if self.keeps_not > 0 {
            self.keeps_not -= 1;
            return false;
        }
        if rows.is_empty() || !prefixes.counted().is_empty() || !self.member.may_keep() {
            return false;
        }
        drop_lost_tables(scene, rows);
        let requests = Rows { rows, guard: scene.guard };
        self.keeps = (0..rows.len()).all(|at| requests.is_present(at));
        if self.keeps {
            std::mem::swap(rows, &mut self.kept);
        }
        self.keeps
    }

    #[cold]
    fn release_kept(&mut self, scene: Scene<'_, V::Record>, statistics: &mut Statistics) {
        self.keeps = false;
        drop_lost_tables(scene, &mut self.kept);
        let requests = Rows { rows: &self.kept, guard: scene.guard };
        self.member.leave(&requests, &[], statistics, |_| {});
        self.kept.clear();
    }

    fn glance(
        &mut self,
        scene: Scene<'_, V::Record>,
        _table: &Table<V::Record>,
        record: RecordRef<'_, V::Record>,
        copy: &mut Row,
    ) -> Glance {
        let critical = self.member.core.enter();
        let glance = if Counters::get(record.ptr(), scene.guard).conflicts(Intent::Read) {
            Glance::Busy
        } else if record.is_present() {
            copy.copy_from(record::row(record));
            Glance::Present
        } else {
            Glance::Absent
        };
        drop(critical);
        glance
    }

    fn copy_rows(&mut self, scene: Scene<'_, V::Record>, plan: &mut Plan<V::Record>, copies: &mut Copies) -> bool {
        let Plan { rows, unused, .. } = plan;
        let requests = Rows { rows, guard: scene.guard };
        let critical = self.member.core.enter();
        let is_free = (0..rows.len()).all(|at| !requests.counts(at).conflicts(Intent::Read));
        if is_free {
            for (position, row) in rows.iter().enumerate() {
                if let (Some(table), Some(record)) = (scene.table(row.table), row.record) {
                    copies.take(position, scene, table, record);
                }
            }
            bury(&requests, |at| unused.extend(rows[at].record.map(|record| (rows[at].table, record))));
        }
        drop(critical);
        is_free
    }
}
