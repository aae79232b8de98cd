//! Anomalies: proofs that a history of transactions is not isolated as its levels promise.

use crate::history::{History, Item, Outcome, Record, Stamp};
use hotrow_txn::Isolation;
use std::collections::BTreeSet;
use std::fmt;

/// The kind of an anomaly, named as in Adya's thesis where it has a name there (G0, G1a and so on).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnomalyKind {
    /// A transaction read something that contradicts every order: it did not see its own writes, did not find a row
    /// that always existed, saw a row twice in a scan by the primary key, or was refused a unique key that no row ever
    /// had. No level allows it.
    Internal,
    /// A scan by a secondary index saw a row twice, or missed a row that was in its range throughout, because the row's
    /// index key changed during the scan. Only read committed allows it.
    UnstableScan,
    /// A read saw a version that is neither initial nor written by any transaction. No level allows it.
    Invented,
    /// Two committed transactions replaced or deleted the same version of an item, or an item was inserted although it
    /// existed, so that one of the writes is lost. No level allows it.
    LostWrite,
    /// G0: a cycle of write dependencies. No level allows it.
    DirtyWrites,
    /// G1a: a transaction saw a write, or the effect of a delete, that was undone: its transaction aborted, or rolled
    /// back to a savepoint. No level allows it.
    AbortedRead,
    /// G1b: a transaction read a version that the version's own writer replaced or deleted before it committed. No
    /// level allows it.
    IntermediateRead,
    /// G1c: a cycle of write and read dependencies. No level allows it.
    CircularInformation,
    /// A lost update, which is G-single over one item: a transaction read the item, another one then replaced that
    /// version, and the first one then overwrote the new version. Only read committed allows it.
    LostUpdate,
    /// G-single, or read skew: a cycle of dependencies with exactly one anti-dependency, which is over an item that was
    /// read. Only read committed allows it.
    SingleAntiDependency,
    /// G-single whose anti-dependency is over a range that was scanned or an item that was not found. Snapshot and
    /// serializable rule it out.
    SinglePredicateAntiDependency,
    /// G2-item, such as write skew: a cycle with several anti-dependencies, all over items that were read. Repeatable
    /// read and serializable rule it out.
    ItemAntiDependency,
    /// G2, or a phantom: a cycle with several anti-dependencies, one of them over a range that was scanned or an item
    /// that was not found. Only serializable rules it out.
    Phantom,
    /// No serial order explains the reads of all transactions, although no cycle of dependencies was found. In a serial
    /// order, each transaction takes place at one moment during its call of commit, or during its run if it changed
    /// nothing. Only serializable rules it out.
    NoSerialOrder,
}

impl AnomalyKind {
    /// Returns the name of the anomaly in reports: the one of the papers, if there is one.
    pub fn name(self) -> &'static str {
        match self {
            AnomalyKind::Internal => "internal inconsistency",
            AnomalyKind::UnstableScan => "unstable scan",
            AnomalyKind::Invented => "invented read",
            AnomalyKind::LostWrite => "lost write",
            AnomalyKind::DirtyWrites => "G0 (dirty writes)",
            AnomalyKind::AbortedRead => "G1a (aborted read)",
            AnomalyKind::IntermediateRead => "G1b (intermediate read)",
            AnomalyKind::CircularInformation => "G1c (circular information flow)",
            AnomalyKind::LostUpdate => "lost update (G-single over one item)",
            AnomalyKind::SingleAntiDependency => "G-single (read skew)",
            AnomalyKind::SinglePredicateAntiDependency => "G-single over a range (phantom read)",
            AnomalyKind::ItemAntiDependency => "G2-item (write skew)",
            AnomalyKind::Phantom => "G2 (phantom)",
            AnomalyKind::NoSerialOrder => "no serial order",
        }
    }

    /// Whether the isolation level `level` rules the anomaly out. In a cycle, each anti-dependency counts by the level
    /// of the transaction that read.
    pub fn is_ruled_out_by(self, level: Isolation) -> bool {
        match self {
            AnomalyKind::UnstableScan | AnomalyKind::LostUpdate | AnomalyKind::SingleAntiDependency => {
                level.reads_one_state()
            }
            AnomalyKind::SinglePredicateAntiDependency => level.covers(Isolation::Snapshot),
            AnomalyKind::ItemAntiDependency => level.covers(Isolation::RepeatableRead),
            AnomalyKind::Phantom | AnomalyKind::NoSerialOrder => level == Isolation::Serializable,
            _ => true,
        }
    }
}

/// An anomaly in a history, with its evidence. It is shown as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The kind of the anomaly.
    pub kind: AnomalyKind,
    /// The sentences that explain the anomaly. For a cycle of dependencies, there is one for each edge.
    pub evidence: Vec<String>,
    /// The operations of the transactions that are involved, one line each, in the order in which they happened.
    pub story: Vec<String>,
}

impl Anomaly {
    /// Makes an anomaly with a single sentence of evidence. `transactions` are the numbers of the transactions that are
    /// involved.
    pub(crate) fn new(history: &History, kind: AnomalyKind, evidence: String, transactions: &[usize]) -> Self {
        Self::list(history, kind, vec![evidence], transactions)
    }

    /// Makes an anomaly with several sentences of evidence. `transactions` are the numbers of the transactions that are
    /// involved.
    pub(crate) fn list(history: &History, kind: AnomalyKind, evidence: Vec<String>, transactions: &[usize]) -> Self {
        Self { kind, evidence, story: story(history, transactions) }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.kind.name())?;
        self.evidence.iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))?;
        writeln!(f, "What they did:")?;
        self.story.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl std::error::Error for Anomaly {}

/// The reason why a check does not accept a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The history is not isolated as its levels promise.
    Anomaly(Anomaly),
    /// The search ended at its bound on trials, so it is unknown whether the history is isolated.
    Undecided,
}

impl Objection {
    /// Returns the kind of the anomaly, or `None` if the history is undecided.
    pub fn kind(&self) -> Option<AnomalyKind> {
        match self {
            Objection::Anomaly(anomaly) => Some(anomaly.kind),
            Objection::Undecided => None,
        }
    }
}

impl From<Anomaly> for Objection {
    fn from(anomaly: Anomaly) -> Self {
        Objection::Anomaly(anomaly)
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Anomaly(anomaly) => anomaly.fmt(f),
            Objection::Undecided => {
                f.write_str("undecided: the trials ran out before the history was explained or refuted")
            }
        }
    }
}

impl std::error::Error for Objection {}

/// Returns the name of a transaction in sentences, such as "T3 (a)" for transaction 3, which session "a" ran.
pub(crate) fn transaction_name(history: &History, transaction: usize) -> String {
    format!("T{transaction} ({})", history.transactions[transaction].session)
}

/// Returns the name of a version in sentences, such as "v7 of 0/3": the version with stamp 7 of the row with key 3 in
/// table 0.
pub(crate) fn version_name(item: &Item, stamp: Stamp) -> String {
    format!("v{} of {item}", stamp.0)
}

fn story(history: &History, transactions: &[usize]) -> Vec<String> {
    let mut lines = Vec::new();
    for &transaction in &transactions.iter().copied().collect::<BTreeSet<_>>() {
        let record: &Record = &history.transactions[transaction];
        let name = transaction_name(history, transaction);
        lines.push((record.began, format!("{name} begins, {}", record.isolation)));
        for event in &record.events {
            let undone = if event.undone_by.is_some() { " (undone later)" } else { "" };
            lines.push((event.at, format!("{name} {}{undone}", event.operation)));
        }
        let end = match record.outcome {
            Outcome::Committed => "commits".to_owned(),
            Outcome::Aborted(abort) => format!("is aborted: {}", abort.name()),
            Outcome::RolledBack => "rolls back".to_owned(),
        };
        lines.push((record.ending, format!("{name} {end}")));
    }
    lines.sort();
    lines.into_iter().map(|(at, line)| format!("{at:6}  {line}")).collect()
}
