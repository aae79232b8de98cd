//! The bodies of procedures and functions, bound and planned.
//!
//! A running body has a frame of values: first the arguments, then the variable `found`, then the declared variables.
//! The expressions of the body refer to these values as parameters, by their slots, which are their positions in the
//! frame.
//!
//! A plan owns the bodies that it calls, with one exception: a call of a body by itself, or by a body that it calls,
//! refers to that body without owning it.

use super::Plan;
use crate::catalog::Used;
use crate::catalog::procedure::{Argument, Procedure};
use crate::expr::{BoundDomain, Expr};
use crate::parse::body::{self, Block, Described, Form};
use hotrow_storage::Type;
use hotrow_sync::{Arc, Weak};
use std::ops::Deref;

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

/// The body of a procedure or function, bound and planned.
#[derive(Debug, Default)]
pub struct Body {
    /// The number of values in a frame.
    pub slots: usize,
    /// The maximum depth of nested bodies while this one runs, itself included. Calls of enclosing bodies and of their
    /// groups do not count, because how deep they nest depends on the run.
    pub depth: usize,
    /// The distance to the farthest enclosing body to which this one refers: 0 if it refers to none but itself, 1 for
    /// the body around it, and so on.
    pub outward: usize,
    /// The remaining bodies of the group: those that this one calls and that call it, directly or through others. Only
    /// the body of a group that was bound first has them. It owns them, and they refer to each other and to it.
    #[expect(dead_code, reason = "keeps the bodies to which weak references lead")]
    pub group: Vec<Arc<Body>>,
    /// The outermost block.
    pub block: Block<Planned>,
    /// The definitions on which the body and the bodies that it calls depend, and the effects that all of these may
    /// have.
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
    /// The plan, or the parts of EXECUTE.
    pub what: Executed,
    /// The assignments of the first row's columns to variables. The row of a CALL consists of its output arguments. For
    /// EXECUTE, the columns may have other types than the assignments say.
    pub into: Vec<Target>,
    /// Whether the statement fails unless it has exactly one row (INTO STRICT).
    pub strict: bool,
}

/// The part of a planned statement that is executed.
#[derive(Debug)]
pub enum Executed {
    /// A plan.
    Plan(Plan),
    /// EXECUTE: a statement whose text is computed and planned when the running body comes to it.
    Computed(Box<ComputedStatement>),
}

/// The expressions of EXECUTE.
#[derive(Debug)]
pub struct ComputedStatement {
    /// The text of the statement.
    pub text: PlannedValue,
    /// The values of the statement's parameters, after USING.
    pub using: Vec<PlannedValue>,
}

impl Described for PlannedStatement {
    fn kind(&self) -> &'static str {
        match self.what {
            Executed::Plan(_) => "SQL statement",
            Executed::Computed(_) => "EXECUTE",
        }
    }
}

/// The assignment of a value to a variable or field.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The position of the variable in the frame.
    pub slot: usize,
    /// The type of the value.
    pub from: Type,
    /// The variable's type.
    pub to: Type,
    /// The name of the variable if it refuses NULL.
    pub not_null: Option<Arc<str>>,
    /// The domain of the variable, if it has one.
    pub domain: Option<Arc<BoundDomain>>,
}

/// The slots of a variable in the frame. A value has one slot and a row one for each field; a record has as many for
/// each query whose rows it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The first slot.
    pub first: usize,
    /// The number of slots; 0 for a record, and for another name of a variable.
    pub width: usize,
    /// For each query whose rows a record may have, the first slot of the fields and their number. Empty for other
    /// variables.
    pub records: Vec<(usize, usize)>,
    /// The name of the variable if it refuses NULL.
    pub not_null: Option<Arc<str>>,
}

impl Slots {
    /// Returns all slots, those of a record's fields among them.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        let own = (self.first, self.width);
        std::iter::once(own).chain(self.records.iter().copied()).flat_map(|(first, width)| first..first + width)
    }
}

/// A procedure or function that a plan calls.
#[derive(Debug)]
pub struct Callee {
    /// The definition.
    pub procedure: Arc<Procedure>,
    /// The body, bound and planned.
    pub link: BodyLink,
}

/// A reference to a body, from a plan that calls it.
#[derive(Debug)]
pub enum BodyLink {
    /// A body that refers to no body that encloses the call. The plan owns it.
    Own(Arc<Body>),
    /// A body that encloses the call, or one of the [group](Body::group) of such a body. The plan does not own it.
    Around(Weak<Body>),
}

/// A body that is kept alive while it runs.
#[derive(Debug)]
pub enum RunningBody<'b> {
    /// A body that the calling plan owns.
    Own(&'b Body),
    /// A body that the calling plan does not own.
    Around(Arc<Body>),
}

impl Deref for RunningBody<'_> {
    type Target = Body;

    fn deref(&self) -> &Body {
        match self {
            RunningBody::Own(body) => body,
            RunningBody::Around(body) => body,
        }
    }
}

impl BodyLink {
    /// Returns the body to run it, or `None` if the plan does not own it and it no longer exists.
    pub fn running(&self) -> Option<RunningBody<'_>> {
        match self {
            BodyLink::Own(body) => Some(RunningBody::Own(body)),
            BodyLink::Around(body) => body.upgrade().map(RunningBody::Around),
        }
    }

    /// Returns the body if the plan owns it, because it refers to no body that encloses the call.
    pub fn own(&self) -> Option<&Body> {
        match self {
            BodyLink::Own(body) => Some(body),
            BodyLink::Around(_) => None,
        }
    }
}

impl Callee {
    /// Returns the body to run it, or `None` if the plan does not own it and it no longer exists.
    pub fn running(&self) -> Option<RunningBody<'_>> {
        self.link.running()
    }

    /// Returns the body if the plan owns it, because it refers to no body that encloses the call.
    pub fn own(&self) -> Option<&Body> {
        self.link.own()
    }

    /// Returns the output arguments, each with its position among all arguments.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.procedure.outputs()
    }
}

/// A call of a procedure.
#[derive(Debug)]
pub struct Call {
    /// The procedure.
    pub callee: Callee,
    /// The values of all arguments, cast to the arguments' types. The value of an OUT argument is NULL.
    pub arguments: Vec<Expr>,
}
