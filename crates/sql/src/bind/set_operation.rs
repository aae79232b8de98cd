//! UNION, INTERSECT and EXCEPT: both sides get columns of the same types.

use super::binder::Binder;
use super::json::check_equality;
use super::query::Bound;
use super::typed::Typed;
use super::types::common;
use crate::error::unsupported;
use crate::expr::{Expr, Strictness, lost};
use crate::plan::{Match, Node};
use crate::types::type_name;
use crate::{OutputColumn, SqlError, depth, state};
use hotrow_storage::Type;
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier};

impl Binder<'_> {
    /// Binds a set operation. A chain of the same operation becomes one node.
    pub(super) fn set_operation(&mut self, whole: &SetExpr) -> Result<Bound, SqlError> {
        depth::check()?;
        let SetExpr::SetOperation { op, set_quantifier, .. } = whole else { return self.body(whole, None) };
        let all = match set_quantifier {
            SetQuantifier::All => true,
            SetQuantifier::Distinct | SetQuantifier::None => false,
            _ => return Err(unsupported("a set operation by name")),
        };
        let mut operands = Vec::new();
        let mut at = whole;
        while let SetExpr::SetOperation { left, op: here, set_quantifier: quantifier, right } = at
            && (here, quantifier) == (op, set_quantifier)
            && (*op == SetOperator::Union || operands.is_empty())
        {
            operands.push(&**right);
            at = left;
        }
        operands.push(at);
        let mut bound = Vec::with_capacity(operands.len());
        for (at, operand) in operands.into_iter().rev().enumerate() {
            let before = self.self_references();
            bound.push(self.set_operation(operand)?);
            match op {
                SetOperator::Intersect if all => self.refuse_self_reference(before, "INTERSECT")?,
                SetOperator::Except | SetOperator::Minus if all || at > 0 => {
                    self.refuse_self_reference(before, "EXCEPT")?;
                }
                _ => {}
            }
        }
        let name = match op {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except | SetOperator::Minus => "EXCEPT",
        };
        let (columns, loose) = self.match_columns(&mut bound, name)?;
        if !all {
            columns.iter().try_for_each(|column| check_equality(column.ty))?;
        }
        let mut nodes: Vec<_> = bound.into_iter().map(|bound| bound.node).collect();
        let node = if *op == SetOperator::Union {
            let node = Node::Append(nodes);
            if all { node } else { Node::Distinct(Box::new(node)) }
        } else {
            let (Some(right), Some(left)) = (nodes.pop(), nodes.pop()) else { return Err(lost("an operand")) };
            self.counts.nested_operation()?;
            Node::Match(Box::new(Match { except: *op != SetOperator::Intersect, all, left, right }))
        };
        Ok(Bound { node, columns, loose })
    }

    /// Casts the columns of all operands to the types that they have in common.
    #[allow(clippy::type_complexity, reason = "the columns, and of each whether its type is known: as in Bound")]
    pub(super) fn match_columns(
        &mut self,
        operands: &mut [Bound],
        name: &str,
    ) -> Result<(Vec<OutputColumn>, Vec<bool>), SqlError> {
        let Some(first) = operands.first() else { return Err(lost("an operand")) };
        let mut columns = first.columns.clone();
        if operands.iter().any(|operand| operand.columns.len() != columns.len()) {
            let message = format!("each {name} query must have the same number of columns");
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        let mut loose = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter_mut().enumerate() {
            column.origin = None;
            let mut wanted: Option<Type> = None;
            for operand in operands.iter().filter(|operand| !operand.loose[at]) {
                let ty = operand.columns[at].ty;
                wanted = Some(match wanted {
                    None => ty,
                    Some(known) => common(known, ty).ok_or_else(|| {
                        let (left, right) = (type_name(Some(known)), type_name(Some(ty)));
                        let message = format!("{name} types {left} and {right} cannot be matched");
                        SqlError::new(state::DATATYPE_MISMATCH, message)
                    })?,
                });
            }
            loose.push(wanted.is_none());
            // The domain stays if it is that of all operands.
            let is_of = |operand: &Bound| !operand.loose[at] && operand.columns[at].domain == column.domain;
            if !operands.iter().all(is_of) {
                column.domain = None;
            }
            let Some(ty) = wanted else { continue };
            column.ty = ty;
            for operand in operands.iter_mut().filter(|operand| operand.loose[at]) {
                self.retype(&mut operand.node, at, ty, Strictness::Implicit)?;
                operand.columns[at].ty = ty;
            }
        }
        for operand in operands {
            self.cast_columns(operand, &columns)?;
        }
        Ok((columns, loose))
    }

    /// Casts the columns of a query to the types of these columns.
    pub(super) fn cast_columns(&mut self, bound: &mut Bound, columns: &[OutputColumn]) -> Result<(), SqlError> {
        let mut exprs = Vec::with_capacity(columns.len());
        for (at, (column, wanted)) in bound.columns.iter().zip(columns).enumerate() {
            let typed = Typed::new(Expr::Column(at), column.ty);
            exprs.push(self.coerce(typed, wanted.ty, Strictness::Implicit)?);
        }
        if exprs.iter().any(|expr| !matches!(expr, Expr::Column(_))) {
            let node = std::mem::replace(&mut bound.node, Node::One);
            bound.node = Node::Project(Box::new(node), exprs);
        }
        Ok(())
    }

    /// Gives a type to a column whose type is still open, because the column is a literal, NULL or a parameter.
    pub(super) fn retype(
        &mut self,
        node: &mut Node,
        at: usize,
        ty: Type,
        strictness: Strictness,
    ) -> Result<(), SqlError> {
        match node {
            Node::Project(_, exprs) => {
                let expr = std::mem::replace(&mut exprs[at], Expr::NULL);
                exprs[at] = self.coerce(Typed::unknown(expr), ty, strictness)?;
                Ok(())
            }
            Node::Values(rows) => {
                for row in rows {
                    let expr = std::mem::replace(&mut row[at], Expr::NULL);
                    row[at] = self.coerce(Typed::unknown(expr), ty, strictness)?;
                }
                Ok(())
            }
            Node::Append(inputs) => inputs.iter_mut().try_for_each(|input| self.retype(input, at, ty, strictness)),
            Node::Sort(input, ..) | Node::Distinct(input) | Node::Limit(input, ..) | Node::With(_, input) => {
                self.retype(input, at, ty, strictness)
            }
            Node::Match(sets) => {
                self.retype(&mut sets.left, at, ty, strictness)?;
                self.retype(&mut sets.right, at, ty, strictness)
            }
            _ => Err(lost("a literal")),
        }
    }

    /// Makes texts of the columns whose types are still open.
    pub(super) fn settle(&mut self, bound: &mut Bound) -> Result<(), SqlError> {
        for at in 0..bound.loose.len() {
            if std::mem::take(&mut bound.loose[at]) {
                self.retype(&mut bound.node, at, Type::Text, Strictness::Implicit)?;
            }
        }
        Ok(())
    }
}
