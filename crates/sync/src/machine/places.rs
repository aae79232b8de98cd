//! The places in the code at which threads of a timed run wait for cache lines.

use std::collections::HashMap;
use std::panic::Location;
use std::ptr;
use std::time::Duration;

/// A line of code, or all plain code together, with what its accesses have waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line of an access to an atomic; `None` for plain loads and stores.
    pub at: Option<&'static Location<'static>>,
    /// The number of accesses that waited.
    pub accesses: u64,
    /// The time for which they waited, all together.
    pub waited: Duration,
}

/// The places so far.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The number of accesses and the picoseconds, by the address of the location.
    by_address: HashMap<usize, (&'static Location<'static>, u64, u64)>,
    plain: (u64, u64),
}

impl Places {
    /// Notes a wait of an access at a line of code, or of a plain one.
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
