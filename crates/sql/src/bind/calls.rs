//! Functions, and what looks like one.

use super::types::{common_number, type_name, without_modifier};
use super::{Aggregates, Binder, Scope, Typed, fold};
use crate::error::unsupported;
use crate::expr::{self, Expr, Field, Function, Strictness};
use crate::plan::{AggregateCall, AggregateFunction};
use crate::{SqlError, state};
use hotrow_storage::Type;
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
        let Some(field) = Field::named(field) else { return Err(unsupported(&format!("extracting {field}"))) };
        let argument = self.coerce(typed, ty, Strictness::Implicit)?;
        Ok(Typed::new(Expr::Call(Function::Extract(field), vec![argument]), Type::Numeric(None)))
    }

    fn call(&mut self, name: &str, arguments: &[&A], scope: &Scope) -> Result<Typed, SqlError> {
        let arguments = arguments.iter().map(|argument| self.expr(argument, scope)).collect::<Result<Vec<_>, _>>()?;
        self.resolve(name, arguments)
    }

    /// The function of this name for these arguments, called.
    pub(super) fn resolve(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let Some(signature) = expr::signature(name, &types) else { return Err(no_function(name, &types)) };
        let arguments = arguments
            .into_iter()
            .zip(&signature.arguments)
            .map(|(argument, ty)| self.coerce(argument, *ty, Strictness::Implicit))
            .collect::<Result<_, _>>()?;
        Ok(Typed::new(Expr::Call(signature.function, arguments), signature.result))
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
            "coalesce" => {
                let (list, ty) = self.unify(arguments, "COALESCE")?;
                Ok(Typed::new(Expr::Coalesce(list), ty))
            }
            "greatest" | "least" => {
                let (list, ty) = self.unify(arguments, if name == "least" { "LEAST" } else { "GREATEST" })?;
                let function = if name == "least" { Function::Least } else { Function::Greatest };
                Ok(Typed::new(Expr::Call(function, list), ty))
            }
            "nullif" if arguments.len() == 2 => self.null_if(arguments),
            "power" | "pow" if arguments.len() == 2 => self.power(arguments),
            "date_part" => match list {
                [
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(A::Value(field))),
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(from)),
                ] => {
                    let field = field.value.clone().into_string().unwrap_or_default();
                    let typed = self.extract(&field.to_lowercase(), from, scope)?;
                    Ok(Typed::new(self.coerce(typed, Type::Float8, Strictness::Implicit)?, Type::Float8))
                }
                _ => Err(no_function(name, &[])),
            },
            _ => self.resolve(name, arguments),
        };
        result.map_err(|error| if error.position.is_none() { self.locate(error, span) } else { error })
    }

    fn null_if(&mut self, mut arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let (Some(right), Some(left)) = (arguments.pop(), arguments.pop()) else {
            return Err(no_function("nullif", &[]));
        };
        let ty = left.ty.unwrap_or(right.ty.unwrap_or(Type::Text));
        let (left, right, blanks) = self.comparable("=", left, right)?;
        Ok(Typed::new(Expr::NullIf(Box::new((left, right)), blanks), ty))
    }

    fn power(&mut self, mut arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let (Some(right), Some(left)) = (arguments.pop(), arguments.pop()) else {
            return Err(no_function("power", &[]));
        };
        let (left, right) = (
            self.coerce(left, Type::Float8, Strictness::Implicit)?,
            self.coerce(right, Type::Float8, Strictness::Implicit)?,
        );
        let pair = Box::new((left, right));
        Ok(Typed::new(Expr::Arithmetic(expr::Arithmetic::Power, pair), Type::Float8))
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
        if let Aggregates::Refused(place) = self.aggregates {
            let message = if place == "aggregate" {
                "aggregate function calls cannot be nested".to_owned()
            } else {
                format!("aggregate functions are not allowed in {place}")
            };
            return Err(SqlError::new(state::GROUPING_ERROR, message));
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

    /// The name that a select item has without an alias.
    pub(super) fn default_name(expr: &A) -> String {
        match expr {
            A::Identifier(ident) => fold(ident),
            A::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
            A::Nested(inner) => Self::default_name(inner),
            A::Function(function) => {
                super::name_parts(&function.name).ok().and_then(|mut parts| parts.pop()).unwrap_or_default()
            }
            A::Cast { expr, data_type, .. } => match Self::default_name(expr).as_str() {
                "?column?" => cast_name(data_type),
                name => name.to_owned(),
            },
            A::TypedString(typed) => cast_name(&typed.data_type),
            A::Case { else_result, .. } => match else_result.as_deref().map(Self::default_name) {
                Some(name) if name != "?column?" => name,
                _ => "case".to_owned(),
            },
            A::Ceil { .. } => "ceil".to_owned(),
            A::Floor { .. } => "floor".to_owned(),
            A::Substring { .. } => "substring".to_owned(),
            A::Position { .. } => "position".to_owned(),
            A::Trim { trim_where, .. } => match trim_where {
                Some(ast::TrimWhereField::Leading) => "ltrim".to_owned(),
                Some(ast::TrimWhereField::Trailing) => "rtrim".to_owned(),
                _ => "btrim".to_owned(),
            },
            A::Extract { .. } => "extract".to_owned(),
            A::Exists { .. } => "exists".to_owned(),
            A::Subquery(query) => super::subquery::name_of(query).unwrap_or_else(|| "?column?".to_owned()),
            A::Value(value) if matches!(value.value, ast::Value::Boolean(_)) => "bool".to_owned(),
            _ => "?column?".to_owned(),
        }
    }
}

/// A type's short name, by which PostgreSQL calls a column that is a cast.
fn cast_name(ty: &ast::DataType) -> String {
    let name = match super::data_type(ty) {
        Ok(Type::Bool) => "bool",
        Ok(Type::Int2) => "int2",
        Ok(Type::Int4) => "int4",
        Ok(Type::Int8) => "int8",
        Ok(Type::Float4) => "float4",
        Ok(Type::Float8) => "float8",
        Ok(Type::Numeric(_)) => "numeric",
        Ok(Type::Char(_)) => "bpchar",
        Ok(Type::Varchar(_)) => "varchar",
        Ok(Type::Text) => "text",
        Ok(Type::Bytea) => "bytea",
        Ok(Type::Date) => "date",
        Ok(Type::Timestamp) => "timestamp",
        Ok(Type::TimestampTz) => "timestamptz",
        Ok(Type::Uuid) => "uuid",
        Err(_) => "?column?",
    };
    name.to_owned()
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

fn no_function(name: &str, types: &[Option<Type>]) -> SqlError {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    SqlError::new(state::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
        .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
