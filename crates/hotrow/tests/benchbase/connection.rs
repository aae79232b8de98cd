//! A client that prepares its statements once, as BenchBase's driver does.

use clap::Parser;
use hotrow::sql::{Config, Database, Session};
use hotrow::storage::{TableId, TableSchema, Type, Value};
use hotrow::sync::{Arc, Waiter};
use hotrow::txn::Engine;
use hotrow::workloads::{Client, ClientIdentity, LoadError, Workload};
use hotrow::{Rows, runtime};
use std::ops::ControlFlow;
use std::time::Duration;

#[derive(Parser)]
struct Command<O: clap::Args> {
    #[command(flatten)]
    options: O,
}

/// Makes the workload with the options of a command line.
pub fn workload<W: Workload>(line: &str) -> W {
    let words = std::iter::once(W::NAME).chain(line.split_whitespace());
    let command = Command::<W::Options>::try_parse_from(words).expect("good options");
    W::new(command.options).expect("good options")
}

/// A database, and one connection to it.
pub struct Connection {
    pub engine: Arc<dyn Engine>,
    pub database: Arc<Database>,
    session: Session,
}

impl Connection {
    /// Connects to an empty database.
    pub fn new() -> Self {
        let engine = hotrow::open("2pl-timeout").expect("the engine is in the registry");
        let database = Database::new(engine.clone(), Config::default());
        let session = database.session("benchbase", Waiter::thread(Duration::ZERO));
        Self { engine, database, session }
    }

    /// Connects to a database in which a script has made the tables.
    pub fn after(script: &str) -> Self {
        let mut connection = Self::new();
        connection.session.simple_query(script, &mut Rows::default()).unwrap_or_else(|error| panic!("{error}"));
        connection
    }

    /// The table with this name.
    pub fn table(&self, name: &str) -> TableId {
        let is_it = |&table: &TableId| self.engine.schema(table).name == name;
        self.database.tables().into_iter().find(is_it).unwrap_or_else(|| panic!("no table {name}"))
    }

    /// The definitions of all tables that SQL knows, by name.
    pub fn schemas(&self) -> Vec<TableSchema> {
        by_name(self.database.tables().into_iter().map(|table| (*self.engine.schema(table)).clone()).collect())
    }

    /// Loads a workload's tables natively.
    pub fn load<W: Workload>(&self, workload: &W, tables: W::Tables) {
        let loaded: Result<(), LoadError> = workload.load(&*self.engine, tables, 2, &|_| ControlFlow::Continue(()));
        loaded.expect("the tables are empty");
    }

    /// Makes a native client run `steps` steps.
    pub fn run<W: Workload>(&self, workload: &W, tables: W::Tables, steps: usize) -> W::Client {
        let mut client = workload.client(tables, ClientIdentity::first_run(0, 1));
        let mut worker = runtime::Session::new(&*self.engine);
        for _ in 0..steps {
            client.step(&mut worker).expect("nobody stands in the way");
        }
        client
    }

    /// Prepares a statement, unless that was done before, and runs it. Returns its rows and its command tag.
    fn execute(&mut self, sql: &str, parameters: &[Value<'static>]) -> (Vec<Vec<Value<'static>>>, String) {
        let session = &mut self.session;
        let mut rows = Rows::default();
        let mut outcome = || {
            let statement = match session.statement(sql) {
                Ok(statement) => statement,
                Err(_) => session.parse(sql, sql, &parameters.iter().map(declared).collect::<Vec<_>>())?,
            };
            session.bind("", &statement, &mut |bound| {
                bound.extend_from_slice(parameters);
                Ok(())
            })?;
            session.execute("", 0, &mut rows)?;
            session.sync()
        };
        outcome().unwrap_or_else(|error| panic!("{sql}: {error}"));
        (rows.rows().to_vec(), rows.tag().to_owned())
    }

    /// Returns the rows of a query.
    pub fn query(&mut self, sql: &str, parameters: &[Value<'static>]) -> Vec<Vec<Value<'static>>> {
        self.execute(sql, parameters).0
    }

    /// Returns the only row of a query.
    pub fn row(&mut self, sql: &str, parameters: &[Value<'static>]) -> Vec<Value<'static>> {
        let mut rows = self.query(sql, parameters);
        assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
        rows.remove(0)
    }

    /// Returns the number of rows that a statement inserted, updated or deleted.
    pub fn change(&mut self, sql: &str, parameters: &[Value<'static>]) -> usize {
        let (_, tag) = self.execute(sql, parameters);
        tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{sql}: {tag}"))
    }

    /// Runs statements as one transaction.
    pub fn transaction<T>(&mut self, statements: impl FnOnce(&mut Self) -> T) -> T {
        self.execute("BEGIN", &[]);
        let output = statements(self);
        self.execute("COMMIT", &[]);
        output
    }

    /// Runs statements, and rolls them back.
    pub fn rolled_back<T>(&mut self, statements: impl FnOnce(&mut Self) -> T) -> T {
        self.execute("BEGIN", &[]);
        let output = statements(self);
        self.execute("ROLLBACK", &[]);
        output
    }
}

/// The type that the driver declares for a parameter: none for a timestamp, which may be of either kind.
fn declared(value: &Value<'_>) -> Option<Type> {
    match value {
        Value::Int2(_) => Some(Type::Int2),
        Value::Int4(_) => Some(Type::Int4),
        Value::Int8(_) => Some(Type::Int8),
        Value::Float8(_) => Some(Type::Float8),
        Value::Text(_) => Some(Type::Varchar(None)),
        _ => None,
    }
}

/// Sorts definitions by name.
pub fn by_name(mut schemas: Vec<TableSchema>) -> Vec<TableSchema> {
    schemas.sort_by(|a, b| a.name.cmp(&b.name));
    schemas
}

/// An integer of a result.
pub fn int(value: &Value<'_>) -> i64 {
    match value {
        Value::Int2(number) => i64::from(*number),
        Value::Int4(number) => i64::from(*number),
        Value::Int8(number) => *number,
        Value::Numeric(number) => number.to_string().parse().unwrap_or_else(|_| panic!("{number} is not whole")),
        other => panic!("{other:?} is no number"),
    }
}

/// A number of a result, as the driver's `getDouble` returns it.
pub fn float(value: &Value<'_>) -> f64 {
    match value {
        Value::Float8(number) => *number,
        Value::Numeric(number) => number.to_string().parse().expect("a decimal is a number"),
        other => int(other) as f64,
    }
}

/// A text of a result.
pub fn text(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => panic!("{other:?} is no text"),
    }
}

/// A parameter of a string type.
pub fn string(text: impl Into<String>) -> Value<'static> {
    Value::Text(text.into().into())
}
