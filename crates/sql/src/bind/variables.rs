//! The names that the body of a procedure may use beside columns.

use super::typed::Typed;
use crate::expr::Expr;
use crate::{SqlError, state};
use hotrow_storage::Type;

/// The arguments and variables that a procedure's body may name, by their slots in its frame.
#[derive(Debug)]
pub(crate) struct Variables<'v> {
    pub(super) procedure: &'v str,
    pub(super) names: Vec<Option<&'v str>>,
    pub(super) types: Vec<Type>,
    /// The number of arguments. They come first, and the body may use their numbers too.
    pub(super) arguments: usize,
}

impl<'v> Variables<'v> {
    /// Returns the variable of this name, which may have the procedure's name before it.
    pub(super) fn find(&self, procedure: Option<&str>, name: &str) -> Option<Typed> {
        if procedure.is_some_and(|procedure| procedure != self.procedure) {
            return None;
        }
        let slot = self.slot(name)?;
        Some(Typed::new(Expr::Param(slot), self.types[slot]))
    }

    /// Whether `$number` is an argument.
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
