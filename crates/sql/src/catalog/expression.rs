//! The expressions of definitions: DEFAULT and CHECK.
//!
//! The catalog keeps an expression as it was written, with the parts of its meaning that the syntax lacks: the styles
//! in which its literals are read, and the sequences and columns that its names meant. So the meaning stays the same
//! when these are renamed.
//!
//! The bound form of an expression is [`Opaque`] here. The binder makes it when the expression is defined, so that a
//! mistake is an error of CREATE or ALTER, and every later definition of the table shares it. The bound form is never
//! out of date: a definition does not change, its functions and types are the server's own, and the type of a column
//! does not change while a CHECK refers to the column. It must not be made again later, either: in a DEFAULT the
//! literal `'today'` is the day of the definition.

use crate::depth::Syntax;
use crate::opaque::Opaque;
use crate::types::Styles;
use hotrow_storage::Type;
use hotrow_sync::OnceLock;
use sqlparser::ast;

/// An expression as it was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The expression's syntax tree, as the parser made it. Its names are not resolved.
    pub syntax: Syntax<ast::Expr>,
    /// The styles in which the literals are read: those of the session that wrote the expression.
    pub styles: Styles,
    bound: OnceLock<Opaque>,
}

impl Written {
    /// Makes an expression that the binder has yet to bind.
    pub fn new(syntax: Syntax<ast::Expr>, styles: Styles) -> Self {
        Self { syntax, styles, bound: OnceLock::new() }
    }

    /// Stores the bound expression, unless one has been stored before.
    pub fn keep(&self, bound: Opaque) {
        self.bound.get_or_init(|| bound);
    }

    /// Returns the bound expression, or `None` if the binder has not made it yet.
    pub fn bound(&self) -> Option<&Opaque> {
        self.bound.get()
    }
}

/// The value that a column or argument takes if a statement gives it none.
#[derive(Clone, Debug)]
pub struct DefaultValue {
    /// Where the value comes from.
    pub source: DefaultSource,
    /// The types that the value is cast to, one after the other: the type that the column had when the default was
    /// defined, then each type that the column has had since.
    pub types: Vec<Type>,
}

/// Where a default value comes from.
#[derive(Clone, Debug)]
pub enum DefaultSource {
    /// An expression, which is bound as a value of the first of the types. The list has the sequences that its
    /// functions name: each name as it is written in the expression, with the sequence's number.
    Written(Written, Vec<(String, u32)>),
    /// The next value of the sequence with this number, for a serial or identity column.
    NextValue(u32),
}

impl DefaultValue {
    /// Makes the default of a serial or identity column of this type: the next value of the sequence with this number.
    pub fn next_value(sequence: u32, ty: Type) -> Self {
        Self { source: DefaultSource::NextValue(sequence), types: vec![ty] }
    }

    /// Returns the numbers of the sequences that the value depends on.
    pub fn sequences(&self) -> Vec<u32> {
        match &self.source {
            DefaultSource::Written(_, sequences) => sequences.iter().map(|(_, id)| *id).collect(),
            DefaultSource::NextValue(id) => vec![*id],
        }
    }
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    /// The name of the constraint.
    pub name: String,
    /// The condition, which refuses a row only if it is false for the row. NULL satisfies it.
    pub condition: Condition,
}

/// A condition over the columns of a table.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The expression. In its bound form, column 0 is the first of `columns`, and so on.
    pub expression: Written,
    /// The positions of the columns that the bound condition looks at, in the order in which it mentions them. An
    /// operand that the binder has left out, as in `a > 0 OR true`, does not count.
    pub columns: Vec<usize>,
}

impl Condition {
    /// Whether the bound condition looks at the column at this position of the table.
    pub fn looks_at(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    /// Returns the positions of the columns that the condition looks at, in ascending order.
    pub fn positions(&self) -> Vec<usize> {
        let mut positions = self.columns.clone();
        positions.sort_unstable();
        positions
    }
}
