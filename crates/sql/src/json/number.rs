//! The numbers of JSON: all of their digits, as `numeric` prints them.

use crate::{SqlError, state};
use std::cmp::Ordering;

/// The greatest distance by which an exponent may move the point. It is beyond the range of doubles.
const MAX_EXPONENT: i64 = 400;

/// Returns a number without an exponent, as the normal form has it. All digits after the point are preserved, including
/// zeros.
///
/// # Errors
/// 22003 if the exponent is too large.
pub(super) fn normal(text: &str) -> Result<String, SqlError> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (digits, exponent) = match rest.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().unwrap_or(i64::MAX)),
        None => (rest, 0),
    };
    if !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent) {
        let error = SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
        return Err(error.detail(format!("An exponent is at most {MAX_EXPONENT}.")));
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let moved = exponent.unsigned_abs() as usize;
    let (whole, fraction) = if exponent >= 0 {
        let (before, after) = fraction.split_at(moved.min(fraction.len()));
        ([whole, before, &"0".repeat(moved - before.len())].concat(), after.to_owned())
    } else {
        let (before, after) = whole.split_at(whole.len().saturating_sub(moved));
        (before.to_owned(), ["0".repeat(moved - after.len()).as_str(), after, fraction].concat())
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let is_zero = whole == "0" && fraction.bytes().all(|digit| digit == b'0');
    let sign = if is_zero { "" } else { sign };
    let point = if fraction.is_empty() { "" } else { "." };
    Ok([sign, whole, point, &fraction].concat())
}

/// Returns a number of the normal form without the zeros at the end of its fraction, so that equal numbers are equal
/// texts.
pub(super) fn canonical(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// Compares two numbers of the normal form by their values.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (canonical(left), canonical(right));
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (None, None) => compare_absolute(left, right),
        (Some(left), Some(right)) => compare_absolute(right, left),
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

fn compare_absolute(left: &str, right: &str) -> Ordering {
    let (left, left_fraction) = left.split_once('.').unwrap_or((left, ""));
    let (right, right_fraction) = right.split_once('.').unwrap_or((right, ""));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right)).then_with(|| left_fraction.cmp(right_fraction))
}
