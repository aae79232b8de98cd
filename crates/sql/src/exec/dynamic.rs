//! EXECUTE in bodies: statements whose text is computed. DO runs statements of almost all kinds. A procedure or
//! function runs those that read or change rows, CALL, NOTIFY, LISTEN and UNLISTEN.

use super::body::RowValues;
use super::{Exec, Fail, lock_outcome};
use crate::bind::Binder;
use crate::catalog::View;
use crate::depth::with_room;
use crate::error::unsupported;
use crate::expr::{Strictness, can_cast, lost};
use crate::parse::lex::{Token, character_position, tokenize};
use crate::parse::utility::Utility;
use crate::parse::{self, Parsed};
use crate::plan::{Plan, Statement, Target};
use crate::table_lock::Mode;
use crate::types::{Styles, encode_text};
use crate::{OutputColumn, SqlError, state};
use bytes::BytesMut;
use hotrow_storage::{Type, Value};
use hotrow_txn::Abort;
use std::ops::Range;

/// Returns the text of the statement that EXECUTE is to run. `ty` is the type of the value.
///
/// # Errors
/// 22004 if the value is NULL, 42804 if it is no text.
pub(crate) fn computed_text(value: Value<'static>, ty: Type) -> Result<String, SqlError> {
    match value {
        Value::Text(text) if ty.is_text() => Ok(text.into_owned()),
        Value::Null => {
            let message = "query string argument of EXECUTE is null";
            Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message))
        }
        _ => Err(SqlError::new(state::DATATYPE_MISMATCH, "the argument of EXECUTE is no text")),
    }
}

/// Parses a text that contains one statement. Also returns the tokens of the text, and the range of the statement's
/// tokens.
///
/// # Errors
/// 0A000 if the text contains several statements, or the errors of the parser.
pub(crate) fn only_statement(text: &str) -> Result<(Parsed, Vec<Token>, Range<usize>), SqlError> {
    let mut tokens = Vec::new();
    tokenize(text, &mut tokens)?;
    let range = match &parse::split(text, &tokens)[..] {
        [range] => range.clone(),
        [] => 0..0,
        _ => return Err(unsupported("EXECUTE of several statements")),
    };
    let parsed = parse::parse(text, &tokens[range.clone()])?;
    Ok((parsed, tokens, range))
}

/// Checks that EXECUTE … USING has a value for each parameter of its statement. `types` are the types of the values.
///
/// # Errors
/// 42P02 if there are fewer values than parameters.
pub(crate) fn check_parameters(statement: &Statement, types: &[Option<Type>]) -> Result<(), SqlError> {
    if statement.params.len() <= types.len() {
        return Ok(());
    }
    let message = format!("there is no parameter ${}", types.len() + 1);
    Err(SqlError::new(state::UNDEFINED_PARAMETER, message))
}

/// Adds the text of the body's statement that failed to the context of its error.
pub(crate) fn within_statement(fail: Fail, text: &str) -> Fail {
    match fail {
        Fail::Sql(error) if error.state != state::INVALID_TRANSACTION_TERMINATION => {
            let here = format!("SQL statement \"{text}\"");
            let context = match &error.context {
                Some(inner) => format!("{inner}\n{here}"),
                None => here,
            };
            Fail::Sql(error.context(context))
        }
        fail => fail,
    }
}

/// The statement of an EXECUTE, ready to run.
pub(super) enum Ready {
    /// A plan whose tables are locked, with the values of its parameters.
    Plan(Box<Statement>, Vec<Value<'static>>),
    /// NOTIFY, LISTEN or UNLISTEN.
    Notification(Box<Utility>),
}

impl Exec<'_> {
    /// Plans the statement in a computed text and locks its tables. `types` are the types of the parameters.
    ///
    /// # Errors
    /// 0A000 for a statement that functions cannot run, such as DDL, or the errors of parsing and planning.
    pub(super) fn ready(
        &mut self,
        text: &str,
        parameters: Vec<Value<'static>>,
        types: &[Option<Type>],
    ) -> Result<Ready, Fail> {
        let context = self.env.context.ok_or_else(|| lost("the context of EXECUTE"))?;
        let (parsed, tokens, range) = only_statement(text)?;
        let of_tokens = &tokens[range.clone()];
        let (start, end) =
            of_tokens.first().zip(of_tokens.last()).map_or((0, 0), |(first, last)| (first.start, last.end));
        let statement = match parsed {
            Parsed::Ast(statement) => statement,
            Parsed::Utility(utility @ (Utility::Notify { .. } | Utility::Channels(_))) => {
                return Ok(Ready::Notification(Box::new(utility)));
            }
            Parsed::Utility(_) => return Err(not_in_function(&text[start..end]).into()),
            Parsed::Empty => return Err(SqlError::new(state::SYNTAX_ERROR, "EXECUTE has an empty text").into()),
        };
        let of_session = context.view();
        let path = self.env.path_of_body().map_or(of_session.path, Option::as_ref);
        let view = View { path, ..of_session };
        loop {
            let offset = character_position(text, start) - 1;
            let binder = Binder::new(&text[start..end], offset, view, types.to_vec());
            let planned = with_room(|| binder.statement(text.into(), range.clone(), statement.clone()))?;
            if matches!(planned.plan, Plan::Ddl(_) | Plan::CreateAs(_) | Plan::Utility(_) | Plan::Declare(_)) {
                return Err(not_in_function(&text[start..end]).into());
            }
            check_parameters(&planned, types)?;
            for lock in planned.used.locks() {
                let limit = context.settings.borrow().duration("lock_timeout");
                let locks = &mut *self.locks;
                let wake = locks.acquire(lock, Mode::Shared, (context.shared(), &context.entry), limit);
                lock_outcome(wake.map_err(given_up)?)?;
            }
            // The definitions may have changed while we waited.
            if planned.used.is_current(view) {
                return Ok(Ready::Plan(Box::new(planned), parameters));
            }
        }
    }
}

/// Turns a deadlock or a serialization failure back into an abort, which no exception handler of the body takes.
fn given_up(error: SqlError) -> Fail {
    match error.state {
        state::DEADLOCK_DETECTED => Abort::Deadlock.into(),
        state::SERIALIZATION_FAILURE => Abort::Conflict.into(),
        _ => error.into(),
    }
}

/// Returns the error 0A000 for a statement that functions cannot run.
fn not_in_function(text: &str) -> SqlError {
    let word = text.split_whitespace().next().unwrap_or_default().to_uppercase();
    unsupported(&format!("{word} in a procedure")).hint("DO runs statements of all kinds.")
}

/// Returns the targets for assigning a row's columns to variables. If there is no assignment cast from a column's type
/// to its variable's, replaces the value in `row` by its text, which the assignment parses.
pub(super) fn assignments(
    into: &[Target],
    columns: &[OutputColumn],
    row: Option<&mut RowValues>,
    styles: Styles,
) -> Vec<Target> {
    let mut values = row.map(|row| row.iter_mut()).into_iter().flatten();
    let mut assign = |(target, column): (&Target, &OutputColumn)| {
        let value = values.next();
        if can_cast(column.ty, target.to, Strictness::Assignment) {
            return Target { from: column.ty, ..target.clone() };
        }
        if let Some(value) = value.filter(|value| !value.is_null()) {
            let mut text = BytesMut::new();
            encode_text(value, column.ty, styles, &mut text);
            *value = Value::text(&String::from_utf8_lossy(&text)).into_owned();
        }
        Target { from: Type::Text, ..target.clone() }
    };
    into.iter().zip(columns).map(&mut assign).collect()
}
