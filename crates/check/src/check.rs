//! Whether a history is isolated as its transactions' levels promise.

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

/// How many ways of resolving guesses are tried before the history is left undecided; in large histories fewer, down to
/// the least.
const MOST_TRIALS: usize = 500;
const LEAST_TRIALS: usize = 20;

/// So many edges are looked at in all those trials.
const MOST_EDGES: usize = 60_000_000;

/// Judges each transaction at its own level.
///
/// If all are serializable, a serial order is searched in which each transaction has its place while its commit is
/// called (one that changed nothing, while it ran), so that it sees just what those before it have left. With such an
/// order the history is strictly serializable; without one it is refused. At other levels the phenomena that they rule
/// out are looked for: cycles of dependencies.
///
/// Time is about linear in the history and in what its scans did not find of what was in their ranges at other times; more for
/// histories with cycles.
///
/// # Errors
/// The worst phenomenon found, with its evidence: for a cycle, a shortest one. Or that neither an order nor a cycle was
/// found before the trials ran out.
pub fn check(history: &History) -> Result<Evidence, Objection> {
    judge(history, |transaction| history.transactions[transaction].isolation)
}

/// Judges all transactions at `level`, whatever levels they asked for.
///
/// # Errors
/// As [`check()`].
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

/// Looks for cycles of dependencies that the levels rule out, and for what needs no cycle.
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
        return Err(Anomaly::told(history, look.kind, sentence, &involved));
    }
    let guessed = dependencies.guessed(&versions, &HashMap::new());
    let evidence = Evidence::of(history, dependencies.certain.iter().chain(&guessed));
    let edges = dependencies.certain.len() + guessed.len();
    let most_trials = (MOST_EDGES / edges.max(1)).clamp(LEAST_TRIALS, MOST_TRIALS);
    let levels = (0..history.transactions.len()).map(level).collect();
    let mut search =
        Search { history, versions: &versions, dependencies: &dependencies, levels, most_trials, trials: 0 };
    // What rests on no guess is told, if there is such a cycle.
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

/// What came of resolving guesses.
enum Resolution<C> {
    /// In some way there is no cycle.
    None,
    /// In every way there is a cycle, as this one in the likeliest.
    Cycle(C),
    /// The trials ran out.
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
    /// Looks for a way of resolving the guesses without a cycle. `choices` are those that are not the likeliest;
    /// guesses among `fixed` stay as they are.
    fn resolve(&mut self, choices: &HashMap<usize, Stretch>, fixed: &mut Vec<usize>) -> Resolution<Cycle> {
        self.trials += 1;
        let mut edges = self.dependencies.certain.clone();
        edges.extend(self.dependencies.guessed(self.versions, choices));
        let Some(found) = self.find_cycle(&edges) else { return Resolution::None };
        let mut guesses: Vec<_> = found.1.iter().filter_map(|edge| edge.guess).collect();
        guesses.retain(|guess| !fixed.contains(guess));
        guesses.dedup();
        let before = fixed.len();
        // Where a transaction has read as of its beginning, and others went on for long, all guesses about it are
        // wrong.
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
            // The others' anti-dependencies are those of a cycle with several.
            let is_rest = |edge: &Edge| rest.contains(&edge.kind) && self.counts(edge, many(edge.kind));
            if let Some(cycle) = shortest_cycle(self.levels.len(), edges, is_first, is_rest) {
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
