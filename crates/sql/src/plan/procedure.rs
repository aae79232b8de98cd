//! The bodies of procedures, bound and planned.
//!
//! A running body has a frame of values: first the arguments, then the variable `found`, then the declared variables.
//! The expressions of the body refer to these values as parameters, by their positions in the frame.

use super::Plan;
use crate::catalog::Used;
use crate::catalog::procedure::{Argument, Procedure};
use crate::expr::Expr;
use crate::parse::procedure::ArgumentMode;
use hotrow_storage::Type;
use hotrow_sync::Arc;

/// The body of a procedure, bound and planned.
#[derive(Debug, Default)]
pub struct Body {
    /// The number of values in a frame.
    pub slots: usize,
    /// The depth of nested calls when the body runs, including its own.
    pub depth: usize,
    /// The statements of the body, in order.
    pub steps: Vec<Step>,
    /// The definitions on which the body and the procedures that it calls depend.
    pub used: Used,
}

/// A statement of a body.
#[derive(Debug)]
pub struct Step {
    /// The line of the body at which the statement begins, counted from one.
    pub line: usize,
    /// The kind of the statement, with its parts.
    pub kind: StepKind,
}

/// The kinds of statements in a body.
#[derive(Debug)]
pub enum StepKind {
    /// Runs a plan, and assigns the columns of its first row to variables.
    Run(Plan, Vec<Target>),
    /// Calls a procedure, and assigns the arguments that it returns to variables.
    Call(Call, Vec<Target>),
    /// Assigns the value of an expression to the variable at this place of the frame.
    Assign(usize, Expr),
    /// Runs the statements of the first branch whose condition is true, or those of ELSE if there is none.
    If(Vec<(Expr, Vec<Step>)>, Vec<Step>),
    /// Ends the procedure.
    Return,
}

/// A variable to which a column's value is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The position of the variable in the frame.
    pub slot: usize,
    /// The column's type.
    pub from: Type,
    /// The variable's type.
    pub to: Type,
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
