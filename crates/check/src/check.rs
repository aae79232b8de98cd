//! Whether a history is isolated as a level promises.

use crate::anomaly::{Anomaly, AnomalyKind, transaction_name};
use crate::cycle::{Shape, shortest_cycle};
use crate::edges::{Dependencies, Edge, EdgeKind};
use crate::history::{History, Item, Stamp};
use crate::internal::check_reads;
use crate::versions::{Versions, order};
use hotrow_txn::Isolation;
use std::collections::BTreeMap;

/// The cycles that are phenomena, worst first.
const CYCLES: [(AnomalyKind, Shape); 6] = {
    use EdgeKind::{Anti, PredicateAnti, Read, Write};
    [
        (AnomalyKind::DirtyWrites, Shape { first: &[Write], rest: &[Write] }),
        (AnomalyKind::CircularInformation, Shape { first: &[Read], rest: &[Write, Read] }),
        (AnomalyKind::SingleAntiDependency, Shape { first: &[Anti], rest: &[Write, Read] }),
        (AnomalyKind::SinglePredicateAntiDependency, Shape { first: &[PredicateAnti], rest: &[Write, Read] }),
        (AnomalyKind::ItemAntiDependency, Shape { first: &[Anti], rest: &[Write, Read, Anti] }),
        (AnomalyKind::Phantom, Shape { first: &[PredicateAnti], rest: &[Write, Read, Anti, PredicateAnti] }),
    ]
};

/// How many ways of resolving guesses are tried before a cycle is believed.
const MOST_TRIALS: usize = 500;

/// Looks for every phenomenon that `level` rules out.
///
/// Time is linear in the history, but for scans, which are compared with every item of their table, and for histories
/// with cycles.
///
/// # Errors
/// The worst phenomenon found, with its evidence: for a cycle, a shortest one.
pub fn check(history: &History, level: Isolation) -> Result<(), Anomaly> {
    check_reads(history, level)?;
    let versions = order(history)?;
    let dependencies = Dependencies::of(history, &versions);
    for missed in &dependencies.missed {
        let kind = if missed.in_scan { AnomalyKind::UnstableScan } else { AnomalyKind::Internal };
        if kind.is_ruled_out_by(level) {
            let reader = transaction_name(history, missed.reader);
            let sentence = format!("{reader} did not find {}, which was always there", missed.item);
            return Err(Anomaly::told(history, kind, sentence, &[missed.reader]));
        }
    }
    let likeliest = dependencies.guesses.iter().map(|guess| guess.likeliest).collect();
    let mut search = Search { history, level, versions: &versions, dependencies: &dependencies, trials: 0 };
    match search.resolve(likeliest, &mut Vec::new()) {
        None => Ok(()),
        Some((kind, cycle)) => Err(Anomaly::cycle(history, kind, &cycle)),
    }
}

/// The last version of every item that committed transactions left there.
///
/// # Errors
/// If the history is too broken to say.
pub fn final_versions(history: &History) -> Result<BTreeMap<Item, Stamp>, Anomaly> {
    let last = |(item, states): (Item, crate::versions::States)| {
        let version = states.list.last()?.version.as_ref()?;
        Some((item, version.stamp))
    };
    Ok(order(history)?.into_iter().filter_map(last).collect())
}

struct Search<'a> {
    history: &'a History,
    level: Isolation,
    versions: &'a Versions,
    dependencies: &'a Dependencies,
    trials: usize,
}

impl Search<'_> {
    /// A cycle that no way of resolving the guesses avoids, or none. Guesses among `fixed` stay as they are.
    fn resolve(&mut self, choices: Vec<usize>, fixed: &mut Vec<usize>) -> Option<(AnomalyKind, Vec<Edge>)> {
        self.trials += 1;
        let found = self.find_cycle(&choices)?;
        let mut guesses: Vec<_> = found.1.iter().filter_map(|edge| edge.guess).collect();
        guesses.retain(|guess| !fixed.contains(guess));
        guesses.dedup();
        let before = fixed.len();
        for guess in guesses {
            fixed.push(guess);
            for choice in (0..self.dependencies.guesses[guess].choices()).filter(|&choice| choice != choices[guess]) {
                if self.trials >= MOST_TRIALS {
                    return Some(found);
                }
                let mut other = choices.clone();
                other[guess] = choice;
                self.resolve(other, fixed)?;
            }
        }
        fixed.truncate(before);
        Some(found)
    }

    fn find_cycle(&self, choices: &[usize]) -> Option<(AnomalyKind, Vec<Edge>)> {
        let edges = self.dependencies.edges(self.versions, choices);
        let nodes = self.history.transactions.len();
        let ruled_out = CYCLES.iter().filter(|(kind, _)| kind.is_ruled_out_by(self.level));
        ruled_out.filter_map(|&(kind, shape)| Some((kind, shortest_cycle(nodes, &edges, shape)?))).next()
    }
}
