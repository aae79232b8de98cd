//! The statements that this crate reads by hand from tokens, and does not leave to sqlparser. They are small and
//! frequent, or have words that only PostgreSQL has.
//!
//! This file reads statements about transactions, settings and prepared statements, and LOCK, TRUNCATE, VACUUM and the
//! like. Other files of the folder read the others.

use super::body::BodySyntax;
use super::cursor::Cursor;
use super::cursors::{self, DeclareCursor, Fetch};
use super::database::{self, DatabaseStatement};
use super::definition::{self, Definition};
use super::materialized::{self, Materialize};
use super::notifications;
use super::procedure::{self, CreateProcedure, DropProcedures};
use super::sequence::{self, AlterSequence, CreateSequence};
use crate::copy::CopyOptions;
use crate::notifications::Action;
use crate::parse::ExplainOptions;
use crate::schema::{RelationName, SEARCH_PATH, quoted};
use crate::types::interval_text::{self, Fields, Unit};
use crate::types::{IntervalStyle, SessionZone};
use crate::{SqlError, state};
use hotrow_storage::Interval;
use hotrow_sync::Arc;
use hotrow_txn::{Concurrency, Isolation};

/// The modes of a transaction that BEGIN or SET TRANSACTION gives. A mode that the statement does not mention is
/// `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// ISOLATION LEVEL
    pub isolation: Option<Isolation>,
    /// READ ONLY is `true`, and READ WRITE is `false`.
    pub read_only: Option<bool>,
    /// CONCURRENCY OPTIMISTIC, CONCURRENCY PESSIMISTIC
    pub concurrency: Option<Concurrency>,
}

/// A COPY statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The table that COPY reads or writes. The name is empty if `query` is given.
    pub table: RelationName,
    /// The position of the table's name, in characters from 1.
    pub position: u32,
    /// The columns that the statement lists; empty if it lists none, which means all columns.
    pub columns: Vec<String>,
    /// The query whose rows COPY sends.
    pub query: Option<String>,
    /// Whether the statement is COPY FROM STDIN, and not COPY TO STDOUT.
    pub from: bool,
    /// The format and its options.
    pub options: CopyOptions,
}

/// A statement that this crate reads by hand.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Utility {
    Begin {
        modes: Modes,
        tag: &'static str,
    },
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    SetTransaction(Modes),
    SetCharacteristics(Modes),
    /// SET. If `value` is `None`, the statement says DEFAULT.
    Set {
        name: String,
        value: Option<String>,
        local: bool,
    },
    /// SET CONSTRAINTS. If `names` is `None`, the statement says ALL.
    SetConstraints {
        names: Option<Vec<RelationName>>,
        deferred: bool,
    },
    Show(String),
    /// RESET; `None` is ALL.
    Reset(Option<String>),
    /// PREPARE. The inner statement is kept as text and planned when PREPARE runs.
    Prepare {
        name: String,
        types: Vec<String>,
        sql: String,
    },
    /// EXECUTE, with its arguments as text.
    Execute {
        name: String,
        sql: String,
    },
    /// DEALLOCATE; `None` is ALL.
    Deallocate(Option<String>),
    DiscardAll,
    /// DISCARD SEQUENCES
    DiscardSequences,
    /// DISCARD TEMP
    DiscardTemporary,
    /// DISCARD PLANS
    DiscardPlans,
    /// CREATE, ALTER or DROP DATABASE.
    Database(Box<DatabaseStatement>),
    Checkpoint,
    /// BACKUP TO, with the folder.
    Backup(String),
    /// A statement that is accepted without having an effect, such as VACUUM. Its tables must exist.
    Maintenance {
        tag: &'static str,
        tables: Vec<RelationName>,
    },
    LockTable {
        tables: Vec<RelationName>,
        exclusive: bool,
        nowait: bool,
    },
    Truncate {
        tables: Vec<RelationName>,
        restart: bool,
        cascade: bool,
    },
    Copy(Box<Copy>),
    /// EXPLAIN, with the text of the inner statement.
    Explain(ExplainOptions, String),
    CreateProcedure(Box<CreateProcedure>),
    /// DO, with the body of a procedure that has no name.
    Do(Arc<BodySyntax>),
    CreateSequence(CreateSequence),
    /// CREATE or REFRESH MATERIALIZED VIEW
    Materialize(Box<Materialize>),
    AlterSequence(AlterSequence),
    Define(Definition),
    DropProcedures(DropProcedures),
    DeclareCursor(DeclareCursor),
    Fetch(Fetch),
    /// CLOSE; `None` is ALL.
    CloseCursor(Option<String>),
    /// LISTEN and UNLISTEN
    Channels(Action),
    Notify {
        channel: String,
        payload: String,
    },
}

impl Utility {
    /// Returns the statement's name for the error of a read-only transaction that refuses it, or `None` if such a
    /// transaction may run it.
    pub(crate) fn writes(&self) -> Option<&'static str> {
        match self {
            Utility::Truncate { .. } => Some("TRUNCATE TABLE"),
            Utility::CreateSequence(_) => Some("CREATE SEQUENCE"),
            Utility::Materialize(statement) => Some(statement.tag()),
            Utility::AlterSequence(_) => Some("ALTER SEQUENCE"),
            Utility::Define(definition) => Some(definition.tag()),
            Utility::Database(statement) => Some(statement.tag()),
            Utility::Copy(copy) if copy.from => Some("COPY FROM"),
            Utility::CreateProcedure(create) => Some(create.tag()),
            Utility::DropProcedures(drop) => Some(drop.tag()),
            _ => None,
        }
    }
}

/// Reads a statement of the kinds of [`Utility`]. Returns `None` if the tokens begin a statement that sqlparser reads.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Option<Utility>, SqlError> {
    let word = cursor.peek_word();
    let Some(word) = word else { return Ok(None) };
    if let Some(definition) = definition::parse(cursor)? {
        cursor.expect_end()?;
        return Ok(Some(Utility::Define(definition)));
    }
    let utility = match word.as_str() {
        "begin" => begin(cursor, "BEGIN")?,
        "start" => {
            if !cursor.follows(1, "transaction") {
                return Ok(None);
            }
            begin(cursor, "START TRANSACTION")?
        }
        "commit" | "end" => {
            cursor.advance();
            Utility::Commit { chain: end_of_transaction(cursor)? }
        }
        "rollback" | "abort" => rollback(cursor)?,
        "savepoint" => {
            cursor.advance();
            Utility::Savepoint(cursor.name()?)
        }
        "release" => {
            cursor.advance();
            cursor.take("savepoint");
            Utility::Release(cursor.name()?)
        }
        "set" => set(cursor)?,
        "show" => {
            cursor.advance();
            Utility::Show(setting_name(cursor)?)
        }
        "reset" => {
            cursor.advance();
            if cursor.take("all") { Utility::Reset(None) } else { Utility::Reset(Some(setting_name(cursor)?)) }
        }
        "prepare" if cursor.follows(1, "transaction") => return Ok(None),
        "prepare" => prepare(cursor)?,
        "execute" => {
            cursor.advance();
            Utility::Execute { name: cursor.name()?, sql: cursor.rest() }
        }
        "deallocate" => {
            cursor.advance();
            cursor.take("prepare");
            if cursor.take("all") { Utility::Deallocate(None) } else { Utility::Deallocate(Some(cursor.name()?)) }
        }
        "discard" => discard(cursor)?,
        "declare" => cursors::declare(cursor)?,
        "fetch" => cursors::fetch(cursor, false)?,
        "move" => cursors::fetch(cursor, true)?,
        "close" => cursors::close(cursor)?,
        "vacuum" => maintenance(cursor, "VACUUM")?,
        "analyze" | "analyse" => maintenance(cursor, "ANALYZE")?,
        "reindex" => reindex(cursor)?,
        "cluster" => cluster(cursor)?,
        "checkpoint" | "backup" => save(cursor, &word)?,
        "listen" | "unlisten" => Utility::Channels(notifications::channels(cursor)?),
        "notify" => {
            let (channel, payload) = notifications::notify(cursor)?;
            Utility::Notify { channel, payload }
        }
        "lock" => lock(cursor)?,
        "truncate" => truncate(cursor)?,
        "copy" => Utility::Copy(Box::new(super::copy::parse(cursor)?)),
        "explain" => super::explain::explain(cursor)?,
        "create" if procedure::creates_procedure(cursor) => {
            Utility::CreateProcedure(Box::new(procedure::create(cursor)?))
        }
        "create" | "refresh" if cursor.follows(1, "materialized") => {
            Utility::Materialize(Box::new(materialized::parse(cursor)?))
        }
        "create" if sequence::is_created(cursor) => Utility::CreateSequence(sequence::create(cursor)?),
        "create" | "alter" | "drop" if cursor.follows(1, "database") => {
            Utility::Database(Box::new(database::statement(cursor)?))
        }
        "create" | "drop" if cursor.follows(1, "extension") => extension(cursor)?,
        "alter" if cursor.follows(1, "sequence") => {
            cursor.advance();
            cursor.advance();
            Utility::AlterSequence(sequence::alter(cursor)?)
        }
        "do" => Utility::Do(Arc::new(procedure::anonymous(cursor)?)),
        "drop" if ["procedure", "function", "routine"].iter().any(|word| cursor.follows(1, word)) => {
            Utility::DropProcedures(procedure::drop(cursor)?)
        }
        _ => return Ok(None),
    };
    cursor.expect_end()?;
    Ok(Some(utility))
}

/// Reads CHECKPOINT or BACKUP TO.
fn save(cursor: &mut Cursor<'_>, word: &str) -> Result<Utility, SqlError> {
    cursor.advance();
    if word == "checkpoint" {
        return Ok(Utility::Checkpoint);
    }
    cursor.expect("to")?;
    cursor.string().map(Utility::Backup)
}

fn begin(cursor: &mut Cursor<'_>, tag: &'static str) -> Result<Utility, SqlError> {
    cursor.advance();
    if !cursor.take("transaction") {
        cursor.take("work");
    }
    Ok(Utility::Begin { modes: modes(cursor)?, tag })
}

fn modes(cursor: &mut Cursor<'_>) -> Result<Modes, SqlError> {
    let mut modes = Modes::default();
    while !cursor.is_at_end() {
        if cursor.take("isolation") {
            cursor.expect("level")?;
            modes.isolation = Some(isolation(cursor)?);
        } else if cursor.take("read") {
            modes.read_only = Some(cursor.take("only"));
            if modes.read_only == Some(false) {
                cursor.expect("write")?;
            }
        } else if cursor.take("concurrency") {
            let is_optimistic = cursor.take("optimistic");
            if !is_optimistic {
                cursor.expect("pessimistic")?;
            }
            modes.concurrency = Some(if is_optimistic { Concurrency::Optimistic } else { Concurrency::Pessimistic });
        } else {
            cursor.take("not");
            cursor.expect("deferrable")?;
        }
        cursor.take_symbol(b',');
    }
    Ok(modes)
}

/// Reads the name of an isolation level: one of the names in [`isolation`](crate::isolation), as words.
fn isolation(cursor: &mut Cursor<'_>) -> Result<Isolation, SqlError> {
    if cursor.take("serializable") {
        return Ok(Isolation::Serializable);
    }
    if cursor.take("repeatable") {
        cursor.expect("read")?;
        return Ok(Isolation::Snapshot);
    }
    if cursor.take("snapshot") {
        return Ok(Isolation::Snapshot);
    }
    cursor.expect("read")?;
    if cursor.take("stability") {
        return Ok(Isolation::RepeatableRead);
    }
    if !cursor.take("uncommitted") {
        cursor.expect("committed")?;
    }
    Ok(Isolation::ReadCommitted)
}

/// Reads `[WORK | TRANSACTION] [AND [NO] CHAIN]`. Returns whether the transaction is chained.
fn end_of_transaction(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    if !cursor.take("transaction") {
        cursor.take("work");
    }
    if !cursor.take("and") {
        return Ok(false);
    }
    let no = cursor.take("no");
    cursor.expect("chain")?;
    Ok(!no)
}

fn rollback(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    if !cursor.take("transaction") {
        cursor.take("work");
    }
    if cursor.take("to") {
        cursor.take("savepoint");
        return Ok(Utility::RollbackTo(cursor.name()?));
    }
    Ok(Utility::Rollback { chain: end_of_transaction(cursor)? })
}

fn set(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    let local = cursor.take("local");
    let session = !local && cursor.take("session");
    if session && cursor.take("characteristics") {
        cursor.expect("as")?;
        cursor.expect("transaction")?;
        return Ok(Utility::SetCharacteristics(modes(cursor)?));
    }
    if cursor.take("transaction") {
        return Ok(Utility::SetTransaction(modes(cursor)?));
    }
    if !local && !session && cursor.take("constraints") {
        let names = if cursor.take("all") {
            None
        } else {
            let mut names = vec![cursor.qualified_name()?];
            while cursor.take_symbol(b',') {
                names.push(cursor.qualified_name()?);
            }
            Some(names)
        };
        let deferred = cursor.take("deferred");
        if !deferred {
            cursor.expect("immediate")?;
        }
        return Ok(Utility::SetConstraints { names, deferred });
    }
    if cursor.take("time") {
        cursor.expect("zone")?;
        let value = match cursor.take("interval") {
            true => Some(zone_interval(cursor)?),
            false => setting_value(cursor)?.filter(|value| value != "local"),
        };
        return Ok(Utility::Set { name: "timezone".to_owned(), value, local });
    }
    if cursor.take("names") {
        return Ok(Utility::Set { name: "client_encoding".to_owned(), value: setting_value(cursor)?, local });
    }
    if cursor.take("role") {
        return Ok(Utility::Set { name: "role".to_owned(), value: setting_value(cursor)?, local });
    }
    if !local && cursor.follows(0, "authorization") && !cursor.follows(1, "to") {
        cursor.advance();
        return Ok(Utility::Set { name: "session_authorization".to_owned(), value: setting_value(cursor)?, local });
    }
    if cursor.take("schema") {
        return Ok(Utility::Set { name: SEARCH_PATH.to_owned(), value: Some(quoted(&cursor.string()?)), local });
    }
    let name = cursor.setting_name()?;
    if !cursor.take_symbol(b'=') {
        cursor.expect("to")?;
    }
    let value = if name == SEARCH_PATH { cursor.path()? } else { setting_value(cursor)? };
    Ok(Utility::Set { name, value, local })
}

/// Reads a list of words, strings and numbers, and returns it as one text. Returns `None` for DEFAULT.
fn setting_value(cursor: &mut Cursor<'_>) -> Result<Option<String>, SqlError> {
    if cursor.take("default") {
        return Ok(None);
    }
    let mut value = cursor.scalar()?;
    while cursor.take_symbol(b',') {
        value.push_str(", ");
        value.push_str(&cursor.scalar()?);
    }
    Ok(Some(value))
}

/// Parses an interval behind `SET TIME ZONE INTERVAL`, and returns the value of the setting for which it stands.
fn zone_interval(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    let text = cursor.scalar()?;
    let mut finest = None;
    if cursor.take("hour") {
        finest = Some(Unit::Hour);
        if cursor.take("to") {
            cursor.expect("minute")?;
            finest = Some(Unit::Minute);
        }
    }
    let fields = finest.map(|finest| Fields { finest, minutes_first: false });
    let Interval { months, days, micros } = interval_text::parse(&text, fields, IntervalStyle::default())?;
    let invalid = |detail: &str| {
        let message = format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{text}'\"");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message).detail(detail)
    };
    match (months, days, SessionZone::east(micros / 1_000_000)) {
        (0, 0, Some(zone)) => Ok(zone.posix_name()),
        (0, 0, None) => Err(invalid("UTC timezone offset is out of range.")),
        (0, ..) => Err(invalid("Cannot specify days in time zone interval.")),
        _ => Err(invalid("Cannot specify months in time zone interval.")),
    }
}

fn setting_name(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    if cursor.take("transaction") {
        cursor.expect("isolation")?;
        cursor.expect("level")?;
        return Ok("transaction_isolation".to_owned());
    }
    if cursor.take("time") {
        cursor.expect("zone")?;
        return Ok("timezone".to_owned());
    }
    if cursor.take("session") {
        cursor.expect("authorization")?;
        return Ok("session_authorization".to_owned());
    }
    cursor.setting_name()
}

fn prepare(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    let name = cursor.name()?;
    let mut types = Vec::new();
    if cursor.take_symbol(b'(') {
        loop {
            types.push(cursor.type_text()?);
            if !cursor.take_symbol(b',') {
                break;
            }
        }
        cursor.expect_symbol(b')')?;
    }
    cursor.expect("as")?;
    Ok(Utility::Prepare { name, types, sql: cursor.rest() })
}

fn discard(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    Ok(if cursor.take("plans") {
        Utility::DiscardPlans
    } else if cursor.take("sequences") {
        Utility::DiscardSequences
    } else if cursor.take("temp") || cursor.take("temporary") {
        Utility::DiscardTemporary
    } else {
        cursor.expect("all")?;
        Utility::DiscardAll
    })
}

fn maintenance(cursor: &mut Cursor<'_>, tag: &'static str) -> Result<Utility, SqlError> {
    cursor.advance();
    if cursor.take_symbol(b'(') {
        while !cursor.take_symbol(b')') {
            cursor.any()?;
        }
    }
    while ["full", "freeze", "verbose", "analyze"].iter().any(|word| cursor.take(word)) {}
    let mut tables = Vec::new();
    while !cursor.is_at_end() {
        tables.push(cursor.qualified_name()?);
        if cursor.take_symbol(b'(') {
            while !cursor.take_symbol(b')') {
                cursor.any()?;
            }
        }
        if !cursor.take_symbol(b',') {
            break;
        }
    }
    Ok(Utility::Maintenance { tag, tables })
}

/// Reads REINDEX, which has no effect, since indexes need no repair. The table or index that it names must exist.
fn reindex(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    if cursor.take_symbol(b'(') {
        while !cursor.take_symbol(b')') {
            cursor.any()?;
        }
    }
    let kinds = ["table", "index", "schema", "database", "system"];
    let Some(kind) = kinds.into_iter().find(|kind| cursor.take(kind)) else { return Err(cursor.unexpected()) };
    cursor.take("concurrently");
    let mut tables = Vec::new();
    if !cursor.is_at_end() {
        let name = cursor.qualified_name()?;
        if kind == "table" || kind == "index" {
            tables.push(name);
        }
    }
    Ok(Utility::Maintenance { tag: "REINDEX", tables })
}

/// Reads CLUSTER, which has no effect: the rows in memory have no order that it could change.
fn cluster(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    cursor.take("verbose");
    let mut tables = Vec::new();
    if !cursor.is_at_end() {
        tables.push(cursor.qualified_name()?);
        if cursor.take("using") {
            cursor.name()?;
        }
    }
    Ok(Utility::Maintenance { tag: "CLUSTER", tables })
}

fn table_list(cursor: &mut Cursor<'_>) -> Result<Vec<RelationName>, SqlError> {
    let mut tables = Vec::new();
    loop {
        cursor.take("only");
        tables.push(cursor.qualified_name()?);
        cursor.take_symbol(b'*');
        if !cursor.take_symbol(b',') {
            return Ok(tables);
        }
    }
}

/// The names of the extensions that CREATE EXTENSION accepts. Their functions, as far as the server has them, are built
/// in.
const EXTENSIONS: [&str; 3] = ["plpgsql", "pgcrypto", "uuid-ossp"];

/// Reads CREATE EXTENSION and DROP EXTENSION, which have no effect.
///
/// # Errors
/// 0A000 if the extension is not one of [`EXTENSIONS`].
fn extension(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    let creates = cursor.take("create");
    cursor.advance();
    if !creates {
        cursor.advance();
    }
    if cursor.take("if") {
        if creates {
            cursor.expect("not")?;
        }
        cursor.expect("exists")?;
    }
    let name = cursor.name()?;
    if creates {
        cursor.take("with");
        while cursor.take("schema") || cursor.take("version") {
            if cursor.name().is_err() {
                cursor.string()?;
            }
        }
    }
    cursor.cascades();
    cursor.expect_end()?;
    if !EXTENSIONS.contains(&name.as_str()) {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("extension \"{name}\" is not available"))
            .hint(format!("Known are {}.", EXTENSIONS.join(", "))));
    }
    let tag = if creates { "CREATE EXTENSION" } else { "DROP EXTENSION" };
    Ok(Utility::Maintenance { tag, tables: Vec::new() })
}

fn lock(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    cursor.take("table");
    let tables = table_list(cursor)?;
    let mut exclusive = true;
    if cursor.take("in") {
        let wrong = cursor.unexpected();
        let mut words = Vec::new();
        while !cursor.take("mode") {
            words.push(cursor.word()?);
        }
        // The row modes conflict with no lock that a statement takes on rows.
        exclusive = match words.join(" ").as_str() {
            "access share" | "row share" | "row exclusive" => false,
            "share update exclusive" | "share" | "share row exclusive" | "exclusive" | "access exclusive" => true,
            _ => return Err(wrong),
        };
    }
    Ok(Utility::LockTable { tables, exclusive, nowait: cursor.take("nowait") })
}

fn truncate(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    cursor.take("table");
    let tables = table_list(cursor)?;
    let restart = cursor.take("restart");
    if restart || cursor.take("continue") {
        cursor.expect("identity")?;
    }
    let cascade = cursor.cascades();
    Ok(Utility::Truncate { tables, restart, cascade })
}
