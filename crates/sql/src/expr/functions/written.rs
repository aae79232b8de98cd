//! The notations in which calls of functions are shown.

use super::choose::overloads;
use super::function::{
    ArrayFunction, CatalogFunction, Field, Function, JsonFunction, NumberFunction, PatternFunction, TimeFunction,
    Variadic,
};
use hotrow_sync::OnceLock;

/// The names of functions that are called with parentheses. A function with several names is shown by the first of
/// them.
const NAMES: &[&str] = &[
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
    "factorial",
    "scale",
    "min_scale",
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
    "to_number",
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
    "jsonb_path_exists",
    "jsonb_path_exists_tz",
    "jsonb_path_match",
    "jsonb_path_match_tz",
    "jsonb_path_query_array",
    "jsonb_path_query_array_tz",
    "jsonb_path_query_first",
    "jsonb_path_query_first_tz",
    "nextval",
    "currval",
    "lastval",
    "setval",
    "pg_sequence_last_value",
    "pg_get_serial_sequence",
    "current_setting",
    "set_config",
    "txid_current",
    "pg_postmaster_start_time",
    "pg_notify",
    "pg_notification_queue_usage",
    "pg_sleep",
    "format_type",
    "pg_get_userbyid",
    "pg_table_is_visible",
    "pg_function_is_visible",
    "pg_get_expr",
    "pg_get_indexdef",
    "pg_get_constraintdef",
    "pg_type_is_visible",
    "pg_get_viewdef",
    "pg_relation_is_updatable",
    "pg_column_is_updatable",
    "pg_get_functiondef",
    "pg_get_function_sqlbody",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_get_triggerdef",
    "obj_description",
    "shobj_description",
    "col_description",
    "pg_encoding_to_char",
    "pg_char_to_encoding",
    "pg_tablespace_location",
    "pg_is_other_temp_schema",
    "pg_my_temp_schema",
    "pg_size_pretty",
    "pg_is_in_recovery",
    "to_regclass",
    "to_regtype",
    "current_schemas",
    "_pg_char_max_length",
    "_pg_char_octet_length",
    "_pg_numeric_precision",
    "_pg_numeric_precision_radix",
    "_pg_numeric_scale",
    "_pg_datetime_precision",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "pg_try_advisory_xact_lock",
    "pg_try_advisory_xact_lock_shared",
    "pg_advisory_unlock",
    "pg_advisory_unlock_shared",
    "pg_advisory_unlock_all",
    "pg_blocking_pids",
    "pg_isolation_test_session_is_blocked",
    "pg_cancel_backend",
    "pg_terminate_backend",
];

/// The names of functions that are operators between two values.
const OPERATORS: &[&str] = &[
    "~", "~*", "!~", "!~*", "^@", "<<", ">>", "->", "->>", "#>", "#>>", "@>", "<@", "@?", "@@", "?", "?|", "?&", "||",
    "-", "#-",
];

/// The notation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name(argument, …)`
    Call(&'static str),
    /// `left operator right`
    Operator(&'static str),
    /// `operator operand`
    Prefix(&'static str),
    /// `value::type`
    Cast(&'static str),
    /// `number::type::text`: the name of the object that has this number.
    Name(&'static str),
    /// `text SIMILAR TO pattern ESCAPE character`
    Similar,
    /// `EXTRACT(field FROM moment)`
    Extract(Field),
    /// `ARRAY[element, …]`
    Array,
    /// `value[subscript]`
    Subscript,
    /// `array[from:to]`. The flags say whether the lower and the upper bound are written.
    Slice(bool, bool),
    /// `row_to_json(ROW(value, …))`, or `row_to_json(relation.*)` if the row is that of a relation. The arguments are
    /// the names of the row's columns, each before its value.
    Row {
        /// Whether the row is that of a relation.
        of_relation: bool,
    },
}

/// Returns the notation of a function's calls. Returns `None` for the functions without arguments that
/// [`Function::written`] knows, for comparisons with the elements of an array, and for the columns of a sequence that
/// is read in FROM.
pub(crate) fn form_of(function: Function) -> Option<Form> {
    static FORMS: OnceLock<Vec<(Function, Form)>> = OnceLock::new();
    match function {
        Function::Variadic(function) => return Some(of_variadic(function)),
        Function::Array(function) => return of_array(function),
        Function::Number(NumberFunction::BitNot) => return Some(Form::Prefix("~")),
        Function::Pattern(PatternFunction::Similar) => return Some(Form::Similar),
        Function::Time(TimeFunction::Extract(field)) => return Some(Form::Extract(field)),
        Function::Json(JsonFunction::Subscript) => return Some(Form::Subscript),
        Function::Json(JsonFunction::PathText) => return Some(Form::Cast("jsonpath")),
        Function::Catalog(function) if let Some(form) = of_catalog(function) => return Some(form),
        _ => {}
    }
    let forms = FORMS.get_or_init(|| {
        let calls = NAMES.iter().map(|&name| (name, Form::Call(name)));
        let operators = OPERATORS.iter().map(|&symbol| (symbol, Form::Operator(symbol)));
        let of_name = |(name, form)| overloads(name).into_iter().map(move |overload| (overload.function, form));
        calls.chain(operators).flat_map(of_name).collect()
    });
    forms.iter().find(|(known, _)| *known == function).map(|(_, form)| *form)
}

fn of_variadic(function: Variadic) -> Form {
    Form::Call(match function {
        Variadic::Greatest => "GREATEST",
        Variadic::Least => "LEAST",
        Variadic::Concat => "concat",
        Variadic::ConcatWithSeparator => "concat_ws",
        Variadic::Format => "format",
        Variadic::CountNulls => "num_nulls",
        Variadic::CountValues => "num_nonnulls",
        Variadic::MakeInterval => "make_interval",
        Variadic::JsonObject(false) => "json_build_object",
        Variadic::JsonObject(true) => "jsonb_build_object",
        Variadic::JsonArray(false) => "json_build_array",
        Variadic::JsonArray(true) => "jsonb_build_array",
        Variadic::ToJson(false) => "to_json",
        Variadic::ToJson(true) => "to_jsonb",
        Variadic::JsonRow { of_relation } => return Form::Row { of_relation },
    })
}

fn of_array(function: ArrayFunction) -> Option<Form> {
    Some(match function {
        ArrayFunction::Any(..) | ArrayFunction::Like { .. } => return None,
        ArrayFunction::Make(_) => Form::Array,
        ArrayFunction::Subscript => Form::Subscript,
        ArrayFunction::Slice(_, from, to) => Form::Slice(from, to),
        ArrayFunction::Concat(_) => Form::Operator("||"),
        ArrayFunction::Contains => Form::Operator("@>"),
        ArrayFunction::Contained => Form::Operator("<@"),
        ArrayFunction::Overlaps => Form::Operator("&&"),
        // As an operator, `array || 'text'` would be read as one of two arrays.
        ArrayFunction::Append(_) => Form::Call("array_append"),
        ArrayFunction::Prepend(_) => Form::Call("array_prepend"),
        ArrayFunction::Remove(_) => Form::Call("array_remove"),
        ArrayFunction::Replace(_) => Form::Call("array_replace"),
        ArrayFunction::Trim(_) => Form::Call("trim_array"),
        ArrayFunction::Position => Form::Call("array_position"),
        ArrayFunction::Positions => Form::Call("array_positions"),
        ArrayFunction::Length => Form::Call("array_length"),
        ArrayFunction::Upper => Form::Call("array_upper"),
        ArrayFunction::Lower => Form::Call("array_lower"),
        ArrayFunction::Cardinality => Form::Call("cardinality"),
        ArrayFunction::Dimensions => Form::Call("array_ndims"),
        ArrayFunction::Bounds => Form::Call("array_dims"),
        ArrayFunction::ToText(_) => Form::Call("array_to_string"),
        ArrayFunction::FromText => Form::Call("string_to_array"),
    })
}

/// Returns the notation of those functions of the catalogs that are casts, or whose variants have their names.
fn of_catalog(function: CatalogFunction) -> Option<Form> {
    Some(match function {
        CatalogFunction::AnyIsVisible(name)
        | CatalogFunction::Privilege(name)
        | CatalogFunction::NoText(name)
        | CatalogFunction::Size(name)
        | CatalogFunction::DatabaseSize(name) => Form::Call(name),
        CatalogFunction::RelationNumber => Form::Cast("regclass"),
        CatalogFunction::RelationName => Form::Name("regclass"),
        CatalogFunction::TypeNumber => Form::Cast("regtype"),
        CatalogFunction::TypeName => Form::Name("regtype"),
        CatalogFunction::SchemaNumber => Form::Cast("regnamespace"),
        CatalogFunction::SchemaName => Form::Name("regnamespace"),
        CatalogFunction::ProcedureNamed | CatalogFunction::ProcedureName => Form::Cast("regproc"),
        CatalogFunction::SignatureNamed => Form::Cast("regprocedure"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Overload;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_name_is_of_a_function() {
        for name in NAMES.iter().chain(OPERATORS) {
            assert_ne!(overloads(name).len(), 0, "{name}");
        }
    }

    /// Returns the names under which this folder's files list functions: the string literals that have overloads. This
    /// file does not count.
    fn names_of_functions() -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/expr/functions");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut names = BTreeSet::new();
        for file in files.filter(|file| !file.ends_with("written.rs")) {
            let text = std::fs::read_to_string(file).unwrap();
            names.extend(text.split('"').filter(|literal| !overloads(literal).is_empty()).map(str::to_owned));
        }
        names
    }

    #[test]
    fn every_function_is_shown_as_a_call_that_means_it() {
        let names = names_of_functions();
        for known in ["abs", "~ number", "jsonb_path_exists_tz", "pg_relation_size", "->>", " regclass"] {
            assert!(names.contains(known), "{known} is among the names that are checked");
        }
        let mut wrong = Vec::new();
        for name in &names {
            for overload in overloads(name) {
                let is_same =
                    |other: &Overload| other.function == overload.function && other.arguments == overload.arguments;
                let form = form_of(overload.function);
                let is_right = match form {
                    Some(Form::Call(shown)) => overloads(shown).iter().any(is_same),
                    Some(Form::Operator(shown)) => {
                        overload.arguments.len() == 2 && overloads(shown).iter().any(is_same)
                    }
                    Some(Form::Prefix(_) | Form::Cast(_) | Form::Name(_)) => overload.arguments.len() == 1,
                    Some(_) => true,
                    None => overload.arguments.is_empty() && overload.function.written().is_some(),
                };
                if !is_right {
                    wrong.push(format!("{name}{:?} is shown as {form:?}", overload.arguments));
                }
            }
        }
        assert!(wrong.is_empty(), "add these functions to NAMES or OPERATORS, or a form of their own: {wrong:#?}");
    }
}
