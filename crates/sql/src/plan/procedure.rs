//! The bodies of procedures, bound and planned.
//!
//! A running body has a frame of values: first the arguments, then the variable `found`, then the declared variables.
//! The expressions of the body refer to these values as parameters, by their positions in the frame.

use super::Plan;
use crate::catalog::Used;
use crate::catalog::procedure::{Argument, Procedure};
use crate::expr::Expr;
use crate::parse::body::{self, Block, Described, Form};
use crate::parse::procedure::ArgumentMode;
use hotrow_storage::Type;
use hotrow_sync::Arc;

/// The form of a body that is bound and planned.
#[derive(Debug)]
pub struct Planned;

impl Form for Planned {
    type Value = PlannedValue;
    type Statement = PlannedStatement;
    type Target = Target;
    type Variable = Slots;
}

/// A statement of a planned body.
pub type Step = body::Step<Planned>;
/// The kinds of statements of a planned body.
pub type StepKind = body::StepKind<Planned>;

/// The body of a procedure, bound and planned.
#[derive(Debug, Default)]
pub struct Body {
    /// The number of values in a frame.
    pub slots: usize,
    /// The depth of nested calls when the body runs, including its own.
    pub depth: usize,
    /// Whether the number of rounds of a loop, here or in a procedure that the body calls, may depend on rows that the
    /// body itself changes.
    pub is_open: bool,
    /// The outermost block.
    pub block: Block<Planned>,
    /// The definitions on which the body and the procedures that it calls depend.
    pub used: Used,
}

/// An expression with the type of its value.
#[derive(Debug)]
pub struct PlannedValue {
    /// The expression.
    pub expr: Expr,
    /// The type of its value.
    pub ty: Type,
}

/// A statement that a body runs.
#[derive(Debug)]
pub struct PlannedStatement {
    /// The plan.
    pub plan: Plan,
    /// The variables to which the columns of the first row are assigned. For CALL, these are the arguments that come
    /// out.
    pub into: Vec<Target>,
    /// Whether there must be exactly one row.
    pub strict: bool,
}

impl Described for PlannedStatement {
    fn kind(&self) -> &'static str {
        "SQL statement"
    }
}

/// A variable to which a column's value is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The position of the variable in the frame.
    pub slot: usize,
    /// The column's type.
    pub from: Type,
    /// The variable's type.
    pub to: Type,
    /// The name of the variable if it refuses NULL.
    pub not_null: Option<Arc<str>>,
}

/// The places of a variable in the frame: one, or one for each field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The first place.
    pub first: usize,
    /// The number of places.
    pub width: usize,
    /// The name of the variable if it refuses NULL.
    pub not_null: Option<Arc<str>>,
}

/// A call of a procedure.
#[derive(Debug)]
pub struct Call {
    /// The procedure that is called.
    pub procedure: Arc<Procedure>,
    /// The procedure's body, bound and planned.
    pub body: Arc<Body>,
    /// The values of all arguments, of the arguments' types. OUT arguments have NULL.
    pub arguments: Vec<Expr>,
}

impl Call {
    /// Returns the OUT and INOUT arguments, each with its position among all arguments.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.procedure.arguments.iter().enumerate().filter(|(_, argument)| argument.mode != ArgumentMode::In)
    }
}
