//! The bound expressions of definitions: DEFAULT and CHECK.
//!
//! The binder stores bound expressions in the definitions of tables. A plan has copies of the expressions that it
//! needs, so that no definition is read for each row.

use super::{Expr, Function, SequenceFunction, Strictness, can_cast};
use crate::catalog::{Condition, DefaultSource, DefaultValue, Table, Written};
use crate::opaque::Opaque;
use crate::types::Styles;
use hotrow_storage::{Type, Value};
use sqlparser::ast;

/// A CHECK constraint with its bound condition.
#[derive(Clone, Debug)]
pub struct BoundCheck {
    /// The name of the constraint.
    pub name: String,
    /// The condition that must not be false, over the table's columns.
    pub condition: Expr,
}

impl Table {
    /// Returns the bound DEFAULT of each column, or `None` for a column that has none.
    pub fn defaults(&self) -> Vec<Option<Expr>> {
        self.rules.defaults.iter().map(|default| default.as_ref().map(DefaultValue::value)).collect()
    }

    /// Returns the value of a column for which a statement supplies none: its DEFAULT, or NULL.
    pub fn default_of(&self, column: usize) -> Expr {
        let default = self.rules.defaults.get(column).and_then(Option::as_ref);
        default.map_or(Expr::NULL, DefaultValue::value)
    }

    /// Returns the CHECK constraints in the order in which they are checked.
    pub fn checks(&self) -> Vec<BoundCheck> {
        let checks = self.rules.checks.iter();
        checks.map(|check| BoundCheck { name: check.name.clone(), condition: check.condition.over_table() }).collect()
    }
}

impl DefaultValue {
    /// Returns the text of the default, with the styles in which it is read, if it was written as a string. Returns
    /// `None` if it was not.
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

    /// Returns the bound expression of the default, which refers to no column.
    pub fn value(&self) -> Expr {
        let value = match &self.source {
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

impl Condition {
    /// Returns the bound condition with the present positions of the table's columns.
    pub fn over_table(&self) -> Expr {
        let mut condition = bound(&self.expression).clone();
        condition.change_columns(&|column| *column = self.columns[*column]);
        condition
    }
}

impl Expr {
    /// Returns an expression of type `from` as a value for a column of type `to`, or `None` if an assignment cannot
    /// cast one type to the other.
    pub fn assigned(self, from: Type, to: Type) -> Option<Expr> {
        (from == to || can_cast(from, to, Strictness::Assignment)).then(|| self.cast_on_assignment(from, to))
    }

    fn cast_on_assignment(self, from: Type, to: Type) -> Expr {
        if from == to { self } else { Expr::Cast(Box::new(self), from, to, Strictness::Assignment) }
    }
}

fn bound(expression: &Written) -> &Expr {
    let bound = expression.bound().and_then(Opaque::get);
    bound.expect("the binder binds an expression before a definition has it")
}
