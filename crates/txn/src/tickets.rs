//! Tickets, by which transactions are let in to contended data, each for a limited time.

use crate::{Abort, LoadLimit};
use hotrow_sync::Time;
use std::time::Duration;

/// The ratio of a lease to the average time for which tickets are held, as long as the lease stays between
/// `SHORTEST_LEASE` and `LONGEST_LEASE`.
const LEASE: u64 = 8;
const SHORTEST_LEASE: Duration = Duration::from_millis(10);
const LONGEST_LEASE: Duration = Duration::from_secs(1);

/// The number of tickets, roughly, over which the moving average is taken.
const AVERAGED: u64 = 16;

/// The limit at the beginning.
const FIRST_LIMIT: LoadLimit = LoadLimit::new(4);

/// During one lease, about this many of the transactions that are held back look at the leases.
const LOOKS_EACH_LEASE: u32 = 8;

/// A ticket that counts toward the limit.
#[derive(Debug)]
struct Ticket {
    holder: u32,
    since: Time,
}

/// The tickets of an admission control: a transaction that contends with others needs a ticket to run. There are as
/// many as a [`LoadLimit`] allows. A ticket counts toward the limit only for a *lease*, a multiple of the average time
/// for which tickets are held. So a transaction that pauses with a ticket keeps others out only for a while.
///
/// One thread at a time may use this object.
#[derive(Debug)]
pub struct Tickets {
    limit: LoadLimit,
    counted: Vec<Ticket>,
    /// The average time for which tickets are held, in nanoseconds.
    held_ns: u64,
}

impl Default for Tickets {
    fn default() -> Self {
        Self { limit: FIRST_LIMIT, counted: Vec::new(), held_ns: 0 }
    }
}

impl Tickets {
    /// Returns the number of tickets that may be held at once.
    pub fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Resets the limit to its initial value.
    pub fn reset_limit(&mut self) {
        self.limit = FIRST_LIMIT;
    }

    /// Returns the number of tickets that are held and count toward the limit.
    pub fn held(&self) -> usize {
        self.counted.len()
    }

    /// Whether another ticket may be given out without exceeding the limit.
    pub fn is_free(&self) -> bool {
        self.held() < self.limit()
    }

    /// Returns how long a ticket counts toward the limit: from 10 ms to 1 s.
    pub fn lease(&self) -> Duration {
        Duration::from_nanos(self.held_ns.saturating_mul(LEASE)).clamp(SHORTEST_LEASE, LONGEST_LEASE)
    }

    /// Returns the time at which a transaction that waits for a ticket should call [`lapse`](Self::lapse) again.
    /// `held_back` is the number of transactions that wait. The more wait, the less often each of them looks.
    pub fn next_look(&self, now: Time, held_back: usize) -> Time {
        let (lease, shared) = (self.lease(), self.lease() * (held_back as u32 / LOOKS_EACH_LEASE));
        now.after(lease + shared.min(LONGEST_LEASE))
    }

    /// Gives a ticket to the transaction `holder`, even if the limit is reached.
    pub fn give(&mut self, holder: u32, now: Time) {
        self.counted.push(Ticket { holder, since: now });
    }

    /// Takes back the ticket of the transaction `holder`, and adapts the limit. `failed` is the reason of the
    /// transaction's abort, if other transactions caused it. `is_short` says whether transactions wait because no
    /// ticket is free.
    pub fn take_back(&mut self, holder: u32, now: Time, failed: Option<Abort>, is_short: bool) {
        let lease = self.lease();
        let held = match self.counted.iter().position(|ticket| ticket.holder == holder) {
            Some(place) => now.since(self.counted.swap_remove(place).since).min(lease),
            None => lease,
        };
        self.held_ns = (self.held_ns * (AVERAGED - 1) + held.as_nanos() as u64) / AVERAGED;
        if let Some(abort) = failed {
            self.limit.failed(abort);
        } else if is_short {
            self.limit.succeeded(LoadLimit::MOST);
        }
    }

    /// Stops counting the tickets whose lease is over, so that others become free.
    pub fn lapse(&mut self, now: Time) {
        let lease = self.lease();
        self.counted.retain(|ticket| now.since(ticket.since) < lease);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_falls_with_failures_and_rises_while_others_are_held_back() {
        let mut tickets = Tickets::default();
        let first = tickets.limit();
        let mut take_back = |count, failed, is_short| {
            for _ in 0..count {
                tickets.give(7, Time(0));
                tickets.take_back(7, Time(1_000), failed, is_short);
            }
            tickets.limit()
        };
        assert_eq!(take_back(100, None, false), first, "nobody needs more");
        assert_eq!(take_back(100, Some(Abort::Deadlock), true), 1);
        assert!(take_back(200, None, true) > first);
        tickets.reset_limit();
        assert_eq!(tickets.limit(), first);
    }

    #[test]
    fn a_ticket_counts_for_a_multiple_of_the_time_that_others_are_held() {
        let mut tickets = Tickets::default();
        let ms = |ms: u64| Time(ms * 1_000_000);
        assert_eq!(tickets.lease(), SHORTEST_LEASE);
        tickets.give(1, ms(0));
        tickets.give(2, ms(5));
        tickets.lapse(ms(9));
        assert_eq!(tickets.held(), 2);
        tickets.lapse(ms(12));
        assert_eq!(tickets.held(), 1, "the first has lapsed");
        tickets.take_back(1, ms(13), None, false);
        assert_eq!(tickets.held(), 1, "and is returned all the same");
        for _ in 0..100 {
            tickets.give(3, ms(0));
            tickets.take_back(3, ms(8), None, false);
        }
        let lease = tickets.lease();
        assert!(lease > Duration::from_millis(60) && lease <= Duration::from_millis(64), "{lease:?}");
        assert_eq!(tickets.next_look(ms(0), 7), Time(0).after(lease));
        assert_eq!(tickets.next_look(ms(0), 16), Time(0).after(lease * 3));
        assert_eq!(tickets.next_look(ms(0), 1_000_000), Time(0).after(lease + LONGEST_LEASE));
        for _ in 0..1000 {
            tickets.give(3, ms(0));
            tickets.take_back(3, ms(1_000_000), None, false);
        }
        assert_eq!(tickets.lease(), LONGEST_LEASE);
    }
}
