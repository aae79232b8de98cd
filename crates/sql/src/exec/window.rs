//! Window functions: the rows are kept, sorted as each window wants them, and gone through partition by partition.

use super::aggregate::State;
use super::sort::compare_rows;
use super::window_frame::{Frame, Partition, Place};
use super::{Exec, Fail, Flow, Sink, recycle};
use crate::expr::{Env, Expr, Input, Kept};
use crate::plan::AggregateCall;
use crate::plan::window::{Window, WindowCall, WindowFunction, WindowSort};
use crate::{SqlError, depth, state};
use hotrow_storage::Value;
use std::ops::{ControlFlow, Range};

/// A call of a window function, with its state while the rows of a partition are visited.
struct Running<'w> {
    call: &'w WindowCall,
    frame: Frame,
    tiles: Tiles,
    folded: Option<Folded>,
}

/// The progress of `ntile` through a partition.
#[derive(Default)]
struct Tiles {
    /// The current bucket, from one; zero before the first row.
    bucket: i32,
    /// The number of rows in the bucket so far.
    rows: usize,
    /// The number of rows that the bucket has room for.
    room: usize,
    /// The number of buckets that have one row more than the others.
    larger: usize,
}

/// The state of an aggregate over the last frame, if that had no gaps.
struct Folded {
    rows: Range<usize>,
    state: State,
    /// The aggregate's result over these rows.
    result: Value<'static>,
}

impl Exec<'_> {
    pub(super) fn window(&mut self, window: &Window, sink: Sink<'_>) -> Result<(), Fail> {
        depth::check()?;
        let rows = self.collect_all(&window.input)?;
        self.with_subqueries(|env| {
            let Some((last, others)) = window.sorts.split_last() else { return Ok(()) };
            env.memory.check_value(rows.len().saturating_mul(2 * size_of::<usize>()))?;
            let mut order: Vec<usize> = (0..rows.len()).collect();
            let mut results = Vec::with_capacity(others.len());
            for sort in others {
                let width = sort.calls.len();
                let cells = rows.len().saturating_mul(width);
                env.memory.check_value(cells.saturating_mul(size_of::<Value<'_>>()))?;
                let mut cells = vec![Value::Null; cells];
                each_row(sort, &rows, &mut order, env, &mut |at, values| {
                    env.memory.check()?;
                    for (cell, value) in cells[at * width..].iter_mut().zip(values.drain(..)) {
                        *cell = value.into_owned();
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                results.push((width, cells));
            }
            let mut kept = Vec::new();
            each_row(last, &rows, &mut order, env, &mut |at, values| {
                let flow;
                kept = {
                    let mut row = recycle(std::mem::take(&mut kept));
                    row.extend(rows.row(at).iter().map(Value::borrowed));
                    for (width, cells) in &results {
                        row.extend(cells[at * width..(at + 1) * width].iter().map(Value::borrowed));
                    }
                    values.drain(..).for_each(|value| row.push(value));
                    flow = sink(&Input::Values(&row))?;
                    recycle(row)
                };
                Ok(flow)
            })
        })
    }
}

/// Sorts rows as a window wants them, and visits each row with its number and the results of the window's functions.
/// Rows that are equal in this order keep the order that they have in `order`.
fn each_row(
    sort: &WindowSort,
    rows: &Kept,
    order: &mut [usize],
    env: &Env<'_>,
    visit: &mut dyn FnMut(usize, &mut Vec<Value<'_>>) -> Flow,
) -> Result<(), SqlError> {
    if !sort.keys.is_empty() {
        order.sort_by(|&left, &right| {
            env.waiter.yield_now();
            compare_rows(rows.row(left), rows.row(right), &sort.keys)
        });
    }
    let running = sort.calls.iter().map(|call| Running::new(call, sort, env));
    let mut running = running.collect::<Result<Vec<_>, _>>()?;
    let (mut kept, mut peers, mut start) = (Vec::new(), Vec::new(), 0);
    while start < order.len() {
        let end = start + peers_of(sort, rows, &order[start..], &mut peers);
        let partition = Partition { rows, order: &order[start..end], peers: &peers };
        running.iter_mut().for_each(Running::begin);
        let mut group = 0;
        for row in 0..partition.len() {
            env.check_cancelled()?;
            if row == partition.peers[group + 1] {
                group += 1;
            }
            let flow;
            kept = {
                let mut values = recycle(std::mem::take(&mut kept));
                for running in &mut running {
                    values.push(running.value(env, &partition, Place { row, group })?);
                }
                flow = visit(partition.order[row], &mut values)?;
                recycle(values)
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        start = end;
    }
    Ok(())
}

/// Returns the length of the partition that begins with the first row. Writes the starts of the groups of equal rows in
/// it, and its end, into `peers`.
fn peers_of(sort: &WindowSort, rows: &Kept, order: &[usize], peers: &mut Vec<usize>) -> usize {
    peers.clear();
    peers.push(0);
    let (partition, keys) = sort.keys.split_at(sort.partition);
    let mut end = 1;
    while end < order.len() {
        let (before, here) = (rows.row(order[end - 1]), rows.row(order[end]));
        if compare_rows(before, here, partition).is_ne() {
            break;
        }
        if compare_rows(before, here, keys).is_ne() {
            peers.push(end);
        }
        end += 1;
    }
    peers.push(end);
    end
}

impl<'w> Running<'w> {
    fn new(call: &'w WindowCall, sort: &WindowSort, env: &Env<'_>) -> Result<Self, SqlError> {
        let frame = Frame::new(&call.frame, sort, env)?;
        Ok(Self { call, frame, tiles: Tiles::default(), folded: None })
    }

    /// Prepares the call for the first row of a partition.
    fn begin(&mut self) {
        self.frame.begin();
        self.tiles = Tiles::default();
        self.folded = None;
    }

    /// Returns the value of the function for a row. The rows of a partition must be visited in their order.
    fn value<'a>(&'a mut self, env: &Env<'a>, partition: &Partition<'a>, here: Place) -> Result<Value<'a>, SqlError> {
        let (rows, peers) = (partition.len(), partition.peers);
        let current = partition.row(here.row);
        let number = |count: usize| Value::Int8(i64::try_from(count).unwrap_or(i64::MAX));
        Ok(match &self.call.function {
            WindowFunction::RowNumber => number(here.row + 1),
            WindowFunction::Rank => number(peers[here.group] + 1),
            WindowFunction::DenseRank => number(here.group + 1),
            WindowFunction::PercentRank if rows <= 1 => Value::Float8(0.0),
            WindowFunction::PercentRank => Value::Float8(peers[here.group] as f64 / (rows - 1) as f64),
            WindowFunction::CumulativeDistribution => Value::Float8(peers[here.group + 1] as f64 / rows as f64),
            WindowFunction::Tile(buckets) => self.tiles.next(rows, || buckets.eval(env, &current))?,
            WindowFunction::Shift { ahead, value, offset, otherwise } => {
                let Some(offset) = offset.eval(env, &current)?.as_int() else { return Ok(Value::Null) };
                let at = i64::try_from(here.row).unwrap_or(i64::MAX);
                let at = if *ahead { at.checked_add(offset) } else { at.checked_sub(offset) };
                match at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < rows) {
                    Some(at) => value.eval(env, &partition.row(at))?,
                    None => otherwise.eval(env, &current)?,
                }
            }
            WindowFunction::First(value) => {
                let parts = self.frame.rows(partition, here)?;
                let first = parts.into_iter().find(|part| !part.is_empty()).map(|part| part.start);
                value_at(value, env, partition, first)?
            }
            WindowFunction::Last(value) => {
                let parts = self.frame.rows(partition, here)?;
                let last = parts.into_iter().rev().find(|part| !part.is_empty()).map(|part| part.end - 1);
                value_at(value, env, partition, last)?
            }
            WindowFunction::Nth(value, n) => {
                let Some(n) = n.eval(env, &current)?.as_int() else { return Ok(Value::Null) };
                let Some(mut skip) = usize::try_from(n).ok().and_then(|n| n.checked_sub(1)) else {
                    let message = "argument of nth_value must be greater than zero";
                    return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_NTH_VALUE, message));
                };
                let mut found = None;
                for part in self.frame.rows(partition, here)? {
                    if skip < part.len() {
                        found = Some(part.start + skip);
                        break;
                    }
                    skip -= part.len();
                }
                value_at(value, env, partition, found)?
            }
            WindowFunction::Aggregate(call) => {
                let parts = self.frame.rows(partition, here)?;
                if self.frame.has_gaps() {
                    let mut state = State::new(call);
                    for part in parts {
                        fold(&mut state, call, env, partition, part)?;
                    }
                    return state.result(call, env, &Input::NONE);
                }
                let [rows, ..] = parts;
                Folded::to(&mut self.folded, rows, call, env, partition)?.borrowed()
            }
        })
    }
}

fn value_at<'a>(
    value: &'a Expr,
    env: &Env<'a>,
    partition: &Partition<'a>,
    row: Option<usize>,
) -> Result<Value<'a>, SqlError> {
    row.map_or(Ok(Value::Null), |row| value.eval(env, &partition.row(row)))
}

/// Adds some more rows of a partition to the state of an aggregate.
fn fold(
    state: &mut State,
    call: &AggregateCall,
    env: &Env<'_>,
    partition: &Partition<'_>,
    rows: Range<usize>,
) -> Result<(), SqlError> {
    for row in rows {
        env.check_cancelled()?;
        state.add(call, env, &partition.row(row))?;
    }
    Ok(())
}

impl Folded {
    /// Returns the aggregate's result over these rows. If they start where the last frame started and end no earlier,
    /// only the new rows are aggregated.
    fn to<'f>(
        folded: &'f mut Option<Folded>,
        rows: Range<usize>,
        call: &AggregateCall,
        env: &Env<'_>,
        partition: &Partition<'_>,
    ) -> Result<&'f Value<'static>, SqlError> {
        let before = folded.take().filter(|known| known.rows.start == rows.start && known.rows.end <= rows.end);
        let known = match before {
            Some(known) if known.rows == rows => known,
            before => {
                let (mut state, from) = match before {
                    Some(known) => (known.state, known.rows.end),
                    None => (State::new(call), rows.start),
                };
                fold(&mut state, call, env, partition, from..rows.end)?;
                let result = state.clone().result(call, env, &Input::NONE)?;
                Folded { rows, state, result }
            }
        };
        Ok(&folded.insert(known).result)
    }
}

impl Tiles {
    /// Returns the bucket of the next row of a partition that has `rows` rows.
    fn next<'v>(
        &mut self,
        rows: usize,
        buckets: impl FnOnce() -> Result<Value<'v>, SqlError>,
    ) -> Result<Value<'static>, SqlError> {
        if self.bucket == 0 {
            let Some(buckets) = buckets()?.as_int() else { return Ok(Value::Null) };
            let Some(buckets) = usize::try_from(buckets).ok().filter(|&buckets| buckets > 0) else {
                let message = "argument of ntile must be greater than zero";
                return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_NTILE, message));
            };
            let (room, larger) = (rows / buckets, rows % buckets);
            // If there are fewer rows than buckets, each row has a bucket of its own.
            *self = match room {
                0 => Self { bucket: 1, rows: 0, room: 1, larger: 0 },
                room => Self { bucket: 1, rows: 0, room: room + usize::from(larger > 0), larger },
            };
        }
        if self.rows == self.room {
            if self.larger > 0 && usize::try_from(self.bucket) == Ok(self.larger) {
                (self.larger, self.room) = (0, self.room - 1);
            }
            (self.bucket, self.rows) = (self.bucket + 1, 0);
        }
        self.rows += 1;
        Ok(Value::Int4(self.bucket))
    }
}
