//! Definitions as rows of a table, so that they are in the redo log and survive a restart.
//!
//! A database with a log keeps each committed definition as a row of a table that only this module knows. A transaction
//! that changes definitions changes their rows too, before it commits: its redo record contains the changes of both its
//! definitions and its tables' rows. After a restart the catalog is made from the rows of definitions.
//!
//! A row has a kind, a name and a text in JSON. The text has a version, which a reader checks first. Expressions and
//! queries are SQL texts, with the parts of their meaning that the text lacks. The binder binds them again after the
//! restart. A transaction cannot commit if the text of one of its definitions would be read as a different definition.
//!
//! | file | what |
//! | --- | --- |
//! | `value` | types, styles, expressions, comments |
//! | `table`, `domain` | tables; domains |
//! | `other` | views, sequences, procedures, triggers, schemas, enumerated types, databases |
//! | this file | the rows |

mod domain;
mod other;
mod table;
mod value;

use super::definitions::{Catalog, Changes};
use super::place_log::PlaceLog;
use super::procedure;
use super::temporary::is_temporary;
use crate::schema::{self, quoted};
use crate::{SqlError, state};
use domain::DomainForm;
use hotrow_storage::{Column, Key, KeySpec, RedoSink, Row, RowLayout, RowRef, TableId, TableSchema, Type, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Engine, Intent, Transaction, Write};
use other::{DatabaseForm, EnumForm, ProcedureForm, SchemaForm, SequenceForm, ViewForm};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use table::TableForm;
use value::MadeTypes;

/// The name of the table of the definitions of the database `postgres`. The [full name](crate::schema) of a relation
/// has no NUL, or ends with one, so no relation of a user has this name.
pub const NAME: &str = "\0definitions";

/// The version of the form in which definitions are stored.
const VERSION: u32 = 1;

/// Returns the definition of the table of the definitions. Its first column is always zero: some engines have only
/// tables with a partition key.
pub fn schema() -> TableSchema {
    let columns = vec![
        Column::new("part", Type::Int8),
        Column::new("kind", Type::Text),
        Column::new("name", Type::Text),
        Column::new("definition", Type::Text),
    ];
    TableSchema { partitioned: true, ..TableSchema::new(NAME, columns, &[0, 1, 2]) }
}

/// The kinds of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Database,
    Enum,
    Table,
    View,
    Sequence,
    Procedure,
    Schema,
    Domain,
}

/// The words of the kinds, in the order of [`Kind`]. Rows are read in the alphabetical order of the words: enumerated
/// types come before the definitions that use them. That of a domain is `type`, because a domain may be over one.
const KINDS: [(Kind, &str); 8] = [
    (Kind::Database, "database"),
    (Kind::Enum, "enum"),
    (Kind::Table, "table"),
    (Kind::View, "view"),
    (Kind::Sequence, "sequence"),
    (Kind::Procedure, "procedure"),
    (Kind::Schema, "schema"),
    (Kind::Domain, "type"),
];

/// A changed definition, as it is stored.
#[derive(Clone, Debug)]
pub struct Entry {
    kind: Kind,
    name: String,
    /// The text of the definition; `None` if it is dropped.
    text: Option<String>,
}

/// The text of a definition with the version of its form, as JSON.
#[derive(Serialize, Deserialize)]
struct Versioned<D> {
    version: u32,
    /// The OIDs of the definition's names in the system relations, in the order in which the definition lists the
    /// names.
    numbers: Vec<u32>,
    definition: D,
}

/// The version alone, which is read before the form of the rest is known.
#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// The stored definitions of a database that is logged.
#[derive(Debug)]
pub struct Stored {
    definitions: TableId,
    layout: Arc<RowLayout>,
    key: KeySpec,
    places: PlaceLog,
}

impl Stored {
    /// Makes the access to the stored definitions. `definitions` and `places` are the tables of the definitions and of
    /// the sequences' places.
    pub fn new(sink: Arc<dyn RedoSink>, definitions: TableId, places: TableId) -> Self {
        let schema = schema();
        Self {
            definitions,
            layout: Arc::new(RowLayout::new(&schema.columns)),
            key: KeySpec::new(&schema.columns, &schema.key),
            places: PlaceLog::new(sink, places),
        }
    }

    /// Returns the engine's numbers of the tables of the definitions and of the sequences' places.
    pub fn tables(&self) -> [TableId; 2] {
        [self.definitions, self.places.table()]
    }

    /// Returns the log of the sequences' places.
    pub fn places(&self) -> &PlaceLog {
        &self.places
    }

    /// Returns the access set of a transaction that stores these definitions and does nothing else.
    pub fn accesses(&self, entries: &[Entry]) -> Accesses {
        let mut accesses = Accesses::new();
        for entry in entries {
            let key = self.key(entry);
            accesses.push_entry(self.definitions, hotrow_storage::IndexRef::Primary, key.clone(), key.clone());
            accesses.push(self.definitions, key, Intent::Write);
        }
        accesses
    }

    /// Stores definitions within a transaction. The caller holds the exclusive locks on their names.
    ///
    /// # Errors
    /// If the engine aborts the transaction.
    pub fn write(&self, entries: &[Entry], txn: &mut dyn Transaction) -> Result<(), Abort> {
        for entry in entries {
            let key = self.key(entry);
            let Some(text) = &entry.text else {
                txn.delete(self.definitions, &key)?;
                continue;
            };
            let is_updated = txn.update(self.definitions, &key, &mut |row| {
                row.set(3, &Value::text(text));
                Ok(())
            })?;
            if is_updated == Write::Done {
                continue;
            }
            let mut row = Row::new(&self.layout);
            let [part, kind, name] = values(entry);
            row.change(|row| {
                for (at, value) in [part, kind, name, Value::text(text)].iter().enumerate() {
                    row.set(at, value);
                }
            });
            if txn.insert(self.definitions, row.as_ref())? != Write::Done {
                // The transaction reads a state in which another transaction's definition of this name is not there.
                return Err(Abort::WriteConflict);
            }
        }
        Ok(())
    }

    fn key(&self, entry: &Entry) -> Key {
        self.key.key(values(entry))
    }
}

/// Returns the values of the key of a definition's row.
fn values(entry: &Entry) -> [Value<'_>; 3] {
    [Value::Int8(0), Value::text(KINDS[entry.kind as usize].1), Value::text(&entry.name)]
}

/// Returns the definition of a database of this name as it is stored in the database `postgres`. `number` is its OID,
/// and `stored` are its own definitions; `None` if the database is dropped.
///
/// # Errors
/// If the definition cannot be stored.
pub fn database_entry(name: &str, number: u32, stored: Option<&Stored>) -> Result<Entry, SqlError> {
    let form = stored.map(|stored| DatabaseForm { number, tables: stored.tables().map(|table| table.0) });
    Ok(Entry { kind: Kind::Database, name: name.to_owned(), text: form.map(written).transpose()? })
}

/// Returns the changed definitions of a transaction as they are to be stored, without those of temporary relations.
///
/// # Errors
/// 0A000 if one of them cannot be stored.
pub fn entries(changes: &Changes, catalog: &Catalog) -> Result<Vec<Entry>, SqlError> {
    let mut entries = Vec::new();
    let mut add = |kind, name: &str, text| entries.push(Entry { kind, name: name.to_owned(), text });
    for (name, made) in &changes.enumerations {
        let text = made.as_ref().map(|made| text(EnumForm::of(made), &[], catalog));
        add(Kind::Enum, name, text.transpose()?);
    }
    for (name, made) in &changes.domains {
        let text = made.as_ref().map(|made| text(DomainForm::of(made)?, &made.numbered_checks(), catalog));
        add(Kind::Domain, name, text.transpose()?);
    }
    for (name, table) in changes.tables.iter().filter(|(name, _)| !is_temporary(name)) {
        let text = table.as_ref().map(|table| text(TableForm::of(table)?, &table.numbered(), catalog));
        add(Kind::Table, name, text.transpose()?);
    }
    for (name, view) in changes.views.iter().filter(|(name, _)| !is_temporary(name)) {
        let text = view.as_ref().map(|view| text(ViewForm::of(view)?, &view.numbered(), catalog));
        add(Kind::View, name, text.transpose()?);
    }
    for (name, sequence) in changes.sequences.iter().filter(|(name, _)| !is_temporary(name)) {
        let names = std::slice::from_ref(name);
        let text = sequence.as_ref().map(|sequence| text(SequenceForm::of(sequence), names, catalog));
        add(Kind::Sequence, name, text.transpose()?);
    }
    for (key, procedure) in &changes.procedures {
        let text = procedure
            .as_ref()
            .map(|procedure| text(ProcedureForm::of(procedure)?, &[procedure::numbered(key)], catalog));
        add(Kind::Procedure, key, text.transpose()?);
    }
    for (name, of_schema) in &changes.schemas {
        let text =
            of_schema.as_ref().map(|of_schema| text(SchemaForm::of(of_schema), &[schema::numbered(name)], catalog));
        add(Kind::Schema, name, text.transpose()?);
    }
    Ok(entries)
}

fn text<D: Serialize>(definition: D, names: &[String], catalog: &Catalog) -> Result<String, SqlError> {
    with_numbers(definition, names.iter().map(|name| catalog.number(name)).collect())
}

fn written<D: Serialize>(definition: D) -> Result<String, SqlError> {
    with_numbers(definition, Vec::new())
}

fn with_numbers<D: Serialize>(definition: D, numbers: Vec<u32>) -> Result<String, SqlError> {
    serde_json::to_string(&Versioned { version: VERSION, numbers, definition })
        .map_err(|error| SqlError::new(state::INTERNAL_ERROR, format!("the definition cannot be stored: {error}")))
}

/// The definitions that have been read from the rows of a table.
#[derive(Debug, Default)]
pub struct Definitions {
    /// The definitions. Those of tables and procedures have expressions that the binder has yet to bind.
    pub changes: Changes,
    /// The OIDs of names in the system relations.
    pub numbers: Vec<(String, u32)>,
    /// Databases other than this one: their names, their OIDs, and the tables of their definitions and sequences'
    /// places.
    pub databases: Vec<(String, u32, [TableId; 2])>,
    /// The enumerated types that have been read.
    types: MadeTypes,
}

impl Definitions {
    /// Adds the definition of a row.
    ///
    /// # Errors
    /// If the definition cannot be read. The error consists of the name of the definition's object, and the reason.
    pub fn add(&mut self, row: RowRef<'_>, engine: &dyn Engine, catalog: &Catalog) -> Result<(), (String, String)> {
        let text_at = |at: usize| match row.value(at) {
            Value::Text(text) => text.into_owned(),
            _ => String::new(),
        };
        let (kind, name) = (text_at(1), text_at(2));
        let known = KINDS.iter().find(|(_, word)| *word == kind).map(|(kind, _)| *kind);
        let read = match known {
            Some(kind) => self.read(kind, &name, &text_at(3), engine, catalog),
            None => {
                Err("there are no definitions of this kind; a newer version of the server may have made it".to_owned())
            }
        };
        read.map_err(|wrong| (object_name(&kind, &name), wrong))
    }

    fn read(
        &mut self,
        kind: Kind,
        name: &str,
        text: &str,
        engine: &dyn Engine,
        catalog: &Catalog,
    ) -> Result<(), String> {
        let own = || vec![name.to_owned()];
        let types = &mut self.types;
        let (names, numbers) = match kind {
            Kind::Database => {
                let (form, _) = parsed::<DatabaseForm>(text)?;
                catalog.restore_last_number(form.number);
                self.databases.push((name.to_owned(), form.number, form.tables.map(TableId)));
                (Vec::new(), Vec::new())
            }
            Kind::Enum => {
                let (form, _) = parsed::<EnumForm>(text)?;
                let made = Arc::new(form.made(name));
                types.add(&made);
                catalog.restore_last_number(made.definition.oids[1]);
                self.changes.enumerations.insert(name.to_owned(), Some(made));
                (Vec::new(), Vec::new())
            }
            Kind::Domain => {
                let (form, numbers) = parsed::<DomainForm>(text)?;
                let made = Arc::new(form.made(name, types)?);
                let names = made.numbered_checks();
                catalog.restore_last_number(made.oids[1]);
                self.changes.domains.insert(name.to_owned(), Some(made));
                (names, numbers)
            }
            Kind::Table => {
                let (form, numbers) = parsed::<TableForm>(text)?;
                let table = form.table(name, types, engine, catalog)?;
                let names = table.numbered();
                self.changes.tables.insert(name.to_owned(), Some(table));
                (names, numbers)
            }
            Kind::View => {
                let (form, numbers) = parsed::<ViewForm>(text)?;
                let view = form.view(name, types)?;
                let names = view.numbered();
                self.changes.views.insert(name.to_owned(), Some(Arc::new(view)));
                (names, numbers)
            }
            Kind::Sequence => {
                let (form, numbers) = parsed::<SequenceForm>(text)?;
                self.changes.sequences.insert(name.to_owned(), Some(Arc::new(form.sequence(name)?)));
                (own(), numbers)
            }
            Kind::Procedure => {
                let (form, numbers) = parsed::<ProcedureForm>(text)?;
                let procedure = form.procedure(procedure::name_in(name), types)?;
                self.changes.procedures.insert(name.to_owned(), Some(Arc::new(procedure)));
                (vec![procedure::numbered(name)], numbers)
            }
            Kind::Schema => {
                let (form, numbers) = parsed::<SchemaForm>(text)?;
                self.changes.schemas.insert(name.to_owned(), Some(Arc::new(form.schema())));
                (vec![schema::numbered(name)], numbers)
            }
        };
        self.numbers.extend(names.into_iter().zip(numbers));
        Ok(())
    }
}

/// Reads the text of a definition. Returns the definition, and the OIDs of its names.
///
/// # Errors
/// If the text is damaged, or its version is not [`VERSION`].
fn parsed<D: DeserializeOwned>(text: &str) -> Result<(D, Vec<u32>), String> {
    let unreadable = |error: serde_json::Error| format!("its text is damaged: {error}");
    let VersionOnly { version } = serde_json::from_str(text).map_err(unreadable)?;
    if version != VERSION {
        return Err(format!("it was stored by a newer version of the server, in form {version}; known is {VERSION}"));
    }
    let read: Versioned<D> = serde_json::from_str(text).map_err(unreadable)?;
    Ok((read.definition, read.numbers))
}

/// Formats the kind and the name of an object for messages: `table s.t`.
pub fn object_name(kind: &str, full_name: &str) -> String {
    let full_name = if kind == "procedure" { procedure::name_in(full_name) } else { full_name };
    let (schema, name) = schema::split(full_name);
    match schema {
        schema::PUBLIC => format!("{kind} {}", quoted(name)),
        schema => format!("{kind} {}.{}", quoted(schema), quoted(name)),
    }
}
