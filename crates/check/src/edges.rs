//! The dependencies between committed transactions.

use crate::anomaly::{transaction_name, version_name};
use crate::history::{Event, History, Item, Operation, Range, Record, Stamp};
use crate::internal::own_write;
use crate::versions::{States, Versions};
use std::collections::HashSet;

/// How the later of two transactions depends on the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EdgeKind {
    /// It replaced what the earlier wrote.
    Write,
    /// It read what the earlier wrote.
    Read,
    /// It replaced what the earlier had read.
    Anti,
    /// It changed what an earlier read of a range or of an absent item would have found.
    PredicateAnti,
}

/// A dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
    /// The item, and the version (none: the absence) that the later transaction wrote, or read.
    pub item: Item,
    pub version: Option<Stamp>,
    /// The guess that this rests on, if it does.
    pub guess: Option<usize>,
}

impl Edge {
    pub fn sentence(&self, history: &History) -> String {
        let (from, to) = (transaction_name(history, self.from), transaction_name(history, self.to));
        let item = &self.item;
        let made = match self.version {
            Some(stamp) => format!("made {}", version_name(item, stamp)),
            None => format!("deleted {item}"),
        };
        match self.kind {
            EdgeKind::Write => format!("{from} wrote {item}; then {to} {made}"),
            EdgeKind::Read => format!("{from} {made}, which {to} saw"),
            EdgeKind::Anti => format!("{from} saw {item} as it was before {to} {made}"),
            EdgeKind::PredicateAnti => format!("{from} looked where {item} would be before {to} {made}"),
        }
    }
}

/// A read that found nothing, and so does not say which of an item's stretches of absence it met.
#[derive(Clone, Debug)]
pub(crate) struct Guess {
    reader: usize,
    item: Item,
    /// Positions of the first state of each stretch, and of the state after it, if there is one.
    stretches: Vec<(usize, Option<usize>)>,
    /// The likeliest stretch.
    pub likeliest: usize,
}

impl Guess {
    /// How many stretches it could have been.
    pub fn choices(&self) -> usize {
        self.stretches.len()
    }
}

/// A read that did not find an item that was always there.
#[derive(Clone, Debug)]
pub(crate) struct Missed {
    pub reader: usize,
    pub item: Item,
    /// It was looked for in a range.
    pub in_scan: bool,
}

/// The dependencies of a history: those that are certain, and the guesses that make the others.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    certain: Vec<Edge>,
    pub guesses: Vec<Guess>,
    /// Reads that no stretch explains.
    pub missed: Vec<Missed>,
}

impl Dependencies {
    pub fn of(history: &History, versions: &Versions) -> Self {
        let mut dependencies = Self::default();
        for (item, states) in versions {
            dependencies.add_writes(item, states);
        }
        for (reader, record) in history.transactions.iter().enumerate() {
            if record.is_committed() {
                for (position, event) in record.events.iter().enumerate() {
                    dependencies.add_reads(history, versions, reader, record, position, event);
                }
            }
        }
        dependencies
    }

    /// All edges, with each guess resolved as `choices` says.
    pub fn edges(&self, versions: &Versions, choices: &[usize]) -> Vec<Edge> {
        let mut edges = self.certain.clone();
        for (number, (guess, &choice)) in self.guesses.iter().zip(choices).enumerate() {
            let states = &versions[&guess.item].list;
            let (first, next) = guess.stretches[choice];
            let mut add = |from: Option<usize>, to: Option<usize>, kind, state: usize| {
                if let (Some(from), Some(to)) = (from, to)
                    && from != to
                {
                    let version = states[state].version.as_ref().map(|version| version.stamp);
                    edges.push(Edge { from, to, kind, item: guess.item.clone(), version, guess: Some(number) });
                }
            };
            add(states[first].writer, Some(guess.reader), EdgeKind::Read, first);
            if let Some(next) = next {
                add(Some(guess.reader), states[next].writer, EdgeKind::PredicateAnti, next);
            }
        }
        edges
    }

    fn add_writes(&mut self, item: &Item, states: &States) {
        for (position, state) in states.list.iter().enumerate() {
            if let Some(next) = states.successor(position) {
                self.add(state.writer, states.list[next].writer, EdgeKind::Write, item, states, next);
            }
        }
    }

    fn add_reads(
        &mut self,
        history: &History,
        versions: &Versions,
        reader: usize,
        record: &Record,
        position: usize,
        event: &Event,
    ) {
        match &event.operation {
            Operation::Read { item, seen: Some(stamp) } => self.add_read(versions, reader, item, *stamp),
            Operation::Update { item, replaced, .. } => self.add_read(versions, reader, item, *replaced),
            Operation::Read { item, seen: None } if own_write(record, position, item).is_none() => {
                self.add_guess(history, versions, reader, event, item, None);
            }
            Operation::Scan { range, seen } => {
                for (item, stamp) in seen {
                    self.add_read(versions, reader, item, *stamp);
                }
                let seen: HashSet<_> = seen.iter().map(|(item, _)| item).collect();
                let of_table = versions.iter().filter(|(item, _)| item.table == range.table);
                for (item, _) in of_table.filter(|(item, _)| !seen.contains(item)) {
                    if own_write(record, position, item).is_none() {
                        self.add_guess(history, versions, reader, event, item, Some(range));
                    }
                }
            }
            _ => {}
        }
    }

    /// A read of a version that is there.
    fn add_read(&mut self, versions: &Versions, reader: usize, item: &Item, stamp: Stamp) {
        let Some(states) = versions.get(item) else { return };
        let Some(position) = states.position(stamp) else { return };
        self.add(states.list[position].writer, Some(reader), EdgeKind::Read, item, states, position);
        if let Some(next) = states.successor(position) {
            self.add(Some(reader), states.list[next].writer, EdgeKind::Anti, item, states, next);
        }
    }

    /// A read that did not find an item: at its key, or in a range.
    fn add_guess(
        &mut self,
        history: &History,
        versions: &Versions,
        reader: usize,
        event: &Event,
        item: &Item,
        range: Option<&Range>,
    ) {
        let states = &versions[item].list;
        let found = |position: usize| {
            let version = states[position].version.as_ref();
            version.is_some_and(|version| range.is_none_or(|range| range.contains(item, version)))
        };
        if !(0..states.len()).any(found) {
            return;
        }
        let mut stretches = Vec::new();
        for position in (0..states.len()).filter(|&position| !found(position)) {
            if position == 0 || found(position - 1) {
                let next = (position..states.len()).find(|&next| found(next));
                stretches.push((position, next));
            }
        }
        let had_begun = |&(first, _): &(usize, Option<usize>)| match states[first].writer {
            None => true,
            Some(writer) => writer == reader || history.transactions[writer].ending <= event.at,
        };
        match stretches.iter().rposition(had_begun) {
            Some(likeliest) => self.guesses.push(Guess { reader, item: item.clone(), stretches, likeliest }),
            None if stretches.is_empty() => {
                self.missed.push(Missed { reader, item: item.clone(), in_scan: range.is_some() })
            }
            None => self.guesses.push(Guess { reader, item: item.clone(), stretches, likeliest: 0 }),
        }
    }

    fn add(
        &mut self,
        from: Option<usize>,
        to: Option<usize>,
        kind: EdgeKind,
        item: &Item,
        states: &States,
        state: usize,
    ) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            let version = states.list[state].version.as_ref().map(|version| version.stamp);
            self.certain.push(Edge { from, to, kind, item: item.clone(), version, guess: None });
        }
    }
}
