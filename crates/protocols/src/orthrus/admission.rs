//! The admission of a transaction: its request for locks visits the parts of the lock table, one after the other.

use super::id::{Attempt, PartId, PortId};
use super::message::Withdraw;
use super::node::{Answer, Node};
use super::parts::{Parts, Sender};
use super::request::{PartMap, Request};
use super::table::LockTable;
use crate::shared::planned::{Admission, Glance, LateLocks, Needs, Partitions, Place, Plan, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use crate::shared::record;
use crate::shared::request_queues::Modes;
use hotrow_storage::{RecordRef, Row, Table};
use hotrow_sync::{Arc, Backoff, Waiter, Wake};
use hotrow_txn::{Abort, Access, Accesses, Statistics};
use smallvec::SmallVec;
use std::time::Duration;

/// The admission of one transaction object, through which it asks the parts of the lock table for its locks.
pub struct OrthrusAdmission<T: LockTable> {
    parts: Arc<Parts<T>>,
    /// The port of the worker on which the transaction runs. Messages go over it only if the calling thread has the
    /// port.
    port: PortId,
    node: Arc<Node>,
    map: PartMap,
    /// The request, if it is neither under way nor kept by a part. Between two attempts it is empty.
    request: Option<Box<Request>>,
}

impl<T: LockTable> OrthrusAdmission<T> {
    pub(super) fn new(parts: &Arc<Parts<T>>, port: PortId, waiter: Waiter) -> Self {
        let node = parts.node(waiter);
        let map = parts.map(&node);
        Self { parts: parts.clone(), port, node, map, request: None }
    }

    #[inline]
    fn sender(&self) -> Sender<'_> {
        Sender { port: Some(self.port), own: Some(&self.node) }
    }

    /// Waits until the attempt is granted, and returns its request. If the wait ends otherwise, the attempt is
    /// withdrawn.
    fn wait(
        &mut self,
        attempt: Attempt,
        stops: &[PartId],
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<Box<Request>, Abort> {
        let node = self.node.clone();
        let start = node.waiter().now();
        let withdrawal = Withdrawal { admission: self, attempt, stops };
        let wake = node.waiter().wait_until(Some(start.after(limit)), || node.is_granted(attempt));
        statistics.wait_ns += node.waiter().now().since(start).as_nanos() as u64;
        let abort = match wake {
            Wake::Ready => {
                std::mem::forget(withdrawal);
                let request = self.node.take().expect("a granted request comes back");
                // A wait for messages alone does not count.
                statistics.waits += u64::from(request.was_blocked());
                return Ok(request);
            }
            Wake::TimedOut => Abort::Timeout,
            Wake::Cancelled => Abort::Cancelled,
        };
        statistics.waits += 1;
        Err(abort)
    }

    /// Asks a part for locks that the running transaction wants beside its plan. Returns whether it has them now.
    fn add(&mut self, part: PartId, locks: &[(u64, Modes)]) -> bool {
        let request = self.request.get_or_insert_with(|| Request::new(self.node.clone()));
        let known = request.stops().iter().find(|stop| stop.part == part).and_then(|stop| stop.owner);
        let sender = Sender { port: Some(self.port), own: Some(&self.node) };
        let answer = self.parts.add(&sender, part, &self.node, known, locks);
        let mut question = Question { node: &self.node, request, part, is_known: known.is_some() };
        match answer {
            Some(answer) => {
                let granted = question.note(answer);
                std::mem::forget(question);
                granted
            }
            None => question.wait(),
        }
    }

    /// Gives back all locks that a request has been granted, and keeps the request for the next attempt.
    #[inline]
    fn give_back(&mut self, mut request: Box<Request>) {
        for stop in request.stops() {
            if let Some(owner) = stop.owner {
                self.parts.release(&self.sender(), stop.part, owner);
            }
        }
        request.clear();
        self.request = Some(request);
    }
}

/// The question of a running transaction for locks in a part, until the part has answered. If the wait for the answer
/// unwinds, dropping the question still waits for the answer, because the transaction must give back the locks that it
/// gets.
struct Question<'q> {
    node: &'q Arc<Node>,
    request: &'q mut Request,
    part: PartId,
    /// Whether the transaction has locks in the part already.
    is_known: bool,
}

impl Question<'_> {
    /// Takes note of the answer. Returns whether the locks are granted.
    fn note(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::Added(owner) if !self.is_known => self.request.add_stop(self.part, owner),
            Answer::Added(_) => {}
            Answer::Refused => return false,
        }
        true
    }

    /// Waits for the answer, and takes note of it. Returns whether the locks are granted.
    #[cold]
    fn wait(mut self) -> bool {
        self.node.waiter().wait_for(|| self.node.answer().is_some());
        let answer = self.node.answer().expect("it was waited for");
        let granted = self.note(answer);
        std::mem::forget(self);
        granted
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        // This thread unwinds, so it cannot be suspended. The part's thread answers at once.
        let mut backoff = Backoff::new();
        loop {
            if let Some(answer) = self.node.answer() {
                self.note(answer);
                return;
            }
            backoff.snooze();
        }
    }
}

/// The withdrawal of an attempt, for the case that its wait ends without a grant or unwinds. Dropping it tells all
/// parts that the request may visit. If the attempt was granted meanwhile, dropping it gives the locks back.
struct Withdrawal<'w, T: LockTable> {
    admission: &'w mut OrthrusAdmission<T>,
    attempt: Attempt,
    stops: &'w [PartId],
}

impl<T: LockTable> Drop for Withdrawal<'_, T> {
    fn drop(&mut self) {
        let Self { admission, attempt, stops } = self;
        if let Some(request) = admission.node.withdraw() {
            // The grant came before the withdrawal.
            return admission.give_back(request);
        }
        for &part in *stops {
            let withdraw = Withdraw { node: admission.node.number(), attempt: *attempt };
            admission.parts.withdraw(&admission.sender(), part, withdraw);
        }
    }
}

impl<T: LockTable> Drop for OrthrusAdmission<T> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.give_back(request);
        }
    }
}

impl<T: LockTable> LateLocks for OrthrusAdmission<T> {
    type Header = ();

    const ADDS_TOGETHER: bool = true;

    fn add_row(&mut self, _scene: Scene<'_, ()>, plan: &mut Plan<()>, row: PlannedRow<()>) -> bool {
        let added = self.add(self.map.part(row.partition), &[(row.name, row.intent.into())]);
        if added {
            plan.rows.push(row);
        }
        added
    }

    /// Asks each part of the lock table once, for the locks of all rows in that part. The part grants all of them or
    /// none.
    fn add_rows(&mut self, plan: &mut Plan<()>, rows: &[PlannedRow<()>]) {
        let part_of = |row: &PlannedRow<()>| self.map.part(row.partition);
        let mut parts: SmallVec<[PartId; 4]> = rows.iter().map(part_of).collect();
        parts.sort_unstable();
        parts.dedup();
        let map = self.map;
        for part in parts {
            let here = || rows.iter().filter(|row| map.part(row.partition) == part);
            let locks: SmallVec<[_; 16]> = here().map(|row| (row.name, row.intent.into())).collect();
            if self.add(part, &locks) {
                plan.rows.extend(here());
            }
        }
    }

    fn add_prefixes(&mut self, plan: &mut Plan<()>, locks: &[Counted], place: Place) -> bool {
        let wanted: SmallVec<[_; 8]> = locks.iter().map(Modes::of_prefix).collect();
        // If a later part refuses, the transaction keeps the locks that earlier parts have granted. Others may wait
        // for them, but the transaction waits for no other.
        let added = self.map.parts_at(place).into_iter().all(|part| self.add(part, &wanted));
        if added {
            plan.prefixes.append(locks);
        }
        added
    }
}

impl<T: LockTable> Admission for OrthrusAdmission<T> {
    #[inline]
    fn needs(&self) -> Needs {
        Needs { records: false, partitions: Partitions::Spread(self.map.count()) }
    }

    #[inline]
    fn admit(
        &mut self,
        _scene: Scene<'_, ()>,
        _accesses: &Accesses,
        plan: &mut Plan<()>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let mut request = self.request.take().unwrap_or_else(|| Request::new(self.node.clone()));
        request.fill(plan, self.map);
        let attempt = self.node.begin();
        request.attempt = attempt;
        let stops: SmallVec<[PartId; 4]> = request.stops().iter().map(|stop| stop.part).collect();
        self.parts.submit(&self.sender(), request);
        let request = match self.node.take() {
            Some(request) => request,
            None => self.wait(attempt, &stops, limit, statistics)?,
        };
        let expected = if stops.is_empty() { 0 } else { stops.len() + 1 };
        debug_assert_eq!(request.messages() as usize, expected, "one to each part, and one back");
        statistics.messages += u64::from(request.messages());
        statistics.locks += (plan.rows.len() + plan.prefixes.counted().len()) as u64;
        self.request = Some(request);
        Ok(())
    }

    #[inline]
    fn release(&mut self, _scene: Scene<'_, ()>, plan: &mut Plan<()>, _statistics: &mut Statistics) {
        if let Some(request) = self.request.take() {
            self.give_back(request);
        }
        plan.rows.clear();
        plan.prefixes.clear();
    }

    /// Copies a row without a lock on it, if no other thread has settled on the row's part and no transaction has
    /// locked the row exclusively. Then the row is as it was committed last.
    fn glance(&mut self, _scene: Scene<'_, ()>, table: &Table<()>, found: RecordRef<'_, ()>, copy: &mut Row) -> Glance {
        let key = found.key();
        let name = Access::name(table.id(), key.hash64());
        let part = self.map.part(self.needs().partition(table, &key, name));
        let look = || {
            if !found.is_present() {
                return Glance::Absent;
            }
            copy.copy_from(record::row(found));
            Glance::Present
        };
        self.parts.glance(part, name, look).unwrap_or(Glance::Busy)
    }
}
