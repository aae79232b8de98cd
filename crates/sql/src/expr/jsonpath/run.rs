//! Finds the items of a path in a value.
//!
//! In a `lax` path arrays are taken apart where an accessor wants something else, a value that is no array is taken for
//! an array of one element, and structural errors are no errors. In a `strict` path they are.
//!
//! **Errors.** An error that depends on the value ([`Stop::Item`]) makes a predicate unknown, and is no error of a call
//! that is *silent*. Any other error ends the call.

use super::compare::{Truth, holds};
use super::{Method, Node, Step, with_path};
use crate::expr::{Arithmetic, Env};
use crate::json::{self, Kind};
use crate::types::{Styles, decode_text, numeric_error};
use crate::{SqlError, SqlState, depth, state};
use hotrow_storage::{Numeric, Type, Value};
use std::borrow::Cow;

/// The arguments of a call other than the value and the path, and the environment of the call.
#[derive(Clone, Copy)]
pub(crate) struct Options<'a> {
    /// The values of variables, as a JSON object. If it is `None`, as for the operators, all variables are null.
    pub(crate) variables: Option<&'a str>,
    /// Whether the call is silent: it does not report errors that depend on the value.
    pub(crate) silent: bool,
    /// The environment, through which the call can be cancelled, and which limits its memory.
    pub(crate) env: &'a Env<'a>,
}

/// An item: the text of a JSON value.
type Item<'j> = Cow<'j, str>;

/// The error that ends an evaluation.
enum Stop {
    /// An error that depends on the value.
    Item(SqlError),
    /// Any other error.
    Other(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Stop::Other(error)
    }
}

fn item_error(state: SqlState, message: impl Into<String>) -> Stop {
    Stop::Item(SqlError::new(state, message))
}

/// Returns whether a path finds an item in a value, or `None` if the call is silent and an error depends on the value.
pub(crate) fn exists(value: &str, path: &str, options: Options<'_>) -> Result<Option<bool>, SqlError> {
    with_path(path, |path| {
        let mut found = Vec::new();
        match (all(value, path, options, &mut found), path.strict) {
            (Ok(()), _) => Ok(Some(!found.is_empty())),
            // A lax path needs one item only.
            (Err(Stop::Item(_)), false) if !found.is_empty() => Ok(Some(true)),
            (Err(Stop::Item(_)), _) if options.silent => Ok(None),
            (Err(Stop::Item(error) | Stop::Other(error)), _) => Err(error),
        }
    })
}

/// Returns the truth value of a predicate. Returns `None` if it is unknown, or if the call is silent and the result is
/// no single boolean.
///
/// # Errors
/// 22038 if the call is not silent and the result is no single boolean.
pub(crate) fn matches(value: &str, path: &str, options: Options<'_>) -> Result<Option<bool>, SqlError> {
    let found = query(value, path, options)?;
    match &found[..] {
        [one] if json::kind(one) == Kind::Bool => Ok(Some(one == "true")),
        [one] if json::kind(one) == Kind::Null => Ok(None),
        _ if options.silent => Ok(None),
        _ => Err(SqlError::new(state::SINGLETON_SQL_JSON_ITEM_REQUIRED, "single boolean result is expected")),
    }
}

/// Returns the items that a path finds, as texts of `jsonb`. If an error ends a silent call, returns the items so far.
pub(crate) fn query(value: &str, path: &str, options: Options<'_>) -> Result<Vec<String>, SqlError> {
    with_path(path, |path| {
        let mut found = Vec::new();
        match all(value, path, options, &mut found) {
            Ok(()) => {}
            // The items that were found before the error are the result.
            Err(Stop::Item(_)) if options.silent => {}
            Err(Stop::Item(error) | Stop::Other(error)) => return Err(error),
        }
        Ok(found.into_iter().map(Cow::into_owned).collect())
    })
}

/// Finds all items of a path, and appends them to `found`.
fn all<'j>(value: &'j str, path: &'j super::Path, options: Options<'j>, found: &mut Vec<Item<'j>>) -> Result<(), Stop> {
    if options.variables.is_some_and(|variables| json::kind(variables) != Kind::Object) {
        let error = SqlError::new(state::INVALID_PARAMETER_VALUE, "\"vars\" argument is not an object");
        let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
        return Err(error.detail(detail).into());
    }
    let place = Place {
        root: value,
        current: Cow::Borrowed(value),
        variables: options.variables,
        env: options.env,
        lax: !path.strict,
        forgives: !path.strict,
        last: None,
    };
    place.items(&path.root, found)
}

/// The state of the evaluation at some point of a path.
#[derive(Clone)]
struct Place<'j> {
    root: &'j str,
    /// The item for which `@` stands.
    current: Item<'j>,
    variables: Option<&'j str>,
    env: &'j Env<'j>,
    lax: bool,
    /// Whether structural errors are ignored.
    forgives: bool,
    /// The length of the innermost array whose subscript is evaluated, from which `last` is computed.
    last: Option<usize>,
}

impl<'j> Place<'j> {
    /// Evaluates an expression and appends its items to `found`.
    fn items(&self, node: &'j Node, found: &mut Vec<Item<'j>>) -> Result<(), Stop> {
        depth::check()?;
        match node {
            Node::Root => found.push(Cow::Borrowed(self.root)),
            Node::Current => found.push(self.current.clone()),
            Node::Variable(name) => {
                let value = self.variables.map_or(Some("null"), |variables| json::field(variables, name));
                found.push(Cow::Borrowed(value.ok_or_else(|| {
                    let message = format!("could not find jsonpath variable \"{name}\"");
                    Stop::Other(SqlError::new(state::UNDEFINED_OBJECT, message))
                })?));
            }
            Node::Last => {
                let last = self.last.ok_or_else(|| {
                    let message = "evaluating jsonpath LAST outside of array subscript";
                    Stop::Other(SqlError::new(state::INTERNAL_ERROR, message))
                })?;
                found.push(Cow::Owned((last as i64 - 1).to_string()));
            }
            Node::Literal(literal) => found.push(Cow::Borrowed(literal)),
            Node::Steps(base, steps) => {
                let mut bases = Vec::new();
                self.items(base, &mut bases)?;
                for base in bases {
                    self.steps(base, steps, self.lax, found)?;
                }
            }
            Node::Sign(sign, operand) => {
                for item in self.unwrapped(operand)? {
                    let number = number_of(&item)?.ok_or_else(|| {
                        let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                        item_error(state::SQL_JSON_NUMBER_NOT_FOUND, message)
                    })?;
                    found.push(written(if *sign == '-' { number.negate() } else { number }));
                }
            }
            Node::Arithmetic(operator, operands) => found.push(self.arithmetic(*operator, operands)?),
            predicate => {
                let truth = self.truth(predicate)?;
                found.push(Cow::Borrowed(truth.map_or("null", |truth| if truth { "true" } else { "false" })));
            }
        }
        Ok(())
    }

    /// Evaluates an expression and returns its items. In a lax path, each array is replaced by its elements.
    fn unwrapped(&self, node: &'j Node) -> Result<Vec<Item<'j>>, Stop> {
        let mut found = Vec::new();
        self.items(node, &mut found)?;
        if !self.lax || !found.iter().any(|item| json::kind(item) == Kind::Array) {
            return Ok(found);
        }
        let mut parts = Vec::new();
        for item in found {
            match json::kind(&item) {
                Kind::Array => parts.extend(elements(&item)),
                _ => parts.push(item),
            }
        }
        Ok(parts)
    }

    fn arithmetic(&self, operator: char, (left, right): &'j (Node, Node)) -> Result<Item<'j>, Stop> {
        let operand = |side: &str, node: &'j Node| {
            let items = self.unwrapped(node)?;
            let number = match &items[..] {
                [item] => number_of(item)?,
                _ => None,
            };
            number.ok_or_else(|| {
                let message = format!("{side} operand of jsonpath operator {operator} is not a single numeric value");
                item_error(state::SINGLETON_SQL_JSON_ITEM_REQUIRED, message)
            })
        };
        let (left, right) = (operand("left", left)?, operand("right", right)?);
        let arithmetic = match operator {
            '+' => Arithmetic::Add,
            '-' => Arithmetic::Subtract,
            '*' => Arithmetic::Multiply,
            '/' => Arithmetic::Divide,
            _ => Arithmetic::Modulo,
        };
        arithmetic.numerics(&left, &right).map(written).map_err(Stop::Item)
    }

    /// Applies accessors to an item and appends the results to `found`. If `unwrap` is set, the first accessor is
    /// applied to the elements of an array where it cannot be applied to the array.
    fn steps(&self, item: Item<'j>, steps: &'j [Step], unwrap: bool, found: &mut Vec<Item<'j>>) -> Result<(), Stop> {
        depth::check()?;
        self.env.check_cancelled()?;
        let Some((step, rest)) = steps.split_first() else {
            self.env.memory.check_push(&*found)?;
            found.push(item);
            return Ok(());
        };
        let kind = json::kind(&item);
        let takes_apart = !matches!(
            step,
            Step::AnyElement | Step::Elements(_) | Step::Deep(..) | Step::Method(Method::Type | Method::Size)
        );
        if takes_apart && unwrap && kind == Kind::Array {
            for element in elements(&item) {
                self.steps(element, steps, false, found)?;
            }
            return Ok(());
        }
        match step {
            Step::Key(key) => self.key(item, key, rest, found),
            Step::AnyKey if kind == Kind::Object => {
                values(&item).into_iter().try_for_each(|value| self.steps(value, rest, self.lax, found))
            }
            Step::AnyKey => self.structural(
                state::SQL_JSON_OBJECT_NOT_FOUND,
                "jsonpath wildcard member accessor can only be applied to an object",
            ),
            Step::AnyElement if kind == Kind::Array => {
                elements(&item).into_iter().try_for_each(|element| self.steps(element, rest, self.lax, found))
            }
            Step::AnyElement if self.lax => self.steps(item, rest, self.lax, found),
            Step::AnyElement => self.structural(
                state::SQL_JSON_ARRAY_NOT_FOUND,
                "jsonpath wildcard array accessor can only be applied to an array",
            ),
            Step::Elements(list) => self.subscripts(&item, list, rest, found),
            Step::Deep(from, to) => {
                let forgiving = Place { forgives: true, ..self.clone() };
                if *from == Some(0) {
                    forgiving.steps(item.clone(), rest, self.lax, found)?;
                }
                forgiving.deep(&item, (*from, *to), 1, rest, found)
            }
            Step::Filter(condition) => {
                let within = Place { current: item.clone(), ..self.clone() };
                match within.truth(condition)? {
                    Some(true) => self.steps(item, rest, self.lax, found),
                    _ => Ok(()),
                }
            }
            Step::Method(method) => match self.method(*method, &item)? {
                Some(result) => self.steps(result, rest, self.lax, found),
                None if *method == Method::KeyValue => {
                    let pairs = pairs(self.root, &item)?;
                    pairs.into_iter().try_for_each(|pair| self.steps(pair, rest, self.lax, found))
                }
                None => Ok(()),
            },
        }
    }

    /// Returns a structural error, unless such errors are ignored.
    fn structural(&self, state: SqlState, message: impl Into<String>) -> Result<(), Stop> {
        if self.forgives { Ok(()) } else { Err(item_error(state, message)) }
    }

    fn key(&self, item: Item<'j>, key: &str, rest: &'j [Step], found: &mut Vec<Item<'j>>) -> Result<(), Stop> {
        if json::kind(&item) != Kind::Object {
            let message = "jsonpath member accessor can only be applied to an object";
            return self.structural(state::SQL_JSON_MEMBER_NOT_FOUND, message);
        }
        match part(&item, |text| json::field(text, key)) {
            Some(value) => self.steps(value, rest, self.lax, found),
            None => {
                let message = format!("JSON object does not contain key \"{key}\"");
                self.structural(state::SQL_JSON_MEMBER_NOT_FOUND, message)
            }
        }
    }

    fn subscripts(
        &self,
        item: &Item<'j>,
        list: &'j [(Node, Option<Node>)],
        rest: &'j [Step],
        found: &mut Vec<Item<'j>>,
    ) -> Result<(), Stop> {
        let parts = match json::kind(item) {
            Kind::Array => elements(item),
            _ if self.lax => vec![item.clone()],
            _ => {
                let message = "jsonpath array accessor can only be applied to an array";
                return self.structural(state::SQL_JSON_ARRAY_NOT_FOUND, message);
            }
        };
        let within = Place { last: Some(parts.len()), ..self.clone() };
        for (from, to) in list {
            let from = within.index(from)?;
            let to = to.as_ref().map_or(Ok(from), |to| within.index(to))?;
            if !self.forgives && (from < 0 || from > to || to >= parts.len() as i64) {
                let message = "jsonpath array subscript is out of bounds";
                return Err(item_error(state::INVALID_SQL_JSON_SUBSCRIPT, message));
            }
            for at in from.max(0)..=to.min(parts.len() as i64 - 1) {
                self.steps(parts[at as usize].clone(), rest, self.lax, found)?;
            }
        }
        Ok(())
    }

    /// Evaluates a subscript.
    ///
    /// # Errors
    /// 22033 if the result is no single integer.
    fn index(&self, node: &'j Node) -> Result<i64, Stop> {
        let mut found = Vec::new();
        self.items(node, &mut found)?;
        let number = match &found[..] {
            [item] => number_of(item)?,
            _ => None,
        };
        let number = number.ok_or_else(|| {
            let message = "jsonpath array subscript is not a single numeric value";
            item_error(state::INVALID_SQL_JSON_SUBSCRIPT, message)
        })?;
        let whole = number.trunc(0).to_i64().and_then(|whole| i32::try_from(whole).ok()).ok_or_else(|| {
            item_error(state::INVALID_SQL_JSON_SUBSCRIPT, "jsonpath array subscript is out of integer range")
        })?;
        Ok(i64::from(whole))
    }

    /// Applies the accessors `rest` to the parts of an item at levels `from` to `to` below it, and appends the results
    /// to `found`. `level` is the level of the item's own parts.
    fn deep(
        &self,
        item: &Item<'j>,
        (from, to): (Option<u32>, Option<u32>),
        level: u32,
        rest: &'j [Step],
        found: &mut Vec<Item<'j>>,
    ) -> Result<(), Stop> {
        depth::check()?;
        if to.is_some_and(|to| level > to) {
            return Ok(());
        }
        let parts = match json::kind(item) {
            Kind::Array => elements(item),
            Kind::Object => values(item),
            _ => return Ok(()),
        };
        for part in parts {
            let is_leaf = json::kind(&part).is_scalar();
            // `last` alone means the values without parts.
            let is_wanted = from.map_or(to.is_none() && is_leaf, |from| level >= from);
            if is_wanted {
                self.steps(part.clone(), rest, self.lax, found)?;
            }
            self.deep(&part, (from, to), level + 1, rest, found)?;
        }
        Ok(())
    }

    /// Returns the result of a method. Returns `None` if the result is not exactly one item.
    fn method(&self, method: Method, item: &Item<'j>) -> Result<Option<Item<'j>>, Stop> {
        let kind = json::kind(item);
        let name = method.name();
        let wrong = |state, wanted: &str| {
            item_error(state, format!("jsonpath item method .{name}() can only be applied to {wanted}"))
        };
        let result = match method {
            Method::Type => {
                let mut out = String::new();
                json::write_string(kind.name(), &mut out);
                Cow::Owned(out)
            }
            Method::Size if kind == Kind::Array => Cow::Owned(elements(item).len().to_string()),
            Method::Size if self.lax => Cow::Borrowed("1"),
            Method::Size if self.forgives => return Ok(None),
            Method::Size => return Err(wrong(state::SQL_JSON_ARRAY_NOT_FOUND, "an array")),
            Method::Double => double(item)?,
            Method::Abs | Method::Ceiling | Method::Floor => {
                let number = number_of(item)?;
                let number = number.ok_or_else(|| wrong(state::NON_NUMERIC_SQL_JSON_ITEM, "a numeric value"))?;
                let result = match method {
                    Method::Abs => Ok(number.abs()),
                    Method::Ceiling => number.ceil(),
                    _ => number.floor(),
                };
                written(result.map_err(|error| Stop::Item(numeric_error(error)))?)
            }
            Method::KeyValue if kind == Kind::Object => return Ok(None),
            Method::KeyValue => return Err(wrong(state::SQL_JSON_OBJECT_NOT_FOUND, "an object")),
        };
        Ok(Some(result))
    }

    /// Evaluates a predicate and returns its truth value.
    fn truth(&self, predicate: &'j Node) -> Result<Truth, Stop> {
        depth::check()?;
        Ok(match predicate {
            Node::And(operands) => match self.truth(&operands.0)? {
                Some(false) => Some(false),
                left => match (left, self.truth(&operands.1)?) {
                    (_, Some(false)) => Some(false),
                    (Some(true), right) => right,
                    _ => None,
                },
            },
            Node::Or(operands) => match self.truth(&operands.0)? {
                Some(true) => Some(true),
                left => match (left, self.truth(&operands.1)?) {
                    (_, Some(true)) => Some(true),
                    (Some(false), right) => right,
                    _ => None,
                },
            },
            Node::Not(operand) => self.truth(operand)?.map(|truth| !truth),
            Node::IsUnknown(operand) => Some(self.truth(operand)?.is_none()),
            Node::Exists(operand) => {
                let mut found = Vec::new();
                match self.items(operand, &mut found) {
                    Err(Stop::Item(_)) if self.lax && !found.is_empty() => Some(true),
                    Err(Stop::Item(_)) => None,
                    Err(stop) => return Err(stop),
                    Ok(()) => Some(!found.is_empty()),
                }
            }
            Node::Compare(_, operands) => {
                let Some(lefts) = known(self.unwrapped(&operands.0))? else { return Ok(None) };
                let Some(rights) = known(self.unwrapped(&operands.1))? else { return Ok(None) };
                self.holds_for(predicate, &lefts, &rights)
            }
            Node::StartsWith(operands) => {
                let Some(lefts) = known(self.unwrapped(&operands.0))? else { return Ok(None) };
                let mut rights = Vec::new();
                self.items(&operands.1, &mut rights)?;
                self.holds_for(predicate, &lefts, &rights)
            }
            Node::LikeRegex(operand, ..) => match known(self.unwrapped(operand))? {
                Some(items) => self.holds_for(predicate, &items, &[Cow::Borrowed("null")]),
                None => None,
            },
            _ => None,
        })
    }

    /// Returns the truth value of a predicate over all pairs of the operands' items: true if it holds for a pair.
    fn holds_for(&self, predicate: &Node, lefts: &[Item<'j>], rights: &[Item<'j>]) -> Truth {
        let (mut found, mut is_unknown) = (false, false);
        for left in lefts {
            for right in rights {
                match holds(predicate, left, right) {
                    Some(true) if self.lax => return Some(true),
                    Some(true) => found = true,
                    Some(false) => {}
                    None if !self.lax => return None,
                    None => is_unknown = true,
                }
            }
        }
        if found { Some(true) } else { (!is_unknown).then_some(false) }
    }
}

/// Returns the items of a predicate's operand. Returns `None` if an error depends on the value, which makes the
/// predicate unknown.
fn known<'j>(items: Result<Vec<Item<'j>>, Stop>) -> Result<Option<Vec<Item<'j>>>, Stop> {
    match items {
        Ok(items) => Ok(Some(items)),
        Err(Stop::Item(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Returns the part of an item that `find` finds in its text. A part of a borrowed item is borrowed, too.
fn part<'j>(item: &Item<'j>, find: impl for<'t> Fn(&'t str) -> Option<&'t str>) -> Option<Item<'j>> {
    match item {
        Cow::Borrowed(text) => find(text).map(Cow::Borrowed),
        Cow::Owned(text) => find(text).map(|part| Cow::Owned(part.to_owned())),
    }
}

fn elements<'j>(item: &Item<'j>) -> Vec<Item<'j>> {
    match item {
        Cow::Borrowed(text) => json::elements(text).map(Cow::Borrowed).collect(),
        Cow::Owned(text) => json::elements(text).map(|element| Cow::Owned(element.to_owned())).collect(),
    }
}

/// Returns the values of an object's members.
fn values<'j>(item: &Item<'j>) -> Vec<Item<'j>> {
    match item {
        Cow::Borrowed(text) => json::members(text).map(|(_, value)| Cow::Borrowed(value)).collect(),
        Cow::Owned(text) => json::members(text).map(|(_, value)| Cow::Owned(value.to_owned())).collect(),
    }
}

/// Returns the result of `keyvalue()`: an object for each member of an object, with its `key`, its `value` and an `id`.
/// The `id` is the position of the object in the value, and so differs between objects; it is 0 for an object that the
/// path has computed.
fn pairs<'j>(root: &str, object: &Item<'j>) -> Result<Vec<Item<'j>>, SqlError> {
    let place = (object.as_ptr() as usize).wrapping_sub(root.as_ptr() as usize);
    let id = if place < root.len() { place } else { 0 };
    let pair = |(key, value): (&str, &str)| {
        json::normalise(&format!("{{\"key\": {key}, \"value\": {value}, \"id\": {id}}}")).map(Cow::Owned)
    };
    json::members(object).map(pair).collect()
}

/// Returns an item as a number, or `None` if the item is no number.
///
/// # Errors
/// 22003 if the number has more digits than a `numeric`.
fn number_of(item: &str) -> Result<Option<Numeric>, Stop> {
    if json::kind(item) != Kind::Number {
        return Ok(None);
    }
    match decode_text(Type::Numeric(None), json::trim(item), Styles::default()).map_err(Stop::Item)? {
        Value::Numeric(number) => Ok(Some(number)),
        _ => Ok(None),
    }
}

fn written<'j>(number: Numeric) -> Item<'j> {
    Cow::Owned(number.to_string())
}

/// Returns the result of the method `double()`.
fn double<'j>(item: &Item<'j>) -> Result<Item<'j>, Stop> {
    let wrong = |what: &str| {
        let message = format!(
            "{what} of jsonpath item method .double() is not a valid representation of a double precision number"
        );
        item_error(state::NON_NUMERIC_SQL_JSON_ITEM, message)
    };
    let (text, what) = match json::kind(item) {
        Kind::Number => (Cow::Borrowed(json::trim(item)), "numeric argument"),
        Kind::String => (json::unescape(json::trim(item))?, "string argument"),
        _ => {
            let message = "jsonpath item method .double() can only be applied to a string or numeric value";
            return Err(item_error(state::NON_NUMERIC_SQL_JSON_ITEM, message));
        }
    };
    let Ok(Value::Float8(number)) = decode_text(Type::Float8, &text, Styles::default()) else {
        if what == "numeric argument" {
            let message =
                "numeric argument of jsonpath item method .double() is out of range for type double precision";
            return Err(item_error(state::NON_NUMERIC_SQL_JSON_ITEM, message));
        }
        return Err(wrong(what));
    };
    if !number.is_finite() {
        return Err(wrong(what));
    }
    match what {
        "string argument" => Ok(Cow::Owned(json::normalise(&number.to_string())?)),
        _ => Ok(item.clone()),
    }
}
