//! UNION, INTERSECT, EXCEPT and WITH.

use super::sort::group_key;
use super::subquery::NOBODY;
use super::{Exec, Fail, Sink, kept, width};
use crate::depth;
use crate::expr::{Content, Frame, Input, Kept, Unseen, lost};
use crate::plan::{Match, Node, Plan, Recursive, changes_in_with};
use hotrow_storage::Key;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow::Continue;

/// Returns the key of a computed row. Rows with the same values have equal keys.
fn key_of(row: &Input<'_>) -> Key {
    group_key((0..width(row)).map(|column| row.value(column)))
}

impl Exec<'_> {
    pub(super) fn append(&mut self, inputs: &[Node], sink: Sink<'_>) -> Result<(), Fail> {
        depth::check()?;
        let mut enough = false;
        for input in inputs {
            self.run(input, &mut |row| {
                let flow = sink(row)?;
                enough = flow.is_break();
                Ok(flow)
            })?;
            if enough {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn match_sets(&mut self, sets: &Match, sink: Sink<'_>) -> Result<(), Fail> {
        depth::check()?;
        let memory = self.env.memory;
        let mut others: HashMap<Key, u64> = HashMap::new();
        self.run(&sets.right, &mut |row| {
            memory.check_push(&others)?;
            *others.entry(key_of(row)).or_default() += 1;
            Ok(Continue(()))
        })?;
        // Without ALL, a row that has been seen before counts as one that is not wanted.
        let mut seen = HashSet::new();
        self.run(&sets.left, &mut |row| {
            let key = key_of(row);
            let other = others.get_mut(&key);
            let wanted = match (other, sets.all) {
                (Some(count), true) if *count > 0 => {
                    *count -= 1;
                    !sets.except
                }
                (Some(_), false) => !sets.except,
                (Some(_), true) | (None, _) => sets.except,
            };
            if !wanted {
                return Ok(Continue(()));
            }
            if !sets.all {
                memory.check_push(&seen)?;
                if !seen.insert(key) {
                    return Ok(Continue(()));
                }
            }
            sink(row)
        })
    }

    /// Runs the queries of WITH and keeps their rows, and then runs the query that follows them.
    pub(super) fn with(&mut self, queries: &[(usize, Node)], body: &Node, sink: Sink<'_>) -> Result<(), Fail> {
        depth::check()?;
        let Some(((id, query), others)) = queries.split_first() else { return self.run(body, sink) };
        let rows = self.collect_all(query)?;
        let frame = Frame { id: *id, content: Content::Rows(&rows), next: self.env.frames };
        self.inside(&frame).with(others, body, sink)
    }

    /// Calls `run`, which runs a plan. If the plan's WITH changes rows, the parts of the statement do not see each
    /// other's changes meanwhile.
    pub(super) fn in_parts<R>(&mut self, plan: &Plan, run: impl FnOnce(&mut Exec<'_>) -> R) -> R {
        if !changes_in_with(plan) {
            return run(self);
        }
        let unseen = Unseen::default();
        let frame = Frame { id: NOBODY, content: Content::Unseen(&unseen), next: self.env.frames };
        run(&mut self.inside(&frame))
    }

    /// Runs a query, and returns all its rows with all of their columns.
    pub(super) fn collect_all(&mut self, query: &Node) -> Result<Kept, Fail> {
        let mut rows = Kept::default();
        let memory = self.env.memory;
        self.run(query, &mut |row| {
            memory.check_push(&rows)?;
            rows.push_all(row, width(row));
            Ok(Continue(()))
        })?;
        Ok(rows)
    }

    pub(super) fn reference(&mut self, id: usize, sink: Sink<'_>) -> Result<(), Fail> {
        let rows = Frame::find(self.env.frames, |frame| match frame.content {
            Content::Rows(rows) if frame.id == id => Some(rows),
            _ => None,
        });
        Ok(kept::push(rows.ok_or_else(|| lost("a query of WITH"))?, &self.env, sink)?)
    }

    pub(super) fn recursive(&mut self, query: &Recursive, sink: Sink<'_>) -> Result<(), Fail> {
        depth::check()?;
        let memory = self.env.memory;
        let mut seen = HashSet::new();
        let mut before = Kept::new(query.width);
        let mut enough = false;
        for round in 0.. {
            let mut next = Kept::new(query.width);
            let mut visit = |row: &Input<'_>| {
                memory.check_push(&next)?;
                if query.distinct {
                    memory.check_push(&seen)?;
                    if !seen.insert(key_of(row)) {
                        return Ok(Continue(()));
                    }
                }
                next.push_all(row, query.width);
                let flow = sink(row)?;
                enough = flow.is_break();
                Ok(flow)
            };
            if round == 0 {
                self.run(&query.start, &mut visit)?;
            } else {
                let frame = Frame { id: query.rows, content: Content::Rows(&before), next: self.env.frames };
                self.inside(&frame).run(&query.step, &mut visit)?;
            }
            self.env.check_cancelled()?;
            if enough || next.len() == 0 {
                break;
            }
            before = next;
        }
        Ok(())
    }
}
