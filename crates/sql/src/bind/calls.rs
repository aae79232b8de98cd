//! Calls of functions, and the expressions of special syntax that are bound as functions, such as EXTRACT and TRIM.

use super::aggregate::{Given, aggregate_named};
use super::binder::{Binder, span_of};
use super::domain::common_domain;
use super::errors::{ambiguous_function, ambiguous_operator, no_function, no_operator, no_prefix_operator};
use super::json::takes_rows;
use super::named_arguments::positional;
use super::ordered_set::lacks_within_group;
use super::scope::Scope;
use super::typed::Typed;
use super::window::is_window_function;
use crate::error::unsupported;
use crate::expr::{self, Choice, Expr, Field, Function, Overload, Strictness, Variadic};
use crate::parse::names::name_parts;
use crate::plan::table_function::TableFunction;
use crate::schema::undefined_schema;
use crate::types::{type_name, type_of, without_modifier};
use crate::{SqlError, state};
use hotrow_storage::{Digits, Registry, Type, Value};
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr, FunctionArguments};

/// The type `regclass`, whose values are the numbers of relations.
const RELATION: Type = Type::Reg(Registry::Class);

/// The functions whose first argument is a relation. A call may give its number or its name.
const OF_RELATIONS: [&str; 6] = [
    "pg_table_size",
    "pg_relation_size",
    "pg_total_relation_size",
    "pg_get_viewdef",
    "pg_relation_is_updatable",
    "pg_column_is_updatable",
];

/// The functions whose first argument is the name of a sequence. A call may also give the number of the sequence.
const OF_SEQUENCES: [&str; 4] = ["nextval", "currval", "setval", "pg_sequence_last_value"];

impl Binder<'_> {
    /// Binds a function call in any of its syntaxes.
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
            Some(ty @ (Type::Date | Type::Timestamp(_) | Type::TimestampTz(_) | Type::Time(_) | Type::Interval(_))) => {
                ty
            }
            None => Type::TIMESTAMP,
            Some(other) => return Err(no_function("extract", &[None, Some(other)])),
        };
        let found = Field::named(field);
        let ty = without_modifier(ty);
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

    /// Binds a call of the function that fits the name and the types of the arguments best.
    ///
    /// # Errors
    ///
    /// 42883 if no function fits, 42725 if several fit equally well.
    pub(super) fn resolve(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        match expr::choose(name, &types) {
            Choice::One(overload, wanted) => self.built_in(&overload, &wanted, arguments),
            Choice::None => Err(no_function(name, &types)),
            Choice::Ambiguous => Err(ambiguous_function(name, &types)),
        }
    }

    /// Binds a call of the built-in function that overload resolution has selected. The arguments are cast to the types
    /// in `wanted`.
    pub(super) fn built_in(
        &mut self,
        overload: &Overload,
        wanted: &[Type],
        arguments: Vec<Typed>,
    ) -> Result<Typed, SqlError> {
        let (function, result) = (overload.function(), overload.result());
        let arguments = arguments
            .into_iter()
            .zip(wanted)
            .map(|(argument, ty)| self.coerce(argument, *ty, Strictness::Implicit))
            .collect::<Result<Vec<_>, _>>()?;
        self.depends.used.acts |= function.acts();
        // If an argument is NULL, the result of a strict function is NULL, and the call is left out.
        let is_null = function.is_strict() && arguments.contains(&Expr::NULL);
        let call = if is_null { Expr::NULL } else { Self::folded(function, arguments) };
        Ok(Typed::new(call, result))
    }

    /// Makes a call of a function, or its result if it is a JSON function of constants. If the computation fails, the
    /// call stays, and fails when it is evaluated.
    fn folded(function: Function, arguments: Vec<Expr>) -> Expr {
        let constants = arguments.iter().map(|expr| if let Expr::Const(value) = expr { Some(value) } else { None });
        let constants: Option<Vec<_>> = constants.collect();
        match constants.and_then(|constants| function.of_constants(&constants)) {
            Some(value) => Expr::Const(value),
            None => Expr::Call(function, arguments),
        }
    }

    /// Binds an operator that is stored as a function named by its symbol. Errors speak of an operator.
    pub(super) fn operator(&mut self, symbol: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let shown = symbol.trim_end_matches(" number");
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        self.resolve(symbol, arguments).map_err(|error| match (error.state, types.as_slice()) {
            (state::UNDEFINED_FUNCTION, [left, right]) => no_operator(shown, *left, *right),
            (state::UNDEFINED_FUNCTION, [only]) => no_prefix_operator(shown, *only),
            (state::AMBIGUOUS_FUNCTION, [left, right]) => ambiguous_operator(shown, *left, *right),
            _ => error,
        })
    }

    /// Binds a call of a function that takes any number of values of any types.
    fn variadic(&mut self, function: Variadic, result: Type, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let mut list = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.into_iter().enumerate() {
            list.push(match at == 0 && function.begins_with_text() {
                true => self.coerce(argument, Type::Text, Strictness::Implicit)?,
                false => {
                    let argument = self.with_name(argument)?;
                    self.resolved(argument)?.0
                }
            });
        }
        let is_null = matches!(function, Variadic::ToJson(_)) && list.contains(&Expr::NULL);
        let call = if is_null { Expr::NULL } else { Expr::Call(Function::Variadic(function), list) };
        Ok(Typed::new(call, result))
    }

    fn function(&mut self, function: &ast::Function, scope: &Scope) -> Result<Typed, SqlError> {
        let parts = name_parts(&function.name)?;
        let set_returning = TableFunction::named(&parts);
        let users = self.users_named(&parts)?;
        let name = match parts.as_slice() {
            [name] => name.as_str(),
            [.., name] if !users.is_empty() => name.as_str(),
            [schema, name] if schema == "pg_catalog" || schema == "public" || set_returning.is_some() => name.as_str(),
            [schema, name] if schema == "information_schema" && name.starts_with("_pg_") => name.as_str(),
            _ => return Err(self.missing_function(function, &parts, scope)),
        };
        if function.null_treatment.is_some() {
            return Err(unsupported("IGNORE NULLS"));
        }
        let mut order: &[ast::OrderByExpr] = &[];
        let (list, distinct) = match &function.args {
            FunctionArguments::None => (&[][..], false),
            FunctionArguments::List(list) => {
                order = match list.clauses.as_slice() {
                    [] => &[][..],
                    [ast::FunctionArgumentClause::OrderBy(items)] => items,
                    _ => return Err(unsupported("this kind of argument")),
                };
                (&list.args[..], list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct))
            }
            FunctionArguments::Subquery(query) if name == "array" => return self.array_of_query(query, scope),
            FunctionArguments::Subquery(_) => return Err(unsupported("this kind of argument")),
        };
        self.check_names(list)?;
        let span = span_of(&function.name);
        let windowed = function.over.is_some();
        let given = Given { name, list, distinct, order, filter: function.filter.as_deref(), windowed };
        let means_user = parts.len() > 1 && !users.is_empty();
        if !means_user && let Some(call) = self.call_over_rows(function, &given, scope) {
            return call.map_err(|error| if error.position.is_none() { self.locate(error, span) } else { error });
        }
        if distinct || function.filter.is_some() || !order.is_empty() {
            let what = if distinct {
                "DISTINCT"
            } else if function.filter.is_some() {
                "FILTER"
            } else {
                "ORDER BY"
            };
            let message = format!("{what} specified, but {name} is not an aggregate function");
            return Err(self.locate(SqlError::new(state::WRONG_OBJECT_TYPE, message), span));
        }
        let mut unfit = None;
        if !users.is_empty() {
            match self.user_function(users, &parts, list, scope, span)? {
                Ok(call) => return Ok(call),
                Err(error) => unfit = Some(error),
            }
        }
        let sets = self.sets_bound();
        if name == "make_interval" {
            return self.make_interval(list, scope);
        }
        let arguments = self.arguments(name, list, scope)?;
        if name == "coalesce" {
            self.refuse_sets(sets, "COALESCE")?;
        }
        let result = match name {
            _ if let Some(function) = set_returning => self.set_returning(function, arguments, span),
            _ if is_window_function(name) => {
                let message = format!("window function {name} requires an OVER clause");
                Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
            }
            // These are words of the grammar, which requires an argument.
            "coalesce" | "greatest" | "least" if arguments.is_empty() => {
                Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \")\""))
            }
            "coalesce" => {
                let domain = common_domain(&arguments);
                let (list, ty) = self.unify(arguments, "COALESCE")?;
                Ok(Typed::new(Expr::Coalesce(list), ty).of_domain(domain))
            }
            "greatest" | "least" => {
                let domain = common_domain(&arguments);
                let (list, ty) = self.unify(arguments, if name == "least" { "LEAST" } else { "GREATEST" })?;
                let function = if name == "least" { Variadic::Least } else { Variadic::Greatest };
                Ok(Typed::new(Expr::Call(Function::Variadic(function), list), ty).of_domain(domain))
            }
            "pg_typeof" if arguments.len() == 1 => Ok(self.name_of_type(&arguments[0])),
            "nullif" if arguments.len() == 2 => self.null_if(arguments),
            "current_timestamp" | "localtimestamp" | "localtime" if let [digits] = arguments.as_slice() => {
                self.rounded_moment(name, digits)
            }
            _ => self.plain_function(name, arguments),
        };
        result.map_err(|error| match (error.state, unfit) {
            (state::UNDEFINED_FUNCTION, Some(unfit)) => unfit,
            _ if error.position.is_none() => self.locate(error, span),
            _ => error,
        })
    }

    /// Returns the error for a call of a function that does not exist: 3F000 if the schema that the call names does not
    /// exist, else 42883.
    fn missing_function(&mut self, function: &ast::Function, parts: &[String], scope: &Scope) -> SqlError {
        if let [schema, _] = parts
            && !self.view.knows_schema(schema)
        {
            return undefined_schema(schema);
        }
        let list = match &function.args {
            FunctionArguments::List(list) => &list.args[..],
            FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
        };
        match self.given(list, |binder, expr| binder.expr(expr, scope)) {
            Ok(given) => {
                let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
                self.locate(no_function(&parts.join("."), &types), span_of(&function.name))
            }
            Err(error) => error,
        }
    }

    /// Binds a call whose value depends on several rows: of an aggregate function, of a window function, or of
    /// GROUPING. Returns `None` for any other call.
    fn call_over_rows(
        &mut self,
        function: &ast::Function,
        given: &Given<'_>,
        scope: &Scope,
    ) -> Option<Result<Typed, SqlError>> {
        if !function.within_group.is_empty() {
            return Some(self.within_group(given, &function.within_group, scope));
        }
        if let Some(error) = lacks_within_group(given.name, given.list.len()) {
            return Some(Err(error));
        }
        match (&function.over, aggregate_named(given.name)) {
            (Some(_), _) if given.name == "grouping" => {
                Some(Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"OVER\"")))
            }
            (None, _) if given.name == "grouping" => Some(self.grouping(given.list, scope)),
            (Some(over), _) => Some(self.window_function(given, over, scope)),
            (None, Some(aggregate)) => Some(self.aggregate(aggregate, given, scope)),
            (None, None) => None,
        }
    }

    /// Binds `CURRENT_TIMESTAMP(digits)`, LOCALTIMESTAMP or LOCALTIME, rounded to this number of digits after the
    /// seconds. More than 6 digits count as 6.
    ///
    /// # Errors
    /// 42601 if the number is negative or no integer constant.
    fn rounded_moment(&mut self, name: &str, digits: &Typed) -> Result<Typed, SqlError> {
        let Expr::Const(Value::Int4(count @ 0..)) = digits.expr else {
            let message = format!("{} takes a number of digits, 0 to 6", name.to_uppercase());
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        };
        let digits = Digits::new(count.min(6) as u8);
        let moment = self.resolve(name, Vec::new())?;
        let ty = match moment.ty {
            Some(Type::TimestampTz(_)) => Type::TimestampTz(digits),
            Some(Type::Time(_)) => Type::Time(digits),
            _ => Type::Timestamp(digits),
        };
        Ok(Typed::new(self.coerce(moment, ty, Strictness::Explicit)?, ty))
    }

    /// Binds a call of a function that needs no special treatment.
    fn plain_function(&mut self, name: &str, mut arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        if let Some(first) = arguments.first_mut()
            && OF_RELATIONS.contains(&name)
            && first.ty.is_none_or(Type::is_text)
        {
            let relation = std::mem::replace(first, Typed::unknown(Expr::NULL));
            *first = Typed::new(self.coerce(relation, RELATION, Strictness::Implicit)?, RELATION);
        }
        if let Some(first) = arguments.first_mut()
            && OF_SEQUENCES.contains(&name)
            && matches!(first.ty, Some(Type::Oid | Type::Reg(_)))
        {
            let sequence = std::mem::replace(first, Typed::unknown(Expr::NULL));
            *first = self.with_name(Typed { ty: Some(RELATION), ..sequence })?;
        }
        if let ("quote_literal" | "quote_nullable", [value]) = (name, arguments.as_mut_slice()) {
            let written = std::mem::replace(value, Typed::unknown(Expr::NULL));
            *value = Typed::new(self.coerce(written, Type::Text, Strictness::Explicit)?, Type::Text);
            let quoted = self.resolve("quote_literal", arguments)?;
            let null = Expr::Const(Value::text("NULL"));
            return Ok(if name == "quote_literal" {
                quoted
            } else {
                Typed::new(Expr::Coalesce(vec![quoted.expr, null]), Type::Text)
            });
        }
        if let Some(call) = self.enum_function(name, &arguments)? {
            return Ok(call);
        }
        if let Some(call) = self.json_function(name, &arguments)? {
            return Ok(call);
        }
        match Variadic::named(name, arguments.len()) {
            Some((function, result)) => self.variadic(function, result, arguments),
            None => self.array_function(name, arguments),
        }
    }

    /// Binds the arguments of a function that is not an aggregate.
    fn arguments(&mut self, name: &str, list: &[FunctionArg], scope: &Scope) -> Result<Vec<Typed>, SqlError> {
        let mut arguments = Vec::with_capacity(list.len());
        if let Some(list) = positional(name, list) {
            return list.into_iter().map(|argument| self.expr(argument, scope)).collect();
        }
        for argument in list {
            match argument {
                // The name of a sequence may be cast to `regclass`.
                FunctionArg::Unnamed(FunctionArgExpr::Expr(A::Cast {
                    expr,
                    data_type: ast::DataType::Regclass,
                    ..
                })) if OF_SEQUENCES.contains(&name) => {
                    arguments.push(self.expr(expr, scope)?);
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) if takes_rows(name) => {
                    arguments.push(self.json_argument(argument, scope)?);
                }
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(relation)) if takes_rows(name) => {
                    arguments.push(self.whole_row(relation, scope)?);
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => arguments.push(self.expr(argument, scope)?),
                _ => return Err(unsupported("this kind of argument")),
            }
        }
        if OF_SEQUENCES.contains(&name) {
            match arguments.first().map(|argument| &argument.expr) {
                Some(Expr::Const(Value::Text(written))) => {
                    if let Ok(sequence) = self.view.named_sequence(written) {
                        self.depends.used.add_sequence(&sequence, self.view);
                    }
                }
                Some(Expr::Param(at)) => self.depends.used.sequence_params.push(*at),
                _ => {}
            }
        }
        if let ("format_type", Some(modifier)) = (name, arguments.get_mut(1))
            && modifier.expr == Expr::NULL
        {
            *modifier = Typed::new(Expr::Const(Value::Int4(-1)), Type::Int4);
        }
        Ok(arguments)
    }

    /// Binds `pg_typeof` as the name of an argument's type.
    fn name_of_type(&mut self, argument: &Typed) -> Typed {
        let domain = argument.domain.and_then(|id| self.view.domain_of(id));
        domain.iter().for_each(|made| self.depends.used.add_domain(made));
        let name = domain.map_or_else(|| type_name(argument.ty), |made| made.shown());
        Typed::new(Expr::Const(Value::Text(name.into())), Type::Text)
    }

    fn null_if(&mut self, mut arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let (Some(right), Some(left)) = (arguments.pop(), arguments.pop()) else {
            return Err(no_function("nullif", &[]));
        };
        // The operands are compared in this type; a varchar is compared as text.
        let ty = match left.ty.or(right.ty) {
            None | Some(Type::Varchar(_)) => Type::Text,
            Some(ty) => ty,
        };
        let (written, had_type) = (left.expr.clone(), left.ty.is_some());
        let (left, right, blanks) = self.comparable("=", left, right)?;
        if left == Expr::NULL {
            return Ok(Typed::new(Expr::NULL, ty));
        }
        // The type in which the left operand is compared, if it was cast for that.
        let compared = match &left {
            _ if left == written || !had_type => ty,
            Expr::Cast(_, _, to, _) => *to,
            Expr::Const(value) => type_of(value).unwrap_or(ty),
            _ => ty,
        };
        let expr = Expr::NullIf(Box::new((left, right)), blanks);
        // PostgreSQL compares these types with others without a cast.
        if compared != ty && matches!(ty, Type::Float4 | Type::Date | Type::Timestamp(_)) {
            return Ok(Typed::new(Expr::Cast(Box::new(expr), compared, ty, Strictness::Explicit), ty));
        }
        Ok(Typed::new(expr, compared))
    }
}
