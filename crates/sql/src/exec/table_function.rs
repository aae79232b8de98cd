//! Functions whose results are rows.

use super::{Exec, Fail, Sink, json_rows};
use crate::expr::{Arithmetic, Env, Input, Kept, compare, invoke_rows, lost, matches_of};
use crate::plan::table_function::{RowSource, RowsOf, TableFunction};
use crate::plan::{Callee, Node};
use crate::types::SessionZone;
use crate::{SqlError, state};
use hotrow_storage::{Elements, Interval, Numeric, Value};
use std::ops::ControlFlow;

impl Exec<'_> {
    /// Pushes the rows of a function until the sink breaks.
    pub(super) fn rows_of(&mut self, rows: &RowsOf, sink: Sink<'_>) -> Result<(), Fail> {
        let arguments = self.with_subqueries(|env| evaluate(rows, env, &Input::NONE))?;
        let mut next = match &rows.function {
            RowSource::BuiltIn(function) => rows_for(*function, &arguments, &self.env)?,
            RowSource::Records(function) => json_rows::records(function, &arguments, self.env.styles)?,
            RowSource::User(function) => {
                let callee = function.callee.get::<Callee>().ok_or_else(|| lost("a function"))?;
                kept(self.invoke_rows(callee, &arguments, function.width)?)
            }
        };
        let (mut row, mut number) = (Vec::new(), 0);
        loop {
            self.env.check_cancelled()?;
            row.clear();
            if !next(&mut row)? {
                return Ok(());
            }
            number += 1;
            if rows.numbered {
                row.push(Value::Int8(number));
            }
            if sink(&Input::Values(&row))?.is_break() {
                return Ok(());
            }
        }
    }

    /// Pushes each row of the input beside the rows that the functions return for it, as often as the longest of them
    /// has rows.
    pub(super) fn project_set(&mut self, input: &Node, functions: &[RowsOf], sink: Sink<'_>) -> Result<(), Fail> {
        let mut made: Vec<Value<'static>> = Vec::new();
        self.each(input, |env, row| {
            let mut arguments = Vec::with_capacity(functions.len());
            for function in functions {
                arguments.push(evaluate(function, env, row)?);
            }
            let mut nexts = Vec::with_capacity(functions.len());
            for (function, arguments) in functions.iter().zip(&arguments) {
                nexts.push(Some(match &function.function {
                    RowSource::BuiltIn(function) => rows_for(*function, arguments, env)?,
                    RowSource::Records(function) => json_rows::records(function, arguments, env.styles)?,
                    RowSource::User(function) => kept(invoke_rows(&function.callee, arguments, function.width, env)?),
                }));
            }
            loop {
                env.check_cancelled()?;
                made.clear();
                let mut any = false;
                for (next, function) in nexts.iter_mut().zip(functions) {
                    let start = made.len();
                    let more = match next {
                        Some(next) => next(&mut made)?,
                        None => false,
                    };
                    any |= more;
                    if !more {
                        *next = None;
                        made.truncate(start);
                        made.resize(start + function.width(), Value::Null);
                    }
                }
                if !any {
                    return Ok(ControlFlow::Continue(()));
                }
                if sink(&Input::After(&made, row))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        })
    }
}

fn evaluate(rows: &RowsOf, env: &Env<'_>, row: &Input<'_>) -> Result<Vec<Value<'static>>, SqlError> {
    rows.arguments.iter().map(|expr| expr.eval(env, row).map(Value::into_owned)).collect()
}

/// Returns PostgreSQL's keywords as rows, each with the letter of its category and whether it can be a label without
/// AS.
fn keywords<'n>() -> Next<'n> {
    let mut lines = include_str!("keywords.txt").lines();
    Box::new(move |row| {
        let Some(line) = lines.next() else { return Ok(false) };
        let mut parts = line.split(' ');
        let (word, category) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is_label = parts.next() == Some("t");
        let meaning = match category {
            "C" => "unreserved (cannot be function or type name)",
            "R" => "reserved",
            "T" => "reserved (can be function or type name)",
            _ => "unreserved",
        };
        row.extend([Value::text(word), Value::text(category), Value::Bool(is_label), Value::text(meaning)]);
        row.push(Value::text(if is_label { "can be bare label" } else { "requires AS" }));
        Ok(true)
    })
}

/// A function that writes the values of the next row into a vector. Returns `false` if there is no further row.
pub(super) type Next<'n> = Box<dyn FnMut(&mut Vec<Value<'static>>) -> Result<bool, SqlError> + 'n>;

/// Returns the rows of a function for these arguments.
fn rows_for<'n>(function: TableFunction, arguments: &'n [Value<'static>], env: &Env<'_>) -> Result<Next<'n>, SqlError> {
    match function {
        TableFunction::Unnest => Ok(unnest(arguments)),
        TableFunction::Series => series(arguments, env.styles.zone),
        TableFunction::Subscripts => Ok(subscripts(arguments)),
        TableFunction::ExpandArray => Ok(expand(arguments)),
        TableFunction::Ancestors => Ok(none()),
        TableFunction::Options => Ok(options(arguments)),
        TableFunction::Keywords => Ok(keywords()),
        TableFunction::Matches => matches(arguments),
        TableFunction::Channels => Ok(channels(env)),
        TableFunction::Json(function) => json_rows::rows(function, arguments),
        TableFunction::PathQuery { .. } => json_rows::path(arguments, env),
    }
}

/// Returns the rows of a user's function, which has run already.
fn kept<'n>(rows: Kept) -> Next<'n> {
    let mut at = 0;
    Box::new(move |row| {
        if at == rows.len() {
            return Ok(false);
        }
        row.extend_from_slice(rows.row(at));
        at += 1;
        Ok(true)
    })
}

/// Returns a source without rows.
fn none<'n>() -> Next<'n> {
    Box::new(|_| Ok(false))
}

/// Returns the channels on which the session listens, for `pg_listening_channels`.
fn channels<'n>(env: &Env<'_>) -> Next<'n> {
    let channels = env.context.map(|context| context.entry.mailbox.channels());
    let mut channels = channels.unwrap_or_default().into_iter();
    Box::new(move |row| {
        let channel = channels.next();
        let is_found = channel.is_some();
        row.extend(channel.map(|channel| Value::Text(channel.to_string().into())));
        Ok(is_found)
    })
}

/// Returns the matches of a pattern in a text, for `regexp_matches`.
fn matches<'n>(arguments: &'n [Value<'static>]) -> Result<Next<'n>, SqlError> {
    let text = |at: usize| if let Some(Value::Text(text)) = arguments.get(at) { &**text } else { "" };
    if arguments.iter().any(Value::is_null) {
        return Ok(none());
    }
    let mut next = matches_of(text(0), text(1), text(2))?;
    Ok(Box::new(move |row| {
        let found = next();
        let is_found = found.is_some();
        row.extend(found);
        Ok(is_found)
    }))
}

/// Returns the names and values of options such as `fillfactor=70`, for `pg_options_to_table`.
fn options<'n>(arguments: &'n [Value<'static>]) -> Next<'n> {
    let Some(Value::Array(options)) = arguments.first() else { return none() };
    let mut options = options.iter();
    Box::new(move |row| {
        let Some(option) = options.next() else { return Ok(false) };
        let text = if let Value::Text(text) = &option { &**text } else { "" };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        row.push(Value::Text(name.to_owned().into()));
        row.push(value.map_or(Value::Null, |value| Value::Text(value.to_owned().into())));
        Ok(true)
    })
}

/// Returns the elements of several arrays beside each other, until the longest array ends.
fn unnest<'n>(arrays: &'n [Value<'static>]) -> Next<'n> {
    let mut elements: Vec<Option<Elements<'n>>> = Vec::with_capacity(arrays.len());
    elements.extend(arrays.iter().map(|array| if let Value::Array(array) = array { Some(array.iter()) } else { None }));
    Box::new(move |row| {
        let mut any = false;
        for elements in &mut elements {
            let value = elements.as_mut().and_then(Iterator::next);
            any |= value.is_some();
            row.push(value.map_or(Value::Null, Value::into_owned));
        }
        Ok(any)
    })
}

/// Returns the values of `generate_series`, or no rows if an argument is NULL. Days and months are added to a
/// `timestamptz` in `zone`.
fn series<'n>(arguments: &'n [Value<'static>], zone: SessionZone) -> Result<Next<'n>, SqlError> {
    let (Some(first), Some(last)) = (arguments.first(), arguments.get(1)) else { return Ok(none()) };
    if arguments.iter().any(Value::is_null) {
        return Ok(none());
    }
    for (value, what) in arguments.iter().zip(["start value", "stop value", "step size"]) {
        if let Value::Numeric(number) = value
            && !number.is_finite()
        {
            let wrong = if number.is_nan() { "NaN" } else { "infinity" };
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, format!("{what} cannot be {wrong}")));
        }
    }
    let one = match first {
        Value::Int4(_) => Value::Int4(1),
        Value::Int8(_) => Value::Int8(1),
        _ => Value::Numeric(Numeric::ONE),
    };
    let step = arguments.get(2).cloned().unwrap_or(one);
    let zero = match step {
        Value::Interval(_) => Value::Interval(Interval::default()),
        _ => Value::Int4(0),
    };
    let direction = compare(&step, &zero, false);
    if direction.is_eq() {
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, "step size cannot equal zero"));
    }
    let mut current = Some(first.clone());
    Ok(Box::new(move |row| {
        let Some(value) = current.take() else { return Ok(false) };
        if compare(&value, last, false) == direction {
            return Ok(false);
        }
        // A series ends where its type does.
        current = Arithmetic::Add.apply(&value, &step, zone).ok();
        row.push(value);
        Ok(true)
    }))
}

/// Returns the subscripts of an array's elements. Returns no rows if an argument is NULL, or if the dimension is not
/// the first.
fn subscripts<'n>(arguments: &'n [Value<'static>]) -> Next<'n> {
    let [Value::Array(array), Value::Int4(1), backwards @ ..] = arguments else { return none() };
    let first = array.first_index();
    let mut left = first..first + array.len() as i32;
    let backwards = match backwards {
        [] => false,
        [Value::Bool(backwards)] => *backwards,
        _ => return none(),
    };
    Box::new(move |row| {
        let next = if backwards { left.next_back() } else { left.next() };
        row.extend(next.map(Value::Int4));
        Ok(next.is_some())
    })
}

/// Returns the elements of an array, each with its number. NULL has no rows.
fn expand<'n>(arguments: &'n [Value<'static>]) -> Next<'n> {
    let [Value::Array(array)] = arguments else { return none() };
    let mut elements = (1..).zip(array);
    Box::new(move |row| {
        let Some((number, value)) = elements.next() else { return Ok(false) };
        row.extend([value.into_owned(), Value::Int4(number)]);
        Ok(true)
    })
}
