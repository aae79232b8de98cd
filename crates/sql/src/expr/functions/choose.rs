//! Which function a call means: PostgreSQL's rules.
//!
//! Of the functions of the name that take as many arguments of types that the given ones can be cast to, those with the
//! most exact matches are left; of these, those with the most types that are preferred in their category; then open
//! arguments (literals and parameters) are taken for strings if some function takes strings there, or for the one
//! category that all take. If several are left, the call is ambiguous.

use super::function::{Function, Overload};
use super::{catalog, interval, json, lock, number, pattern, sequence, session, setting, text, time};
use crate::expr::{Strictness, can_cast};
use hotrow_storage::Type;
use std::mem::discriminant;

/// What a call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This function, with arguments brought to these types, and its result's type.
    One(Function, Vec<Type>, Type),
    /// No function.
    None,
    /// Several that fit equally well.
    Several,
}

/// The function that a call by `name` with arguments of these types means. The type of an open argument is not known.
pub fn choose(name: &str, given: &[Option<Type>]) -> Choice {
    let mut candidates = overloads(name);
    candidates.retain(|candidate| fits(candidate, given));
    if candidates.len() > 1 {
        keep_most(&mut candidates, |candidate| count(candidate, given, is_same));
        keep_most(&mut candidates, |candidate| {
            count(candidate, given, |given, wanted| is_same(given, wanted) || is_preferred(wanted))
        });
    }
    if candidates.len() > 1 {
        settle_open(&mut candidates, given);
    }
    match candidates.as_slice() {
        [] => Choice::None,
        [one] => Choice::One(one.function, arguments(one, given), one.result),
        _ => Choice::Several,
    }
}

fn fits(candidate: &Overload, given: &[Option<Type>]) -> bool {
    let can = |(given, wanted): (&Option<Type>, &Type)| {
        given.is_none_or(|given| can_cast(given, *wanted, Strictness::Implicit))
    };
    candidate.arguments.len() == given.len() && given.iter().zip(candidate.arguments).all(can)
}

/// The types that arguments are cast to: a type that is right but for its length stays as it is.
fn arguments(overload: &Overload, given: &[Option<Type>]) -> Vec<Type> {
    let wanted = |(wanted, given): (&Type, &Option<Type>)| match given {
        Some(given) if discriminant(given) == discriminant(wanted) => *given,
        _ => *wanted,
    };
    overload.arguments.iter().zip(given).map(wanted).collect()
}

fn keep_most(candidates: &mut Vec<Overload>, score: impl Fn(&Overload) -> usize) {
    let most = candidates.iter().map(&score).max().unwrap_or(0);
    candidates.retain(|candidate| score(candidate) == most);
}

fn count(candidate: &Overload, given: &[Option<Type>], is_good: impl Fn(Type, Type) -> bool) -> usize {
    let pairs = given.iter().zip(candidate.arguments);
    pairs.filter(|(given, wanted)| given.is_some_and(|given| is_good(given, **wanted))).count()
}

fn settle_open(candidates: &mut Vec<Overload>, given: &[Option<Type>]) {
    let open = || (0..given.len()).filter(|&at| given[at].is_none());
    for at in open() {
        let categories: Vec<_> = candidates.iter().map(|candidate| category(candidate.arguments[at])).collect();
        let wanted = if categories.contains(&Category::String) { Category::String } else { categories[0] };
        if !categories.contains(&Category::String) && categories.iter().any(|category| *category != wanted) {
            continue;
        }
        let preferred = candidates
            .iter()
            .any(|candidate| category(candidate.arguments[at]) == wanted && is_preferred(candidate.arguments[at]));
        candidates.retain(|candidate| {
            let ty = candidate.arguments[at];
            category(ty) == wanted && (!preferred || is_preferred(ty))
        });
    }
    // What is left: open arguments may be of the one type that the others are of.
    let mut known = given.iter().flatten();
    if let Some(first) = known.next()
        && candidates.len() > 1
        && known.all(|other| is_same(*other, *first))
    {
        let takes = |candidate: &Overload| open().all(|at| is_same(candidate.arguments[at], *first));
        if candidates.iter().filter(|candidate| takes(candidate)).count() == 1 {
            candidates.retain(takes);
        }
    }
}

/// Whether a type is the other one, but for its length; `varchar` is `text` here.
fn is_same(given: Type, wanted: Type) -> bool {
    discriminant(&given) == discriminant(&wanted)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Category {
    Boolean,
    Number,
    String,
    Time,
    Span,
    Other,
}

fn category(ty: Type) -> Category {
    match ty {
        Type::Bool => Category::Boolean,
        Type::Int2 | Type::Int4 | Type::Int8 | Type::Float4 | Type::Float8 | Type::Numeric(_) => Category::Number,
        Type::Char(_) | Type::Varchar(_) | Type::Text => Category::String,
        Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time => Category::Time,
        Type::Interval => Category::Span,
        Type::Json | Type::Jsonb | Type::Bytea | Type::Uuid | Type::Array(_) => Category::Other,
    }
}

fn is_preferred(ty: Type) -> bool {
    matches!(ty, Type::Bool | Type::Float8 | Type::Text | Type::TimestampTz | Type::Interval)
}

/// The functions of a name.
fn overloads(name: &str) -> Vec<Overload> {
    let of_values = [
        number::named(name),
        text::named(name),
        json::named(name),
        pattern::named(name),
        time::named(name),
        interval::named(name),
    ];
    let of_names =
        [sequence::named(name), catalog::named(name), session::named(name), lock::named(name), setting::named(name)];
    let lists = of_values.into_iter().chain(of_names);
    lists.flatten().copied().collect()
}
