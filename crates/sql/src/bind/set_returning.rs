//! Set-returning functions in a select list.
//!
//! The functions of a query are collected while its select list, GROUP BY and ORDER BY are bound, as aggregates are.
//! They run over the rows to which their arguments refer: those of FROM, or the groups. Functions that are arguments of
//! other functions run below these.

use super::binder::{Binder, span_of};
use super::errors::no_function;
use super::scope::Scope;
use super::select_state::Aggregates;
use super::sets::SetCall;
use super::typed::Typed;
use super::types::plain_type;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::parse::names::name_parts;
use crate::plan::table_function::{RowSource, RowsOf, TableFunction};
use crate::types::{type_name, without_modifier};
use crate::{SqlError, state};
use hotrow_storage::{Element, Type};
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::tokenizer::Span;

/// The columns of a set-returning function: their types, and their names if they have any.
type Columns = Vec<(Option<&'static str>, Type)>;

impl Binder<'_> {
    /// Binds a call of a set-returning function in an expression. Returns the columns of the function's rows.
    fn set_call(&mut self, function: TableFunction, arguments: Vec<Typed>, span: Span) -> Result<Vec<Typed>, SqlError> {
        if let (TableFunction::Unnest, [_, _, ..]) = (function, arguments.as_slice()) {
            let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
            return Err(no_function(function.name(), &types));
        }
        let (arguments, results) = self.table_function_types(function, arguments)?;
        let rows = RowsOf { function: RowSource::BuiltIn(function), arguments, numbered: false };
        self.set_columns(rows, results.into_iter().map(|(_, ty)| ty).collect(), span)
    }

    /// Adds a call of a set-returning function to those of the query, unless the query has an equal call whose
    /// arguments are not volatile. Returns expressions for the columns of the function's rows, whose types are `types`.
    ///
    /// # Errors
    /// 0A000 if no set-returning function may stand here.
    pub(super) fn set_columns(&mut self, rows: RowsOf, types: Vec<Type>, span: Span) -> Result<Vec<Typed>, SqlError> {
        self.check_set_place(span)?;
        let is_volatile = rows.arguments.iter().any(|argument| {
            argument.any(&mut |part| matches!(part, Expr::Call(function, _) if function.is_volatile()))
        });
        let known =
            self.select.sets.calls.iter().find(|known| !is_volatile && known.rows == rows).map(|known| known.first);
        let first = known.unwrap_or_else(|| {
            let first = self.select.sets.calls.iter().map(|call| call.rows.width()).sum();
            self.select.sets.calls.push(SetCall { first, rows });
            first
        });
        self.select.sets.bound += 1;
        self.select.sets.last = Some(span);
        Ok((first..).zip(types).map(|(column, ty)| Typed::new(Expr::Set(column), ty)).collect())
    }

    /// Binds a call of a set-returning function, whose rows must have one column.
    pub(super) fn set_returning(
        &mut self,
        function: TableFunction,
        arguments: Vec<Typed>,
        span: Span,
    ) -> Result<Typed, SqlError> {
        let mut columns = self.set_call(function, arguments, span)?;
        match (columns.pop(), columns.is_empty()) {
            (Some(column), true) => Ok(column),
            _ => Err(unsupported("a row as a value")),
        }
    }

    /// Returns the fields of an expression whose values are rows, with their names. Returns `None` for any other
    /// expression.
    pub(super) fn fields(&mut self, expr: &A, scope: &Scope) -> Result<Option<Vec<(&'static str, Typed)>>, SqlError> {
        let (name, list) = match expr {
            A::Nested(inner) => return self.fields(inner, scope),
            A::Function(ast::Function {
                name, args: FunctionArguments::List(list), over: None, filter: None, ..
            }) => (name, list),
            _ => return Ok(None),
        };
        if TableFunction::named(&name_parts(name)?) != Some(TableFunction::ExpandArray) {
            return Ok(None);
        }
        let mut arguments = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return Ok(None) };
            arguments.push(self.expr(argument, scope)?);
        }
        let columns = self.set_call(TableFunction::ExpandArray, arguments, span_of(name))?;
        Ok(Some(["x", "n"].into_iter().zip(columns).collect()))
    }

    fn check_set_place(&self, span: Span) -> Result<(), SqlError> {
        let refuse = |message: String| self.locate(SqlError::new(state::FEATURE_NOT_SUPPORTED, message), span);
        let place = match self.select.aggregates {
            Aggregates::Refused("GROUP BY") => return Ok(()),
            Aggregates::Refused("aggregate") => {
                let message = "aggregate function calls cannot contain set-returning function calls";
                return Err(refuse(message.to_owned()).hint(MOVE));
            }
            Aggregates::Refused("functions in FROM") => {
                return Err(refuse("set-returning functions must appear at top level of FROM".to_owned()));
            }
            Aggregates::Refused(place) => Some(place),
            Aggregates::Found(_) => self.select.sets.refused,
        };
        match place {
            Some(place) => Err(refuse(format!("set-returning functions are not allowed in {place}"))),
            None => Ok(()),
        }
    }

    /// Binds a clause in which no set-returning function may stand. Errors name the clause as `place`, which is
    /// PostgreSQL's name of it.
    pub(super) fn without_sets(
        &mut self,
        place: &'static str,
        bind: impl FnOnce(&mut Self) -> Result<Typed, SqlError>,
    ) -> Result<Typed, SqlError> {
        let outer = self.select.sets.refused.replace(place);
        let bound = bind(self);
        self.select.sets.refused = outer;
        bound
    }

    /// Returns the number of calls of set-returning functions that have been bound so far.
    pub(super) fn sets_bound(&self) -> usize {
        self.select.sets.bound
    }

    /// Returns an error if calls have been bound since there were `before`. In `place`, only the expressions that are
    /// needed are evaluated, so a set-returning function may not stand there.
    pub(super) fn refuse_sets(&self, before: usize, place: &str) -> Result<(), SqlError> {
        if self.select.sets.bound == before {
            return Ok(());
        }
        let message = format!("set-returning functions are not allowed in {place}");
        let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message).hint(MOVE);
        Err(self.locate(error, self.select.sets.last.unwrap_or_else(Span::empty)))
    }

    /// Casts the arguments of a set-returning function to the types that it takes. Returns them with the function's
    /// columns: their types, and their names if they have any.
    pub(super) fn table_function_types(
        &mut self,
        function: TableFunction,
        arguments: Vec<Typed>,
    ) -> Result<(Vec<Expr>, Columns), SqlError> {
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let wrong = || no_function(function.name(), &types);
        let open = || {
            let list: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
            let message = format!("function {}({}) is not unique", function.name(), list.join(", "));
            let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
            SqlError::new(state::AMBIGUOUS_FUNCTION, message).hint(hint)
        };
        let undetermined = || {
            let message = "could not determine polymorphic type because input has type unknown";
            SqlError::new(state::DATATYPE_MISMATCH, message)
        };
        let (wanted, results): (Vec<Type>, Vec<_>) = match function {
            TableFunction::Unnest => {
                let mut pairs = Vec::with_capacity(types.len());
                for ty in &types {
                    match ty {
                        Some(array @ Type::Array(element)) => pairs.push((*array, (None, plain_type(element.ty())))),
                        None => return Err(open()),
                        Some(_) => return Err(wrong()),
                    }
                }
                if pairs.is_empty() {
                    return Err(wrong());
                }
                pairs.into_iter().unzip()
            }
            TableFunction::ExpandArray => match types.as_slice() {
                [Some(array @ Type::Array(element))] => {
                    (vec![*array], vec![(Some("x"), element.ty()), (Some("n"), Type::Int4)])
                }
                [None] => return Err(undetermined()),
                _ => return Err(wrong()),
            },
            TableFunction::Subscripts => match types.as_slice() {
                [Some(array @ Type::Array(_)), None | Some(Type::Int2 | Type::Int4), rest @ ..]
                    if matches!(rest, [] | [None | Some(Type::Bool)]) =>
                {
                    let mut wanted = vec![*array, Type::Int4];
                    wanted.extend(rest.iter().map(|_| Type::Bool));
                    (wanted, vec![(None, Type::Int4)])
                }
                [None, _] | [None, _, _] => return Err(undetermined()),
                _ => return Err(wrong()),
            },
            TableFunction::Json(json) => match types.as_slice() {
                [None] => (vec![json.argument()], json.columns()),
                [Some(ty)] if *ty == json.argument() => (vec![*ty], json.columns()),
                _ => return Err(wrong()),
            },
            TableFunction::Ancestors => match types.as_slice() {
                [_] => (vec![Type::Int4], vec![(None, Type::Int4)]),
                _ => return Err(wrong()),
            },
            TableFunction::Options => match types.as_slice() {
                [None | Some(Type::Array(Element::Text))] => {
                    let columns = ["option_name", "option_value"].map(|name| (Some(name), Type::Text));
                    (vec![Type::Array(Element::Text)], columns.to_vec())
                }
                _ => return Err(wrong()),
            },
            TableFunction::PathQuery { .. } => path_types(&types).ok_or_else(wrong)?,
            TableFunction::Matches => match_types(&types).ok_or_else(wrong)?,
            TableFunction::Channels if types.is_empty() => (Vec::new(), vec![(None, Type::Text)]),
            TableFunction::Keywords if types.is_empty() => (Vec::new(), keyword_columns()),
            TableFunction::Keywords | TableFunction::Channels => return Err(wrong()),
            TableFunction::Series => {
                if !(2..=3).contains(&types.len()) {
                    return Err(wrong());
                }
                let types: Vec<_> = types.iter().map(|ty| ty.map(without_modifier)).collect();
                let times = [Type::Date, Type::TIMESTAMP, Type::TIMESTAMP_TZ];
                let time = types[..2].iter().flatten().filter(|ty| times.contains(ty)).max_by_key(|ty| {
                    // A timestamp without a zone is cast to one with a zone, and a date to either.
                    times.iter().position(|known| known == *ty)
                });
                if let (Some(time), [_, _, None | Some(Type::Interval(_))]) = (time, types.as_slice()) {
                    let ty = if *time == Type::TIMESTAMP { *time } else { Type::TIMESTAMP_TZ };
                    let wanted = vec![ty, ty, Type::INTERVAL];
                    return self.coerced(arguments, wanted).map(|list| (list, vec![(None, ty)]));
                }
                let ty = match super::types::common_number(&types) {
                    Some(Type::Int2 | Type::Int4) => Type::Int4,
                    Some(Type::Int8) => Type::Int8,
                    Some(Type::Numeric(_)) => Type::Numeric(None),
                    _ => return Err(wrong()),
                };
                (vec![ty; types.len()], vec![(None, ty)])
            }
        };
        Ok((self.coerced(arguments, wanted)?, results))
    }

    fn coerced(&mut self, arguments: Vec<Typed>, wanted: Vec<Type>) -> Result<Vec<Expr>, SqlError> {
        let pairs = arguments.into_iter().zip(wanted);
        pairs.map(|(argument, ty)| self.coerce(argument, ty, crate::expr::Strictness::Implicit)).collect()
    }
}

const MOVE: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// Returns the types of the arguments of `regexp_matches` and the columns of its rows. Returns `None` if it takes no
/// arguments of these types.
fn match_types(types: &[Option<Type>]) -> Option<(Vec<Type>, Columns)> {
    let fits = (2..=3).contains(&types.len()) && types.iter().all(|ty| ty.is_none_or(Type::is_text));
    fits.then(|| (vec![Type::Text; types.len()], vec![(None, Type::Array(Element::Text))]))
}

/// Returns the types of the arguments of `jsonb_path_query` and the columns of its rows. Returns `None` if it takes no
/// arguments of these types.
fn path_types(types: &[Option<Type>]) -> Option<(Vec<Type>, Columns)> {
    const WANTED: [Type; 4] = [Type::Jsonb, Type::Text, Type::Jsonb, Type::Bool];
    let fits = |(ty, wanted): (&Option<Type>, &Type)| ty.is_none_or(|ty| ty == *wanted);
    let fits = (2..=4).contains(&types.len()) && types.iter().zip(&WANTED).all(fits);
    fits.then(|| (WANTED[..types.len()].to_vec(), vec![(None, Type::Jsonb)]))
}

/// Returns the columns of the rows of `pg_get_keywords`.
fn keyword_columns() -> Vec<(Option<&'static str>, Type)> {
    let columns = [
        ("word", Type::Text),
        ("catcode", Type::Text),
        ("barelabel", Type::Bool),
        ("catdesc", Type::Text),
        ("baredesc", Type::Text),
    ];
    columns.map(|(name, ty)| (Some(name), ty)).to_vec()
}
