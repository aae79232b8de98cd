//! A session's context: what its expressions know beside their row, which is the catalog, the settings, the numbers of
//! sequences, and how the transaction was begun.

mod shown;

use crate::catalog::sequence::Sequence;
use crate::catalog::{Changes, View, column_of};
use crate::client::Notice;
use crate::parse::written_name;
use crate::schema::{self, quoted, undefined_table};
use crate::seat::Seat;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::types::Styles;
use crate::{SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use hotrow_txn::Isolation;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// What a session's expressions look at and change beside their row. One session uses it, for all its transactions.
#[derive(Debug)]
pub struct SessionContext {
    shared: Arc<Shared>,
    /// What the session's transaction has changed.
    pub(crate) changes: Changes,
    /// Where relations are looked for; none if in `public` only.
    pub(crate) path: Option<Arc<[String]>>,
    recent: RefCell<Recent>,
    /// Of statements that run without effect.
    rehearsal: RefCell<Option<Rehearsal>>,
    /// Whether the session's transaction may not write.
    pub(crate) read_only: Cell<bool>,
    /// The isolation level that the session's transaction asks for.
    pub(crate) isolation: Cell<Isolation>,
    /// The number of the session's transaction; zero if nobody has asked for it.
    pub(crate) transaction: Cell<u64>,
    /// The session's settings, which functions look at and change.
    pub(crate) settings: RefCell<Settings>,
    /// What others may know of the session.
    pub(crate) seat: Arc<Seat>,
    /// Whether its statement may wait in the middle of an expression: it looks at no table.
    pub(crate) may_wait: Cell<bool>,
    /// What functions tell the client beside their values.
    pub(crate) notices: RefCell<Vec<Notice>>,
}

/// The numbers that a session has had.
#[derive(Clone, Debug, Default)]
struct Recent {
    values: HashMap<u32, i64>,
    /// The sequence of the last one.
    last: Option<u32>,
}

/// What statements that run without effect do to sequences.
#[derive(Debug)]
struct Rehearsal {
    /// What to come back to.
    recent: Recent,
    /// The sequences, with places of their own.
    sequences: HashMap<u32, Arc<Sequence>>,
}

impl SessionContext {
    /// Of a new session.
    pub(crate) fn new(shared: Arc<Shared>, seat: Arc<Seat>) -> Self {
        let isolation = shared.config.default_isolation;
        let settings = Settings::new(&seat.user, isolation).with_early_release(shared.config.early_release);
        Self {
            isolation: Cell::new(isolation),
            transaction: Cell::new(0),
            settings: RefCell::new(settings.heeded_by(seat.clone())),
            shared,
            seat,
            may_wait: Cell::new(false),
            notices: RefCell::default(),
            changes: Changes::default(),
            path: None,
            recent: RefCell::default(),
            rehearsal: RefCell::default(),
            read_only: Cell::new(false),
        }
    }

    /// Whether statements run without effect.
    pub(crate) fn is_rehearsing(&self) -> bool {
        self.rehearsal.borrow().is_some()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The catalog with the transaction's own changes.
    pub fn view(&self) -> View<'_> {
        View { catalog: &self.shared.catalog, changes: &self.changes, path: self.path.as_ref(), styles: self.styles() }
    }

    /// DISCARD SEQUENCES: the session has had no number so far.
    pub(crate) fn forget_numbers(&self) {
        *self.recent.borrow_mut() = Recent::default();
    }

    /// How the session writes and reads texts.
    #[inline]
    pub(crate) fn styles(&self) -> Styles {
        self.settings.borrow().styles()
    }

    /// From here to [`rehearsed`](Self::rehearsed) nothing is taken: statements run to find out what they will touch.
    pub fn rehearse(&self) {
        *self.rehearsal.borrow_mut() =
            Some(Rehearsal { recent: self.recent.borrow().clone(), sequences: HashMap::new() });
    }

    /// Ends a rehearsal, if there is one.
    pub fn rehearsed(&self) {
        if let Some(Rehearsal { recent, .. }) = self.rehearsal.borrow_mut().take() {
            *self.recent.borrow_mut() = recent;
        }
    }

    /// The sequence that an argument means: a name, or a definition's number of it.
    fn sequence(&self, argument: &Value<'_>) -> Result<Arc<Sequence>, SqlError> {
        let sequence = match argument {
            Value::Text(name) => self.view().named_sequence(name)?,
            other => {
                let id = other.as_int().and_then(|id| u32::try_from(id).ok());
                let found = id.and_then(|id| self.view().sequence_by_id(id));
                found.ok_or_else(|| SqlError::new(state::UNDEFINED_TABLE, "the sequence does not exist any more"))?
            }
        };
        let mut rehearsal = self.rehearsal.borrow_mut();
        let Some(Rehearsal { sequences, .. }) = &mut *rehearsal else { return Ok(sequence) };
        let own = sequences.entry(sequence.id).or_insert_with(|| Arc::new(sequence.detached()));
        Ok(own.clone())
    }

    fn check_may_write(&self, function: &str) -> Result<(), SqlError> {
        if !self.read_only.get() {
            return Ok(());
        }
        let message = format!("cannot execute {function}() in a read-only transaction");
        Err(SqlError::new(state::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// `nextval`
    pub fn next_value(&self, sequence: &Value<'_>) -> Result<i64, SqlError> {
        let sequence = self.sequence(sequence)?;
        self.check_may_write("nextval")?;
        let value = sequence.next()?;
        self.remember(sequence.id, value);
        Ok(value)
    }

    fn remember(&self, id: u32, value: i64) {
        let mut recent = self.recent.borrow_mut();
        recent.values.insert(id, value);
        recent.last = Some(id);
    }

    /// `currval`
    pub fn current_value(&self, sequence: &Value<'_>) -> Result<i64, SqlError> {
        let sequence = self.sequence(sequence)?;
        self.recent.borrow().values.get(&sequence.id).copied().ok_or_else(|| {
            let message = format!("currval of sequence \"{}\" is not yet defined in this session", sequence.name);
            SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// `lastval`
    pub fn last_value(&self) -> Result<i64, SqlError> {
        let recent = self.recent.borrow();
        let known = recent.last.filter(|id| self.view().sequence_by_id(*id).is_some());
        known.and_then(|id| recent.values.get(&id).copied()).ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// `setval`
    pub fn set_value(&self, sequence: &Value<'_>, value: i64, is_taken: bool) -> Result<i64, SqlError> {
        let sequence = self.sequence(sequence)?;
        self.check_may_write("setval")?;
        sequence.set(value, is_taken)?;
        if is_taken {
            self.recent.borrow_mut().values.insert(sequence.id, value);
        }
        Ok(value)
    }

    /// `pg_get_serial_sequence`: the name of the sequence that a column owns.
    pub fn serial_sequence(&self, table: &str, column: &str) -> Result<Option<String>, SqlError> {
        let view = self.view();
        let table = view.find(&written_name(table)?);
        let Some(known) = view.table(&table) else { return Err(undefined_table(&table)) };
        column_of(&known, column)?;
        let owner = Some((table, column.to_owned()));
        let found = view.sequences().into_iter().find(|sequence| sequence.owner == owner);
        let written = |name: &str| {
            let (schema, name) = schema::split(name);
            format!("{}.{}", quoted(schema), quoted(name))
        };
        Ok(found.map(|sequence| written(&sequence.name)))
    }
}
