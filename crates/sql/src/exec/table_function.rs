//! Functions whose results are rows.

use super::{Exec, Fail, Sink};
use crate::expr::{Arithmetic, Env, Input, compare};
use crate::plan::{RowsOf, TableFunction};
use crate::{SqlError, state};
use hotrow_storage::{Elements, Value};

impl Exec<'_> {
    /// Pushes the rows of a function until the sink breaks.
    pub(super) fn rows_of(&mut self, rows: &RowsOf, sink: Sink<'_>) -> Result<(), Fail> {
        let arguments = self.with_subqueries(|env| {
            let values = rows.arguments.iter().map(|expr| expr.eval(env, &Input::NONE).map(Value::into_owned));
            values.collect::<Result<Vec<_>, _>>()
        })?;
        let mut values = match rows.function {
            TableFunction::Unnest => unnest(&arguments),
            TableFunction::Series => match series(&arguments)? {
                Some(series) => series,
                None => return Ok(()),
            },
            TableFunction::Ancestors => return Ok(()),
        };
        push(&mut values, rows.numbered, &self.env, sink)
    }
}

/// What puts the values of the next row into a vector; false if there is none.
type Next<'n> = Box<dyn FnMut(&mut Vec<Value<'static>>) -> Result<bool, SqlError> + 'n>;

fn push(next: &mut Next<'_>, numbered: bool, env: &Env<'_>, sink: Sink<'_>) -> Result<(), Fail> {
    let (mut row, mut number) = (Vec::new(), 0);
    loop {
        env.check_cancelled()?;
        row.clear();
        if !next(&mut row)? {
            return Ok(());
        }
        number += 1;
        if numbered {
            row.push(Value::Int8(number));
        }
        if sink(&Input::Values(&row))?.is_break() {
            return Ok(());
        }
    }
}

/// The elements of arrays, beside each other, as long as one has any.
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

/// The numbers of a series; none if an argument is NULL.
fn series<'n>(arguments: &'n [Value<'static>]) -> Result<Option<Next<'n>>, SqlError> {
    let (Some(first), Some(last)) = (arguments.first(), arguments.get(1)) else { return Ok(None) };
    if arguments.iter().any(Value::is_null) {
        return Ok(None);
    }
    let one = match first {
        Value::Int4(_) => Value::Int4(1),
        Value::Int8(_) => Value::Int8(1),
        _ => Value::Numeric(1.into()),
    };
    let step = arguments.get(2).cloned().unwrap_or(one);
    let direction = compare(&step, &Value::Int4(0), false);
    if direction.is_eq() {
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, "step size cannot equal zero"));
    }
    let mut current = Some(first.clone());
    Ok(Some(Box::new(move |row| {
        let Some(value) = current.take() else { return Ok(false) };
        if compare(&value, last, false) == direction {
            return Ok(false);
        }
        // A series ends where its type does.
        current = Arithmetic::Add.apply(&value, &step).ok();
        row.push(value);
        Ok(true)
    })))
}
