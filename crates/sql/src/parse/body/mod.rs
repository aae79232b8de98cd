//! The bodies of procedures and of DO: blocks of statements with variables, branches, loops and handlers of errors.
//!
//! A body has two forms of one tree. The [`Written`] form has names and texts, as they were read. The bound form has
//! plans, and places of variables in a frame. The body of a procedure is bound before it runs. The body of DO runs in
//! its written form: a statement is planned when the body reaches it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this file | the tree |
//! | `read` | reads a body from its text |
//! | `control` | reads loops, branches, RAISE and the like |
//! | `condition` | the kinds of errors and their names |

pub mod condition;
mod control;
mod read;

pub(super) use read::{BodyKind, read_body};

use crate::SqlError;
use crate::depth::Syntax;
use condition::Condition;
use sqlparser::ast;
use std::fmt::Debug;

/// A form of a body: the types of its parts.
pub trait Form {
    /// A value that is computed when the body runs.
    type Value: Debug;
    /// A statement of SQL, with the variables that take its result.
    type Statement: Debug + Described;
    /// A variable that a value is assigned to.
    type Target: Debug;
    /// A variable where it is declared.
    type Variable: Debug;
}

/// A statement that has a name in the contexts of errors.
pub trait Described {
    /// Returns PostgreSQL's name of the statement's kind.
    fn kind(&self) -> &'static str;
}

impl Described for StatementSyntax {
    fn kind(&self) -> &'static str {
        match self.what {
            Executed::Sql { performs: true, .. } => "PERFORM",
            Executed::Sql { .. } | Executed::Other(_) => "SQL statement",
            Executed::Dynamic { .. } => "EXECUTE",
        }
    }
}

/// The form of a body as it has been read, before it is bound.
#[derive(Debug)]
pub struct Written;

impl Form for Written {
    type Value = Expression;
    type Statement = StatementSyntax;
    type Target = TargetSyntax;
    type Variable = VariableSyntax;
}

/// A block: `[<<label>>] [DECLARE …] BEGIN … [EXCEPTION …] END`.
#[derive(Debug)]
pub struct Block<F: Form> {
    /// The label, by which EXIT names the block.
    pub label: Option<String>,
    /// The variables, in the order of their declarations.
    pub declarations: Vec<Declaration<F>>,
    /// The statements of the block.
    pub steps: Vec<Step<F>>,
    /// The handlers of errors, in the order in which they are tried.
    pub handlers: Vec<Handler<F>>,
}

impl<F: Form> Default for Block<F> {
    fn default() -> Self {
        Self { label: None, declarations: Vec::new(), steps: Vec::new(), handlers: Vec::new() }
    }
}

/// A variable with its first value.
#[derive(Debug)]
pub struct Declaration<F: Form> {
    /// The line of the body, from one.
    pub line: usize,
    /// The variable.
    pub variable: F::Variable,
    /// The first value of the variable, which is NULL by default.
    pub value: Option<F::Value>,
}

/// A handler of errors: `WHEN condition THEN …`.
#[derive(Debug)]
pub struct Handler<F: Form> {
    /// The errors that the handler takes; it takes an error if one of these matches.
    pub conditions: Vec<Condition>,
    /// The variable that has the SQLSTATE of the error while the handler runs.
    pub sqlstate: F::Variable,
    /// The variable that has the message of the error while the handler runs.
    pub sqlerrm: F::Variable,
    /// The statements of the handler.
    pub steps: Vec<Step<F>>,
}

/// A statement of a body.
#[derive(Debug)]
pub struct Step<F: Form> {
    /// The line of the body, from one.
    pub line: usize,
    /// The kind of the statement, with its parts.
    pub kind: StepKind<F>,
}

/// The kinds of statements in a body.
#[derive(Debug)]
pub enum StepKind<F: Form> {
    /// Runs a statement of SQL.
    Run(F::Statement),
    /// Assigns a value to a variable.
    Assign(F::Target, F::Value),
    /// Runs the statements after the first condition that is true, or those of ELSE if none is.
    If(Vec<(F::Value, Vec<Step<F>>)>, Vec<Step<F>>),
    /// Runs a block within this one.
    Block(Block<F>),
    /// Runs the statements of a loop as often as its kind says.
    Loop(Loop<F>),
    /// EXIT leaves a loop or a block; CONTINUE begins the next round of a loop.
    Leave(Leave<F>),
    /// Reports an error, or sends the client a notice.
    Raise(Raise<F>),
    /// Reports an error if the condition is not true. The message is optional.
    Assert(F::Value, Option<F::Value>),
    /// GET DIAGNOSTICS: assigns facts about the last statement, or about the error that is handled, to variables.
    Diagnose(Vec<(F::Target, Fact)>),
    /// Ends the body. The values are the result of the function: none, or one for each of its columns. In the written
    /// form there is at most one value, which may be a row.
    Return(Vec<F::Value>),
    /// RETURN NEXT: adds a row to the result of the function. The values have the same form as those of RETURN.
    Next(Vec<F::Value>),
    /// RETURN QUERY: adds the rows of a query to the result of the function. In the bound form, the variables that take
    /// the statement's result have the types of the function's result.
    Query(F::Statement),
    /// Does nothing.
    Null,
}

impl<F: Form> StepKind<F> {
    /// Returns PostgreSQL's name of the kind, for the contexts of errors.
    pub fn name(&self) -> &'static str {
        match self {
            StepKind::Run(statement) => statement.kind(),
            StepKind::Assign(..) => "assignment",
            StepKind::If(..) => "IF",
            StepKind::Block(_) => "statement block",
            StepKind::Loop(_) => "LOOP",
            StepKind::Leave(leave) if leave.goes_on => "CONTINUE",
            StepKind::Leave(_) => "EXIT",
            StepKind::Raise(_) => "RAISE",
            StepKind::Assert(..) => "ASSERT",
            StepKind::Diagnose(_) => "GET DIAGNOSTICS",
            StepKind::Return(_) => "RETURN",
            StepKind::Next(_) => "RETURN NEXT",
            StepKind::Query(_) => "RETURN QUERY",
            StepKind::Null => "NULL",
        }
    }
}

impl<F: Form> Rounds<F> {
    /// Returns PostgreSQL's name of the loop, for the contexts of errors.
    pub fn name(&self) -> &'static str {
        match self {
            Rounds::Endless => "LOOP",
            Rounds::While(_) => "WHILE",
            Rounds::Range { .. } => "FOR with integer loop variable",
            Rounds::Rows(_) => "FOR over SELECT rows",
        }
    }
}

/// A loop: `[<<label>>] … LOOP … END LOOP`.
#[derive(Debug)]
pub struct Loop<F: Form> {
    /// The label, by which EXIT and CONTINUE name the loop.
    pub label: Option<String>,
    /// How often the statements run.
    pub rounds: Rounds<F>,
    /// The statements of the loop.
    pub steps: Vec<Step<F>>,
}

/// How often the statements of a loop run.
#[derive(Debug)]
pub enum Rounds<F: Form> {
    /// Until the loop is left.
    Endless,
    /// As long as the condition is true.
    While(F::Value),
    /// Once for each number of a range.
    Range {
        /// The variable that has the number.
        variable: F::Variable,
        /// The first number.
        from: F::Value,
        /// The limit of the numbers. The limit itself is a number of the range if the steps reach it.
        to: F::Value,
        /// The step from one number to the next, which is 1 by default.
        by: Option<F::Value>,
        /// Whether the numbers descend.
        reverse: bool,
    },
    /// Once for each row of a query, whose columns are assigned to the query's variables.
    Rows(F::Statement),
}

/// An EXIT or CONTINUE statement.
#[derive(Debug)]
pub struct Leave<F: Form> {
    /// Whether the statement is CONTINUE, and not EXIT.
    pub goes_on: bool,
    /// The label of the loop or block. `None` means the innermost loop.
    pub label: Option<String>,
    /// WHEN: the statement has an effect only if the condition is true. `None` if there is no WHEN.
    pub condition: Option<F::Value>,
}

/// A RAISE statement.
#[derive(Debug)]
pub struct Raise<F: Form> {
    /// The severity of a notice; `None` for an error.
    pub notice: Option<&'static str>,
    /// The kind of the error, with its name or SQLSTATE as the statement writes it; `None` if the statement names none.
    pub condition: Option<(Condition, String)>,
    /// The parts of the message, and the values between them: one part more than values. `None` if the statement has
    /// no message.
    pub message: Option<(Vec<String>, Vec<F::Value>)>,
    /// The options after USING.
    pub options: Vec<(ErrorPart, F::Value)>,
    /// Whether the statement is RAISE alone, which reports the error that is handled again.
    pub again: bool,
}

/// A fact that GET DIAGNOSTICS reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The number of rows of the last statement.
    RowCount,
    /// A part of the error that is handled.
    Error(ErrorPart),
}

/// A part of an error, which RAISE may set and GET STACKED DIAGNOSTICS reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPart {
    /// The SQLSTATE. RAISE may set it by the name of a condition.
    Code,
    /// The message.
    Message,
    /// The DETAIL.
    Detail,
    /// The HINT.
    Hint,
    /// The statements and the lines of bodies in which the error has arisen. RAISE cannot set it.
    Context,
    /// The name of the column that the error is about.
    Column,
    /// The name of the constraint that the error is about.
    Constraint,
    /// The name of the type that the error is about. No error has one, and RAISE cannot set it.
    DataType,
    /// The name of the table that the error is about.
    Table,
    /// The name of the table's schema.
    Schema,
}

/// The body of a procedure or of DO, as it was written.
#[derive(Debug, Default)]
pub struct BodySyntax {
    /// The outermost block.
    pub block: Block<Written>,
    /// The text from which the body was read.
    pub text: String,
    /// Whether the text stood in a string. Otherwise it followed `BEGIN ATOMIC`, or it is `RETURN value`.
    pub is_quoted: bool,
}

impl BodySyntax {
    /// Returns the body as SQL if it did not stand in a string.
    pub fn sql(&self) -> Option<String> {
        let returns = self.text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("return"));
        match (self.is_quoted, returns) {
            (true, _) => None,
            (false, true) => Some(self.text.trim().to_owned()),
            (false, false) => Some(format!("BEGIN ATOMIC{}", self.text)),
        }
    }

    /// Returns the names of the types of all declared variables.
    pub fn declared_types(&self) -> Vec<&ast::DataType> {
        let mut types = Vec::new();
        self.block.each_block(&mut |block| {
            for declaration in &block.declarations {
                if let VariableType::Named(ty) = &declaration.variable.ty {
                    types.push(ty);
                }
            }
        });
        types
    }
}

impl<F: Form> Block<F> {
    /// Calls `visit` for this block and for all blocks in it.
    pub fn each_block<'b>(&'b self, visit: &mut dyn FnMut(&'b Block<F>)) {
        visit(self);
        self.each_step(&mut |step| {
            if let StepKind::Block(block) = &step.kind {
                block.each_block(visit);
            }
        });
    }

    /// Calls `visit` for the statements of this block, of its branches and loops, and of its handlers. The statements
    /// in nested blocks are not visited.
    pub fn each_step<'b>(&'b self, visit: &mut dyn FnMut(&'b Step<F>)) {
        each_step(&self.steps, visit);
        self.handlers.iter().for_each(|handler| each_step(&handler.steps, visit));
    }
}

fn each_step<'s, F: Form>(steps: &'s [Step<F>], visit: &mut dyn FnMut(&'s Step<F>)) {
    for step in steps {
        visit(step);
        match &step.kind {
            StepKind::If(arms, otherwise) => {
                arms.iter().for_each(|(_, steps)| each_step(steps, visit));
                each_step(otherwise, visit);
            }
            StepKind::Loop(looped) => each_step(&looped.steps, visit),
            _ => {}
        }
    }
}

/// A variable as its declaration writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableSyntax {
    /// The name of the variable.
    pub name: String,
    /// The type of the variable.
    pub ty: VariableType,
    /// CONSTANT: whether the variable keeps its first value.
    pub constant: bool,
    /// Whether the variable refuses NULL.
    pub not_null: bool,
}

/// The type of a variable, as its declaration writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum VariableType {
    /// The name of a type.
    Named(ast::DataType),
    /// `table.column%TYPE`, with the parts of the name.
    OfColumn(Vec<String>),
    /// `table%ROWTYPE`, with the parts of the name.
    RowOf(Vec<String>),
    /// `record`: a row of any query.
    Record,
    /// The type of the variable's first value. Only variables that the parser adds have it, such as the one for the
    /// operand of CASE.
    OfFirstValue,
    /// `ALIAS FOR`: the variable is another name of this variable, or of an argument, which may be named by its number
    /// (`$1`).
    Alias(String),
}

/// A variable that a value is assigned to, or a field of one that has a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSyntax {
    /// The name of the variable.
    pub name: String,
    /// The name of the field; `None` if the value is assigned to the whole variable.
    pub field: Option<String>,
}

/// A statement of SQL in a body.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementSyntax {
    /// The statement without INTO.
    pub what: Executed,
    /// The variables after INTO.
    pub into: Vec<TargetSyntax>,
    /// Whether INTO says STRICT: there must be exactly one row.
    pub strict: bool,
}

/// A statement of SQL in a body, without its INTO.
#[derive(Clone, Debug, PartialEq)]
pub enum Executed {
    /// A statement that reads or changes rows or calls a procedure. Its names may mean variables.
    Sql {
        /// The syntax of the statement.
        statement: Syntax<ast::Statement>,
        /// The text of the statement.
        text: Fragment,
        /// Whether the statement is PERFORM, whose rows are discarded.
        performs: bool,
    },
    /// A statement of any other kind, by its text.
    Other(Fragment),
    /// EXECUTE: a statement whose text is computed.
    Dynamic {
        /// The expression whose value is the text of the statement.
        text: Expression,
        /// USING: the values of the statement's parameters.
        using: Vec<Expression>,
    },
}

/// An expression with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The syntax.
    pub expr: Syntax<ast::Expr>,
    /// The text of the expression.
    pub text: Fragment,
}

/// A part of a body, with its place in the text that the client sent. The positions of errors are computed from this
/// place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The text of the part.
    pub text: String,
    /// The number of characters before the part in the text that the client sent, if it is known.
    pub offset: Option<u32>,
}

/// Converts the position of an error within a part of a body to a position within the body. `characters` is the number
/// of characters before the part.
fn shifted(error: SqlError, characters: u32) -> SqlError {
    match error.position {
        Some(position) => error.at(position + characters),
        None => error,
    }
}
