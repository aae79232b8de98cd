//! Sequences: counters that assign each number only once, unless they cycle.

use crate::parse::sequence::SequenceOption;
use crate::{SqlError, state};
use hotrow_storage::Type;
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
    /// The current position. All definitions of a sequence share it, until a RESTART gives the sequence a new position.
    pub place: Arc<Latch<Place>>,
}

/// The current position of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The last number that was taken, or the number to be taken next if `is_taken` is false.
    pub last: i64,
    /// Whether `last` has been taken.
    pub is_taken: bool,
}

impl Sequence {
    /// Makes a sequence with the given options. By default it ascends from 1 by 1.
    ///
    /// # Errors
    /// An option is invalid or conflicts with another.
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

    /// Returns the definition with these options changed. If they change the type or the direction, a limit that had
    /// its default gets the new default, unless the options set it. `is_new` is set for the options of CREATE.
    ///
    /// # Errors
    /// An option is invalid or conflicts with another.
    pub fn with(&self, options: &[SequenceOption], is_new: bool) -> Result<Self, SqlError> {
        check_options(options)?;
        let mut changed = self.clone();
        let (mut min, mut max, mut start, mut restart) = (None, None, None, None);
        let mut is_retyped = false;
        for option in options {
            match option {
                SequenceOption::Type(name) => {
                    let ty = crate::parse::parse_type(name).and_then(|ty| crate::parse::data_type(&ty))?;
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

    /// Returns the definition with a new position at the start, as `RESTART IDENTITY` requires.
    pub fn restarted(&self) -> Self {
        self.at(Place { last: self.start, is_taken: false })
    }

    /// Returns a copy of the sequence with a position of its own, which begins at the present number. Numbers that are
    /// taken from one of the two do not affect the other.
    pub(crate) fn detached(&self) -> Self {
        self.at(*self.place.lock())
    }

    /// Returns a copy of the definition with a place of its own.
    fn at(&self, place: Place) -> Self {
        Self { place: Arc::new(Latch::new(place)), ..self.clone() }
    }

    /// Takes the next number, also if the transaction is rolled back later.
    ///
    /// # Errors
    ///
    /// 2200H if the sequence is exhausted and does not cycle.
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

    /// Sets the position, as `setval` does. If `is_taken` is set, [`next`](Self::next) returns the number after `last`.
    /// Otherwise it returns `last` itself.
    ///
    /// # Errors
    ///
    /// 22003 if the number is outside the sequence's limits.
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
