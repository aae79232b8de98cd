//! Lock modes and their compatibility.
//!
//! | held \ wanted | shared | exclusive | insert |
//! | --- | --- | --- | --- |
//! | shared | yes | no | no |
//! | exclusive | no | no | no |
//! | insert | no | no | yes |
//!
//! *Shared* and *exclusive* lock a row, present or absent. On a gap between two keys, *shared* keeps new keys out and
//! *insert* announces one: inserters into one gap do not mind each other. A transaction may hold several modes of one
//! name at once.

use std::ops::BitOr;

/// A set of lock modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode(u8);

impl Mode {
    pub(crate) const NONE: Mode = Mode(0);
    pub(crate) const SHARED: Mode = Mode(1);
    pub(crate) const EXCLUSIVE: Mode = Mode(2);
    pub(crate) const INSERT: Mode = Mode(4);

    /// Whether holding `self` grants everything in `other`.
    #[inline]
    pub(crate) fn covers(self, other: Mode) -> bool {
        self.0 & Self::EXCLUSIVE.0 != 0 || other.0 & !self.0 == 0
    }

    /// Whether no other transaction may hold any mode beside `self`.
    #[inline]
    pub(crate) fn conflicts_with_all(self) -> bool {
        self.0 & Self::EXCLUSIVE.0 != 0 || self == Self::SHARED | Self::INSERT
    }

    /// Returns the name of the mode in reports. Of several modes, the strongest is named.
    pub(crate) fn name(self) -> &'static str {
        match self {
            mode if mode.covers(Self::EXCLUSIVE) => "exclusive",
            mode if mode.covers(Self::INSERT) => "insert",
            _ => "shared",
        }
    }

    /// Whether two transactions may not hold `self` and `other` at once.
    #[inline]
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        if self.0 == 0 || other.0 == 0 {
            return false;
        }
        let both = self | other;
        both.0 & Self::EXCLUSIVE.0 != 0 || both == Self::SHARED | Self::INSERT
    }
}

impl BitOr for Mode {
    type Output = Mode;

    #[inline]
    fn bitor(self, other: Mode) -> Mode {
        Mode(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compatibility_is_the_table_of_the_module() {
        let (s, x, i) = (Mode::SHARED, Mode::EXCLUSIVE, Mode::INSERT);
        let cases = [(s, s, true), (s, x, false), (s, i, false), (x, x, false), (x, i, false), (i, i, true)];
        for (held, wanted, compatible) in cases {
            assert_eq!(!held.conflicts(wanted), compatible, "{held:?} {wanted:?}");
            assert_eq!(!wanted.conflicts(held), compatible, "{wanted:?} {held:?}");
        }
        assert!((s | i).conflicts(s) && (s | i).conflicts(i), "a gap that is both read and inserted into is one's own");
        assert!(!Mode::NONE.conflicts(x));
    }

    #[test]
    fn what_conflicts_with_all_conflicts_with_each() {
        let (s, x, i) = (Mode::SHARED, Mode::EXCLUSIVE, Mode::INSERT);
        for mode in [s, x, i, s | x, s | i, x | i, s | x | i] {
            let each = [s, x, i].into_iter().all(|other| mode.conflicts(other));
            assert_eq!(mode.conflicts_with_all(), each, "{mode:?}");
        }
    }

    #[test]
    fn exclusive_covers_everything() {
        assert!(Mode::EXCLUSIVE.covers(Mode::SHARED | Mode::INSERT));
        assert!(!Mode::SHARED.covers(Mode::INSERT));
        assert!((Mode::SHARED | Mode::INSERT).covers(Mode::SHARED));
    }
}
