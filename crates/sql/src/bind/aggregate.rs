//! Calls of aggregate functions: their arguments, types and clauses.

use super::array::array_of;
use super::binder::Binder;
use super::direction::direction;
use super::errors::{ambiguous_function, no_function};
use super::json::{check_equality, check_order, takes_rows};
use super::scope::Scope;
use super::select_state::Aggregates;
use super::typed::Typed;
use super::types::{common_number, plain_type};
use crate::error::unsupported;
use crate::expr::{Expr, Function, Strictness, Variadic};
use crate::plan::{AggregateCall, AggregateFunction, AggregateOrder};
use crate::types::without_modifier;
use crate::{SqlError, state};
use hotrow_storage::{Element, Type};
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr};

/// The parts of a call as the statement has them.
pub(super) struct Given<'g> {
    pub(super) name: &'g str,
    pub(super) list: &'g [FunctionArg],
    pub(super) distinct: bool,
    pub(super) order: &'g [ast::OrderByExpr],
    pub(super) filter: Option<&'g A>,
    /// Whether the call has OVER. If so, the function is computed over groups, and its arguments may contain other
    /// aggregates.
    pub(super) windowed: bool,
}

impl Binder<'_> {
    /// Binds a call of an aggregate function, with all its clauses.
    pub(super) fn aggregate(
        &mut self,
        function: AggregateFunction,
        given: &Given<'_>,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let before = self.looked.len();
        let mut call = self.aggregate_arguments(function, given, scope)?;
        self.check_aggregates("aggregate functions")?;
        call.order = self.aggregate_order(&call, given, scope)?;
        if let Some(filter) = given.filter {
            let typed = self.plain(filter, scope, "FILTER")?;
            call.filter = Some(self.condition(typed, "FILTER")?);
        }
        self.aggregate_call(call, before)
    }

    /// Returns an error if no aggregate function may stand at the place that is bound.
    ///
    /// # Errors
    /// 42803. The message calls the refused functions `what`, such as `aggregate functions`.
    pub(super) fn check_aggregates(&self, what: &str) -> Result<(), SqlError> {
        let Aggregates::Refused(place) = self.select.aggregates else { return Ok(()) };
        let message = match place {
            "aggregate" => "aggregate function calls cannot be nested".to_owned(),
            place => format!("{what} are not allowed in {place}"),
        };
        Err(SqlError::new(state::GROUPING_ERROR, message))
    }

    /// Adds a bound call to the calls of the query, unless the query has an equal call already. Returns the expression
    /// for the result of the call. `before` is the length of `looked` before the call was bound.
    ///
    /// # Errors
    /// 0A000 if the call belongs to an outer query, because its arguments have columns of outer queries only.
    pub(super) fn aggregate_call(&mut self, mut call: AggregateCall, before: usize) -> Result<Typed, SqlError> {
        // The call belongs to the innermost query to whose columns it refers; it may stand in a subquery of that query.
        let own = self.around.levels.len();
        let looked = self.looked.get(before..).unwrap_or_default();
        let has_column = |part: &mut Expr| part.any(&mut |part| matches!(part, Expr::Column(_)));
        let is_own =
            looked.contains(&own) || call.parts_mut().any(has_column) || call.direct.iter_mut().any(has_column);
        if !is_own && looked.iter().any(|level| *level < own) {
            return Err(unsupported("an aggregate function of an outer query's columns"));
        }
        let result = call.result;
        let Aggregates::Found(calls) = &mut self.select.aggregates else { return Err(unsupported("this aggregate")) };
        let position = calls.iter().position(|known| *known == call).unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Typed::new(Expr::Aggregate(position), result))
    }

    /// Binds a call of an aggregate function with its arguments. FILTER and ORDER BY are left to the caller.
    pub(super) fn aggregate_arguments(
        &mut self,
        function: AggregateFunction,
        given: &Given<'_>,
        scope: &Scope,
    ) -> Result<AggregateCall, SqlError> {
        let &Given { name, list, distinct, .. } = given;
        if list.is_empty() && function == AggregateFunction::Count {
            let message = "count(*) must be used to call a parameterless aggregate function";
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        let call = match list {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if function == AggregateFunction::Count => {
                AggregateCall::new(AggregateFunction::CountRows, None, Type::Int8)
            }
            [FunctionArg::Unnamed(argument @ (FunctionArgExpr::Expr(_) | FunctionArgExpr::QualifiedWildcard(_)))]
                if !takes_two(function) =>
            {
                let typed = match argument {
                    FunctionArgExpr::Expr(argument) => self.aggregate_argument(argument, given, scope)?,
                    FunctionArgExpr::QualifiedWildcard(relation) if takes_rows(name) => {
                        self.whole_row(relation, scope)?
                    }
                    _ => return Err(unsupported("this kind of argument")),
                };
                let is_row = matches!(typed.expr, Expr::Call(Function::Variadic(Variadic::JsonRow { .. }), _));
                if let (true, Some(ty)) = (distinct, typed.ty) {
                    check_equality(ty)?;
                }
                let (argument, result) = self.aggregate_types(name, function, typed)?;
                let function = match (function, result) {
                    (AggregateFunction::Array(_), Type::Array(element)) => AggregateFunction::Array(element),
                    (AggregateFunction::Json { binary, .. }, _) => AggregateFunction::Json { binary, rows: is_row },
                    _ => function,
                };
                AggregateCall { distinct, ..AggregateCall::new(function, Some(argument), result) }
            }
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(separator)),
            ] if function == AggregateFunction::Join => {
                let (typed, separator) = (
                    self.aggregate_argument(argument, given, scope)?,
                    self.aggregate_argument(separator, given, scope)?,
                );
                let types = [typed.ty, separator.ty];
                if types.iter().flatten().any(|ty| !ty.is_text()) {
                    return Err(no_function(name, &types));
                }
                let argument = self.coerce(typed, Type::Text, Strictness::Implicit)?;
                let separator = Some(self.coerce(separator, Type::Text, Strictness::Implicit)?);
                AggregateCall { distinct, separator, ..AggregateCall::new(function, Some(argument), Type::Text) }
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(key)), FunctionArg::Unnamed(FunctionArgExpr::Expr(value))]
                if let AggregateFunction::JsonObject { binary } = function =>
            {
                let (key, value) =
                    (self.aggregate_argument(key, given, scope)?, self.aggregate_argument(value, given, scope)?);
                let (key, value) = (self.with_name(key)?, self.with_name(value)?);
                let (key, value) = (self.resolved(key)?.0, self.resolved(value)?.0);
                if distinct {
                    return Err(unsupported(&format!("DISTINCT in {name}")));
                }
                let result = if binary { Type::Jsonb } else { Type::Json };
                AggregateCall { separator: Some(key), ..AggregateCall::new(function, Some(value), result) }
            }
            _ => {
                let mut types = Vec::with_capacity(list.len());
                for argument in list {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument {
                        types.push(self.aggregate_argument(argument, given, scope)?.ty);
                    }
                }
                return Err(no_function(name, &types));
            }
        };
        Ok(call)
    }

    fn aggregate_argument(&mut self, argument: &A, given: &Given<'_>, scope: &Scope) -> Result<Typed, SqlError> {
        let bind = |binder: &mut Self| {
            if takes_rows(given.name) { binder.json_argument(argument, scope) } else { binder.expr(argument, scope) }
        };
        if given.windowed { bind(self) } else { self.without_aggregates("aggregate", bind) }
    }

    /// Casts the argument to the type in which the function computes, and returns it with the type of the function's
    /// result.
    fn aggregate_types(
        &mut self,
        name: &str,
        function: AggregateFunction,
        typed: Typed,
    ) -> Result<(Expr, Type), SqlError> {
        let typed = if matches!(function, AggregateFunction::Json { .. }) { self.with_name(typed)? } else { typed };
        let given = typed.ty;
        let wrong = || no_function(name, &[given]);
        let (argument, result) = match function {
            AggregateFunction::CountRows | AggregateFunction::Count => {
                let ty = given.unwrap_or(Type::Text);
                (ty, Type::Int8)
            }
            AggregateFunction::Sum | AggregateFunction::Average if matches!(given, Some(Type::Interval(_))) => {
                (Type::INTERVAL, Type::INTERVAL)
            }
            AggregateFunction::Sum => match common_number(&[given]).ok_or_else(wrong)? {
                ty @ (Type::Int2 | Type::Int4) => (ty, Type::Int8),
                Type::Int8 => (Type::Int8, Type::Numeric(None)),
                ty => (ty, ty),
            },
            AggregateFunction::Average => match common_number(&[given]).ok_or_else(wrong)? {
                Type::Float4 | Type::Float8 => (Type::Float8, Type::Float8),
                _ => (Type::Numeric(None), Type::Numeric(None)),
            },
            AggregateFunction::Min | AggregateFunction::Max => {
                let ty = given.unwrap_or(Type::Text);
                if matches!(ty, Type::Bool | Type::Json | Type::Jsonb | Type::Uuid | Type::Bytea) {
                    return Err(wrong());
                }
                let ty = if matches!(ty, Type::Char(_)) { ty } else { without_modifier(ty) };
                (ty, ty)
            }
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => match given {
                Some(ty @ (Type::Int2 | Type::Int4 | Type::Int8)) => (ty, ty),
                _ => return Err(wrong()),
            },
            AggregateFunction::Spread { .. } => match common_number(&[given]).ok_or_else(wrong)? {
                Type::Float4 | Type::Float8 => (Type::Float8, Type::Float8),
                _ => (Type::Numeric(None), Type::Numeric(None)),
            },
            AggregateFunction::Join => (Type::Text, Type::Text),
            AggregateFunction::OrderedSet(_) | AggregateFunction::Grouping => return Err(wrong()),
            AggregateFunction::Json { binary, .. } | AggregateFunction::JsonObject { binary } => {
                let undetermined = || {
                    let message = "could not determine polymorphic type because input has type unknown";
                    SqlError::new(state::DATATYPE_MISMATCH, message)
                };
                (given.ok_or_else(undetermined)?, if binary { Type::Jsonb } else { Type::Json })
            }
            AggregateFunction::Array(_) => {
                let ty = given.ok_or_else(|| ambiguous_function(name, &[None]))?;
                let ty = plain_type(ty);
                (ty, Type::Array(array_of(ty)?))
            }
            AggregateFunction::And | AggregateFunction::Or => {
                if given.is_some_and(|ty| ty != Type::Bool) {
                    return Err(wrong());
                }
                (Type::Bool, Type::Bool)
            }
        };
        Ok((self.coerce(typed, argument, Strictness::Implicit)?, result))
    }

    /// Binds the ORDER BY clause of a call. Even if the order does not matter to the function, the clause must be
    /// valid.
    fn aggregate_order(
        &mut self,
        call: &AggregateCall,
        given: &Given<'_>,
        scope: &Scope,
    ) -> Result<Vec<AggregateOrder>, SqlError> {
        let mut order = Vec::with_capacity(given.order.len());
        // The type of the argument before the cast to the function's type: a cast that changes nothing makes another
        // expression of it.
        let argument = match given.list {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)), ..] if call.distinct && !given.order.is_empty() => {
                self.aggregate_argument(argument, given, scope)?.ty
            }
            _ => None,
        };
        for item in given.order {
            let typed = self.plain(&item.expr, scope, "aggregate")?;
            let (expr, ty) = self.resolved(typed)?;
            check_order(ty)?;
            let is_argument = call.argument.as_ref() == Some(&expr)
                && argument.is_none_or(|argument| plain_type(argument) == plain_type(ty));
            let (descending, nulls_first) = direction(&item.options)?;
            if call.distinct && !is_argument {
                let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
            }
            order.push(AggregateOrder { expr, descending, nulls_first, blanks: matches!(ty, Type::Char(_)) });
        }
        if !call.function.collects() {
            return Ok(Vec::new());
        }
        // Equal values are found by sorting, as in PostgreSQL.
        if let (true, true, Some(expr)) = (call.distinct, order.is_empty(), call.argument.clone()) {
            let blanks = matches!(call.result, Type::Array(Element::Char(_)));
            order.push(AggregateOrder { expr, descending: false, nulls_first: false, blanks });
        }
        Ok(order)
    }
}

fn takes_two(function: AggregateFunction) -> bool {
    matches!(function, AggregateFunction::Join | AggregateFunction::JsonObject { .. })
}

/// Returns the aggregate function of this name, or `None` if there is none.
pub(super) fn aggregate_named(name: &str) -> Option<AggregateFunction> {
    Some(match name {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "avg" => AggregateFunction::Average,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        "bool_and" | "every" => AggregateFunction::And,
        "bool_or" => AggregateFunction::Or,
        "bit_and" => AggregateFunction::BitAnd,
        "bit_or" => AggregateFunction::BitOr,
        "bit_xor" => AggregateFunction::BitXor,
        "string_agg" => AggregateFunction::Join,
        "json_agg" => AggregateFunction::Json { binary: false, rows: false },
        "jsonb_agg" => AggregateFunction::Json { binary: true, rows: false },
        "json_object_agg" => AggregateFunction::JsonObject { binary: false },
        "jsonb_object_agg" => AggregateFunction::JsonObject { binary: true },
        "array_agg" => AggregateFunction::Array(Element::Text),
        "variance" | "var_samp" => AggregateFunction::Spread { population: false, root: false },
        "var_pop" => AggregateFunction::Spread { population: true, root: false },
        "stddev" | "stddev_samp" => AggregateFunction::Spread { population: false, root: true },
        "stddev_pop" => AggregateFunction::Spread { population: true, root: true },
        _ => return None,
    })
}
