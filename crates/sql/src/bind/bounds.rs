//! Bounds on the columns of an index, derived from the conditions of a query. They come as alternatives: each row that
//! is looked for satisfies all bounds of at least one alternative.
//!
//! A condition `column = value`, `<`, `<=`, `>`, `>=` or BETWEEN is a bound if the value does not depend on the row and
//! its type orders like the column's. (If it does not, the binder has cast the column, and a cast column serves no
//! index.) Other bounds are `column IN (…)`, `column = ANY (array)`, `column IS NULL`, a boolean column or NOT of one,
//! and `column LIKE 'prefix%'`, which is a range of texts. OR makes several alternatives; so do comparisons of rows and
//! `(a, b) IN (…)`, which are bound as ORs. AND joins each alternative of one side with each of the other.

use crate::catalog::Table;
use crate::expr::{ArrayFunction, Comparison, Expr, Function, Like};
use hotrow_storage::{Type, Value};
use std::borrow::Cow;

/// The maximum number of alternatives that AND makes of several conditions with more than one alternative each. If a
/// condition would exceed it, the rows are checked against that condition one by one.
const MAX_PRODUCT: usize = 1024;

/// A test of one column that an index can serve.
#[derive(Clone, Debug)]
pub(super) struct Bound<'e> {
    pub(super) column: usize,
    pub(super) test: Test<'e>,
    /// The position of the condition from which the bound comes.
    pub(super) conjunct: usize,
}

/// The test of a bound's column.
#[derive(Clone, Debug)]
pub(super) enum Test<'e> {
    Compare(Comparison, Cow<'e, Expr>),
    /// The column equals one of these values. If the flag is set, there is a single value, an array, and the column
    /// equals one of its elements.
    In(&'e [Expr], bool),
    Null,
}

impl<'e> Bound<'e> {
    /// Returns the comparison and its value if the test compares the column with one value.
    pub(super) fn compared(&self) -> Option<(Comparison, &Expr)> {
        match &self.test {
            Test::Compare(comparison, value) => Some((*comparison, value)),
            Test::In(..) | Test::Null => None,
        }
    }

    fn compare(column: usize, comparison: Comparison, value: Cow<'e, Expr>, conjunct: usize) -> Self {
        Self { column, test: Test::Compare(comparison, value), conjunct }
    }
}

/// The bounds that a condition implies and an index can use.
#[derive(Clone, Debug)]
enum Known<'e> {
    Bound(Bound<'e>),
    All(Vec<Known<'e>>),
    Any(Vec<Known<'e>>),
    /// The condition is true of no row.
    Never,
    Nothing,
}

/// The bounds that each of a query's conditions implies.
#[derive(Debug)]
pub(super) struct Bounds<'e>(Vec<Known<'e>>);

/// The alternatives that all conditions together imply for some columns.
#[derive(Debug)]
pub(super) struct Alternatives<'e> {
    pub(super) list: Vec<Vec<Bound<'e>>>,
    /// The positions of the conditions that the alternatives imply in full, so that rows need not be checked against
    /// them.
    pub(super) whole: Vec<usize>,
}

impl<'e> Bounds<'e> {
    pub(super) fn of(table: &Table, conjuncts: &'e [Expr]) -> Self {
        let known = |(at, expr)| known(table, at, expr, false);
        Self(conjuncts.iter().enumerate().map(known).collect())
    }

    /// Returns the alternatives for an index on these columns.
    pub(super) fn on(&self, columns: &[usize]) -> Alternatives<'e> {
        self.with(columns, |_| true)
    }

    /// Returns the bounds that hold for all rows: those of the conditions without alternatives.
    pub(super) fn common(&self, columns: &[usize]) -> Alternatives<'e> {
        self.with(columns, |known| !matches!(known, Known::Any(_)))
    }

    fn with(&self, columns: &[usize], wanted: impl Fn(&Known<'e>) -> bool) -> Alternatives<'e> {
        let mut all = Alternatives { list: vec![Vec::new()], whole: Vec::new() };
        for (at, known) in self.0.iter().enumerate().filter(|(_, known)| wanted(known)) {
            let (list, is_whole) = known.alternatives(columns);
            let Some(list) = list else { continue };
            if all.multiply(list) && is_whole {
                all.whole.push(at);
            }
        }
        all
    }

    /// For each condition with several arms (an OR), returns the bounds of each arm together with the conditions that
    /// have no arms. A row that is looked for satisfies the bounds of at least one arm.
    pub(super) fn arms(&self) -> impl Iterator<Item = Vec<Bounds<'e>>> {
        self.0.iter().enumerate().filter_map(|(at, known)| {
            let Known::Any(arms) = known else { return None };
            let others = self.0.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, known)| known);
            let others: Vec<_> = others.filter(|known| !matches!(known, Known::Any(_))).collect();
            let with = |arm: &Known<'e>| Bounds(std::iter::once(arm).chain(others.iter().copied()).cloned().collect());
            Some(arms.iter().map(with).collect())
        })
    }
}

impl<'e> Alternatives<'e> {
    /// Joins each alternative with each alternative of `list`. Returns `false`, and changes nothing, if the result
    /// would be too long.
    fn multiply(&mut self, list: Vec<Vec<Bound<'e>>>) -> bool {
        let product = self.list.len().saturating_mul(list.len());
        if product > MAX_PRODUCT.max(self.list.len()).max(list.len()) {
            return false;
        }
        if let [only] = &list[..] {
            self.list.iter_mut().for_each(|bounds| bounds.extend_from_slice(only));
            return true;
        }
        let join = |bounds: &Vec<Bound<'e>>| list.iter().map(|more| [&bounds[..], more].concat()).collect::<Vec<_>>();
        self.list = self.list.iter().flat_map(join).collect();
        true
    }
}

impl<'e> Known<'e> {
    /// Returns the alternatives on these columns, and whether they imply the condition in full. The alternatives are
    /// `None` if any row may satisfy the condition.
    fn alternatives(&self, columns: &[usize]) -> (Option<Vec<Vec<Bound<'e>>>>, bool) {
        match self {
            Known::Bound(bound) if columns.contains(&bound.column) => (Some(vec![vec![bound.clone()]]), true),
            Known::Bound(_) | Known::Nothing => (None, false),
            Known::Never => (Some(Vec::new()), true),
            Known::All(list) => {
                let mut all = Alternatives { list: vec![Vec::new()], whole: Vec::new() };
                let (mut is_whole, mut is_bound) = (true, false);
                for known in list {
                    let (list, says_everything) = known.alternatives(columns);
                    is_bound |= list.is_some();
                    is_whole &= says_everything && list.is_some_and(|list| all.multiply(list));
                }
                (is_bound.then_some(all.list), is_whole)
            }
            Known::Any(arms) => {
                let (mut any, mut is_whole) = (Vec::with_capacity(arms.len()), true);
                for arm in arms {
                    let (Some(list), says_everything) = arm.alternatives(columns) else { return (None, false) };
                    any.extend(list);
                    is_whole &= says_everything;
                }
                (Some(any), is_whole)
            }
        }
    }
}

/// Derives the bounds that a condition implies, or that its negation implies if `negated`.
fn known<'e>(table: &Table, conjunct: usize, expr: &'e Expr, negated: bool) -> Known<'e> {
    let all = |list: &'e [Expr]| list.iter().map(|expr| known(table, conjunct, expr, negated)).collect();
    match expr {
        Expr::And(list) if !negated => Known::All(all(list)),
        Expr::Or(list) if negated => Known::All(all(list)),
        Expr::And(list) | Expr::Or(list) => Known::Any(all(list)),
        Expr::Not(inner) => known(table, conjunct, inner, !negated),
        Expr::Column(column) if table.schema.columns[*column].ty == Type::Bool => {
            let value = Cow::Owned(Expr::Const(Value::Bool(!negated)));
            Known::Bound(Bound::compare(*column, Comparison::Equal, value, conjunct))
        }
        Expr::Const(Value::Bool(value)) if *value == negated => Known::Never,
        Expr::Const(Value::Null) => Known::Never,
        Expr::Compare(comparison, pair, blanks) => {
            let (column, comparison, value) = match &**pair {
                (Expr::Column(column), value) => (*column, *comparison, value),
                (value, Expr::Column(column)) => (*column, comparison.flipped(), value),
                _ => return Known::Nothing,
            };
            let comparison = if negated { comparison.opposite() } else { comparison };
            if comparison == Comparison::NotEqual || !serves(table, column, *blanks) || !value.is_row_independent() {
                return Known::Nothing;
            }
            Known::Bound(Bound::compare(column, comparison, Cow::Borrowed(value), conjunct))
        }
        Expr::In(value, list, blanks) if !negated => match **value {
            Expr::Column(column) => listed(table, column, list, false, *blanks, conjunct),
            _ => Known::Nothing,
        },
        Expr::Call(Function::Array(ArrayFunction::Any(Comparison::Equal, false, blanks)), operands) if !negated => {
            match &operands[..] {
                [Expr::Column(column), array] => {
                    listed(table, *column, std::slice::from_ref(array), true, *blanks, conjunct)
                }
                _ => Known::Nothing,
            }
        }
        Expr::IsNull(value) if !negated => match **value {
            Expr::Column(column) if table.schema.columns[column].nullable => {
                Known::Bound(Bound { column, test: Test::Null, conjunct })
            }
            _ => Known::Nothing,
        },
        Expr::Like(like) if like.negated == negated => prefixed(table, like, conjunct),
        _ => Known::Nothing,
    }
}

/// Whether an index on a column can serve a comparison. If the comparison ignores trailing blanks, only an index on a
/// `char` column can, since its keys have none.
fn serves(table: &Table, column: usize, blanks: bool) -> bool {
    !blanks || matches!(table.schema.columns[column].ty, Type::Char(_))
}

fn listed<'e>(
    table: &Table,
    column: usize,
    list: &'e [Expr],
    is_array: bool,
    blanks: bool,
    conjunct: usize,
) -> Known<'e> {
    if !serves(table, column, blanks) || !list.iter().all(Expr::is_row_independent) {
        return Known::Nothing;
    }
    Known::Bound(Bound { column, test: Test::In(list, is_array), conjunct })
}

/// Derives the bounds between which all texts lie that match a LIKE pattern. There are none if the pattern does not say
/// how the texts begin, if it ignores case, or if the column is neither a text nor a varchar: the keys of a `char` lack
/// the trailing blanks that the pattern sees.
fn prefixed<'e>(table: &Table, like: &Like, conjunct: usize) -> Known<'e> {
    let (Expr::Column(column), Expr::Const(Value::Text(pattern))) = (&like.text, &like.pattern) else {
        return Known::Nothing;
    };
    let plain = matches!(table.schema.columns[*column].ty, Type::Text | Type::Varchar(_));
    if like.ignore_case || !plain {
        return Known::Nothing;
    }
    let mut prefix = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' | '_' => break,
            escape if Some(escape) == like.escape => match characters.next() {
                Some(escaped) => prefix.push(escaped),
                // The pattern is invalid, which is an error when a row is checked.
                None => return Known::Nothing,
            },
            plain => prefix.push(plain),
        }
    }
    if prefix.is_empty() {
        return Known::Nothing;
    }
    let bound = |comparison, text: String| {
        let value = Cow::Owned(Expr::Const(Value::Text(text.into())));
        Known::Bound(Bound::compare(*column, comparison, value, conjunct))
    };
    let end = successor(&prefix).map(|end| bound(Comparison::Less, end));
    let mut all = vec![bound(Comparison::GreaterOrEqual, prefix), Known::Nothing];
    all.extend(end);
    Known::All(all)
}

/// Returns the least text that is greater than all texts with this prefix, or `None` if there is none.
fn successor(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // There are no characters between U+D7FF and U+E000.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}
