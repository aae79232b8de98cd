//! The evidence behind a verdict that a history is isolated.

use crate::edges::{Edge, EdgeKind};
use crate::history::{History, Operation, Outcome};
use hotrow_txn::Abort;
use std::fmt;

/// The evidence behind a verdict that a history is isolated: counts that show how much the history proves. It proves
/// nothing if the engine aborted all transactions, or if no transaction depends on another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Whether a serial order was found that explains the reads of all transactions, so that the history is strictly
    /// serializable. If false, the verdict is only that there is no anomaly that the levels rule out.
    pub serial_order: bool,
    /// The number of transactions that committed.
    pub committed: u64,
    /// The reasons for which the engine aborted transactions, each with their number. Reasons that did not occur are
    /// left out.
    pub aborted: Vec<(Abort, u64)>,
    /// The number of transactions that their own code rolled back.
    pub rolled_back: u64,
    /// The number of reads by committed transactions. Each update, and each row that a scan saw, counts as one.
    pub reads: u64,
    /// The number of scans by committed transactions.
    pub scans: u64,
    /// The number of writes by committed transactions.
    pub writes: u64,
    /// The number of dependencies between two committed transactions in which the later one replaced a version that the
    /// earlier one wrote.
    pub write_dependencies: u64,
    /// The number of dependencies in which the later transaction read a version that the earlier one wrote.
    pub read_dependencies: u64,
    /// The number of dependencies in which the later transaction replaced a version that the earlier one had read.
    pub anti_dependencies: u64,
    /// The number of dependencies in which the later transaction added or removed a row in a range that the earlier one
    /// had scanned, or inserted a row that the earlier one had not found.
    pub predicate_dependencies: u64,
}

impl Evidence {
    pub(crate) fn of<'e>(history: &History, edges: impl Iterator<Item = &'e Edge>) -> Self {
        let mut evidence = Self::default();
        let mut aborted = [0; Abort::ALL.len()];
        for record in &history.transactions {
            match record.outcome {
                Outcome::Committed => evidence.committed += 1,
                Outcome::RolledBack => evidence.rolled_back += 1,
                Outcome::Aborted(reason) => {
                    let place = Abort::ALL.iter().position(|abort| *abort == reason).expect("all are listed");
                    aborted[place] += 1;
                }
            }
            for event in record.events.iter().filter(|_| record.is_committed()) {
                evidence.writes += u64::from(event.operation.written().is_some());
                match &event.operation {
                    Operation::Read { .. } | Operation::Update { .. } => evidence.reads += 1,
                    Operation::Scan { seen, .. } => {
                        evidence.scans += 1;
                        evidence.reads += seen.len() as u64;
                    }
                    _ => {}
                }
            }
        }
        evidence.aborted = Abort::ALL.into_iter().zip(aborted).filter(|(_, count)| *count > 0).collect();
        for edge in edges {
            *match edge.kind {
                EdgeKind::Write => &mut evidence.write_dependencies,
                EdgeKind::Read => &mut evidence.read_dependencies,
                EdgeKind::Anti => &mut evidence.anti_dependencies,
                EdgeKind::PredicateAnti => &mut evidence.predicate_dependencies,
            } += 1;
        }
        evidence
    }

    /// Returns the share of committed transactions, in per cent of all transactions that their own code did not roll
    /// back.
    pub fn committed_percent(&self) -> f64 {
        let aborted: u64 = self.aborted.iter().map(|(_, count)| count).sum();
        match self.committed + aborted {
            0 => 0.0,
            all => self.committed as f64 * 100.0 / all as f64,
        }
    }

    /// Returns the number of dependencies of all kinds.
    pub fn dependencies(&self) -> u64 {
        self.write_dependencies + self.read_dependencies + self.anti_dependencies + self.predicate_dependencies
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} committed ({:.1} %)", self.committed, self.committed_percent())?;
        self.aborted.iter().try_for_each(|(abort, count)| write!(f, ", {count} aborted: {}", abort.name()))?;
        writeln!(f, ", {} rolled back", self.rolled_back)?;
        writeln!(f, "{} reads, {} scans, {} writes committed", self.reads, self.scans, self.writes)?;
        write!(
            f,
            "{} dependencies: {} write-write, {} write-read, {} read-write, {} by ranges and absent keys",
            self.dependencies(),
            self.write_dependencies,
            self.read_dependencies,
            self.anti_dependencies,
            self.predicate_dependencies
        )?;
        match self.serial_order {
            true => f.write_str(
                "\nstrictly serializable: a serial order, each transaction at its commit, explains what all saw",
            ),
            false => f.write_str("\nno cycle of dependencies that the levels rule out"),
        }
    }
}
