//! Functions with any number of arguments.

use super::append::append;
use super::argument::invalid;
use super::function::Variadic;
use super::interval::make_interval;
use super::json_build;
use super::text::quote_literal;
use crate::expr::{Env, Expr, Input, compare};
use crate::memory::check_size;
use crate::schema::quoted;
use crate::{SqlError, state};
use bytes::BytesMut;
use hotrow_storage::{Type, Value};

impl Variadic {
    /// Returns the variadic function with this name and the type of its result. Returns `None` if there is none that
    /// accepts this number of arguments.
    pub fn named(name: &str, arguments: usize) -> Option<(Self, Type)> {
        Some(match (name, arguments) {
            ("concat", 1..) => (Variadic::Concat, Type::Text),
            ("concat_ws", 2..) => (Variadic::ConcatWithSeparator, Type::Text),
            ("format", 1..) => (Variadic::Format, Type::Text),
            ("num_nulls", 1..) => (Variadic::CountNulls, Type::Int4),
            ("num_nonnulls", 1..) => (Variadic::CountValues, Type::Int4),
            ("json_build_object", _) => (Variadic::JsonObject(false), Type::Json),
            ("json_build_array", _) => (Variadic::JsonArray(false), Type::Json),
            ("jsonb_build_object", _) => (Variadic::JsonObject(true), Type::Jsonb),
            ("jsonb_build_array", _) => (Variadic::JsonArray(true), Type::Jsonb),
            ("to_json" | "array_to_json", 1) => (Variadic::ToJson(false), Type::Json),
            ("to_jsonb", 1) => (Variadic::ToJson(true), Type::Jsonb),
            _ => return None,
        })
    }

    /// Whether the first argument must be a text.
    pub fn begins_with_text(self) -> bool {
        matches!(self, Variadic::ConcatWithSeparator | Variadic::Format)
    }

    /// Evaluates the arguments over a row, and returns the result of the function.
    pub(super) fn call<'a>(self, arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        match self {
            Variadic::Greatest | Variadic::Least => self.extreme(arguments, env, row),
            Variadic::Concat => join(arguments, "", env, row),
            Variadic::ConcatWithSeparator => match arguments[0].eval(env, row)? {
                Value::Text(separator) => join(&arguments[1..], &separator, env, row),
                _ => Ok(Value::Null),
            },
            Variadic::Format => match arguments[0].eval(env, row)? {
                Value::Text(template) => format(&template, &arguments[1..], env, row),
                _ => Ok(Value::Null),
            },
            Variadic::MakeInterval => {
                let mut parts = [const { Value::Null }; 7];
                for (part, argument) in parts.iter_mut().zip(arguments) {
                    *part = argument.eval(env, row)?;
                    if part.is_null() {
                        return Ok(Value::Null);
                    }
                }
                make_interval(&parts).map(Value::Interval)
            }
            Variadic::JsonObject(binary) => json_build::object(arguments, binary, env, row),
            Variadic::JsonArray(binary) => json_build::array(arguments, binary, env, row),
            Variadic::JsonRow { of_relation } => json_build::row(arguments, of_relation, env, row),
            Variadic::ToJson(binary) => json_build::value(arguments, binary, env, row),
            Variadic::CountNulls | Variadic::CountValues => {
                let mut count = 0;
                for argument in arguments {
                    count += i32::from(argument.eval(env, row)?.is_null() == (self == Variadic::CountNulls));
                }
                Ok(Value::Int4(count))
            }
        }
    }

    fn extreme<'a>(self, arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        let mut best = Value::Null;
        for argument in arguments {
            let value = argument.eval(env, row)?;
            if value.is_null() {
                continue;
            }
            let order = compare(&value, &best, false);
            if best.is_null() || if self == Variadic::Greatest { order.is_gt() } else { order.is_lt() } {
                best = value;
            }
        }
        Ok(best)
    }
}

fn text(bytes: &BytesMut) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn join<'a>(list: &'a [Expr], separator: &str, env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
    let mut out = BytesMut::new();
    let mut is_first = true;
    for argument in list {
        let value = argument.eval(env, row)?;
        if value.is_null() {
            continue;
        }
        if !is_first {
            append(&Value::text(separator), &mut out, env)?;
        }
        append(&value, &mut out, env)?;
        is_first = false;
    }
    Ok(Value::Text(text(&out).into()))
}

/// A place in a template: `%[position$][-][width]type`.
#[derive(Default)]
struct Place {
    /// The number of the argument, from 1.
    position: Option<usize>,
    to_the_left: bool,
    width: usize,
}

fn format<'a>(template: &str, list: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
    let mut out = BytesMut::new();
    let mut next = 0;
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('%') {
        append(&Value::text(before), &mut out, env)?;
        let (place, after) = place(after)?;
        let mut characters = after.chars();
        let kind = characters.next().ok_or_else(unterminated)?;
        rest = characters.as_str();
        if kind == '%' {
            append(&Value::text("%"), &mut out, env)?;
            continue;
        }
        let at = match place.position {
            Some(position) => position
                .checked_sub(1)
                .ok_or_else(|| invalid("format specifies argument 0, but arguments are numbered from 1"))?,
            None => next,
        };
        next = at + 1;
        let value = list.get(at).ok_or_else(|| invalid("too few arguments for format()"))?.eval(env, row)?;
        let mut plain = BytesMut::new();
        append(&value, &mut plain, env)?;
        let shown = match kind {
            's' => text(&plain),
            'I' if value.is_null() => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
            }
            'I' => quoted(&text(&plain)),
            'L' if value.is_null() => "NULL".to_owned(),
            'L' => quote_literal(&text(&plain)),
            other => {
                return Err(invalid(format!("unrecognized format() type specifier \"{other}\""))
                    .hint("For a single \"%\" use \"%%\"."));
            }
        };
        let missing = place.width.saturating_sub(shown.chars().count());
        check_size(out.len().saturating_add(missing), env.memory)?;
        let padding = " ".repeat(missing);
        let (left, right) = if place.to_the_left { ("", &*padding) } else { (&*padding, "") };
        append(&Value::Text([left, &shown, right].concat().into()), &mut out, env)?;
    }
    append(&Value::text(rest), &mut out, env)?;
    Ok(Value::Text(text(&out).into()))
}

fn unterminated() -> SqlError {
    invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

/// Reads a place up to the letter of its type. Returns the place, and the text from that letter on.
fn place(text: &str) -> Result<(Place, &str), SqlError> {
    fn number(text: &str) -> Result<(Option<usize>, &str), SqlError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let too_large = |_| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range");
        let number = (digits > 0).then(|| text[..digits].parse::<u32>().map_err(too_large)).transpose()?;
        Ok((number.map(|number| number as usize), &text[digits..]))
    }
    let mut place = Place::default();
    let mut rest = text;
    if let (Some(position), after) = number(rest)?
        && let Some(after) = after.strip_prefix('$')
    {
        place.position = Some(position);
        rest = after;
    }
    while let Some(after) = rest.strip_prefix('-') {
        place.to_the_left = true;
        rest = after;
    }
    let (width, rest) = number(rest)?;
    place.width = width.unwrap_or(0);
    if rest.starts_with('*') {
        return Err(crate::error::unsupported("a width that is an argument of format()"));
    }
    Ok((place, rest))
}
