//! Calls of users' functions in expressions.

use super::Expr;
use crate::opaque::Opaque;
use hotrow_sync::Arc;

/// A call of a user's function. The function with its body belongs to the layers above: the binder makes it, and the
/// executor runs it.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The name of the function, which no other function has.
    pub name: Arc<str>,
    /// The function with its body.
    pub callee: Opaque,
    /// The values of the arguments that go in, of the arguments' types.
    pub arguments: Vec<Expr>,
    /// Whether the result is NULL if an argument is.
    pub is_strict: bool,
}

impl PartialEq for Invocation {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }
}
