//! Sequences: counters that assign each number only once, unless they cycle.

use super::place_log::{At, PlaceLog};
use crate::parse::sequence::SequenceOption;
use crate::{SqlError, state};
use hotrow_storage::{Position, Type};
use hotrow_sync::{Arc, Latch};

/// The definition of a sequence, which never changes: ALTER makes another definition with the same id.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The id by which other definitions refer to the sequence. Renaming does not change it.
    pub id: u32,
    /// The [full name](crate::schema) of the sequence.
    pub name: String,
    /// The type of the sequence's numbers.
    pub ty: Type,
    /// The difference between a number and the next one.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// The first number.
    pub start: i64,
    /// CYCLE: whether the sequence continues at its other limit when it is exhausted.
    pub cycle: bool,
    /// The table and the column that own the sequence (OWNED BY): if either is dropped, so is the sequence.
    pub owner: Option<(String, String)>,
    /// The comment that COMMENT ON SEQUENCE has set.
    pub comment: Option<String>,
    /// The current position. All definitions of a sequence share it, until a RESTART gives the sequence a new place.
    pub place: Arc<Place>,
}

/// The count of numbers that a record of the log covers beyond the number that is asked for. A sequence appends one
/// record for these numbers, and skips at most as many after a crash.
const AHEAD: i64 = 32;

/// The current position of a sequence, and the part of it that the log has.
#[derive(Debug)]
pub struct Place {
    /// The number by which the log refers to the place. No other place of the database has had it.
    pub number: u32,
    state: Latch<State>,
}

#[derive(Debug)]
struct State {
    at: At,
    /// The count of further numbers that the last record of the log covers. The sequence takes them without another
    /// record.
    ahead: i64,
    /// The increment between the numbers that the last record covers.
    increment: i64,
    /// The position of the last record of the place.
    position: Position,
}

impl Place {
    /// Makes a place that has no record in the log. After a crash the sequence's definition gives its position.
    pub fn new(number: u32, at: At) -> Arc<Self> {
        let state = State { at, ahead: 0, increment: 0, position: Position::default() };
        Arc::new(Self { number, state: Latch::new(state) })
    }

    /// Returns the number at which the sequence stands.
    pub fn at(&self) -> At {
        self.state.lock().at
    }

    /// Returns the position in the log of the last record of the place.
    pub fn position(&self) -> Position {
        self.state.lock().position
    }

    /// Appends a record with the number at which the sequence stands, unless the last record has it. The next number is
    /// then the same after a crash.
    pub fn store(&self, log: &PlaceLog) {
        let mut state = self.state.lock();
        if state.ahead > 0 {
            state.store(self.number, log);
        }
    }
}

impl State {
    /// Appends a record with the number at which the sequence stands.
    fn store(&mut self, number: u32, log: &PlaceLog) {
        self.position = log.put(number, self.at);
        self.ahead = 0;
    }
}

impl Sequence {
    /// Makes a sequence with the given options. By default it ascends from 1 by 1.
    ///
    /// # Errors
    /// An option is invalid or conflicts with another.
    pub fn new(id: u32, name: &str, ty: Type, options: &[SequenceOption]) -> Result<Self, SqlError> {
        let place = Place::new(id, At { last: 1, is_taken: false });
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
        plain.with(options, true, || id)
    }

    /// Returns the definition with these options changed. If they give a type, a limit that is the limit of the old
    /// type becomes the limit of the given type, unless the options set it to a number. A change of the direction does
    /// not change the limits. `is_new` is set for the options of CREATE. `new_place` returns the number for the new
    /// place that CREATE and RESTART make.
    ///
    /// # Errors
    /// An option is invalid or conflicts with another.
    pub fn with(
        &self,
        options: &[SequenceOption],
        is_new: bool,
        new_place: impl FnOnce() -> u32,
    ) -> Result<Self, SqlError> {
        check_options(options)?;
        let mut changed = self.clone();
        let (mut min, mut max, mut start, mut restart) = (None, None, None, None);
        let mut is_typed = false;
        for option in options {
            match option {
                SequenceOption::Type(name) => {
                    let ty = crate::parse::parse_type(name).and_then(|ty| crate::parse::data_type(&ty))?;
                    if !ty.is_integer() {
                        return Err(wrong("sequence type must be smallint, integer, or bigint".to_owned()));
                    }
                    is_typed = true;
                    changed.ty = ty;
                }
                SequenceOption::Increment(0) => return Err(wrong("INCREMENT must not be zero".to_owned())),
                SequenceOption::Increment(by) => changed.increment = *by,
                SequenceOption::Min(value) => min = Some(*value),
                SequenceOption::Max(value) => max = Some(*value),
                SequenceOption::Start(value) => start = Some(*value),
                SequenceOption::Restart(value) => restart = Some(*value),
                SequenceOption::Cache(..=0) => return Err(wrong("CACHE must be greater than zero".to_owned())),
                SequenceOption::Cache(_) | SequenceOption::OwnedBy(_) | SequenceOption::Name(_) => {}
                SequenceOption::Cycle(cycle) => changed.cycle = *cycle,
            }
        }
        let (least, greatest) = range(changed.ty);
        let (old_least, old_greatest) = range(self.ty);
        let ascends = changed.increment > 0;
        let follows_type = is_typed && !is_new;
        changed.min = match min {
            Some(Some(min)) => min,
            _ if follows_type && self.min == old_least => least,
            None if !is_new => self.min,
            _ if ascends => 1,
            _ => least,
        };
        changed.max = match max {
            Some(Some(max)) => max,
            _ if follows_type && self.max == old_greatest => greatest,
            None if !is_new => self.max,
            _ if ascends => greatest,
            _ => -1,
        };
        if is_new {
            changed.start = if ascends { changed.min } else { changed.max };
        }
        changed.start = start.unwrap_or(changed.start);
        let at = match restart {
            Some(at) => At { last: at.unwrap_or(changed.start), is_taken: false },
            None if is_new => At { last: changed.start, is_taken: false },
            None => self.place.at(),
        };
        changed.check_limits(at)?;
        if is_new || restart.is_some() {
            changed.place = Place::new(new_place(), at);
        }
        Ok(changed)
    }

    fn check_limits(&self, at: At) -> Result<(), SqlError> {
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
        for (name, value) in [("START", self.start), ("RESTART", at.last)] {
            if value < min {
                return Err(wrong(format!("{name} value ({value}) cannot be less than MINVALUE ({min})")));
            }
            if value > max {
                return Err(wrong(format!("{name} value ({value}) cannot be greater than MAXVALUE ({max})")));
            }
        }
        Ok(())
    }

    /// Returns the definition with a new place at the start, as `RESTART IDENTITY` requires.
    pub fn restarted(&self, new_place: u32) -> Self {
        self.standing(new_place, At { last: self.start, is_taken: false })
    }

    /// Returns a copy of the sequence with a position of its own, which begins at the present number. Numbers that are
    /// taken from one of the two do not affect the other.
    pub(crate) fn detached(&self) -> Self {
        self.standing(self.place.number, self.place.at())
    }

    /// Returns a copy of the definition with a new place, which has the number `place` and stands at `at`.
    pub fn standing(&self, place: u32, at: At) -> Self {
        Self { place: Place::new(place, at), ..self.clone() }
    }

    /// Takes the next number. A rollback of the transaction does not give it back. Returns the number, and the position
    /// of the record of the log that covers it; without a log, the position is the default.
    ///
    /// # Errors
    ///
    /// 2200H if the sequence is exhausted and does not cycle; 53100 or 58030 if the log cannot be written at present.
    pub fn next(&self, log: Option<&PlaceLog>) -> Result<(i64, Position), SqlError> {
        let mut state = self.place.state.lock();
        let mut at = At { is_taken: true, ..state.at };
        let mut is_next = true;
        if state.at.is_taken {
            let next = self.after(state.at.last, 1);
            is_next = next.is_some();
            at.last = match next {
                Some(next) => next,
                None if self.cycle && self.increment > 0 => self.min,
                None if self.cycle => self.max,
                None => return Err(self.exhausted()),
            };
        }
        let Some(log) = log else {
            state.at = at;
            return Ok((at.last, Position::default()));
        };
        let is_covered = is_next && state.ahead > 0 && state.increment == self.increment;
        if !is_covered {
            log.check()?;
            let mut steps = (0..=AHEAD).rev().filter_map(|steps| Some((steps, self.after(at.last, steps)?)));
            let (ahead, last) = steps.next().unwrap_or((0, at.last));
            let position = log.put(self.place.number, At { last, is_taken: true });
            *state = State { at, ahead, increment: self.increment, position };
        } else {
            state.at = at;
            state.ahead -= 1;
        }
        Ok((at.last, state.position))
    }

    /// Returns the number that comes `steps` steps after `number`, or `None` if it is beyond the sequence's limits.
    fn after(&self, number: i64, steps: i64) -> Option<i64> {
        let by = self.increment.checked_mul(steps)?;
        number.checked_add(by).filter(|next| (self.min..=self.max).contains(next))
    }

    fn exhausted(&self) -> SqlError {
        let (what, limit) = if self.increment > 0 { ("maximum", self.max) } else { ("minimum", self.min) };
        let message = format!("nextval: reached {what} value of sequence \"{}\" ({limit})", self.name);
        SqlError::new(state::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message)
    }

    /// Sets the position, as `setval` does. If `is_taken` is set, [`next`](Self::next) returns the number after `last`.
    /// Otherwise it returns `last` itself. Returns the position of the last record of the place in the log.
    ///
    /// # Errors
    ///
    /// 22003 if the number is outside the sequence's limits; 53100 or 58030 if the log cannot be written at present.
    pub fn set(&self, last: i64, is_taken: bool, log: Option<&PlaceLog>) -> Result<Position, SqlError> {
        if !(self.min..=self.max).contains(&last) {
            let (name, min, max) = (&self.name, self.min, self.max);
            let message = format!("setval: value {last} is out of bounds for sequence \"{name}\" ({min}..{max})");
            return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let mut state = self.place.state.lock();
        if let Some(log) = log {
            log.check()?;
            state.at = At { last, is_taken };
            state.store(self.place.number, log);
        }
        state.at = At { last, is_taken };
        Ok(state.position)
    }
}

/// Returns the least and the greatest number of an integer type.
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
