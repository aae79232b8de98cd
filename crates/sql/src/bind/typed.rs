//! Bound expressions with their types.

use crate::expr::Expr;
use crate::types::DomainId;
use hotrow_storage::Type;
use sqlparser::tokenizer::Location;

/// A bound expression and its type. The type is `None` as long as it is open: of a string literal, a parameter or NULL.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) ty: Option<Type>,
    /// The domain of which the value is known to be one. Its base type is `ty`.
    pub(crate) domain: Option<DomainId>,
    /// The position at which the expression begins in the text, if it is a name or a literal; else `NOWHERE`.
    pub(crate) at: Location,
}

impl Typed {
    pub(crate) fn new(expr: Expr, ty: Type) -> Self {
        Self { expr, ty: Some(ty), domain: None, at: NOWHERE }
    }

    /// Makes an expression whose type depends on the place at which it stands.
    pub(crate) fn unknown(expr: Expr) -> Self {
        Self { expr, ty: None, domain: None, at: NOWHERE }
    }

    /// Returns the expression as a value of a domain, if there is one.
    pub(crate) fn of_domain(self, domain: Option<DomainId>) -> Self {
        Self { domain, ..self }
    }

    pub(crate) fn bool(expr: Expr) -> Self {
        Self::new(expr, Type::Bool)
    }
}

/// The position of an expression that has none.
pub(super) const NOWHERE: Location = Location { line: 0, column: 0 };
