//! EXPLAIN ANALYZE: a statement that runs with operators that [count](super::measured) their rows and times.

use super::change::Source;
use super::node::Node;
use super::statement::{Plan, Statement};
use crate::parse::ExplainOptions;

/// The plan of EXPLAIN ANALYZE.
#[derive(Debug)]
pub struct Analysis {
    /// The options of EXPLAIN.
    pub options: ExplainOptions,
    /// The statement, whose operators are wrapped in counters.
    pub statement: Statement,
    /// The time that planning took, in nanoseconds.
    pub planning_ns: u64,
}

impl Plan {
    /// Returns the query of a plan, as [`query_mut`](Self::query_mut) does.
    pub(super) fn root(&self) -> Option<&Node> {
        match self {
            Plan::Query(node) => Some(node),
            Plan::CreateAs(create) => Some(&create.query),
            Plan::Insert(insert) => match &insert.source {
                Source::Query(node) => Some(node),
                Source::Rows(_) => None,
            },
            Plan::Update(update) => update.source.as_deref(),
            Plan::Delete(delete) => delete.source.as_deref(),
            Plan::Merge(merge) => Some(&merge.source),
            Plan::Instead(instead) => Some(&instead.source),
            _ => None,
        }
    }

    /// Returns the query of a plan, or `None` if the plan has none. The query of an UPDATE or DELETE finds the rows to
    /// change, and the query of an INSERT returns the rows to insert.
    pub(crate) fn query_mut(&mut self) -> Option<&mut Node> {
        match self {
            Plan::Query(node) => Some(node),
            Plan::CreateAs(create) => Some(&mut create.query),
            Plan::Insert(insert) => match &mut insert.source {
                Source::Query(node) => Some(node),
                Source::Rows(_) => None,
            },
            Plan::Update(update) => update.source.as_deref_mut(),
            Plan::Delete(delete) => delete.source.as_deref_mut(),
            Plan::Merge(merge) => Some(&mut merge.source),
            Plan::Instead(instead) => Some(&mut instead.source),
            _ => None,
        }
    }

    /// Wraps the operators of the plan's query in counters, which also measure times if `timed` is set.
    pub(crate) fn measure(&mut self, timed: bool) {
        if let Some(root) = self.query_mut() {
            root.measure(timed);
        }
    }

    /// Sets all counters of the plan's query to zero.
    pub(crate) fn reset_counts(&self) {
        if let Some(root) = self.root() {
            root.reset_counts();
        }
    }
}
