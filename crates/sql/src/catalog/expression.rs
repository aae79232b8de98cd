//! The expressions of definitions: DEFAULT, CHECK, and those of generated columns and indexes.
//!
//! The catalog stores an expression as it was written, with the parts of its meaning that depend on the time of the
//! definition: the styles in which its literals are read, and the sequences and columns that its names referred to. So
//! the meaning does not change when sequences or columns are renamed.
//!
//! The bound form of an expression is [`Opaque`] here. The binder makes it when the expression is defined, so that
//! CREATE or ALTER reports a mistake, and all later definitions of the table share it. The bound form does not become
//! invalid: a definition does not change, built-in functions cannot be redefined, a label of an enumerated type keeps
//! its number, and a column's type cannot change while a CHECK or a generated column refers to the column.
//!
//! An expression is bound again in a few cases: after a restart, when an enumerated type that it names is renamed, when
//! a domain that it names is renamed or gets other constraints, when the type of its own generated column changes, and
//! when an index's expression refers to a column whose type changes. Its literals keep their meaning, because its
//! styles contain the moment of the definition: the literal `'today'` in a DEFAULT is always the day of the definition.
//! A DEFAULT that calls functions of users, which can be redefined, has no bound form. It is bound for each statement,
//! with the styles and the moment of its definition.

use crate::depth::Syntax;
use crate::opaque::Opaque;
use crate::schema::RelationName;
use crate::types::Styles;
use hotrow_storage::Type;
use hotrow_sync::{Arc, OnceLock};
use sqlparser::ast;

/// An expression as it was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The expression's syntax tree, as the parser made it. Its names are not resolved.
    pub syntax: Syntax<ast::Expr>,
    /// The styles in which the literals are read: those of the session that wrote the expression.
    pub styles: Styles,
    /// The functions of users that a DEFAULT calls: each name as it is written, with the [keys](super::procedure::key)
    /// of the functions that it calls by this name. Other expressions call none.
    pub functions: Vec<(RelationName, Vec<String>)>,
    bound: OnceLock<Opaque>,
}

impl Written {
    /// Makes an expression that has not been bound yet.
    pub fn new(syntax: Syntax<ast::Expr>, styles: Styles) -> Self {
        debug_assert!(styles.moment.is_some(), "a definition keeps the moment at which it was written");
        Self { syntax, styles, functions: Vec::new(), bound: OnceLock::new() }
    }

    /// Returns the expression with these [`functions`](Self::functions).
    pub fn calling(self, functions: Vec<(RelationName, Vec<String>)>) -> Self {
        Self { functions, ..self }
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

/// The DEFAULT of a column or of a procedure's argument.
#[derive(Clone, Debug)]
pub struct DefaultValue {
    /// Where the value comes from.
    pub source: DefaultSource,
    /// The types to which the value is cast, one after the other: the type that the column had when the default was
    /// defined, then each type that the column has had since.
    pub types: Vec<Type>,
}

/// The source of a default value.
#[derive(Clone, Debug)]
pub enum DefaultSource {
    /// An expression, which is bound as a value of the first type in [`DefaultValue::types`]. The list contains the
    /// sequences that its functions name: each name as it is written in the expression, with the id of the sequence.
    Written(Written, Vec<(String, u32)>),
    /// The next value of the sequence with this id, for a serial or identity column.
    NextValue(u32),
}

impl DefaultValue {
    /// Makes the default of a serial or identity column of this type: the next value of the sequence with this id.
    pub fn next_value(sequence: u32, ty: Type) -> Self {
        Self { source: DefaultSource::NextValue(sequence), types: vec![ty] }
    }

    /// Returns the expression and the sequences that it names, if it calls functions of users, and otherwise `None`.
    /// Such an expression has no bound form: the binder binds it for each statement.
    pub fn calling(&self) -> Option<(&Written, &[(String, u32)])> {
        match &self.source {
            DefaultSource::Written(written, sequences) if !written.functions.is_empty() => Some((written, sequences)),
            DefaultSource::Written(..) | DefaultSource::NextValue(_) => None,
        }
    }

    /// Returns the expression, or `None` if the value comes from a sequence.
    pub fn written(&self) -> Option<&Written> {
        match &self.source {
            DefaultSource::Written(written, _) => Some(written),
            DefaultSource::NextValue(_) => None,
        }
    }

    /// Returns the expression, to change it. Returns `None` if the value comes from a sequence.
    pub fn written_mut(&mut self) -> Option<&mut Written> {
        match &mut self.source {
            DefaultSource::Written(written, _) => Some(written),
            DefaultSource::NextValue(_) => None,
        }
    }

    /// Whether the value calls the function of this key.
    pub fn calls(&self, key: &str) -> bool {
        let keys = || self.calling().into_iter().flat_map(|(written, _)| &written.functions).flat_map(|(_, keys)| keys);
        keys().any(|known| known == key)
    }

    /// Returns the ids of the sequences that the value depends on.
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
    /// The condition. A row is refused if the condition is false for it, but not if it is NULL.
    pub condition: RowExpression,
}

/// A column whose value in each row is computed from other columns of the row: a generated column, or a hidden column
/// of an index.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The position of the column.
    pub column: usize,
    /// The value, cast to the type of the column.
    pub value: RowExpression,
}

/// The names that the syntax of an expression over a row may mention: those of its table and of the table's columns
/// when the expression was written. Later names of the table and its columns do not change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mentioned {
    /// The [full name](crate::schema) of the table.
    pub table: String,
    /// The names and the types of the columns that the expression may mention. A column that it certainly does not
    /// mention is left out.
    pub columns: Vec<(String, Type)>,
}

/// An expression over the columns of a table: the condition of a CHECK, or the value of a computed column.
#[derive(Clone, Debug)]
pub struct RowExpression {
    /// The expression. In its bound form, column `n` stands for the table's column at position `columns[n]`.
    pub expression: Written,
    /// The names that the expression's syntax may mention.
    pub mentioned: Arc<Mentioned>,
    /// The positions of the columns that the bound expression reads, in the order in which it mentions them. Operands
    /// that the binder has removed, as in `a > 0 OR true`, are not included.
    pub columns: Vec<usize>,
}

impl RowExpression {
    /// Whether the bound expression reads the column at this position of the table.
    pub fn looks_at(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    /// Returns the positions of the columns that the expression reads, in ascending order.
    pub fn positions(&self) -> Vec<usize> {
        let mut positions = self.columns.clone();
        positions.sort_unstable();
        positions
    }
}
