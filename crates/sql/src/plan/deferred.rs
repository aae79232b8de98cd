//! Deferred checks of foreign keys: they are made at the end of the transaction, or when SET CONSTRAINTS requires them.

use crate::catalog::Table;
use crate::catalog::foreign_key::ForeignKey;
use crate::plan::Graph;
use hotrow_storage::{Key, Value};
use hotrow_sync::Arc;
use std::collections::HashMap;

/// A change of a row that requires a check of a foreign key. The positions refer to the plan's [`Graph`].
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The position of the changed row's table in [`Graph::nodes`].
    pub(crate) node: usize,
    /// The position of the key in the node's `references` for [`EventKind::Refers`], and in its `referrers` otherwise.
    pub(crate) key: usize,
    /// The kind of the change.
    pub(crate) kind: EventKind,
}

/// The kind of a change that requires a check of a foreign key.
#[derive(Clone, Debug)]
pub(crate) enum EventKind {
    /// The row with this primary key has been inserted or updated. It has these values in the key's columns, and no
    /// referenced row had them at that time.
    Refers(Key, Vec<Value<'static>>),
    /// A row was deleted that had these values in the referenced columns.
    Deleted(Vec<Value<'static>>),
    /// The values of a row in the referenced columns have changed from the first values to the second.
    Updated(Vec<Value<'static>>, Vec<Value<'static>>),
}

impl Event {
    /// Returns the foreign key that must be checked. `graph` must be the graph of the plan that made the change.
    pub(crate) fn foreign_key<'g>(&self, graph: &'g Graph) -> &'g ForeignKey {
        let keys = &graph.nodes[self.node];
        match self.kind {
            EventKind::Refers(..) => &keys.references[self.key].key,
            _ => &keys.referrers[self.key].key,
        }
    }

    /// Returns the table that declares the foreign key. `graph` must be the graph of the plan that made the change.
    fn child<'g>(&self, graph: &'g Graph) -> &'g Table {
        let keys = &graph.nodes[self.node];
        match self.kind {
            EventKind::Refers(..) => &keys.table,
            _ => &keys.referrers[self.key].child,
        }
    }
}

/// A deferred check of a foreign key.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) graph: Arc<Graph>,
    pub(crate) event: Event,
    /// Whether the check has been made already, because of SET CONSTRAINTS.
    done: bool,
}

/// The deferred checks of a transaction, and the modes that it has set by SET CONSTRAINTS.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    modes: Modes,
    pending: Vec<Pending>,
}

/// The modes that SET CONSTRAINTS has set. A key whose mode is `true` is checked at the transaction's end.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// The mode of SET CONSTRAINTS ALL, for the keys that `named` lacks.
    all: Option<bool>,
    /// The modes of single keys, by the [full names](crate::schema::full) of the keys.
    named: HashMap<String, bool>,
}

/// The state of the deferred checks at a savepoint, for a rollback to it.
#[derive(Debug)]
pub(crate) struct DeferredMark {
    pending: usize,
    modes: Modes,
}

impl Deferred {
    /// Whether the check that an event requires is deferred at present. `graph` must be the graph of the plan that made
    /// the change.
    pub(crate) fn defers(&self, graph: &Graph, event: &Event) -> bool {
        let key = event.foreign_key(graph);
        if !key.deferrable {
            return false;
        }
        let Modes { all, named } = &self.modes;
        let own = match named.is_empty() {
            true => None,
            false => named.get(&event.child(graph).name_beside(&key.name)).copied(),
        };
        own.or(*all).unwrap_or(key.deferred)
    }

    /// Adds a check to be made later.
    pub(crate) fn push(&mut self, graph: &Arc<Graph>, event: Event) {
        self.pending.push(Pending { graph: graph.clone(), event, done: false });
    }

    /// Implements SET CONSTRAINTS: sets the mode of the keys of these full names, or of all keys if `names` is `None`.
    /// Makes no checks: the caller then makes those that are [`due`](Self::due).
    pub(crate) fn set(&mut self, names: Option<Vec<String>>, deferred: bool) {
        match names {
            None => self.modes = Modes { all: Some(deferred), named: HashMap::new() },
            Some(names) => self.modes.named.extend(names.into_iter().map(|name| (name, deferred))),
        }
    }

    /// Returns the first check at position `from` or later that is due and has not been made, with its position. If
    /// `ends` is set, the transaction ends, and all checks are due. Otherwise a check is due if its key is not deferred
    /// any more.
    pub(crate) fn due(&self, from: usize, ends: bool) -> Option<(usize, Pending)> {
        let is_due = |pending: &Pending| !pending.done && (ends || !self.defers(&pending.graph, &pending.event));
        let rest = self.pending.iter().enumerate().skip(from);
        rest.into_iter().find(|(_, pending)| is_due(pending)).map(|(at, pending)| (at, pending.clone()))
    }

    /// Marks the check at this position as made.
    pub(crate) fn done(&mut self, at: usize) {
        if let Some(pending) = self.pending.get_mut(at) {
            pending.done = true;
        }
    }

    /// Whether there are no deferred checks.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a check that has not been made concerns a key of this table, or a key that refers to this table.
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

    /// Returns the present state of the checks and modes, for a later [`rollback_to`](Self::rollback_to).
    pub(crate) fn mark(&self) -> DeferredMark {
        DeferredMark { pending: self.pending.len(), modes: self.modes.clone() }
    }

    /// Returns the number of deferred checks, whether or not they have been made.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Removes all checks but the first `len`, when the statement that added them is undone.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.pending.truncate(len);
    }

    /// Restores the state at a savepoint. All remaining checks count as not made, since the rollback may have undone
    /// the changes because of which they succeeded.
    pub(crate) fn rollback_to(&mut self, mark: &DeferredMark) {
        self.pending.truncate(mark.pending);
        self.pending.iter_mut().for_each(|pending| pending.done = false);
        self.modes.clone_from(&mark.modes);
    }

    /// Drops all checks and modes at the end of the transaction.
    pub(crate) fn clear(&mut self) {
        if !self.pending.is_empty() || self.modes.all.is_some() || !self.modes.named.is_empty() {
            *self = Self::default();
        }
    }
}
