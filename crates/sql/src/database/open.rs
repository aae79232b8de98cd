//! Opening a database: the catalog is made of the definitions that an earlier process has stored.

use crate::bind::{bind_stored_check, bind_stored_computed, bind_stored_default, bind_stored_domain, obstacle};
use crate::catalog::place_log::{self, At};
use crate::catalog::stored::{self, Definitions, Stored, object_name};
use crate::catalog::view::StoredView;
use crate::catalog::{Catalog, Changes, DefaultValue, Table, View, temporary};
use crate::contents::Contents;
use crate::depth::with_room;
use crate::full_name::without_schemas;
use crate::notifications::Listeners;
use crate::schema::{DATABASE, DATABASE_NUMBER};
use crate::types::Styles;
use crate::{MemoryLimit, SqlError};
use hotrow_storage::{IndexRef, RedoSink, RowRef, TableId, TableSchema};
use hotrow_sync::atomic::Ordering;
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Begin, Direction, Engine, Isolation, Scan};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

/// The reason why the databases of an earlier process cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// The object that cannot be read, such as `table s.t`.
    pub object: String,
    /// The reason in words.
    pub reason: String,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the definition of {} cannot be read: {}", self.object, without_schemas(self.reason.clone()))
    }
}

impl std::error::Error for OpenError {}

/// The contents of a database that an earlier process has left.
#[derive(Default)]
struct Found {
    catalog: Catalog,
    /// The tables for which there are definitions.
    named: HashSet<TableId>,
    /// The numbers of the stored places that belong to no sequence.
    unknown: Vec<u32>,
    /// Databases beside this one for which there are definitions: their names, their OIDs, and the tables of their
    /// definitions and of their sequences' places.
    databases: Vec<(String, u32, [TableId; 2])>,
}

/// Builds the databases from the stored definitions. Then gives `sink` to the engine, creates the tables for
/// definitions if there are none yet, and drops tables without a definition.
///
/// # Errors
/// If a definition cannot be read or bound, or a table is missing.
pub(super) fn open(
    engine: &dyn Engine,
    sink: Arc<dyn RedoSink>,
    memory: MemoryLimit,
) -> Result<Vec<Contents>, OpenError> {
    let of_definitions = find(engine, &stored::schema())?;
    let of_places = find(engine, &place_log::schema())?;
    let mut main = read(engine, of_definitions, of_places)?;
    let mut others = Vec::new();
    for (name, number, tables) in std::mem::take(&mut main.databases) {
        let missing = |table: &&TableId| !engine.tables().contains(*table);
        if let Some(TableId(table)) = tables.iter().find(missing) {
            let reason = format!("its definitions are missing: the engine has no table {table}");
            return Err(OpenError { object: object_name("database", &name), reason });
        }
        others.push((read(engine, Some(tables[0]), Some(tables[1]))?, name, number, tables));
    }

    engine.set_redo(sink.clone());
    let is_known = |id: TableId| {
        let of_other = |(found, _, _, tables): &(Found, String, u32, [TableId; 2])| {
            found.named.contains(&id) || tables.contains(&id)
        };
        main.named.contains(&id) || [of_definitions, of_places].contains(&Some(id)) || others.iter().any(of_other)
    };
    let unnamed: Vec<_> = engine.tables().into_iter().filter(|&id| !is_known(id)).collect();
    let make = |schema| engine.create_table(schema);
    let tables = [
        of_definitions.unwrap_or_else(|| make(stored::schema())),
        of_places.unwrap_or_else(|| make(place_log::schema())),
    ];
    if of_definitions.is_some() {
        unnamed.into_iter().for_each(|id| engine.drop_table(id));
    }
    let connect = |unknown: &[u32], tables: [TableId; 2]| {
        let stored = Stored::new(sink.clone(), tables[0], tables[1]);
        stored.places().remove(unknown);
        Some(stored)
    };
    let mut databases = vec![self::main(main.catalog, connect(&main.unknown, tables), memory)];
    for (Found { catalog, unknown, .. }, name, number, tables) in others {
        let (stored, listeners) = (connect(&unknown, tables), Listeners::new(memory));
        databases.push(Contents { name: name.into(), number, catalog, stored, listeners });
    }
    Ok(databases)
}

/// Returns the contents of the database `postgres` with this catalog.
pub(super) fn main(catalog: Catalog, stored: Option<Stored>, memory: MemoryLimit) -> Contents {
    let listeners = Listeners::new(memory);
    Contents { name: DATABASE.into(), number: DATABASE_NUMBER, catalog, stored, listeners }
}

/// Builds the contents of a database from the table of its definitions and the table of its sequences' places.
fn read(engine: &dyn Engine, of_definitions: Option<TableId>, of_places: Option<TableId>) -> Result<Found, OpenError> {
    let catalog = Catalog::default();
    let mut definitions = Definitions::default();
    if let Some(table) = of_definitions {
        let mut failed = None;
        each_row(
            engine,
            &Scan::all(table, IndexRef::Primary),
            &mut |row| match definitions.add(row, engine, &catalog) {
                Ok(()) => ControlFlow::Continue(()),
                Err(wrong) => {
                    failed = Some(wrong);
                    ControlFlow::Break(())
                }
            },
        )?;
        if let Some((object, reason)) = failed {
            return Err(OpenError { object, reason });
        }
    }
    let Definitions { mut changes, numbers, databases, .. } = definitions;
    bind(&changes, &catalog)?;
    for table in changes.tables.values().flatten() {
        restore_row_ids(engine, table)?;
    }
    let places = read_places(engine, of_places)?;
    let unknown = place_sequences(&mut changes, &catalog, &places);
    find_obstacles(&mut changes, &catalog);
    catalog.restore_numbers(numbers);
    catalog.apply(&changes);
    let named = changes.tables.values().flatten().map(|table| table.id).collect();
    Ok(Found { catalog, named, unknown, databases })
}

/// Returns the engine's table with the name of this schema, or `None` if there is none.
///
/// # Errors
/// If the table has other columns.
fn find(engine: &dyn Engine, schema: &TableSchema) -> Result<Option<TableId>, OpenError> {
    let found = engine.tables().into_iter().find(|&table| engine.schema(table).name == schema.name);
    match found {
        Some(table) if *engine.schema(table) != *schema => {
            let object = "the catalog".to_owned();
            let reason = "its rows have other columns; a newer version of the server may have made them".to_owned();
            Err(OpenError { object, reason })
        }
        found => Ok(found),
    }
}

/// Calls `visit` for each committed row that a scan finds.
fn each_row(
    engine: &dyn Engine,
    scan: &Scan,
    visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
) -> Result<(), OpenError> {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    let begin = Begin { read_only: true, ..Begin::at(Isolation::ReadCommitted) };
    let looked = txn.begin(&begin).and_then(|()| txn.scan(scan, visit));
    txn.abort();
    looked.map_err(|abort| {
        let object = object_name("table", &engine.schema(scan.table).name);
        OpenError { object, reason: format!("its rows cannot be read: {abort}") }
    })
}

/// Binds the expressions in all definitions, so that later statements find them bound.
///
/// # Errors
/// If an expression cannot be bound.
fn bind(definitions: &Changes, catalog: &Catalog) -> Result<(), OpenError> {
    let (enumerations, domains) = (definitions.enumerations.clone(), definitions.domains.clone());
    let types = Changes { enumerations, domains, ..Changes::default() };
    let view = View {
        database: "",
        catalog,
        changes: &types,
        temporary: &temporary::NONE,
        path: None,
        styles: Styles::default(),
    };
    let wrong = |kind: &str, name: &str, what: String, error: SqlError| OpenError {
        object: object_name(kind, name),
        reason: format!("{what} cannot be bound: {}", error.message),
    };
    for domain in definitions.domains.values().flatten() {
        bind_stored_domain(domain, view)
            .map_err(|error| wrong("type", &domain.name, "one of its expressions".to_owned(), error))?;
    }
    for table in definitions.tables.values().flatten() {
        let wrong = |what: String, error| wrong("table", table.name(), what, error);
        for (at, default) in table.rules.defaults.iter().enumerate() {
            let what = || format!("the DEFAULT of column \"{}\"", table.schema.columns[at].name);
            bind_default(default.as_ref(), view).map_err(|error| wrong(what(), error))?;
        }
        for check in &table.rules.checks {
            let what = || format!("its CHECK constraint \"{}\"", check.name);
            bind_stored_check(&check.condition, view).map_err(|error| wrong(what(), error))?;
        }
        for computed in &table.rules.computed {
            let column = &table.schema.columns[computed.column];
            let what = || format!("the expression of column \"{}\"", column.name.escape_default());
            bind_stored_computed(&computed.value, column.ty, view).map_err(|error| wrong(what(), error))?;
        }
    }
    for stored in definitions.views.values().flatten() {
        for (default, column) in stored.defaults.iter().zip(&stored.columns) {
            let what = || format!("the DEFAULT of column \"{}\"", column.name);
            bind_default(default.as_ref(), view).map_err(|error| wrong("view", &stored.name, what(), error))?;
        }
    }
    for procedure in definitions.procedures.values().flatten() {
        for argument in &procedure.arguments {
            bind_default(argument.default.as_ref(), view)
                .map_err(|error| wrong("procedure", &procedure.name, "the DEFAULT of an argument".to_owned(), error))?;
        }
    }
    Ok(())
}

fn bind_default(default: Option<&DefaultValue>, view: View<'_>) -> Result<(), SqlError> {
    default.map_or(Ok(()), |default| bind_stored_default(default, view))
}

/// Finds, for each view, the clause or call in its query that prevents statements from writing to it.
fn find_obstacles(definitions: &mut Changes, catalog: &Catalog) {
    let view = View {
        database: "",
        catalog,
        changes: definitions,
        temporary: &temporary::NONE,
        path: None,
        styles: Styles::default(),
    };
    let found = |stored: &Arc<StoredView>| {
        let obstacle = with_room(|| Ok::<_, SqlError>(obstacle(&stored.query, view)));
        StoredView { obstacle: obstacle.unwrap_or_default(), ..(**stored).clone() }
    };
    let found: Vec<_> = definitions.views.values().flatten().map(found).collect();
    for stored in found {
        definitions.views.insert(stored.name.clone(), Some(Arc::new(stored)));
    }
}

/// Sets the counter of a table's hidden row numbers to one more than the greatest number in its rows. Does nothing if
/// the table has a primary key of its own.
fn restore_row_ids(engine: &dyn Engine, table: &Table) -> Result<(), OpenError> {
    if !table.is_key_hidden() {
        return Ok(());
    }
    // Behind a partition key the greatest number may be in any partition.
    let is_first_enough = table.schema.key.len() == 1;
    let scan = Scan { direction: Direction::Backward, ..Scan::all(table.id, IndexRef::Primary) };
    let mut greatest = 0;
    each_row(engine, &scan, &mut |row| {
        greatest = greatest.max(row.int8(table.stored()));
        if is_first_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    table.row_ids.store(greatest + 1, Ordering::Release);
    Ok(())
}

/// Returns the stored number of each place of a sequence.
fn read_places(engine: &dyn Engine, table: Option<TableId>) -> Result<BTreeMap<u32, At>, OpenError> {
    let mut places = BTreeMap::new();
    if let Some(table) = table {
        each_row(engine, &Scan::all(table, IndexRef::Primary), &mut |row| {
            places.extend([place_log::read(row)]);
            ControlFlow::Continue(())
        })?;
    }
    Ok(places)
}

/// Sets the sequences to the numbers that are stored for their places. Returns the places that belong to no sequence.
fn place_sequences(definitions: &mut Changes, catalog: &Catalog, places: &BTreeMap<u32, At>) -> Vec<u32> {
    let mut unknown: Vec<_> = places.keys().copied().collect();
    for sequence in definitions.sequences.values_mut().flatten() {
        let place = sequence.place.number;
        unknown.retain(|known| *known != place);
        if let Some(at) = places.get(&place) {
            *sequence = Arc::new(sequence.standing(place, *at));
        }
        catalog.restore_sequence_ids(sequence.id.max(place));
    }
    catalog.restore_sequence_ids(places.keys().last().copied().unwrap_or_default());
    unknown
}
