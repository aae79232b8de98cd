//! The names of functions, with which calls are shown.

use super::choose::overloads;
use super::function::{Function, Variadic};
use hotrow_sync::OnceLock;

/// The names of functions that are called with parentheses. Of several names for one function the first one counts.
const NAMES: [&str; 107] = [
    "abs",
    "sign",
    "ceil",
    "floor",
    "round",
    "trunc",
    "mod",
    "div",
    "gcd",
    "lcm",
    "scale",
    "trim_scale",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log",
    "log10",
    "power",
    "pi",
    "degrees",
    "radians",
    "sin",
    "cos",
    "tan",
    "cot",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "width_bucket",
    "length",
    "octet_length",
    "bit_length",
    "lower",
    "upper",
    "initcap",
    "substring",
    "overlay",
    "btrim",
    "ltrim",
    "rtrim",
    "strpos",
    "starts_with",
    "replace",
    "translate",
    "left",
    "right",
    "repeat",
    "reverse",
    "lpad",
    "rpad",
    "split_part",
    "ascii",
    "chr",
    "to_hex",
    "md5",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "encode",
    "decode",
    "quote_ident",
    "quote_literal",
    "regexp_replace",
    "regexp_match",
    "regexp_split_to_array",
    "regexp_like",
    "regexp_count",
    "regexp_substr",
    "date_part",
    "date_trunc",
    "to_char",
    "to_date",
    "to_timestamp",
    "make_date",
    "make_timestamp",
    "make_timestamptz",
    "make_time",
    "isfinite",
    "timezone",
    "age",
    "date_bin",
    "justify_days",
    "justify_hours",
    "justify_interval",
    "json_typeof",
    "jsonb_typeof",
    "json_array_length",
    "jsonb_array_length",
    "jsonb_set",
    "jsonb_insert",
    "jsonb_strip_nulls",
    "jsonb_pretty",
    "nextval",
    "currval",
    "lastval",
    "setval",
    "pg_get_serial_sequence",
    "current_setting",
    "set_config",
    "pg_notify",
    "pg_notification_queue_usage",
];

/// The names of functions that are operators between two values.
const OPERATORS: [&str; 19] =
    ["~", "~*", "!~", "!~*", "^@", "<<", ">>", "->", "->>", "#>", "#>>", "@>", "<@", "?", "?|", "?&", "||", "-", "#-"];

/// The form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name(argument, …)`
    Call(&'static str),
    /// `left operator right`
    Operator(&'static str),
}

/// Returns the form in which a call of a function is written, or `None` if it has a syntax of its own.
pub(crate) fn form_of(function: Function) -> Option<Form> {
    static FORMS: OnceLock<Vec<(Function, Form)>> = OnceLock::new();
    if let Function::Variadic(function) = function {
        return of_variadic(function).map(Form::Call);
    }
    let forms = FORMS.get_or_init(|| {
        let calls = NAMES.map(Form::Call).into_iter().zip(NAMES);
        let operators = OPERATORS.map(Form::Operator).into_iter().zip(OPERATORS);
        let of_name = |(form, name)| overloads(name).into_iter().map(move |overload| (overload.function, form));
        calls.chain(operators).flat_map(of_name).collect()
    });
    forms.iter().find(|(known, _)| *known == function).map(|(_, form)| *form)
}

fn of_variadic(function: Variadic) -> Option<&'static str> {
    Some(match function {
        Variadic::Greatest => "GREATEST",
        Variadic::Least => "LEAST",
        Variadic::Concat => "concat",
        Variadic::ConcatWithSeparator => "concat_ws",
        Variadic::Format => "format",
        Variadic::CountNulls => "num_nulls",
        Variadic::CountValues => "num_nonnulls",
        Variadic::MakeInterval => "make_interval",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_a_function() {
        for name in NAMES.into_iter().chain(OPERATORS) {
            assert_ne!(overloads(name).len(), 0, "{name}");
        }
    }
}
