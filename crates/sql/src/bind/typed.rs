//! Bound expressions with their types.

use crate::expr::Expr;
use hotrow_storage::Type;
use sqlparser::tokenizer::Location;

/// A bound expression and its type; `None` while that is not known: a string literal, a parameter, NULL.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) ty: Option<Type>,
    /// Where it begins, if that is a name or a literal.
    pub(crate) at: Location,
}

impl Typed {
    pub(crate) fn new(expr: Expr, ty: Type) -> Self {
        Self { expr, ty: Some(ty), at: NOWHERE }
    }

    /// An expression whose type its place decides.
    pub(crate) fn unknown(expr: Expr) -> Self {
        Self { expr, ty: None, at: NOWHERE }
    }

    pub(crate) fn bool(expr: Expr) -> Self {
        Self::new(expr, Type::Bool)
    }
}

/// The place of what has none.
pub(super) const NOWHERE: Location = Location { line: 0, column: 0 };
