//! The set-returning functions of a select list, and the operators that run them.

use crate::SqlError;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::plan::Node;
use crate::plan::table_function::RowsOf;
use sqlparser::tokenizer::Span;

/// The set-returning functions of a query's select list.
#[derive(Debug, Default)]
pub(super) struct SetFunctions {
    /// The calls that were found so far. The arguments of a call may contain calls that precede it.
    pub(super) calls: Vec<SetCall>,
    /// The number of calls that were bound, with each repetition of the same call, and the place of the last one.
    pub(super) bound: usize,
    pub(super) last: Option<Span>,
    /// PostgreSQL's name of the clause that is bound, if no set-returning function may stand in it.
    pub(super) refused: Option<&'static str>,
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct SetCall {
    /// The number of the call's first column; the others follow.
    pub(super) first: usize,
    pub(super) rows: RowsOf,
}

/// Between the name of a column whose values are rows and those of their fields.
const FIELD: char = '\0';

/// The name of the column that holds a field of another column's rows. No statement can have such a name in it.
pub(super) fn field_column(column: &str, field: &str) -> String {
    format!("{column}{FIELD}{field}")
}

/// An error if one of a result's columns is a field of a column that cannot be shown.
pub(super) fn refuse_rows(columns: &[crate::OutputColumn]) -> Result<(), SqlError> {
    match columns.iter().any(|column| column.name.contains(FIELD)) {
        true => Err(unsupported("a row as a value")),
        false => Ok(()),
    }
}

/// The columns of set-returning functions that an expression looks at.
fn columns_in(expr: &Expr, visit: &mut dyn FnMut(usize)) {
    expr.any(&mut |part| {
        if let Expr::Set(column) = part {
            visit(*column);
        }
        false
    });
}

/// The position of the call that a column belongs to.
fn call_of(calls: &[SetCall], column: usize) -> usize {
    calls.partition_point(|call| call.first <= column).saturating_sub(1)
}

/// Of each call, whether some of the expressions look at its rows, if only for an argument of another one.
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

/// The calls that some of the expressions look at.
pub(super) fn used_by<'e>(calls: &[SetCall], exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<SetCall> {
    let used = used(calls, exprs);
    calls.iter().zip(used).filter(|(_, used)| *used).map(|(call, _)| call.clone()).collect()
}

/// An error if functions above and below an aggregation have parameters: whether they are the same depends on the
/// values.
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

/// Puts the functions that expressions look at over the node with the rows that they and their arguments look at, of so
/// many columns if anything has subqueries, and makes the expressions look at the rows that come of it.
pub(super) fn expand(mut node: Node, mut width: usize, calls: &[SetCall], exprs: &mut [&mut Expr]) -> Node {
    if calls.is_empty() {
        return node;
    }
    let mut waiting = used_by(calls, exprs.iter().map(|expr| &**expr));
    if waiting.is_empty() {
        return node;
    }
    // Where the columns of calls below begin, and how many of them there are before the node's own.
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
        let arguments = level.iter_mut().flat_map(|rows| &mut rows.arguments);
        let mut asks = false;
        for argument in arguments {
            asks |= argument.has_subquery();
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

/// Makes an expression look at rows that have functions' columns before the others.
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
