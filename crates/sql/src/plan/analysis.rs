//! EXPLAIN ANALYZE: a statement whose operators [count](super::measured) what they do.

use super::change::Source;
use super::node::Node;
use super::statement::{Plan, Statement};
use crate::parse::ExplainOptions;

/// EXPLAIN ANALYZE of a statement.
#[derive(Debug)]
pub struct Analysis {
    /// The options of EXPLAIN.
    pub options: ExplainOptions,
    /// The statement; its plan is measured.
    pub statement: Statement,
    /// How long planning took, in nanoseconds.
    pub planning_ns: u64,
}

impl Plan {
    fn root(&self) -> Option<&Node> {
        match self {
            Plan::Query(node) => Some(node),
            Plan::Insert(insert) => match &insert.source {
                Source::Query(node) => Some(node),
                Source::Rows(_) => None,
            },
            Plan::Update(update) => update.source.as_deref(),
            Plan::Delete(delete) => delete.source.as_deref(),
            _ => None,
        }
    }

    /// The query of a plan, if it has one. The query of a change finds the rows to change.
    pub(crate) fn query_mut(&mut self) -> Option<&mut Node> {
        match self {
            Plan::Query(node) => Some(node),
            Plan::Insert(insert) => match &mut insert.source {
                Source::Query(node) => Some(node),
                Source::Rows(_) => None,
            },
            Plan::Update(update) => update.source.as_deref_mut(),
            Plan::Delete(delete) => delete.source.as_deref_mut(),
            _ => None,
        }
    }

    /// Makes the operators of the plan count.
    pub(crate) fn measure(&mut self, timed: bool) {
        if let Some(root) = self.query_mut() {
            root.measure(timed);
        }
    }

    /// Sets the counts of the plan's operators to zero.
    pub(crate) fn reset_counts(&self) {
        if let Some(root) = self.root() {
            root.reset_counts();
        }
    }
}
