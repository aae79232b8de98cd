//! The dependencies between committed transactions.

use crate::anomaly::{Anomaly, AnomalyKind, transaction_name, version_name};
use crate::history::{Event, History, Item, Operation, Range, Record, Stamp};
use crate::internal::{own_rows, undone_removal};
use crate::versions::{State, Versions};
use hotrow_storage::IndexRef;
use hotrow_txn::Isolation;
use std::collections::{HashMap, HashSet};

/// The kind of a dependency: the way in which a later transaction depends on an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EdgeKind {
    /// A write dependency: the later transaction replaced a version that the earlier one wrote.
    Write,
    /// A read dependency: the later transaction read a version that the earlier one wrote.
    Read,
    /// An anti-dependency: the later transaction replaced a version that the earlier one had read.
    Anti,
    /// An anti-dependency over a predicate: the later transaction added or removed a row in a range that the earlier
    /// one had scanned, or inserted an item that the earlier one had not found.
    PredicateAnti,
}

/// A dependency of transaction `to` on transaction `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
    /// The number of the item over which the dependency is. `state` is the position, among the item's states, of the
    /// state that `to` made or read.
    pub item: usize,
    pub state: usize,
    /// The number of the guess from which this edge follows, or `None` if the edge is certain.
    pub guess: Option<usize>,
}

impl Edge {
    pub fn sentence(&self, history: &History, versions: &Versions) -> String {
        let (from, to) = (transaction_name(history, self.from), transaction_name(history, self.to));
        let item = versions.item(self.item);
        let made = match &versions.states(self.item).list[self.state].version {
            Some(version) => format!("made {}", version_name(item, version.stamp)),
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

impl Anomaly {
    /// Makes the anomaly of a cycle of dependencies, with a sentence of evidence for each edge.
    pub(crate) fn cycle(history: &History, versions: &Versions, kind: AnomalyKind, cycle: &[Edge]) -> Self {
        let transactions: Vec<_> = cycle.iter().map(|edge| edge.from).collect();
        let mut evidence: Vec<_> = cycle.iter().map(|edge| edge.sentence(history, versions)).collect();
        if cycle.iter().any(|edge| edge.guess.is_some()) {
            evidence.push(
                "whatever else they may have met that found nothing or were refused, there is a cycle".to_owned(),
            );
        }
        Self::list(history, kind, evidence, &transactions)
    }
}

/// A run of consecutive states of an item among which the result of a read does not distinguish, such as the versions
/// of a row that lie outside of a scanned range. It begins at the state `first` and ends before the state `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    item: usize,
    first: usize,
    next: Option<usize>,
}

/// A read of which it must be guessed which states it saw. It found no row, or learned only that some row exists, and
/// this may have been true more than once.
#[derive(Clone, Debug)]
pub(crate) struct Guess<'h> {
    pub reader: usize,
    /// The time when the look returned, or the time as of which its transaction has read, if that is known to be
    /// earlier.
    at: u64,
    look: Look<'h>,
    /// The stretch of states that the read has most likely seen.
    pub likeliest: Stretch,
}

/// The result of a look, and the item or items that it is about.
#[derive(Clone, Debug)]
enum Look<'h> {
    /// The item was not there: not at its key, or not in the range.
    Missing(usize, Option<&'h Range>),
    /// At least one item of this list was in the range.
    Present(Vec<usize>, &'h Range),
}

/// A read whose result no state of the database explains, which is an anomaly.
#[derive(Clone, Debug)]
pub(crate) struct Unexplained {
    pub reader: usize,
    pub kind: AnomalyKind,
    /// The end of the sentence about the reader, such as "did not find 0/3, which had always been there".
    pub what: String,
    /// The transaction that is involved besides the reader, if there is one.
    pub other: Option<usize>,
}

/// The dependencies between the committed transactions of a history: the edges that are certain, the guesses from which
/// further edges follow, and the reads that nothing explains.
#[derive(Debug, Default)]
pub(crate) struct Dependencies<'h> {
    pub certain: Vec<Edge>,
    pub guesses: Vec<Guess<'h>>,
    pub unexplained: Vec<Unexplained>,
}

impl<'h> Dependencies<'h> {
    pub fn of(history: &'h History, versions: &Versions) -> Self {
        let mut dependencies = Self::default();
        for (item, (_, states)) in versions.iter().enumerate() {
            for (position, state) in states.list.iter().enumerate() {
                if let Some(next) = states.successor(position) {
                    dependencies.add(state.writer, states.list[next].writer, EdgeKind::Write, item, next);
                }
            }
        }
        let looks = Looks { history, versions };
        for (reader, record) in history.transactions.iter().enumerate().filter(|(_, record)| record.is_committed()) {
            let before = dependencies.certain.len();
            for event in &record.events {
                dependencies.add_reads(versions, reader, event);
            }
            let as_of = looks.as_of(record, &dependencies.certain[before..]);
            for position in 0..record.events.len() {
                dependencies.add_looks(&looks, reader, record, position, as_of);
            }
        }
        dependencies
    }

    /// Returns the edges that follow from the guesses. A guess is resolved to the stretch that `others` holds for its
    /// number, or else to its likeliest stretch.
    pub fn guessed(&self, versions: &Versions, others: &HashMap<usize, Stretch>) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (number, guess) in self.guesses.iter().enumerate() {
            let stretch = others.get(&number).copied().unwrap_or(guess.likeliest);
            let states = &versions.states(stretch.item).list;
            let mut add = |from: Option<usize>, to: Option<usize>, kind, state| {
                if let (Some(from), Some(to)) = (from, to)
                    && from != to
                {
                    edges.push(Edge { from, to, kind, item: stretch.item, state, guess: Some(number) });
                }
            };
            add(states[stretch.first].writer, Some(guess.reader), EdgeKind::Read, stretch.first);
            if let Some(next) = stretch.next {
                add(Some(guess.reader), states[next].writer, EdgeKind::PredicateAnti, next);
            }
        }
        edges
    }

    /// Resolves all guesses about the transaction `reader` as if it had read a snapshot as of its begin. Returns the
    /// number of each guess with its stretch.
    pub fn as_of_beginning(&self, history: &History, versions: &Versions, reader: usize) -> Vec<(usize, Stretch)> {
        let (looks, began) = (Looks { history, versions }, history.transactions[reader].began);
        let own = self.guesses.iter().enumerate().filter(|(_, guess)| guess.reader == reader);
        own.filter_map(|(number, guess)| Some((number, looks.likeliest(began, &guess.look)?))).collect()
    }

    /// Returns all stretches to which a guess can be resolved, except for `known`, the likeliest first.
    pub fn alternatives(&self, history: &History, versions: &Versions, guess: usize, known: Stretch) -> Vec<Stretch> {
        let guess = &self.guesses[guess];
        let mut all = match &guess.look {
            Look::Missing(item, range) => {
                stretches(versions, *item, |position| !is_in(versions, *item, position, *range))
            }
            Look::Present(items, range) => {
                let of_item =
                    |&item| stretches(versions, item, move |position| is_in(versions, item, position, Some(range)));
                items.iter().flat_map(of_item).collect()
            }
        };
        all.retain(|stretch| *stretch != known);
        let looks = Looks { history, versions };
        all.sort_by_cached_key(|stretch| looks.distance(guess.at, stretch));
        all
    }

    /// Adds the edges for what a call has certainly seen.
    fn add_reads(&mut self, versions: &Versions, reader: usize, event: &Event) {
        match &event.operation {
            Operation::Read { item, seen: Some(stamp) } => self.add_read(versions, reader, item, *stamp),
            Operation::Update { item, replaced, .. } => self.add_read(versions, reader, item, *replaced),
            Operation::Scan { seen, .. } => {
                seen.iter().for_each(|(item, stamp)| self.add_read(versions, reader, item, *stamp));
            }
            _ => {}
        }
    }

    /// Adds the guesses for what a call has not found, or for what a unique index has refused.
    fn add_looks(
        &mut self,
        looks: &Looks<'h, '_>,
        reader: usize,
        record: &'h Record,
        position: usize,
        as_of: Option<u64>,
    ) {
        let (versions, event) = (looks.versions, &record.events[position]);
        let asked = Asked { reader, returned: event.at, at: as_of.map_or(event.at, |as_of| as_of.min(event.at)) };
        match &event.operation {
            Operation::Read { item, seen: None } => {
                if let Some(number) = versions.number(item)
                    && !own_rows(record, position).contains_key(item)
                {
                    self.add_look(looks.missing(asked, number, None));
                }
            }
            Operation::Scan { range, seen } => {
                let own = own_rows(record, position);
                let seen: HashSet<_> = seen.iter().map(|(item, _)| item).collect();
                for number in versions.ever_in(range) {
                    let item = versions.item(number);
                    if !seen.contains(item) && !own.contains_key(item) {
                        self.add_look(looks.missing(asked, number, Some(range)));
                    }
                }
            }
            Operation::Refused { range } => {
                let own = own_rows(record, position);
                let is_own = own
                    .iter()
                    .any(|(item, write)| write.operation.made().is_some_and(|made| range.contains(item, made)));
                if !is_own {
                    let mut items = versions.ever_in(range);
                    items.retain(|&number| !own.contains_key(versions.item(number)));
                    self.add_look(looks.present(asked, items, range));
                }
            }
            _ => {}
        }
    }

    /// Adds the edges for a read of a version that exists.
    fn add_read(&mut self, versions: &Versions, reader: usize, item: &Item, stamp: Stamp) {
        let Some(number) = versions.number(item) else { return };
        let states = versions.states(number);
        let Some(position) = states.position(stamp) else { return };
        self.add(states.list[position].writer, Some(reader), EdgeKind::Read, number, position);
        if let Some(next) = states.successor(position) {
            self.add(Some(reader), states.list[next].writer, EdgeKind::Anti, number, next);
        }
    }

    fn add_look(&mut self, look: Result<Option<Guess<'h>>, Unexplained>) {
        match look {
            Ok(guess) => self.guesses.extend(guess),
            Err(unexplained) => self.unexplained.push(unexplained),
        }
    }

    fn add(&mut self, from: Option<usize>, to: Option<usize>, kind: EdgeKind, item: usize, state: usize) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.certain.push(Edge { from, to, kind, item, state, guess: None });
        }
    }
}

/// The circumstances of a look: its transaction, the time when it returned, and the time as of which it probably saw.
#[derive(Clone, Copy)]
struct Asked {
    reader: usize,
    returned: u64,
    at: u64,
}

/// Makes the guesses about looks.
struct Looks<'h, 'v> {
    history: &'h History,
    versions: &'v Versions,
}

impl<'h> Looks<'h, '_> {
    /// Returns the last time as of which a transaction can have read, if it reads as of one time. That is just before
    /// another transaction began to commit the next version of an item that this one saw. Returns `None` if the
    /// transaction does not read as of one time, or if no such version is known.
    fn as_of(&self, record: &Record, certain: &[Edge]) -> Option<u64> {
        let replaced = certain.iter().filter(|edge| edge.kind == EdgeKind::Anti);
        let first = replaced.map(|edge| self.history.transactions[edge.to].ending).min()?;
        (record.isolation != Isolation::ReadCommitted).then(|| first.saturating_sub(1))
    }

    /// Makes the guess about a look that did not find an item: at its key, or in a range. There is no guess if the item
    /// never existed.
    fn missing(&self, asked: Asked, item: usize, range: Option<&'h Range>) -> Result<Option<Guess<'h>>, Unexplained> {
        let Asked { reader, returned, at } = asked;
        let versions = self.versions;
        let states = versions.states(item);
        let is_there = |position| is_in(versions, item, position, range);
        // An item in the list of the range was in the range at some time.
        if range.is_none() && !(0..states.list.len()).any(is_there) {
            return Ok(None);
        }
        let moves = range.is_some_and(|range| range.index != IndexRef::Primary);
        let explains = |stretch: &Stretch| !moves || self.begun(item, &states.list[stretch.first]) <= returned;
        let look = Look::Missing(item, range);
        if let Some(likeliest) = self.likeliest(at, &look).filter(explains) {
            return Ok(Some(Guess { reader, at, look, likeliest }));
        }
        let key = versions.item(item);
        let what = format!("did not find {key}, which had always been there");
        if moves {
            return Err(Unexplained { reader, kind: AnomalyKind::UnstableScan, what, other: None });
        }
        Err(match undone_removal(self.history, key, returned).filter(|&other| other != reader) {
            Some(other) => {
                let name = transaction_name(self.history, other);
                let what = format!("did not find {key}, which only {name} had deleted, and undid that");
                Unexplained { reader, kind: AnomalyKind::AbortedRead, what, other: Some(other) }
            }
            None => Unexplained { reader, kind: AnomalyKind::Internal, what, other: None },
        })
    }

    /// Makes the guess about a look that found some row of `items` in a range that has room for only one row.
    fn present(&self, asked: Asked, items: Vec<usize>, range: &'h Range) -> Result<Option<Guess<'h>>, Unexplained> {
        let Asked { reader, at, .. } = asked;
        let look = Look::Present(items, range);
        match self.likeliest(at, &look) {
            Some(likeliest) => Ok(Some(Guess { reader, at, look, likeliest })),
            None => {
                let what = format!("was refused though there never was a row in {range}");
                Err(Unexplained { reader, kind: AnomalyKind::Internal, what, other: None })
            }
        }
    }

    /// Returns the stretch that a look as of this time has probably met.
    fn likeliest(&self, at: u64, look: &Look<'_>) -> Option<Stretch> {
        match look {
            Look::Missing(item, range) => {
                self.nearest(at, *item, |position| !is_in(self.versions, *item, position, *range))
            }
            Look::Present(items, range) => {
                let is_there = |item, position| is_in(self.versions, item, position, Some(range));
                let found = |&item: &usize| self.nearest(at, item, |position| is_there(item, position));
                items.iter().filter_map(found).min_by_key(|stretch| self.distance(at, stretch))
            }
        }
    }

    /// Returns the stretch of an item's wanted states that is nearest to this time.
    fn nearest(&self, at: u64, item: usize, wanted: impl Fn(usize) -> bool) -> Option<Stretch> {
        let states = &self.versions.states(item).list;
        let (now, count) = (self.current(at, states), states.len());
        let inside = (0..=now).rev().find(|&position| wanted(position));
        let inside = inside.or_else(|| (now..count).find(|&position| wanted(position)))?;
        let first = (0..inside).rev().find(|&position| !wanted(position)).map_or(0, |position| position + 1);
        let next = (inside..count).find(|&position| !wanted(position));
        Some(Stretch { item, first, next })
    }

    /// Returns the distance of a stretch from a look that returned at this time. Stretches that began later come after
    /// all others.
    fn distance(&self, at: u64, stretch: &Stretch) -> (bool, u64) {
        let states = &self.versions.states(stretch.item).list;
        let from = self.since(&states[stretch.first]);
        let until = stretch.next.map_or(u64::MAX, |next| self.since(&states[next]));
        if from > at { (true, from - at) } else { (false, at.saturating_sub(until)) }
    }

    /// Returns the last state of an item that was committed, or was being committed, at a time.
    fn current(&self, at: u64, states: &[State]) -> usize {
        states.partition_point(|state| self.since(state) <= at).saturating_sub(1)
    }

    /// Returns the time before which no transaction can have seen a state of an item, whatever the engine does wrong:
    /// before it, the state's writer had not begun to write the item.
    fn begun(&self, item: usize, state: &State) -> u64 {
        let Some(writer) = state.writer else { return 0 };
        let record = &self.history.transactions[writer];
        let writes = |event: &Event| event.operation.written() == Some(self.versions.item(item));
        let before = record.events.iter().take_while(|event| !writes(event)).last();
        before.map_or(record.began, |event| event.at)
    }

    /// Returns the time when a state became visible to all: the time when the commit of its writer was called. So a
    /// transaction's own write comes after all its guessed looks at that item: once it has written the item, it sees
    /// its own write, and nothing is guessed.
    fn since(&self, state: &State) -> u64 {
        state.writer.map_or(0, |writer| self.history.transactions[writer].ending)
    }
}

/// Whether a state of an item is a version, and lies in the range if there is one.
fn is_in(versions: &Versions, item: usize, position: usize, range: Option<&Range>) -> bool {
    let version = versions.states(item).list[position].version.as_ref();
    version.is_some_and(|version| range.is_none_or(|range| range.contains(versions.item(item), version)))
}

/// Returns all stretches of an item's wanted states.
fn stretches(versions: &Versions, item: usize, wanted: impl Fn(usize) -> bool) -> Vec<Stretch> {
    let count = versions.states(item).list.len();
    let mut all: Vec<Stretch> = Vec::new();
    let mut open = None;
    for position in 0..count {
        match (wanted(position), open) {
            (true, None) => open = Some(position),
            (false, Some(first)) => {
                all.push(Stretch { item, first, next: Some(position) });
                open = None;
            }
            _ => {}
        }
    }
    all.extend(open.map(|first| Stretch { item, first, next: None }));
    all
}
