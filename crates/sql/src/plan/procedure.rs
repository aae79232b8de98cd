//! The bodies of procedures and functions, bound and planned.
//!
//! A running body has a frame of values: first the arguments, then the variable `found`, then the declared variables.
//! The expressions of the body refer to these values as parameters, by their positions in the frame.
//!
//! A plan owns the bodies that it calls. A body that calls itself, or one that calls it, refers to the body around it
//! without owning it.

use super::Plan;
use crate::catalog::Used;
use crate::catalog::procedure::{Argument, Procedure};
use crate::expr::Expr;
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
    /// The depth of nested calls when the body runs, including its own. Calls of bodies around and of their
    /// groups are not counted.
    pub depth: usize,
    /// The number of bodies around this one to which it refers, counted outwards to the farthest: 0 if it refers to
    /// none but itself.
    pub outward: usize,
    /// The bodies that call this one and are called by it, directly or through others, if it is the one that was bound
    /// first. It owns them, and they refer to each other and to it.
    #[expect(dead_code, reason = "keeps the bodies to which weak references lead")]
    pub group: Vec<Arc<Body>>,
    /// The outermost block.
    pub block: Block<Planned>,
    /// The definitions on which the body and those that it calls depend, and what these and the body itself may do.
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
    /// The part that is executed.
    pub what: Executed,
    /// The variables to which the columns of the first row are assigned. For CALL, these are the arguments that come
    /// out. The columns of EXECUTE may have other types than these say.
    pub into: Vec<Target>,
    /// Whether there must be exactly one row.
    pub strict: bool,
}

/// The part of a planned statement that is executed.
#[derive(Debug)]
pub enum Executed {
    /// A plan.
    Plan(Plan),
    /// EXECUTE: a statement that is planned when the body comes to it.
    Computed(Box<ComputedStatement>),
}

/// A statement whose text is computed.
#[derive(Debug)]
pub struct ComputedStatement {
    /// The text.
    pub text: PlannedValue,
    /// The values of the parameters.
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

/// The places of a variable in the frame: one, one for each field of a row, or several rows of them for a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The first place.
    pub first: usize,
    /// The number of places.
    pub width: usize,
    /// Of a record: the first place and the number of places of the fields of each query's rows.
    pub records: Vec<(usize, usize)>,
    /// The name of the variable if it refuses NULL.
    pub not_null: Option<Arc<str>>,
}

impl Slots {
    /// Returns all places.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        let own = (self.first, self.width);
        std::iter::once(own).chain(self.records.iter().copied()).flat_map(|(first, width)| first..first + width)
    }
}

/// A procedure or function that is called.
#[derive(Debug)]
pub struct Callee {
    /// The definition.
    pub procedure: Arc<Procedure>,
    /// The body, bound and planned.
    pub link: BodyLink,
}

/// A body that is called.
#[derive(Debug)]
pub enum BodyLink {
    /// A body that refers to none around the call.
    Own(Arc<Body>),
    /// A body around the call, or one of the [group](Body::group) of such a body.
    Around(Weak<Body>),
}

/// A body that runs.
#[derive(Debug)]
pub enum RunningBody<'b> {
    /// A body that the plan owns.
    Own(&'b Body),
    /// A body around the call, or one of the group of such a body.
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
    /// Returns the body to run it, or `None` if the plan does not own it, and it is gone.
    pub fn running(&self) -> Option<RunningBody<'_>> {
        match self {
            BodyLink::Own(body) => Some(RunningBody::Own(body)),
            BodyLink::Around(body) => body.upgrade().map(RunningBody::Around),
        }
    }

    /// Returns the body if it refers to none around the call.
    pub fn own(&self) -> Option<&Body> {
        match self {
            BodyLink::Own(body) => Some(body),
            BodyLink::Around(_) => None,
        }
    }
}

impl Callee {
    /// Returns the body to run it, or `None` if the plan does not own it, and it is gone.
    pub fn running(&self) -> Option<RunningBody<'_>> {
        self.link.running()
    }

    /// Returns the body if it refers to none around the call.
    pub fn own(&self) -> Option<&Body> {
        self.link.own()
    }

    /// Returns the arguments that come out, each with its position among all arguments.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.procedure.outputs()
    }
}

/// A call of a procedure.
#[derive(Debug)]
pub struct Call {
    /// The procedure.
    pub callee: Callee,
    /// The values of all arguments, of the arguments' types. OUT arguments have NULL.
    pub arguments: Vec<Expr>,
}
