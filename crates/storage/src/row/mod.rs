//! Rows: fixed-width columns at fixed offsets, short strings in place, and one variable part for everything else.
//!
//! ```text
//! fixed part:     8-byte columns | 4-byte | 2-byte | 1-byte | NULL bitmap | bounded strings | unbounded strings' slots
//! variable part:  bytes of the strings that are not in the fixed part
//! ```
//!
//! A bounded string (`char(n)`, `varchar(n)`, n ≤ [`INLINE_LIMIT`]) has n bytes in the fixed part; text whose UTF-8
//! form needs more goes to the variable part. A `numeric` that may have more than 28 digits is stored as a bounded
//! string of 16 bytes, so that only a long number needs the variable part. The [`RowLayout`] holds the offsets; a
//! native procedure reaches a column with one look-up of its offset and no parsing.

mod layout;

pub use layout::{INLINE_LIMIT, RowLayout};

use crate::{Array, Interval, Type, Value};
use hotrow_numeric::{Decimal, Numeric};
use layout::{Place, Slot};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The length of a bounded string whose bytes are in the variable part. It stands in place of a real length.
const SPILLED: u16 = u16::MAX;

/// A row for reading, which borrows the row's fixed part and variable part.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    layout: &'a RowLayout,
    fixed: &'a [u8],
    variable: &'a [u8],
}

impl<'a> RowRef<'a> {
    /// Makes a row of its two parts. `fixed` has the layout's size.
    #[inline]
    pub fn new(layout: &'a RowLayout, fixed: &'a [u8], variable: &'a [u8]) -> Self {
        debug_assert_eq!(fixed.len(), layout.fixed_size);
        Self { layout, fixed, variable }
    }

    /// Makes a row of two parts that come from a file. Returns `None` if the parts cannot be a row's: the fixed part is
    /// not of the layout's size, a string's length exceeds its slot, or there is a variable part although the layout
    /// has none. A string whose place is not within the variable part reads as empty, as in any row.
    pub fn checked(layout: &'a RowLayout, fixed: &'a [u8], variable: &'a [u8]) -> Option<Self> {
        let fits = |slot: &Slot| match slot.place {
            Place::Fixed | Place::Variable => true,
            Place::Bounded { capacity } => match read_u16(fixed, slot.offset as usize) {
                SPILLED => true,
                length => length <= capacity,
            },
        };
        let is_row = fixed.len() == layout.fixed_size
            && if layout.has_variable { layout.slots.iter().all(fits) } else { variable.is_empty() };
        is_row.then_some(Self { layout, fixed, variable })
    }

    /// Returns the layout of the row.
    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }

    /// Returns the fixed part of the row.
    #[inline]
    pub fn fixed(&self) -> &'a [u8] {
        self.fixed
    }

    /// Returns the variable part of the row.
    #[inline]
    pub fn variable(&self) -> &'a [u8] {
        self.variable
    }

    /// Whether the value of a column is NULL.
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        self.fixed[self.layout.nulls + column / 8] & 1 << (column % 8) != 0
    }

    /// Returns the value of a `bigint` column, or zero if it is NULL.
    #[inline]
    pub fn int8(&self, column: usize) -> i64 {
        i64::from_le_bytes(self.array(column))
    }

    /// Returns the value of an `integer` column, or zero if it is NULL.
    #[inline]
    pub fn int4(&self, column: usize) -> i32 {
        i32::from_le_bytes(self.array(column))
    }

    /// Returns the value of a `smallint` column, or zero if it is NULL.
    #[inline]
    pub fn int2(&self, column: usize) -> i16 {
        i16::from_le_bytes(self.array(column))
    }

    /// Returns the value of a `double precision` column, or zero if it is NULL.
    #[inline]
    pub fn float8(&self, column: usize) -> f64 {
        f64::from_le_bytes(self.array(column))
    }

    /// Returns the value of a `numeric` column, or zero if it is NULL.
    #[inline]
    pub fn numeric(&self, column: usize) -> Numeric {
        match self.layout.slots[column].place {
            Place::Fixed => Numeric::from_fixed(self.array(column)),
            _ => Numeric::from_bytes(self.bytes(column)),
        }
    }

    /// Returns the value of a `numeric(p, s)` column of up to 18 digits as a whole number of units of its last digit:
    /// 12.50 in a `numeric(5, 2)` column is 1250. Returns zero if it is NULL.
    ///
    /// # Panics
    /// If the column is not a `numeric` with a scale, or may have more than 28 digits.
    #[inline]
    pub fn scaled(&self, column: usize) -> i64 {
        let scale = self.layout.scale(column);
        let mut number = Decimal::deserialize(self.array(column));
        if number.scale() != scale {
            number.rescale(scale);
        }
        debug_assert!(i64::try_from(number.mantissa()).is_ok(), "{number} has more than 18 digits");
        number.mantissa() as i64
    }

    /// Returns the bytes of a string, array or `bytea` column, which are empty if it is NULL.
    ///
    /// # Panics
    /// If the column is of another type.
    #[inline]
    pub fn bytes(&self, column: usize) -> &'a [u8] {
        let slot = self.layout.slots[column];
        let offset = slot.offset as usize;
        match slot.place {
            Place::Bounded { .. } => match read_u16(self.fixed, offset) {
                SPILLED => self.spilled(offset + 2),
                len => &self.fixed[offset + 2..offset + 2 + usize::from(len)],
            },
            Place::Variable => self.spilled(offset),
            Place::Fixed => panic!("column {column} is {}, not a string", slot.ty),
        }
    }

    /// Returns the value of a character column as a string, which is empty if it is NULL.
    #[inline]
    pub fn text(&self, column: usize) -> &'a str {
        let bytes = self.bytes(column);
        debug_assert!(std::str::from_utf8(bytes).is_ok());
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Whether a column has the same bytes in another row of the same layout. Equal bytes are equal values.
    #[inline]
    pub fn has_same(&self, column: usize, other: &RowRef<'_>) -> bool {
        let slot = self.layout.slots[column];
        self.is_null(column) == other.is_null(column)
            && match slot.ty.fixed_size() {
                Some((size, _)) => {
                    let range = slot.offset as usize..slot.offset as usize + size;
                    self.fixed[range.clone()] == other.fixed[range]
                }
                None => self.bytes(column) == other.bytes(column),
            }
    }

    /// Returns the value of a column of any type. Strings are borrowed from the row.
    pub fn value(&self, column: usize) -> Value<'a> {
        if self.is_null(column) {
            return Value::Null;
        }
        match self.layout.slots[column].ty {
            Type::Bool => Value::Bool(self.array::<1>(column)[0] != 0),
            Type::Int2 => Value::Int2(self.int2(column)),
            Type::Int4 | Type::Oid | Type::Reg(_) | Type::Enum(_) => Value::Int4(self.int4(column)),
            Type::Int8 => Value::Int8(self.int8(column)),
            Type::Float4 => Value::Float4(f32::from_le_bytes(self.array(column))),
            Type::Float8 => Value::Float8(self.float8(column)),
            Type::Numeric(_) => Value::Numeric(self.numeric(column)),
            Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name => Value::Text(Cow::Borrowed(self.text(column))),
            Type::Json => Value::Json(Cow::Borrowed(self.text(column))),
            Type::Jsonb => Value::Jsonb(Cow::Borrowed(self.text(column))),
            Type::Bytea => Value::Bytea(Cow::Borrowed(self.bytes(column))),
            Type::Date => Value::Date(self.int4(column)),
            Type::Timestamp(_) => Value::Timestamp(self.int8(column)),
            Type::TimestampTz(_) => Value::TimestampTz(self.int8(column)),
            Type::Time(_) => Value::Time(self.int8(column)),
            Type::Interval(_) => Value::Interval(Interval::from_bytes(self.array(column))),
            Type::Uuid => Value::Uuid(self.array(column)),
            Type::Array(_) => Value::Array(Array::from_bytes(self.bytes(column))),
        }
    }

    #[inline]
    fn array<const N: usize>(&self, column: usize) -> [u8; N] {
        let offset = self.layout.slots[column].offset as usize;
        debug_assert_eq!(self.layout.slots[column].ty.fixed_size().map(|(size, _)| size), Some(N));
        self.fixed[offset..offset + N].try_into().expect("the slice has N bytes")
    }

    fn spilled(&self, at: usize) -> &'a [u8] {
        let offset = read_u32(self.fixed, at) as usize;
        let len = read_u32(self.fixed, at + 4) as usize;
        // An engine without isolation may combine a slot and a variable part that never belonged together.
        self.variable.get(offset..offset + len).unwrap_or_default()
    }
}

impl fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.layout.columns()).map(|column| self.value(column))).finish()
    }
}

impl PartialEq for RowRef<'_> {
    /// Compares the values of the columns, whichever part of the rows they are in.
    fn eq(&self, other: &Self) -> bool {
        self.layout.columns() == other.layout.columns()
            && (0..self.layout.columns()).all(|column| self.value(column) == other.value(column))
    }
}

/// A row for changing. The fixed part is changed in place; the variable part is replaced when a string in it changes.
#[derive(Debug)]
pub struct RowMut<'a> {
    layout: &'a RowLayout,
    fixed: &'a mut [u8],
    variable: Cow<'a, [u8]>,
}

impl<'a> RowMut<'a> {
    /// Makes a row of its two parts. `fixed` has the layout's size.
    pub fn new(layout: &'a RowLayout, fixed: &'a mut [u8], variable: &'a [u8]) -> Self {
        debug_assert_eq!(fixed.len(), layout.fixed_size);
        Self { layout, fixed, variable: Cow::Borrowed(variable) }
    }

    /// Returns the row as it is now, for reading.
    #[inline]
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef { layout: self.layout, fixed: self.fixed, variable: &self.variable }
    }

    /// Ends the change. Returns the new variable part, or `None` if it is still the old one.
    pub fn into_variable(self) -> Option<Vec<u8>> {
        match self.variable {
            Cow::Borrowed(_) => None,
            Cow::Owned(bytes) => Some(bytes),
        }
    }

    /// Sets a `bigint` column.
    #[inline]
    pub fn set_int8(&mut self, column: usize, value: i64) {
        self.store(column, value.to_le_bytes());
    }

    /// Sets an `integer` column.
    #[inline]
    pub fn set_int4(&mut self, column: usize, value: i32) {
        self.store(column, value.to_le_bytes());
    }

    /// Sets a `double precision` column.
    #[inline]
    pub fn set_float8(&mut self, column: usize, value: f64) {
        self.store(column, value.to_le_bytes());
    }

    /// Sets a `numeric(p, s)` column to `value` units of its last digit: the inverse of [`RowRef::scaled`].
    #[inline]
    pub fn set_scaled(&mut self, column: usize, value: i64) {
        self.store(column, Decimal::new(value, self.layout.scale(column)).serialize());
    }

    /// Sets a `smallint` column.
    #[inline]
    pub fn set_int2(&mut self, column: usize, value: i16) {
        self.store(column, value.to_le_bytes());
    }

    /// Sets a column of any string type, an array column or a `bytea` column to these bytes.
    ///
    /// # Panics
    /// If the column is of another type.
    #[inline]
    pub fn set_bytes(&mut self, column: usize, bytes: &[u8]) {
        self.set_null(column, false);
        let slot = self.layout.slots[column];
        let offset = slot.offset as usize;
        match slot.place {
            Place::Bounded { capacity } if bytes.len() <= usize::from(capacity) => {
                if read_u16(self.fixed, offset) == SPILLED {
                    self.drop_spilled(column);
                }
                self.fixed[offset..offset + 2].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
                self.fixed[offset + 2..offset + 2 + bytes.len()].copy_from_slice(bytes);
            }
            Place::Bounded { .. } => {
                if read_u16(self.fixed, offset) == SPILLED {
                    self.drop_spilled(column);
                }
                self.fixed[offset..offset + 2].copy_from_slice(&SPILLED.to_le_bytes());
                self.spill(offset + 2, bytes);
            }
            Place::Variable => {
                self.drop_spilled(column);
                self.spill(offset, bytes);
            }
            Place::Fixed => panic!("column {column} is {}, not a string", slot.ty),
        }
    }

    /// Sets a column to a value of the column's type. The caller has cast the value and checked its bounds.
    ///
    /// # Panics
    /// If the value is of another type than the column.
    pub fn set(&mut self, column: usize, value: &Value<'_>) {
        match (self.layout.slots[column].ty, value) {
            (_, Value::Null) => self.set_null(column, true),
            (Type::Bool, Value::Bool(value)) => self.store(column, [u8::from(*value)]),
            (Type::Int2, Value::Int2(value)) => self.store(column, value.to_le_bytes()),
            (Type::Int4 | Type::Oid | Type::Reg(_) | Type::Enum(_), Value::Int4(value)) => {
                self.store(column, value.to_le_bytes())
            }
            (Type::Int8, Value::Int8(value)) => self.store(column, value.to_le_bytes()),
            (Type::Float4, Value::Float4(value)) => self.store(column, value.to_le_bytes()),
            (Type::Float8, Value::Float8(value)) => self.store(column, value.to_le_bytes()),
            (Type::Numeric(_), Value::Numeric(value)) => self.set_numeric(column, value),
            (Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name, Value::Text(value)) => {
                self.set_bytes(column, value.as_bytes());
            }
            (Type::Json, Value::Json(value)) | (Type::Jsonb, Value::Jsonb(value)) => {
                self.set_bytes(column, value.as_bytes());
            }
            (Type::Bytea, Value::Bytea(value)) => self.set_bytes(column, value),
            (Type::Date, Value::Date(value)) => self.store(column, value.to_le_bytes()),
            (Type::Timestamp(_), Value::Timestamp(value)) => self.store(column, value.to_le_bytes()),
            (Type::TimestampTz(_), Value::TimestampTz(value)) => self.store(column, value.to_le_bytes()),
            (Type::Time(_), Value::Time(value)) => self.store(column, value.to_le_bytes()),
            (Type::Interval(_), Value::Interval(value)) => self.store(column, value.to_bytes()),
            (Type::Uuid, Value::Uuid(value)) => self.store(column, *value),
            (Type::Array(_), Value::Array(value)) => self.set_bytes(column, value.bytes()),
            (ty, value) => panic!("{value:?} was not cast to its column's type {ty}"),
        }
    }

    fn set_numeric(&mut self, column: usize, value: &Numeric) {
        match (self.layout.slots[column].place, value.to_fixed()) {
            (Place::Fixed, fixed) => self.store(column, fixed.expect("the number was cast to its column's type")),
            // Zero without digits after the point is what a column has that was never set.
            (_, Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])) => self.set_bytes(column, &[]),
            (_, Some(fixed)) => self.set_bytes(column, &fixed),
            (_, None) => {
                let mut bytes = Vec::new();
                value.write_bytes(&mut bytes);
                self.set_bytes(column, &bytes);
            }
        }
    }

    fn store<const N: usize>(&mut self, column: usize, bytes: [u8; N]) {
        let offset = self.layout.slots[column].offset as usize;
        debug_assert_eq!(self.layout.slots[column].ty.fixed_size().map(|(size, _)| size), Some(N));
        self.fixed[offset..offset + N].copy_from_slice(&bytes);
        self.set_null(column, false);
    }

    fn set_null(&mut self, column: usize, null: bool) {
        let byte = &mut self.fixed[self.layout.nulls + column / 8];
        let bit = 1 << (column % 8);
        *byte = if null { *byte | bit } else { *byte & !bit };
    }

    fn spill(&mut self, at: usize, bytes: &[u8]) {
        let variable = self.variable.to_mut();
        let offset = variable.len() as u32;
        variable.extend_from_slice(bytes);
        self.fixed[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        self.fixed[at + 4..at + 8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    }

    /// Rebuilds the variable part without `column`'s bytes.
    fn drop_spilled(&mut self, column: usize) {
        let at = |slot: Slot, fixed: &[u8]| match slot.place {
            Place::Variable => Some(slot.offset as usize),
            Place::Bounded { .. } if read_u16(fixed, slot.offset as usize) == SPILLED => Some(slot.offset as usize + 2),
            _ => None,
        };
        let Some(own) = at(self.layout.slots[column], self.fixed) else { return };
        let gone_from = read_u32(self.fixed, own);
        let gone_len = read_u32(self.fixed, own + 4);
        self.fixed[own..own + 8].fill(0);
        if gone_len == 0 {
            return;
        }
        // A row that is changed without isolation may claim more bytes than there are, as when it is read.
        let variable = self.variable.to_mut();
        let end = (gone_from as usize + gone_len as usize).min(variable.len());
        variable.drain((gone_from as usize).min(end)..end);
        for slot in &self.layout.slots {
            let Some(other) = at(*slot, self.fixed) else { continue };
            let offset = read_u32(self.fixed, other);
            if offset > gone_from {
                self.fixed[other..other + 4].copy_from_slice(&offset.saturating_sub(gone_len).to_le_bytes());
            }
        }
    }
}

/// A row that owns its two parts.
#[derive(Clone)]
pub struct Row {
    layout: Arc<RowLayout>,
    fixed: Box<[u8]>,
    variable: Vec<u8>,
}

impl Row {
    /// Makes a row in which all numbers are zero, all strings are empty, and no column is NULL.
    pub fn new(layout: &Arc<RowLayout>) -> Self {
        Self { layout: layout.clone(), fixed: vec![0; layout.fixed_size].into(), variable: Vec::new() }
    }

    /// Makes a row of these values: one for each column, each of its column's type.
    ///
    /// # Panics
    /// If there are more or fewer values than columns, or a value is of another type than its column.
    pub fn from_values(layout: &Arc<RowLayout>, values: &[Value<'_>]) -> Self {
        assert_eq!(values.len(), layout.columns(), "one value a column");
        let mut row = Self::new(layout);
        row.change(|change| {
            for (column, value) in values.iter().enumerate() {
                change.set(column, value);
            }
        });
        row
    }

    /// Borrows the row for reading.
    #[inline]
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef { layout: &self.layout, fixed: &self.fixed, variable: &self.variable }
    }

    /// Changes the row by calling `change` on it, and returns the result of `change`.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut RowMut<'_>) -> R) -> R {
        let mut row = RowMut::new(&self.layout, &mut self.fixed, &self.variable);
        let result = change(&mut row);
        if let Some(variable) = row.into_variable() {
            self.variable = variable;
        }
        result
    }

    /// Makes this row a copy of another row of the same layout, and keeps its allocations.
    pub fn copy_from(&mut self, row: RowRef<'_>) {
        self.fixed.copy_from_slice(row.fixed);
        self.variable.clear();
        self.variable.extend_from_slice(row.variable);
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

#[inline]
fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Precision};

    fn layout() -> Arc<RowLayout> {
        let columns = [
            Column::nullable("flag", Type::Bool),
            Column::new("id", Type::Int8),
            Column::nullable("short", Type::Varchar(Some(10))),
            Column::nullable("long", Type::Text),
            Column::nullable("price", Type::Numeric(None)),
            Column::nullable("blob", Type::Bytea),
        ];
        Arc::new(RowLayout::new(&columns))
    }

    #[test]
    fn values_come_back_as_they_were_set() {
        let values = [
            Value::Bool(true),
            Value::Int8(-5),
            Value::text("short"),
            Value::text("of any length"),
            Value::Numeric("12.50".parse().expect("a decimal")),
            Value::Null,
        ];
        let row = Row::from_values(&layout(), &values);
        for (column, value) in values.iter().enumerate() {
            assert_eq!(&row.as_ref().value(column), value);
        }
        assert_eq!(row.as_ref().int8(1), -5);
    }

    #[test]
    fn numbers_of_a_scale_are_whole_numbers_of_its_units() {
        let precision = Precision { precision: 12, scale: 2 };
        let layout = Arc::new(RowLayout::new(&[Column::nullable("ytd", Type::Numeric(Some(precision)))]));
        let mut row = Row::new(&layout);
        for (text, units) in [("12.50", 1250), ("-0.01", -1), ("0", 0), ("9999999999.99", 999_999_999_999), ("7", 700)]
        {
            let number: Numeric = text.parse().expect("a decimal");
            row.change(|row| row.set(0, &Value::Numeric(number.clone())));
            assert_eq!(row.as_ref().scaled(0), units, "{text}");
            row.change(|row| row.set_scaled(0, units));
            assert_eq!(row.as_ref().numeric(0), number, "{units}");
            assert_eq!(row.as_ref().numeric(0).scale(), Some(2), "{units}");
        }
        row.change(|row| row.set_scaled(0, 0));
        let zero = row.clone();
        row.change(|row| row.set(0, &Value::Null));
        assert!(!row.as_ref().has_same(0, &zero.as_ref()), "NULL is not zero");
        row.change(|row| row.set_scaled(0, 5));
        assert!(!row.as_ref().has_same(0, &zero.as_ref()), "five is not zero");
        assert!(!row.as_ref().is_null(0));
    }

    #[test]
    fn long_numbers_move_in_and_out_of_the_variable_part() {
        let precision = Precision { precision: 40, scale: 2 };
        let columns =
            [Column::nullable("a", Type::Numeric(Some(precision))), Column::nullable("b", Type::Numeric(None))];
        let mut row = Row::new(&Arc::new(RowLayout::new(&columns)));
        let long = "-12345678901234567890123456789012345678.90";
        for (column, text) in [(0, "1.50"), (1, long), (0, long), (1, "0"), (0, "NaN"), (1, "1e1000"), (1, "-Infinity")]
        {
            let before = row.as_ref().value(1 - column).into_owned();
            row.change(|row| row.set(column, &Value::Numeric(text.parse().expect("a number"))));
            let shown = row.as_ref().numeric(column).to_string();
            assert_eq!(shown.parse::<Numeric>(), text.parse(), "{shown}");
            assert_eq!(row.as_ref().value(1 - column), before, "after {column} := {text}");
        }
    }

    #[test]
    fn strings_move_in_and_out_of_the_variable_part() {
        let mut row = Row::new(&layout());
        let long = "ä".repeat(10);
        let steps: [(usize, &str); 7] =
            [(2, "abc"), (3, "text"), (2, &long), (3, "longer text"), (5, "\u{1}"), (2, "back"), (3, "")];
        let mut expected = [""; 6];
        for (column, text) in steps {
            let value = if column == 5 { Value::Bytea(text.as_bytes().into()) } else { Value::text(text) };
            row.change(|change| change.set(column, &value));
            expected[column] = text;
            let other = Row::from_values(&layout(), &[0, 1, 2, 3, 4, 5].map(|column| row.as_ref().value(column)));
            for same in 0..6 {
                assert!(row.as_ref().has_same(same, &other.as_ref()), "after {column} := {text}");
            }
            for column in [2, 3, 5] {
                assert_eq!(row.as_ref().bytes(column), expected[column].as_bytes(), "after {column} := {text}");
            }
        }
    }

    /// Tests a row whose parts do not fit together, which an engine without isolation may produce.
    #[test]
    fn a_row_of_two_halves_that_do_not_fit_is_changed_without_a_panic() {
        let mut row = Row::new(&layout());
        row.change(|change| change.set(3, &Value::text("as long as this")));
        for length in 0..15 {
            for new in ["", "short", "longer than it was before"] {
                let mut torn = row.clone();
                torn.variable.truncate(length);
                torn.change(|change| {
                    change.set(3, &Value::text(new));
                    change.set(5, &Value::Bytea(b"other"[..].into()));
                });
                assert_eq!((torn.as_ref().bytes(3), torn.as_ref().bytes(5)), (new.as_bytes(), &b"other"[..]));
            }
        }
    }

    #[test]
    fn parts_that_are_no_row_are_refused() {
        let layout = layout();
        let mut row = Row::new(&layout);
        row.change(|change| {
            change.set(2, &Value::text(&"ä".repeat(10)));
            change.set(3, &Value::text("text"));
        });
        let (fixed, variable) = (row.as_ref().fixed().to_vec(), row.as_ref().variable().to_vec());
        assert_eq!(RowRef::checked(&layout, &fixed, &variable), Some(row.as_ref()));
        assert!(RowRef::checked(&layout, &fixed[1..], &variable).is_none(), "a short fixed part");
        let mut refused = 0;
        for at in 0..fixed.len() {
            let mut torn = fixed.clone();
            torn[at] = 0x7F;
            match RowRef::checked(&layout, &torn, &variable) {
                Some(row) => (0..layout.columns()).for_each(|column| drop(row.value(column))),
                None => refused += 1,
            }
        }
        assert_eq!(refused, 4, "either byte of the lengths of the bounded string and of the number");
        let numbers = RowLayout::new(&[Column::new("a", Type::Int8)]);
        assert!(RowRef::checked(&numbers, &[0; 16], &[]).is_some());
        assert!(RowRef::checked(&numbers, &[0; 16], &[1]).is_none(), "a variable part without strings");
    }

    #[test]
    fn a_hot_row_shares_a_cache_line_with_its_header() {
        let columns =
            [Column::new("id", Type::Int8), Column::new("balance", Type::Int8), Column::new("name", Type::Char(22))];
        let layout = RowLayout::new(&columns);
        assert!(layout.fixed_size() <= 48, "{} bytes", layout.fixed_size());
    }
}
