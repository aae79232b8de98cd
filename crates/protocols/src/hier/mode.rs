//! The lock modes of a hierarchy.
//!
//! | held \ wanted | IS | IX | S | SIX | U | X |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | IS | yes | yes | yes | yes | yes | no |
//! | IX | yes | yes | no | no | no | no |
//! | S | yes | no | yes | no | yes | no |
//! | SIX | yes | no | no | no | no | no |
//! | U | yes | no | yes | no | no | no |
//! | X | no | no | no | no | no | no |
//!
//! *Intention shared* (IS) and *intention exclusive* (IX) on a node of the hierarchy announce locks on the nodes below
//! it. *Shared* (S) and *exclusive* (X) lock the node and all nodes below it. *Shared with intention exclusive* (SIX)
//! is S and IX together. *Update* (U) is S for a transaction that may ask for X later: only one transaction at a time
//! can hold it. A gap between two keys has these modes, too: S keeps new keys out, and IX announces a new key.

use crate::shared::mode::Mode as FlatMode;

/// A lock mode of a node in the hierarchy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[expect(clippy::upper_case_acronyms, reason = "the modes have these names in every text on locking")]
pub(crate) enum Mode {
    /// No lock.
    #[default]
    None,
    /// Intention shared.
    IS,
    /// Intention exclusive.
    IX,
    /// Shared.
    S,
    /// Shared with intention exclusive.
    SIX,
    /// Update: shared, and the only lock on the node that may become exclusive.
    U,
    /// Exclusive.
    X,
}

use Mode::{IS, IX, None, S, SIX, U, X};

const MODES: [Mode; 7] = [None, IS, IX, S, SIX, U, X];

/// The set of modes that are compatible with each mode, with a bit for each mode.
const COMPATIBLE: [u8; 7] = [
    set(&MODES),
    set(&[None, IS, IX, S, SIX, U]),
    set(&[None, IS, IX]),
    set(&[None, IS, S, U]),
    set(&[None, IS]),
    set(&[None, IS, S]),
    set(&[None]),
];

/// The weakest mode that grants everything that two modes grant.
const SUPREMUM: [[Mode; 7]; 7] = [
    [None, IS, IX, S, SIX, U, X],
    [IS, IS, IX, S, SIX, U, X],
    [IX, IX, IX, SIX, SIX, X, X],
    [S, S, SIX, S, SIX, U, X],
    [SIX, SIX, SIX, SIX, SIX, X, X],
    [U, U, X, U, X, U, X],
    [X, X, X, X, X, X, X],
];

const fn set(modes: &[Mode]) -> u8 {
    let (mut set, mut at) = (0, 0);
    while at < modes.len() {
        set |= 1 << modes[at] as u8;
        at += 1;
    }
    set
}

impl Mode {
    /// Returns the mode whose number is the lowest three bits of `bits`.
    #[inline]
    pub(super) fn of_bits(bits: u64) -> Self {
        MODES.get((bits & 7) as usize).copied().unwrap_or(X)
    }

    /// Returns the mode in which a row, gap or unique key is locked for a transaction that asks for `flat`.
    pub(super) fn of_flat(flat: FlatMode) -> Self {
        match flat {
            FlatMode::SHARED => S,
            FlatMode::INSERT => IX,
            _ => X,
        }
    }

    /// Whether two transactions cannot hold `self` and `other` on one node at the same time.
    #[inline]
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        COMPATIBLE[self as usize] & 1 << other as u8 == 0
    }

    /// Whether `self` conflicts with any mode of a set, which has a bit for each mode.
    #[inline]
    pub(super) fn conflicts_with_any(self, modes: u8) -> bool {
        modes & !COMPATIBLE[self as usize] != 0
    }

    /// Whether no other transaction can hold any mode beside `self`.
    #[inline]
    pub(crate) fn conflicts_with_all(self) -> bool {
        self == X
    }

    /// Returns the weakest mode that grants everything that `self` and `other` grant.
    #[inline]
    pub(crate) fn join(self, other: Mode) -> Mode {
        SUPREMUM[self as usize][other as usize]
    }

    /// Whether `self` grants everything that `other` grants.
    #[inline]
    pub(crate) fn covers(self, other: Mode) -> bool {
        self.join(other) == self
    }

    /// Whether a transaction that holds `self` on a node has thereby locked each node below it in mode `below`.
    #[inline]
    pub(crate) fn grants_below(self, below: Mode) -> bool {
        match self {
            X => true,
            S | SIX | U => matches!(below, None | IS | S),
            None | IS | IX => below == None,
        }
    }

    /// Returns the mode that a transaction must hold on all nodes above one that it locks in `self`.
    #[inline]
    pub(crate) fn intention(self) -> Mode {
        match self {
            None => None,
            IS | S => IS,
            IX | SIX | U | X => IX,
        }
    }

    /// Returns the mode that locks a whole node for a transaction that holds `self` on it and has locked nodes below
    /// it.
    pub(super) fn whole(self) -> Mode {
        match self {
            None | IS | S => S,
            IX | SIX | U | X => X,
        }
    }

    /// Whether many transactions can hold the mode on one node, each of them as well as the others. Only locks in such
    /// modes are inherited.
    #[inline]
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, IS | IX | S)
    }

    /// Returns the name of the mode in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            None => "none",
            IS => "intention shared",
            IX => "intention exclusive",
            S => "shared",
            SIX => "shared with intention exclusive",
            U => "update",
            X => "exclusive",
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn compatibility_is_the_table_of_the_module() {
        let rows = include_str!("mode.rs").lines().skip_while(|line| !line.starts_with("//! | --- |")).skip(1);
        for (held, row) in MODES[1..].iter().zip(rows) {
            let cells: Vec<_> =
                row.trim_start_matches("//! |").trim_end_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells[0], format!("{held:?}"));
            for (wanted, cell) in MODES[1..].iter().zip(&cells[1..]) {
                assert_eq!(held.conflicts(*wanted), *cell == "no", "{held:?} {wanted:?}");
                assert_eq!(held.conflicts(*wanted), wanted.conflicts(*held), "{held:?} {wanted:?}");
            }
        }
    }

    #[test]
    fn the_supremum_is_the_weakest_mode_that_covers_both() {
        for (a, b) in MODES.iter().flat_map(|&a| MODES.map(|b| (a, b))) {
            let join = a.join(b);
            assert_eq!(join, b.join(a));
            assert!(join.covers(a) && join.covers(b), "{a:?} {b:?}");
            let others = MODES.iter().filter(|mode| mode.covers(a) && mode.covers(b));
            assert!(others.into_iter().all(|mode| mode.covers(join)), "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_stronger_mode_conflicts_with_more_and_grants_more_below() {
        for (weak, strong) in MODES.iter().flat_map(|&a| MODES.map(|b| (a, b))).filter(|(a, b)| b.covers(*a)) {
            for other in MODES {
                assert!(!weak.conflicts(other) || strong.conflicts(other), "{weak:?} {strong:?} {other:?}");
                assert!(!weak.grants_below(other) || strong.grants_below(other), "{weak:?} {strong:?} {other:?}");
            }
            assert!(strong.intention().covers(weak.intention()));
        }
        assert!(MODES.iter().all(|mode| mode.whole().grants_below(mode.intention())));
    }

    #[test]
    fn modes_are_numbers_of_three_bits() {
        assert!(MODES.iter().all(|&mode| Mode::of_bits(mode as u64) == mode));
    }
}
