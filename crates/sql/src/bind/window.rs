//! Window functions: binds their calls, and the clauses OVER and WINDOW.

use super::aggregate::{Given, aggregate_named};
use super::binder::Binder;
use super::direction::direction;
use super::errors::no_function;
use super::scope::Scope;
use super::select_state::Aggregates;
use super::typed::Typed;
use super::types::{common, plain_type};
use super::windows::{Call, Definition, WindowKey};
use crate::error::unsupported;
use crate::expr::{Expr, Strictness, can_cast};
use crate::parse::names::fold;
use crate::parse::window::{Exclusion, exclusion_of};
use crate::plan::window::{FrameBound, FrameUnits, WindowCall, WindowFrame, WindowFunction};
use crate::types::{is_number, type_name, without_modifier};
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use sqlparser::ast::{self, Expr as A, WindowFrameBound as B, WindowType};

/// The functions that are window functions only. Aggregate functions can be used as window functions, too.
const WINDOW_FUNCTIONS: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

pub(super) fn is_window_function(name: &str) -> bool {
    WINDOW_FUNCTIONS.contains(&name)
}

fn windowing(message: impl Into<String>) -> SqlError {
    SqlError::new(state::WINDOWING_ERROR, message)
}

impl Binder<'_> {
    /// Binds a call of a function with OVER.
    pub(super) fn window_function(
        &mut self,
        given: &Given<'_>,
        over: &WindowType,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let refused = self.select.windows.refused.replace("window function");
        let bound = self.window_call(given, scope);
        self.select.windows.refused = refused;
        let (function, ty) = bound?;
        if given.distinct {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "DISTINCT is not implemented for window functions",
            ));
        }
        if !given.order.is_empty() {
            let message = "aggregate ORDER BY is not implemented for window functions";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        if let Some(filter) = given.filter
            && !matches!(function, WindowFunction::Aggregate(_))
        {
            self.plain(filter, scope, "FILTER").and_then(|typed| self.condition(typed, "FILTER"))?;
            let message = "FILTER is not implemented for non-aggregate window functions";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let place = match self.select.aggregates {
            Aggregates::Refused(place) => Some(place),
            Aggregates::Found(_) => self.select.windows.refused,
        };
        match place {
            None => {}
            Some("aggregate") => {
                let message = "aggregate function calls cannot contain window function calls";
                return Err(SqlError::new(state::GROUPING_ERROR, message));
            }
            Some("window function") => return Err(windowing("window function calls cannot be nested")),
            Some(place) => {
                let place = if place.starts_with("window ") { "window definitions" } else { place };
                return Err(windowing(format!("window functions are not allowed in {place}")));
            }
        }
        let Definition { partition, order, frame } = match over {
            WindowType::NamedWindow(name) => self.named_window(name)?.clone(),
            WindowType::WindowSpec(spec) => self.window_definition(spec, false, scope)?,
        };
        let call = WindowCall { function, frame: frame.unwrap_or(WindowFrame::DEFAULT) };
        let call = Call { partition, order, call };
        let calls = &mut self.select.windows.calls;
        let position = calls.iter().position(|known| *known == call).unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Typed::new(Expr::Window(position), ty))
    }

    /// Binds the function of a call with its arguments. Returns the type of its result, too.
    fn window_call(&mut self, given: &Given<'_>, scope: &Scope) -> Result<(WindowFunction, Type), SqlError> {
        let name = given.name;
        if let Some(aggregate) = aggregate_named(name) {
            let mut call = self.aggregate_arguments(aggregate, given, scope)?;
            if let Some(filter) = given.filter {
                let typed = self.plain(filter, scope, "FILTER")?;
                call.filter = Some(self.condition(typed, "FILTER")?);
            }
            let result = call.result;
            return Ok((WindowFunction::Aggregate(call), result));
        }
        let mut arguments = Vec::with_capacity(given.list.len());
        for argument in given.list {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => {
                    arguments.push(self.expr(argument, scope)?);
                }
                // A `*` counts as no argument.
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => {}
                _ => return Err(unsupported("this kind of argument")),
            }
        }
        if !is_window_function(name) {
            let message = format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let wrong = || no_function(name, &types);
        let mut arguments = arguments.into_iter();
        let ranking = match name {
            "row_number" => Some((WindowFunction::RowNumber, Type::Int8)),
            "rank" => Some((WindowFunction::Rank, Type::Int8)),
            "dense_rank" => Some((WindowFunction::DenseRank, Type::Int8)),
            "percent_rank" => Some((WindowFunction::PercentRank, Type::Float8)),
            "cume_dist" => Some((WindowFunction::CumulativeDistribution, Type::Float8)),
            _ => None,
        };
        match (ranking, arguments.next(), types.len()) {
            (Some(ranking), None, 0) => Ok(ranking),
            (None, Some(buckets), 1) if name == "ntile" => {
                Ok((WindowFunction::Tile(self.whole_number(buckets)?.ok_or_else(wrong)?), Type::Int4))
            }
            (None, Some(value), 1) if name == "first_value" || name == "last_value" => {
                let (value, ty) = any_element(value)?;
                let function =
                    if name == "first_value" { WindowFunction::First(value) } else { WindowFunction::Last(value) };
                Ok((function, ty))
            }
            (None, Some(value), 2) if name == "nth_value" => {
                let n = arguments.next().map(|n| self.whole_number(n)).transpose()?.flatten().ok_or_else(wrong)?;
                let (value, ty) = any_element(value)?;
                Ok((WindowFunction::Nth(value, n), ty))
            }
            (None, Some(value), 1..=3) if name == "lag" || name == "lead" => {
                let offset = match arguments.next() {
                    Some(offset) => self.whole_number(offset)?.ok_or_else(wrong)?,
                    None => Expr::Const(Value::Int4(1)),
                };
                let (value, otherwise, ty) = match arguments.next() {
                    None => {
                        let (value, ty) = any_element(value)?;
                        (value, Expr::NULL, ty)
                    }
                    Some(otherwise) => {
                        if value.ty.zip(otherwise.ty).is_some_and(|(one, other)| common(one, other).is_none()) {
                            return Err(wrong());
                        }
                        let (mut exprs, ty) = self.unify(vec![value, otherwise], name)?;
                        let otherwise = exprs.pop().unwrap_or(Expr::NULL);
                        (exprs.pop().unwrap_or(Expr::NULL), otherwise, plain_type(ty))
                    }
                };
                Ok((WindowFunction::Shift { ahead: name == "lead", value, offset, otherwise }, ty))
            }
            _ => Err(wrong()),
        }
    }

    /// Casts an argument to integer. Returns `None` if there is no implicit cast.
    fn whole_number(&mut self, typed: Typed) -> Result<Option<Expr>, SqlError> {
        if typed.ty.is_some_and(|ty| !can_cast(ty, Type::Int4, Strictness::Implicit)) {
            return Ok(None);
        }
        self.coerce(typed, Type::Int4, Strictness::Implicit).map(Some)
    }

    /// Binds the WINDOW clause.
    pub(super) fn window_clause(
        &mut self,
        definitions: &[ast::NamedWindowDefinition],
        scope: &Scope,
    ) -> Result<(), SqlError> {
        for ast::NamedWindowDefinition(ident, definition) in definitions {
            let name = fold(ident);
            if self.select.windows.named.iter().any(|(known, _)| *known == name) {
                let error = windowing(format!("window \"{name}\" is already defined"));
                return Err(self.locate(error, ident.span));
            }
            let ast::NamedWindowExpr::WindowSpec(spec) = definition else {
                return Err(unsupported("a window that is another one's name"));
            };
            let definition = self.window_definition(spec, true, scope)?;
            self.select.windows.named.push((name, definition));
        }
        Ok(())
    }

    fn named_window(&self, ident: &ast::Ident) -> Result<&Definition, SqlError> {
        let name = fold(ident);
        let found = self.select.windows.named.iter().find(|(known, _)| *known == name);
        found.map(|(_, definition)| definition).ok_or_else(|| {
            let error = SqlError::new(state::UNDEFINED_OBJECT, format!("window \"{name}\" does not exist"));
            self.locate(error, ident.span)
        })
    }

    /// Binds the window definition in the parentheses of OVER, or of WINDOW.
    fn window_definition(
        &mut self,
        spec: &ast::WindowSpec,
        named: bool,
        scope: &Scope,
    ) -> Result<Definition, SqlError> {
        let base = spec.window_name.as_ref().map(|name| self.named_window(name).cloned()).transpose()?;
        let (items, exclusion) = exclusion_of(&spec.order_by);
        let refused = self.select.windows.refused.replace("window definitions");
        let keys = self.window_keys(&spec.partition_by, items, scope);
        self.select.windows.refused = refused;
        let (mut partition, mut order) = keys?;
        if let (Some(base), Some(ident)) = (base, &spec.window_name) {
            let name = fold(ident);
            let wrong = |error| Err(self.locate(error, ident.span));
            if !partition.is_empty() {
                return wrong(windowing(format!("cannot override PARTITION BY clause of window \"{name}\"")));
            }
            if !order.is_empty() && !base.order.is_empty() {
                return wrong(windowing(format!("cannot override ORDER BY clause of window \"{name}\"")));
            }
            if base.frame.is_some() {
                let error = windowing(format!("cannot copy window \"{name}\" because it has a frame clause"));
                let bare = !named && order.is_empty() && spec.window_frame.is_none();
                return wrong(if bare { error.hint("Omit the parentheses in this OVER clause.") } else { error });
            }
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
            }
        }
        let frame = match &spec.window_frame {
            Some(frame) => Some(self.window_frame(frame, exclusion, &order, scope)?),
            None => None,
        };
        Ok(Definition { partition, order, frame })
    }

    /// Binds the keys of PARTITION BY and of ORDER BY. The keys are expressions over the input; names of output columns
    /// have no meaning in them.
    fn window_keys(
        &mut self,
        partition: &[A],
        order: &[ast::OrderByExpr],
        scope: &Scope,
    ) -> Result<(Vec<WindowKey>, Vec<WindowKey>), SqlError> {
        let mut key = |expr: &A, descending: bool, nulls_first: bool| {
            let typed = self.expr(expr, scope)?;
            let (expr, ty) = self.resolved(typed)?;
            super::json::check_order(ty)?;
            Ok::<_, SqlError>(WindowKey { expr, ty, descending, nulls_first })
        };
        let partition = partition.iter().map(|expr| key(expr, false, false)).collect::<Result<_, _>>()?;
        let mut keys = Vec::with_capacity(order.len());
        for item in order {
            let (descending, nulls_first) = direction(&item.options)?;
            keys.push(key(&item.expr, descending, nulls_first)?);
        }
        Ok((partition, keys))
    }

    fn window_frame(
        &mut self,
        frame: &ast::WindowFrame,
        exclusion: Exclusion,
        order: &[WindowKey],
        scope: &Scope,
    ) -> Result<WindowFrame, SqlError> {
        let start = &frame.start_bound;
        let end = frame.end_bound.as_ref().unwrap_or(&B::CurrentRow);
        let message = match (start, end) {
            (B::Following(None), _) => Some("frame start cannot be UNBOUNDED FOLLOWING"),
            (_, B::Preceding(None)) => Some("frame end cannot be UNBOUNDED PRECEDING"),
            (B::CurrentRow, B::Preceding(_)) => Some("frame starting from current row cannot have preceding rows"),
            (B::Following(_), B::CurrentRow) if frame.end_bound.is_none() => {
                Some("frame starting from following row cannot end with current row")
            }
            (B::Following(_), B::Preceding(_) | B::CurrentRow) => {
                Some("frame starting from following row cannot have preceding rows")
            }
            _ => None,
        };
        if let Some(message) = message {
            return Err(windowing(message));
        }
        let units = match frame.units {
            ast::WindowFrameUnits::Rows => FrameUnits::Rows,
            ast::WindowFrameUnits::Range => FrameUnits::Range,
            ast::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        let has_offset =
            [start, end].iter().any(|bound| matches!(bound, B::Preceding(Some(_)) | B::Following(Some(_))));
        if units == FrameUnits::Range && has_offset && order.len() != 1 {
            return Err(windowing("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"));
        }
        if units == FrameUnits::Groups && order.is_empty() {
            return Err(windowing("GROUPS mode requires an ORDER BY clause"));
        }
        let start = self.frame_bound(start, units, order, scope)?;
        let end = self.frame_bound(end, units, order, scope)?;
        Ok(WindowFrame { units, start, end, exclusion })
    }

    fn frame_bound(
        &mut self,
        bound: &B,
        units: FrameUnits,
        order: &[WindowKey],
        scope: &Scope,
    ) -> Result<FrameBound, SqlError> {
        Ok(match bound {
            B::CurrentRow => FrameBound::CurrentRow,
            B::Preceding(None) | B::Following(None) => FrameBound::Unbounded,
            B::Preceding(Some(offset)) => FrameBound::Preceding(self.frame_offset(offset, units, order, scope)?),
            B::Following(Some(offset)) => FrameBound::Following(self.frame_offset(offset, units, order, scope)?),
        })
    }

    fn frame_offset(
        &mut self,
        offset: &A,
        units: FrameUnits,
        order: &[WindowKey],
        scope: &Scope,
    ) -> Result<Expr, SqlError> {
        let (place, name) = match units {
            FrameUnits::Rows => ("window ROWS", "ROWS"),
            FrameUnits::Groups => ("window GROUPS", "GROUPS"),
            FrameUnits::Range => ("window RANGE", "RANGE"),
        };
        // The parser takes the string for an interval literal.
        let offset = match offset {
            A::Interval(interval) if interval.leading_field.is_none() => &*interval.value,
            other => other,
        };
        let typed = self.plain(offset, scope, place)?;
        let at = typed.at;
        let coerced = match (units, order) {
            (FrameUnits::Range, [key]) => self.distance(typed, key.ty)?,
            _ => {
                if typed.ty.is_some_and(|ty| !is_number(ty)) {
                    let message = format!("argument of {name} must be type bigint, not type {}", type_name(typed.ty));
                    return Err(self.locate_at(SqlError::new(state::DATATYPE_MISMATCH, message), at));
                }
                self.coerce(typed, Type::Int8, Strictness::Assignment)?
            }
        };
        if coerced.any(&mut |part| matches!(part, Expr::Column(_))) {
            let message = format!("argument of {name} must not contain variables");
            return Err(self.locate_at(SqlError::new(state::INVALID_COLUMN_REFERENCE, message), at));
        }
        Ok(coerced)
    }

    /// Casts the offset of a RANGE frame to the type of distances between values of type `ty`.
    fn distance(&mut self, offset: Typed, ty: Type) -> Result<Expr, SqlError> {
        let shown = type_name(Some(if matches!(ty, Type::Varchar(_)) { Type::Text } else { ty }));
        let wanted: &[Type] = match ty {
            Type::Int2 | Type::Int4 => &[Type::Int2, Type::Int4, Type::Int8],
            Type::Int8 => &[Type::Int8],
            Type::Float4 | Type::Float8 => &[Type::Float8],
            Type::Numeric(_) => &[Type::Numeric(None)],
            Type::Date | Type::Timestamp(_) | Type::TimestampTz(_) | Type::Time(_) | Type::Interval(_) => {
                &[Type::INTERVAL]
            }
            _ => {
                let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {shown}");
                return Err(self.locate_at(SqlError::new(state::FEATURE_NOT_SUPPORTED, message), offset.at));
            }
        };
        let own = match ty {
            Type::Float4 => Type::Float8,
            ty if wanted.len() > 1 => without_modifier(ty),
            _ => wanted[0],
        };
        let found = match offset.ty.map(without_modifier) {
            None => Some(own),
            Some(given) if wanted.contains(&given) => Some(given),
            Some(given) => {
                wanted.iter().copied().find(|&to| wanted.len() == 1 && can_cast(given, to, Strictness::Implicit))
            }
        };
        match found {
            Some(to) => self.coerce(offset, to, Strictness::Implicit),
            None => {
                let message = format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {shown} and offset type {}",
                    type_name(offset.ty)
                );
                let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                    .hint("Cast the offset value to an appropriate type.");
                Err(self.locate_at(error, offset.at))
            }
        }
    }
}

/// Returns an argument of any type with its type, which must be known.
fn any_element(typed: Typed) -> Result<(Expr, Type), SqlError> {
    let message = "could not determine polymorphic type because input has type unknown";
    let ty = typed.ty.ok_or_else(|| SqlError::new(state::DATATYPE_MISMATCH, message))?;
    Ok((typed.expr, plain_type(ty)))
}
