//! The TxnQueue: the transactions that have asked for their locks, in the order in which they did.
//!
//! **Definitions.** A transaction in flight has a [`Slot`] for as long as its object lives, and is in the queue once at
//! a time. In the queue it is *free*, it has all its locks and runs; or *blocked*. There is *room* while fewer
//! transactions are blocked than the limit says: a worker of a pool looks before it begins another transaction. The
//! queue itself refuses no transaction: a session's is not to wait for transactions that are blocked on rows of which
//! it asks for none.
//!
//! **The idea.** A ring of positions. A transaction that leaves, from anywhere, empties its position; the front is the
//! first that is not empty. When the ring is full of holes it is compacted, when it is full of transactions it grows:
//! so it is never much larger than its contents, however long a transaction stays at its front.
//!
//! **Invariants.** Everything here happens inside the critical section; [`Slots`] are outside.
//!
//! 1. The order of the ring is the order in which its transactions entered. Compacting keeps it.
//! 2. The front is not blocked: a transaction that enters an empty queue is free, and one that leaves the front
//!    unblocks the next one.
//! 3. `blocked` is the number of ring entries that are blocked.
//! 4. A slot's flag is set while its transaction is blocked in the ring, and only then. The thread that clears it wakes
//!    the transaction after the critical section.

use crate::shared::contention::Mark;
use crate::shared::range_locks::Counted;
use crate::shared::segmented::Segmented;
use hotrow_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, Waiter, prefetch_to_write};
use hotrow_txn::Intent;
use smallvec::SmallVec;

/// The slots of all transaction objects, which all threads share.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    places: Segmented<Place, 64>,
    free: Mutex<FreeSlots>,
}

#[derive(Debug, Default)]
struct FreeSlots {
    /// The free numbers of slots, each with the turns that were taken on it.
    numbers: Vec<(u32, u32)>,
    next: u32,
}

/// The part of a transaction in flight that others see.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place {
    /// Whether the transaction is blocked in the ring (invariant 4).
    waits: AtomicBool,
    /// The transaction's position in the ring, while it is there. It is used in the critical section only.
    position: AtomicU64,
    waiter: Mutex<Option<Waiter>>,
    footprint: Footprint,
    ledger: Mutex<Ledger>,
}

/// The requests of a transaction, as recorded for an audit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The rows, by the names of their locks.
    pub(crate) rows: Vec<(u64, Intent)>,
    pub(crate) prefixes: Vec<Counted>,
    /// The turn of the slot that these requests belong to.
    turn: u32,
}

/// The requests of a transaction, as contention analysis reads them: their marks.
///
/// The transaction itself writes it, before it enters the queue or as soon as it is blocked, and adds to it inside the
/// critical section, or before others can see what it adds. Others read it outside: while the transaction is in the
/// queue they see all that it asked for before they looked into the queue, or that it is concealed. Of one that has
/// left meanwhile they may see anything.
#[derive(Debug, Default)]
struct Footprint {
    len: AtomicU32,
    marks: Segmented<AtomicU32, 32>,
}

/// The length of a footprint that is not told.
const CONCEALED: u32 = u32::MAX;

/// The slot of a transaction object, which identifies its transactions in the queue. One thread at a time uses it.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    number: u32,
    /// The number of times that a transaction of this slot has entered the queue.
    turn: u32,
    /// The address of the entry that it is likely to write next: it is told to the cache before the critical section.
    likely: usize,
}

impl Slots {
    /// Takes a free slot for a transaction object that waits through `waiter`.
    pub(crate) fn take(self: &Arc<Self>, waiter: Waiter) -> Slot {
        let mut free = self.free.lock().unwrap_or_else(|poison| poison.into_inner());
        let (number, turn) = free.numbers.pop().unwrap_or_else(|| {
            free.next += 1;
            (free.next - 1, 0)
        });
        drop(free);
        *self.place(number).waiter.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(waiter);
        Slot { slots: self.clone(), number, turn, likely: 0 }
    }

    #[inline]
    fn place(&self, number: u32) -> &Place {
        self.places.at(number)
    }

    /// Wakes the transactions that were unblocked. The caller has left the critical section.
    pub(crate) fn wake(&self, woken: Woken) {
        for number in woken {
            let waiter = self.place(number).waiter.lock().unwrap_or_else(|poison| poison.into_inner()).clone();
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        }
    }

    /// Returns the recorded requests of the transaction of `entry`, or `None` if it began before requests were
    /// recorded.
    pub(crate) fn ledger(&self, entry: Entry) -> Option<Ledger> {
        let ledger = self.place(entry.number()).ledger.lock().unwrap_or_else(|poison| poison.into_inner());
        (ledger.turn << 1 == entry.freed().0 as u32).then(|| ledger.clone())
    }

    /// Returns the marks of the requests of the transaction of `entry`, or `None` if the transaction conceals them.
    pub(crate) fn footprint(&self, entry: Entry) -> Option<impl Iterator<Item = Mark> + Clone + '_> {
        let footprint = &self.place(entry.number()).footprint;
        let len = footprint.len.load(Ordering::Acquire);
        // Relaxed: written before the length was.
        let marks = (0..len).map(|at| Mark::from_word(footprint.marks.at(at).load(Ordering::Relaxed)));
        (len != CONCEALED).then_some(marks)
    }
}

impl Slot {
    #[inline]
    fn place(&self) -> &Place {
        self.slots.place(self.number)
    }

    /// Prefetches the cache line of the queue's entry that the transaction will probably write in the critical section.
    /// Otherwise the line would be fetched from another core while all other transactions wait.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch_to_write(std::ptr::without_provenance(self.likely));
    }

    /// Whether the transaction is blocked.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.place().waits.load(Ordering::Acquire)
    }

    /// Records the requests of the slot's next transaction, for audits. It has not entered the queue yet.
    #[cold]
    pub(crate) fn write_down(&self, rows: impl Iterator<Item = (u64, Intent)>, prefixes: &[Counted]) {
        let turn = self.turn.wrapping_add(1);
        let ledger = Ledger { rows: rows.collect(), prefixes: prefixes.to_vec(), turn };
        *self.place().ledger.lock().unwrap_or_else(|poison| poison.into_inner()) = ledger;
    }

    /// Adds requests to the recorded ones.
    #[cold]
    pub(crate) fn write_down_more(&self, row: Option<(u64, Intent)>, prefixes: &[Counted]) {
        let mut ledger = self.place().ledger.lock().unwrap_or_else(|poison| poison.into_inner());
        ledger.rows.extend(row);
        ledger.prefixes.extend_from_slice(prefixes);
    }

    /// Publishes the marks of a transaction's requests for contention analysis, in place of the marks of the slot's
    /// last transaction. The transaction is not in the queue yet, or has concealed its requests until now, or the
    /// slot's last transaction is over.
    pub(crate) fn publish(&self, marks: impl Iterator<Item = Mark>) {
        self.append(0, marks);
    }

    /// Conceals the requests of the slot's next transaction, so that contention analyses end at it. It is not in the
    /// queue yet, or the slot's last transaction is over.
    #[inline]
    pub(crate) fn conceal(&self) {
        self.place().footprint.len.store(CONCEALED, Ordering::Release);
    }

    /// Adds marks to the published ones, unless the transaction conceals its requests. The caller is in the critical
    /// section, or no other transaction can see yet the records of the added requests.
    pub(crate) fn publish_more(&self, marks: impl Iterator<Item = Mark>) {
        // Relaxed: only this thread writes it.
        let len = self.place().footprint.len.load(Ordering::Relaxed);
        if len != CONCEALED {
            self.append(len, marks);
        }
    }

    fn append(&self, mut len: u32, marks: impl Iterator<Item = Mark>) {
        let footprint = &self.place().footprint;
        for mark in marks {
            // Relaxed: the store of the length comes after it.
            footprint.marks.at(len).store(mark.to_word(), Ordering::Relaxed);
            len += 1;
        }
        footprint.len.store(len, Ordering::Release);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.place().waiter.lock().unwrap_or_else(|poison| poison.into_inner()) = None;
        self.slots.free.lock().unwrap_or_else(|poison| poison.into_inner()).numbers.push((self.number, self.turn));
    }
}

/// An entry of the ring: a slot, the number of its transaction, and whether the transaction is blocked. An empty entry
/// has none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u64);

const NOBODY: Entry = Entry(0);
const BLOCKED: u64 = 1;

impl Entry {
    #[inline]
    fn new(slot: &Slot, is_blocked: bool) -> Self {
        let turn = slot.turn << 1 | u32::from(is_blocked);
        Entry(u64::from(slot.number + 1) << 32 | u64::from(turn))
    }

    fn number(self) -> u32 {
        (self.0 >> 32) as u32 - 1
    }

    pub(crate) fn is_blocked(self) -> bool {
        self.0 & BLOCKED != 0
    }

    fn freed(self) -> Self {
        Entry(self.0 & !BLOCKED)
    }
}

/// The slots of the transactions to wake, after the critical section.
pub(crate) type Woken = SmallVec<[u32; 2]>;

/// The queue of transactions. It is used in the critical section only. The fields that every transaction changes come
/// first, so that they are in one cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct TxnQueue {
    /// The first position that may not be empty.
    head: u64,
    /// The position of the next transaction.
    tail: u64,
    /// The number of blocked transactions.
    blocked: usize,
    /// The number of blocked transactions from which on there is no room.
    limit: usize,
    ring: Box<[Entry]>,
}

/// The number of positions of a new ring.
const POSITIONS: usize = if cfg!(any(test, shuttle)) { 4 } else { 256 };

impl TxnQueue {
    /// Makes an empty queue, with room while fewer than `limit` transactions are blocked.
    pub(crate) fn new(limit: usize) -> Self {
        assert!(limit > 0, "a limit of no blocked transaction leaves no room");
        let ring = vec![NOBODY; POSITIONS].into();
        Self { head: 0, tail: 0, blocked: 0, limit, ring }
    }

    /// Returns the number of blocked transactions.
    #[inline]
    pub(crate) fn blocked(&self) -> usize {
        self.blocked
    }

    /// Whether a worker of a pool may begin another transaction: fewer transactions are blocked than the limit says.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.blocked < self.limit
    }

    /// Puts a transaction that has asked for its locks at the end of the queue. Returns whether it is blocked: it is if
    /// `is_blocked`, unless it is at the front.
    #[inline]
    pub(crate) fn enqueue(&mut self, slot: &mut Slot, is_blocked: bool) -> bool {
        if self.tail - self.head == self.ring.len() as u64 {
            self.make_space(&slot.slots);
        }
        slot.turn = slot.turn.wrapping_add(1);
        let is_blocked = is_blocked && self.head < self.tail;
        if is_blocked {
            self.blocked += 1;
            slot.place().waits.store(true, Ordering::Release);
        }
        // Relaxed: for the critical section.
        slot.place().position.store(self.tail, Ordering::Relaxed);
        *self.at(self.tail) = Entry::new(slot, is_blocked);
        // One other transaction enters between two of its turns, or a few do: a line has eight entries.
        slot.likely = std::ptr::from_ref(self.at(self.tail)).wrapping_add(2).addr();
        self.tail += 1;
        is_blocked
    }

    /// Removes a transaction from any place of the queue. If it was the front, the next one becomes the front and, if
    /// it is blocked, is unblocked and added to `woken`.
    #[inline]
    pub(crate) fn remove(&mut self, slot: &Slot, woken: &mut Woken) {
        // Relaxed: for the critical section.
        let position = slot.place().position.load(Ordering::Relaxed);
        let entry = std::mem::replace(self.at(position), NOBODY);
        debug_assert!(entry.freed() == Entry::new(slot, false), "a transaction leaves the queue once");
        if entry.is_blocked() {
            self.blocked -= 1;
            slot.place().waits.store(false, Ordering::Release);
        }
        if position == self.head {
            self.advance(&slot.slots, woken);
        }
    }

    /// Unblocks a transaction that contention analysis found, unless it has been unblocked or has left meanwhile.
    /// Returns whether this call has unblocked it.
    pub(crate) fn unblock(&mut self, slots: &Slots, entry: Entry, woken: &mut Woken) -> bool {
        // Relaxed: for the critical section.
        let position = slots.place(entry.number()).position.load(Ordering::Relaxed);
        if !(self.head..self.tail).contains(&position) || *self.at(position) != entry {
            return false;
        }
        self.free(slots, position, woken);
        true
    }

    /// Returns all entries of the queue, from its front.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        (self.head..self.tail).map(|position| self.ring[self.index(position)]).filter(|&entry| entry != NOBODY)
    }

    #[inline]
    fn index(&self, position: u64) -> usize {
        position as usize & (self.ring.len() - 1)
    }

    #[inline]
    fn at(&mut self, position: u64) -> &mut Entry {
        let index = self.index(position);
        &mut self.ring[index]
    }

    /// Finds the new front, and unblocks it (VLLMainLoop's first choice, Fig. 1).
    #[inline]
    fn advance(&mut self, slots: &Slots, woken: &mut Woken) {
        while self.head < self.tail {
            let front = *self.at(self.head);
            if front == NOBODY {
                self.head += 1;
                continue;
            }
            if front.is_blocked() {
                self.free(slots, self.head, woken);
            }
            return;
        }
    }

    fn free(&mut self, slots: &Slots, position: u64, woken: &mut Woken) {
        let entry = self.at(position);
        *entry = entry.freed();
        let number = entry.number();
        self.blocked -= 1;
        slots.place(number).waits.store(false, Ordering::Release);
        woken.push(number);
    }

    /// Makes room in a ring that has no position left: drops its holes, and makes the ring larger if there are few.
    #[cold]
    fn make_space(&mut self, slots: &Slots) {
        let present: Vec<_> = self.iter().collect();
        let size = if present.len() > self.ring.len() / 2 { self.ring.len() * 2 } else { self.ring.len() };
        self.ring = vec![NOBODY; size].into();
        self.tail = self.head;
        for entry in present {
            // Relaxed: for the critical section.
            slots.place(entry.number()).position.store(self.tail, Ordering::Relaxed);
            *self.at(self.tail) = entry;
            self.tail += 1;
        }
    }

    /// Checks the invariants, for transactions that are in the queue with these slots.
    pub(crate) fn audit(&self, slots: &Slots) -> Result<(), String> {
        let entries: Vec<_> = self.iter().collect();
        if let Some(front) = entries.first().filter(|entry| entry.is_blocked()) {
            return Err(format!("the front of the queue, slot {}, is blocked", front.number()));
        }
        let blocked = entries.iter().filter(|entry| entry.is_blocked()).count();
        if blocked != self.blocked {
            return Err(format!("{blocked} transactions are blocked, {} are counted", self.blocked));
        }
        for entry in &entries {
            let place = slots.place(entry.number());
            if place.waits.load(Ordering::Acquire) != entry.is_blocked() {
                return Err(format!("slot {} does not know whether it is blocked", entry.number()));
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A queue, and the slots of some transactions, which are called by letters.
    struct Case {
        queue: TxnQueue,
        slots: Arc<Slots>,
        taken: Vec<Slot>,
    }

    impl Case {
        fn new(limit: usize, transactions: usize) -> Self {
            let slots: Arc<Slots> = Arc::default();
            let taken = (0..transactions).map(|_| slots.take(Waiter::thread(Duration::ZERO))).collect();
            Self { queue: TxnQueue::new(limit), slots, taken }
        }

        /// `+a` enters free, `!a` blocked, `-a` leaves, `*a` is unblocked by an analysis.
        fn step(&mut self, step: &str) {
            let (verb, name) = step.split_at(1);
            let at = usize::from(name.as_bytes()[0] - b'a');
            let mut woken = Woken::new();
            let Self { queue, slots, taken } = self;
            match verb {
                "+" => drop(queue.enqueue(&mut taken[at], false)),
                "!" => drop(queue.enqueue(&mut taken[at], true)),
                "-" => queue.remove(&taken[at], &mut woken),
                "*" => {
                    let entry = queue.iter().find(|entry| entry.number() == taken[at].number).expect("in the queue");
                    assert!(queue.unblock(slots, entry, &mut woken));
                    assert!(!queue.unblock(slots, entry, &mut woken), "once");
                }
                other => panic!("no step is called {other}"),
            }
            self.queue.audit(&self.slots).expect("invariants hold after each step");
        }

        /// Returns the queue as text, with blocked transactions as capitals.
        fn shown(&self) -> String {
            let letter = |number: u32, base: u8| char::from(base + number as u8);
            self.queue
                .iter()
                .map(|entry| letter(entry.number(), if entry.is_blocked() { b'A' } else { b'a' }))
                .collect()
        }
    }

    fn check(limit: usize, steps: &[(&str, &str)]) {
        let mut case = Case::new(limit, 12);
        for (step, expected) in steps {
            step.split_whitespace().for_each(|step| case.step(step));
            assert_eq!(case.shown(), *expected, "after {step} of {steps:?}");
        }
    }

    #[test]
    fn whoever_leaves_the_front_unblocks_the_next() {
        check(9, &[("+a !b !c", "aBC"), ("-a", "bC"), ("-c", "b"), ("-b", "")]);
        check(9, &[("+a +b !c", "abC"), ("-b", "aC"), ("-a", "c")]);
        check(9, &[("+a !b !c !d", "aBCD"), ("*c", "aBcD"), ("-c", "aBD"), ("-a", "bD"), ("-b", "d")]);
    }

    #[test]
    fn an_empty_queue_blocks_nobody() {
        check(9, &[("!a", "a"), ("!b", "aB"), ("-a -b", ""), ("!c", "c")]);
    }

    #[test]
    fn a_blocked_one_can_leave() {
        check(9, &[("+a !b !c", "aBC"), ("-b", "aC"), ("-a", "c"), ("!b", "cB")]);
    }

    #[test]
    fn the_queue_takes_everybody_and_says_when_there_is_no_room() {
        let mut case = Case::new(2, 5);
        for (step, room) in [("+a", true), ("!b", true), ("!c", false), ("!d", false), ("-b", false), ("-a", true)] {
            case.step(step);
            assert_eq!(case.queue.has_room(), room, "after {step}");
        }
    }

    /// The ring of the test has four positions: it is compacted when holes fill it, and grows when transactions do.
    #[test]
    fn holes_do_not_make_the_ring_grow_and_transactions_do() {
        let mut case = Case::new(99, 12);
        case.step("+a");
        for _ in 0..50 {
            ["!b", "-b"].into_iter().for_each(|step| case.step(step));
        }
        assert_eq!((case.shown().as_str(), case.queue.ring.len()), ("a", 4));
        ["!b", "!c", "+d", "+e", "!f", "-d", "!g", "!h", "+i", "!j"].into_iter().for_each(|step| case.step(step));
        assert_eq!((case.shown().as_str(), case.queue.ring.len()), ("aBCeFGHiJ", 16));
        ["-a", "-b", "-i", "-e", "-c"].into_iter().for_each(|step| case.step(step));
        assert_eq!(case.shown(), "fGHJ");
    }

    #[test]
    fn an_entry_names_one_turn_only() {
        let mut case = Case::new(9, 3);
        ["+a", "!b"].into_iter().for_each(|step| case.step(step));
        let old = case.queue.iter().nth(1).expect("b is in the queue");
        ["-b", "!c", "!b"].into_iter().for_each(|step| case.step(step));
        let mut woken = Woken::new();
        assert!(!case.queue.unblock(&case.slots, old, &mut woken), "b has left and come again");
        case.step("-b");
        drop(case.taken.remove(1));
        let mut again = case.slots.take(Waiter::thread(Duration::ZERO));
        assert_eq!(again.number, 1);
        assert!(case.queue.enqueue(&mut again, true));
        assert!(!case.queue.unblock(&case.slots, old, &mut woken), "somebody else has its slot");
        case.queue.remove(&again, &mut woken);
    }

    #[test]
    fn a_footprint_is_that_of_the_last_transaction() {
        use crate::shared::contention::Claim;
        let mut case = Case::new(9, 1);
        let mark = |name: u64| Mark::new(name << 32, Claim::Shared);
        for (first, more) in [(0..40u64, 40..45u64), (7..9, 0..0)] {
            case.taken[0].publish(first.clone().map(mark));
            case.step("+a");
            case.taken[0].publish_more(more.clone().map(mark));
            let entry = case.queue.iter().next().expect("it is there");
            let expected: Vec<_> = first.chain(more).map(mark).collect();
            let footprint = case.slots.footprint(entry).expect("it has been published");
            assert_eq!(footprint.collect::<Vec<_>>(), expected);
            case.step("-a");
        }
    }
}
