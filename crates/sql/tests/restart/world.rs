//! A database with a log, and its restarts.

use crate::common::{query, session};
use hotrow_check::RecordedLog;
use hotrow_sql::{Config, Database, OpenError, Session};
use hotrow_sync::Arc;
use hotrow_txn::Engine;
use std::time::Duration;

/// Engines that are unlike each other, all of which admit tables without a partition key.
pub const ENGINES: [&str; 8] = ["ilock", "mvo", "mvl", "2pl-waitdie", "1v", "vll", "serial", "orthrus"];

/// Engines that have only tables with a partition key.
pub const PARTITIONED: [&str; 2] = ["hstore", "partitioned"];

/// A database with its log. One of its sessions stays open.
pub struct World {
    pub engine: Arc<dyn Engine>,
    pub log: Arc<RecordedLog>,
    pub database: Arc<Database>,
    pub session: Session,
}

impl World {
    /// An empty database.
    pub fn new(engine: &str) -> Self {
        Self::from_log(engine, RecordedLog::new()).expect("an empty log can be opened")
    }

    /// The database whose log is this one.
    pub fn from_log(engine: &str, log: Arc<RecordedLog>) -> Result<Self, OpenError> {
        let engine = hotrow_protocols::open(engine).expect("an engine of this name");
        log.load(&*engine).unwrap_or_else(|wrong| panic!("{}: {wrong}", engine.info().name));
        Self::over(engine, log)
    }

    /// The database over an engine that has the rows of a log.
    pub fn over(engine: Arc<dyn Engine>, log: Arc<RecordedLog>) -> Result<Self, OpenError> {
        let config = Config { uncertain_wait: Duration::from_millis(200), ..Config::default() };
        let database = Database::open(engine.clone(), log.clone(), config)?;
        let session = session(&database);
        Ok(Self { engine, log, database, session })
    }

    /// The name of the engine.
    pub fn name(&self) -> &'static str {
        self.engine.info().name
    }

    /// The database after a crash that has lost nothing.
    pub fn restarted(&self) -> Self {
        self.after_crash(self.log.records())
    }

    /// The database after a crash that has left so many records.
    pub fn after_crash(&self, records: usize) -> Self {
        Self::from_log(self.name(), self.log.cut(records)).unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// The database after it was closed and opened again, maybe under another engine.
    pub fn reopened(&self, engine: &str) -> Self {
        self.database.close().expect("the log is sound");
        Self::from_log(engine, self.log.cut(self.log.records())).unwrap_or_else(|error| panic!("{engine}: {error}"))
    }

    /// Runs a query string; its outcome as [`crate::common::outcome`] has it.
    pub fn outcome(&mut self, sql: &str) -> String {
        crate::common::outcome(&mut self.session, sql)
    }

    /// Runs statements that must succeed.
    pub fn run(&mut self, sql: &str) {
        crate::common::run(&mut self.session, sql);
    }

    /// Runs statements with their outcomes.
    pub fn check(&mut self, cases: &[(&str, &str)]) {
        for (sql, expected) in cases {
            assert_eq!(self.outcome(sql), *expected, "{}: {sql}", self.name());
        }
    }

    /// All that the catalog shows, and the rows of all tables.
    pub fn dump(&self) -> String {
        let mut session = session(&self.database);
        let mut shown = String::new();
        let mut show = |session: &mut Session, sql: &str| -> Vec<String> {
            let (recorder, result) = query(session, sql);
            result.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            let mut rows = recorder.rows;
            rows.sort();
            shown.push_str(&format!("-- {sql}\n{}\n", rows.join("\n")));
            rows
        };
        CATALOG.iter().for_each(|sql| drop(show(&mut session, sql)));
        let tables = "select quote_ident(table_schema) || '.' || quote_ident(table_name)
            from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema') order by 1";
        for table in show(&mut session, tables) {
            show(&mut session, &format!("select * from {table}"));
        }
        shown
    }
}

/// Queries for everything that a client can ask of the catalog.
const CATALOG: [&str; 16] = [
    "select proname, pg_get_functiondef(oid) from pg_proc",
    "select tgname, tgenabled, pg_get_triggerdef(oid) from pg_trigger",
    "select nspname, oid from pg_namespace",
    "select c.relname, n.nspname, c.relkind, c.oid, c.relhasindex, c.relchecks, c.relhastriggers
        from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid >= 16384",
    "select attrelid, attname, attnum, atttypid, atttypmod, attnotnull, atthasdef, attidentity, attgenerated
        from pg_attribute where attrelid >= 16384",
    "select oid, adrelid, adnum, pg_get_expr(adbin, adrelid) from pg_attrdef",
    "select oid, conname, contype, conrelid, confrelid, pg_get_constraintdef(oid) from pg_constraint",
    "select schemaname, tablename, indexname, indexdef from pg_indexes",
    "select schemaname, viewname, definition from pg_views where schemaname not in ('pg_catalog', 'information_schema')",
    "select schemaname, sequencename, data_type, start_value, min_value, max_value, increment_by, cycle
        from pg_sequences",
    "select objoid, classoid, objsubid, description from pg_description",
    "select * from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')",
    "select table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type,
        character_maximum_length, numeric_precision, numeric_scale, is_identity, identity_generation,
        is_generated, generation_expression
        from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema')",
    "select constraint_name, table_schema, table_name, constraint_type from information_schema.table_constraints",
    "select * from information_schema.views where table_schema not in ('pg_catalog', 'information_schema')",
    "select * from information_schema.referential_constraints",
];
