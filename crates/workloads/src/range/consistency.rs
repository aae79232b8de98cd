//! The check: ranges that are held at the same time do not overlap, unless both are shared; and in the end no range is
//! held.

use super::Request;
use crate::Violation;

/// The ranges that are held, by the numbers of their transactions, and the errors found so far. A number is reused once
/// its transaction has ended.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    held: Vec<Option<Request>>,
    violation: Option<String>,
}

impl Grants {
    /// Records that a transaction is granted its range. With `compare`, the range is compared with all that are held,
    /// which takes time proportional to the number of transactions.
    #[inline]
    pub fn granted(&mut self, txn: u32, request: Request, compare: bool) {
        let number = txn as usize;
        if self.held.len() <= number {
            self.held.resize(number + 1, None);
        }
        if compare {
            self.compare(txn, request);
        }
        self.held[number] = Some(request);
    }

    /// Records that a transaction releases its range.
    #[inline]
    pub fn released(&mut self, txn: u32) {
        self.held[txn as usize] = None;
    }

    /// Records an error that the caller has found in the grants of the lock manager.
    pub fn violated(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// Checks the grants, after all transactions have ended.
    ///
    /// # Errors
    /// If a comparison has found an error, or a range is still held.
    pub fn check(&self) -> Result<(), Violation> {
        let held = || self.held.iter().flatten().next();
        let still = || held().map(|request| format!("keys {} to {} are still locked", request.first, request.last));
        self.violation.clone().or_else(still).map_or(Ok(()), |what| Err(Violation::Corruption(what)))
    }

    #[cold]
    fn compare(&mut self, txn: u32, request: Request) {
        if self.held[txn as usize].is_some() {
            self.violated(format!("transaction {txn} is granted a range, and holds one"));
        }
        let conflicts = |held: &&Request| {
            held.first <= request.last && request.first <= held.last && (held.exclusive || request.exclusive)
        };
        if let Some(held) = self.held.iter().flatten().find(conflicts) {
            let Request { first, last, .. } = *held;
            let what = format!("keys {} to {} were granted while {first} to {last} were", request.first, request.last);
            self.violated(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(first: u64, last: u64, exclusive: bool) -> Request {
        Request { first, last, exclusive, is_delayed: false }
    }

    #[test]
    fn what_conflicts_and_what_is_left_over_is_found() {
        let (x, s) = (true, false);
        for (held, wanted, expected) in [
            ((0, 7, x), (8, 9, x), None),
            ((0, 7, s), (7, 9, s), None),
            ((0, 7, s), (7, 9, x), Some("keys 7 to 9 were granted while 0 to 7 were")),
            ((5, 5, x), (0, 9, s), Some("keys 0 to 9 were granted while 5 to 5 were")),
        ] {
            let mut grants = Grants::default();
            let ((first, last, exclusive), wanted) = (held, request(wanted.0, wanted.1, wanted.2));
            grants.granted(4, request(first, last, exclusive), true);
            grants.granted(0, wanted, true);
            grants.released(4);
            grants.released(0);
            let found = grants.check().err();
            assert_eq!(found, expected.map(|what| Violation::Corruption(what.to_owned())), "{held:?} and {wanted:?}");
        }
        let mut grants = Grants::default();
        grants.granted(1, request(3, 4, x), false);
        assert_eq!(grants.check(), Err(Violation::Corruption("keys 3 to 4 are still locked".to_owned())));
        grants.granted(1, request(3, 4, x), true);
        grants.released(1);
        let again = "transaction 1 is granted a range, and holds one";
        assert_eq!(grants.check(), Err(Violation::Corruption(again.to_owned())));
    }
}
