//! Rows that are kept while the transaction does something else.

use super::{Exec, Fail, Flow};
use crate::SqlError;
use crate::expr::{Env, Frame, Input};
use crate::memory::Growing;
use crate::plan::Node;
use hotrow_storage::Value;
use std::ops::ControlFlow;

/// Rows of one width, one after the other in one piece of memory.
#[derive(Debug, Default)]
pub struct Kept {
    width: usize,
    count: usize,
    values: Vec<Value<'static>>,
}

impl Kept {
    /// No rows yet, of so many columns.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, count: 0, values: Vec::new() }
    }

    /// Keeps these columns of a row.
    pub(crate) fn push(&mut self, row: &Input<'_>, columns: &[usize]) {
        debug_assert_eq!(columns.len(), self.width);
        self.values.extend(columns.iter().map(|&column| row.value(column).into_owned()));
        self.count += 1;
    }

    /// Keeps a row as it is.
    pub(crate) fn push_all(&mut self, row: &Input<'_>, width: usize) {
        self.width = width;
        self.values.extend((0..width).map(|column| row.value(column).into_owned()));
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn row(&self, at: usize) -> &[Value<'static>] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Value<'static>]> {
        (0..self.count).map(|at| self.row(at))
    }
}

impl Growing for Kept {
    fn growth_bytes(&self) -> usize {
        let is_full = self.values.len() + self.width > self.values.capacity();
        if is_full { self.values.capacity().saturating_mul(2 * size_of::<Value<'_>>()) } else { 0 }
    }
}

impl Exec<'_> {
    /// The rows of a node, of which the columns are kept.
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

    /// Visits the rows of an operator's input, with what its expressions know. If the input is kept, that is the way to subqueries,
    /// too.
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

    /// The same with something more around the query.
    pub(super) fn inside<'f>(&'f mut self, frame: &'f Frame<'f>) -> Exec<'f> {
        let env = Env { frames: Some(frame), ..self.env };
        Exec { txn: &mut *self.txn, env, engine: self.engine, scratch: &mut *self.scratch }
    }
}

/// Pushes kept rows until that is enough.
pub(super) fn push(rows: &Kept, env: &Env<'_>, mut visit: impl FnMut(&Input<'_>) -> Flow) -> Result<(), SqlError> {
    for row in rows.rows() {
        env.check_cancelled()?;
        if visit(&Input::Values(row))?.is_break() {
            break;
        }
    }
    Ok(())
}
