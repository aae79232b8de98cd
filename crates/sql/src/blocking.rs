//! Who waits for whom, among sessions.
//!
//! That a session waits its [`Waiter`](hotrow_sync::Waiter) knows, under every engine. What for, and who is in the way, know those who have what it waits
//! for: table locks are the session's own, rows' are the engine's. Where an engine does not know who is in the way it is somebody of those who are in a
//! transaction: all of them are told, and that it is not certain.

use crate::advisory::Key;
use crate::database::Database;
use crate::locks::Mode;
use crate::seat::Seat;
use hotrow_sync::{Arc, Time};
use hotrow_txn::{LockTarget, LockWait};

/// What a session waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Awaited {
    /// A table's lock, by its address.
    Table(usize),
    /// An advisory lock.
    Advisory(Key),
    /// Something of the engine's.
    Lock(LockTarget),
    /// Something that the engine says nothing about.
    Unknown,
}

/// Somebody in the way.
#[derive(Clone, Debug)]
pub(crate) struct Blocker {
    pub(crate) seat: Arc<Seat>,
    /// In which mode it holds what is waited for; none if it waits for it too, or nobody knows.
    pub(crate) holds: Option<&'static str>,
}

/// A session that waits.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) seat: Arc<Seat>,
    pub(crate) since: Time,
    pub(crate) awaited: Awaited,
    /// In which mode it wants it; none if nobody knows.
    pub(crate) mode: Option<&'static str>,
    pub(crate) blockers: Vec<Blocker>,
    /// Whether those are in the way, or may be.
    pub(crate) is_certain: bool,
}

/// The name of a table lock's mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "shared",
        Mode::Exclusive => "exclusive",
    }
}

/// All sessions that wait.
pub(crate) fn blocked(database: &Database) -> Vec<Blocked> {
    let seats = database.activity.seats();
    let waiting: Vec<_> = seats.iter().filter_map(|seat| Some((seat, seat.waiter.waits_since()?))).collect();
    // Looking at the engine's locks takes a while.
    let mut waits = None;
    let mut of_engine = |seat: &Seat| {
        let waits: &Vec<LockWait> = waits.get_or_insert_with(|| database.engine().lock_waits());
        waits.iter().find(|wait| wait.waiter == seat.pid().unsigned_abs()).cloned()
    };
    waiting.into_iter().map(|(seat, since)| one(database, seat, since, &seats, &mut of_engine)).collect()
}

fn one(
    database: &Database,
    seat: &Arc<Seat>,
    since: Time,
    seats: &[Arc<Seat>],
    of_engine: &mut dyn FnMut(&Seat) -> Option<LockWait>,
) -> Blocked {
    let seat = seat.clone();
    if let Some((lock, mode)) = seat.tables.awaited() {
        let blockers = of_table(&seat, since, lock, mode, seats);
        return Blocked {
            seat,
            since,
            awaited: Awaited::Table(lock),
            mode: Some(mode_name(mode)),
            blockers,
            is_certain: true,
        };
    }
    if let Some(wait) = database.advisory.wait_of(&seat) {
        let holders = wait.holders.into_iter().map(|(seat, mode)| Blocker { seat, holds: Some(mode_name(mode)) });
        let before = wait.before.into_iter().map(|seat| Blocker { seat, holds: None });
        let (awaited, mode) = (Awaited::Advisory(wait.key), Some(mode_name(wait.mode)));
        return Blocked { seat, since, awaited, mode, blockers: holders.chain(before).collect(), is_certain: true };
    }
    match of_engine(&seat) {
        Some(wait) => {
            let find = |label: u32| seats.iter().find(|seat| seat.pid().unsigned_abs() == label).cloned();
            let holders = wait.holders.iter().map(|&(label, mode)| (label, Some(mode)));
            let all = holders.chain(wait.before.iter().map(|&label| (label, None)));
            let blockers: Vec<_> =
                all.filter_map(|(label, holds)| Some(Blocker { seat: find(label)?, holds })).collect();
            let (awaited, mode) = (Awaited::Lock(wait.target), Some(wait.mode));
            Blocked { seat, since, awaited, mode, blockers, is_certain: true }
        }
        None => {
            let others = seats.iter().filter(|other| other.has_begun() && !Arc::ptr_eq(other, &seat));
            let blockers = others.map(|other| Blocker { seat: other.clone(), holds: None }).collect();
            Blocked { seat, since, awaited: Awaited::Unknown, mode: None, blockers, is_certain: false }
        }
    }
}

/// Who holds a table's lock in a mode that conflicts, and who has waited longer for it in one.
fn of_table(me: &Arc<Seat>, since: Time, lock: usize, mode: Mode, seats: &[Arc<Seat>]) -> Vec<Blocker> {
    let conflicts = |other: Mode| mode == Mode::Exclusive || other == Mode::Exclusive;
    let blocker = |seat: &Arc<Seat>| {
        let held = seat.tables.held().find(|&(held, other)| held == lock && conflicts(other));
        let before = || {
            let awaits = seat.tables.awaited().is_some_and(|(awaited, other)| awaited == lock && conflicts(other));
            awaits && seat.waiter.waits_since().is_some_and(|other| other < since)
        };
        match held {
            Some((_, mode)) => Some(Blocker { seat: seat.clone(), holds: Some(mode_name(mode)) }),
            None => before().then(|| Blocker { seat: seat.clone(), holds: None }),
        }
    };
    seats.iter().filter(|seat| !Arc::ptr_eq(seat, me)).filter_map(blocker).collect()
}

/// The numbers of those in the way of a session.
pub(crate) fn blockers_of(database: &Database, pid: i32) -> Vec<i32> {
    let waits = blocked(database);
    let found = waits.iter().find(|blocked| blocked.seat.pid() == pid);
    let mut pids: Vec<_> =
        found.into_iter().flat_map(|blocked| &blocked.blockers).map(|blocker| blocker.seat.pid()).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Whether a session, which wants an advisory lock, waits for others that wait for it, as far as that is certain.
pub(crate) fn is_in_a_circle(database: &Database, seat: &Arc<Seat>) -> bool {
    let Some(own) = database.advisory.wait_of(seat) else { return false };
    let waits = blocked(database);
    let mut reached: Vec<_> = own.holders.into_iter().map(|(holder, _)| holder).chain(own.before).collect();
    let mut next = 0;
    while let Some(from) = reached.get(next).cloned() {
        if Arc::ptr_eq(&from, seat) {
            return true;
        }
        let wait = waits.iter().find(|wait| wait.is_certain && Arc::ptr_eq(&wait.seat, &from));
        for blocker in wait.iter().flat_map(|wait| &wait.blockers) {
            if !reached.iter().any(|known| Arc::ptr_eq(known, &blocker.seat)) {
                reached.push(blocker.seat.clone());
            }
        }
        next += 1;
    }
    false
}
