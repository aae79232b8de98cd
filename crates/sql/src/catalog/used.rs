//! The definitions that a plan was made from.

use super::definitions::{Changes, View};
use super::procedure::Procedure;
use super::sequence::Sequence;
use super::table::Table;
use super::view::StoredView;
use crate::schema::RelationName;
use crate::table_lock::TableLock;
use hotrow_sync::Arc;

/// The definitions that a plan was made from.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// Tables, to be locked.
    pub tables: Vec<Arc<Table>>,
    /// Procedures, and those that they call.
    pub procedures: Vec<Arc<Procedure>>,
    /// Views, and those that they mention.
    pub views: Vec<Arc<StoredView>>,
    /// Names as they are written, and what they mean.
    pub names: Vec<(RelationName, String)>,
    /// Sequences from which numbers are taken, to be locked.
    pub sequences: Vec<UsedSequence>,
    /// Parameters whose values name such sequences.
    pub sequence_params: Vec<usize>,
    /// Whether a function is called that does more than make a value.
    pub acts: bool,
}

/// A sequence that a plan takes numbers from.
#[derive(Clone, Debug)]
pub struct UsedSequence {
    name: String,
    id: u32,
    /// The lock of its name.
    pub lock: Arc<TableLock>,
}

impl Used {
    /// Notes one more table.
    pub fn add_table(&mut self, table: &Arc<Table>) {
        add(&mut self.tables, table);
    }

    /// Notes one more procedure.
    pub fn add_procedure(&mut self, procedure: &Arc<Procedure>) {
        add(&mut self.procedures, procedure);
    }

    /// Notes one more view.
    pub fn add_view(&mut self, view: &Arc<StoredView>) {
        add(&mut self.views, view);
    }

    /// Notes what a written name means.
    pub fn add_name(&mut self, written: &RelationName, name: &str) {
        if !self.names.iter().any(|(known, _)| known == written) {
            self.names.push((written.clone(), name.to_owned()));
        }
    }

    /// Notes one more sequence.
    pub fn add_sequence(&mut self, sequence: &Sequence, view: View<'_>) {
        if !self.sequences.iter().any(|known| known.id == sequence.id && known.name == sequence.name) {
            let lock = view.catalog.lock(&sequence.name);
            self.sequences.push(UsedSequence { name: sequence.name.clone(), id: sequence.id, lock });
        }
    }

    /// The locks of its tables and sequences.
    pub fn locks(&self) -> impl Iterator<Item = &Arc<TableLock>> {
        let sequences = self.sequences.iter().map(|sequence| &sequence.lock);
        self.tables.iter().map(|table| &table.lock).chain(sequences)
    }

    /// Notes all that another plan was made from, which has parameters of its own.
    pub fn add_all(&mut self, other: &Used) {
        self.acts |= other.acts;
        other.tables.iter().for_each(|table| self.add_table(table));
        other.procedures.iter().for_each(|procedure| self.add_procedure(procedure));
        other.views.iter().for_each(|view| self.add_view(view));
        other.names.iter().for_each(|(written, name)| self.add_name(written, name));
        for sequence in &other.sequences {
            if !self.sequences.iter().any(|known| Arc::ptr_eq(&known.lock, &sequence.lock)) {
                self.sequences.push(sequence.clone());
            }
        }
    }

    /// Whether they are the ones that their names mean now.
    pub fn is_current(&self, view: View<'_>) -> bool {
        self.tables.iter().all(|table| view.is_table(table))
            && self.procedures.iter().all(|procedure| view.is_procedure(procedure))
            && self.views.iter().all(|stored| view.is_view(stored))
            && self.names.iter().all(|(written, name)| view.find(written) == *name)
            && self.sequences.iter().all(|used| view.sequence(&used.name).is_some_and(|now| now.id == used.id))
    }

    /// Whether a transaction's changes are among them.
    pub fn is_changed(&self, changes: &Changes) -> bool {
        self.tables.iter().any(|table| changes.tables.contains_key(table.name()))
            || self.procedures.iter().any(|procedure| changes.procedures.contains_key(&procedure.name))
            || self.views.iter().any(|view| changes.views.contains_key(&view.name))
            || self.sequences.iter().any(|used| changes.sequences.contains_key(&used.name))
    }
}

fn add<T>(list: &mut Vec<Arc<T>>, new: &Arc<T>) {
    if !list.iter().any(|known| Arc::ptr_eq(known, new)) {
        list.push(new.clone());
    }
}
