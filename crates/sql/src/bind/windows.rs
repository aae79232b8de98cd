//! The window functions of a query, and the operators that compute them.

use super::query::{Order, Output, kept_for};
use crate::expr::Expr;
use crate::plan::window::{Window, WindowCall, WindowFrame, WindowSort};
use crate::plan::{Node, SortKey};
use hotrow_storage::Type;

/// The window functions of a query.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// PostgreSQL's name of the clause that is bound, if aggregate functions may stand in it but window functions may
    /// not.
    pub(super) refused: Option<&'static str>,
    /// The windows that WINDOW defines, by name.
    pub(super) named: Vec<(String, Definition)>,
    /// The calls that have been bound so far.
    pub(super) calls: Vec<Call>,
}

/// The definition of a window, as OVER or WINDOW gives it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Definition {
    pub(super) partition: Vec<WindowKey>,
    pub(super) order: Vec<WindowKey>,
    /// The frame as the statement gives it; `None` stands for the default.
    pub(super) frame: Option<WindowFrame>,
}

/// A key by which the rows of a window are sorted or partitioned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WindowKey {
    pub(super) expr: Expr,
    pub(super) ty: Type,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// A bound call of a window function, with the window that it looks at.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    pub(super) partition: Vec<WindowKey>,
    pub(super) order: Vec<WindowKey>,
    pub(super) call: WindowCall,
}

/// The calls that need the rows in the same order.
struct Sorted {
    /// The position of this order among all orders, as they were found.
    number: usize,
    keys: Vec<WindowKey>,
    sort: WindowSort,
}

/// The operators of a query's window functions. They stand between the rows of FROM, or of the aggregation, and the
/// select list.
#[derive(Debug)]
pub(super) struct Layer {
    /// The expressions over the rows below that make the columns of the window functions' input.
    pub(super) columns: Vec<Expr>,
    sorts: Vec<WindowSort>,
}

impl Windows {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the expressions that the window functions evaluate over the rows below, to change them.
    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.calls.iter_mut().flat_map(|Call { partition, order, call }| {
            let keys = partition.iter_mut().chain(order).map(|key| &mut key.expr);
            keys.chain(call.parts_mut())
        })
    }

    /// Returns the expressions that the window functions evaluate over the rows below.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Expr> {
        self.calls.iter().flat_map(|Call { partition, order, call }| {
            partition.iter().chain(order).map(|key| &key.expr).chain(call.parts())
        })
    }

    /// Groups the calls by the order that they need, and rewrites all expressions above into expressions over the
    /// resulting rows.
    pub(super) fn layer(self, output: &mut Output, orders: &mut [Order]) -> Layer {
        let (mut columns, mut sorts) = (Vec::new(), Vec::<Sorted>::new());
        let mut places = Vec::with_capacity(self.calls.len());
        for Call { partition, order, call } in self.calls {
            let count = partition.len();
            let keys: Vec<_> = partition.into_iter().chain(order).collect();
            let found = sorts.iter().position(|known| known.keys == keys && known.sort.partition == count);
            let at = found.unwrap_or_else(|| {
                let sorted = keys.iter().map(|key| key.placed(&mut columns)).collect();
                let sort = WindowSort { keys: sorted, partition: count, calls: Vec::new() };
                sorts.push(Sorted { number: sorts.len(), keys, sort });
                sorts.len() - 1
            });
            places.push((at, sorts[at].sort.calls.len()));
            sorts[at].sort.calls.push(call);
        }
        // The rows stay sorted for the next order: the order with more keys comes first, and a prefix of it then costs
        // little.
        sorts.sort_by_key(|sorted| std::cmp::Reverse(sorted.keys.len()));
        let numbers: Vec<_> = sorts.iter().map(|sorted| sorted.number).collect();
        let mut sorts: Vec<_> = sorts.into_iter().map(|sorted| sorted.sort).collect();
        let calls = sorts.iter_mut().flat_map(|sort| &mut sort.calls);
        calls.flat_map(WindowCall::parts_mut).for_each(|part| over_columns(part, &mut columns));
        let mut above: Vec<_> = output.exprs.iter_mut().chain(orders.iter_mut().map(|order| &mut order.expr)).collect();
        above.iter_mut().for_each(|expr| over_columns(expr, &mut columns));
        let before = |number: usize| {
            let sorts = sorts.iter().zip(&numbers).take_while(|(_, known)| **known != number);
            sorts.map(|(sort, _)| sort.calls.len()).sum::<usize>()
        };
        let places: Vec<_> = places.into_iter().map(|(number, call)| columns.len() + before(number) + call).collect();
        above.into_iter().for_each(|expr| over_results(expr, &places));
        Layer { columns, sorts }
    }
}

impl WindowKey {
    /// Returns the key as a sort key over `columns`, to which its expression is added.
    fn placed(&self, columns: &mut Vec<Expr>) -> SortKey {
        let column = place(&self.expr, columns);
        let blanks = matches!(self.ty, Type::Char(_));
        SortKey { column, descending: self.descending, nulls_first: self.nulls_first, blanks }
    }
}

/// Returns the place of an expression among the columns. Appends the expression if the columns lack it.
fn place(expr: &Expr, columns: &mut Vec<Expr>) -> usize {
    columns.iter().position(|known| known == expr).unwrap_or_else(|| {
        columns.push(expr.clone());
        columns.len() - 1
    })
}

/// Rewrites an expression over the rows below into one over the columns.
fn over_columns(expr: &mut Expr, columns: &mut Vec<Expr>) {
    match expr {
        Expr::Const(_) | Expr::Param(_) | Expr::Window(_) => {}
        Expr::Column(_) => *expr = Expr::Column(place(expr, columns)),
        other => match columns.iter().position(|known| known == other) {
            Some(at) => *other = Expr::Column(at),
            None => other.parts_mut().into_iter().for_each(|part| over_columns(part, columns)),
        },
    }
}

fn over_results(expr: &mut Expr, places: &[usize]) {
    match expr {
        Expr::Window(call) => *expr = Expr::Column(places[*call]),
        other => other.parts_mut().into_iter().for_each(|part| over_results(part, places)),
    }
}

impl Layer {
    /// Returns the number of columns of the layer's rows.
    pub(super) fn width(&self) -> usize {
        self.columns.len() + self.sorts.iter().map(|sort| sort.calls.len()).sum::<usize>()
    }

    /// Adds the operator of the window functions to the rows below.
    pub(super) fn over(self, below: Node) -> Node {
        let width = self.columns.len();
        let calls = self.sorts.iter().flat_map(|sort| &sort.calls);
        let looked_at: Vec<&Expr> =
            calls.flat_map(|call| call.parts().into_iter().chain(call.frame.offsets())).collect();
        let node = Node::Project(Box::new(below), self.columns);
        let input = kept_for(node, width, looked_at);
        Node::Window(Box::new(Window { input, sorts: self.sorts }))
    }
}
