//! Sequences: numbers that no two callers get twice.
//!
//! A sequence's definition is part of the catalog and changes with its transactions. Where it stands is not: [`Sequence::next`] takes a
//! number under a latch, at once and for good. No transaction waits for another one's number, and a number that was taken by one that
//! rolls back is a gap. A sequence that is rolled back with the transaction that made it takes its place along, for nobody else knows it.

use crate::catalog::{Changes, View};
use crate::client::Notice;
use crate::database::Database;
use crate::deferred::Deferred;
use crate::parse::written_name;
use crate::schema::{self, RelationName};
use crate::seat::Seat;
use crate::settings::Settings;
use crate::types::Styles;
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::{Arc, Latch};
use hotrow_txn::Isolation;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// A sequence's definition, which never changes: ALTER makes another one of the same number.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// What definitions that use it know it by; its name may change.
    pub id: u32,
    /// Its [full name](schema).
    pub name: String,
    /// The type of its numbers.
    pub ty: Type,
    /// From one number to the next.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// The first number.
    pub start: i64,
    /// Whether it begins again at its other end.
    pub cycle: bool,
    /// The table and column with which it is dropped.
    pub owner: Option<(String, String)>,
    /// COMMENT ON SEQUENCE
    pub comment: Option<String>,
    /// Where it stands; definitions that follow each other share it.
    pub place: Arc<Latch<Place>>,
}

/// Where a sequence stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The last number, or the first one.
    pub last: i64,
    /// Whether that one has been taken.
    pub is_taken: bool,
}

/// A clause of CREATE and ALTER SEQUENCE, or of an identity column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceOption {
    /// AS
    Type(String),
    /// INCREMENT BY
    Increment(i64),
    /// MINVALUE; `None` is NO MINVALUE.
    Min(Option<i64>),
    /// MAXVALUE; `None` is NO MAXVALUE.
    Max(Option<i64>),
    /// START WITH
    Start(i64),
    /// RESTART WITH; `None` restarts at the start.
    Restart(Option<i64>),
    /// CACHE, of which nothing is made.
    Cache(i64),
    /// CYCLE, NO CYCLE
    Cycle(bool),
    /// OWNED BY a table's column; `None` is NONE.
    OwnedBy(Option<(RelationName, String)>),
}

impl Sequence {
    /// An ascending sequence from 1, with options.
    pub fn new(id: u32, name: &str, ty: Type, options: &[SequenceOption]) -> Result<Self, SqlError> {
        let place = Arc::new(Latch::new(Place { last: 1, is_taken: false }));
        let plain = Self {
            id,
            name: name.to_owned(),
            ty,
            increment: 1,
            min: 1,
            max: 1,
            start: 1,
            cycle: false,
            owner: None,
            comment: None,
            place,
        };
        plain.with(options, true)
    }

    /// The definition with other options. What limits are not given, and were the type's, are those of the new type or direction.
    pub fn with(&self, options: &[SequenceOption], is_new: bool) -> Result<Self, SqlError> {
        check_options(options)?;
        let mut changed = self.clone();
        let (mut min, mut max, mut start, mut restart) = (None, None, None, None);
        let mut is_retyped = false;
        for option in options {
            match option {
                SequenceOption::Type(name) => {
                    let ty = crate::parse::parse_type(name).and_then(|ty| crate::bind::data_type(&ty))?;
                    if !ty.is_integer() {
                        return Err(wrong("sequence type must be smallint, integer, or bigint".to_owned()));
                    }
                    is_retyped = changed.ty != ty;
                    changed.ty = ty;
                }
                SequenceOption::Increment(0) => return Err(wrong("INCREMENT must not be zero".to_owned())),
                SequenceOption::Increment(by) => changed.increment = *by,
                SequenceOption::Min(value) => min = Some(*value),
                SequenceOption::Max(value) => max = Some(*value),
                SequenceOption::Start(value) => start = Some(*value),
                SequenceOption::Restart(value) => restart = Some(*value),
                SequenceOption::Cache(..=0) => return Err(wrong("CACHE must be greater than zero".to_owned())),
                SequenceOption::Cache(_) | SequenceOption::OwnedBy(_) => {}
                SequenceOption::Cycle(cycle) => changed.cycle = *cycle,
            }
        }
        let (least, greatest) = range(changed.ty);
        let (old_least, old_greatest) = range(self.ty);
        let ascends = changed.increment > 0;
        if is_new || min == Some(None) || (min.is_none() && is_retyped && self.min == old_least) {
            changed.min = if ascends { 1 } else { least };
        }
        if is_new || max == Some(None) || (max.is_none() && is_retyped && self.max == old_greatest) {
            changed.max = if ascends { greatest } else { -1 };
        }
        changed.min = min.flatten().unwrap_or(changed.min);
        changed.max = max.flatten().unwrap_or(changed.max);
        if is_new {
            changed.start = if ascends { changed.min } else { changed.max };
        }
        changed.start = start.unwrap_or(changed.start);
        let place = match restart {
            Some(at) => Place { last: at.unwrap_or(changed.start), is_taken: false },
            None if is_new => Place { last: changed.start, is_taken: false },
            None => *self.place.lock(),
        };
        changed.check_limits(place)?;
        if is_new || restart.is_some() {
            changed.place = Arc::new(Latch::new(place));
        }
        Ok(changed)
    }

    fn check_limits(&self, place: Place) -> Result<(), SqlError> {
        let (least, greatest) = range(self.ty);
        for (name, value) in [("MAXVALUE", self.max), ("MINVALUE", self.min)] {
            if !(least..=greatest).contains(&value) {
                let message = format!("{name} ({value}) is out of range for sequence data type {}", self.ty);
                return Err(wrong(message));
            }
        }
        let (min, max) = (self.min, self.max);
        if min >= max {
            return Err(wrong(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
        }
        for (name, value) in [("START", self.start), ("RESTART", place.last)] {
            if value < min {
                return Err(wrong(format!("{name} value ({value}) cannot be less than MINVALUE ({min})")));
            }
            if value > max {
                return Err(wrong(format!("{name} value ({value}) cannot be greater than MAXVALUE ({max})")));
            }
        }
        Ok(())
    }

    /// The same sequence at its start again: what `RESTART IDENTITY` makes.
    pub fn restarted(&self) -> Self {
        self.at(Place { last: self.start, is_taken: false })
    }

    /// The same definition at a place of its own.
    fn at(&self, place: Place) -> Self {
        Self { place: Arc::new(Latch::new(place)), ..self.clone() }
    }

    /// Takes the next number.
    pub fn next(&self) -> Result<i64, SqlError> {
        let mut place = self.place.lock();
        if place.is_taken {
            let next = place.last.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next));
            place.last = match next {
                Some(next) => next,
                None if self.cycle => {
                    if self.increment > 0 {
                        self.min
                    } else {
                        self.max
                    }
                }
                None => return Err(self.exhausted()),
            };
        }
        place.is_taken = true;
        Ok(place.last)
    }

    fn exhausted(&self) -> SqlError {
        let (what, limit) = if self.increment > 0 { ("maximum", self.max) } else { ("minimum", self.min) };
        let message = format!("nextval: reached {what} value of sequence \"{}\" ({limit})", self.name);
        SqlError::new(state::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message)
    }

    /// Puts it at a number, which has been taken or will be the next one.
    pub fn set(&self, last: i64, is_taken: bool) -> Result<(), SqlError> {
        if !(self.min..=self.max).contains(&last) {
            let (name, min, max) = (&self.name, self.min, self.max);
            let message = format!("setval: value {last} is out of bounds for sequence \"{name}\" ({min}..{max})");
            return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        *self.place.lock() = Place { last, is_taken };
        Ok(())
    }
}

/// The numbers of a type.
fn range(ty: Type) -> (i64, i64) {
    match ty {
        Type::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn check_options(options: &[SequenceOption]) -> Result<(), SqlError> {
    for (at, option) in options.iter().enumerate() {
        let same = |other: &SequenceOption| std::mem::discriminant(other) == std::mem::discriminant(option);
        if options[..at].iter().any(same) {
            return Err(SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options"));
        }
    }
    Ok(())
}

fn wrong(message: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// What a session's expressions know of the catalog: its sequences, and which numbers the session has had from them.
#[derive(Debug)]
pub struct Names {
    database: Arc<Database>,
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
    /// Checks that the session's transaction has yet to make.
    pub(crate) deferred: RefCell<Deferred>,
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

impl Names {
    /// Of a new session.
    pub(crate) fn new(database: Arc<Database>, seat: Arc<Seat>) -> Self {
        let isolation = database.config.default_isolation;
        let settings = Settings::new(&seat.user, isolation).with_early_release(database.config.early_release);
        Self {
            isolation: Cell::new(isolation),
            transaction: Cell::new(0),
            settings: RefCell::new(settings.heeded_by(seat.clone())),
            database,
            seat,
            may_wait: Cell::new(false),
            notices: RefCell::default(),
            changes: Changes::default(),
            path: None,
            recent: RefCell::default(),
            rehearsal: RefCell::default(),
            read_only: Cell::new(false),
            deferred: RefCell::default(),
        }
    }

    /// Whether statements run without effect.
    pub(crate) fn is_rehearsing(&self) -> bool {
        self.rehearsal.borrow().is_some()
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The catalog with the transaction's own changes.
    pub fn view(&self) -> View<'_> {
        View {
            catalog: &self.database.catalog,
            changes: &self.changes,
            path: self.path.as_ref(),
            styles: self.styles(),
        }
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
            self.deferred.borrow_mut().clear();
        }
    }

    /// The sequence that an argument means: a name, or a definition's number of it.
    fn sequence(&self, argument: &Value<'_>) -> Result<Arc<Sequence>, SqlError> {
        let sequence = match argument {
            Value::Text(name) => named(self.view(), name)?,
            other => {
                let id = other.as_int().and_then(|id| u32::try_from(id).ok());
                let found = id.and_then(|id| self.view().sequence_by_id(id));
                found.ok_or_else(|| SqlError::new(state::UNDEFINED_TABLE, "the sequence does not exist any more"))?
            }
        };
        let mut rehearsal = self.rehearsal.borrow_mut();
        let Some(Rehearsal { sequences, .. }) = &mut *rehearsal else { return Ok(sequence) };
        let own = sequences.entry(sequence.id).or_insert_with(|| Arc::new(sequence.at(*sequence.place.lock())));
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
        let Some(known) = view.table(&table) else { return Err(crate::bind::undefined_table(&table)) };
        crate::bind::column_of(&known, column)?;
        let owner = Some((table, column.to_owned()));
        let found = view.sequences().into_iter().find(|sequence| sequence.owner == owner);
        let written = |name: &str| {
            let (schema, name) = schema::split(name);
            format!("{}.{}", quoted(schema), quoted(name))
        };
        Ok(found.map(|sequence| written(&sequence.name)))
    }
}

/// The sequence of a name as functions are given it: `s`, `"S"`, `public.s`.
pub fn named(view: View<'_>, name: &str) -> Result<Arc<Sequence>, SqlError> {
    let name = view.find(&written_name(name)?);
    view.sequence(&name).ok_or_else(|| match view.has_relation(&name) {
        true => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence")),
        false => crate::bind::undefined_table(&name),
    })
}

/// A name as it would have to be written.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
