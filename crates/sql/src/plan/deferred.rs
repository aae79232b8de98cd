//! Checks of foreign keys that are put off to the transaction's end, or until SET CONSTRAINTS asks for them.

use crate::catalog::foreign_key::ForeignKey;
use crate::plan::Graph;
use hotrow_storage::{Key, Value};
use hotrow_sync::Arc;
use std::collections::HashMap;

/// Something that happened to a row and that a foreign key has to do with. Keys are named by their places in the graph.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The row's table.
    pub(crate) node: usize,
    /// Which of the keys on that side.
    pub(crate) key: usize,
    /// What happened.
    pub(crate) kind: EventKind,
}

/// What happened to a row.
#[derive(Clone, Debug)]
pub(crate) enum EventKind {
    /// The row with this primary key has come to refer to a row with these values, which was not found then.
    Refers(Key, Vec<Value<'static>>),
    /// A row to which others may refer by these values has gone.
    Deleted(Vec<Value<'static>>),
    /// Such a row has got the second values.
    Updated(Vec<Value<'static>>, Vec<Value<'static>>),
}

impl Event {
    /// The key.
    pub(crate) fn foreign_key<'g>(&self, graph: &'g Graph) -> &'g ForeignKey {
        let keys = &graph.nodes[self.node];
        match self.kind {
            EventKind::Refers(..) => &keys.references[self.key].key,
            _ => &keys.referrers[self.key].key,
        }
    }
}

/// A check that was put off.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) graph: Arc<Graph>,
    pub(crate) event: Event,
    /// It has been made since, at the wish of SET CONSTRAINTS.
    done: bool,
}

/// Those of a transaction, and when it wants which.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    modes: Modes,
    pending: Vec<Pending>,
}

/// What SET CONSTRAINTS has said.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// Of all keys that are not named.
    all: Option<bool>,
    /// By the names of keys.
    named: HashMap<String, bool>,
}

/// A place in a transaction.
#[derive(Debug)]
pub(crate) struct DeferredMark {
    pending: usize,
    modes: Modes,
}

impl Deferred {
    /// Whether a key is to be checked later.
    pub(crate) fn defers(&self, key: &ForeignKey) -> bool {
        let Modes { all, named } = &self.modes;
        key.deferrable && named.get(&key.name).copied().or(*all).unwrap_or(key.deferred)
    }

    /// Puts a check off.
    pub(crate) fn push(&mut self, graph: &Arc<Graph>, event: Event) {
        self.pending.push(Pending { graph: graph.clone(), event, done: false });
    }

    /// SET CONSTRAINTS; all of them if there are no names.
    pub(crate) fn set(&mut self, names: Option<&[String]>, deferred: bool) {
        match names {
            None => self.modes = Modes { all: Some(deferred), named: HashMap::new() },
            Some(names) => self.modes.named.extend(names.iter().map(|name| (name.clone(), deferred))),
        }
    }

    /// The next check that is due from `from` on, and its place: all are when the transaction ends.
    pub(crate) fn due(&self, from: usize, ends: bool) -> Option<(usize, Pending)> {
        let is_due =
            |pending: &Pending| !pending.done && (ends || !self.defers(pending.event.foreign_key(&pending.graph)));
        let rest = self.pending.iter().enumerate().skip(from);
        rest.into_iter().find(|(_, pending)| is_due(pending)).map(|(at, pending)| (at, pending.clone()))
    }

    /// A check was made.
    pub(crate) fn done(&mut self, at: usize) {
        if let Some(pending) = self.pending.get_mut(at) {
            pending.done = true;
        }
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a table's rows have checks before them, on either side of a key.
    pub(crate) fn concerns(&self, table: &str) -> bool {
        self.pending.iter().filter(|pending| !pending.done).any(|Pending { graph, event, .. }| {
            let keys = &graph.nodes[event.node];
            let other = match event.kind {
                EventKind::Refers(..) => keys.references[event.key].key.table.as_str(),
                EventKind::Deleted(_) | EventKind::Updated(..) => keys.referrers[event.key].child.name(),
            };
            keys.table.name() == table || other == table
        })
    }

    /// Where the transaction is.
    pub(crate) fn mark(&self) -> DeferredMark {
        DeferredMark { pending: self.pending.len(), modes: self.modes.clone() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Forgets the last ones.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.pending.truncate(len);
    }

    /// Back to a place. What was checked since then may have been made true since then.
    pub(crate) fn rollback_to(&mut self, mark: &DeferredMark) {
        self.pending.truncate(mark.pending);
        self.pending.iter_mut().for_each(|pending| pending.done = false);
        self.modes.clone_from(&mark.modes);
    }

    /// The transaction is over.
    pub(crate) fn clear(&mut self) {
        if !self.pending.is_empty() || self.modes.all.is_some() || !self.modes.named.is_empty() {
            *self = Self::default();
        }
    }
}
