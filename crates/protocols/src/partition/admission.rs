//! The admission of a transaction: it gets its locks from the partitions that have them.
//!
//! | the transaction asks | and its thread | it |
//! | --- | --- | --- |
//! | one partition | has settled there, or none has | asks, runs and finishes on the partition's core itself |
//! | one partition | is another's | sends *enter*, is granted, runs, sends *finished* |
//! | several | any | draws numbers, then enters, or sends *enter*, at each |
//!
//! While it runs it may *join* one more partition, for a lock that it did not plan, if its thread may come to it and no
//! transaction there has asked for anything that conflicts: so it waits for none in that queue, and needs no number.

use super::core::{Begun, Core, Outbox};
use super::id::{PartitionId, Ticket};
use super::locks::{Exhausted, LockState};
use super::messages::{Enter, Finished, Message, QueuePosition};
use super::node::{Attempt, Node};
use super::partitions::{Partitions, Visitor};
use super::piece::Piece;
use super::queue::Asker;
use super::variants::PartitionLocking;
use crate::shared::planned::{Admission, Glance, LateLocks, Needs, Place, Plan, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use crate::shared::record;
use hotrow_storage::{Key, RecordHeader, RecordRef, Row, Table, TableId};
use hotrow_sync::{Arc, Waiter, Wake};
use hotrow_txn::{Abort, Access, Accesses, Statistics};
use smallvec::SmallVec;
use std::time::Duration;

type Header<E> = <<E as PartitionLocking>::Locks as LockState>::Header;

/// The admission of one transaction of a partition engine. It asks the partitions for the locks of the transaction's
/// plan, waits for their grants, and gives the locks back.
pub struct PartitionAdmission<E: PartitionLocking> {
    partitions: Arc<Partitions<E::Locks>>,
    node: Arc<Node>,
    /// The partition on which the worker that the object was made for settles, if there is one.
    home: Option<PartitionId>,
    /// The partitions in which the plan has locks.
    asked: SmallVec<[Asked; 4]>,
    /// The attempt that waits for grants, or has had them. `None` if all locks were free at once.
    attempt: Option<Attempt>,
    outbox: Outbox<Header<E>>,
}

/// A partition that the transaction asks for locks.
#[derive(Clone, Copy, Debug)]
struct Asked {
    partition: PartitionId,
    /// The transaction's number in the order of this partition, if it asks several partitions.
    number: u64,
    entered: Entered,
}

/// The way in which a transaction came into a partition's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entered {
    /// The transaction entered by itself with its whole plan, so it releases its locks by itself.
    Begun(Ticket),
    /// The transaction entered by itself while it ran. The partition keeps the list of its locks.
    Joined(Ticket),
    /// The transaction asked the partition to enter it, or is about to ask. The partition keeps the list of its locks.
    Asked,
}

impl<E: PartitionLocking> PartitionAdmission<E> {
    pub(super) fn new(partitions: &Arc<Partitions<E::Locks>>, home: Option<PartitionId>, waiter: Waiter) -> Self {
        Self {
            partitions: partitions.clone(),
            node: Node::new(partitions.len(), waiter),
            home,
            asked: SmallVec::new(),
            attempt: None,
            outbox: Outbox::default(),
        }
    }

    /// Finds out in which partitions a plan has locks.
    #[inline]
    fn find_partitions(&mut self, plan: &Plan<Header<E>>) {
        self.asked.clear();
        plan.visit_partitions(self.partitions.len(), |number| self.ask(number));
    }

    fn ask(&mut self, number: u16) {
        let partition = PartitionId(number);
        if !self.asks(partition) {
            self.asked.push(Asked { partition, number: 0, entered: Entered::Asked });
        }
    }

    fn asks(&self, partition: PartitionId) -> bool {
        self.asked.iter().any(|asked| asked.partition == partition)
    }

    /// Asks for the locks of a plan that is in one partition, which may be the thread's own.
    #[inline]
    fn ask_one(
        &mut self,
        scene: Scene<'_, Header<E>>,
        plan: &mut Plan<Header<E>>,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let (partition, node) = (self.asked[0].partition, &self.node);
        let visitor =
            &mut Visitor { scene, waiter: node.waiter(), statistics, outbox: &mut self.outbox, own: Some(node) };
        let begun = self
            .partitions
            .with(partition, visitor, |core, caller| core.begin(caller, node, &mut plan.rows, plan.prefixes.counted()));
        match begun {
            Ok(Ok(Begun { ticket, blocked })) => {
                self.asked[0].entered = Entered::Begun(ticket);
                self.attempt = blocked;
                Ok(())
            }
            Ok(Err(Exhausted)) => Err(Abort::Resources),
            Err(_) => {
                self.ask_others(scene, plan, statistics, false);
                Ok(())
            }
        }
    }

    /// Asks for the locks of a plan that is in several partitions, or in one that is another thread's.
    #[cold]
    fn ask_others(
        &mut self,
        scene: Scene<'_, Header<E>>,
        plan: &mut Plan<Header<E>>,
        statistics: &mut Statistics,
        are_several: bool,
    ) {
        let attempt = self.node.begin(self.asked.len());
        self.attempt = Some(attempt);
        let home = self.home.filter(|&home| self.partitions.is_mine(home));
        // From here to the last message nothing may fail: others come behind these numbers.
        if are_several {
            let numbers = self.asked.iter_mut().map(|asked| (asked.partition, &mut asked.number));
            self.partitions.sequencer.draw(numbers);
        }
        let node = &self.node;
        let visitor =
            &mut Visitor { scene, waiter: node.waiter(), statistics, outbox: &mut self.outbox, own: Some(node) };
        for &Asked { partition, number, .. } in &self.asked {
            let mut piece: Box<Piece<_>> = home
                .and_then(|home| self.partitions.with(home, visitor, |core, _| core.spare_piece()).ok())
                .unwrap_or_default();
            piece.fill(plan, partition);
            let asker = Asker { node: node.clone(), attempt, home, is_distributed: true };
            let mut enter = Some(Enter { number: are_several.then_some(number), asker, piece });
            let entered = self.partitions.with(partition, visitor, |core, caller| {
                core.enter(caller, enter.take().expect("entered once"));
            });
            if entered.is_err() {
                let enter = enter.expect("the partition was not reached");
                self.partitions.send(visitor, home, partition, Message::Enter(enter));
            }
        }
    }

    /// Gives back all locks that were asked for, granted or not.
    #[inline]
    fn give_back(
        &mut self,
        scene: Scene<'_, Header<E>>,
        plan: &mut Plan<Header<E>>,
        statistics: &mut Statistics,
        is_withdrawn: bool,
    ) {
        let node = &self.node;
        let visitor =
            &mut Visitor { scene, waiter: node.waiter(), statistics, outbox: &mut self.outbox, own: Some(node) };
        if let [Asked { partition, entered: Entered::Begun(ticket), .. }] = self.asked[..]
            && let Ok(()) = self.partitions.with(partition, visitor, |core, caller| {
                core.finish(caller, ticket, &mut plan.rows, plan.prefixes.counted());
            })
        {
            return;
        }
        for &Asked { partition, entered, .. } in &self.asked {
            // Locks that were added elsewhere are among the plan's rows too.
            let piece = matches!(entered, Entered::Begun(_)).then(|| {
                let mut piece = Box::<Piece<_>>::default();
                piece.fill(plan, partition);
                piece
            });
            let absent = if is_withdrawn { absent(scene, plan, partition) } else { Vec::new() };
            let position = position(node, self.attempt, partition, entered);
            let mut finished = Some(Finished { position, piece, absent });
            let acted = self.partitions.with(partition, visitor, |core, caller| {
                core.finish_other(caller, finished.take().expect("finished once"));
            });
            if acted.is_err() {
                let finished = finished.expect("the partition was not reached");
                self.partitions.send(visitor, self.home, partition, Message::Finished(finished));
            }
        }
    }

    /// Waits until all partitions have granted the attempt, or one has refused it.
    #[cold]
    fn wait(
        &mut self,
        scene: Scene<'_, Header<E>>,
        plan: &mut Plan<Header<E>>,
        attempt: Attempt,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let node = self.node.clone();
        let start = node.waiter().now();
        let withdrawal = Withdrawal { admission: self, scene, plan, statistics };
        let wake =
            node.waiter().wait_until(Some(start.after(limit)), || node.is_granted(attempt) || node.is_refused(attempt));
        withdrawal.statistics.waits += 1;
        withdrawal.statistics.wait_ns += node.waiter().now().since(start).as_nanos() as u64;
        match wake {
            Wake::Ready if node.is_refused(attempt) => Err(Abort::Resources),
            Wake::Ready => {
                std::mem::forget(withdrawal);
                Ok(())
            }
            Wake::TimedOut => Err(Abort::Timeout),
            Wake::Cancelled => Err(Abort::Cancelled),
        }
    }

    /// Calls `add` with the core of a partition, if the transaction's thread may come to it, and joins the partition's
    /// queue if the transaction is not in it. Returns whether `add` has added something.
    fn add(&mut self, partition: PartitionId, add: impl FnOnce(&mut Core<E::Locks>, &QueuePosition) -> bool) -> bool {
        if let Some(&Asked { entered, .. }) = self.asked.iter().find(|asked| asked.partition == partition) {
            let position = position(&self.node, self.attempt, partition, entered);
            return self.partitions.touch(partition, |core| add(core, &position)) == Ok(true);
        }
        let Ok(Some(ticket)) = self.partitions.touch(partition, |core| core.join(add)) else { return false };
        self.asked.push(Asked { partition, number: 0, entered: Entered::Joined(ticket) });
        true
    }

    /// Whether the transaction's locks in this partition are given back by going through its plan.
    fn is_planned(&self, partition: PartitionId) -> bool {
        !self.asked.iter().any(|asked| asked.partition == partition && matches!(asked.entered, Entered::Joined(_)))
    }
}

/// Returns the absent rows of a plan in a partition, for which records were made.
fn absent<H: RecordHeader>(scene: Scene<'_, H>, plan: &Plan<H>, partition: PartitionId) -> Vec<(TableId, Key)> {
    let here = plan.rows.iter().filter(|row| row.partition == partition.0);
    let records = here.filter_map(|row| Some((row.table, scene.record_of(row)?)));
    records.filter(|(_, record)| !record.is_present()).map(|(table, record)| (table, record.key())).collect()
}

fn position(node: &Arc<Node>, attempt: Option<Attempt>, partition: PartitionId, entered: Entered) -> QueuePosition {
    match entered {
        Entered::Begun(ticket) | Entered::Joined(ticket) => QueuePosition::Here(ticket),
        Entered::Asked => {
            let attempt = attempt.expect("who asks waits for grants");
            QueuePosition::Perhaps { node: node.clone(), attempt, guess: node.ticket(partition) }
        }
    }
}

/// Takes back all that the transaction has asked for, if its wait ends without a grant, or unwinds.
struct Withdrawal<'w, E: PartitionLocking> {
    admission: &'w mut PartitionAdmission<E>,
    scene: Scene<'w, Header<E>>,
    plan: &'w mut Plan<Header<E>>,
    statistics: &'w mut Statistics,
}

impl<E: PartitionLocking> Drop for Withdrawal<'_, E> {
    fn drop(&mut self) {
        self.admission.node.withdraw();
        self.admission.give_back(self.scene, self.plan, self.statistics, true);
    }
}

impl<E: PartitionLocking> LateLocks for PartitionAdmission<E> {
    type Header = Header<E>;

    fn comes_to(&self, partition: u16) -> bool {
        self.partitions.touch(PartitionId(partition), |_| ()).is_ok()
    }

    fn add_row(
        &mut self,
        scene: Scene<'_, Self::Header>,
        plan: &mut Plan<Self::Header>,
        mut row: PlannedRow<Self::Header>,
    ) -> bool {
        let added = self.add(PartitionId(row.partition), |core, position| core.add_row(scene, position, &mut row));
        if added {
            plan.rows.push(row);
        }
        added
    }

    fn add_prefixes(&mut self, plan: &mut Plan<Self::Header>, locks: &[Counted], place: Place) -> bool {
        let partition = PartitionId(place.number(self.partitions.len()));
        let held = plan.prefixes.counted();
        let added = self.add(partition, |core, position| core.add_prefixes(position, held, locks));
        if added && self.is_planned(partition) {
            plan.prefixes.append(locks);
        }
        added
    }
}

impl<E: PartitionLocking> Admission for PartitionAdmission<E> {
    #[inline]
    fn needs(&self) -> Needs {
        E::Locks::NEEDS
    }

    #[inline]
    fn admit(
        &mut self,
        scene: Scene<'_, Self::Header>,
        _accesses: &Accesses,
        plan: &mut Plan<Self::Header>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        self.find_partitions(plan);
        self.attempt = None;
        match self.asked.len() {
            0 => {}
            1 => self.ask_one(scene, plan, statistics)?,
            _ => self.ask_others(scene, plan, statistics, true),
        }
        statistics.locks += plan.rows.len() as u64;
        let Some(attempt) = self.attempt else { return Ok(()) };
        if !self.node.is_granted(attempt) {
            self.wait(scene, plan, attempt, limit, statistics)?;
        }
        if self.asked[0].entered == Entered::Asked {
            E::Locks::refresh(scene, &mut plan.rows);
        }
        Ok(())
    }

    fn alone(&mut self, limit: Duration, statistics: &mut Statistics) -> Result<(), Abort> {
        match self.partitions.settle_down(self.node.waiter(), limit, statistics) {
            Wake::Ready => Ok(()),
            Wake::TimedOut => Err(Abort::Timeout),
            Wake::Cancelled => Err(Abort::Cancelled),
        }
    }

    #[inline]
    fn release(&mut self, scene: Scene<'_, Self::Header>, plan: &mut Plan<Self::Header>, statistics: &mut Statistics) {
        self.give_back(scene, plan, statistics, false);
        plan.rows.clear();
        plan.prefixes.clear();
    }

    fn glance(
        &mut self,
        _scene: Scene<'_, Self::Header>,
        table: &Table<Self::Header>,
        record: RecordRef<'_, Self::Header>,
        copy: &mut Row,
    ) -> Glance {
        let key = record.key();
        let partition = PartitionId(table.partition_of(&key) as u16);
        let name = Access::name(table.id(), key.hash64());
        let seen = self.partitions.touch(partition, |core| match core.is_quiet(name, record) {
            false => Glance::Busy,
            true if record.is_present() => {
                copy.copy_from(record::row(record));
                Glance::Present
            }
            true => Glance::Absent,
        });
        seen.unwrap_or(Glance::Busy)
    }

    fn reaches(&self, table: &Table<Self::Header>, key: &Key) -> bool {
        E::Locks::IS_WHOLE && self.asks(PartitionId(table.partition_of(key) as u16))
    }
}
