//! Procedures: statements that the database keeps, and runs as one.
//!
//! A [`Procedure`] is its text's syntax. What the binder makes of it, for the tables that there are, is kept with it
//! and opaque to the catalog: it is made when the procedure is, and made again when one of its tables or one of the
//! procedures that it calls has become another one.

use crate::catalog::DefaultValue;
use crate::opaque::Opaque;
use crate::parse::procedure::{ArgumentMode, BodySyntax};
use hotrow_storage::Type;
use hotrow_sync::RwLock;

/// An argument of a procedure.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Which way it goes.
    pub mode: ArgumentMode,
    /// Its type. Lengths, precisions and scales do not count, but for `char(n)`.
    pub ty: Type,
    /// What it is if it is not given.
    pub default: Option<DefaultValue>,
}

/// A procedure.
#[derive(Debug)]
pub struct Procedure {
    /// Its name; there are no two of one name.
    pub name: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// What it does, as it was written.
    pub syntax: BodySyntax,
    /// What the binder made of the syntax for the tables that there were when the procedure was last called.
    bound: RwLock<Option<Opaque>>,
}

impl Procedure {
    /// A procedure that has not been bound yet.
    pub fn new(name: String, arguments: Vec<Argument>, syntax: BodySyntax) -> Self {
        Self { name, arguments, syntax, bound: RwLock::default() }
    }

    /// What the binder last made of the syntax, if anything.
    pub(crate) fn bound(&self) -> Option<Opaque> {
        self.bound.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Keeps what the binder has made of the syntax for the next call.
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
