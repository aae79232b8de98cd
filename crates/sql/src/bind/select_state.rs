//! The part of the binder's state that each SELECT has for itself.

use super::sets::SetFunctions;
use super::windows::Windows;
use crate::plan::AggregateCall;
use std::ops::Range;

/// Whether aggregate functions may stand at the place that is bound, and the calls found so far.
#[derive(Debug)]
pub(super) enum Aggregates {
    /// No aggregate may stand here; the text names the place for the error message.
    Refused(&'static str),
    /// Aggregates may stand here; the list has the calls found so far.
    Found(Vec<AggregateCall>),
}

/// The columns and the calls that the binder has found of the SELECT that it binds. A query within it begins with a
/// state of its own.
#[derive(Debug)]
pub(super) struct SelectState {
    /// The number of columns that the FROM items have had so far.
    pub(super) columns: usize,
    pub(super) aggregates: Aggregates,
    pub(super) windows: Windows,
    pub(super) sets: SetFunctions,
    /// Whether the FROM clause mentions the WITH RECURSIVE query whose recursive term the SELECT belongs to.
    pub(super) recurs: bool,
}

impl SelectState {
    /// Makes the state before anything is bound. No aggregate function may stand in the first part, which errors name
    /// as `place`.
    pub(super) fn new(place: &'static str) -> Self {
        Self {
            columns: 0,
            aggregates: Aggregates::Refused(place),
            windows: Windows::default(),
            sets: SetFunctions::default(),
            recurs: false,
        }
    }

    /// Returns the numbers for the columns of another FROM item.
    pub(super) fn add_columns(&mut self, width: usize) -> Range<usize> {
        let first = self.columns;
        self.columns += width;
        first..self.columns
    }
}
