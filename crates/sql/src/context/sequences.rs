//! The numbers that a session gets from sequences: `nextval`, `currval`, `lastval` and `setval`.

use super::SessionContext;
use crate::catalog::place_log::{At, PlaceLog};
use crate::catalog::sequence::Sequence;
use crate::catalog::{column_of, is_temporary};
use crate::parse::written_name;
use crate::schema::{self, quoted, undefined_table};
use crate::{SqlError, state};
use hotrow_storage::{LogFailed, Position, Value};
use hotrow_sync::{Arc, Waiter};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// The numbers that a session has got from sequences, for `currval` and `lastval`.
#[derive(Debug, Default)]
pub(super) struct SequenceNumbers {
    recent: RefCell<Recent>,
    /// The position of the last record about a number that the client may not have seen yet; zero if there is none.
    unseen: Cell<Position>,
    /// The state of the present rehearsal, or `None` if no rehearsal is active.
    rehearsal: RefCell<Option<Rehearsal>>,
}

/// The last number that a session got of each sequence.
#[derive(Clone, Debug, Default)]
struct Recent {
    values: HashMap<u32, i64>,
    /// The sequence that gave the session its last number.
    last: Option<u32>,
}

/// The state of sequences while statements run without effect.
#[derive(Debug)]
struct Rehearsal {
    /// The numbers to restore when the rehearsal ends.
    recent: Recent,
    /// Copies of the sequences that the statements use, with positions of their own.
    sequences: HashMap<u32, Arc<Sequence>>,
}

impl SessionContext {
    /// Whether a rehearsal is active: statements run without side effects. See [`rehearse`](Self::rehearse).
    pub(crate) fn is_rehearsing(&self) -> bool {
        self.numbers.rehearsal.borrow().is_some()
    }

    /// Forgets the numbers that the session got from sequences, for DISCARD SEQUENCES. `currval` and `lastval` then
    /// fail.
    pub(crate) fn forget_numbers(&self) {
        *self.numbers.recent.borrow_mut() = Recent::default();
    }

    /// Begins a rehearsal, which [`rehearsed`](Self::rehearsed) ends. During a rehearsal, statements run only to find
    /// out which rows they access: sequences return numbers, but are not changed.
    pub fn rehearse(&self) {
        *self.numbers.rehearsal.borrow_mut() =
            Some(Rehearsal { recent: self.numbers.recent.borrow().clone(), sequences: HashMap::new() });
    }

    /// Ends the rehearsal, if one is active, and restores the session's numbers for `currval` and `lastval`.
    pub fn rehearsed(&self) {
        if let Some(Rehearsal { recent, .. }) = self.numbers.rehearsal.borrow_mut().take() {
            *self.numbers.recent.borrow_mut() = recent;
        }
    }

    /// Returns the sequence that an argument means: by its name, or by its number, which definitions contain. In a
    /// rehearsal, returns the rehearsal's copy of the sequence.
    fn sequence(&self, argument: &Value<'_>) -> Result<Arc<Sequence>, SqlError> {
        let sequence = match argument {
            Value::Text(name) => self.view().named_sequence(name)?,
            other => {
                let id = other.as_int().and_then(|id| u32::try_from(id).ok());
                let found = id.and_then(|id| self.view().sequence_by_id(id));
                found.ok_or_else(|| SqlError::new(state::UNDEFINED_TABLE, "the sequence does not exist any more"))?
            }
        };
        let mut rehearsal = self.numbers.rehearsal.borrow_mut();
        let Some(Rehearsal { sequences, .. }) = &mut *rehearsal else { return Ok(sequence) };
        let own = sequences.entry(sequence.id).or_insert_with(|| Arc::new(sequence.detached()));
        Ok(own.clone())
    }

    fn check_may_write(&self, function: &str, sequence: &Sequence) -> Result<(), SqlError> {
        if !self.transaction.read_only.get() || is_temporary(&sequence.name) {
            return Ok(());
        }
        let message = format!("cannot execute {function}() in a read-only transaction");
        Err(SqlError::new(state::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// Implements `nextval`: takes the next number of a sequence. `sequence` is its name or its id.
    ///
    /// # Errors
    /// 42P01 if there is no such sequence, 25006 in a read-only transaction, 2200H if the sequence is exhausted.
    pub fn next_value(&self, sequence: &Value<'_>) -> Result<i64, SqlError> {
        let sequence = self.sequence(sequence)?;
        self.check_may_write("nextval", &sequence)?;
        let (value, position) = sequence.next(self.place_log(&sequence))?;
        self.note_append(position);
        self.remember(sequence.id, value);
        Ok(value)
    }

    /// Returns the log to which a number of a sequence is written. Returns `None` if there is no log, in a rehearsal,
    /// and for a temporary sequence.
    fn place_log(&self, sequence: &Sequence) -> Option<&PlaceLog> {
        self.shared.places().filter(|_| !self.is_rehearsing() && !is_temporary(&sequence.name))
    }

    /// Records that the log must be durable up to `position` before the client sees the results of the statement.
    pub(crate) fn note_append(&self, position: Position) {
        self.numbers.unseen.set(self.numbers.unseen.get().max(position));
    }

    /// Whether the results of the present statement must be withheld from the client, because they may contain numbers
    /// of sequences that a crash could assign again.
    #[inline]
    pub(crate) fn has_unseen_numbers(&self) -> bool {
        self.numbers.unseen.get() > Position::default()
    }

    /// Waits until no crash can assign the session's numbers again. A statement calls this before the client sees its
    /// results, unless its transaction commits before that.
    ///
    /// # Errors
    /// If the log has failed.
    pub(crate) fn await_numbers(&self, waiter: &Waiter) -> Result<(), LogFailed> {
        let position = self.numbers.unseen.take();
        match self.shared.places() {
            Some(log) if position > Position::default() => log.sink().wait_durable(position, waiter),
            _ => Ok(()),
        }
    }

    /// Records that the client may see the session's numbers. The caller has committed a transaction, which made the
    /// log durable up to them.
    pub(crate) fn show_numbers(&self) {
        self.numbers.unseen.set(Position::default());
    }

    fn remember(&self, id: u32, value: i64) {
        let mut recent = self.numbers.recent.borrow_mut();
        recent.values.insert(id, value);
        recent.last = Some(id);
    }

    /// Implements `currval`: returns the last number that the session got from a sequence.
    ///
    /// # Errors
    /// 55000 if the session has got no number from the sequence.
    pub fn current_value(&self, sequence: &Value<'_>) -> Result<i64, SqlError> {
        let sequence = self.sequence(sequence)?;
        self.numbers.recent.borrow().values.get(&sequence.id).copied().ok_or_else(|| {
            let message = format!("currval of sequence \"{}\" is not yet defined in this session", sequence.name);
            SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// Implements `lastval`: returns the last number that the session got by `nextval`, from any sequence.
    ///
    /// # Errors
    /// 55000 if the session has got none, or if the sequence does not exist any more.
    pub fn last_value(&self) -> Result<i64, SqlError> {
        let recent = self.numbers.recent.borrow();
        let known = recent.last.filter(|id| self.view().sequence_by_id(*id).is_some());
        known.and_then(|id| recent.values.get(&id).copied()).ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// Returns the present state of a sequence, for the columns `last_value` and `is_called` of a sequence in FROM.
    ///
    /// # Errors
    /// 42P01 if there is no such sequence.
    pub fn stand(&self, sequence: &Value<'_>) -> Result<At, SqlError> {
        let sequence = self.sequence(sequence)?;
        let at = sequence.place.at();
        self.note_append(sequence.place.position());
        Ok(at)
    }

    /// Implements `setval`: sets the position of a sequence. If `is_taken` is set, the next number is the one after
    /// `value`; otherwise it is `value` itself.
    ///
    /// # Errors
    /// 25006 in a read-only transaction, 22003 if the value is outside the sequence's limits.
    pub fn set_value(&self, sequence: &Value<'_>, value: i64, is_taken: bool) -> Result<i64, SqlError> {
        let sequence = self.sequence(sequence)?;
        self.check_may_write("setval", &sequence)?;
        let position = sequence.set(value, is_taken, self.place_log(&sequence))?;
        self.note_append(position);
        if is_taken {
            self.numbers.recent.borrow_mut().values.insert(sequence.id, value);
        }
        Ok(value)
    }

    /// Implements `pg_get_serial_sequence`: returns the name of the sequence that a column owns, with its schema, or
    /// `None` if the column owns none.
    ///
    /// # Errors
    /// 42P01 or 42703 if there is no such table or column.
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
