//! The layout of a table's rows: where each column is.

use crate::{Column, Precision, Type};
use hotrow_numeric::FIXED_BYTES;

/// The longest declared bound, in characters, of a string that lies in the fixed part.
pub const INLINE_LIMIT: u32 = 128;

/// The layout of a table's rows: the positions of the columns.
#[derive(Debug, PartialEq, Eq)]
pub struct RowLayout {
    pub(super) slots: Vec<Slot>,
    pub(super) nulls: usize,
    pub(super) fixed_size: usize,
    pub(super) has_variable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) ty: Type,
    pub(super) offset: u32,
    pub(super) place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The slot holds the value itself.
    Fixed,
    /// The slot holds a length, a `u16`, and has space for `capacity` bytes.
    Bounded { capacity: u16 },
    /// The slot holds the offset and the length of the value within the variable part, a `u32` each.
    Variable,
}

impl RowLayout {
    /// Computes the layout of rows with these columns.
    pub fn new(columns: &[Column]) -> Self {
        let mut slots: Vec<_> =
            columns.iter().map(|column| Slot { ty: column.ty, offset: 0, place: Place::of(column.ty) }).collect();
        let mut end = 0;
        for alignment in [8, 4, 2, 1] {
            for slot in &mut slots {
                if let Some((size, needed)) = slot.ty.fixed_size()
                    && needed == alignment
                {
                    slot.offset = end as u32;
                    end += size;
                }
            }
        }
        let nulls = end;
        end += columns.len().div_ceil(8);
        for slot in &mut slots {
            let size = match slot.place {
                Place::Fixed => continue,
                Place::Bounded { capacity } => 2 + usize::from(capacity),
                Place::Variable => 8,
            };
            slot.offset = end as u32;
            end += size;
        }
        let has_variable = slots.iter().any(|slot| slot.place != Place::Fixed);
        Self { slots, nulls, fixed_size: end.next_multiple_of(8), has_variable }
    }

    /// Returns the number of bytes of the fixed part, a multiple of 8.
    pub fn fixed_size(&self) -> usize {
        self.fixed_size
    }

    /// Whether a row can have a variable part.
    pub fn has_variable(&self) -> bool {
        self.has_variable
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.slots.len()
    }

    /// Returns the type of a column.
    pub fn ty(&self, column: usize) -> Type {
        self.slots[column].ty
    }

    /// Returns how many digits the values of a `numeric(p, s)` column have after the point.
    #[inline]
    pub(super) fn scale(&self, column: usize) -> u32 {
        match self.slots[column].ty {
            Type::Numeric(Some(precision)) if precision.is_fixed() => u32::from(precision.scale.unsigned_abs()),
            ty => panic!("column {column} is {ty}, not a numeric of up to 28 digits"),
        }
    }
}

impl Place {
    fn of(ty: Type) -> Self {
        match ty {
            // At least eight bytes, so that a spilled string's offset and length have space.
            Type::Char(n) | Type::Varchar(Some(n)) if n <= INLINE_LIMIT => Place::Bounded { capacity: n.max(8) as u16 },
            Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name | Type::Bytea | Type::Array(_) => {
                Place::Variable
            }
            Type::Json | Type::Jsonb => Place::Variable,
            Type::Numeric(precision) if !precision.is_some_and(Precision::is_fixed) => {
                Place::Bounded { capacity: FIXED_BYTES as u16 }
            }
            _ => Place::Fixed,
        }
    }
}
