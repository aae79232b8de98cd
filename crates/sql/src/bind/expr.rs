//! Binds expressions.

use super::binder::Binder;
use super::catalog::registry;
use super::domain::common_domain;
use super::errors::no_operator;
use super::json::{is_jsonpath, json_operator};
use super::rows::parts_of_row;
use super::scope::Scope;
use super::typed::{NOWHERE, Typed};
use crate::catalog::Declared;
use crate::error::unsupported;
use crate::expr::{Arithmetic, ArrayFunction, Comparison, Expr, Function, JsonFunction, Like, Strictness};
use crate::parse::names::{fold, name_parts};
use crate::types::{number_literal, type_name};
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use sqlparser::ast::{
    self, BinaryOperator as B, CastKind, Expr as A, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator as U,
};
use sqlparser::tokenizer::Location;

/// Returns whether a LIKE is a LIKE ALL, and its array of patterns. Returns `None` for a LIKE of a single pattern. The
/// parser sets `any` for LIKE ANY, but takes ALL for a function.
fn patterns(any: bool, pattern: &A) -> Option<(bool, &A)> {
    match pattern {
        _ if any => Some((false, pattern)),
        A::Function(ast::Function { name, args: FunctionArguments::List(list), .. }) => match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] if name.to_string().eq_ignore_ascii_case("all") => {
                Some((true, array))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether an operator stands for NOT LIKE, and whether it ignores case. Returns `None` if the operator is none
/// of LIKE.
pub(super) fn like_operator(operator: &B) -> Option<(bool, bool)> {
    match operator {
        B::PGLikeMatch => Some((false, false)),
        B::PGNotLikeMatch => Some((true, false)),
        B::PGILikeMatch => Some((false, true)),
        B::PGNotILikeMatch => Some((true, true)),
        _ => None,
    }
}

impl Binder<'_> {
    /// Binds an expression over the columns of `scope`.
    pub(crate) fn expr(&mut self, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        let bound = self.counts.enter().and_then(|()| self.expr_at_depth(expr, scope));
        self.counts.leave();
        bound.map(|typed| Typed { at: place(expr), ..typed })
    }

    fn expr_at_depth(&mut self, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        match expr {
            A::Identifier(ident) => self.column(None, ident, scope).or_else(|error| {
                if error.state == state::UNDEFINED_COLUMN
                    && let Some(variable) = self.parameters.variable(None, &fold(ident))?
                {
                    return Ok(variable);
                }
                match session_word(ident) {
                    Some(word) => self.resolve(&word, Vec::new()),
                    None => Err(error),
                }
            }),
            A::CompoundIdentifier(parts) => self.qualified_column(parts, scope),
            A::Nested(inner) => self.expr(inner, scope),
            A::Value(value) => {
                let literal = self.literal(&value.value);
                literal.map_err(|error| self.locate(error, value.span))
            }
            A::BinaryOp { left, op, right } => self.binary(expr, left, op, right, scope),
            A::UnaryOp { op, expr } => self.unary(*op, expr, scope),
            A::IsNull(row) if let Some(parts) = parts_of_row(row) => self.test_row(&parts, true, scope),
            A::IsNotNull(row) if let Some(parts) = parts_of_row(row) => self.test_row(&parts, false, scope),
            A::IsNull(_) | A::IsNotNull(_) | A::IsTrue(_) | A::IsNotTrue(_) | A::IsFalse(_) | A::IsNotFalse(_) => {
                self.test(expr, scope)
            }
            A::IsUnknown(_) | A::IsNotUnknown(_) => self.test(expr, scope),
            A::IsDistinctFrom(left, right) => self.same(left, right, true, scope),
            A::IsNotDistinctFrom(left, right) => self.same(left, right, false, scope),
            A::Between { expr, negated, low, high } => self.between(expr, low, high, *negated, scope),
            A::InList { expr, list, negated } => match parts_of_row(expr) {
                Some(row) => self.row_in_list(&row, list, *negated, scope),
                None => self.in_list(expr, list, *negated, scope),
            },
            A::Like { negated, any, expr, pattern, .. } if let Some((all, patterns)) = patterns(*any, pattern) => {
                self.like_each(expr, patterns, all, (*negated, false), scope)
            }
            A::ILike { negated, any, expr, pattern, .. } if let Some((all, patterns)) = patterns(*any, pattern) => {
                self.like_each(expr, patterns, all, (*negated, true), scope)
            }
            A::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), (*negated, false), scope)
            }
            A::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), (*negated, true), scope)
            }
            A::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type: ty, format: None } => {
                if let Some(registry) = registry(ty)? {
                    return self.registered(registry, expr, scope);
                }
                if is_jsonpath(ty) {
                    let text = self.cast(expr, Type::Text.into(), scope)?;
                    let path = Function::Json(JsonFunction::PathText);
                    return Ok(Typed::new(Expr::Call(path, vec![text.expr]), Type::Text));
                }
                let to = self.declared_type(ty)?;
                self.cast(expr, to, scope)
            }
            A::TypedString(typed) => {
                let literal = self.literal(&typed.value.value)?;
                let to = self.declared_type(&typed.data_type)?;
                let coerced = self.coerce_to(literal, to, Strictness::Explicit);
                let made = |expr| Typed::new(expr, to.ty).of_domain(to.domain);
                coerced.map(made).map_err(|error| self.locate(error, typed.value.span))
            }
            A::Interval(interval) => self.interval_literal(interval, scope),
            A::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope)
            }
            A::Collate { expr, collation } => match name_parts(collation)?.last().map(String::as_str) {
                Some("C" | "POSIX" | "default" | "ucs_basic") => self.expr(expr, scope),
                _ => Err(unsupported(&format!("collation {collation}"))),
            },
            A::Subquery(_) | A::Exists { .. } | A::InSubquery { .. } | A::AnyOp { .. } | A::AllOp { .. } => {
                self.subquery(expr, scope)
            }
            A::Array(array) => self.array(array, None, scope),
            A::CompoundFieldAccess { root, access_chain } => self.subscripted(root, access_chain, scope),
            other => self.call_like(other, scope),
        }
    }

    fn literal(&mut self, value: &ast::Value) -> Result<Typed, SqlError> {
        use ast::Value as V;
        let unknown = |text: &str| Typed::unknown(Expr::Const(Value::Text(text.to_owned().into())));
        Ok(match value {
            V::Number(text, _) => number(text, false)?,
            V::SingleQuotedString(text)
            | V::EscapedStringLiteral(text)
            | V::UnicodeStringLiteral(text)
            | V::NationalStringLiteral(text) => unknown(text),
            V::DollarQuotedString(quoted) => unknown(&quoted.value),
            V::Boolean(value) => Typed::bool(Expr::bool(*value)),
            V::Null => Typed::unknown(Expr::NULL),
            V::Placeholder(name) => self.parameter(name)?,
            other => return Err(unsupported(&format!("literal {other}"))),
        })
    }

    fn qualified_column(&mut self, parts: &[ast::Ident], scope: &Scope) -> Result<Typed, SqlError> {
        let (name, relation, column) = match parts {
            [relation, column] => (fold(relation), relation, column),
            [schema, relation, column] if ["pg_catalog", "information_schema"].contains(&fold(schema).as_str()) => {
                (fold(relation), relation, column)
            }
            [schema, relation, column] => {
                let schema = fold(schema);
                (self.qualified(&schema, &fold(relation)), relation, column)
            }
            _ => return Err(unsupported("a name of this many parts")),
        };
        if !self.knows_relation(&name, scope) {
            if let Some(variable) = self.parameters.variable(Some(&name), &fold(column))? {
                return Ok(variable);
            }
            return Err(self.locate(self.missing_relation(&name, scope), relation.span));
        }
        let place = ast::Ident { span: parts[0].span, ..column.clone() };
        self.column(Some(&name), &place, scope)
    }

    pub(super) fn binary(&mut self, whole: &A, left: &A, op: &B, right: &A, scope: &Scope) -> Result<Typed, SqlError> {
        if matches!(op, B::And | B::Or) {
            return self.connective(whole, op, scope);
        }
        if let B::PGCustomBinaryOperator(parts) = op {
            return self.qualified_operator(whole, left, parts, right, scope);
        }
        let comparison = match op {
            B::Eq => Some(Comparison::Equal),
            B::NotEq => Some(Comparison::NotEqual),
            B::Lt => Some(Comparison::Less),
            B::LtEq => Some(Comparison::LessOrEqual),
            B::Gt => Some(Comparison::Greater),
            B::GtEq => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if let Some(comparison) = comparison
            && let (Some(left), Some(right)) = (parts_of_row(left), parts_of_row(right))
        {
            return self.compare_rows(comparison, &left, &right, scope);
        }
        let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
        if let Some(comparison) = comparison {
            return self.compare(comparison, left, right);
        }
        if let Some(symbol) = json_operator(op) {
            return self.operator(symbol, vec![left, right]);
        }
        match op {
            B::Minus if left.ty == Some(Type::Jsonb) => self.operator("-", vec![left, right]),
            B::AtQuestion => self.operator("@?", vec![left, right]),
            B::AtAt => self.operator("@@", vec![left, right]),
            B::Plus => self.arithmetic(Arithmetic::Add, left, right),
            B::Minus => self.arithmetic(Arithmetic::Subtract, left, right),
            B::Multiply => self.arithmetic(Arithmetic::Multiply, left, right),
            B::Divide => self.arithmetic(Arithmetic::Divide, left, right),
            B::Modulo => self.arithmetic(Arithmetic::Modulo, left, right),
            B::PGExp | B::BitwiseXor => self.arithmetic(Arithmetic::Power, left, right),
            B::BitwiseAnd => self.arithmetic(Arithmetic::BitAnd, left, right),
            B::BitwiseOr => self.arithmetic(Arithmetic::BitOr, left, right),
            B::PGBitwiseXor => self.arithmetic(Arithmetic::BitXor, left, right),
            B::PGBitwiseShiftLeft => self.operator("<<", vec![left, right]),
            B::PGBitwiseShiftRight => self.operator(">>", vec![left, right]),
            B::PGRegexMatch => self.operator("~", vec![left, right]),
            B::PGRegexIMatch => self.operator("~*", vec![left, right]),
            B::PGRegexNotMatch => self.operator("!~", vec![left, right]),
            B::PGRegexNotIMatch => self.operator("!~*", vec![left, right]),
            B::PGStartsWith => self.operator("^@", vec![left, right]),
            B::StringConcat => self.concat(left, right),
            B::AtArrow => self.containment("@>", ArrayFunction::Contains, left, right),
            B::ArrowAt => self.containment("<@", ArrayFunction::Contained, left, right),
            B::PGOverlap => self.array_test("&&", ArrayFunction::Overlaps, left, right),
            other if let Some(flags) = like_operator(other) => self.like_bound(left, right, Some('\\'), flags),
            other => Err(unsupported(&format!("operator {other}"))),
        }
    }

    /// Binds AND or OR. A chain of the same operator becomes one list, without recursion along the chain.
    fn connective(&mut self, whole: &A, op: &B, scope: &Scope) -> Result<Typed, SqlError> {
        let mut operands = Vec::new();
        let mut at = whole;
        while let A::BinaryOp { left, op: here, right } = at
            && here == op
        {
            operands.push(&**right);
            at = left;
        }
        operands.push(at);
        let place = if *op == B::And { "AND" } else { "OR" };
        let mut list = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
            let typed = self.expr(operand, scope)?;
            list.push(self.condition(typed, place)?);
        }
        let decisive = Expr::bool(*op == B::Or);
        Ok(Typed::bool(match *op == B::And {
            // An operand that decides the result alone leaves nothing to evaluate.
            _ if list.contains(&decisive) => decisive,
            true => Expr::And(list),
            false => Expr::Or(list),
        }))
    }

    fn unary(&mut self, op: U, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        if let (U::Minus, Some((text, negative))) = (op, signed_number(expr)) {
            return number(text, !negative);
        }
        let typed = self.expr(expr, scope)?;
        match op {
            U::Minus => self.negate(typed),
            U::Plus => Ok(typed),
            U::Not => {
                let condition = self.condition(typed, "NOT")?;
                Ok(Typed::bool(Expr::Not(Box::new(condition))))
            }
            U::BitwiseNot => self.operator("~ number", vec![typed]),
            U::PGSquareRoot => self.resolve("sqrt", vec![typed]),
            U::PGCubeRoot => self.resolve("cbrt", vec![typed]),
            U::PGAbs => self.resolve("abs", vec![typed]),
            other => Err(unsupported(&format!("operator {other}"))),
        }
    }

    /// Binds `IS [NOT] NULL`, `TRUE`, `FALSE` or `UNKNOWN`.
    fn test(&mut self, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        let (inner, place, wanted, negated) = match expr {
            A::IsNull(inner) => (inner, "", None, false),
            A::IsNotNull(inner) => (inner, "", None, true),
            A::IsTrue(inner) => (inner, "IS TRUE", Some(true), false),
            A::IsNotTrue(inner) => (inner, "IS NOT TRUE", Some(true), true),
            A::IsFalse(inner) => (inner, "IS FALSE", Some(false), false),
            A::IsNotFalse(inner) => (inner, "IS NOT FALSE", Some(false), true),
            A::IsUnknown(inner) => (inner, "IS UNKNOWN", None, false),
            A::IsNotUnknown(inner) => (inner, "IS NOT UNKNOWN", None, true),
            _ => return Err(unsupported("this test")),
        };
        let typed = self.expr(inner, scope)?;
        let operand = if place.is_empty() { self.resolved(typed)?.0 } else { self.condition(typed, place)? };
        let test = match wanted {
            Some(wanted) => Expr::IsBool(Box::new(operand), wanted),
            None => Expr::IsNull(Box::new(operand)),
        };
        Ok(Typed::bool(if negated { Expr::Not(Box::new(test)) } else { test }))
    }

    fn same(&mut self, left: &A, right: &A, negated: bool, scope: &Scope) -> Result<Typed, SqlError> {
        let same = match (self.fields_of_row(left, scope)?, self.fields_of_row(right, scope)?) {
            (Some(left), Some(right)) if left.len() == right.len() => {
                let same = left.into_iter().zip(right).map(|(left, right)| self.same_values(left, right));
                Expr::And(same.collect::<Result<_, _>>()?)
            }
            (Some(_), Some(_)) => {
                return Err(SqlError::new(state::SYNTAX_ERROR, "unequal number of entries in row expressions"));
            }
            _ => {
                let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
                self.same_values(left, right)?
            }
        };
        Ok(Typed::bool(if negated { Expr::Not(Box::new(same)) } else { same }))
    }

    fn same_values(&mut self, left: Typed, right: Typed) -> Result<Expr, SqlError> {
        let (left, right, blanks) = self.comparable("=", left, right)?;
        Ok(Expr::Same(Box::new((left, right)), blanks))
    }

    fn between(&mut self, expr: &A, low: &A, high: &A, negated: bool, scope: &Scope) -> Result<Typed, SqlError> {
        let value = self.expr(expr, scope)?;
        let (low, high) = (self.expr(low, scope)?, self.expr(high, scope)?);
        let low = self.compare(Comparison::GreaterOrEqual, value.clone(), low)?;
        let high = self.compare(Comparison::LessOrEqual, value, high)?;
        let both = Expr::And(vec![self.condition(low, "AND")?, self.condition(high, "AND")?]);
        Ok(Typed::bool(if negated { Expr::Not(Box::new(both)) } else { both }))
    }

    pub(super) fn in_list(&mut self, expr: &A, list: &[A], negated: bool, scope: &Scope) -> Result<Typed, SqlError> {
        let value = self.expr(expr, scope)?;
        let mut candidates = Vec::with_capacity(list.len());
        let mut known: Option<(Expr, bool)> = None;
        for candidate in list {
            let candidate = self.expr(candidate, scope)?;
            let (left, right, blanks) = self.comparable("=", value.clone(), candidate)?;
            // An operand that is brought to another type for one candidate, or whose blanks count, is compared one by
            // one.
            let here = (left, blanks);
            if known.as_ref().is_some_and(|known| *known != here) {
                return self.in_list_apart(expr, list, negated, scope);
            }
            known = Some(here);
            candidates.push(right);
        }
        let (value, blanks) = known.unwrap_or((value.expr, false));
        let is_in = Expr::In(Box::new(value), candidates, blanks);
        Ok(Typed::bool(if negated { Expr::Not(Box::new(is_in)) } else { is_in }))
    }

    fn in_list_apart(&mut self, expr: &A, list: &[A], negated: bool, scope: &Scope) -> Result<Typed, SqlError> {
        let value = self.expr(expr, scope)?;
        let mut tests = Vec::with_capacity(list.len());
        for candidate in list {
            let candidate = self.expr(candidate, scope)?;
            tests.push(self.compare(Comparison::Equal, value.clone(), candidate)?.expr);
        }
        let any = Expr::Or(tests);
        Ok(Typed::bool(if negated { Expr::Not(Box::new(any)) } else { any }))
    }

    fn like(
        &mut self,
        text: &A,
        pattern: &A,
        escape: Option<&A>,
        flags: (bool, bool),
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let (text, pattern) = (self.expr(text, scope)?, self.expr(pattern, scope)?);
        let escape = match escape {
            None => Some('\\'),
            Some(escape) => match self.expr(escape, scope)?.expr {
                Expr::Const(Value::Text(text)) if text.chars().count() <= 1 => text.chars().next(),
                _ => {
                    return Err(SqlError::new(state::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                        .hint("Escape string must be empty or one character."));
                }
            },
        };
        self.like_bound(text, pattern, escape, flags)
    }

    fn like_bound(
        &mut self,
        text: Typed,
        pattern: Typed,
        escape: Option<char>,
        (negated, ignore_case): (bool, bool),
    ) -> Result<Typed, SqlError> {
        let symbol = if ignore_case { "~~*" } else { "~~" };
        let is_text = |ty: Option<Type>| ty.is_none_or(Type::is_text);
        if !is_text(text.ty) || !is_text(pattern.ty) {
            return Err(no_operator(symbol, text.ty, pattern.ty));
        }
        let text = self.liked_text(text)?;
        let pattern = self.coerce(pattern, Type::Text, Strictness::Implicit)?;
        Ok(Typed::bool(Expr::Like(Box::new(Like { text, pattern, escape, ignore_case, negated }))))
    }

    /// Casts the left side of a LIKE to `text`. A `char` is not cast, because its padding counts, as in PostgreSQL.
    pub(super) fn liked_text(&mut self, text: Typed) -> Result<Expr, SqlError> {
        match text.ty {
            Some(Type::Char(_)) => Ok(text.expr),
            _ => self.coerce(text, Type::Text, Strictness::Implicit),
        }
    }

    fn cast(&mut self, expr: &A, to: Declared, scope: &Scope) -> Result<Typed, SqlError> {
        let typed = match (expr, to.ty) {
            (A::Array(array), Type::Array(element)) => self.array(array, Some(element), scope)?,
            _ => self.expr(expr, scope)?,
        };
        let from = typed.domain;
        self.parameters.note_domain(&typed.expr, to.domain);
        let typed = self.cast_typed(typed, expr, to)?;
        let value = self.constrained(typed.expr, from, to.domain)?;
        Ok(Typed { expr: value, domain: to.domain, ..typed })
    }

    /// Casts an expression, which was bound from `expr`, to a type.
    fn cast_typed(&mut self, typed: Typed, expr: &A, to: Declared) -> Result<Typed, SqlError> {
        let span = match expr {
            A::Value(value) => value.span,
            _ => sqlparser::tokenizer::Span::empty(),
        };
        if let Some(from) = typed.ty
            && from == to.ty
        {
            return Ok(typed);
        }
        let (from, of) = (typed.ty, typed.domain);
        let expr = self.coerce(typed, to.ty, Strictness::Explicit).map_err(|error| match error.state {
            state::CANNOT_COERCE if of.is_some() || to.domain.is_some() => {
                let (from, to) = (self.view.shown_type(from, of), self.view.shown_type(Some(to.ty), to.domain));
                SqlError::new(error.state, format!("cannot cast type {from} to {to}"))
            }
            state::CANNOT_COERCE => error,
            _ => self.locate(error, span),
        })?;
        Ok(Typed::new(expr, to.ty))
    }

    fn case(
        &mut self,
        operand: Option<&A>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&A>,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let sets = self.sets_bound();
        let operand = operand.map(|operand| self.expr(operand, scope)).transpose()?;
        let (mut whens, mut results) = (Vec::new(), Vec::new());
        for arm in conditions {
            let when = self.expr(&arm.condition, scope)?;
            whens.push(match &operand {
                Some(operand) => self.compare(Comparison::Equal, operand.clone(), when)?.expr,
                None => self.condition(when, "CASE/WHEN")?,
            });
            results.push(self.expr(&arm.result, scope)?);
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.expr(otherwise, scope)?,
            None => Typed::unknown(Expr::NULL),
        };
        self.refuse_sets(sets, "CASE")?;
        // ELSE comes first when the results' types are brought together.
        results.insert(0, otherwise);
        let domain = common_domain(&results);
        let (results, ty) = self.unify(results, "CASE")?;
        let mut results = results.into_iter();
        let otherwise = results.next().unwrap_or(Expr::NULL);
        let case = Expr::Case(whens.into_iter().zip(results).collect(), Box::new(otherwise));
        Ok(Typed::new(case, ty).of_domain(domain))
    }

    /// Binds an expression at a place where no aggregate functions may stand. Errors name the place as `place`, which
    /// is PostgreSQL's name of it.
    pub(crate) fn plain(&mut self, expr: &A, scope: &Scope, place: &'static str) -> Result<Typed, SqlError> {
        let without = self.without_subqueries;
        match place {
            "DEFAULT expressions" => self.without_subqueries = Some("DEFAULT expression"),
            "column generation expressions" => self.without_subqueries = Some("column generation expression"),
            "index expressions" => self.without_subqueries = Some("index expression"),
            "index predicates" => self.without_subqueries = Some("index predicate"),
            "check constraints" => self.without_subqueries = Some("check constraint"),
            "EXECUTE parameters" => self.without_subqueries = Some("EXECUTE parameter"),
            "CALL arguments" => self.without_subqueries = Some("CALL argument"),
            _ => {}
        }
        let typed = self.without_aggregates(place, |binder| binder.expr(expr, scope));
        self.without_subqueries = without;
        typed
    }

    /// Binds a WHERE clause.
    pub(crate) fn selection(&mut self, expr: Option<&A>, scope: &Scope) -> Result<Option<Expr>, SqlError> {
        let Some(expr) = expr else { return Ok(None) };
        let typed = self.plain(expr, scope, "WHERE")?;
        self.condition(typed, "WHERE").map(Some)
    }

    /// Binds the expression of LIMIT or OFFSET.
    pub(crate) fn count(&mut self, expr: &A, place: &'static str) -> Result<Expr, SqlError> {
        let typed = self.plain(expr, &Scope::default(), place)?;
        if typed.ty.is_some_and(|ty| !crate::types::is_number(ty)) {
            let message = format!("argument of {place} must be type bigint, not type {}", type_name(typed.ty));
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
        }
        self.coerce(typed, Type::Int8, Strictness::Assignment)
    }
}

/// Returns the position at which an expression begins, or `NOWHERE` if it is neither a name nor a literal.
pub(super) fn place(expr: &A) -> Location {
    match expr {
        A::Identifier(ident) => ident.span.start,
        A::CompoundIdentifier(parts) => parts.first().map_or(NOWHERE, |part| part.span.start),
        A::Value(value) => value.span.start,
        A::Nested(inner) | A::UnaryOp { expr: inner, .. } => place(inner),
        _ => NOWHERE,
    }
}

/// Returns the function that a word without parentheses means, such as `current_date`, or `None` if it means none.
fn session_word(ident: &ast::Ident) -> Option<String> {
    const WORDS: [&str; 9] = [
        "current_schema",
        "current_user",
        "session_user",
        "user",
        "current_role",
        "current_catalog",
        "current_date",
        "current_timestamp",
        "localtimestamp",
    ];
    let word = fold(ident);
    (ident.quote_style.is_none() && WORDS.contains(&word.as_str())).then_some(word)
}

/// Returns the text of a number that stands under any count of minus signs and parentheses, and whether it is negative.
/// Returns `None` for any other expression.
pub(super) fn signed_number(mut expr: &A) -> Option<(&str, bool)> {
    let mut negative = false;
    loop {
        match expr {
            A::Nested(inner) => expr = inner,
            A::UnaryOp { op: U::Minus, expr: inner } => {
                negative = !negative;
                expr = inner;
            }
            A::Value(value) => match &value.value {
                ast::Value::Number(text, _) => return Some((text, negative)),
                _ => return None,
            },
            _ => return None,
        }
    }
}

/// Binds a numeric literal with its sign. The sign must be part of it, since the least integer has no positive
/// counterpart.
///
/// # Errors
/// 22003 if the number has more digits than a numeric can have.
fn number(text: &str, negative: bool) -> Result<Typed, SqlError> {
    let value = if negative { number_literal(&format!("-{text}")) } else { number_literal(text) }?;
    let ty = crate::types::type_of(&value).unwrap_or(Type::Int4);
    Ok(Typed::new(Expr::Const(value), ty))
}
