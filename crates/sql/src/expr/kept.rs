//! A list of rows that an operator stores in memory.

use super::Input;
use crate::memory::Growing;
use hotrow_storage::Value;

/// A list of rows of the same width, stored one after the other in one vector.
#[derive(Debug, Default)]
pub struct Kept {
    width: usize,
    count: usize,
    values: Vec<Value<'static>>,
}

impl Kept {
    /// Returns an empty list for rows with `width` columns.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, count: 0, values: Vec::new() }
    }

    /// Appends the given columns of a row.
    pub(crate) fn push(&mut self, row: &Input<'_>, columns: &[usize]) {
        debug_assert_eq!(columns.len(), self.width);
        self.values.extend(columns.iter().map(|&column| row.value(column).into_owned()));
        self.count += 1;
    }

    /// Appends all `width` columns of a row.
    pub(crate) fn push_all(&mut self, row: &Input<'_>, width: usize) {
        self.width = width;
        self.values.extend((0..width).map(|column| row.value(column).into_owned()));
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn row(&self, at: usize) -> &[Value<'static>] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Value<'static>]> {
        (0..self.count).map(|at| self.row(at))
    }
}

impl Growing for Kept {
    fn growth_bytes(&self) -> usize {
        let is_full = self.values.len() + self.width > self.values.capacity();
        if is_full { self.values.capacity().saturating_mul(2 * size_of::<Value<'_>>()) } else { 0 }
    }
}
