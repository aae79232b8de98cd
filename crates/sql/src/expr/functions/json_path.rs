//! Functions and operators that evaluate an SQL/JSON path.

use super::argument::{Arguments, text_of};
use super::function::{Function, JsonPathFunction, Overload};
use super::json::json_of;
use crate::SqlError;
use crate::expr::{Env, jsonpath};
use hotrow_storage::{Type, Value};

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use JsonPathFunction as F;
    use Type::{Bool, Jsonb, Text};
    macro_rules! overloads {
        ($($function:expr, ($($argument:expr),*) -> $result:expr);* $(;)?) => {
            const {
                &[$(Overload {
                    function: Function::JsonPath($function), arguments: &[$($argument),*], result: $result,
                }),*]
            }
        };
    }
    match name {
        "@?" => overloads![F::Exists { is_operator: true }, (Jsonb, Text) -> Bool],
        "@@" => overloads![F::Matches { is_operator: true }, (Jsonb, Text) -> Bool],
        "jsonb_path_exists" | "jsonb_path_exists_tz" => overloads![
            F::Exists { is_operator: false }, (Jsonb, Text) -> Bool;
            F::Exists { is_operator: false }, (Jsonb, Text, Jsonb) -> Bool;
            F::Exists { is_operator: false }, (Jsonb, Text, Jsonb, Bool) -> Bool;
        ],
        "jsonb_path_match" | "jsonb_path_match_tz" => overloads![
            F::Matches { is_operator: false }, (Jsonb, Text) -> Bool;
            F::Matches { is_operator: false }, (Jsonb, Text, Jsonb) -> Bool;
            F::Matches { is_operator: false }, (Jsonb, Text, Jsonb, Bool) -> Bool;
        ],
        "jsonb_path_query_array" | "jsonb_path_query_array_tz" => overloads![
            F::Query, (Jsonb, Text) -> Jsonb;
            F::Query, (Jsonb, Text, Jsonb) -> Jsonb;
            F::Query, (Jsonb, Text, Jsonb, Bool) -> Jsonb;
        ],
        "jsonb_path_query_first" | "jsonb_path_query_first_tz" => overloads![
            F::QueryFirst, (Jsonb, Text) -> Jsonb;
            F::QueryFirst, (Jsonb, Text, Jsonb) -> Jsonb;
            F::QueryFirst, (Jsonb, Text, Jsonb, Bool) -> Jsonb;
        ],
        _ => &[],
    }
}

impl JsonPathFunction {
    /// Returns the result of the function for these arguments: a value, a path, the values of variables, and whether
    /// the call is silent.
    pub(super) fn call(self, arguments: &Arguments<'_>, env: &Env<'_>) -> Result<Value<'static>, SqlError> {
        let [value, path, variables, silent, ..] = arguments;
        let (value, path) = (json_of(value), text_of(path));
        // An operator is silent, and has no variables at all. The variables of a function are an empty object.
        let options = |is_operator: bool| jsonpath::Options {
            variables: match variables {
                Value::Jsonb(variables) => Some(&**variables),
                _ => (!is_operator).then_some("{}"),
            },
            silent: is_operator || *silent == Value::Bool(true),
            env,
        };
        let truth = |truth: Option<bool>| truth.map_or(Value::Null, Value::Bool);
        let jsonb = |text: String| Value::Jsonb(text.into());
        Ok(match self {
            JsonPathFunction::Exists { is_operator } => truth(jsonpath::exists(value, path, options(is_operator))?),
            JsonPathFunction::Matches { is_operator } => truth(jsonpath::matches(value, path, options(is_operator))?),
            JsonPathFunction::Query => {
                let found = jsonpath::query(value, path, options(false))?;
                jsonb(format!("[{}]", found.join(", ")))
            }
            JsonPathFunction::QueryFirst => {
                let found = jsonpath::query(value, path, options(false))?;
                found.into_iter().next().map_or(Value::Null, jsonb)
            }
        })
    }
}
