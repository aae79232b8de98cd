//! Checks of foreign keys that are put off to the transaction's end, or until SET CONSTRAINTS asks for them.

use crate::catalog::foreign_key::ForeignKey;
use crate::plan::Graph;
use hotrow_storage::{Key, Value};
use hotrow_sync::Arc;
use std::collections::HashMap;

/// A change of a row that a foreign key must check. The key is named by its position in the graph.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The position of the row's table in the graph.
    pub(crate) node: usize,
    /// The position of the key among the table's references or referrers.
    pub(crate) key: usize,
    /// The kind of the change.
    pub(crate) kind: EventKind,
}

/// The changes of rows that concern foreign keys.
#[derive(Clone, Debug)]
pub(crate) enum EventKind {
    /// The row with this primary key now refers to a row with these values, which was not found at that time.
    Refers(Key, Vec<Value<'static>>),
    /// A row to which others may refer by these values was deleted.
    Deleted(Vec<Value<'static>>),
    /// A row to which others may refer by the first values now has the second values.
    Updated(Vec<Value<'static>>, Vec<Value<'static>>),
}

impl Event {
    /// The foreign key that must be checked.
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
    /// Whether SET CONSTRAINTS has had the check made since.
    done: bool,
}

/// The checks that a transaction has deferred, and its modes of checking.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    modes: Modes,
    pending: Vec<Pending>,
}

/// The modes that SET CONSTRAINTS has set: whether keys are checked at the transaction's end.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// The mode of the keys that are not named, if it was set.
    all: Option<bool>,
    /// The modes of keys by their names.
    named: HashMap<String, bool>,
}

/// A savepoint of the deferred checks.
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

    /// Returns the first due check at position `from` or later, with its position. All checks are due when the
    /// transaction ends.
    pub(crate) fn due(&self, from: usize, ends: bool) -> Option<(usize, Pending)> {
        let is_due =
            |pending: &Pending| !pending.done && (ends || !self.defers(pending.event.foreign_key(&pending.graph)));
        let rest = self.pending.iter().enumerate().skip(from);
        rest.into_iter().find(|(_, pending)| is_due(pending)).map(|(at, pending)| (at, pending.clone()))
    }

    /// Marks the check at this position as made.
    pub(crate) fn done(&mut self, at: usize) {
        if let Some(pending) = self.pending.get_mut(at) {
            pending.done = true;
        }
    }

    /// Whether no check was deferred.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a check that is not made yet concerns a table, on either side of its key.
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

    /// Returns a savepoint of the present checks and modes.
    pub(crate) fn mark(&self) -> DeferredMark {
        DeferredMark { pending: self.pending.len(), modes: self.modes.clone() }
    }

    /// The number of deferred checks, made or not.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Drops all checks but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.pending.truncate(len);
    }

    /// Rolls back to a savepoint. Checks that were made since must be made again, for the rollback may have undone the
    /// changes that made them succeed.
    pub(crate) fn rollback_to(&mut self, mark: &DeferredMark) {
        self.pending.truncate(mark.pending);
        self.pending.iter_mut().for_each(|pending| pending.done = false);
        self.modes.clone_from(&mark.modes);
    }

    /// Drops all checks and modes when the transaction ends.
    pub(crate) fn clear(&mut self) {
        if !self.pending.is_empty() || self.modes.all.is_some() || !self.modes.named.is_empty() {
            *self = Self::default();
        }
    }
}
