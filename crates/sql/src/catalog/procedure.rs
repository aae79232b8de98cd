//! Procedures: statements that the database keeps, and runs as one.
//!
//! A [`Procedure`] holds the syntax of its text. The binder's result for the present tables is kept beside the syntax
//! and is opaque to the catalog. The binder makes it when the procedure is created, and again when a table or a
//! procedure that the body uses has been replaced.

use crate::catalog::DefaultValue;
use crate::opaque::Opaque;
use crate::parse::procedure::{ArgumentMode, BodySyntax};
use hotrow_storage::Type;
use hotrow_sync::RwLock;

/// An argument of a procedure.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name of the argument, if it has one.
    pub name: Option<String>,
    /// Whether the argument goes into the procedure, comes out of it, or both.
    pub mode: ArgumentMode,
    /// The type of the argument. Lengths, precisions and scales are ignored, except that of `char(n)`.
    pub ty: Type,
    /// The value of the argument if the call does not give one.
    pub default: Option<DefaultValue>,
}

/// A procedure.
#[derive(Debug)]
pub struct Procedure {
    /// The name of the procedure, which no other procedure has.
    pub name: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The body as it was written.
    pub syntax: BodySyntax,
    /// The body as it was last bound, for the tables of that time; none before the first binding.
    bound: RwLock<Option<Opaque>>,
}

impl Procedure {
    /// A procedure that has not been bound yet.
    pub fn new(name: String, arguments: Vec<Argument>, syntax: BodySyntax) -> Self {
        Self { name, arguments, syntax, bound: RwLock::default() }
    }

    /// Returns the body as it was last bound, if it has been bound.
    pub(crate) fn bound(&self) -> Option<Opaque> {
        self.bound.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Keeps the bound body for the next call.
    pub(crate) fn keep(&self, bound: Opaque) {
        *self.bound.write().unwrap_or_else(|poison| poison.into_inner()) = Some(bound);
    }

    /// Name and arguments as they go in: `pay(integer, numeric)`.
    pub fn signature(&self) -> String {
        let types: Vec<_> = self.inputs().map(|argument| crate::types::type_name(Some(argument.ty))).collect();
        format!("{}({})", self.name, types.join(", "))
    }

    /// The arguments that go in.
    pub fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.mode != ArgumentMode::Out)
    }
}
