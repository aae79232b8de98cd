//! Sets of modes in which an owner asks for a name.

use crate::shared::contention::{CLAIMS, Claim};
use crate::shared::range_locks::Counted;
use hotrow_txn::Intent;
use std::ops::BitOr;

/// The modes in which one owner asks for one name: a set of [`Claim`]s, whose conflicts are those of the paper's Fig.
/// 5. Rows are asked for in only two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Modes(pub(super) u8);

const EVERY: u8 = 0b1111;

/// The modes that conflict with any mode of a set, for each set.
const CONFLICTS: [u8; EVERY as usize + 1] = {
    let mut table = [0; EVERY as usize + 1];
    let mut set = 0;
    while set < table.len() {
        let mut mode = 0;
        while mode < CLAIMS.len() {
            let with = CLAIMS[mode].conflicts();
            let mut other = 0;
            while set & 1 << mode != 0 && other < with.len() {
                table[set] |= 1 << with[other] as u8;
                other += 1;
            }
            mode += 1;
        }
        set += 1;
    }
    table
};

impl Modes {
    pub(crate) const EXCLUSIVE: Modes = Modes(1 << Claim::Exclusive as u8);
    pub(crate) const SHARED: Modes = Modes(1 << Claim::Shared as u8);

    /// Returns the name of a key prefix and the mode in which a request queue is asked for it: a lock, or an intention
    /// to lock a longer prefix.
    #[inline]
    pub(crate) fn of_prefix(counted: &Counted) -> (u64, Self) {
        (counted.name(), counted.claim().into())
    }

    /// Whether two owners may not have these sets of modes at once.
    #[inline]
    pub(crate) fn conflicts(self, other: Modes) -> bool {
        CONFLICTS[usize::from(self.0 & EVERY)] & other.0 != 0
    }

    /// Whether no other owner may have any mode beside this set.
    #[inline]
    pub(crate) fn conflicts_with_all(self) -> bool {
        self.0 & Self::EXCLUSIVE.0 != 0
    }
}

impl From<Intent> for Modes {
    /// Returns the mode that locks a row for this intent.
    #[inline]
    fn from(intent: Intent) -> Self {
        match intent {
            Intent::Read => Modes::SHARED,
            Intent::Write => Modes::EXCLUSIVE,
        }
    }
}

impl From<Claim> for Modes {
    #[inline]
    fn from(claim: Claim) -> Self {
        Modes(1 << claim as u8)
    }
}

impl BitOr for Modes {
    type Output = Modes;

    #[inline]
    fn bitor(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_conflicts_with_what_any_of_it_conflicts_with() {
        for set in 1..=EVERY {
            let claims = CLAIMS.into_iter().filter(|&claim| set & Modes::from(claim).0 != 0);
            for other in CLAIMS {
                let expected = claims.clone().any(|claim| claim.conflicts().contains(&other));
                assert_eq!(Modes(set).conflicts(other.into()), expected, "{set:04b} {other:?}");
            }
            let all = CLAIMS.into_iter().all(|other| Modes(set).conflicts(other.into()));
            assert_eq!(Modes(set).conflicts_with_all(), all, "{set:04b}");
        }
    }
}
