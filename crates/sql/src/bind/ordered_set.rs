//! Calls of ordered-set and hypothetical-set aggregate functions: `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`.

use super::aggregate::{Given, aggregate_named};
use super::array::array_of;
use super::binder::Binder;
use super::direction::direction;
use super::errors::{ambiguous_function, no_function};
use super::json::check_order;
use super::scope::Scope;
use super::typed::Typed;
use super::types::plain_type;
use crate::error::unsupported;
use crate::expr::{self, Choice, Expr, Strictness, can_cast};
use crate::plan::{AggregateCall, AggregateFunction, AggregateOrder, OrderedSet};
use crate::{SqlError, state};
use hotrow_storage::{Element, Type};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

/// A call with its types: the direct arguments, the values that are sorted, each with its type, and the type of the
/// result.
struct Bound {
    direct: Vec<Expr>,
    sorted: Vec<(Expr, Type)>,
    result: Type,
}

impl Binder<'_> {
    /// Binds a call with WITHIN GROUP. `order` is the list in its parentheses, after ORDER BY.
    pub(super) fn within_group(
        &mut self,
        given: &Given<'_>,
        order: &[ast::OrderByExpr],
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let name = given.name;
        if !given.order.is_empty() {
            let message = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        if given.distinct {
            return Err(SqlError::new(state::SYNTAX_ERROR, "cannot use DISTINCT with WITHIN GROUP"));
        }
        let before = self.looked.len();
        let (mut direct, mut sorted) = (Vec::with_capacity(given.list.len()), Vec::with_capacity(order.len()));
        for argument in given.list {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
                return Err(unsupported("this kind of argument"));
            };
            direct.push(self.plain(argument, scope, "aggregate")?);
        }
        for item in order {
            sorted.push(self.plain(&item.expr, scope, "aggregate")?);
        }
        let types: Vec<_> = direct.iter().chain(&sorted).map(|typed| typed.ty).collect();
        let Some(function) = ordered_set_named(name) else { return Err(no_ordered_set(name, &types)) };
        let bound = match function {
            OrderedSet::Mode => self.mode_types(direct, sorted)?,
            OrderedSet::PercentileContinuous | OrderedSet::PercentileDiscrete if is_open(function, &types) => {
                return Err(ambiguous_function(name, &types));
            }
            OrderedSet::PercentileContinuous => self.continuous_types(direct, sorted)?,
            OrderedSet::PercentileDiscrete => self.discrete_types(direct, sorted)?,
            _ if direct.len() != sorted.len() => {
                return Err(no_function(name, &types).hint(format!(
                    "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here \
                     {}) must match the number of ordering columns (here {}).",
                    direct.len(),
                    sorted.len()
                )));
            }
            _ => Some(self.hypothetical_types(function, direct, sorted)?),
        };
        let Bound { direct, sorted, result } = bound.ok_or_else(|| no_function(name, &types))?;
        if given.windowed {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        self.check_aggregates("aggregate functions")?;
        if direct.iter().any(Expr::has_subquery) {
            return Err(unsupported(&format!("a subquery in the direct arguments of {name}")));
        }
        let mut call = AggregateCall::new(AggregateFunction::OrderedSet(function), None, result);
        call.direct = direct;
        for ((expr, ty), item) in sorted.into_iter().zip(order) {
            check_order(ty)?;
            let (descending, nulls_first) = direction(&item.options)?;
            call.order.push(AggregateOrder { expr, descending, nulls_first, blanks: matches!(ty, Type::Char(_)) });
        }
        if let Some(filter) = given.filter {
            let typed = self.plain(filter, scope, "FILTER")?;
            call.filter = Some(self.condition(typed, "FILTER")?);
        }
        self.aggregate_call(call, before)
    }

    fn mode_types(&mut self, direct: Vec<Typed>, sorted: Vec<Typed>) -> Result<Option<Bound>, SqlError> {
        let (true, Ok([value])) = (direct.is_empty(), <[Typed; 1]>::try_from(sorted)) else { return Ok(None) };
        let ty = any_element(&value)?;
        Ok(Some(Bound { direct: Vec::new(), sorted: vec![(value.expr, ty)], result: ty }))
    }

    fn continuous_types(&mut self, direct: Vec<Typed>, sorted: Vec<Typed>) -> Result<Option<Bound>, SqlError> {
        let Ok([value]) = <[Typed; 1]>::try_from(sorted) else { return Ok(None) };
        let ty = match value.ty {
            Some(Type::Interval(_)) => Type::INTERVAL,
            Some(ty) if !can_cast(ty, Type::Float8, Strictness::Implicit) => return Ok(None),
            _ => Type::Float8,
        };
        let Some((fraction, is_array)) = self.fraction(direct)? else { return Ok(None) };
        let value = self.coerce(value, ty, Strictness::Implicit)?;
        let result = if is_array { Type::Array(array_of(ty)?) } else { ty };
        Ok(Some(Bound { direct: vec![fraction], sorted: vec![(value, ty)], result }))
    }

    fn discrete_types(&mut self, direct: Vec<Typed>, sorted: Vec<Typed>) -> Result<Option<Bound>, SqlError> {
        let Ok([value]) = <[Typed; 1]>::try_from(sorted) else { return Ok(None) };
        let Some((fraction, is_array)) = self.fraction(direct)? else { return Ok(None) };
        let ty = any_element(&value)?;
        let result = if is_array { Type::Array(array_of(ty)?) } else { ty };
        Ok(Some(Bound { direct: vec![fraction], sorted: vec![(value.expr, ty)], result }))
    }

    /// Casts the direct argument to a fraction or to an array of fractions. Returns it with whether it is an array.
    /// Returns `None` if there is not exactly one direct argument, or if it has another type.
    fn fraction(&mut self, direct: Vec<Typed>) -> Result<Option<(Expr, bool)>, SqlError> {
        let Ok([fraction]) = <[Typed; 1]>::try_from(direct) else { return Ok(None) };
        let is_array = matches!(fraction.ty, Some(Type::Array(_)));
        let ty = if is_array { Type::Array(Element::Float8) } else { Type::Float8 };
        if fraction.ty.is_some_and(|from| !can_cast(from, ty, Strictness::Implicit)) {
            return Ok(None);
        }
        Ok(Some((self.coerce(fraction, ty, Strictness::Implicit)?, is_array)))
    }

    /// Casts each direct argument and the value with which it is compared to their common type.
    fn hypothetical_types(
        &mut self,
        function: OrderedSet,
        direct: Vec<Typed>,
        sorted: Vec<Typed>,
    ) -> Result<Bound, SqlError> {
        let result = match function {
            OrderedSet::PercentRank | OrderedSet::CumulativeDistribution => Type::Float8,
            _ => Type::Int8,
        };
        let mut bound = Bound { direct: Vec::new(), sorted: Vec::new(), result };
        for (direct, value) in direct.into_iter().zip(sorted) {
            let (exprs, ty) = self.unify(vec![value, direct], "WITHIN GROUP")?;
            if let Ok([value, direct]) = <[Expr; 2]>::try_from(exprs) {
                bound.direct.push(direct);
                bound.sorted.push((value, ty));
            }
        }
        Ok(bound)
    }
}

/// Whether the argument types leave open whether the fraction is a number or an array. A fraction without a type is
/// taken for a number if the sorted values have a type that casts to a number.
fn is_open(function: OrderedSet, types: &[Option<Type>]) -> bool {
    match types {
        [None, None] => true,
        [None, Some(Type::Interval(_))] => true,
        [None, Some(ty)] => {
            function == OrderedSet::PercentileDiscrete && !can_cast(*ty, Type::Float8, Strictness::Implicit)
        }
        _ => false,
    }
}

/// Returns the type of an argument that may be of any type but must have one.
fn any_element(value: &Typed) -> Result<Type, SqlError> {
    let message = "could not determine polymorphic type because input has type unknown";
    value.ty.map(plain_type).ok_or_else(|| SqlError::new(state::DATATYPE_MISMATCH, message))
}

/// Makes the error for a call with WITHIN GROUP of a function that is no ordered-set aggregate: 42809 if there is such
/// a function, else 42883.
fn no_ordered_set(name: &str, types: &[Option<Type>]) -> SqlError {
    let wrong = |message| SqlError::new(state::WRONG_OBJECT_TYPE, message);
    match expr::choose(name, types) {
        _ if aggregate_named(name).is_some() && types.len() == 1 => {
            wrong(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"))
        }
        Choice::One(..) => wrong(format!("WITHIN GROUP specified, but {name} is not an aggregate function")),
        _ => no_function(name, types),
    }
}

/// Returns the error 42809 for a call of an ordered-set aggregate without WITHIN GROUP. Returns `None` if the name with
/// this number of arguments means no such aggregate.
pub(super) fn lacks_within_group(name: &str, arguments: usize) -> Option<SqlError> {
    let is_call = match ordered_set_named(name)? {
        OrderedSet::Mode => arguments == 1,
        OrderedSet::PercentileContinuous | OrderedSet::PercentileDiscrete => arguments == 2,
        _ => arguments > 0,
    };
    let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
    is_call.then(|| SqlError::new(state::WRONG_OBJECT_TYPE, message))
}

/// Returns the ordered-set aggregate function of this name, or `None` if there is none.
fn ordered_set_named(name: &str) -> Option<OrderedSet> {
    Some(match name {
        "percentile_cont" => OrderedSet::PercentileContinuous,
        "percentile_disc" => OrderedSet::PercentileDiscrete,
        "mode" => OrderedSet::Mode,
        "rank" => OrderedSet::Rank,
        "dense_rank" => OrderedSet::DenseRank,
        "percent_rank" => OrderedSet::PercentRank,
        "cume_dist" => OrderedSet::CumulativeDistribution,
        _ => return None,
    })
}
