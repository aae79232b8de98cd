//! Whether a history is isolated as its transactions' levels promise.

use crate::anomaly::{Anomaly, AnomalyKind, transaction_name};
use crate::cycle::shortest_cycle;
use crate::edges::{Dependencies, Edge, EdgeKind, Stretch};
use crate::evidence::Evidence;
use crate::history::{History, Item, Stamp};
use crate::internal::check_reads;
use crate::versions::{Versions, order};
use hotrow_txn::Isolation;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The cycles that are phenomena, worst first: the kind of the first edge, and those of the others.
///
/// In a history of several levels an anti-dependency counts if the level of the one that read rules such a cycle out:
/// Adya's mixing-correct histories (1999, §5.5).
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

/// How many ways of resolving guesses are tried before a cycle is believed; in large histories fewer, down to the least.
const MOST_TRIALS: usize = 500;
const LEAST_TRIALS: usize = 20;

/// So many edges are looked at in all those trials.
const MOST_EDGES: usize = 20_000_000;

/// Looks for every phenomenon that the transactions' own levels rule out.
///
/// Time is about linear in the history and in what its scans did not find of what was in their ranges at other times; more for
/// histories with cycles.
///
/// # Errors
/// The worst phenomenon found, with its evidence: for a cycle, a shortest one.
pub fn check(history: &History) -> Result<Evidence, Anomaly> {
    judge(history, |transaction| history.transactions[transaction].isolation)
}

/// Looks for every phenomenon that `level` rules out, whatever levels the transactions asked for.
///
/// # Errors
/// As [`check()`].
pub fn check_at(history: &History, level: Isolation) -> Result<Evidence, Anomaly> {
    judge(history, |_| level)
}

fn judge(history: &History, level: impl Fn(usize) -> Isolation) -> Result<Evidence, Anomaly> {
    check_reads(history, &level)?;
    let versions = order(history)?;
    let dependencies = Dependencies::of(history, &versions);
    let mut unexplained = dependencies.unexplained.iter();
    if let Some(look) = unexplained.find(|look| look.kind.is_ruled_out_by(level(look.reader))) {
        let sentence = format!("{} {}", transaction_name(history, look.reader), look.what);
        let involved: Vec<_> = look.other.into_iter().chain([look.reader]).collect();
        return Err(Anomaly::told(history, look.kind, sentence, &involved));
    }
    let guessed = dependencies.guessed(&versions, &HashMap::new());
    let evidence = Evidence::of(history, dependencies.certain.iter().chain(&guessed));
    let edges = dependencies.certain.len() + guessed.len();
    let most_trials = (MOST_EDGES / edges.max(1)).clamp(LEAST_TRIALS, MOST_TRIALS);
    let levels = (0..history.transactions.len()).map(level).collect();
    let mut search =
        Search { history, versions: &versions, dependencies: &dependencies, levels, most_trials, trials: 0 };
    match search.resolve(&HashMap::new(), &mut Vec::new()) {
        None => Ok(evidence),
        Some((kind, cycle)) => Err(Anomaly::cycle(history, &versions, kind, &cycle)),
    }
}

/// The last version of every item that committed transactions left there.
///
/// # Errors
/// If the history is too broken to say.
pub fn final_versions(history: &History) -> Result<BTreeMap<Item, Stamp>, Anomaly> {
    let versions = order(history)?;
    let last = versions.iter().filter_map(|(item, states)| {
        let version = states.list.last()?.version.as_ref()?;
        Some((item.clone(), version.stamp))
    });
    Ok(last.collect())
}

type Cycle = (AnomalyKind, Vec<Edge>);

struct Search<'a> {
    history: &'a History,
    versions: &'a Versions,
    dependencies: &'a Dependencies<'a>,
    levels: Vec<Isolation>,
    most_trials: usize,
    trials: usize,
}

impl Search<'_> {
    /// A cycle that no way of resolving the guesses avoids, or none. `choices` are those that are not the likeliest; guesses
    /// among `fixed` stay as they are.
    fn resolve(&mut self, choices: &HashMap<usize, Stretch>, fixed: &mut Vec<usize>) -> Option<Cycle> {
        self.trials += 1;
        let found = self.find_cycle(choices)?;
        let mut guesses: Vec<_> = found.1.iter().filter_map(|edge| edge.guess).collect();
        guesses.retain(|guess| !fixed.contains(guess));
        guesses.dedup();
        let before = fixed.len();
        // Who has read as of its beginning, while others went on for long, has all guesses about it wrong.
        let mut readers: Vec<_> = guesses.iter().map(|&guess| self.dependencies.guesses[guess].reader).collect();
        readers.dedup();
        for reader in readers {
            let beginning = self.dependencies.as_of_beginning(self.history, self.versions, reader);
            let mut others = choices.clone();
            others.extend(
                beginning.into_iter().filter(|(guess, _)| !fixed.contains(guess) && !choices.contains_key(guess)),
            );
            if others.len() > choices.len() && self.trials < self.most_trials {
                self.resolve(&others, fixed)?;
            }
        }
        for guess in guesses {
            fixed.push(guess);
            let known = choices.get(&guess).copied().unwrap_or(self.dependencies.guesses[guess].likeliest);
            for choice in self.dependencies.alternatives(self.history, self.versions, guess, known) {
                if self.trials >= self.most_trials {
                    return Some(found);
                }
                let mut other = choices.clone();
                other.insert(guess, choice);
                self.resolve(&other, fixed)?;
            }
        }
        fixed.truncate(before);
        Some(found)
    }

    fn find_cycle(&self, choices: &HashMap<usize, Stretch>) -> Option<Cycle> {
        let mut edges = self.dependencies.certain.clone();
        edges.extend(self.dependencies.guessed(self.versions, choices));
        for (kind, first, rest) in CYCLES {
            if kind == AnomalyKind::SingleAntiDependency
                && let Some(cycle) = self.lost_update(&edges)
            {
                return Some((AnomalyKind::LostUpdate, cycle));
            }
            let is_first = |edge: &Edge| edge.kind == first && self.counts(edge, kind);
            // The others' anti-dependencies are those of a cycle with several.
            let is_rest = |edge: &Edge| rest.contains(&edge.kind) && self.counts(edge, many(edge.kind));
            if let Some(cycle) = shortest_cycle(self.levels.len(), &edges, is_first, is_rest) {
                return Some((kind, cycle));
            }
        }
        None
    }

    /// Whether the level of the transaction that an edge begins with rules out that it is part of a cycle of this kind.
    fn counts(&self, edge: &Edge, kind: AnomalyKind) -> bool {
        match edge.kind {
            EdgeKind::Write | EdgeKind::Read => true,
            EdgeKind::Anti | EdgeKind::PredicateAnti => kind.is_ruled_out_by(self.levels[edge.from]),
        }
    }

    /// Who read an item, and wrote over what had replaced it meanwhile.
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

/// The cycles with several anti-dependencies, one of which is of this kind.
fn many(kind: EdgeKind) -> AnomalyKind {
    match kind {
        EdgeKind::PredicateAnti => AnomalyKind::Phantom,
        EdgeKind::Anti | EdgeKind::Write | EdgeKind::Read => AnomalyKind::ItemAntiDependency,
    }
}
