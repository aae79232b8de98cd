//! Rows that are kept while the transaction does something else.

use super::{Exec, Fail, Flow};
use crate::SqlError;
use crate::expr::{Env, Frame, Input, Kept};
use crate::plan::Node;
use std::ops::ControlFlow;

impl Exec<'_> {
    /// Runs a node, and returns these columns of all its rows.
    pub(super) fn collect(&mut self, node: &Node, columns: &[usize]) -> Result<Kept, Fail> {
        let mut kept = Kept::new(columns.len());
        let memory = self.env.memory;
        self.run(node, &mut |row| {
            memory.check_push(&kept)?;
            kept.push(row, columns);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(kept)
    }

    /// Visits the rows of an operator's input, with the environment of the operator's expressions. If the plan keeps
    /// the input, the expressions may have subqueries.
    pub(super) fn each(
        &mut self,
        input: &Node,
        mut visit: impl FnMut(&Env<'_>, &Input<'_>) -> Flow,
    ) -> Result<(), Fail> {
        let Node::Materialise(below, columns) = input else {
            let env = self.env;
            return self.run(input, &mut |row| visit(&env, row));
        };
        let rows = self.collect(below, columns)?;
        self.with_subqueries(|env| push(&rows, env, |row| visit(env, row)))
    }

    /// Returns an executor whose expressions also see this frame.
    pub(super) fn inside<'f>(&'f mut self, frame: &'f Frame<'f>) -> Exec<'f> {
        self.with_env(Env { frames: Some(frame), ..self.env })
    }
}

/// Pushes kept rows until `visit` breaks.
pub(super) fn push(rows: &Kept, env: &Env<'_>, mut visit: impl FnMut(&Input<'_>) -> Flow) -> Result<(), SqlError> {
    for row in rows.rows() {
        env.check_cancelled()?;
        if visit(&Input::Values(row))?.is_break() {
            break;
        }
    }
    Ok(())
}
