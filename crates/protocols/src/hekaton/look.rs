//! Looking at versions: the words, how far those have come that stand in them, and what the tables of
//! [`visibility`](super::visibility) say.

use super::clock::Timestamp;
use super::queues::{Conflict, Place};
use super::shared::Shared;
use super::snapshots::Snapshot;
use super::status::State;
use super::transactions::Registered;
use super::txn_id::{SlotNumber, TxnId};
use super::visibility::{
    Absence, BeginWord, Claim, EndWord, Owner, Sight, Validity, absence, begin_sight, end_sight, is_no_phantom,
    still_seen, uniqueness,
};
use super::words::{Begin, End, RecordLock, Words};
use crate::shared::hashed::HashSet;
use hotrow_storage::{Guard, IndexRef, Key, VersionIndex, VersionPtr, VersionRef, VersionTable};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_txn::{Abort, LockPart, LockTarget, Statistics};
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// The part of a transaction that decides which versions the transaction sees, may replace, or collides with.
pub(super) struct Look {
    pub shared: Arc<Shared>,
    pub me: TxnId,
    /// The versions whose write lock the transaction has, and that it has neither replaced nor deleted.
    pub kept: HashSet<VersionPtr<Words>>,
    /// The transactions on whose commits this one depends, or depended.
    dependencies: SmallVec<[TxnId; 4]>,
    /// The transaction's slot in the table of transactions, or `None` before the first transaction of the object.
    pub slot: Option<SlotNumber>,
    /// Whether the transaction, before it writes a row that is free, lets the transactions in the row's queue write
    /// first. Only a transaction that can wait in the queue itself does so.
    pub lines_up: bool,
    /// The last conflict in which another transaction had a row or a key that this one wanted to write.
    pub conflict: Option<Conflict>,
    /// The queues in which the transaction has its turn, each with whether the transaction has locked the row since.
    pub turns: SmallVec<[(Place, bool); 1]>,
    pub statistics: Statistics,
}

/// The answer to a request for a version's write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// The transaction has acquired the lock in this call.
    Taken,
    /// The transaction has held the lock since an earlier call.
    Kept,
    /// The version is not the latest.
    Superseded,
}

impl Look {
    pub fn new(shared: &Arc<Shared>, me: TxnId) -> Self {
        Self {
            shared: shared.clone(),
            me,
            kept: HashSet::default(),
            dependencies: SmallVec::new(),
            slot: None,
            lines_up: false,
            conflict: None,
            turns: SmallVec::new(),
            statistics: Statistics::default(),
        }
    }

    /// Resets the state for a new transaction with the id `me`.
    #[inline]
    pub fn begin(&mut self, me: TxnId) {
        debug_assert!(self.kept.is_empty());
        self.me = me;
        self.conflict = None;
        self.dependencies.clear();
    }

    /// Publishes in the transaction's slot which versions it may read, so that they are not collected.
    #[inline]
    pub fn publish(&self, snapshot: Snapshot) {
        if let Some(slot) = self.slot {
            snapshot.publish(&self.shared.transactions.slot(slot).snapshot);
        }
    }

    /// Draws a new read time, not earlier than `time`, for a transaction that may have published that it reads only at
    /// `time`. The slot says from then on that the transaction reads at any time from `time` on.
    #[cold]
    pub fn move_on(&self, time: Timestamp) -> Timestamp {
        self.publish(Snapshot::From(time));
        // SeqCst: between what the slot says and the next read time: invariant 4 of `snapshots`.
        fence(Ordering::SeqCst);
        self.shared.clock.now()
    }

    /// Notes a conflict over the key that a version has in an index, so that the transaction can wait in the key's
    /// queue. The conflict is with `writer`, or, if that is `None`, with the transactions that are in the queue
    /// already. Unless `writer` is about to end, the caller checks afterwards whether the conflict still exists:
    /// `writer` may have given the key up before the conflict was noted.
    #[cold]
    pub fn note_conflict(
        &mut self,
        table: &VersionTable<Words>,
        index: &VersionIndex<Words>,
        version: VersionRef<'_, Words>,
        writer: Option<TxnId>,
    ) {
        let part = match index.reference() {
            IndexRef::Primary => LockPart::Row,
            IndexRef::Secondary(id) => LockPart::Unique(id),
        };
        let key = Some(index.columns_of(version.row()));
        let target = LockTarget::Table { table: table.id(), part, key };
        let writer = writer.map(|writer| (writer, self.shared.transactions.recalls(writer)));
        self.conflict = Some(Conflict { place: place(table, index, version), writer, target });
    }

    /// Whether other transactions are in the queue for a row before this one. If so, the conflict is noted, and the
    /// caller does not lock the row. Returns `false` for a row that the transaction has locked or written itself.
    #[cold]
    pub fn is_late(&mut self, table: &VersionTable<Words>, version: VersionRef<'_, Words>) -> bool {
        let words = version.header();
        let is_mine = matches!(words.end(), End::Locked(RecordLock { writer: Some(id), .. }) if id == self.me);
        if is_mine || words.begin() == Begin::By(self.me) {
            return false;
        }
        let place = place(table, table.primary(), version);
        let is_late = self.shared.transactions.queues.are_before(place, self.slot);
        if is_late {
            self.note_conflict(table, table.primary(), version, None);
        }
        is_late
    }

    /// Notes that the transaction has locked the key that a version has in an index, if it has its turn in the queue
    /// for the key.
    #[cold]
    pub fn use_turn(
        &mut self,
        table: &VersionTable<Words>,
        index: &VersionIndex<Words>,
        version: VersionRef<'_, Words>,
    ) {
        let place = place(table, index, version);
        self.turns.iter_mut().filter(|turn| turn.0 == place).for_each(|turn| turn.1 = true);
    }

    /// Whether this transaction depends, or depended, on the commit of another one.
    #[inline]
    pub fn has_dependencies(&self) -> bool {
        !self.dependencies.is_empty()
    }

    #[inline]
    pub fn owner(&self, id: TxnId) -> Owner {
        if id == self.me { Owner::Me } else { Owner::Other(id, self.shared.transactions.look(id, &self.shared.clock)) }
    }

    #[inline]
    pub fn begin_of(&self, version: VersionRef<'_, Words>) -> BeginWord {
        match version.header().begin() {
            Begin::At(time) => BeginWord::At(time),
            Begin::By(id) => BeginWord::By(self.owner(id)),
        }
    }

    #[inline]
    pub fn end_of(&self, version: VersionRef<'_, Words>) -> EndWord {
        match version.header().end() {
            End::At(time) => EndWord::At(time),
            End::Locked(lock) => self.writer_of(version, lock),
        }
    }

    /// Returns the End word of a version that has this lock, with the state of the lock's writer. Read locks have no
    /// effect on what a transaction sees.
    #[inline]
    pub fn writer_of(&self, version: VersionRef<'_, Words>, lock: RecordLock) -> EndWord {
        match lock.writer {
            None => EndWord::Nobody,
            Some(id) if id == self.me && self.kept.contains(&version.ptr()) => EndWord::Kept,
            Some(id) => EndWord::By(self.writer(version.header(), id)),
        }
    }

    /// Returns the transaction `id`, whose id was read in a version's End word, with its state. If it has given up the
    /// lock since, the state is [`State::Gone`], and the caller reads the word again.
    ///
    /// An active transaction may give the lock up without having replaced the version. Once it has a timestamp it may
    /// not. So if the word still names a transaction that has a timestamp, that transaction ends the version.
    #[inline]
    pub fn writer(&self, words: &Words, id: TxnId) -> Owner {
        let owner = self.owner(id);
        let gave_up = || !matches!(words.end(), End::Locked(lock) if lock.writer == Some(id));
        match owner {
            Owner::Other(_, State::Preparing(_) | State::Committed(_)) if gave_up() => Owner::Other(id, State::Gone),
            owner => owner,
        }
    }

    /// Makes the transaction depend on the commit of `on` (§2.7). Returns `false` if `on` has ended without a commit or
    /// is over: then the words must be read again.
    #[cold]
    pub fn depends_on(&mut self, on: TxnId) -> bool {
        if self.dependencies.contains(&on) {
            return true;
        }
        match self.shared.transactions.register(self.me, on) {
            Registered::Pending => {
                self.dependencies.push(on);
                self.statistics.dependencies += 1;
            }
            Registered::Committed => {}
            Registered::Ended => return false,
        }
        true
    }

    /// Whether the transaction sees a version at `read_time` (§2.5). To see or to ignore it the transaction may come to
    /// depend on other transactions.
    #[inline]
    pub fn sees(&mut self, version: VersionRef<'_, Words>, read_time: Timestamp) -> bool {
        loop {
            match begin_sight(self.begin_of(version), read_time) {
                Sight::Yes => {}
                Sight::No => return false,
                Sight::YesIf(on) if self.depends_on(on) => self.statistics.speculative_reads += 1,
                Sight::YesIf(_) | Sight::NoIf(_) | Sight::Again => continue,
            }
            match end_sight(self.end_of(version), read_time) {
                Sight::Yes => return true,
                Sight::No => return false,
                Sight::NoIf(on) if self.depends_on(on) => {
                    self.statistics.speculative_ignores += 1;
                    return false;
                }
                Sight::YesIf(_) | Sight::NoIf(_) | Sight::Again => {}
            }
        }
    }

    /// Returns the version with this primary key that the transaction sees at `read_time`, or `None` if it sees no such
    /// row.
    #[inline]
    pub fn find<'g>(
        &mut self,
        guard: Guard<'g>,
        table: &'g VersionTable<Words>,
        key: &Key,
        read_time: Timestamp,
    ) -> Option<VersionRef<'g, Words>> {
        table.primary().equal(guard, key, key.hash64()).find(|&version| self.sees(version, read_time))
    }

    /// Returns whether a version that the transaction does not see at `read_time` can become a row, for a transaction
    /// that relies on the row's absence.
    pub fn absence(&self, version: VersionRef<'_, Words>, read_time: Timestamp) -> Absence {
        loop {
            let absence = absence(self.begin_of(version), read_time);
            if absence != Absence::Again {
                return absence;
            }
        }
    }

    /// Whether a version that the transaction has read is still visible at `end_time`, its end timestamp (§3.2).
    pub fn is_still_seen(&self, version: VersionRef<'_, Words>, end_time: Timestamp) -> bool {
        loop {
            match still_seen(self.end_of(version), end_time) {
                Validity::Yes => return true,
                Validity::No => return false,
                Validity::Again => {}
            }
        }
    }

    /// Whether a version that a scan meets when it is repeated at the transaction's end is no phantom: the version was
    /// visible at `read_time`, or is not visible at `end_time`.
    pub fn is_no_phantom(&self, version: VersionRef<'_, Words>, read_time: Timestamp, end_time: Timestamp) -> bool {
        loop {
            // Begin first: a transaction that is over has written both words before it was.
            let begin = self.begin_of(version);
            match is_no_phantom(begin, self.end_of(version), read_time, end_time) {
                Validity::Yes => return true,
                Validity::No => return false,
                Validity::Again => {}
            }
        }
    }

    /// Whether there is a row with this primary key at `end_time`, the transaction's end timestamp. The transaction may
    /// come to depend on the commits of others.
    pub fn has_row(&mut self, guard: Guard<'_>, table: &VersionTable<Words>, key: &Key, end_time: Timestamp) -> bool {
        table.primary().equal(guard, key, key.hash64()).any(|version| self.is_there(version, end_time))
    }

    fn is_there(&mut self, version: VersionRef<'_, Words>, end_time: Timestamp) -> bool {
        loop {
            let begin = begin_sight(self.begin_of(version), end_time);
            match still_seen(self.end_of(version), end_time) {
                Validity::Again => continue,
                Validity::No => return false,
                Validity::Yes => {}
            }
            match begin {
                Sight::Yes => return true,
                Sight::YesIf(on) if self.depends_on(on) => return true,
                Sight::No => return false,
                Sight::YesIf(_) | Sight::NoIf(_) | Sight::Again => {}
            }
        }
    }

    /// Whether other transactions have changed rows of a table between `since` and `now`. Visits all versions of the
    /// table. The caller ensures that no other transaction changes the table meanwhile.
    pub fn has_changed<'g>(
        &mut self,
        guard: Guard<'g>,
        table: &'g VersionTable<Words>,
        (since, now): (Timestamp, Timestamp),
    ) -> bool {
        let mut changed = false;
        table.primary().all(guard, |version| {
            let gone = self.sees(version, since) && !self.is_still_seen(version, now);
            changed = gone || !self.is_no_phantom(version, since, now);
            if changed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        changed
    }

    /// Checks that no other row has the key of a version in an index into which the transaction has linked the version.
    /// Returns the other version that has the key, or `None` if there is none.
    ///
    /// Of two transactions that link versions of one key, and then look, at least one sees the other's version. So that
    /// not both abort, the transaction whose version is in front passes: the other is behind it, and was there first.
    /// The caller has a SeqCst fence between the two. A transaction that replaces a version meanwhile links the new one
    /// where the walk may have been; but then its end is later than the time at which the walk began, and the walk
    /// begins again.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if an active transaction inserts or deletes a row with this key, or, if `fixed` is the
    /// time of all reads, if a transaction has done so after that time.
    pub fn claim<'g>(
        &mut self,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        index: &'g VersionIndex<Words>,
        version: VersionRef<'g, Words>,
        fixed: Option<Timestamp>,
    ) -> Result<Option<VersionRef<'g, Words>>, Abort> {
        loop {
            let read_time = fixed.unwrap_or_else(|| self.shared.clock.now());
            match self.taker(guard, index, version, read_time) {
                Ok(taker) => return Ok(taker),
                Err(Undecided::Since) if fixed.is_none() => {}
                Err(Undecided::Since) => return Err(Abort::WriteConflict),
                Err(Undecided::Yet(writer)) => {
                    self.note_conflict(table, index, version, Some(writer));
                    match self.taker(guard, index, version, read_time) {
                        Err(Undecided::Yet(now)) if now == writer => return Err(Abort::WriteConflict),
                        _ => self.conflict = None,
                    }
                }
            }
        }
    }

    /// Returns the other version that has the key at a time, or `None` if no version has it.
    fn taker<'g>(
        &mut self,
        guard: Guard<'g>,
        index: &'g VersionIndex<Words>,
        version: VersionRef<'g, Words>,
        read_time: Timestamp,
    ) -> Result<Option<VersionRef<'g, Words>>, Undecided> {
        let columns = index.columns_of(version.row());
        let hash = columns.hash64();
        if index.is_ordered() {
            // Versions with equal columns are under different keys, and nothing says which was there first.
            let others = index.equal(guard, &columns, hash).filter(|other| other.ptr() != version.ptr());
            return self.first_taker(others, read_time, false);
        }
        if let Some(other) = self.first_taker(index.behind(guard, version, &columns, hash), read_time, false)? {
            return Ok(Some(other));
        }
        let in_front = index.equal(guard, &columns, hash).take_while(|other| other.ptr() != version.ptr());
        self.first_taker(in_front, read_time, true)
    }

    fn first_taker<'g>(
        &mut self,
        others: impl Iterator<Item = VersionRef<'g, Words>>,
        read_time: Timestamp,
        passes_active: bool,
    ) -> Result<Option<VersionRef<'g, Words>>, Undecided> {
        for other in others {
            if self.takes(other, read_time, passes_active)? {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// Whether another version has the key. With `passes_active`, a version that an active transaction makes does not
    /// count.
    fn takes(
        &mut self,
        other: VersionRef<'_, Words>,
        read_time: Timestamp,
        passes_active: bool,
    ) -> Result<bool, Undecided> {
        loop {
            let begin = self.begin_of(other);
            if passes_active && matches!(begin, BeginWord::By(Owner::Other(_, State::Active))) {
                return Ok(false);
            }
            let end = self.end_of(other);
            match uniqueness(begin, end, read_time) {
                Claim::Free => return Ok(false),
                Claim::FreeIf(on) if self.depends_on(on) => return Ok(false),
                Claim::Taken => return Ok(true),
                Claim::TakenIf(on) if self.depends_on(on) => return Ok(true),
                Claim::Conflict => match (begin, end) {
                    (BeginWord::By(Owner::Other(writer, State::Active)), _)
                    | (_, EndWord::By(Owner::Other(writer, State::Active))) => return Err(Undecided::Yet(writer)),
                    _ => unreachable!("an active transaction is about to decide"),
                },
                Claim::Unseen => return Err(Undecided::Since),
                Claim::FreeIf(_) | Claim::TakenIf(_) | Claim::Again => {}
            }
        }
    }
}

/// Returns the place at which writers queue for the key that a version has in an index.
pub(super) fn place(table: &VersionTable<Words>, index: &VersionIndex<Words>, version: VersionRef<'_, Words>) -> Place {
    let hash = index.columns_of(version.row()).hash64();
    Place { table: table.id(), index: index.position(), hash }
}

/// The reason why a claim cannot say whether there is a row with a key.
enum Undecided {
    /// An active transaction has not decided yet whether there is such a row.
    Yet(TxnId),
    /// Another transaction has decided since the read time.
    Since,
}
