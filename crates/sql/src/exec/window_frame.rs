//! The rows that a window function looks at.
//!
//! From row to row a frame's ends only move forward, so both are found in one walk over the partition.

use crate::expr::{Arithmetic, Env, Input, Kept, compare};
use crate::parse::window::Exclusion;
use crate::plan::SortKey;
use crate::plan::window::{FrameBound, FrameUnits, WindowFrame, WindowSort};
use crate::types::SessionZone;
use crate::{SqlError, state};
use hotrow_storage::{Interval, Value};
use std::ops::Range;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The rows of one partition, in the order of the window.
pub(super) struct Partition<'p> {
    pub(super) rows: &'p Kept,
    /// The numbers of the partition's rows among `rows`, in the window's order.
    pub(super) order: &'p [usize],
    /// The starts of the groups of peers, rows that are equal in the order, and the end of the last group.
    pub(super) peers: &'p [usize],
}

impl<'p> Partition<'p> {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn row(&self, at: usize) -> Input<'p> {
        Input::Values(self.rows.row(self.order[at]))
    }
}

/// A row of a partition, and the group of equal rows that it is in.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) group: usize,
}

/// A frame whose offsets have been evaluated.
pub(super) struct Frame {
    units: FrameUnits,
    start: Edge,
    end: Edge,
    exclusion: Exclusion,
    /// The key by which the rows are ordered, if there is exactly one.
    key: Option<SortKey>,
    /// The time zone in which the days and months of an offset are added to a `timestamptz`.
    zone: SessionZone,
    /// The bounds of the last frame of a RANGE with offsets.
    first: usize,
    last: usize,
}

/// A bound of a frame.
enum Edge {
    Unbounded,
    Current,
    /// The row or group that is `count` rows or groups away.
    Away {
        ahead: bool,
        count: usize,
    },
    /// The place from which on values differ by `distance`.
    Distant {
        ahead: bool,
        distance: Value<'static>,
    },
}

impl Edge {
    /// Evaluates a bound of a frame. `what` is "starting" or "ending", for messages.
    fn new(bound: &FrameBound, units: FrameUnits, what: &str, env: &Env<'_>) -> Result<Self, SqlError> {
        let (offset, ahead) = match bound {
            FrameBound::Unbounded => return Ok(Edge::Unbounded),
            FrameBound::CurrentRow => return Ok(Edge::Current),
            FrameBound::Preceding(offset) => (offset, false),
            FrameBound::Following(offset) => (offset, true),
        };
        let value = offset.eval(env, &Input::NONE)?.into_owned();
        if value.is_null() {
            let message = format!("frame {what} offset must not be null");
            return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
        }
        if units == FrameUnits::Range {
            return Ok(Edge::Distant { ahead, distance: value });
        }
        match value.as_int().map(usize::try_from) {
            Some(Ok(count)) => Ok(Edge::Away { ahead, count }),
            _ => {
                let message = format!("frame {what} offset must not be negative");
                Err(SqlError::new(state::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message))
            }
        }
    }
}

impl Frame {
    pub(super) fn new(frame: &WindowFrame, sort: &WindowSort, env: &Env<'_>) -> Result<Self, SqlError> {
        let start = Edge::new(&frame.start, frame.units, "starting", env)?;
        let end = Edge::new(&frame.end, frame.units, "ending", env)?;
        let key = sort.keys.get(sort.partition).cloned();
        Ok(Self {
            units: frame.units,
            start,
            end,
            exclusion: frame.exclusion,
            key,
            zone: env.styles.zone,
            first: 0,
            last: 0,
        })
    }

    /// Prepares the frame for the first row of a partition.
    pub(super) fn begin(&mut self) {
        (self.first, self.last) = (0, 0);
    }

    /// Whether the frame may leave out rows between its first and its last row.
    pub(super) fn has_gaps(&self) -> bool {
        self.exclusion != Exclusion::Nothing
    }

    /// Returns the rows of the frame of the current row: three parts in order, each of which may be empty. A frame
    /// without gaps is the first part.
    pub(super) fn rows(&mut self, partition: &Partition<'_>, here: Place) -> Result<[Range<usize>; 3], SqlError> {
        let start = self.start(partition, here)?;
        let end = self.end(partition, here)?.max(start);
        let group = partition.peers[here.group]..partition.peers[here.group + 1];
        let (row, none) = (here.row..here.row + 1, here.row..here.row);
        let (out, back) = match self.exclusion {
            Exclusion::Nothing => return Ok([start..end, end..end, end..end]),
            Exclusion::CurrentRow => (row, none),
            Exclusion::Group => (group, none),
            Exclusion::Ties => (group, row),
        };
        let within = |part: Range<usize>| {
            let from = part.start.clamp(start, end);
            from..part.end.clamp(from, end)
        };
        Ok([within(start..out.start), within(back), within(out.end..end)])
    }

    /// Returns the first row of the frame of the current row.
    fn start(&mut self, partition: &Partition<'_>, here: Place) -> Result<usize, SqlError> {
        let (rows, peers) = (partition.len(), partition.peers);
        let in_rows = self.units == FrameUnits::Rows;
        Ok(match &self.start {
            Edge::Unbounded => 0,
            Edge::Current if in_rows => here.row,
            Edge::Current => peers[here.group],
            Edge::Away { ahead: false, count } if in_rows => here.row.saturating_sub(*count),
            Edge::Away { ahead: true, count } if in_rows => here.row.saturating_add(*count).min(rows),
            Edge::Away { ahead: false, count } => peers[here.group.saturating_sub(*count)],
            Edge::Away { ahead: true, count } => peers[here.group.saturating_add(*count).min(peers.len() - 1)],
            Edge::Distant { ahead, distance } => {
                while self.first < rows && self.is_before(partition, here, *ahead, distance)? {
                    self.first += 1;
                }
                self.first
            }
        })
    }

    /// Returns the row after the last row of the frame of the current row.
    fn end(&mut self, partition: &Partition<'_>, here: Place) -> Result<usize, SqlError> {
        let (rows, peers) = (partition.len(), partition.peers);
        let in_rows = self.units == FrameUnits::Rows;
        Ok(match &self.end {
            Edge::Unbounded => rows,
            Edge::Current if in_rows => here.row + 1,
            Edge::Current => peers[here.group + 1],
            Edge::Away { ahead: false, count } if in_rows => (here.row + 1).saturating_sub(*count),
            Edge::Away { ahead: true, count } if in_rows => here.row.saturating_add(*count).saturating_add(1).min(rows),
            Edge::Away { ahead: false, count } => peers[(here.group + 1).saturating_sub(*count)],
            Edge::Away { ahead: true, count } => {
                peers[here.group.saturating_add(*count).saturating_add(1).min(peers.len() - 1)]
            }
            Edge::Distant { ahead, distance } => {
                while self.last < rows && self.is_not_after(partition, here, *ahead, distance)? {
                    self.last += 1;
                }
                self.last
            }
        })
    }

    /// Returns the values by which a row and the current row are ordered, whether greater values come first, and
    /// whether NULLs come first.
    fn pair<'p>(&self, partition: &Partition<'p>, row: usize, here: Place) -> (Value<'p>, Value<'p>, bool, bool) {
        let Some(key) = &self.key else { return (Value::Null, Value::Null, false, false) };
        let of = |row| partition.row(row).value(key.column);
        (of(row), of(here.row), key.descending, key.nulls_first)
    }

    /// Whether the row at `first` comes before the first row of the frame of the current row, `here`.
    fn is_before(
        &self,
        partition: &Partition<'_>,
        here: Place,
        ahead: bool,
        distance: &Value<'_>,
    ) -> Result<bool, SqlError> {
        let (value, base, descending, nulls_first) = self.pair(partition, self.first, here);
        Ok(match (value.is_null(), base.is_null()) {
            (false, false) => !self.in_range(&value, &base, distance, ahead == descending, descending)?,
            (null, of_null) => {
                if nulls_first {
                    null && !of_null
                } else {
                    !null && of_null
                }
            }
        })
    }

    /// Whether the row at `last` comes before the end of the frame of the current row, `here`.
    fn is_not_after(
        &self,
        partition: &Partition<'_>,
        here: Place,
        ahead: bool,
        distance: &Value<'_>,
    ) -> Result<bool, SqlError> {
        let (value, base, descending, nulls_first) = self.pair(partition, self.last, here);
        Ok(match (value.is_null(), base.is_null()) {
            (false, false) => self.in_range(&value, &base, distance, ahead == descending, !descending)?,
            (null, of_null) => {
                if nulls_first {
                    null
                } else {
                    of_null
                }
            }
        })
    }

    /// Compares a value with a limit, which is `base` plus `distance`, or minus it if `subtract` is set. Returns
    /// whether the value is at most the limit if `less` is set, and at least the limit otherwise. A limit that is out
    /// of its type's range lies beyond all values.
    ///
    /// # Errors
    /// 22013 if the distance is negative or NaN.
    fn in_range(
        &self,
        value: &Value<'_>,
        base: &Value<'_>,
        distance: &Value<'_>,
        subtract: bool,
        less: bool,
    ) -> Result<bool, SqlError> {
        let negative = || {
            let message = "invalid preceding or following size in window function";
            Err(SqlError::new(state::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message))
        };
        if let (Some(value), Some(base), Some(distance)) = (value.as_int(), base.as_int(), distance.as_int()) {
            if distance < 0 {
                return negative();
            }
            let (base, distance) = (i128::from(base), i128::from(distance));
            let limit = if subtract { base - distance } else { base + distance };
            return Ok(if less { i128::from(value) <= limit } else { i128::from(value) >= limit });
        }
        if let Value::Interval(distance) = distance {
            if distance.length() < 0 {
                return negative();
            }
            let limit = limit_of(base, *distance, subtract, self.zone);
            let Some(limit) = limit else { return Ok(subtract != less) };
            let order = compare(&moment(value), &limit, false);
            return Ok(if less { order.is_le() } else { order.is_ge() });
        }
        if let (Value::Numeric(value), Value::Numeric(base), Value::Numeric(distance)) = (value, base, distance) {
            if distance.is_negative() {
                return negative();
            }
            let limit = if subtract { base.subtract(distance) } else { base.add(distance) };
            return Ok(match limit {
                Ok(limit) if less => *value <= limit,
                Ok(limit) => *value >= limit,
                Err(_) => subtract != less,
            });
        }
        let float = |value: &Value<'_>| match value {
            Value::Float4(value) => f64::from(*value),
            Value::Float8(value) => *value,
            _ => f64::NAN,
        };
        let (value, base, distance) = (float(value), float(base), float(distance));
        if distance.is_nan() || distance < 0.0 {
            return negative();
        }
        // NaN is greater than all other values, and equal to itself.
        if value.is_nan() || base.is_nan() {
            return Ok(if value.is_nan() { base.is_nan() || !less } else { less });
        }
        if distance.is_infinite() && base.is_infinite() && (base > 0.0) == subtract {
            return Ok(true);
        }
        let limit = if subtract { base - distance } else { base + distance };
        Ok(if less { value <= limit } else { value >= limit })
    }
}

/// Returns the moment, time of day or interval that lies `distance` after `base`, or before it if `subtract` is set.
/// Returns `None` if the result is out of its type's range. Days and months are added to a `timestamptz` in `zone`.
fn limit_of(base: &Value<'_>, distance: Interval, subtract: bool, zone: SessionZone) -> Option<Value<'static>> {
    let op = if subtract { Arithmetic::Subtract } else { Arithmetic::Add };
    match base {
        // A time of day does not pass midnight here.
        Value::Time(time) if subtract => time.checked_sub(distance.micros).map(Value::Time),
        Value::Time(time) => time.checked_add(distance.micros).map(Value::Time),
        base => op.apply(&moment(base), &Value::Interval(distance), zone).ok(),
    }
}

/// Returns the value itself, or for a date the moment at which it begins.
fn moment<'v>(value: &'v Value<'_>) -> Value<'v> {
    match value {
        Value::Date(i32::MIN) => Value::Timestamp(i64::MIN),
        Value::Date(i32::MAX) => Value::Timestamp(i64::MAX),
        Value::Date(days) => Value::Timestamp(i64::from(*days) * MICROS_PER_DAY),
        other => other.borrowed(),
    }
}
