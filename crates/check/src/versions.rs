//! The order of each item's versions.

use crate::anomaly::{Anomaly, AnomalyKind, transaction_name, version_name};
use crate::history::{History, Item, Operation, Stamp, Version};
use std::collections::{BTreeMap, HashMap};

/// Who made a state of an item; nobody made the first.
pub(crate) type Writer = Option<usize>;

/// A state of an item: a version, or its absence.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub writer: Writer,
    pub version: Option<Version>,
}

/// All committed states of an item, in their order. Versions that their own writer replaced are among them.
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

    /// Where a version stands.
    pub fn position(&self, stamp: Stamp) -> Option<usize> {
        self.positions.get(&stamp).copied()
    }

    /// The first state after `position` that somebody else made.
    pub fn successor(&self, position: usize) -> Option<usize> {
        let writer = self.list[position].writer;
        (position + 1..self.list.len()).find(|&next| self.list[next].writer != writer)
    }
}

/// The states of all items that a history names.
pub(crate) type Versions = BTreeMap<Item, States>;

/// What is known of one item before its states are ordered.
#[derive(Default)]
struct Writes<'a> {
    initial: Option<&'a Version>,
    /// Inserts with the position at which they returned.
    inserts: Vec<(u64, usize, &'a Version)>,
    /// The version replaced, to who replaced it by what.
    updates: HashMap<Stamp, (usize, &'a Version)>,
    deletes: Vec<(u64, usize)>,
}

/// Orders the committed versions of every item.
pub(crate) fn order(history: &History) -> Result<Versions, Anomaly> {
    let mut items: BTreeMap<Item, Writes<'_>> = BTreeMap::new();
    for (item, version) in &history.initial {
        items.entry(item.clone()).or_default().initial = Some(version);
    }
    for (transaction, record) in history.transactions.iter().enumerate() {
        for event in &record.events {
            if let Operation::Read { item, .. } = &event.operation {
                items.entry(item.clone()).or_default();
            }
        }
        for event in record.writes().filter(|_| record.is_committed()) {
            let Some(item) = event.operation.written() else { continue };
            let writes = items.entry(item.clone()).or_default();
            match &event.operation {
                Operation::Insert { made, .. } => writes.inserts.push((event.at, transaction, made)),
                Operation::Delete { .. } => writes.deletes.push((event.at, transaction)),
                Operation::Update { replaced, made, .. } => {
                    if let Some((other, _)) = writes.updates.insert(*replaced, (transaction, made)) {
                        return Err(lost_update(history, item, Some(*replaced), &[other, transaction]));
                    }
                }
                _ => {}
            }
        }
    }
    items.into_iter().map(|(item, writes)| order_item(history, &item, writes).map(|states| (item, states))).collect()
}

/// Lays an item's lives end to end. An update whose predecessor is not among them replaced what never was committed; that
/// read is reported elsewhere.
fn order_item(history: &History, item: &Item, mut writes: Writes<'_>) -> Result<States, Anomaly> {
    writes.inserts.sort_by_key(|&(at, ..)| at);
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
        // Stamps are unique, so the chain ends; a broken engine's chain could only lead back to this life's first.
        while let Some((transaction, version)) = writes.updates.remove(&last) {
            states.push(Some(transaction), Some(version.clone()));
            last = version.stamp;
        }
        let deletes: Vec<_> = writes.deletes.iter().filter(|(at, _)| (begun..ended).contains(at)).collect();
        match deletes[..] {
            [&(_, transaction)] => states.push(Some(transaction), None),
            [] if number + 1 < lives.len() => {
                let next = lives[number + 1].1;
                let both: Vec<_> = [writer, next].into_iter().flatten().collect();
                let found = format!("{item} was inserted while {} was there", version_name(item, last));
                return Err(Anomaly::told(history, AnomalyKind::LostUpdate, found, &both));
            }
            [] => {}
            [&(_, first), &(_, second), ..] => return Err(lost_update(history, item, None, &[first, second])),
        }
    }
    Ok(states)
}

fn lost_update(history: &History, item: &Item, replaced: Option<Stamp>, transactions: &[usize]) -> Anomaly {
    let what = replaced.map_or_else(|| format!("one life of {item}"), |stamp| version_name(item, stamp));
    let names: Vec<_> = transactions.iter().map(|&number| transaction_name(history, number)).collect();
    let sentence = format!("{} was ended by each of {}", what, names.join(" and "));
    Anomaly::told(history, AnomalyKind::LostUpdate, sentence, transactions)
}
