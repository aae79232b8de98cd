//! Procedures: statements that the database keeps, and runs as one.
//!
//! A [`Procedure`] is its text's syntax; a [`Body`] is that syntax bound and planned for the tables that there are. A body is
//! made when the procedure is, kept with it, and made again when one of its tables or one of the procedures that it calls has
//! become another one.
//!
//! A running body has a frame of values: first the arguments, then `found`, then the declared variables. Its expressions know
//! them as parameters by their position.

use crate::SqlError;
use crate::bind::compile;
use crate::catalog::{Used, View};
use crate::expr::Expr;
use crate::parse::procedure::{ArgumentMode, BodySyntax};
use crate::plan::Plan;
use hotrow_storage::Type;
use hotrow_sync::{Arc, RwLock};

/// How deep procedures may call each other.
pub const MAX_CALL_DEPTH: usize = 32;

/// An argument of a procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Which way it goes.
    pub mode: ArgumentMode,
    /// Its type. Lengths, precisions and scales do not count, but for `char(n)`.
    pub ty: Type,
    /// What it is if it is not given.
    pub default: Option<Expr>,
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
    /// The same for the tables that there were when it was last asked for.
    body: RwLock<Option<Arc<Body>>>,
}

impl Procedure {
    /// A procedure that has not been bound yet.
    pub fn new(name: String, arguments: Vec<Argument>, syntax: BodySyntax) -> Self {
        Self { name, arguments, syntax, body: RwLock::default() }
    }

    /// The body for the tables that there are now; `depth` calls led here.
    pub(crate) fn body(&self, view: View<'_>, depth: usize) -> Result<Arc<Body>, SqlError> {
        let known = self.body.read().unwrap_or_else(|poison| poison.into_inner()).clone();
        if let Some(body) = known.filter(|body| body.used.is_current(view)) {
            return Ok(body);
        }
        let body = Arc::new(compile(self, view, false, depth)?);
        if view.changes.is_empty() {
            self.keep(body.clone());
        }
        Ok(body)
    }

    /// Keeps a body for the next who asks.
    pub(crate) fn keep(&self, body: Arc<Body>) {
        *self.body.write().unwrap_or_else(|poison| poison.into_inner()) = Some(body);
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

/// What a procedure does, bound and planned.
#[derive(Debug, Default)]
pub struct Body {
    /// How many values a frame has.
    pub slots: usize,
    /// How deep the calls in it go, itself counted.
    pub depth: usize,
    /// The statements.
    pub steps: Vec<Step>,
    /// What it uses, that of the procedures that it calls included.
    pub used: Used,
}

/// A statement of a body.
#[derive(Debug)]
pub struct Step {
    /// The line of the body, from one.
    pub line: usize,
    /// What it does.
    pub kind: StepKind,
}

/// What a statement of a body does.
#[derive(Debug)]
pub enum StepKind {
    /// Runs a plan; its first row goes into variables.
    Run(Plan, Vec<Target>),
    /// Calls a procedure; what comes out goes into variables.
    Call(Call, Vec<Target>),
    /// Gives a variable a value of its type.
    Assign(usize, Expr),
    /// The statements after the first condition that is true, or the last ones.
    If(Vec<(Expr, Vec<Step>)>, Vec<Step>),
    /// Ends the procedure.
    Return,
}

/// A variable that takes a column's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its place in the frame.
    pub slot: usize,
    /// The column's type.
    pub from: Type,
    /// The variable's type.
    pub to: Type,
}

/// A call of a procedure.
#[derive(Debug)]
pub struct Call {
    /// The procedure.
    pub procedure: Arc<Procedure>,
    /// Its body.
    pub body: Arc<Body>,
    /// The arguments' values, of the arguments' types; NULL for those that only come out.
    pub arguments: Vec<Expr>,
}

impl Call {
    /// The arguments that come out, by their positions.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.procedure.arguments.iter().enumerate().filter(|(_, argument)| argument.mode != ArgumentMode::In)
    }
}
