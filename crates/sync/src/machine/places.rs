//! The places in the code at which threads of a timed run wait for cache lines.

use std::collections::HashMap;
use std::panic::Location;
use std::ptr;
use std::time::Duration;

/// A line of code, or all plain loads and stores together, with the time for which its accesses waited for cache lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The place in the code of an access to an atomic; `None` for plain loads and stores.
    pub at: Option<&'static Location<'static>>,
    /// The number of accesses that waited.
    pub accesses: u64,
    /// The time for which they waited, all together.
    pub waited: Duration,
}

/// The waits of a timed run so far, by their places in the code.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// For each location, by its address: the number of accesses that waited, and the picoseconds for which they
    /// waited.
    by_address: HashMap<usize, (&'static Location<'static>, u64, u64)>,
    /// The two numbers of `by_address`, for plain loads and stores.
    plain: (u64, u64),
}

impl Places {
    /// Adds a wait of `waited` picoseconds, by an access to an atomic at the place `at`, or by a plain access if `at`
    /// is `None`.
    pub(super) fn note(&mut self, at: Option<&'static Location<'static>>, waited: u64) {
        let (accesses, sum) = match at {
            Some(at) => {
                let (_, accesses, sum) = self.by_address.entry(ptr::from_ref(at).addr()).or_insert((at, 0, 0));
                (accesses, sum)
            }
            None => (&mut self.plain.0, &mut self.plain.1),
        };
        *accesses += 1;
        *sum += waited;
    }

    /// Returns the places at which threads have waited, the most expensive first.
    pub(super) fn all(&self) -> Vec<Place> {
        let mut all: HashMap<String, Place> = HashMap::new();
        let plain = (self.plain.0 > 0).then_some((None, self.plain.0, self.plain.1));
        let atomic = self.by_address.values().map(|&(at, accesses, waited)| (Some(at), accesses, waited));
        // A line of code has several addresses, if it is part of several copies of a generic function.
        for (at, accesses, waited) in atomic.chain(plain) {
            let name = at.map_or_else(String::new, ToString::to_string);
            let place = all.entry(name).or_insert(Place { at, accesses: 0, waited: Duration::ZERO });
            place.accesses += accesses;
            place.waited += Duration::from_nanos(waited / 1000);
        }
        let mut all: Vec<_> = all.into_values().collect();
        all.sort_by(|one, other| other.waited.cmp(&one.waited).then(one.at.cmp(&other.at)));
        all
    }
}
