//! The definitions that a plan depends on.

use super::definitions::{NO_CHANGES, View};
use super::domain::Domain;
use super::enumeration::EnumType;
use super::procedure::Procedure;
use super::sequence::Sequence;
use super::table::Table;
use super::view::StoredView;
use crate::schema::{RelationName, SearchPath};
use crate::table_lock::TableLock;
use hotrow_sync::Arc;

/// The definitions that a plan depends on. The plan is valid as long as all of them are current.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// The tables that the plan accesses. A session locks them before it runs the plan.
    pub tables: Vec<Arc<Table>>,
    /// The procedures and functions that the plan calls, directly or through others.
    pub procedures: Vec<Arc<Procedure>>,
    /// The names of procedures and functions as the statement writes them, each with all procedures and functions that
    /// it may mean.
    pub routine_names: Vec<(RelationName, Vec<Arc<Procedure>>)>,
    /// The views that the plan mentions, directly or through other views.
    pub views: Vec<Arc<StoredView>>,
    /// The enumerated types that the plan names, or whose labels it mentions.
    pub enumerations: Vec<Arc<EnumType>>,
    /// The domains that the plan names, or whose constraints it checks.
    pub domains: Vec<Arc<Domain>>,
    /// The names of relations as the statement writes them, each with the full name to which it was resolved.
    pub names: Vec<(RelationName, String)>,
    /// The names in the bodies that have search paths of their own, which are resolved by these paths.
    pub elsewhere: Vec<Elsewhere>,
    /// The sequences from which the plan takes numbers. A session locks them before it runs the plan.
    pub sequences: Vec<UsedSequence>,
    /// The positions of the parameters whose values name further sequences from which the plan takes numbers.
    pub sequence_params: Vec<usize>,
    /// Whether the plan may do more than read or change its own tables: it calls a function with side effects or a
    /// function of a user, fires triggers, or runs EXECUTE in a body.
    pub acts: bool,
    /// The effects of the procedures and functions that the plan calls, and of the statements in its WITH that change
    /// rows.
    pub calls: Calls,
}

/// The names of a body that has a search path of its own, and what they mean.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    path: Option<Arc<SearchPath>>,
    names: Vec<(RelationName, String)>,
    routine_names: Vec<(RelationName, Vec<Arc<Procedure>>)>,
}

impl Elsewhere {
    fn is_current(&self, view: View<'_>) -> bool {
        let view = View { path: self.path.as_ref(), ..view };
        self.names.iter().all(|(written, name)| view.find(written) == *name)
            && self.routine_names.iter().all(|(written, found)| means(view, written, found))
    }
}

/// The effects that parts of a plan may have: the procedures and functions that it calls, and the statements in its
/// WITH that change rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Whether one of them may change rows, or lock rows for an update.
    pub writes: bool,
    /// Whether one of them has a loop or a recursion whose end may depend on rows that it changes. A rehearsal of such
    /// a plan might not end, since a rehearsal changes no rows.
    pub is_open: bool,
}

/// A sequence from which a plan takes numbers.
#[derive(Clone, Debug)]
pub struct UsedSequence {
    name: String,
    id: u32,
    /// The lock on the sequence's name.
    pub lock: Arc<TableLock>,
}

impl Used {
    /// Adds a table, unless it has been added before.
    pub fn add_table(&mut self, table: &Arc<Table>) {
        add(&mut self.tables, table);
    }

    /// Adds a procedure, unless it has been added before.
    pub fn add_procedure(&mut self, procedure: &Arc<Procedure>) {
        add(&mut self.procedures, procedure);
    }

    /// Adds the written name of procedures and functions, with all that it may mean. Does nothing if the name has been
    /// added before.
    pub fn add_routine_name(&mut self, written: &RelationName, found: &[Arc<Procedure>]) {
        if !self.routine_names.iter().any(|(known, _)| known == written) {
            self.routine_names.push((written.clone(), found.to_vec()));
        }
    }

    /// Adds a view, unless it has been added before.
    pub fn add_view(&mut self, view: &Arc<StoredView>) {
        add(&mut self.views, view);
    }

    /// Adds an enumerated type, unless it has been added before.
    pub fn add_enumeration(&mut self, made: &Arc<EnumType>) {
        add(&mut self.enumerations, made);
    }

    /// Adds a domain, unless it has been added before.
    pub fn add_domain(&mut self, made: &Arc<Domain>) {
        add(&mut self.domains, made);
    }

    /// Adds a written name with the full name to which it was resolved. Does nothing if the name has been added before.
    pub fn add_name(&mut self, written: &RelationName, name: &str) {
        if !self.names.iter().any(|(known, _)| known == written) {
            self.names.push((written.clone(), name.to_owned()));
        }
    }

    /// Adds a sequence, with the lock on its name.
    pub fn add_sequence(&mut self, sequence: &Sequence, view: View<'_>) {
        if !self.sequences.iter().any(|known| known.id == sequence.id && known.name == sequence.name) {
            let lock = view.catalog.lock(&sequence.name);
            self.sequences.push(UsedSequence { name: sequence.name.clone(), id: sequence.id, lock });
        }
    }

    /// Returns the locks on the names of the tables and sequences, which a session takes before it runs the plan.
    pub fn locks(&self) -> impl Iterator<Item = &Arc<TableLock>> {
        let sequences = self.sequences.iter().map(|sequence| &sequence.lock);
        self.tables.iter().map(|table| &table.lock).chain(sequences)
    }

    /// Adds all definitions that a body with a search path of its own depends on.
    pub fn add_elsewhere(&mut self, other: &Used, path: Option<Arc<SearchPath>>) {
        let (names, routine_names) = (other.names.clone(), other.routine_names.clone());
        self.elsewhere.push(Elsewhere { path, names, routine_names });
        self.add_all(&Used { names: Vec::new(), routine_names: Vec::new(), ..other.clone() });
    }

    /// Adds all definitions that another plan depends on. The positions of its parameters are not added, since they are
    /// not parameters of this plan.
    pub fn add_all(&mut self, other: &Used) {
        self.acts |= other.acts;
        self.calls.writes |= other.calls.writes;
        self.calls.is_open |= other.calls.is_open;
        other.tables.iter().for_each(|table| self.add_table(table));
        other.procedures.iter().for_each(|procedure| self.add_procedure(procedure));
        other.routine_names.iter().for_each(|(written, found)| self.add_routine_name(written, found));
        other.views.iter().for_each(|view| self.add_view(view));
        other.enumerations.iter().for_each(|made| self.add_enumeration(made));
        other.domains.iter().for_each(|made| self.add_domain(made));
        other.names.iter().for_each(|(written, name)| self.add_name(written, name));
        self.elsewhere.extend(other.elsewhere.iter().cloned());
        for sequence in &other.sequences {
            if !self.sequences.iter().any(|known| Arc::ptr_eq(&known.lock, &sequence.lock)) {
                self.sequences.push(sequence.clone());
            }
        }
    }

    /// Whether all definitions are current, and each written name still resolves to the same relation, procedures or
    /// functions.
    pub fn is_current(&self, view: View<'_>) -> bool {
        self.tables.iter().all(|table| view.is_table(table))
            && self.procedures.iter().all(|procedure| view.is_procedure(procedure))
            && self.routine_names.iter().all(|(written, found)| means(view, written, found))
            && self.views.iter().all(|stored| view.is_view(stored))
            && self.enumerations.iter().all(|made| view.is_enumeration(made))
            && self.domains.iter().all(|made| view.is_domain(made))
            && self.names.iter().all(|(written, name)| view.find(written) == *name)
            && self.elsewhere.iter().all(|other| other.is_current(view))
            && self.sequences.iter().all(|used| view.sequence(&used.name).is_some_and(|now| now.id == used.id))
    }

    /// Whether the transaction's uncommitted changes create, replace or drop any of the tables, procedures, views,
    /// types or sequences, or decide what one of the names means.
    pub fn is_changed(&self, view: View<'_>) -> bool {
        let changes = view.changes;
        if changes.has_no_definitions() {
            return false;
        }
        let without = View { changes: &NO_CHANGES, ..view };
        self.names.iter().any(|(written, name)| without.find(written) != *name)
            || self.elsewhere.iter().any(|other| !other.is_current(without))
            || self.tables.iter().any(|table| changes.tables.contains_key(table.name()))
            || self.procedures.iter().any(|procedure| changes.procedures.contains_key(&procedure.key))
            || self.routine_names.iter().any(|(written, found)| !means(without, written, found))
            || self.views.iter().any(|view| changes.views.contains_key(&view.name))
            || self.enumerations.iter().any(|made| changes.enumerations.contains_key(&made.name))
            || self.domains.iter().any(|made| changes.domains.contains_key(&made.name))
            || self.sequences.iter().any(|used| changes.sequences.contains_key(&used.name))
    }
}

/// Whether a written name still means these procedures and functions.
fn means(view: View<'_>, written: &RelationName, found: &[Arc<Procedure>]) -> bool {
    let now = view.routines(written);
    now.len() == found.len() && now.iter().zip(found).all(|(now, known)| Arc::ptr_eq(now, known))
}

fn add<T>(list: &mut Vec<Arc<T>>, new: &Arc<T>) {
    if !list.iter().any(|known| Arc::ptr_eq(known, new)) {
        list.push(new.clone());
    }
}
