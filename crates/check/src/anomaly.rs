//! Proofs that a history is not isolated.

use crate::history::{History, Item, Outcome, Record, Stamp};
use hotrow_txn::Isolation;
use std::collections::BTreeSet;
use std::fmt;

/// The kind of a phenomenon, by Adya's names where he has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnomalyKind {
    /// A transaction did not see its own writes, or did not find a row that always existed. No level allows it.
    Internal,
    /// A scan missed a row that was in its range throughout, or saw a row twice, because the row's index key changed
    /// meanwhile. Read committed by locking allows it.
    UnstableScan,
    /// A read saw a version that no transaction wrote. No level allows it.
    Invented,
    /// Two committed transactions ended the same version of an item, so that one of the writes is gone. No level allows
    /// it.
    LostWrite,
    /// G0: a cycle of write dependencies.
    DirtyWrites,
    /// G1a: a read of a version whose writer aborted, or undid the write.
    AbortedRead,
    /// G1b: a read of a version that its writer replaced itself.
    IntermediateRead,
    /// G1c: a cycle of write and read dependencies.
    CircularInformation,
    /// G-single over one item: a transaction read the item, another transaction replaced it, and the first then wrote
    /// over that version.
    LostUpdate,
    /// G-single: a cycle with exactly one anti-dependency: read skew.
    SingleAntiDependency,
    /// G-single whose anti-dependency is over a range or an absence.
    SinglePredicateAntiDependency,
    /// G2-item: a cycle with anti-dependencies on items: write skew.
    ItemAntiDependency,
    /// G2: a cycle with an anti-dependency on a range or an absence: a phantom.
    Phantom,
    /// No serial order explains what the transactions saw, although no cycle shows why. In the order, each transaction
    /// must have its place during its call of commit, or during its run if it changed nothing.
    NoSerialOrder,
}

impl AnomalyKind {
    /// Returns the phenomenon's name in papers, or our own if there is none.
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

    /// Whether the isolation level `level` of a transaction rules the phenomenon out. For a cycle with
    /// anti-dependencies, that is the level of the transaction that read.
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

/// A phenomenon in a history, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The kind of phenomenon.
    pub kind: AnomalyKind,
    /// The sentences that explain it; for a cycle, one for each edge.
    pub evidence: Vec<String>,
    /// The operations of the transactions involved, in the order of the history.
    pub story: Vec<String>,
}

impl Anomaly {
    /// Makes a phenomenon that one sentence explains, and that involves these transactions.
    pub(crate) fn told(history: &History, kind: AnomalyKind, evidence: String, transactions: &[usize]) -> Self {
        Self::list(history, kind, vec![evidence], transactions)
    }

    /// Makes a phenomenon that takes several sentences, and involves these transactions.
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

/// The reason why a history is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The history is not isolated.
    Anomaly(Anomaly),
    /// The history may be isolated or not: neither proof was found within the allowed number of trials.
    Undecided,
}

impl Objection {
    /// Returns the kind of the phenomenon, or `None` if the history is undecided.
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

/// Returns the name of a transaction in sentences.
pub(crate) fn transaction_name(history: &History, transaction: usize) -> String {
    format!("T{transaction} ({})", history.transactions[transaction].session)
}

/// Returns the name of a version in sentences, such as "v7 of 0/3".
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
