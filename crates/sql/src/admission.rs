//! Admission control: limits how many transaction blocks run at once in sessions whose blocks were aborted because of
//! each other.
//!
//! Under an engine that has no [admission](hotrow_txn::Inspection::admission) of its own, sessions that access the same
//! hot rows abort each other: the more of them run, the fewer commit. So a session whose block was aborted because of
//! other transactions needs a [ticket](Tickets) for each of its next few blocks. If no ticket is free, the session is
//! *held back*: its BEGIN waits for a ticket. A session that holds an advisory lock, or any other lock, is not held
//! back. So no session waits for a lock whose holder is held back.
//!
//! **Invariants**
//!
//! 1. A session whose last blocks have all committed is not held back, and neither is a statement outside a block.
//! 2. Of the sessions that are held back, the session with the oldest transaction gets the next ticket. A transaction
//!    that is retried is as old as its first failure.
//! 3. Every ticket is returned: when its block is aborted or ends, or when the session ends.
//! 4. A ticket lapses if its session pauses for long in the middle of its block. While sessions are held back, some of
//!    them check from time to time whether a ticket has lapsed.

use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Time, Waiter, Wake};
use hotrow_txn::{Abort, AdmissionStatistics, Tickets};

/// The number of blocks of a session that need tickets after a block that failed.
const BLOCKS_WITH_TICKETS: u8 = 8;

/// The admission control of a database: its tickets, and the sessions that wait for one. Any thread may call any
/// method.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tickets: Tickets,
    held_back: Vec<HeldBack>,
    held_back_ever: u64,
}

/// A session that is held back.
#[derive(Debug)]
struct HeldBack {
    session: u32,
    /// The time at which its transaction failed first, or else the time of its BEGIN.
    since: Time,
    is_let_in: Arc<AtomicBool>,
    waiter: Waiter,
}

/// A ticket, or the place of a session that waits for one. Dropping it gives it back.
#[derive(Debug)]
struct Ticket {
    admission: Arc<Admission>,
    session: u32,
    is_let_in: Arc<AtomicBool>,
    waiter: Waiter,
    /// The reason for which the block was given up, if that was because of other transactions.
    failed: Option<Abort>,
}

/// The state of a session in admission control: whether its next blocks need tickets, and the ticket of its present
/// block.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// The number of the session's next blocks that need tickets.
    blocks: u8,
    /// The time of the first failure of the transaction that is being retried. For a block that has a ticket without a
    /// failure, the time at which it asked for the ticket.
    since: Option<Time>,
    /// The reason for which the present block was given up, if that was because of other transactions.
    failed: Option<Abort>,
    ticket: Option<Ticket>,
}

impl State {
    /// Lets in as many sessions as there are free tickets, the oldest first.
    fn let_in(&mut self, now: Time) {
        self.tickets.lapse(now);
        while self.tickets.is_free() {
            let ages = self.held_back.iter().enumerate().map(|(place, held_back)| (held_back.since, place));
            let Some((_, oldest)) = ages.min() else { return };
            let next = self.held_back.remove(oldest);
            self.tickets.give(next.session, now);
            next.is_let_in.store(true, Ordering::Release);
            next.waiter.wake();
        }
    }

    /// Lets in as many sessions as there are free tickets. Returns the time at which a session that is held back looks
    /// again.
    fn look(&mut self, now: Time) -> Time {
        self.let_in(now);
        self.tickets.next_look(now, self.held_back.len())
    }
}

impl Admission {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Waits until the session has a ticket. `since` is the time from which the age of its transaction counts.
    ///
    /// # Errors
    /// [`Abort::Cancelled`] if the session is cancelled.
    fn seek(self: &Arc<Self>, session: u32, since: Time, waiter: &Waiter) -> Result<Ticket, Abort> {
        let ticket = Ticket {
            admission: self.clone(),
            session,
            is_let_in: Arc::default(),
            waiter: waiter.clone(),
            failed: None,
        };
        let is_let_in = || ticket.is_let_in.load(Ordering::Acquire);
        let place = HeldBack { session, since, is_let_in: ticket.is_let_in.clone(), waiter: waiter.clone() };
        let mut state = self.state();
        state.held_back.push(place);
        let mut next_look = state.look(waiter.now());
        state.held_back_ever += u64::from(!is_let_in());
        drop(state);
        loop {
            match waiter.rest_until(Some(next_look), is_let_in) {
                Wake::Ready => return Ok(ticket),
                Wake::Cancelled => return Err(Abort::Cancelled),
                Wake::TimedOut => next_look = self.state().look(waiter.now()),
            }
        }
    }

    /// Returns the number of tickets, and the numbers of sessions that have a ticket, wait for one, or have ever
    /// waited. The field `hot` is always zero, because tickets do not depend on rows.
    pub(crate) fn statistics(&self) -> AdmissionStatistics {
        let state = self.state();
        AdmissionStatistics {
            hot: 0,
            limit: state.tickets.limit() as u64,
            admitted: state.tickets.held() as u64,
            held_back: state.held_back.len() as u64,
            held_back_ever: state.held_back_ever,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let now = self.waiter.now();
        let mut state = self.admission.state();
        let others = state.held_back.len();
        state.held_back.retain(|held_back| !Arc::ptr_eq(&held_back.is_let_in, &self.is_let_in));
        if state.held_back.len() == others {
            let is_short = others > 0;
            state.tickets.take_back(self.session, now, self.failed, is_short);
        }
        state.let_in(now);
    }
}

impl Standing {
    /// Waits for a ticket if the session's next block needs one. Called at BEGIN.
    ///
    /// # Errors
    /// [`Abort::Cancelled`] if the session is cancelled.
    #[inline]
    pub(crate) fn begin(&mut self, admission: &Arc<Admission>, session: u32, waiter: &Waiter) -> Result<(), Abort> {
        if self.blocks == 0 { Ok(()) } else { self.begin_with_ticket(admission, session, waiter) }
    }

    #[cold]
    fn begin_with_ticket(&mut self, admission: &Arc<Admission>, session: u32, waiter: &Waiter) -> Result<(), Abort> {
        let since = self.since.unwrap_or_else(|| waiter.now());
        self.ticket = None;
        self.ticket = Some(admission.seek(session, since, waiter)?);
        self.since = Some(since);
        Ok(())
    }

    /// Records that the present block was aborted, if the cause was other transactions, and returns its ticket. Any
    /// other abort is ignored.
    pub(crate) fn fail(&mut self, abort: Abort, now: Time) {
        if abort.is_because_of_others() {
            self.failed = Some(abort);
            self.since.get_or_insert(now);
            self.return_ticket();
        }
    }

    fn return_ticket(&mut self) {
        if let Some(mut ticket) = self.ticket.take() {
            ticket.failed = self.failed;
        }
    }

    /// Ends the present block and returns its ticket. If the block had failed, the session's next blocks need tickets.
    #[inline]
    pub(crate) fn end(&mut self) {
        if self.blocks > 0 || self.failed.is_some() {
            self.end_with_ticket();
        }
    }

    #[cold]
    fn end_with_ticket(&mut self) {
        self.return_ticket();
        if self.failed.take().is_some() {
            self.blocks = BLOCKS_WITH_TICKETS;
        } else {
            self.blocks -= 1;
            self.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_sync::{Barrier, thread};
    use std::time::Duration;

    /// Makes a session whose last block has failed.
    fn failed() -> (Standing, Waiter) {
        let (mut standing, waiter) = (Standing::default(), Waiter::thread(Duration::ZERO));
        standing.fail(Abort::WriteConflict, waiter.now());
        standing.end();
        (standing, waiter)
    }

    fn held_back(admission: &Admission) -> u64 {
        admission.statistics().held_back
    }

    /// Makes sessions that hold all tickets, with blocks that do not end.
    fn take_all(admission: &Arc<Admission>) -> Vec<Standing> {
        // The leases of these tickets are as long as leases can be.
        for _ in 0..1000 {
            let mut state = admission.state();
            state.tickets.give(99, Time(0));
            state.tickets.take_back(99, Time(3_600_000_000_000), None, false);
        }
        let limit = admission.statistics().limit as u32;
        let take = |session| {
            let (mut standing, waiter) = failed();
            standing.begin(admission, session, &waiter).expect("a ticket is free");
            standing
        };
        (0..limit).map(take).collect()
    }

    #[test]
    fn a_session_needs_tickets_after_a_failure_until_its_blocks_have_committed() {
        let admission = Arc::new(Admission::default());
        let (mut standing, waiter) = (Standing::default(), Waiter::thread(Duration::ZERO));
        let mut block = |abort: Option<Abort>| {
            standing.begin(&admission, 7, &waiter).expect("a ticket is free");
            let admitted = admission.statistics().admitted;
            abort.into_iter().for_each(|abort| standing.fail(abort, waiter.now()));
            standing.end();
            admitted
        };
        assert_eq!([block(None), block(Some(Abort::User)), block(Some(Abort::Cancelled))], [0; 3]);
        assert_eq!(block(Some(Abort::Deadlock)), 0);
        let blocks = [(); BLOCKS_WITH_TICKETS as usize + 1].map(|()| block(None));
        assert_eq!(blocks[..8], [1; 8]);
        assert_eq!(blocks[8], 0);
        assert_eq!(admission.statistics().admitted, 0);
    }

    #[test]
    fn the_oldest_is_let_in_first_and_a_retry_keeps_its_age() {
        let admission = Arc::new(Admission::default());
        let mut holders = take_all(&admission);
        let order = Mutex::new(Vec::new());
        let oldest = failed();
        thread::scope(|scope| {
            let begin = |session: u32, (mut standing, waiter): (Standing, Waiter)| {
                let (admission, order) = (&admission, &order);
                let waiting = held_back(admission);
                let begins = scope.spawn(move || {
                    standing.begin(admission, session, &waiter).expect("it is let in");
                    order.lock().expect("not poisoned").push(session);
                    standing.end();
                });
                while held_back(admission) == waiting && !begins.is_finished() {
                    thread::yield_now();
                }
            };
            begin(101, failed());
            begin(102, failed());
            begin(100, oldest);
            holders.pop().expect("there is one").end();
        });
        assert_eq!(*order.lock().expect("not poisoned"), [100, 101, 102]);
        assert_eq!((held_back(&admission), admission.statistics().held_back_ever), (0, 3));
    }

    #[test]
    fn who_is_cancelled_leaves_neither_a_place_nor_a_ticket() {
        let admission = Arc::new(Admission::default());
        let holders = take_all(&admission);
        let (mut standing, waiter) = failed();
        thread::scope(|scope| {
            let begins = scope.spawn(|| standing.begin(&admission, 7, &waiter));
            while held_back(&admission) == 0 && !begins.is_finished() {
                thread::yield_now();
            }
            waiter.cancel();
            assert_eq!(begins.join().expect("no panic"), Err(Abort::Cancelled));
        });
        assert_eq!(held_back(&admission), 0);
        drop(holders);
        assert_eq!(admission.statistics().admitted, 0);
    }

    #[test]
    fn a_client_that_thinks_keeps_nobody_out() {
        let admission = Arc::new(Admission::default());
        let limit = admission.statistics().limit as u32;
        let thinking: Vec<_> = (0..limit)
            .map(|session| {
                let (mut standing, waiter) = failed();
                standing.begin(&admission, session, &waiter).expect("a ticket is free");
                standing
            })
            .collect();
        let (mut standing, waiter) = failed();
        standing.begin(&admission, 7, &waiter).expect("leases end");
        standing.end();
        drop(thinking);
        assert_eq!(admission.statistics().admitted, 0);
    }

    #[test]
    fn many_sessions_all_get_through_and_no_ticket_is_left() {
        let admission = Arc::new(Admission::default());
        let start = Barrier::new(8);
        thread::scope(|scope| {
            for session in 0..8 {
                let (admission, start) = (&admission, &start);
                scope.spawn(move || {
                    let (mut standing, waiter) = failed();
                    start.wait();
                    for block in 0..500 {
                        standing.begin(admission, session, &waiter).expect("it is let in");
                        if block % 7 == session % 7 {
                            standing.fail(Abort::Conflict, waiter.now());
                        }
                        standing.end();
                    }
                });
            }
        });
        let AdmissionStatistics { admitted, held_back, .. } = admission.statistics();
        assert_eq!((admitted, held_back), (0, 0));
    }
}
