//! Cursors: DECLARE, FETCH, MOVE and CLOSE.
//!
//! DECLARE computes all rows of the cursor, which are kept. Later changes of its own or of other transactions do not
//! show in them. The rows count towards the limit on memory.

use super::Session;
use super::output::{Output, Tag};
use super::portal::Rest;
use crate::client::{OutputColumn, are_alike};
use crate::exec::Fail;
use crate::parse::cursors::{DeclareCursor, Direction, Fetch};
use crate::plan::Declare;
use crate::{SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use std::collections::{BTreeMap, VecDeque};

/// A session's cursors.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    open: BTreeMap<String, Open>,
}

/// A cursor.
#[derive(Debug)]
struct Open {
    columns: Arc<[OutputColumn]>,
    rows: VecDeque<Vec<Value<'static>>>,
    /// The number of the row at which the cursor stands, from one. Zero is before the first row, and the number of rows
    /// plus one is after the last.
    at: usize,
    /// Whether the cursor can also move backwards.
    scrolls: bool,
    hold: bool,
    /// Whether the transaction that declared the cursor has committed: the cursor then stays open until it is closed.
    outlives: bool,
    /// The number of savepoints that the transaction had when the cursor was declared.
    savepoints: usize,
}

impl Cursors {
    /// Returns the columns of a cursor's rows, or `None` if there is no such cursor.
    pub(super) fn columns(&self, name: &str) -> Option<&[OutputColumn]> {
        self.open.get(name).map(|cursor| &*cursor.columns)
    }

    /// Closes the cursors of a transaction that ends. Its cursors WITH HOLD stay open if it commits.
    #[inline]
    pub(super) fn end_transaction(&mut self, committed: bool) {
        if self.open.is_empty() {
            return;
        }
        self.open.retain(|_, cursor| {
            cursor.outlives |= cursor.hold && committed;
            cursor.outlives
        });
    }

    /// Closes the cursors that were declared after the savepoint to which the transaction rolls back. `savepoints` is
    /// the number of savepoints that are left, that one included.
    pub(super) fn roll_back_to(&mut self, savepoints: usize) {
        self.open.retain(|_, cursor| cursor.outlives || cursor.savepoints < savepoints);
    }

    /// Assigns the cursors that were declared after a released savepoint to the part of the transaction around it.
    /// `savepoints` is the number of savepoints that are left.
    pub(super) fn release(&mut self, savepoints: usize) {
        self.open.values_mut().for_each(|cursor| cursor.savepoints = cursor.savepoints.min(savepoints));
    }

    /// Closes all cursors.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// Closes a cursor. Returns whether there was a cursor of this name.
    pub(super) fn close(&mut self, name: &str) -> bool {
        self.open.remove(name).is_some()
    }

    fn get(&mut self, name: &str) -> Result<&mut Open, SqlError> {
        self.open.get_mut(name).ok_or_else(|| no_cursor(name))
    }
}

impl Open {
    /// Moves the cursor. Returns the numbers of the first and the last row to send, or `None` if there is no row to
    /// send. The first number is greater than the last if the cursor moves backwards.
    ///
    /// # Errors
    /// 55000 if the cursor would move backwards and was declared with NO SCROLL.
    fn go(&mut self, direction: Direction) -> Result<Option<(usize, usize)>, SqlError> {
        let (at, end) = (self.at, self.rows.len() + 1);
        let target = match direction {
            Direction::Forward(0) => at,
            Direction::Forward(count) | Direction::Relative(count) => moved(at, count, end),
            Direction::ForwardAll => end,
            Direction::BackwardAll => 0,
            Direction::Absolute(number) if number >= 0 => moved(0, number, end),
            Direction::Absolute(number) => moved(end, number, end),
        };
        if target < at && !self.scrolls {
            let error = SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward");
            return Err(error.hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.at = target;
        let is_row = |number: usize| (1..end).contains(&number);
        let single = matches!(direction, Direction::Forward(0) | Direction::Absolute(_) | Direction::Relative(_));
        Ok(match single {
            true => is_row(target).then_some((target, target)),
            false if target > at => (at + 1 < end).then_some((at + 1, target.min(end - 1))),
            false => (target < at && at > 1).then(|| (at - 1, target.max(1))),
        })
    }
}

/// Returns the row number that is `count` rows after `from`, or before it if `count` is negative. The result is from
/// zero (before the first row) to `end` (after the last row).
fn moved(from: usize, count: i64, end: usize) -> usize {
    let distance = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 { from.saturating_sub(distance) } else { from.saturating_add(distance).min(end) }
}

impl Session {
    /// DECLARE: runs the query and keeps its rows.
    pub(super) fn declare_cursor(&mut self, declare: &Declare, params: &[Value<'static>]) -> Result<Tag, Fail> {
        let DeclareCursor { name, scroll, hold, .. } = &declare.cursor;
        if !hold {
            self.require_block("DECLARE CURSOR")?;
        }
        if self.kept.cursors.columns(name).is_some() || self.kept.portals.get(name).is_some() {
            return Err(SqlError::new(state::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")).into());
        }
        if self.kept.cursors.open.len() >= self.database.config.max_portals {
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many cursors").into());
        }
        let mut rest = Rest::new(self.database.memory_limit());
        self.execute_any(&declare.query, params, &mut Output::extended(&mut rest))?;
        let cursor = Open {
            columns: declare.query.columns().unwrap_or_default().into(),
            rows: rest.into_rows(),
            at: 0,
            scrolls: *scroll != Some(false),
            hold: *hold,
            outlives: false,
            savepoints: self.transaction.marks.len(),
        };
        self.kept.cursors.open.insert(name.clone(), cursor);
        Ok(Tag::Word("DECLARE CURSOR"))
    }

    /// FETCH and MOVE. `described` are the columns that were described to the client, if any were.
    pub(super) fn fetch(
        &mut self,
        fetch: &Fetch,
        described: Option<&[OutputColumn]>,
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let cursor = self.kept.cursors.get(&fetch.name)?;
        let columns = cursor.columns.clone();
        if !fetch.silent && described.is_some_and(|described| !are_alike(described, &columns)) {
            return Err(SqlError::changed_result().into());
        }
        let range = cursor.go(fetch.direction)?;
        let count = range.map_or(0, |(first, last)| first.abs_diff(last) + 1);
        if fetch.silent {
            return Ok(Tag::Rows("MOVE", count as u64));
        }
        output.columns(Some(&columns))?;
        let (first, last) = range.unwrap_or_default();
        for step in 0..count {
            let number = if first <= last { first + step } else { first - step };
            if self.waiter.is_cancelled() {
                return Err(hotrow_txn::Abort::Cancelled.into());
            }
            output.row(None, &self.kept.cursors.get(&fetch.name)?.rows[number - 1])?;
        }
        Ok(Tag::Rows("FETCH", count as u64))
    }

    /// CLOSE; `None` closes all cursors.
    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<Tag, SqlError> {
        match name {
            None => {
                self.kept.cursors.clear();
                Ok(Tag::Word("CLOSE CURSOR ALL"))
            }
            Some(name) if self.kept.cursors.close(name) => Ok(Tag::Word("CLOSE CURSOR")),
            Some(name) => Err(no_cursor(name)),
        }
    }
}

fn no_cursor(name: &str) -> SqlError {
    SqlError::new(state::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
