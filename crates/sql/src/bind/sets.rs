//! The set-returning functions of a select list, and the operators that run them.

use crate::SqlError;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::plan::Node;
use crate::plan::table_function::RowsOf;
use sqlparser::tokenizer::Span;

/// The set-returning functions of a query, as far as it is bound.
#[derive(Debug, Default)]
pub(super) struct SetFunctions {
    /// The calls that were found so far. The arguments of a call may contain calls that precede it.
    pub(super) calls: Vec<SetCall>,
    /// The number of calls that were bound, in which repetitions of a call count, and the span of the last one.
    pub(super) bound: usize,
    pub(super) last: Option<Span>,
    /// PostgreSQL's name of the clause that is bound, if no set-returning function may stand in it.
    pub(super) refused: Option<&'static str>,
}

/// A call of a set-returning function.
#[derive(Clone, Debug)]
pub(super) struct SetCall {
    /// The number of the call's first column. The other columns have the following numbers.
    pub(super) first: usize,
    pub(super) rows: RowsOf,
}

/// The separator between the name of a column whose values are rows and the name of a field of these rows.
const FIELD: char = '\0';

/// Returns the name of the column that holds one field of a column whose values are rows. No statement can contain such
/// a name.
pub(super) fn field_column(column: &str, field: &str) -> String {
    format!("{column}{FIELD}{field}")
}

/// Returns an error if a column of a result is one field of a column whose values are rows, which cannot be shown.
pub(super) fn refuse_rows(columns: &[crate::OutputColumn]) -> Result<(), SqlError> {
    match columns.iter().any(|column| column.name.contains(FIELD)) {
        true => Err(unsupported("a row as a value")),
        false => Ok(()),
    }
}

/// Calls `visit` for each column of a set-returning function to which an expression refers.
fn columns_in(expr: &Expr, visit: &mut dyn FnMut(usize)) {
    expr.any(&mut |part| {
        if let Expr::Set(column) = part {
            visit(*column);
        }
        false
    });
}

/// Returns the position of the call to which a column belongs.
fn call_of(calls: &[SetCall], column: usize) -> usize {
    calls.partition_point(|call| call.first <= column).saturating_sub(1)
}

/// Returns for each call whether some of the expressions refer to its rows, directly or through the arguments of
/// another call.
fn used<'e>(calls: &[SetCall], exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<bool> {
    let mut used = vec![false; calls.len()];
    for expr in exprs {
        columns_in(expr, &mut |column| used[call_of(calls, column)] = true);
    }
    for at in (0..calls.len()).rev() {
        if used[at] {
            for argument in &calls[at].rows.arguments {
                columns_in(argument, &mut |column| used[call_of(calls, column)] = true);
            }
        }
    }
    used
}

/// Returns the calls to which some of the expressions refer, directly or through the arguments of another call.
pub(super) fn used_by<'e>(calls: &[SetCall], exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<SetCall> {
    let used = used(calls, exprs);
    calls.iter().zip(used).filter(|(_, used)| *used).map(|(call, _)| call.clone()).collect()
}

/// Returns an error if there are functions both below and above an aggregation and any of them has a parameter: the
/// parameters' values would decide whether two calls are the same.
pub(super) fn refuse_open_groups(below: &[SetCall], above: &[SetCall]) -> Result<(), SqlError> {
    let has_params = |calls: &[SetCall]| {
        let mut arguments = calls.iter().flat_map(|call| &call.rows.arguments);
        arguments.any(|argument| argument.any(&mut |part| matches!(part, Expr::Param(_))))
    };
    match below.is_empty() || above.is_empty() || !(has_params(below) || has_params(above)) {
        true => Ok(()),
        false => Err(unsupported("set-returning functions of parameters, of which some are grouped")),
    }
}

/// Adds operators over the node that run the set-returning functions to which expressions refer, and rewrites the
/// expressions into expressions over the rows that result. `width` is the number of the node's columns; it matters only
/// if an expression has a subquery.
pub(super) fn expand(mut node: Node, mut width: usize, calls: &[SetCall], exprs: &mut [&mut Expr]) -> Node {
    if calls.is_empty() {
        return node;
    }
    let mut waiting = used_by(calls, exprs.iter().map(|expr| &**expr));
    if waiting.is_empty() {
        return node;
    }
    // The place at which each call's columns begin. In all, `total` such columns precede the node's own.
    let mut places: Vec<(SetCall, usize)> = Vec::new();
    let mut total = 0;
    while !waiting.is_empty() {
        let is_ready = |call: &SetCall| {
            let mut ready = true;
            for argument in &call.rows.arguments {
                columns_in(argument, &mut |column| {
                    ready &=
                        places.iter().any(|(call, _)| (call.first..call.first + call.rows.width()).contains(&column));
                });
            }
            ready
        };
        let (ready, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_ready);
        waiting = later;
        let mut level: Vec<RowsOf> = ready.iter().map(|call| call.rows.clone()).collect();
        let asks = level.iter().any(RowsOf::has_subquery);
        for argument in level.iter_mut().flat_map(|rows| &mut rows.arguments) {
            look(argument, &places, total);
        }
        if asks && !matches!(node, Node::Materialise(..)) {
            node = Node::Materialise(Box::new(node), (0..width).collect());
        }
        let added: usize = level.iter().map(RowsOf::width).sum();
        node = Node::ProjectSet(Box::new(node), level);
        places.iter_mut().for_each(|(_, place)| *place += added);
        let mut place = 0;
        for call in ready {
            let own = call.rows.width();
            places.push((call, place));
            place += own;
        }
        total += added;
        width += added;
    }
    let mut asks = false;
    for expr in exprs.iter_mut() {
        asks |= expr.has_subquery();
        look(expr, &places, total);
    }
    if asks { Node::Materialise(Box::new(node), (0..width).collect()) } else { node }
}

/// Rewrites an expression over rows into one over rows in which the columns of functions precede the others.
fn look(expr: &mut Expr, places: &[(SetCall, usize)], total: usize) {
    match expr {
        Expr::Column(column) => *column += total,
        Expr::Set(column) => {
            let holder = places.iter().find(|(call, _)| (call.first..call.first + call.rows.width()).contains(column));
            if let Some((call, place)) = holder {
                *expr = Expr::Column(place + *column - call.first);
            }
        }
        other => other.parts_mut().into_iter().for_each(|part| look(part, places, total)),
    }
}
