//! The check whether a history is as isolated as its transactions' levels promise.

use crate::anomaly::{Anomaly, AnomalyKind, Objection, transaction_name};
use crate::cycle::{in_cycles, shortest_cycle};
use crate::edges::{Dependencies, Edge, EdgeKind, Stretch};
use crate::evidence::Evidence;
use crate::history::{History, Item, Stamp};
use crate::internal::check_reads;
use crate::serial::{Search as Serial, serial_order};
use crate::versions::{Versions, order};
use hotrow_txn::Isolation;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The cycles that are phenomena, worst first. Each entry holds the name of the cycle, the kind of its first edge, and
/// the kinds that its other edges may have.
///
/// In a history of several levels an anti-dependency counts if the level of the transaction that read rules such a
/// cycle out: Adya's mixing-correct histories (1999, §5.5).
const CYCLES: [(AnomalyKind, EdgeKind, &[EdgeKind]); 6] = {
    use EdgeKind::{Anti, PredicateAnti, Read, Write};
    [
        (AnomalyKind::DirtyWrites, Write, &[Write]),
        (AnomalyKind::CircularInformation, Read, &[Write, Read]),
        (AnomalyKind::SingleAntiDependency, Anti, &[Write, Read]),
        (AnomalyKind::SinglePredicateAntiDependency, PredicateAnti, &[Write, Read]),
        (AnomalyKind::ItemAntiDependency, Anti, &[Write, Read, Anti]),
        (AnomalyKind::Phantom, PredicateAnti, &[Write, Read, Anti, PredicateAnti]),
    ]
};

/// The greatest number of ways of resolving the guesses that are tried before the history is left undecided. In large
/// histories the number is smaller, down to `LEAST_TRIALS`.
const MOST_TRIALS: usize = 500;
const LEAST_TRIALS: usize = 20;

/// The number of edges that all these trials may examine.
const MOST_EDGES: usize = 60_000_000;

/// Checks whether a history is isolated, with each transaction judged at its own isolation level.
///
/// If all committed transactions are serializable, the check searches for a serial order that explains their reads. In
/// this order, each transaction takes place at one moment during its call of commit, or during its run if it changed
/// nothing. If there is such an order, the history is strictly serializable. If there is none, it is refused. At other
/// levels, the check searches for the anomalies that they rule out, such as cycles of dependencies.
///
/// The time is about linear in the size of the history, plus, for each scan, the rows that were in its range only at
/// other times. It is longer for histories with cycles.
///
/// # Errors
/// [`Objection::Anomaly`] with the worst anomaly that was found. For a cycle, it is a shortest one.
/// [`Objection::Undecided`] if the search ended at its bound on trials.
pub fn check(history: &History) -> Result<Evidence, Objection> {
    judge(history, |transaction| history.transactions[transaction].isolation)
}

/// Checks a history as [`check()`] does, but with all transactions judged at `level`, whatever levels they asked for.
///
/// # Errors
/// The same errors as those of [`check()`].
pub fn check_at(history: &History, level: Isolation) -> Result<Evidence, Objection> {
    judge(history, |_| level)
}

fn judge(history: &History, level: impl Fn(usize) -> Isolation) -> Result<Evidence, Objection> {
    let mut committed = history.transactions.iter().enumerate().filter(|(_, record)| record.is_committed());
    let serial = committed.all(|(number, _)| level(number) == Isolation::Serializable).then(|| serial_order(history));
    if let Some(Serial::Found) = serial {
        let versions = order(history).unwrap_or_default();
        let dependencies = Dependencies::of(history, &versions);
        let guessed = dependencies.guessed(&versions, &HashMap::new());
        let evidence = Evidence::of(history, dependencies.certain.iter().chain(&guessed));
        return Ok(Evidence { serial_order: true, ..evidence });
    }
    let (evidence, resolution) = search_cycle(history, &level)?;
    match (resolution, serial) {
        (Resolution::Cycle(anomaly), _) => Err(Objection::Anomaly(anomaly)),
        (_, Some(Serial::Refuted(stuck))) => {
            Err(Anomaly::list(history, AnomalyKind::NoSerialOrder, stuck.sentences, &stuck.involved).into())
        }
        (Resolution::None, _) => Ok(evidence),
        (Resolution::RanOut, _) => Err(Objection::Undecided),
    }
}

/// Searches for cycles of dependencies that the levels rule out, and for phenomena that need no cycle.
fn search_cycle(
    history: &History,
    level: impl Fn(usize) -> Isolation,
) -> Result<(Evidence, Resolution<Anomaly>), Anomaly> {
    check_reads(history, &level)?;
    let versions = order(history)?;
    let dependencies = Dependencies::of(history, &versions);
    let mut unexplained = dependencies.unexplained.iter();
    if let Some(look) = unexplained.find(|look| look.kind.is_ruled_out_by(level(look.reader))) {
        let sentence = format!("{} {}", transaction_name(history, look.reader), look.what);
        let involved: Vec<_> = look.other.into_iter().chain([look.reader]).collect();
        return Err(Anomaly::new(history, look.kind, sentence, &involved));
    }
    let guessed = dependencies.guessed(&versions, &HashMap::new());
    let evidence = Evidence::of(history, dependencies.certain.iter().chain(&guessed));
    let edges = dependencies.certain.len() + guessed.len();
    let most_trials = (MOST_EDGES / edges.max(1)).clamp(LEAST_TRIALS, MOST_TRIALS);
    let levels = (0..history.transactions.len()).map(level).collect();
    let mut search =
        Search { history, versions: &versions, dependencies: &dependencies, levels, most_trials, trials: 0 };
    // A cycle that rests on no guess is reported, if there is one.
    let resolution = match search.find_cycle(&dependencies.certain) {
        Some(cycle) => Resolution::Cycle(cycle),
        None => search.resolve(&HashMap::new(), &mut Vec::new()),
    };
    let resolution = match resolution {
        Resolution::None => Resolution::None,
        Resolution::RanOut => Resolution::RanOut,
        Resolution::Cycle((kind, cycle)) => Resolution::Cycle(Anomaly::cycle(history, &versions, kind, &cycle)),
    };
    Ok((evidence, resolution))
}

/// Returns the rows that the database must contain after the history: the items that exist, each with the stamp of its
/// last committed version.
///
/// # Errors
/// [`AnomalyKind::LostWrite`] if the versions of an item cannot be ordered.
pub fn final_versions(history: &History) -> Result<BTreeMap<Item, Stamp>, Anomaly> {
    let versions = order(history)?;
    let last = versions.iter().filter_map(|(item, states)| {
        let version = states.list.last()?.version.as_ref()?;
        Some((item.clone(), version.stamp))
    });
    Ok(last.collect())
}

type Cycle = (AnomalyKind, Vec<Edge>);

/// The outcome of resolving guesses.
enum Resolution<C> {
    /// In at least one way of resolving them there is no cycle.
    None,
    /// In every way there is a cycle. This is the cycle of the likeliest way.
    Cycle(C),
    /// The allowed number of trials was reached before the answer was known.
    RanOut,
}

struct Search<'a> {
    history: &'a History,
    versions: &'a Versions,
    dependencies: &'a Dependencies<'a>,
    levels: Vec<Isolation>,
    most_trials: usize,
    trials: usize,
}

impl Search<'_> {
    /// Searches for a way of resolving the guesses without a cycle. `choices` holds the guesses that are not resolved
    /// in their likeliest way. Guesses in `fixed` are not changed.
    fn resolve(&mut self, choices: &HashMap<usize, Stretch>, fixed: &mut Vec<usize>) -> Resolution<Cycle> {
        self.trials += 1;
        let mut edges = self.dependencies.certain.clone();
        edges.extend(self.dependencies.guessed(self.versions, choices));
        let Some(found) = self.find_cycle(&edges) else { return Resolution::None };
        let mut guesses: Vec<_> = found.1.iter().filter_map(|edge| edge.guess).collect();
        guesses.retain(|guess| !fixed.contains(guess));
        guesses.dedup();
        let before = fixed.len();
        // If a transaction has read as of its beginning, and others continued for long after that, all guesses about it
        // are wrong.
        let mut readers: Vec<_> = guesses.iter().map(|&guess| self.dependencies.guesses[guess].reader).collect();
        readers.dedup();
        for reader in readers {
            let beginning = self.dependencies.as_of_beginning(self.history, self.versions, reader);
            let mut others = choices.clone();
            others.extend(
                beginning.into_iter().filter(|(guess, _)| !fixed.contains(guess) && !choices.contains_key(guess)),
            );
            if others.len() > choices.len()
                && self.trials < self.most_trials
                && let Resolution::None = self.resolve(&others, fixed)
            {
                return Resolution::None;
            }
        }
        for guess in guesses {
            fixed.push(guess);
            let known = choices.get(&guess).copied().unwrap_or(self.dependencies.guesses[guess].likeliest);
            for choice in self.dependencies.alternatives(self.history, self.versions, guess, known) {
                if self.trials >= self.most_trials {
                    return Resolution::RanOut;
                }
                let mut other = choices.clone();
                other.insert(guess, choice);
                match self.resolve(&other, fixed) {
                    Resolution::Cycle(_) => {}
                    decided => return decided,
                }
            }
        }
        fixed.truncate(before);
        Resolution::Cycle(found)
    }

    fn find_cycle(&self, edges: &[Edge]) -> Option<Cycle> {
        let phenomena =
            |kind| CYCLES.iter().filter(move |(_, first, _)| *first == kind).map(|(phenomenon, ..)| *phenomenon);
        let edges = &in_cycles(self.levels.len(), edges, |edge| {
            phenomena(edge.kind).any(|phenomenon| self.counts(edge, phenomenon))
        });
        for (kind, first, rest) in CYCLES {
            if kind == AnomalyKind::SingleAntiDependency
                && let Some(cycle) = self.lost_update(edges)
            {
                return Some((AnomalyKind::LostUpdate, cycle));
            }
            let is_first = |edge: &Edge| edge.kind == first && self.counts(edge, kind);
            // The anti-dependencies of the other edges are those of a cycle with several.
            let is_rest = |edge: &Edge| rest.contains(&edge.kind) && self.counts(edge, many(edge.kind));
            if let Some(cycle) = shortest_cycle(self.levels.len(), edges, is_first, is_rest) {
                return Some((kind, cycle));
            }
        }
        None
    }

    /// Whether the level of the transaction at which an edge begins rules out that the edge is part of a cycle of this
    /// kind.
    fn counts(&self, edge: &Edge, kind: AnomalyKind) -> bool {
        match edge.kind {
            EdgeKind::Write | EdgeKind::Read => true,
            EdgeKind::Anti | EdgeKind::PredicateAnti => kind.is_ruled_out_by(self.levels[edge.from]),
        }
    }

    /// Finds a transaction that read an item, and wrote over the version that had replaced it meanwhile.
    fn lost_update(&self, edges: &[Edge]) -> Option<Vec<Edge>> {
        let name = |edge: &Edge| (edge.from, edge.to, edge.item);
        let anti = |edge: &&Edge| edge.kind == EdgeKind::Anti && self.counts(edge, AnomalyKind::LostUpdate);
        let reads: HashSet<_> = edges.iter().filter(anti).map(name).collect();
        let is_over = |edge: &&Edge| edge.kind == EdgeKind::Write && reads.contains(&(edge.to, edge.from, edge.item));
        let over = edges.iter().find(is_over)?;
        let read = edges.iter().filter(anti).find(|edge| name(edge) == (over.to, over.from, over.item))?;
        Some(vec![*read, *over])
    }
}

/// Returns the kind of a cycle with several anti-dependencies, one of which is of this kind.
fn many(kind: EdgeKind) -> AnomalyKind {
    match kind {
        EdgeKind::PredicateAnti => AnomalyKind::Phantom,
        EdgeKind::Anti | EdgeKind::Write | EdgeKind::Read => AnomalyKind::ItemAntiDependency,
    }
}
