//! Derives the number of rows that a plan touches or returns from the form of the plan, without looking at values.

use crate::plan::{Access, Executed, Node, Path, Plan, Range, Source, Step, StepKind};
use hotrow_storage::IndexRef;

/// The number of rows that a list of keys counts as, whatever its length.
const SEVERAL: usize = 2;

/// Whether plans name more than one row by its primary key. Returns `false` if one of the plans does not wait for rows
/// that other transactions have locked: if its rows were locked beforehand, the transaction would wait although it has
/// asked not to.
pub(crate) fn name_several_rows<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> bool {
    plans.into_iter().map(named_rows).sum::<Option<usize>>().is_some_and(|rows| rows > 1)
}

/// Returns the number of rows that a plan names by their primary keys, or `None` if the plan does not wait for rows
/// that other transactions have locked.
fn named_rows(plan: &Plan) -> Option<usize> {
    match plan {
        Plan::Query(node) => named_below(node),
        Plan::CreateAs(create) => named_below(&create.query),
        Plan::Insert(insert) => Some(match &insert.source {
            Source::Rows(rows) if insert.table.schema.key.iter().all(|column| insert.targets.contains(column)) => {
                rows.len()
            }
            // A key that is drawn by a default is not known before the statement runs.
            Source::Rows(_) | Source::Query(_) => 0,
        }),
        Plan::Update(update) => named_by(&update.access),
        Plan::Delete(delete) => named_by(&delete.access),
        Plan::Merge(merge) => named_below(&merge.source),
        Plan::Instead(instead) => named_below(&instead.source),
        Plan::Call(call) => call.callee.own().map_or(Some(0), |body| named_in(&body.block.steps)),
        Plan::Analyze(analysis) => named_rows(&analysis.statement.plan),
        Plan::Empty | Plan::Ddl(_) | Plan::Explain(_) | Plan::Declare(_) | Plan::Utility(_) => Some(0),
    }
}

fn named_by(access: &Access) -> Option<usize> {
    access.lock.waits().then_some(match access.path {
        Path::Key(_) => 1,
        Path::Ranges(_) => SEVERAL,
        Path::Full | Path::Range(_) => 0,
    })
}

fn named_below(node: &Node) -> Option<usize> {
    let mut rows = if let Node::Table(access) = node { named_by(access) } else { Some(0) };
    node.each_input(&mut |input| rows = rows.and_then(|rows| Some(rows + named_below(input)?)));
    rows
}

fn named_in(steps: &[Step]) -> Option<usize> {
    let of_step = |step: &Step| match &step.kind {
        StepKind::Run(statement) | StepKind::Query(statement) => match &statement.what {
            Executed::Plan(plan) => named_rows(plan),
            Executed::Computed(_) => Some(0),
        },
        StepKind::Block(block) => named_in(&block.steps),
        StepKind::If(arms, otherwise) => {
            arms.iter().map(|(_, steps)| steps).chain([otherwise]).map(|steps| named_in(steps)).sum()
        }
        // The rows that a loop or an EXECUTE names are not known before it runs.
        StepKind::Loop(_)
        | StepKind::Assign(..)
        | StepKind::Leave(_)
        | StepKind::Raise(_)
        | StepKind::Assert(..)
        | StepKind::Diagnose(_)
        | StepKind::Null
        | StepKind::Next(_)
        | StepKind::Return(_) => Some(0),
    };
    steps.iter().map(of_step).sum()
}

/// Whether a plan changes rows, reads them or calls a procedure, and has few rows for its client: no more than it has
/// keys, or values.
pub(crate) fn has_few_rows(plan: &Plan) -> bool {
    match plan {
        Plan::Query(node) => are_few(node),
        Plan::Insert(insert) => insert.returning.is_none() || matches!(insert.source, Source::Rows(_)),
        Plan::Update(update) => update.returning.is_none() || update.source.is_none() && is_by_keys(&update.access),
        Plan::Delete(delete) => delete.returning.is_none() || delete.source.is_none() && is_by_keys(&delete.access),
        Plan::Instead(instead) => instead.returning.is_none(),
        Plan::Merge(_) | Plan::Call(_) | Plan::CreateAs(_) => true,
        Plan::Empty | Plan::Ddl(_) | Plan::Explain(_) | Plan::Declare(_) | Plan::Utility(_) | Plan::Analyze(_) => false,
    }
}

fn are_few(node: &Node) -> bool {
    match node {
        Node::Table(access) => is_by_keys(access),
        Node::Aggregate(_, groups, _) if groups.is_empty() => true,
        Node::System(_) | Node::Function(_) | Node::ProjectSet(..) | Node::Recursive(_) | Node::Change(_) => false,
        _ => {
            let mut few = true;
            node.each_input(&mut |input| few &= are_few(input));
            few
        }
    }
}

/// Whether an access finds its rows by their whole primary keys only.
fn is_by_keys(access: &Access) -> bool {
    let is_key = |range: &Range| {
        let is_open = !range.nulls.is_empty() || !range.lower.is_empty() || !range.upper.is_empty();
        range.index == IndexRef::Primary && range.equal.len() == access.table.schema.key.len() && !is_open
    };
    match &access.path {
        Path::Key(_) => true,
        Path::Ranges(ranges) => ranges.iter().all(is_key),
        Path::Full | Path::Range(_) => false,
    }
}
