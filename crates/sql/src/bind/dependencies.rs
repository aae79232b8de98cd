//! The definitions and estimates that a plan depends on.

use super::group::{Item, Source};
use crate::catalog::Used;
use crate::catalog::expected::Expected;

/// The definitions and estimates that the plan depends on. While a statement is bound, they only become more.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    /// The definitions that the binder has looked up.
    pub(super) used: Used,
    /// The estimates of the tables' rows.
    expected: Vec<Expected>,
    /// Whether the estimates decide the order of a join.
    has_order: bool,
}

impl Dependencies {
    /// Notes that the sources are joined in an order that the present estimates of their rows decide.
    pub(super) fn joins(&mut self, sources: &[Source]) {
        self.expected.extend(sources.iter().filter_map(|source| match &source.item {
            Item::Table(table, _) => Some(Expected::of(table)),
            Item::Rows(..) | Item::Outer(_) => None,
        }));
        self.has_order |= sources.len() > 1;
    }

    /// Returns the definitions, and the estimates if another estimate might lead to another plan.
    pub(super) fn into_parts(self) -> (Used, Vec<Expected>) {
        (self.used, if self.has_order { self.expected } else { Vec::new() })
    }
}
