//! Functions, and what looks like one.

use super::types::{common_number, type_name, without_modifier};
use super::{Aggregates, Binder, Scope, Typed};
use crate::error::unsupported;
use crate::expr::{self, Choice, Expr, Field, Function, Several, Strictness};
use crate::plan::{AggregateCall, AggregateFunction};
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr, FunctionArguments};

impl Binder<'_> {
    /// A function in any of its spellings.
    pub(super) fn call_like(&mut self, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        match expr {
            A::Function(function) => self.function(function, scope),
            A::Ceil { expr, .. } => self.call("ceil", &[expr], scope),
            A::Floor { expr, .. } => self.call("floor", &[expr], scope),
            A::Position { expr, r#in } => self.call("position", &[r#in, expr], scope),
            A::Substring { expr, substring_from, substring_for, .. } => {
                let one = A::value(ast::Value::Number("1".to_owned(), false));
                let from = substring_from.as_deref().unwrap_or(&one);
                match substring_for.as_deref() {
                    Some(count) => self.call("substring", &[expr, from, count], scope),
                    None => self.call("substring", &[expr, from], scope),
                }
            }
            A::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let listed = trim_characters.as_ref().and_then(|list| list.first());
                match trim_what.as_deref().or(listed) {
                    Some(what) => self.call(name, &[expr, what], scope),
                    None => self.call(name, &[expr], scope),
                }
            }
            A::Overlay { expr, overlay_what, overlay_from, overlay_for } => match overlay_for.as_deref() {
                Some(count) => self.call("overlay", &[expr, overlay_what, overlay_from, count], scope),
                None => self.call("overlay", &[expr, overlay_what, overlay_from], scope),
            },
            A::AtTimeZone { timestamp, time_zone } => self.call("timezone", &[time_zone, timestamp], scope),
            A::SimilarTo { negated, expr, pattern, escape_char } => {
                let backslash = A::value(ast::Value::SingleQuotedString("\\".to_owned()));
                let escape = escape_char.as_deref().unwrap_or(&backslash);
                let list = [&**expr, pattern, escape].map(|part| self.expr(part, scope));
                let list = list.into_iter().collect::<Result<Vec<_>, _>>()?;
                let similar = self.resolve("similar to", list)?;
                Ok(if *negated { Typed::bool(Expr::Not(Box::new(similar.expr))) } else { similar })
            }
            A::Extract { field, expr, .. } => {
                let name = field.to_string().to_lowercase();
                self.extract(&name, expr, scope)
            }
            other => Err(unsupported(&format!("expression {other}"))),
        }
    }

    fn extract(&mut self, field: &str, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        let typed = self.expr(expr, scope)?;
        let ty = match typed.ty {
            Some(ty @ (Type::Date | Type::Timestamp | Type::TimestampTz)) => ty,
            None => Type::Timestamp,
            Some(other) => return Err(no_function("extract", &[None, Some(other)])),
        };
        let found = Field::named(field);
        let field = found.ok_or_else(|| expr::unknown_unit(field, &type_name(Some(ty))))?;
        let argument = self.coerce(typed, ty, Strictness::Implicit)?;
        let extracted = match argument {
            Expr::Const(Value::Null) => Expr::NULL,
            argument => Expr::Call(Function::extract(field), vec![argument]),
        };
        Ok(Typed::new(extracted, Type::Numeric(None)))
    }

    fn call(&mut self, name: &str, arguments: &[&A], scope: &Scope) -> Result<Typed, SqlError> {
        let arguments = arguments.iter().map(|argument| self.expr(argument, scope)).collect::<Result<Vec<_>, _>>()?;
        self.resolve(name, arguments)
    }

    /// The function of this name for these arguments, called.
    pub(super) fn resolve(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let (function, wanted, result) = match expr::choose(name, &types) {
            Choice::One(function, wanted, result) => (function, wanted, result),
            Choice::None => return Err(no_function(name, &types)),
            Choice::Several => return Err(ambiguous_function(name, &types)),
        };
        let arguments = arguments
            .into_iter()
            .zip(&wanted)
            .map(|(argument, ty)| self.coerce(argument, *ty, Strictness::Implicit))
            .collect::<Result<Vec<_>, _>>()?;
        // What is NULL anyway is not computed.
        let is_null = arguments.contains(&Expr::NULL);
        Ok(Typed::new(if is_null { Expr::NULL } else { Expr::Call(function, arguments) }, result))
    }

    /// An operator that is a function by another name.
    pub(super) fn operator(&mut self, symbol: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let shown = symbol.trim_end_matches(" number");
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        self.resolve(symbol, arguments).map_err(|error| match (error.state, types.as_slice()) {
            (state::UNDEFINED_FUNCTION, [left, right]) => super::operators::no_operator(shown, *left, *right),
            (state::UNDEFINED_FUNCTION, [only]) => super::operators::no_prefix_operator(shown, *only),
            (state::AMBIGUOUS_FUNCTION, [left, right]) => super::operators::ambiguous_operator(shown, *left, *right),
            _ => error,
        })
    }

    /// A function that takes any values, as they are.
    fn several(&mut self, function: Several, result: Type, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let mut list = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.into_iter().enumerate() {
            list.push(match at == 0 && function.begins_with_text() {
                true => self.coerce(argument, Type::Text, Strictness::Implicit)?,
                false => self.resolved(argument)?.0,
            });
        }
        Ok(Typed::new(Expr::Call(Function::Several(function), list), result))
    }

    fn function(&mut self, function: &ast::Function, scope: &Scope) -> Result<Typed, SqlError> {
        let parts = super::name_parts(&function.name)?;
        let name = match parts.as_slice() {
            [name] => name.as_str(),
            [schema, name] if schema == "pg_catalog" => name.as_str(),
            _ => return Err(no_function(&parts.join("."), &[])),
        };
        if function.over.is_some() || !function.within_group.is_empty() {
            return Err(unsupported("a window function"));
        }
        let (list, distinct) = match &function.args {
            FunctionArguments::None => (&[][..], false),
            FunctionArguments::List(list) if list.clauses.is_empty() => {
                (&list.args[..], list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct))
            }
            _ => return Err(unsupported("this kind of argument")),
        };
        let span = match function.name.0.first() {
            Some(ast::ObjectNamePart::Identifier(ident)) => ident.span,
            _ => sqlparser::tokenizer::Span::empty(),
        };
        if let Some(aggregate) = aggregate_named(name) {
            let call = self.aggregate(name, aggregate, list, distinct, function.filter.as_deref(), scope);
            return call.map_err(|error| if error.position.is_none() { self.locate(error, span) } else { error });
        }
        if distinct || function.filter.is_some() {
            let message = format!("DISTINCT or FILTER specified, but {name} is not an aggregate function");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        let mut arguments = Vec::with_capacity(list.len());
        for argument in list {
            match argument {
                // A sequence's name may be said to be one.
                FunctionArg::Unnamed(FunctionArgExpr::Expr(A::Cast {
                    expr,
                    data_type: ast::DataType::Regclass,
                    ..
                })) if matches!(name, "nextval" | "currval" | "setval") => {
                    arguments.push(self.expr(expr, scope)?);
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => arguments.push(self.expr(argument, scope)?),
                _ => return Err(unsupported("this kind of argument")),
            }
        }
        let result = match name {
            // These are words of the grammar, which asks for an argument.
            "coalesce" | "greatest" | "least" if arguments.is_empty() => {
                Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \")\""))
            }
            "coalesce" => {
                let (list, ty) = self.unify(arguments, "COALESCE")?;
                Ok(Typed::new(Expr::Coalesce(list), ty))
            }
            "greatest" | "least" => {
                let (list, ty) = self.unify(arguments, if name == "least" { "LEAST" } else { "GREATEST" })?;
                let function = if name == "least" { Several::Least } else { Several::Greatest };
                Ok(Typed::new(Expr::Call(Function::Several(function), list), ty))
            }
            "nullif" if arguments.len() == 2 => self.null_if(arguments),
            _ => match Several::named(name, arguments.len()) {
                Some((function, result)) => self.several(function, result, arguments),
                None => self.resolve(name, arguments),
            },
        };
        result.map_err(|error| if error.position.is_none() { self.locate(error, span) } else { error })
    }

    fn null_if(&mut self, mut arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let (Some(right), Some(left)) = (arguments.pop(), arguments.pop()) else {
            return Err(no_function("nullif", &[]));
        };
        // The type of the operator's operand: a varchar is compared as text.
        let ty = match left.ty.or(right.ty) {
            None | Some(Type::Varchar(_)) => Type::Text,
            Some(ty) => ty,
        };
        let (left, right, blanks) = self.comparable("=", left, right)?;
        if left == Expr::NULL {
            return Ok(Typed::new(Expr::NULL, ty));
        }
        Ok(Typed::new(Expr::NullIf(Box::new((left, right)), blanks), ty))
    }

    fn aggregate(
        &mut self,
        name: &str,
        function: AggregateFunction,
        list: &[FunctionArg],
        distinct: bool,
        filter: Option<&A>,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        if list.is_empty() && function == AggregateFunction::Count {
            let message = "count(*) must be used to call a parameterless aggregate function";
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        let mut call = match list {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if function == AggregateFunction::Count => {
                AggregateCall {
                    function: AggregateFunction::CountRows,
                    argument: None,
                    distinct: false,
                    filter: None,
                    result: Type::Int8,
                }
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => {
                let typed = self.plain(argument, scope, "aggregate")?;
                let (argument, result) = self.aggregate_types(name, function, typed)?;
                AggregateCall { function, argument: Some(argument), distinct, filter: None, result }
            }
            _ => return Err(no_function(name, &[])),
        };
        if let Aggregates::Refused(place) = self.aggregates {
            let message = if place == "aggregate" {
                "aggregate function calls cannot be nested".to_owned()
            } else {
                format!("aggregate functions are not allowed in {place}")
            };
            return Err(SqlError::new(state::GROUPING_ERROR, message));
        }
        if let Some(filter) = filter {
            let typed = self.plain(filter, scope, "FILTER")?;
            call.filter = Some(self.condition(typed, "FILTER")?);
        }
        let looks =
            |wanted: fn(&Expr) -> bool| call.argument.as_ref().is_some_and(|expr| expr.any(&mut |part| wanted(part)));
        if looks(|part| matches!(part, Expr::Outer(..))) && !looks(|part| matches!(part, Expr::Column(_))) {
            return Err(unsupported("an aggregate function of an outer query's columns"));
        }
        let result = call.result;
        let Aggregates::Found(calls) = &mut self.aggregates else { return Err(unsupported("this aggregate")) };
        let position = calls.iter().position(|known| *known == call).unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Typed::new(Expr::Aggregate(position), result))
    }

    /// The argument brought to the type that is summed, and the type of the result.
    fn aggregate_types(
        &mut self,
        name: &str,
        function: AggregateFunction,
        typed: Typed,
    ) -> Result<(Expr, Type), SqlError> {
        let given = typed.ty;
        let wrong = || no_function(name, &[given]);
        let (argument, result) = match function {
            AggregateFunction::CountRows | AggregateFunction::Count => {
                let ty = given.unwrap_or(Type::Text);
                (ty, Type::Int8)
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
                if matches!(ty, Type::Bool | Type::Uuid | Type::Bytea) {
                    return Err(wrong());
                }
                let ty = if matches!(ty, Type::Char(_)) { ty } else { without_modifier(ty) };
                (ty, ty)
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
}

fn aggregate_named(name: &str) -> Option<AggregateFunction> {
    Some(match name {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "avg" => AggregateFunction::Average,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        "bool_and" | "every" => AggregateFunction::And,
        "bool_or" => AggregateFunction::Or,
        _ => return None,
    })
}

fn ambiguous_function(name: &str, types: &[Option<Type>]) -> SqlError {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    SqlError::new(state::AMBIGUOUS_FUNCTION, format!("function {name}({}) is not unique", types.join(", ")))
        .hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

fn no_function(name: &str, types: &[Option<Type>]) -> SqlError {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    SqlError::new(state::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
        .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
