//! The order of each item's versions.

use crate::anomaly::{Anomaly, AnomalyKind, transaction_name, version_name};
use crate::history::{History, Item, Operation, Range, Stamp, Version};
use crate::items::Items;
use std::collections::{BTreeMap, HashMap};

/// The number of the transaction that made a state of an item, or `None` for an initial state.
pub(crate) type Writer = Option<usize>;

/// A state of an item: a version, or `None` while the item does not exist, with the transaction that made it so.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub writer: Writer,
    pub version: Option<Version>,
}

/// All states of an item that committed transactions made, in their order. They include versions that their own writer
/// replaced before it committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    pub list: Vec<State>,
    positions: HashMap<Stamp, usize>,
}

impl States {
    fn push(&mut self, writer: Writer, version: Option<Version>) {
        if let Some(version) = &version {
            self.positions.insert(version.stamp, self.list.len());
        }
        self.list.push(State { writer, version });
    }

    /// Returns the position of the version with this stamp among the states, or `None` if it is not among them.
    pub fn position(&self, stamp: Stamp) -> Option<usize> {
        self.positions.get(&stamp).copied()
    }

    /// Returns the position of the first state after `position` that another transaction made than the state at
    /// `position`, or `None` if there is none.
    pub fn successor(&self, position: usize) -> Option<usize> {
        let writer = self.list[position].writer;
        (position + 1..self.list.len()).find(|&next| self.list[next].writer != writer)
    }
}

/// The version order of a history: the committed states of each item, in their order.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    items: Items,
    /// The states of each item, at the position that is the item's number.
    states: Vec<States>,
}

impl Versions {
    fn new(items: Vec<(Item, States)>) -> Self {
        let with_versions = items.iter().map(|(item, states)| {
            let versions = states.list.iter().filter_map(|state| state.version.as_ref());
            (item.clone(), versions)
        });
        let numbered = Items::new(with_versions);
        Self { items: numbered, states: items.into_iter().map(|(_, states)| states).collect() }
    }

    /// Iterates over all items with their states, in the order of the items' numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Item, &States)> {
        self.states.iter().enumerate().map(|(number, states)| (self.items.item(number), states))
    }

    /// Returns the number of an item, or `None` if it is not among the items.
    pub fn number(&self, item: &Item) -> Option<usize> {
        self.items.number(item)
    }

    /// Returns the item with this number.
    pub fn item(&self, number: usize) -> &Item {
        self.items.item(number)
    }

    /// Returns the states of the item with this number.
    pub fn states(&self, number: usize) -> &States {
        &self.states[number]
    }

    /// Returns the numbers of all items of which any version ever lay in the range, in ascending order.
    pub fn ever_in(&self, range: &Range) -> Vec<usize> {
        self.items.ever_in(range)
    }
}

/// The committed writes of an item, as found in the history.
#[derive(Default)]
struct Writes<'a> {
    initial: Option<&'a Version>,
    /// The inserts, by the time when their call returned.
    inserts: Vec<(u64, usize, &'a Version)>,
    /// The updates, by the version that they replaced.
    updates: HashMap<Stamp, (usize, &'a Version)>,
    /// The deletes, by the time when their call returned.
    deletes: Vec<(u64, usize)>,
}

/// Determines the version order of a history: the order of the committed states of each item.
///
/// # Errors
/// [`AnomalyKind::LostWrite`] if two transactions replaced the same version, or an item was inserted while it existed.
pub(crate) fn order(history: &History) -> Result<Versions, Anomaly> {
    let mut items: BTreeMap<&Item, Writes<'_>> = BTreeMap::new();
    for (item, version) in &history.initial {
        items.entry(item).or_default().initial = Some(version);
    }
    for (transaction, record) in history.transactions.iter().enumerate() {
        for event in &record.events {
            if let Operation::Read { item, .. } = &event.operation {
                items.entry(item).or_default();
            }
        }
        for event in record.writes().filter(|_| record.is_committed()) {
            let Some(item) = event.operation.written() else { continue };
            let writes = items.entry(item).or_default();
            match &event.operation {
                Operation::Insert { made, .. } => writes.inserts.push((event.at, transaction, made)),
                Operation::Delete { .. } => writes.deletes.push((event.at, transaction)),
                Operation::Update { replaced, made, .. } => {
                    if let Some((other, _)) = writes.updates.insert(*replaced, (transaction, made)) {
                        return Err(lost_write(history, item, Some(*replaced), &[other, transaction]));
                    }
                }
                _ => {}
            }
        }
    }
    let ordered = |(item, writes)| order_item(history, item, writes).map(|states| (item.clone(), states));
    Ok(Versions::new(items.into_iter().map(ordered).collect::<Result<_, _>>()?))
}

/// Orders an item's states by putting its lives one after the other. An update whose predecessor is not among the
/// versions replaced a version that was never committed; that read is reported elsewhere.
fn order_item(history: &History, item: &Item, mut writes: Writes<'_>) -> Result<States, Anomaly> {
    writes.inserts.sort_by_key(|&(at, ..)| at);
    writes.deletes.sort_by_key(|&(at, ..)| at);
    let mut states = States::default();
    let mut lives: Vec<(u64, Writer, &Version)> = Vec::new();
    match writes.initial {
        Some(version) => lives.push((0, None, version)),
        None => states.push(None, None),
    }
    lives.extend(writes.inserts.iter().map(|&(at, transaction, version)| (at, Some(transaction), version)));
    for (number, &(begun, writer, first)) in lives.iter().enumerate() {
        let ended = lives.get(number + 1).map_or(u64::MAX, |&(at, ..)| at);
        states.push(writer, Some(first.clone()));
        let mut last = first.stamp;
        // Each update is removed once, so the loop ends.
        while let Some((transaction, version)) = writes.updates.remove(&last) {
            states.push(Some(transaction), Some(version.clone()));
            last = version.stamp;
        }
        let from = writes.deletes.partition_point(|&(at, _)| at < begun);
        let to = writes.deletes.partition_point(|&(at, _)| at < ended).max(from);
        match writes.deletes[from..to] {
            [(_, transaction)] => states.push(Some(transaction), None),
            [] if number + 1 < lives.len() => {
                let next = lives[number + 1].1;
                let both: Vec<_> = [writer, next].into_iter().flatten().collect();
                let found = format!("{item} was inserted while {} was there", version_name(item, last));
                return Err(Anomaly::new(history, AnomalyKind::LostWrite, found, &both));
            }
            [] => {}
            [(_, first), (_, second), ..] => return Err(lost_write(history, item, None, &[first, second])),
        }
    }
    Ok(states)
}

fn lost_write(history: &History, item: &Item, replaced: Option<Stamp>, transactions: &[usize]) -> Anomaly {
    let what = replaced.map_or_else(|| format!("one life of {item}"), |stamp| version_name(item, stamp));
    let names: Vec<_> = transactions.iter().map(|&number| transaction_name(history, number)).collect();
    let sentence = format!("{} was ended by each of {}", what, names.join(" and "));
    Anomaly::new(history, AnomalyKind::LostWrite, sentence, transactions)
}
