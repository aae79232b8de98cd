//! The definitions of the catalog by their names, and the uncommitted changes that a transaction has made to them.

use super::domain::Domain;
use super::enumeration::EnumType;
use super::foreign_key::{ForeignKey, Referrer};
use super::procedure::Procedure;
use super::sequence::Sequence;
use super::table::Table;
use super::temporary::{Temporary, is_temporary};
use super::view::StoredView;
use crate::schema::{self, Schema, SearchPath};
use crate::table_lock::TableLock;
use crate::types::Styles;
use hotrow_storage::{EnumId, TableId};
use hotrow_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, RwLock};
use std::collections::{BTreeMap, HashMap, HashSet};

/// All sequences, by their names and by their ids.
#[derive(Debug, Default)]
struct Sequences {
    by_name: BTreeMap<String, Arc<Sequence>>,
    by_id: HashMap<u32, Arc<Sequence>>,
}

/// The smallest OID that the system relations show for a name. Smaller OIDs belong to PostgreSQL's own objects.
const FIRST_NUMBER: u32 = 16_384;

/// The OIDs that the system relations show for names.
#[derive(Debug)]
struct Numbers {
    by_name: HashMap<String, u32>,
    next: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { by_name: HashMap::new(), next: FIRST_NUMBER }
    }
}

/// The committed definitions of the database, and the locks on the names of its tables. Sessions share it; any thread
/// may call any method.
#[derive(Debug, Default)]
pub struct Catalog {
    tables: RwLock<BTreeMap<String, Arc<Table>>>,
    procedures: RwLock<BTreeMap<String, Arc<Procedure>>>,
    sequences: RwLock<Sequences>,
    views: RwLock<BTreeMap<String, Arc<StoredView>>>,
    schemas: RwLock<BTreeMap<String, Arc<Schema>>>,
    enumerations: RwLock<BTreeMap<String, Arc<EnumType>>>,
    domains: RwLock<BTreeMap<String, Arc<Domain>>>,
    /// The id that a new sequence or a new place of a sequence got last.
    last_sequence: AtomicU32,
    locks: RwLock<HashMap<String, Arc<TableLock>>>,
    /// The OIDs that the system relations show for names.
    numbers: RwLock<Numbers>,
    version: AtomicU64,
    /// The number that was given last to a schema or a version of temporary relations, of any session.
    last_temporary: AtomicU64,
    /// The literals in the expressions and conditions of indexes, as they are written in SQL.
    literals: RwLock<Arc<HashSet<String>>>,
    has_literals: AtomicBool,
}

impl Catalog {
    /// Returns the literals that indexes mention in their expressions and conditions, or `None` if there are none. Such
    /// a literal of a statement is not replaced by a parameter in the key of its plan, since the plan may use the
    /// index.
    pub fn index_literals(&self) -> Option<Arc<HashSet<String>>> {
        let read = || self.literals.read().unwrap_or_else(|poison| poison.into_inner()).clone();
        self.has_literals.load(Ordering::Acquire).then(read)
    }

    /// Returns the version of the catalog, which increases with every commit that changes a definition.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the committed table of this full name.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.tables.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// Returns all committed tables.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.tables.read().unwrap_or_else(|poison| poison.into_inner()).values().cloned().collect()
    }

    /// Returns the committed procedure or function of this [key](super::procedure::key).
    pub fn procedure(&self, key: &str) -> Option<Arc<Procedure>> {
        self.procedures.read().unwrap_or_else(|poison| poison.into_inner()).get(key).cloned()
    }

    /// Returns the committed view of this full name.
    pub fn view(&self, name: &str) -> Option<Arc<StoredView>> {
        self.views.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// Returns the committed schema of this name, if a user has made one. `public` is found only if its definition has
    /// been changed.
    pub fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        self.schemas.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// Returns the committed enumerated type of this full name.
    pub fn enumeration(&self, name: &str) -> Option<Arc<EnumType>> {
        self.enumerations.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// Whether the enumerated type with this id is committed, under any name.
    pub fn has_enumeration(&self, id: EnumId) -> bool {
        let known = self.enumerations.read().unwrap_or_else(|poison| poison.into_inner());
        known.values().any(|known| known.kept.id() == id)
    }

    /// Returns the committed domain of this full name.
    pub fn domain(&self, name: &str) -> Option<Arc<Domain>> {
        self.domains.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// Returns the committed sequence of this full name.
    pub fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(|poison| poison.into_inner()).by_name.get(name).cloned()
    }

    /// Returns all committed sequences.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(|poison| poison.into_inner()).by_name.values().cloned().collect()
    }

    /// Returns the committed sequence with this id.
    pub fn sequence_by_id(&self, id: u32) -> Option<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(|poison| poison.into_inner()).by_id.get(&id).cloned()
    }

    /// Returns the OID that the system relations show for a name, and assigns one at the first call. The OID belongs to
    /// the name: an object that is renamed gets another OID. A name keeps its OID until the server stops. The names of
    /// definitions that the log has keep it over a restart, too.
    pub fn number(&self, name: &str) -> u32 {
        if let Some(number) = self.numbers.read().unwrap_or_else(|poison| poison.into_inner()).by_name.get(name) {
            return *number;
        }
        let mut numbers = self.numbers.write().unwrap_or_else(|poison| poison.into_inner());
        let Numbers { by_name, next } = &mut *numbers;
        *by_name.entry(name.to_owned()).or_insert_with(|| std::mem::replace(next, *next + 1))
    }

    /// Returns an OID that no name and no other object has.
    pub fn new_number(&self) -> u32 {
        let mut numbers = self.numbers.write().unwrap_or_else(|poison| poison.into_inner());
        numbers.next += 1;
        numbers.next - 1
    }

    /// Returns a number for the schema or the version of a session's temporary relations, which no other schema or
    /// version has.
    pub fn new_temporary_number(&self) -> u64 {
        self.last_temporary.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Forgets the OIDs of a session's schema of temporary relations and of the names within it. The session has ended,
    /// and no later schema gets the same name.
    pub fn forget_numbers(&self, schema: &str) {
        let mut numbers = self.numbers.write().unwrap_or_else(|poison| poison.into_inner());
        numbers.by_name.retain(|name, _| !name.split('\0').any(|part| part == schema));
    }

    /// Ensures that new OIDs are greater than `last`.
    pub fn restore_last_number(&self, last: u32) {
        let mut numbers = self.numbers.write().unwrap_or_else(|poison| poison.into_inner());
        numbers.next = numbers.next.max(last + 1);
    }

    /// Gives names the OIDs that they had before a restart. Names that get an OID later get a greater one.
    pub fn restore_numbers(&self, numbers: impl IntoIterator<Item = (String, u32)>) {
        let mut known = self.numbers.write().unwrap_or_else(|poison| poison.into_inner());
        for (name, number) in numbers {
            known.next = known.next.max(number + 1);
            known.by_name.insert(name, number);
        }
    }

    /// Ensures that new sequences and their new places get ids greater than `last`.
    pub fn restore_sequence_ids(&self, last: u32) {
        self.last_sequence.fetch_max(last, Ordering::AcqRel);
    }

    /// Returns an id for a new sequence or a new place of a sequence, which no other sequence or place has had.
    pub fn new_sequence_id(&self) -> u32 {
        self.last_sequence.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns the lock on the name of a table, a sequence or another object. A name has a lock whether or not an
    /// object has the name.
    pub fn lock(&self, name: &str) -> Arc<TableLock> {
        if let Some(lock) = self.locks.read().unwrap_or_else(|poison| poison.into_inner()).get(name) {
            return lock.clone();
        }
        let mut locks = self.locks.write().unwrap_or_else(|poison| poison.into_inner());
        // Now and then, the locks are dropped to which no session and no definition refers any more.
        if locks.len() >= 1024 && locks.len().is_power_of_two() {
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        locks.entry(name.to_owned()).or_default().clone()
    }

    /// Publishes the changes of a transaction that commits, and returns the definitions of the tables that they
    /// replaced or dropped.
    pub fn apply(&self, changes: &Changes) -> Vec<Arc<Table>> {
        let mut tables = self.tables.write().unwrap_or_else(|poison| poison.into_inner());
        publish(&mut self.procedures.write().unwrap_or_else(|poison| poison.into_inner()), &changes.procedures);
        publish(&mut self.schemas.write().unwrap_or_else(|poison| poison.into_inner()), &changes.schemas);
        publish(&mut self.views.write().unwrap_or_else(|poison| poison.into_inner()), &changes.views);
        publish(&mut self.domains.write().unwrap_or_else(|poison| poison.into_inner()), &changes.domains);
        let mut enumerations = self.enumerations.write().unwrap_or_else(|poison| poison.into_inner());
        for (name, change) in &changes.enumerations {
            match change {
                Some(made) => {
                    made.kept.define(made.definition.clone());
                    enumerations.insert(name.clone(), made.clone())
                }
                None => enumerations.remove(name),
            };
        }
        let mut sequences = self.sequences.write().unwrap_or_else(|poison| poison.into_inner());
        // A name may go from one sequence to another: all sequences that lose a name are removed before any is
        // added.
        for name in changes.sequences.keys() {
            if let Some(gone) = sequences.by_name.remove(name) {
                sequences.by_id.remove(&gone.id);
            }
        }
        for sequence in changes.sequences.values().flatten() {
            sequences.by_name.insert(sequence.name.clone(), sequence.clone());
            sequences.by_id.insert(sequence.id, sequence.clone());
        }
        let replaced = publish(&mut tables, &changes.tables);
        if concern_literals(&changes.tables, &replaced) {
            let literals: HashSet<_> = tables.values().flat_map(|table| table.index_literals()).collect();
            self.has_literals.store(!literals.is_empty(), Ordering::Release);
            *self.literals.write().unwrap_or_else(|poison| poison.into_inner()) = Arc::new(literals);
        }
        self.version.fetch_add(1, Ordering::AcqRel);
        replaced
    }
}

/// The uncommitted catalog changes of a transaction. The keys of each map are full names, except that a procedure has
/// its [key](super::procedure::key) and a schema its plain name.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The new definition of each changed table; `None` if the transaction drops the table.
    pub tables: BTreeMap<String, Option<Arc<Table>>>,
    /// The new definition of each changed procedure; `None` if the transaction drops the procedure.
    pub procedures: BTreeMap<String, Option<Arc<Procedure>>>,
    /// The new definition of each changed sequence; `None` if the transaction drops the sequence.
    pub sequences: BTreeMap<String, Option<Arc<Sequence>>>,
    /// The new definition of each changed view; `None` if the transaction drops the view.
    pub views: BTreeMap<String, Option<Arc<StoredView>>>,
    /// The new definition of each changed schema; `None` if the transaction drops the schema.
    pub schemas: BTreeMap<String, Option<Arc<Schema>>>,
    /// The new definition of each changed enumerated type; `None` if the transaction drops the type.
    pub enumerations: BTreeMap<String, Option<Arc<EnumType>>>,
    /// The new definition of each changed domain; `None` if the transaction drops the domain.
    pub domains: BTreeMap<String, Option<Arc<Domain>>>,
    /// The engine's tables that the transaction has created, whether or not a definition uses them.
    pub created: Vec<TableId>,
}

/// The changes of a transaction that has made none.
pub static NO_CHANGES: Changes = Changes {
    tables: BTreeMap::new(),
    procedures: BTreeMap::new(),
    sequences: BTreeMap::new(),
    views: BTreeMap::new(),
    schemas: BTreeMap::new(),
    enumerations: BTreeMap::new(),
    domains: BTreeMap::new(),
    created: Vec::new(),
};

impl Changes {
    /// Whether the transaction has changed nothing in the catalog, and created no table of the engine.
    pub fn is_empty(&self) -> bool {
        self.has_no_definitions() && self.created.is_empty()
    }

    /// Whether the transaction has changed no definition.
    pub fn has_no_definitions(&self) -> bool {
        self.tables.is_empty()
            && self.procedures.is_empty()
            && self.sequences.is_empty()
            && self.views.is_empty()
            && self.schemas.is_empty()
            && self.enumerations.is_empty()
            && self.domains.is_empty()
    }
}

impl Temporary {
    /// Removes the changes of temporary relations from the changes of a transaction that commits, and publishes them
    /// for the session. Returns the definitions of the tables that they replaced or dropped. `new_version` returns a
    /// number that no version has.
    pub fn apply(&mut self, changes: &mut Changes, new_version: impl FnOnce() -> u64) -> Vec<Arc<Table>> {
        if self.schema().is_none() {
            return Vec::new();
        }
        let (tables, sequences) = (take_temporary(&mut changes.tables), take_temporary(&mut changes.sequences));
        let views = take_temporary(&mut changes.views);
        if !(tables.is_empty() && sequences.is_empty() && views.is_empty()) {
            self.set_version(new_version());
        }
        publish(&mut self.sequences, &sequences);
        publish(&mut self.views, &views);
        let replaced = publish(&mut self.tables, &tables);
        if concern_literals(&tables, &replaced) {
            self.literals = self.tables.values().flat_map(|table| table.index_literals()).collect();
        }
        replaced
    }
}

/// Whether changes of tables may change the literals that indexes mention: a table has an index with an expression or a
/// condition, or had one. `replaced` has the former definitions.
fn concern_literals(changes: &BTreeMap<String, Option<Arc<Table>>>, replaced: &[Arc<Table>]) -> bool {
    changes.values().flatten().chain(replaced).any(|table| table.visible() < table.stored())
}

/// Removes the changes of temporary relations from `changes`, and returns them.
fn take_temporary<T>(changes: &mut BTreeMap<String, Option<T>>) -> BTreeMap<String, Option<T>> {
    let (temporary, lasting) = std::mem::take(changes).into_iter().partition(|(name, _)| is_temporary(name));
    *changes = lasting;
    temporary
}

/// Applies changes to the definitions `known`. Returns the definitions that were replaced or removed.
fn publish<T>(known: &mut BTreeMap<String, Arc<T>>, changes: &BTreeMap<String, Option<Arc<T>>>) -> Vec<Arc<T>> {
    let change = |(name, change): (&String, &Option<Arc<T>>)| match change {
        Some(new) => known.insert(name.clone(), new.clone()),
        None => known.remove(name),
    };
    changes.iter().filter_map(change).collect()
}

/// The catalog as a transaction sees it: the committed definitions and its session's temporary relations, with the
/// transaction's own changes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The name of the database.
    pub database: &'a str,
    /// The committed definitions, which all transactions share.
    pub catalog: &'a Catalog,
    /// The transaction's own changes, which take precedence over committed definitions of the same names.
    pub changes: &'a Changes,
    /// The committed temporary relations of the transaction's session.
    pub temporary: &'a Temporary,
    /// The search path. `None` stands for `public` alone.
    pub path: Option<&'a Arc<SearchPath>>,
    /// The styles in which literals of dates, times and intervals are read.
    pub styles: Styles,
}

impl View<'_> {
    /// Returns the table of this full name, as the transaction sees it.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        match self.changes.tables.get(name) {
            Some(change) => change.clone(),
            None => self.temporary.tables.get(name).cloned().or_else(|| self.catalog.table(name)),
        }
    }

    /// Returns the procedure or function of this [key](super::procedure::key), as the transaction sees it.
    pub fn procedure(&self, key: &str) -> Option<Arc<Procedure>> {
        match self.changes.procedures.get(key) {
            Some(change) => change.clone(),
            None => self.catalog.procedure(key),
        }
    }

    /// Returns the procedures and functions of this full name, as the transaction sees them, ordered by their keys.
    pub fn procedures_named(&self, name: &str) -> Vec<Arc<Procedure>> {
        // All keys of the name begin with this text, and keys that begin with it are next to each other.
        let first = format!("{name}(");
        let begins = |(key, _): &(&String, _)| key.starts_with(&first);
        let known = self.catalog.procedures.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.range(first.clone()..).take_while(begins).map(|(_, known)| known);
        let known = known.filter(|known| !self.changes.procedures.contains_key(&known.key));
        let changed = self.changes.procedures.range(first.clone()..).take_while(|(key, _)| key.starts_with(&first));
        let mut all: Vec<_> = known.chain(changed.filter_map(|(_, change)| change.as_ref())).cloned().collect();
        all.retain(|known| known.name == name);
        all.sort_by(|one, other| one.key.cmp(&other.key));
        all
    }

    /// Whether there may be procedures or functions of users. The result may be `true` although the transaction has
    /// dropped them all.
    pub fn has_procedures(&self) -> bool {
        let known = || !self.catalog.procedures.read().unwrap_or_else(|poison| poison.into_inner()).is_empty();
        !self.changes.procedures.is_empty() || known()
    }

    /// Returns all procedures and functions that the transaction sees.
    pub fn procedures(&self) -> Vec<Arc<Procedure>> {
        let known = self.catalog.procedures.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.values().filter(|known| !self.changes.procedures.contains_key(&known.key));
        known.chain(self.changes.procedures.values().flatten()).cloned().collect()
    }

    /// Returns the view of this full name, as the transaction sees it.
    pub fn view(&self, name: &str) -> Option<Arc<StoredView>> {
        match self.changes.views.get(name) {
            Some(change) => change.clone(),
            None => self.temporary.views.get(name).cloned().or_else(|| self.catalog.view(name)),
        }
    }

    /// Returns the schema of this name, if a user has made one. `public` is found only if its definition has been
    /// changed.
    pub fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        match self.changes.schemas.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.schema(name),
        }
    }

    /// Returns the schemas that exist, by their names: those that users have made, `public`, and that of the session's
    /// temporary relations.
    pub fn schemas(&self) -> BTreeMap<String, Arc<Schema>> {
        let mut all = self.catalog.schemas.read().unwrap_or_else(|poison| poison.into_inner()).clone();
        for (name, change) in &self.changes.schemas {
            match change {
                Some(schema) => all.insert(name.clone(), schema.clone()),
                None => all.remove(name),
            };
        }
        for name in self.temporary.schema().into_iter().chain([schema::PUBLIC]) {
            all.entry(name.to_owned()).or_default();
        }
        all.retain(|_, schema| !schema.is_dropped);
        all
    }

    /// Returns all views that the transaction sees.
    pub fn views(&self) -> Vec<Arc<StoredView>> {
        let known = self.catalog.views.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.values().chain(self.temporary.views.values());
        let known = known.filter(|known| !self.changes.views.contains_key(&known.name));
        known.chain(self.changes.views.values().flatten()).cloned().collect()
    }

    /// Returns the queries of all views that the transaction sees, including materialized views.
    pub fn stored_queries(&self) -> Vec<Arc<StoredView>> {
        let mut all = self.views();
        all.extend(self.tables().iter().filter_map(|table| table.stored_query()));
        all
    }

    /// Returns the enumerated type of this full name, as the transaction sees it.
    pub fn enumeration(&self, name: &str) -> Option<Arc<EnumType>> {
        match self.changes.enumerations.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.enumeration(name),
        }
    }

    /// Returns all enumerated types that the transaction sees.
    pub fn enumerations(&self) -> Vec<Arc<EnumType>> {
        let known = self.catalog.enumerations.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.values().filter(|known| !self.changes.enumerations.contains_key(&known.name));
        known.chain(self.changes.enumerations.values().flatten()).cloned().collect()
    }

    /// Returns the domain of this full name, as the transaction sees it.
    pub fn domain(&self, name: &str) -> Option<Arc<Domain>> {
        match self.changes.domains.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.domain(name),
        }
    }

    /// Returns all domains that the transaction sees.
    pub fn domains(&self) -> Vec<Arc<Domain>> {
        let known = self.catalog.domains.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.values().filter(|known| !self.changes.domains.contains_key(&known.name));
        known.chain(self.changes.domains.values().flatten()).cloned().collect()
    }

    /// Returns the sequence of this full name, as the transaction sees it.
    pub fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        match self.changes.sequences.get(name) {
            Some(change) => change.clone(),
            None => self.temporary.sequences.get(name).cloned().or_else(|| self.catalog.sequence(name)),
        }
    }

    /// Returns the sequence with this id, as the transaction sees it.
    pub fn sequence_by_id(&self, id: u32) -> Option<Arc<Sequence>> {
        let has_id = |sequence: &&Arc<Sequence>| sequence.id == id;
        let known = || {
            let temporary = self.temporary.sequences.values().find(has_id).cloned();
            temporary.or_else(|| self.catalog.sequence_by_id(id))
        };
        if self.changes.sequences.is_empty() {
            return known();
        }
        let own = self.changes.sequences.values().flatten().find(has_id).cloned();
        own.or_else(|| known().filter(|known| !self.changes.sequences.contains_key(&known.name)))
    }

    /// Returns all sequences that the transaction sees.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        let known = self.catalog.sequences.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.by_name.values().chain(self.temporary.sequences.values());
        let known = known.filter(|known| !self.changes.sequences.contains_key(&known.name));
        known.chain(self.changes.sequences.values().flatten()).cloned().collect()
    }

    /// Whether this is still the current definition of the table's name.
    pub fn is_table(&self, table: &Arc<Table>) -> bool {
        self.table(table.name()).is_some_and(|now| Arc::ptr_eq(&now, table))
    }

    /// Whether this is still the current definition of the procedure's key.
    pub fn is_procedure(&self, procedure: &Arc<Procedure>) -> bool {
        self.procedure(&procedure.key).is_some_and(|now| Arc::ptr_eq(&now, procedure))
    }

    /// Whether this is still the current definition of the view's name.
    pub fn is_view(&self, view: &Arc<StoredView>) -> bool {
        self.view(&view.name).is_some_and(|now| Arc::ptr_eq(&now, view))
    }

    /// Returns the foreign keys that refer to `table`, each with the table that declares it.
    pub fn referrers(&self, table: &Table) -> Vec<(Arc<Table>, ForeignKey)> {
        let found = |referrer: &Referrer| {
            let child = self.table(&referrer.table)?;
            let key = child.foreign_key(&referrer.constraint)?.clone();
            Some((child, key))
        };
        table.rules.referrers.iter().filter_map(found).collect()
    }

    /// Returns all tables that the transaction sees.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables = self.catalog.tables();
        tables.extend(self.temporary.tables.values().cloned());
        tables.retain(|table| !self.changes.tables.contains_key(table.name()));
        tables.extend(self.changes.tables.values().flatten().cloned());
        tables
    }

    /// Returns the temporary tables that the transaction sees.
    pub fn temporary_tables(&self) -> Vec<Arc<Table>> {
        let known = self.temporary.tables.values().filter(|table| !self.changes.tables.contains_key(table.name()));
        let changed = self.changes.tables.values().flatten().filter(|table| is_temporary(table.name()));
        known.chain(changed).cloned().collect()
    }

    /// Returns the table that has an index of this full name. The index of a primary key has the constraint's name.
    pub fn table_of_index(&self, name: &str) -> Option<Arc<Table>> {
        let (schema, name) = schema::split(name);
        let has = |table: &Arc<Table>| {
            table.schema_name() == schema
                && (table.rules.primary_key.as_deref() == Some(name)
                    || table.schema.indexes.iter().any(|index| index.name == name))
        };
        self.tables().into_iter().find(has)
    }

    /// Whether a table, view, index or sequence has this full name.
    pub fn has_relation(&self, name: &str) -> bool {
        self.table(name).is_some()
            || self.view(name).is_some()
            || self.sequence(name).is_some()
            || self.table_of_index(name).is_some()
    }
}
