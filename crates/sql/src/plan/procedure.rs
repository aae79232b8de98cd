//! The bodies of procedures, bound and planned.
//!
//! A running body has a frame of values: first the arguments, then `found`, then the declared variables. Its
//! expressions know them as parameters by their position.

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
    /// The depth of the calls in the body, the body itself counted.
    pub depth: usize,
    /// The statements.
    pub steps: Vec<Step>,
    /// The definitions that the body uses, and the definitions that the procedures it calls use.
    pub used: Used,
}

/// A statement of a body.
#[derive(Debug)]
pub struct Step {
    /// The line of the body, from one.
    pub line: usize,
    /// The kind of the statement, with its parts.
    pub kind: StepKind,
}

/// The kinds of statements in a body.
#[derive(Debug)]
pub enum StepKind {
    /// Runs a plan; its first row goes into variables.
    Run(Plan, Vec<Target>),
    /// Calls a procedure; the arguments that come out go into variables.
    Call(Call, Vec<Target>),
    /// Gives a variable a value of its type.
    Assign(usize, Expr),
    /// Runs the statements after the first condition that is true, or the last ones.
    If(Vec<(Expr, Vec<Step>)>, Vec<Step>),
    /// Ends the procedure.
    Return,
}

/// A variable that takes a column's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The variable's place in the frame.
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
    /// The procedure's body.
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
