//! The locks of one transaction in one partition.

use super::id::PartitionId;
use crate::shared::contention::{Claim, Mark};
use crate::shared::planned::{Plan, PlannedRow};
use crate::shared::range_locks::Counted;
use hotrow_storage::RecordHeader;
use hotrow_txn::Intent;

/// The locks that a transaction asks one partition for. The partition stores the piece until the transaction ends.
#[derive(Debug)]
pub(super) struct Piece<H> {
    pub(super) rows: Vec<PlannedRow<H>>,
    pub(super) prefixes: Vec<Counted>,
}

impl<H> Default for Piece<H> {
    fn default() -> Self {
        Self { rows: Vec::new(), prefixes: Vec::new() }
    }
}

/// The locks that a transaction asks one partition for, borrowed from a `Piece` or from a plan.
#[derive(Debug)]
pub struct PieceRef<'w, H> {
    pub(super) rows: &'w mut Vec<PlannedRow<H>>,
    pub(super) prefixes: &'w [Counted],
}

impl<H: RecordHeader> Piece<H> {
    /// Fills the piece with the rows of a plan that are in `partition`, and with all prefixes of the plan: they are
    /// locked in each of the plan's partitions.
    pub(super) fn fill(&mut self, plan: &Plan<H>, partition: PartitionId) {
        self.clear();
        self.rows.extend(plan.rows.iter().filter(|row| row.partition == partition.0));
        self.prefixes.extend_from_slice(plan.prefixes.counted());
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.prefixes.clear();
    }

    pub(super) fn wanted(&mut self) -> PieceRef<'_, H> {
        PieceRef { rows: &mut self.rows, prefixes: &self.prefixes }
    }

    /// Returns the marks that contention analysis looks at. The names were hashed when the plan was made.
    pub(super) fn marks(&self) -> impl Iterator<Item = Mark> + Clone {
        let claim = |intent| if intent == Intent::Read { Claim::Shared } else { Claim::Exclusive };
        let rows = self.rows.iter().map(move |row| Mark::new(row.name, claim(row.intent)));
        rows.chain(self.prefixes.iter().map(|counted| counted.mark()))
    }
}
