//! Bound expressions.

use super::{Arithmetic, Comparison, Function, Invocation, Strictness, Subquery};
use crate::types::DomainId;
use hotrow_storage::{Type, Value};
use hotrow_sync::Arc;

/// A LIKE or ILIKE of a text with a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Like {
    /// The text that is matched.
    pub text: Expr,
    /// The pattern with which the text is matched.
    pub pattern: Expr,
    /// The escape character, after which the next character of the pattern stands for itself, or `None` if there is
    /// none.
    pub escape: Option<char>,
    /// Whether the operator is ILIKE, which ignores case.
    pub ignore_case: bool,
    /// Whether the result is negated (NOT LIKE).
    pub negated: bool,
}

/// The constraints that a value of a domain has to satisfy: those of the domain itself, and those of the domains over
/// which it is defined. A plan that has them is valid as long as the definitions of these domains are current.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundDomain {
    /// The domain.
    pub id: DomainId,
    /// The [full name](crate::schema) of the domain.
    pub name: String,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// The names and conditions of the CHECK constraints in the order in which they are checked: those of the innermost
    /// domain come first. The only column of a condition is the value.
    pub checks: Vec<(String, Expr)>,
}

impl BoundDomain {
    /// Whether the domain takes every value of its base type.
    pub fn takes_all(&self) -> bool {
        !self.not_null && self.checks.is_empty()
    }
}

/// A bound expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A value.
    Const(Value<'static>),
    /// A parameter, by its number from zero.
    Param(usize),
    /// A column of the input row, by its position.
    Column(usize),
    /// A column of a row of an enclosing query or join: the number of the frame that holds the row, and the position of
    /// the column in the frame.
    Outer(usize, usize),
    /// The result of an aggregate, by its position in the query's list of aggregates. Used only while a query is bound:
    /// no finished plan has it.
    Aggregate(usize),
    /// The result of a window function, by its position in the query's list. Used only while a query is bound: no
    /// finished plan has it.
    Window(usize),
    /// A column of the results of the select list's set-returning functions, by its position. Used only while a query
    /// is bound: no finished plan has it.
    Set(usize),
    /// AND of all conditions.
    And(Vec<Expr>),
    /// OR of all conditions.
    Or(Vec<Expr>),
    /// NOT
    Not(Box<Expr>),
    /// IS NULL
    IsNull(Box<Expr>),
    /// IS TRUE, IS FALSE
    IsBool(Box<Expr>, bool),
    /// IS NOT DISTINCT FROM. If the flag is set, trailing blanks are ignored (`char`).
    Same(Box<(Expr, Expr)>, bool),
    /// A comparison. If the flag is set, trailing blanks are ignored (`char`).
    Compare(Comparison, Box<(Expr, Expr)>, bool),
    /// Arithmetic. Both operands have the same type, unless they are dates, times or intervals.
    Arithmetic(Arithmetic, Box<(Expr, Expr)>),
    /// Unary minus.
    Negate(Box<Expr>),
    /// `||` of texts or byte strings.
    Concat(Box<(Expr, Expr)>),
    /// IN with a list. If the flag is set, trailing blanks are ignored (`char`).
    In(Box<Expr>, Vec<Expr>, bool),
    /// LIKE
    Like(Box<Like>),
    /// CASE: the result of the first arm whose condition is true, or else the last expression.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    /// COALESCE: the first value that is not NULL.
    Coalesce(Vec<Expr>),
    /// NULLIF: NULL if both values are equal, or else the first. If the flag is set, trailing blanks are ignored
    /// (`char`).
    NullIf(Box<(Expr, Expr)>, bool),
    /// A call of a function.
    Call(Function, Vec<Expr>),
    /// A cast from the first type to the second.
    Cast(Box<Expr>, Type, Type, Strictness),
    /// A value that has to satisfy the constraints of a domain.
    Domain(Box<Expr>, Arc<BoundDomain>),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// A call of a user's function.
    Invoke(Box<Invocation>),
}

impl Expr {
    /// Returns the constant TRUE or FALSE.
    pub fn bool(value: bool) -> Self {
        Expr::Const(Value::Bool(value))
    }

    /// The constant NULL.
    pub const NULL: Expr = Expr::Const(Value::Null);

    /// Returns the direct subexpressions. The plan of a subquery is not searched.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Column(_) | Expr::Outer(..) => Vec::new(),
            Expr::Aggregate(_) | Expr::Window(_) | Expr::Set(_) => Vec::new(),
            Expr::And(list) | Expr::Or(list) | Expr::Coalesce(list) | Expr::Call(_, list) => list.iter().collect(),
            Expr::Not(expr) | Expr::IsNull(expr) | Expr::IsBool(expr, _) | Expr::Negate(expr) => vec![expr],
            Expr::Cast(expr, ..) | Expr::Domain(expr, _) => vec![expr],
            Expr::Same(pair, _) | Expr::Compare(_, pair, _) | Expr::NullIf(pair, _) => vec![&pair.0, &pair.1],
            Expr::Arithmetic(_, pair) | Expr::Concat(pair) => vec![&pair.0, &pair.1],
            Expr::In(expr, list, _) => std::iter::once(&**expr).chain(list).collect(),
            Expr::Subquery(subquery) => subquery.operands.iter().chain(&subquery.arguments).collect(),
            Expr::Invoke(invocation) => invocation.arguments.iter().collect(),
            Expr::Like(like) => vec![&like.text, &like.pattern],
            Expr::Case(arms, otherwise) => {
                arms.iter().flat_map(|(when, then)| [when, then]).chain(std::iter::once(&**otherwise)).collect()
            }
        }
    }

    /// Returns the direct subexpressions, as [`parts`](Self::parts) does, to change them.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Column(_) | Expr::Outer(..) => Vec::new(),
            Expr::Aggregate(_) | Expr::Window(_) | Expr::Set(_) => Vec::new(),
            Expr::And(list) | Expr::Or(list) | Expr::Coalesce(list) | Expr::Call(_, list) => list.iter_mut().collect(),
            Expr::Not(expr) | Expr::IsNull(expr) | Expr::IsBool(expr, _) | Expr::Negate(expr) => vec![expr],
            Expr::Cast(expr, ..) | Expr::Domain(expr, _) => vec![expr],
            Expr::Same(pair, _) | Expr::Compare(_, pair, _) | Expr::NullIf(pair, _) => {
                let (left, right) = &mut **pair;
                vec![left, right]
            }
            Expr::Arithmetic(_, pair) | Expr::Concat(pair) => {
                let (left, right) = &mut **pair;
                vec![left, right]
            }
            Expr::In(expr, list, _) => std::iter::once(&mut **expr).chain(list).collect(),
            Expr::Subquery(subquery) => subquery.operands.iter_mut().chain(&mut subquery.arguments).collect(),
            Expr::Invoke(invocation) => invocation.arguments.iter_mut().collect(),
            Expr::Like(like) => vec![&mut like.text, &mut like.pattern],
            Expr::Case(arms, otherwise) => {
                arms.iter_mut().flat_map(|(when, then)| [when, then]).chain(std::iter::once(&mut **otherwise)).collect()
            }
        }
    }

    /// Calls `change` for the position of each column of the input row in the expression, to change it.
    pub fn change_columns(&mut self, change: &dyn Fn(&mut usize)) {
        if let Expr::Column(column) = self {
            change(column);
        }
        self.parts_mut().into_iter().for_each(|part| part.change_columns(change));
    }

    /// Whether the expression, or any subexpression, satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        test(self) || self.parts().into_iter().any(|part| part.any(test))
    }

    /// Whether the value is the same for every row of a statement: the expression refers to no column of the row, and
    /// contains no subquery, no function of users and no volatile function.
    pub fn is_row_independent(&self) -> bool {
        !self.any(&mut |part| match part {
            Expr::Column(_) | Expr::Aggregate(_) | Expr::Window(_) | Expr::Set(_) => true,
            Expr::Subquery(_) | Expr::Invoke(_) => true,
            Expr::Call(function, _) => function.is_volatile(),
            _ => false,
        })
    }
}
