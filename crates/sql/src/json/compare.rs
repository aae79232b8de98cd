//! Order, equality and containment of JSON in normal form.

use super::walk::{Kind, elements, kind, members, unescape};
use super::{number, walk};
use crate::{SqlError, depth};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A pair that has yet to be compared. Pairs are compared in the order in which they are listed.
enum Step<'t> {
    /// Two keys of objects, which are strings.
    Keys(&'t str, &'t str),
    Values(&'t str, &'t str),
}

/// Compares two `jsonb` values in PostgreSQL's order: null, strings, numbers, Booleans, arrays, objects. Of two arrays
/// or two objects, the one with fewer members is less; if they have equally many, the first difference decides. An
/// empty array at the top level is less than any scalar.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    let (left_kind, right_kind) = (kind(left), kind(right));
    // A scalar counts as an array of one element here, but as less than any array of one element.
    if let (Kind::Array, true) = (left_kind, right_kind.is_scalar()) {
        return if elements(left).next().is_none() { Ordering::Less } else { Ordering::Greater };
    }
    if let (true, Kind::Array) = (left_kind.is_scalar(), right_kind) {
        return if elements(right).next().is_none() { Ordering::Greater } else { Ordering::Less };
    }
    // The pairs that are left are on a stack, the next one on top.
    let mut steps = vec![Step::Values(left, right)];
    while let Some(step) = steps.pop() {
        let order = match step {
            Step::Keys(left, right) => compare_strings(left, right),
            Step::Values(left, right) => compare_values(left, right, &mut steps),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn compare_values<'t>(left: &'t str, right: &'t str, steps: &mut Vec<Step<'t>>) -> Ordering {
    let (left_kind, right_kind) = (kind(left), kind(right));
    if left_kind != right_kind {
        return left_kind.cmp(&right_kind);
    }
    match left_kind {
        Kind::Null => Ordering::Equal,
        Kind::String => compare_strings(left, right),
        Kind::Number => number::compare(left, right),
        Kind::Bool => (left == "true").cmp(&(right == "true")),
        Kind::Array => {
            let from = steps.len();
            steps.extend(elements(left).zip(elements(right)).map(|(left, right)| Step::Values(left, right)));
            steps[from..].reverse();
            elements(left).count().cmp(&elements(right).count())
        }
        Kind::Object => {
            let from = steps.len();
            for ((left_key, left), (right_key, right)) in members(left).zip(members(right)) {
                steps.extend([Step::Keys(left_key, right_key), Step::Values(left, right)]);
            }
            steps[from..].reverse();
            members(left).count().cmp(&members(right).count())
        }
    }
}

fn compare_strings(left: &str, right: &str) -> Ordering {
    let text = |written| unescape(written).unwrap_or(Cow::Borrowed(written));
    text(left).as_bytes().cmp(text(right).as_bytes())
}

/// Returns a text that is the same for equal `jsonb` values and different for different ones, for hashing and grouping.
/// It differs from the normal form in the zeros at the end of fractions.
pub(crate) fn canonical(text: &str) -> Cow<'_, str> {
    // Only numbers have several forms: those with a point, which may end in zeros.
    if !text.contains('.') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => walk::string_length(rest),
            '-' | '0'..='9' => {
                let length = rest.bytes().take_while(|byte| matches!(byte, b'-' | b'.' | b'0'..=b'9')).count();
                out.push_str(number::canonical(&rest[..length]));
                rest = &rest[length..];
                continue;
            }
            other => other.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.into()
}

/// Returns whether the `jsonb` value `whole` contains `part`, as the operator `@>` does.
///
/// # Errors
/// 54001 if both nest too deeply for the rest of the stack.
pub(crate) fn contains(whole: &str, part: &str) -> Result<bool, SqlError> {
    match (kind(whole), kind(part)) {
        // An array contains a scalar that is an element of it.
        (Kind::Array, kind) if kind.is_scalar() => Ok(has_scalar(whole, part)),
        (whole_kind, kind) if whole_kind.is_scalar() => Ok(whole_kind == kind && compare(whole, part).is_eq()),
        _ => contains_parts(whole, part),
    }
}

fn has_scalar(array: &str, scalar: &str) -> bool {
    elements(array).any(|element| kind(element) == kind(scalar) && compare(element, scalar).is_eq())
}

fn contains_parts(whole: &str, part: &str) -> Result<bool, SqlError> {
    depth::check()?;
    match (kind(whole), kind(part)) {
        (Kind::Object, Kind::Object) => {
            // The members of both are ordered by their keys.
            let mut wholes = members(whole);
            for (key, value) in members(part) {
                let Some((_, found)) = wholes.by_ref().find(|(known, _)| *known == key) else { return Ok(false) };
                let fits = match (kind(found), kind(value)) {
                    (found_kind, kind) if found_kind != kind => false,
                    (_, kind) if kind.is_scalar() => compare(found, value).is_eq(),
                    _ => contains_parts(found, value)?,
                };
                if !fits {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Kind::Array, Kind::Array) => {
            for value in elements(part) {
                let mut found = false;
                if kind(value).is_scalar() {
                    found = has_scalar(whole, value);
                } else {
                    for element in elements(whole).filter(|element| kind(element) == kind(value)) {
                        if contains_parts(element, value)? {
                            found = true;
                            break;
                        }
                    }
                }
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}
