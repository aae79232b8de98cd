//! Which tables, views and procedures there are: names and definitions, and the engine's number of each table.
//!
//! A [`Table`] is a definition that never changes. DDL makes another one, and with it another table of the engine, in
//! the transaction's own [`Changes`]; they become everybody's when it commits. The catalog's version goes up with every
//! such commit: a plan made at another version is made again.
//!
//! Definitions are kept as syntax. What the binder makes of them may lie beside them, but the catalog cannot read it.
//!
//! | file | what |
//! | --- | --- |
//! | `expression` | DEFAULT and CHECK |
//! | `foreign_key` | foreign keys |
//! | `procedure`, `sequence`, `view` | procedures, sequences, views |
//! | `search_path` | which relation a name means |
//! | `expected` | how many rows a table is expected to have |
//! | this one | tables; all definitions, and a transaction's changes of them |

pub mod expected;
mod expression;
pub mod foreign_key;
pub mod procedure;
pub mod search_path;
pub mod sequence;
pub mod view;

pub use expression::{Check, Condition, DefaultSource, DefaultValue, Written};

use crate::schema::{self, RelationName, Schema};
use crate::table_lock::TableLock;
use crate::types::Styles;
use crate::{SqlError, state};
use expected::ExpectedRows;
use foreign_key::{ForeignKey, Referrer};
use hotrow_storage::{IndexId, IndexKind, IndexRef, Key, KeySpec, Row, RowLayout, RowRef, TableId, TableSchema, Value};
use hotrow_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, RwLock};
use hotrow_txn::Engine;
use procedure::Procedure;
use sequence::Sequence;
use std::collections::{BTreeMap, HashMap};
use view::StoredView;

/// The name of the hidden key column of a table without a primary key. No identifier can be empty.
pub const HIDDEN: &str = "";

/// What a comment on a table, or on a view, is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// It itself.
    Whole,
    /// A column.
    Column(String),
    /// A constraint.
    Constraint(String),
    /// An index.
    Index(String),
}

/// Comments on a relation and its parts.
pub type Comments = BTreeMap<Part, String>;

/// Gives the part that a comment is about another name.
pub fn rename_comment(comments: &mut Comments, part: fn(String) -> Part, old: &str, new: &str) {
    if let Some(comment) = comments.remove(&part(old.to_owned())) {
        comments.insert(part(new.to_owned()), comment);
    }
}

/// What is said about a table beside its schema.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// A column's DEFAULT, one a column.
    pub defaults: Vec<Option<DefaultValue>>,
    /// CHECK constraints, in the order of their names as PostgreSQL checks them.
    pub checks: Vec<Check>,
    /// The primary key constraint's name; none if the key is hidden.
    pub primary_key: Option<String>,
    /// Which of the schema's indexes came from UNIQUE constraints.
    pub unique_constraints: Vec<String>,
    /// The identity columns, and whether only their sequence gives them values.
    pub identities: Vec<(usize, bool)>,
    /// FOREIGN KEY constraints, in the order in which they were made.
    pub foreign_keys: Vec<ForeignKey>,
    /// Those that lead here.
    pub referrers: Vec<Referrer>,
    /// COMMENT ON it and its parts.
    pub comments: Comments,
}

/// A table's definition.
#[derive(Debug)]
pub struct Table {
    /// The engine's number.
    pub id: TableId,
    /// Name, columns, keys.
    pub schema: Arc<TableSchema>,
    /// Where the columns lie.
    pub layout: Arc<RowLayout>,
    /// How primary keys are made.
    pub key: KeySpec,
    /// How the secondary indexes' keys are made.
    pub index_keys: Vec<KeySpec>,
    /// Defaults and constraints.
    pub rules: Rules,
    /// The next value of the hidden key; goes with the rows into the next definition.
    pub row_ids: Arc<AtomicI64>,
    /// The lock on the table's name.
    pub lock: Arc<TableLock>,
    /// How many rows it is expected to have.
    pub expected_rows: ExpectedRows,
}

impl Table {
    /// The definition of an engine's table.
    pub fn new(
        engine: &dyn Engine,
        id: TableId,
        rules: Rules,
        row_ids: Arc<AtomicI64>,
        lock: Arc<TableLock>,
    ) -> Arc<Self> {
        Self::over(id, engine.schema(id), engine.layout(id), rules, row_ids, lock)
    }

    /// A definition whose names may be others than the engine's table has.
    pub fn over(
        id: TableId,
        schema: Arc<TableSchema>,
        layout: Arc<RowLayout>,
        rules: Rules,
        row_ids: Arc<AtomicI64>,
        lock: Arc<TableLock>,
    ) -> Arc<Self> {
        let key = KeySpec::new(&schema.columns, &schema.key);
        let index_keys = schema.indexes.iter().map(|index| KeySpec::bytes(&schema.columns, &index.columns)).collect();
        let expected_rows = ExpectedRows::default();
        Arc::new(Self { id, layout, key, index_keys, rules, row_ids, lock, schema, expected_rows })
    }

    /// The same table of the engine with other names, defaults or constraints.
    pub fn with(&self, schema: Arc<TableSchema>, rules: Rules) -> Arc<Self> {
        Self::over(self.id, schema, self.layout.clone(), rules, self.row_ids.clone(), self.lock.clone())
    }

    /// The table's [full name](schema).
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// The table's name without its schema.
    pub fn plain_name(&self) -> &str {
        schema::plain(self.name())
    }

    /// The name of the table's schema.
    pub fn schema_name(&self) -> &str {
        schema::split(self.name()).0
    }

    /// The full name of an index or constraint of the table, which is in the table's schema.
    pub fn name_beside(&self, name: &str) -> String {
        schema::full(self.schema_name(), name)
    }

    /// The columns that `*` means.
    pub fn visible(&self) -> usize {
        self.schema.columns.len() - usize::from(self.is_key_hidden())
    }

    /// Whether the key is a row number that nobody sees.
    pub fn is_key_hidden(&self) -> bool {
        self.schema.columns.last().is_some_and(|column| column.name == HIDDEN)
    }

    /// The primary key of a row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.key.key(self.key.parts().iter().map(|part| row.value(part.column)))
    }

    /// Gives a row its hidden key, if the table has one.
    pub fn number_row(&self, row: &mut Row) {
        if self.is_key_hidden() {
            let number = self.row_ids.fetch_add(1, Ordering::AcqRel);
            row.change(|row| row.set_int8(self.schema.columns.len() - 1, number));
        }
    }

    /// An index's name for messages.
    pub fn index_name(&self, index: IndexRef) -> &str {
        match index {
            IndexRef::Primary => self.rules.primary_key.as_deref().unwrap_or("row number"),
            IndexRef::Secondary(IndexId(at)) => &self.schema.indexes[usize::from(at)].name,
        }
    }

    /// An index's columns, in key order.
    pub fn index_columns(&self, index: IndexRef) -> &[usize] {
        match index {
            IndexRef::Primary => &self.schema.key,
            IndexRef::Secondary(IndexId(at)) => &self.schema.indexes[usize::from(at)].columns,
        }
    }

    /// How an index's keys are made.
    pub fn index_key(&self, index: IndexRef) -> &KeySpec {
        match index {
            IndexRef::Primary => &self.key,
            IndexRef::Secondary(IndexId(at)) => &self.index_keys[usize::from(at)],
        }
    }

    /// Whether an index serves ranges.
    pub fn is_ordered(&self, index: IndexRef) -> bool {
        match index {
            IndexRef::Primary => self.schema.ordered,
            IndexRef::Secondary(IndexId(at)) => self.schema.indexes[usize::from(at)].kind == IndexKind::Ordered,
        }
    }

    /// All indexes, the primary key first.
    pub fn indexes(&self) -> impl Iterator<Item = IndexRef> {
        let secondary = (0..self.schema.indexes.len()).map(|at| IndexRef::Secondary(IndexId(at as u16)));
        std::iter::once(IndexRef::Primary).chain(secondary)
    }

    /// Whether some index or constraint of the table has this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.rules.primary_key.as_deref() == Some(name)
            || self.rules.checks.iter().any(|check| check.name == name)
            || self.schema.indexes.iter().any(|index| index.name == name)
            || self.foreign_key(name).is_some()
    }

    /// The values of a row, for messages: `(1, abc, null)`.
    pub fn describe_row(&self, row: RowRef<'_>) -> String {
        let values: Vec<_> = (0..self.visible()).map(|column| describe(&row.value(column))).collect();
        format!("({})", values.join(", "))
    }
}

/// The position of a table's column.
pub(crate) fn column_of(table: &Table, name: &str) -> Result<usize, SqlError> {
    let found = table.schema.columns[..table.visible()].iter().position(|column| column.name == name);
    found.ok_or_else(|| {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name());
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })
}

/// A value, for messages.
pub fn describe(value: &Value<'_>) -> String {
    let Some(ty) = crate::types::type_of(value) else { return "null".to_owned() };
    let mut out = bytes::BytesMut::new();
    crate::types::encode_text(value, ty, crate::types::Styles::default(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// All sequences: by name, and the names by number.
#[derive(Debug, Default)]
struct Sequences {
    by_name: BTreeMap<String, Arc<Sequence>>,
    by_id: HashMap<u32, Arc<Sequence>>,
}

/// All tables, and the locks on their names.
#[derive(Debug, Default)]
pub struct Catalog {
    tables: RwLock<BTreeMap<String, Arc<Table>>>,
    procedures: RwLock<BTreeMap<String, Arc<Procedure>>>,
    sequences: RwLock<Sequences>,
    views: RwLock<BTreeMap<String, Arc<StoredView>>>,
    schemas: RwLock<BTreeMap<String, Arc<Schema>>>,
    /// The number of the newest sequence.
    last_sequence: AtomicU32,
    locks: RwLock<HashMap<String, Arc<TableLock>>>,
    /// The numbers by which the system relations know what has been looked at there.
    numbers: RwLock<HashMap<String, u32>>,
    version: AtomicU64,
}

impl Catalog {
    /// Goes up with every change.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.tables.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// All tables.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.tables.read().unwrap_or_else(|poison| poison.into_inner()).values().cloned().collect()
    }

    /// The procedure of this name.
    pub fn procedure(&self, name: &str) -> Option<Arc<Procedure>> {
        self.procedures.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// The view of this name.
    pub fn view(&self, name: &str) -> Option<Arc<StoredView>> {
        self.views.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// The schema of this name, if it is one of the user's.
    pub fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        self.schemas.read().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned()
    }

    /// The sequence of this name.
    pub fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(|poison| poison.into_inner()).by_name.get(name).cloned()
    }

    /// The sequence of this number.
    pub fn sequence_by_id(&self, id: u32) -> Option<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(|poison| poison.into_inner()).by_id.get(&id).cloned()
    }

    /// The number of what has this name, in the system relations: the same as long as the server runs.
    pub fn number(&self, name: &str) -> u32 {
        /// Smaller ones are PostgreSQL's own.
        const FIRST: u32 = 16_384;
        if let Some(number) = self.numbers.read().unwrap_or_else(|poison| poison.into_inner()).get(name) {
            return *number;
        }
        let mut numbers = self.numbers.write().unwrap_or_else(|poison| poison.into_inner());
        let next = FIRST + numbers.len() as u32;
        *numbers.entry(name.to_owned()).or_insert(next)
    }

    /// A number for a new sequence.
    pub fn new_sequence_id(&self) -> u32 {
        self.last_sequence.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The lock on a name, whether or not there is a table of that name.
    pub fn lock(&self, name: &str) -> Arc<TableLock> {
        if let Some(lock) = self.locks.read().unwrap_or_else(|poison| poison.into_inner()).get(name) {
            return lock.clone();
        }
        let mut locks = self.locks.write().unwrap_or_else(|poison| poison.into_inner());
        // Names that nobody uses any more go now and then.
        if locks.len() >= 1024 && locks.len().is_power_of_two() {
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        locks.entry(name.to_owned()).or_default().clone()
    }

    /// Makes a transaction's changes everybody's, and returns the tables that they replaced.
    pub fn apply(&self, changes: &Changes) -> Vec<Arc<Table>> {
        let mut tables = self.tables.write().unwrap_or_else(|poison| poison.into_inner());
        let mut procedures = self.procedures.write().unwrap_or_else(|poison| poison.into_inner());
        for (name, change) in &changes.procedures {
            match change {
                Some(procedure) => procedures.insert(name.clone(), procedure.clone()),
                None => procedures.remove(name),
            };
        }
        let mut schemas = self.schemas.write().unwrap_or_else(|poison| poison.into_inner());
        for (name, change) in &changes.schemas {
            match change {
                Some(schema) => schemas.insert(name.clone(), schema.clone()),
                None => schemas.remove(name),
            };
        }
        let mut views = self.views.write().unwrap_or_else(|poison| poison.into_inner());
        for (name, change) in &changes.views {
            match change {
                Some(view) => views.insert(name.clone(), view.clone()),
                None => views.remove(name),
            };
        }
        let mut sequences = self.sequences.write().unwrap_or_else(|poison| poison.into_inner());
        // A name may be given to another sequence: all that go do so before any comes.
        for name in changes.sequences.keys() {
            if let Some(gone) = sequences.by_name.remove(name) {
                sequences.by_id.remove(&gone.id);
            }
        }
        for sequence in changes.sequences.values().flatten() {
            sequences.by_name.insert(sequence.name.clone(), sequence.clone());
            sequences.by_id.insert(sequence.id, sequence.clone());
        }
        let mut replaced = Vec::new();
        for (name, change) in &changes.tables {
            replaced.extend(match change {
                Some(table) => tables.insert(name.clone(), table.clone()),
                None => tables.remove(name),
            });
        }
        self.version.fetch_add(1, Ordering::AcqRel);
        replaced
    }
}

/// What a transaction has changed and not committed yet.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// A table's definition, or that there is none any more.
    pub tables: BTreeMap<String, Option<Arc<Table>>>,
    /// A procedure, or that there is none any more.
    pub procedures: BTreeMap<String, Option<Arc<Procedure>>>,
    /// A sequence, or that there is none any more.
    pub sequences: BTreeMap<String, Option<Arc<Sequence>>>,
    /// A view, or that there is none any more.
    pub views: BTreeMap<String, Option<Arc<StoredView>>>,
    /// A schema, or that there is none any more.
    pub schemas: BTreeMap<String, Option<Arc<Schema>>>,
    /// The engine's tables made on the way, in use or not.
    pub created: Vec<TableId>,
}

impl Changes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
            && self.procedures.is_empty()
            && self.sequences.is_empty()
            && self.views.is_empty()
            && self.schemas.is_empty()
            && self.created.is_empty()
    }
}

/// The catalog as a transaction sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Everybody's.
    pub catalog: &'a Catalog,
    /// The transaction's own.
    pub changes: &'a Changes,
    /// Where relations are looked for whose schema is not said; none if in `public` only.
    pub path: Option<&'a Arc<[String]>>,
    /// How literals of dates and the like are read.
    pub styles: Styles,
}

impl View<'_> {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        match self.changes.tables.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.table(name),
        }
    }

    /// The procedure of this name.
    pub fn procedure(&self, name: &str) -> Option<Arc<Procedure>> {
        match self.changes.procedures.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.procedure(name),
        }
    }

    /// The view of this name.
    pub fn view(&self, name: &str) -> Option<Arc<StoredView>> {
        match self.changes.views.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.view(name),
        }
    }

    /// The schema of this name, if it is one of the user's.
    pub fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        match self.changes.schemas.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.schema(name),
        }
    }

    /// The names of all schemas of the user and of `public`, in their order, with what is known of them.
    pub fn schemas(&self) -> BTreeMap<String, Arc<Schema>> {
        let mut all = self.catalog.schemas.read().unwrap_or_else(|poison| poison.into_inner()).clone();
        for (name, change) in &self.changes.schemas {
            match change {
                Some(schema) => all.insert(name.clone(), schema.clone()),
                None => all.remove(name),
            };
        }
        all.entry(schema::PUBLIC.to_owned()).or_default();
        all
    }

    /// All views.
    pub fn views(&self) -> Vec<Arc<StoredView>> {
        let known = self.catalog.views.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.values().filter(|known| !self.changes.views.contains_key(&known.name));
        known.chain(self.changes.views.values().flatten()).cloned().collect()
    }

    /// The sequence of this name.
    pub fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        match self.changes.sequences.get(name) {
            Some(change) => change.clone(),
            None => self.catalog.sequence(name),
        }
    }

    /// The sequence of this number.
    pub fn sequence_by_id(&self, id: u32) -> Option<Arc<Sequence>> {
        if self.changes.sequences.is_empty() {
            return self.catalog.sequence_by_id(id);
        }
        let own = self.changes.sequences.values().flatten().find(|sequence| sequence.id == id).cloned();
        let known = || self.catalog.sequence_by_id(id);
        own.or_else(|| known().filter(|known| !self.changes.sequences.contains_key(&known.name)))
    }

    /// All sequences.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        let known = self.catalog.sequences.read().unwrap_or_else(|poison| poison.into_inner());
        let known = known.by_name.values().filter(|known| !self.changes.sequences.contains_key(&known.name));
        known.chain(self.changes.sequences.values().flatten()).cloned().collect()
    }

    /// Whether a definition is the one that its name means.
    pub fn is_table(&self, table: &Arc<Table>) -> bool {
        self.table(table.name()).is_some_and(|now| Arc::ptr_eq(&now, table))
    }

    /// The same for a procedure.
    pub fn is_procedure(&self, procedure: &Arc<Procedure>) -> bool {
        self.procedure(&procedure.name).is_some_and(|now| Arc::ptr_eq(&now, procedure))
    }

    /// The same for a view.
    pub fn is_view(&self, view: &Arc<StoredView>) -> bool {
        self.view(&view.name).is_some_and(|now| Arc::ptr_eq(&now, view))
    }

    /// All tables.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<_> =
            self.catalog.tables().into_iter().filter(|table| !self.changes.tables.contains_key(table.name())).collect();
        tables.extend(self.changes.tables.values().flatten().cloned());
        tables
    }

    /// The table that has an index of this name (a primary key's is one).
    pub fn table_of_index(&self, name: &str) -> Option<Arc<Table>> {
        let (schema, name) = schema::split(name);
        let has = |table: &Arc<Table>| {
            table.schema_name() == schema
                && (table.rules.primary_key.as_deref() == Some(name)
                    || table.schema.indexes.iter().any(|index| index.name == name))
        };
        self.tables().into_iter().find(has)
    }

    /// Whether a table, view, index or sequence has this name.
    pub fn has_relation(&self, name: &str) -> bool {
        self.table(name).is_some()
            || self.view(name).is_some()
            || self.sequence(name).is_some()
            || self.table_of_index(name).is_some()
    }
}

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
