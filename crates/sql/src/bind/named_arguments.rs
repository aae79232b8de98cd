//! Arguments of built-in functions that are written with their names.

use super::binder::Binder;
use super::expr::place;
use crate::parse::names::fold;
use crate::{SqlError, state};
use hotrow_sync::OnceLock;
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr};

/// The functions whose arguments have names, each with these names in the order of the arguments.
const NAMES: &[(&str, &[&str])] = &[
    ("jsonb_insert", &["jsonb_in", "path", "replacement", "insert_after"]),
    ("jsonb_path_exists", PATH),
    ("jsonb_path_exists_tz", PATH),
    ("jsonb_path_match", PATH),
    ("jsonb_path_match_tz", PATH),
    ("jsonb_path_query", PATH),
    ("jsonb_path_query_array", PATH),
    ("jsonb_path_query_array_tz", PATH),
    ("jsonb_path_query_first", PATH),
    ("jsonb_path_query_first_tz", PATH),
    ("jsonb_path_query_tz", PATH),
    ("jsonb_set", &["jsonb_in", "path", "replacement", "create_if_missing"]),
    ("make_date", &["year", "month", "day"]),
    ("make_time", &["hour", "min", "sec"]),
    ("make_timestamp", &["year", "month", "mday", "hour", "min", "sec"]),
    ("make_timestamptz", &["year", "month", "mday", "hour", "min", "sec"]),
];

/// The names of the arguments that all functions with a `jsonpath` take.
const PATH: &[&str] = &["target", "path", "vars", "silent"];

impl Binder<'_> {
    /// Checks that no argument of a call without a name stands after an argument with a name.
    ///
    /// # Errors
    /// 42601, at the argument without a name.
    pub(super) fn check_names(&self, list: &[FunctionArg]) -> Result<(), SqlError> {
        let Some(argument) = misplaced(list) else { return Ok(()) };
        let error = SqlError::new(state::SYNTAX_ERROR, "positional argument cannot follow named argument");
        Err(match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.locate_at(error, place(expr)),
            _ => error,
        })
    }
}

fn is_plain(argument: &FunctionArg) -> bool {
    matches!(argument, FunctionArg::Unnamed(_))
}

/// Returns the first argument without a name that stands after an argument with a name.
fn misplaced(list: &[FunctionArg]) -> Option<&FunctionArg> {
    list.iter().skip_while(|argument| is_plain(argument)).find(|argument| is_plain(argument))
}

/// Returns the arguments of a call in the order in which the function takes them, if the call writes some of them with
/// their names. Returns `None` if it does not, or if the arguments do not fit the function's names.
pub(super) fn positional<'a>(name: &str, list: &'a [FunctionArg]) -> Option<Vec<&'a A>> {
    if list.iter().all(is_plain) || misplaced(list).is_some() {
        return None;
    }
    let (_, names) = NAMES.iter().find(|(known, _)| *known == name)?;
    let mut places: Vec<Option<&'a A>> = vec![None; names.len()];
    for (at, argument) in list.iter().enumerate() {
        let (place, expr) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (Some(at), expr),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => (place_of(names, name), expr),
            FunctionArg::ExprNamed { name: A::Identifier(name), arg: FunctionArgExpr::Expr(expr), .. } => {
                (place_of(names, name), expr)
            }
            _ => return None,
        };
        let free = places.get_mut(place?).filter(|place| place.is_none())?;
        *free = Some(expr);
    }
    // The variables of a path may be left out before `silent`.
    if *names == PATH && places[3].is_some() {
        places[2] = places[2].or_else(|| Some(no_variables()));
    }
    let given = places.iter().rposition(Option::is_some)? + 1;
    places.into_iter().take(given).collect()
}

fn place_of(names: &[&str], name: &ast::Ident) -> Option<usize> {
    let name = fold(name);
    names.iter().position(|known| *known == name)
}

/// Returns the literal of an empty JSON object, which is the default of `vars`.
fn no_variables() -> &'static A {
    static EMPTY: OnceLock<A> = OnceLock::new();
    EMPTY.get_or_init(|| A::Value(ast::Value::SingleQuotedString("{}".to_owned()).with_empty_span()))
}
