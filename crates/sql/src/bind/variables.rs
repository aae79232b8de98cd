//! The arguments and variables of a procedure, which names in its body may mean.

use super::typed::Typed;
use crate::expr::Expr;
use crate::{SqlError, state};
use hotrow_storage::Type;

/// The arguments and variables that a procedure's body may name, by their positions in its frame.
#[derive(Debug)]
pub(crate) struct Variables<'v> {
    pub(super) procedure: &'v str,
    pub(super) names: Vec<Option<&'v str>>,
    pub(super) types: Vec<Type>,
    /// The number of arguments, which are the first in the frame. The body may also name them by number, as `$1`.
    pub(super) arguments: usize,
}

impl<'v> Variables<'v> {
    /// Returns the variable of this name, or `None` if there is none. If `procedure` is given, it must be the
    /// procedure's name.
    pub(super) fn find(&self, procedure: Option<&str>, name: &str) -> Option<Typed> {
        if procedure.is_some_and(|procedure| procedure != self.procedure) {
            return None;
        }
        let slot = self.slot(name)?;
        Some(Typed::new(Expr::Param(slot), self.types[slot]))
    }

    /// Whether the procedure has an argument `$number`.
    pub(super) fn has_argument(&self, number: usize) -> bool {
        number <= self.arguments
    }

    pub(super) fn slot(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == Some(name))
    }

    pub(super) fn declare(&mut self, name: &'v str, ty: Type) -> Result<(), SqlError> {
        if self.slot(name).is_some() {
            let message = format!("duplicate declaration of \"{name}\"");
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        self.names.push(Some(name));
        self.types.push(ty);
        Ok(())
    }
}
