//! Overload resolution: the selection of the function for a call, by PostgreSQL's rules.
//!
//! Candidates are the functions of the name with the given number of arguments to whose types the given types can be
//! cast. The candidates with the most exact matches are selected; of these, the candidates with the most arguments of
//! types that are preferred in their category. Then arguments of unknown type (literals and parameters) count as
//! strings if any candidate accepts a string there, or else as the category on which all candidates agree. If several
//! candidates remain, the call is ambiguous.

use super::function::Overload;
use super::{
    catalog, column_type, interval, json, json_path, lock, notification, number, pattern, sequence, session, setting,
    text, time,
};
use crate::expr::{Strictness, can_cast};
use hotrow_storage::Type;
use std::mem::discriminant;

/// The result of overload resolution among candidates of type `C`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice<C> {
    /// The selected candidate, and the types to which the arguments are cast.
    One(C, Vec<Type>),
    /// No candidate accepts such arguments.
    None,
    /// Several candidates match equally well.
    Ambiguous,
}

/// A procedure or function that a call may mean.
pub trait Candidate {
    /// Returns the candidate's types for the arguments of the call, in the order of the call.
    fn arguments(&self) -> &[Type];
}

impl Candidate for Overload {
    fn arguments(&self) -> &[Type] {
        self.arguments
    }
}

/// Selects the built-in function for a call by `name` with arguments of these types. The type of an argument is `None`
/// if it is unknown, as that of a literal is.
pub fn choose(name: &str, given: &[Option<Type>]) -> Choice<Overload> {
    choose_among(overloads(name), given)
}

/// Selects one of several functions for a call with arguments of these types, by the rules that the module describes.
pub fn choose_among<C: Candidate>(mut candidates: Vec<C>, given: &[Option<Type>]) -> Choice<C> {
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
    match (candidates.pop(), candidates.is_empty()) {
        (None, _) => Choice::None,
        (Some(one), true) => {
            let wanted = arguments(&one, given);
            Choice::One(one, wanted)
        }
        (Some(_), false) => Choice::Ambiguous,
    }
}

fn fits(candidate: &impl Candidate, given: &[Option<Type>]) -> bool {
    let can = |(given, wanted): (&Option<Type>, &Type)| {
        given.is_none_or(|given| can_cast(given, *wanted, Strictness::Implicit))
    };
    candidate.arguments().len() == given.len() && given.iter().zip(candidate.arguments()).all(can)
}

/// Returns the types that the arguments are cast to. A type that differs only in its length is left as it is.
fn arguments(candidate: &impl Candidate, given: &[Option<Type>]) -> Vec<Type> {
    let wanted = |(wanted, given): (&Type, &Option<Type>)| match given {
        Some(given) if is_same(*given, *wanted) => *given,
        _ => *wanted,
    };
    candidate.arguments().iter().zip(given).map(wanted).collect()
}

fn keep_most<C>(candidates: &mut Vec<C>, score: impl Fn(&C) -> usize) {
    let most = candidates.iter().map(&score).max().unwrap_or(0);
    candidates.retain(|candidate| score(candidate) == most);
}

fn count(candidate: &impl Candidate, given: &[Option<Type>], is_good: impl Fn(Type, Type) -> bool) -> usize {
    let pairs = given.iter().zip(candidate.arguments());
    pairs.filter(|(given, wanted)| given.is_some_and(|given| is_good(given, **wanted))).count()
}

fn settle_open<C: Candidate>(candidates: &mut Vec<C>, given: &[Option<Type>]) {
    let open = || (0..given.len()).filter(|&at| given[at].is_none());
    let wanted: Option<Vec<_>> = open().map(|at| wanted_at(candidates, at).map(|wanted| (at, wanted))).collect();
    if let Some(wanted) = wanted {
        let takes = |candidate: &C| {
            wanted.iter().all(|&(at, (wanted, preferred))| {
                let ty = candidate.arguments()[at];
                category(ty) == wanted && (!preferred || is_preferred(ty))
            })
        };
        if candidates.iter().any(takes) {
            candidates.retain(takes);
        }
    }
    // If several candidates are left, open arguments may be of the type that all other arguments have, or become what a
    // candidate wants.
    let mut known = given.iter().flatten();
    if let Some(first) = known.next()
        && candidates.len() > 1
        && known.all(|other| is_same(*other, *first))
    {
        let takes = |candidate: &C| open().all(|at| can_cast(*first, candidate.arguments()[at], Strictness::Implicit));
        if candidates.iter().filter(|candidate| takes(candidate)).count() == 1 {
            candidates.retain(takes);
        }
    }
}

/// Returns the type category that an argument of unknown type gets at position `at`, and whether a candidate takes the
/// preferred type of this category there. Returns `None` if the candidates do not agree on a category.
fn wanted_at<C: Candidate>(candidates: &[C], at: usize) -> Option<(Category, bool)> {
    let types = || candidates.iter().map(|candidate| candidate.arguments()[at]);
    let first = types().next().map(category)?;
    let wanted = if types().any(|ty| category(ty) == Category::String) { Category::String } else { first };
    let agrees = wanted == Category::String || types().all(|ty| category(ty) == wanted);
    agrees.then(|| (wanted, types().any(|ty| category(ty) == wanted && is_preferred(ty))))
}

/// Whether two types differ in their lengths at most. `varchar` is another type than `text`.
fn is_same(given: Type, wanted: Type) -> bool {
    match given {
        Type::Enum(_) | Type::Array(_) | Type::Reg(_) => given == wanted,
        _ => discriminant(&given) == discriminant(&wanted),
    }
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
        Type::Int2
        | Type::Int4
        | Type::Int8
        | Type::Oid
        | Type::Reg(_)
        | Type::Float4
        | Type::Float8
        | Type::Numeric(_) => Category::Number,
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name => Category::String,
        Type::Date | Type::Timestamp(_) | Type::TimestampTz(_) | Type::Time(_) => Category::Time,
        Type::Interval(_) => Category::Span,
        Type::Json | Type::Jsonb | Type::Bytea | Type::Uuid | Type::Enum(_) | Type::Array(_) => Category::Other,
    }
}

fn is_preferred(ty: Type) -> bool {
    matches!(ty, Type::Bool | Type::Float8 | Type::Oid | Type::Text | Type::TimestampTz(_) | Type::Interval(_))
}

/// Returns all overloads of the SQL function with this name.
pub fn overloads(name: &str) -> Vec<Overload> {
    let of_values = [
        number::named(name),
        text::named(name),
        json::named(name),
        json_path::named(name),
        pattern::named(name),
        time::named(name),
        interval::named(name),
    ];
    let of_names = [
        sequence::named(name),
        catalog::named(name),
        session::named(name),
        lock::named(name),
        setting::named(name),
        notification::named(name),
        column_type::named(name),
    ];
    let lists = of_values.into_iter().chain(of_names);
    lists.flatten().copied().collect()
}
