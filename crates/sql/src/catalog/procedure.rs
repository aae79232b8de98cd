//! Procedures: lists of statements that the database stores under a name, and that CALL runs.

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
    /// Whether the caller gives the argument to the procedure, receives it from the procedure, or both.
    pub mode: ArgumentMode,
    /// The type of the argument. Lengths, precisions and scales are ignored, except that of `char(n)`.
    pub ty: Type,
    /// The default of the argument; `None` if every call must give a value.
    pub default: Option<DefaultValue>,
}

/// The definition of a procedure.
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
    /// Makes a procedure whose body has not been bound yet.
    pub fn new(name: String, arguments: Vec<Argument>, syntax: BodySyntax) -> Self {
        Self { name, arguments, syntax, bound: RwLock::default() }
    }

    /// Returns the body as it was last bound, or `None` if it has not been bound.
    pub(crate) fn bound(&self) -> Option<Opaque> {
        self.bound.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Keeps the bound body for the next call.
    pub(crate) fn keep(&self, bound: Opaque) {
        *self.bound.write().unwrap_or_else(|poison| poison.into_inner()) = Some(bound);
    }

    /// Formats the name and the types of the arguments that callers give: `pay(integer, numeric)`.
    pub fn signature(&self) -> String {
        let types: Vec<_> = self.inputs().map(|argument| crate::types::type_name(Some(argument.ty))).collect();
        format!("{}({})", self.name, types.join(", "))
    }

    /// Returns the arguments to which callers give values, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.mode != ArgumentMode::Out)
    }
}
