//! Isolation levels.

use std::fmt;
use std::str::FromStr;

/// The isolation level of a transaction: how strictly it is isolated from others. Each engine says which levels it
/// offers. A level that it does not offer is raised to the first offered level that covers it.
///
/// The levels do not form a chain: repeatable read rules out write skew between rows that were read, and snapshot does
/// not; snapshot rules out phantoms, and repeatable read does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Reads see committed data only; two reads of one row may differ. There are no dirty writes.
    ReadCommitted,
    /// Rows that were read stay as they were; new rows may appear in a range that is scanned again.
    RepeatableRead,
    /// All reads see the state of one instant; concurrent writers of one row conflict. Write skew is possible.
    Snapshot,
    /// The outcome is the same as if the transactions had run one after another in some order.
    #[default]
    Serializable,
}

impl Isolation {
    /// All levels. Each comes before the levels that cover it.
    pub const ALL: [Isolation; 4] =
        [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Snapshot, Isolation::Serializable];

    /// Whether this level gives all guarantees of `other`.
    pub fn covers(self, other: Isolation) -> bool {
        self == other || self == Isolation::Serializable || other == Isolation::ReadCommitted
    }

    /// Whether there was a moment at which all rows that a transaction has read existed together, as it read them.
    pub fn reads_one_state(self) -> bool {
        self != Isolation::ReadCommitted
    }

    /// Returns the name of the level in SQL and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Snapshot => "snapshot",
            Isolation::Serializable => "serializable",
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isolation {
    type Err = String;

    /// Parses the level's name, with spaces or hyphens, in any case.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = text.trim().to_ascii_lowercase().replace('-', " ");
        let level = Isolation::ALL.into_iter().find(|level| level.name() == wanted);
        level.ok_or_else(|| {
            let names = Isolation::ALL.map(Isolation::name).join(", ");
            format!("unknown isolation level {text:?}: expected one of {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_covers_those_whose_promises_it_keeps() {
        use Isolation::{ReadCommitted, RepeatableRead, Serializable, Snapshot};
        let covered = [
            (ReadCommitted, &[ReadCommitted][..]),
            (RepeatableRead, &[ReadCommitted, RepeatableRead]),
            (Snapshot, &[ReadCommitted, Snapshot]),
            (Serializable, &[ReadCommitted, RepeatableRead, Snapshot, Serializable]),
        ];
        for (level, expected) in covered {
            let all: Vec<_> = Isolation::ALL.into_iter().filter(|&other| level.covers(other)).collect();
            assert_eq!(all, expected, "{level}");
        }
    }
}
