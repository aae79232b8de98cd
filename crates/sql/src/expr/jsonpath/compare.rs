//! The predicates of a path over single items.

use super::{Comparison, Node};
use crate::SqlError;
use crate::expr::functions::{like_regex, like_regex_is_valid};
use crate::json::{self, Kind};
use std::cmp::Ordering;

/// The truth value of a predicate; `None` means unknown.
pub(super) type Truth = Option<bool>;

/// Checks the pattern of a `like_regex`.
///
/// # Errors
/// 2201B if the pattern is wrong.
pub(super) fn check_regex(pattern: &str, flags: &str) -> Result<(), SqlError> {
    like_regex_is_valid(pattern, flags)
}

/// Returns the truth value of a predicate for two items. `like_regex` ignores the second item.
pub(super) fn holds(predicate: &Node, left: &str, right: &str) -> Truth {
    match predicate {
        Node::Compare(comparison, _) => compare(*comparison, left, right),
        Node::StartsWith(_) => Some(string(left)?.starts_with(&*string(right)?)),
        Node::LikeRegex(_, pattern, flags) => like_regex(&string(left)?, pattern, flags).ok(),
        _ => None,
    }
}

/// Returns the text of an item, or `None` if the item is not a string.
fn string(item: &str) -> Option<std::borrow::Cow<'_, str>> {
    (json::kind(item) == Kind::String).then(|| json::unescape(json::trim(item)).ok()).flatten()
}

fn compare(comparison: Comparison, left: &str, right: &str) -> Truth {
    let order = match (json::kind(left), json::kind(right)) {
        (Kind::Null, Kind::Null) => Ordering::Equal,
        // Null differs from everything else, and has no place in an order.
        (Kind::Null, _) | (_, Kind::Null) => return Some(comparison == Comparison::NotEqual),
        (Kind::Array | Kind::Object, _) | (_, Kind::Array | Kind::Object) => return None,
        (Kind::String, Kind::String) => string(left)?.cmp(&string(right)?),
        (one, other) if one == other => json::compare(left, right),
        _ => return None,
    };
    Some(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual => order.is_ge(),
    })
}
