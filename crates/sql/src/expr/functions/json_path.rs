//! Functions and operators that evaluate an SQL/JSON path.

use super::argument::{Arguments, text_of};
use super::function::{Function, JsonPathFunction, Overload, PathCall};
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
    macro_rules! of_path {
        ($function:ident, $call:ident, $result:expr) => {
            overloads![
                F::$function(PathCall::$call), (Jsonb, Text) -> $result;
                F::$function(PathCall::$call), (Jsonb, Text, Jsonb) -> $result;
                F::$function(PathCall::$call), (Jsonb, Text, Jsonb, Bool) -> $result;
            ]
        };
    }
    match name {
        "@?" => overloads![F::Exists(PathCall::Operator), (Jsonb, Text) -> Bool],
        "@@" => overloads![F::Matches(PathCall::Operator), (Jsonb, Text) -> Bool],
        "jsonb_path_exists" => of_path!(Exists, Plain, Bool),
        "jsonb_path_exists_tz" => of_path!(Exists, Zoned, Bool),
        "jsonb_path_match" => of_path!(Matches, Plain, Bool),
        "jsonb_path_match_tz" => of_path!(Matches, Zoned, Bool),
        "jsonb_path_query_array" => of_path!(Query, Plain, Jsonb),
        "jsonb_path_query_array_tz" => of_path!(Query, Zoned, Jsonb),
        "jsonb_path_query_first" => of_path!(QueryFirst, Plain, Jsonb),
        "jsonb_path_query_first_tz" => of_path!(QueryFirst, Zoned, Jsonb),
        _ => &[],
    }
}

impl JsonPathFunction {
    /// Returns the way in which the function is called.
    fn called(self) -> PathCall {
        match self {
            JsonPathFunction::Exists(call)
            | JsonPathFunction::Matches(call)
            | JsonPathFunction::Query(call)
            | JsonPathFunction::QueryFirst(call) => call,
        }
    }

    /// Whether the result may depend on the session's time zone.
    pub(in crate::expr) fn is_zoned(self) -> bool {
        self.called() == PathCall::Zoned
    }

    /// Evaluates the function. The arguments are a value, a path, an object with the values of variables, and whether
    /// the call is silent.
    pub(super) fn call(self, arguments: &Arguments<'_>, env: &Env<'_>) -> Result<Value<'static>, SqlError> {
        let [value, path, variables, silent, ..] = arguments;
        let (value, path) = (json_of(value), text_of(path));
        // An operator is silent, and has no variables at all. The variables of a function are an empty object.
        let is_operator = self.called() == PathCall::Operator;
        let options = jsonpath::Options {
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
            JsonPathFunction::Exists(_) => truth(jsonpath::exists(value, path, options)?),
            JsonPathFunction::Matches(_) => truth(jsonpath::matches(value, path, options)?),
            JsonPathFunction::Query(_) => {
                let found = jsonpath::query(value, path, options)?;
                jsonb(format!("[{}]", found.join(", ")))
            }
            JsonPathFunction::QueryFirst(_) => {
                let found = jsonpath::query(value, path, options)?;
                found.into_iter().next().map_or(Value::Null, jsonb)
            }
        })
    }
}
