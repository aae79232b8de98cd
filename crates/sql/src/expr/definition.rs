//! The bound expressions of definitions: DEFAULT, CHECK, and those of computed columns.
//!
//! The binder stores bound expressions in the definitions of tables. A plan has copies of the expressions that it
//! needs, so that no definition is read for each row.

use super::{Expr, Function, SequenceFunction, Strictness, can_cast};
use crate::catalog::{DefaultSource, DefaultValue, RowExpression, Table, Written};
use crate::opaque::Opaque;
use crate::types::Styles;
use hotrow_storage::{IndexRef, Type, Value};
use sqlparser::ast;

/// A CHECK constraint with its bound condition.
#[derive(Clone, Debug)]
pub struct BoundCheck {
    /// The name of the constraint.
    pub name: String,
    /// The condition that must not be false, over the table's columns.
    pub condition: Expr,
}

/// A condition that the check option of a view requires of new rows.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// The name of the view, without its schema.
    pub view: String,
    /// The condition that must be true, over the columns of the view's table.
    pub condition: Expr,
}

/// The expressions that a statement evaluates for each row that it inserts or updates. All but those of views are
/// evaluated before the row is stored.
#[derive(Clone, Debug, Default)]
pub struct RowRules {
    /// The generated columns, each with its expression over the row. They are computed first.
    pub generated: Vec<(usize, Expr)>,
    /// The CHECK constraints, in the order in which they are checked.
    pub checks: Vec<BoundCheck>,
    /// The hidden columns of indexes, each with its expression over the row. They are computed after the checks.
    pub hidden: Vec<(usize, Expr)>,
    /// The conditions of the views through which the statement writes, in the order in which they are checked: after
    /// the row is stored.
    pub views: Vec<ViewCheck>,
}

impl RowRules {
    /// Whether a condition of a view runs a subquery or a user's function.
    pub fn ask(&self) -> bool {
        self.views.iter().any(|check| check.condition.has_subquery())
    }

    /// Returns the columns that an UPDATE with these assignments changes: the assigned ones, and the computed ones that
    /// depend on them.
    pub fn changed<'a>(&'a self, assignments: &'a [(usize, Expr)]) -> impl Iterator<Item = usize> + 'a {
        assignments.iter().chain(&self.generated).chain(&self.hidden).map(|(column, _)| *column)
    }
}

impl Table {
    /// Returns the CHECK constraints in the order in which they are checked.
    pub fn checks(&self) -> Vec<BoundCheck> {
        let checks = self.rules.checks.iter();
        checks.map(|check| BoundCheck { name: check.name.clone(), condition: check.condition.over_table() }).collect()
    }

    /// Returns the condition of a partial index over the table's columns, or `None` if the index has none.
    pub fn predicate(&self, index: IndexRef) -> Option<Expr> {
        let column = *self.index_columns(index).first().filter(|_| self.is_partial(index))?;
        match self.rules.computation(column)?.over_table() {
            Expr::Case(mut arms, _) => arms.pop().map(|(condition, _)| condition),
            value => Some(value),
        }
    }

    /// Returns the index expression whose value the hidden column at this position stores, or `None` if the column is
    /// not hidden.
    pub fn key_expression(&self, index: IndexRef, column: usize) -> Option<Expr> {
        match self.rules.computation(column).filter(|_| self.is_hidden(column))?.over_table() {
            Expr::Case(mut arms, _) if self.is_partial(index) => arms.pop().map(|(_, value)| value),
            value => Some(value),
        }
    }

    /// Returns the rules for a row that is inserted.
    pub fn rules_of_new_row(&self) -> RowRules {
        self.rules_of_row(&|_| true)
    }

    /// Returns the rules for a row that is updated by these assignments.
    pub fn rules_of_changed_row(&self, assignments: &[(usize, Expr)]) -> RowRules {
        self.rules_of_row(&|column| assignments.iter().any(|(assigned, _)| *assigned == column))
    }

    /// Returns the rules for a row whose changed columns are those for which `changes` is true. Leaves out computed
    /// columns that depend on none of these.
    fn rules_of_row(&self, changes: &dyn Fn(usize) -> bool) -> RowRules {
        let mut rules = RowRules { checks: self.checks(), ..RowRules::default() };
        for computed in &self.rules.computed {
            let is_generated = |column: usize| rules.generated.iter().any(|(known, _)| *known == column);
            let reads = &computed.value.columns;
            if !changes(computed.column) && !reads.iter().any(|&column| changes(column) || is_generated(column)) {
                continue;
            }
            let value = (computed.column, computed.value.over_table());
            if computed.column < self.visible() { rules.generated.push(value) } else { rules.hidden.push(value) }
        }
        rules
    }
}

impl DefaultValue {
    /// Returns the text of a default that is a string literal, and the styles in which the text is read. Returns `None`
    /// for any other default.
    pub(crate) fn literal(&self) -> Option<(&str, Styles)> {
        match &self.source {
            DefaultSource::Written(Written { syntax, styles, .. }, _) => match &**syntax {
                ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::SingleQuotedString(text), .. }) => {
                    Some((text, *styles))
                }
                _ => None,
            },
            DefaultSource::NextValue(_) => None,
        }
    }

    /// Returns the bound expression of the default, which refers to no column. Returns NULL if the default calls
    /// functions of users, because such an expression is bound anew for each statement.
    pub fn value(&self) -> Expr {
        let value = match &self.source {
            DefaultSource::Written(..) if self.calling().is_some() => return Expr::NULL,
            DefaultSource::Written(expression, _) => bound(expression).clone(),
            DefaultSource::NextValue(sequence) => {
                let sequence = Expr::Const(Value::Int8(i64::from(*sequence)));
                let next = Expr::Call(Function::Sequence(SequenceFunction::NextValue), vec![sequence]);
                next.cast_on_assignment(Type::Int8, self.types[0])
            }
        };
        self.types.windows(2).fold(value, |value, types| value.cast_on_assignment(types[0], types[1]))
    }
}

impl RowExpression {
    /// Returns the bound expression with the present positions of the table's columns.
    pub fn over_table(&self) -> Expr {
        let mut expr = bound(&self.expression).clone();
        expr.change_columns(&|column| *column = self.columns[*column]);
        expr
    }
}

impl Expr {
    /// Returns an expression of type `from` as a value for a column of type `to`, or `None` if an assignment cannot
    /// cast one type to the other.
    pub fn assigned(self, from: Type, to: Type) -> Option<Expr> {
        (from == to || can_cast(from, to, Strictness::Assignment)).then(|| self.cast_on_assignment(from, to))
    }

    pub(crate) fn cast_on_assignment(self, from: Type, to: Type) -> Expr {
        if from == to { self } else { Expr::Cast(Box::new(self), from, to, Strictness::Assignment) }
    }
}

pub(super) fn bound(expression: &Written) -> &Expr {
    let bound = expression.bound().and_then(Opaque::get);
    bound.expect("the binder binds an expression before a definition has it")
}
