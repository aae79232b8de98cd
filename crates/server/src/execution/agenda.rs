//! The agenda of a worker: the connections that are ready, and the times at which further ones become ready.

use super::ready::{Ready, Turn};
use hotrow_sync::Time;
use std::collections::BTreeSet;

/// The connections that are ready, which a worker serves next, and the timers of all its connections. A connection is
/// ready if it may have something to do. It is identified by its number at the worker.
#[derive(Debug, Default)]
pub struct Agenda {
    ready: Ready,
    timers: BTreeSet<(Time, usize)>,
    entries: Vec<Entry>,
}

/// The state of the connection with a number.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The connection is among the ready ones.
    is_ready: bool,
    /// The connection's timer, as in `timers`.
    timer: Option<Time>,
}

impl Agenda {
    /// Marks a connection as ready, if it is not. It is served before others if `may_be_waited_for` returns true,
    /// because other sessions may be waiting for it.
    pub fn enqueue(&mut self, number: usize, may_be_waited_for: impl FnOnce() -> bool) {
        if !std::mem::replace(&mut self.entry(number).is_ready, true) {
            self.ready.push(number, may_be_waited_for());
        }
    }

    /// Whether a connection is ready.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Begins a turn: one pass over the connections that are ready now. A connection that becomes ready during the turn
    /// belongs to the next one.
    pub fn turn(&self) -> Turn {
        self.ready.turn()
    }

    /// Returns the next connection of the turn, which is then no longer ready. Returns `None` at the turn's end.
    pub fn next(&mut self, turn: &mut Turn) -> Option<usize> {
        let number = self.ready.pop(turn)?;
        self.entry(number).is_ready = false;
        Some(number)
    }

    /// Sets a connection's timer, in place of an earlier one: the time at which the worker makes it ready. `None` stops
    /// the timer.
    pub fn set_timer(&mut self, number: usize, timer: Option<Time>) {
        let before = std::mem::replace(&mut self.entry(number).timer, timer);
        if before == timer {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, number));
        }
        if let Some(timer) = timer {
            self.timers.insert((timer, number));
        }
    }

    /// Returns the time of a connection's timer, or `None` if it has none.
    pub fn timer(&self, number: usize) -> Option<Time> {
        self.entries.get(number).and_then(|entry| entry.timer)
    }

    /// Returns the time of the earliest timer, or `None` if there are no timers.
    pub fn first_timer(&self) -> Option<Time> {
        self.timers.first().map(|&(time, _)| time)
    }

    /// Returns a connection whose timer is not later than `now`, and stops the timer. Returns `None` if there is no
    /// such connection.
    pub fn take_due(&mut self, now: Time) -> Option<usize> {
        let &(time, number) = self.timers.first()?;
        if time > now {
            return None;
        }
        self.set_timer(number, None);
        Some(number)
    }

    /// Removes the timer of a connection that has ended or moved, and its mark as ready. Its number may be used again.
    pub fn forget(&mut self, number: usize) {
        self.set_timer(number, None);
        self.entry(number).is_ready = false;
    }

    fn entry(&mut self, number: usize) -> &mut Entry {
        if self.entries.len() <= number {
            self.entries.resize(number + 1, Entry::default());
        }
        &mut self.entries[number]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn ready(agenda: &mut Agenda) -> Vec<usize> {
        let mut turn = agenda.turn();
        std::iter::from_fn(|| agenda.next(&mut turn)).collect()
    }

    #[test]
    fn a_connection_is_ready_once_and_its_timer_makes_it_due_once() {
        let mut agenda = Agenda::default();
        for number in [3, 1, 3] {
            agenda.enqueue(number, || number == 1);
        }
        assert_eq!(ready(&mut agenda), [1, 3]);
        assert_eq!((agenda.has_ready(), ready(&mut agenda)), (false, vec![]));
        agenda.set_timer(7, Some(Time(20)));
        agenda.set_timer(2, Some(Time(30)));
        agenda.set_timer(7, Some(Time(10)));
        assert_eq!((agenda.first_timer(), agenda.timer(2)), (Some(Time(10)), Some(Time(30))));
        assert_eq!([9, 10, 10].map(|now| agenda.take_due(Time(now))), [None, Some(7), None]);
        agenda.forget(2);
        assert_eq!(agenda.first_timer(), None);
    }
}
