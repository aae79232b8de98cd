//! Procedures: lists of statements that the database stores under a name, and that CALL executes.

use crate::catalog::DefaultValue;
use crate::opaque::Opaque;
use crate::parse::body::BodySyntax;
use crate::parse::procedure::{ArgumentMode, CreateProcedure};
use crate::types::Styles;
use hotrow_storage::Type;
use hotrow_sync::{Arc, RwLock};

/// An argument of a procedure.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name of the argument, if it has one.
    pub name: Option<String>,
    /// Whether the argument is IN, OUT or INOUT.
    pub mode: ArgumentMode,
    /// The type of the argument. Lengths, precisions and scales are ignored, except that of `char(n)`.
    pub ty: Type,
    /// The default of the argument, or `None` if every call must supply a value.
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
    pub syntax: Arc<BodySyntax>,
    /// The CREATE PROCEDURE statement as it was written.
    pub text: String,
    /// The styles in which the literals of the body are read: those of the session that made the procedure.
    pub styles: Styles,
    /// The bound body of the last binding, which is valid for the definitions of that time; `None` before the first
    /// binding.
    bound: RwLock<Option<Opaque>>,
}

impl Procedure {
    /// Makes a procedure whose body has not been bound yet.
    pub fn new(create: &CreateProcedure, arguments: Vec<Argument>, styles: Styles) -> Self {
        let CreateProcedure { name, body, text, .. } = create.clone();
        Self { name, arguments, syntax: body, text, styles, bound: RwLock::default() }
    }

    /// Returns the bound body of the last binding, or `None` if the body has not been bound. The caller must check that
    /// the definitions that it uses are current.
    pub(crate) fn bound(&self) -> Option<Opaque> {
        self.bound.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Stores the bound body for later calls.
    pub(crate) fn keep(&self, bound: Opaque) {
        *self.bound.write().unwrap_or_else(|poison| poison.into_inner()) = Some(bound);
    }

    /// Formats the name with the types of the input arguments: `pay(integer, numeric)`.
    pub fn signature(&self) -> String {
        let types: Vec<_> = self.inputs().map(|argument| crate::types::type_name(Some(argument.ty))).collect();
        format!("{}({})", self.name, types.join(", "))
    }

    /// Returns the input arguments, to which callers give values: all but OUT arguments, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.mode != ArgumentMode::Out)
    }
}
