//! Foresees the accesses of a statement before it runs, as far as its values are known.
//!
//! A value is *known* if it looks at no row, and at no variable of a procedure that may hold a row's value. If the
//! computation of a known value fails, the plan will fail with the same error, so that no access is missed.

mod call;
mod form;

pub(crate) use form::{has_few_rows, name_several_rows};

use super::scan;
use crate::SqlError;
use crate::catalog::Table;
use crate::catalog::foreign_key::ForeignKey;
use crate::expr::{Env, Expr, Input};
use crate::plan::table_function::RowsOf;
use crate::plan::{Access, Delete, Insert, Node, OnConflict, Path, Plan, Range, Source, Update};
use hotrow_storage::{IndexRef, Key, KeySpec, Row, RowRef};
use hotrow_txn::{Accesses, Intent, RangeAccess, Scan};
use std::ops::Bound;

/// Adds the accesses of a plan to the access set. Returns `false` if the plan may touch more, which only running it
/// tells. If a value cannot be computed, the result is `true`, because the plan will fail there.
pub(crate) fn fill(plan: &Plan, env: Env<'_>, accesses: &mut Accesses) -> bool {
    let mut foresight = Foresight { env, unknown: &[], only_rows: None, accesses };
    foresight.plan(plan, false).unwrap_or(true)
}

/// Adds the rows of known keys that a plan will touch to the access set, until it has more than `rows_max` rows.
pub(crate) fn add_rows(plan: &Plan, env: Env<'_>, rows_max: usize, accesses: &mut Accesses) {
    let mut foresight = Foresight { env, unknown: &[], only_rows: Some(rows_max), accesses };
    // The plan locks rows that are missing from the set when it reaches them. An error is ignored here, because the
    // plan will fail with the same error.
    let _ = foresight.plan(plan, false);
}

/// Whether a plan is a query whose values tell all that it will touch. Then its access set cannot prove incomplete
/// after rows have been sent.
pub(crate) fn is_known_query(plan: &Plan) -> bool {
    fn is_known(node: &Node, limited: bool) -> bool {
        match node {
            Node::One | Node::Values(_) | Node::System(_) => true,
            Node::Function(rows) => !rows.has_subquery(),
            Node::Table(access) => !limited || matches!(access.path, Path::Key(_)),
            Node::Filter(input, _) | Node::Project(input, _) | Node::Distinct(input) => is_known(input, limited),
            Node::ProjectSet(input, functions) => {
                !functions.iter().any(RowsOf::has_subquery) && is_known(input, limited)
            }
            Node::Aggregate(input, ..) | Node::Sort(input, ..) => is_known(input, false),
            Node::GroupingSets(groups) => is_known(&groups.input, false),
            Node::Window(window) => is_known(&window.input, false),
            Node::Limit(input, ..) => is_known(input, true),
            Node::HashJoin(join) => is_known(&join.inner, false) && is_known(&join.outer, limited),
            Node::Append(inputs) => inputs.iter().all(|input| is_known(input, limited)),
            Node::Match(sets) => is_known(&sets.left, limited) && is_known(&sets.right, false),
            Node::With(queries, body) => {
                queries.iter().all(|(_, query)| is_known(query, false)) && is_known(body, limited)
            }
            Node::Reference(_) => true,
            Node::Measured(measured) => is_known(&measured.node, limited),
            // These look for rows by the values of other rows.
            Node::NestedLoop(_) | Node::Materialise(..) | Node::Recursive(_) => false,
            Node::Change(_) => false,
        }
    }
    matches!(plan, Plan::Query(node) if is_known(node, false))
}

/// The values that are known before a statement runs, and the access set that is built from them.
///
/// The functions return whether the access set has everything that the statement will touch. Their error is the error
/// with which the statement will fail.
struct Foresight<'f> {
    env: Env<'f>,
    /// Whether each parameter's value is unknown; the known values are in `env`.
    unknown: &'f [bool],
    /// The number of rows that the caller wants at most, if it wants only rows. Accesses that are not known are then
    /// left out.
    only_rows: Option<usize>,
    accesses: &'f mut Accesses,
}

impl Foresight<'_> {
    fn knows(&self, expr: &Expr) -> bool {
        expr.is_row_independent() && !self.waits_for(expr) && !expr.any(&mut |part| matches!(part, Expr::Outer(..)))
    }

    fn wants_only_rows(&self) -> bool {
        self.only_rows.is_some()
    }

    /// Whether an expression depends on a parameter whose value is not known.
    fn waits_for(&self, expr: &Expr) -> bool {
        !self.unknown.is_empty()
            && expr.any(&mut |part| matches!(part, Expr::Param(at) if self.unknown.get(*at) == Some(&true)))
    }

    /// Adds the accesses of a plan. `limited` says that the caller wants only the first row.
    fn plan(&mut self, plan: &Plan, limited: bool) -> Result<bool, SqlError> {
        match plan {
            Plan::Query(node) => self.node(node, limited),
            Plan::CreateAs(create) => self.node(&create.query, false),
            Plan::Insert(insert) => self.insert(insert),
            Plan::Update(update) => {
                let rows = update.source.is_none() && self.path(&update.access, Intent::Write, false)?;
                Ok(rows && update.consequences.is_none() && !moves_entries(update) && !update.rules.ask())
            }
            Plan::Delete(delete) => self.delete(delete),
            // The rows are those of a join.
            Plan::Merge(_) => Ok(false),
            // The functions of triggers may change any rows.
            Plan::Instead(_) => Ok(false),
            Plan::Call(call) => Ok(self.call(call)),
            Plan::Analyze(analysis) => self.plan(&analysis.statement.plan, limited),
            Plan::Empty | Plan::Ddl(_) | Plan::Utility(_) | Plan::Explain(_) | Plan::Declare(_) => Ok(false),
        }
    }

    /// Adds the accesses of a node. `limited` says that the consumer may stop before the last row, so that the range
    /// that is read is shorter than its bounds say.
    fn node(&mut self, node: &Node, limited: bool) -> Result<bool, SqlError> {
        match node {
            Node::One | Node::Values(_) | Node::System(_) => Ok(true),
            Node::Function(rows) => Ok(!rows.has_subquery()),
            Node::Table(access) => {
                let intent = if access.lock.is_update() { Intent::Write } else { Intent::Read };
                self.path(access, intent, limited)
            }
            Node::Filter(input, _) | Node::Project(input, _) | Node::Distinct(input) => self.node(input, limited),
            Node::ProjectSet(input, functions) => {
                Ok(!functions.iter().any(RowsOf::has_subquery) & self.node(input, limited)?)
            }
            Node::Aggregate(input, ..) | Node::Sort(input, ..) => self.node(input, false),
            Node::GroupingSets(groups) => self.node(&groups.input, false),
            Node::Window(window) => self.node(&window.input, false),
            Node::Limit(input, limit, offset) => {
                let asks = limit.iter().chain(offset).any(Expr::has_subquery);
                Ok(!asks && self.node(input, true)?)
            }
            Node::HashJoin(join) => Ok(self.node(&join.inner, false)? & self.node(&join.outer, limited)?),
            Node::Append(inputs) => self.nodes(inputs, limited),
            Node::Match(sets) => Ok(self.node(&sets.right, false)? & self.node(&sets.left, limited)?),
            Node::With(queries, body) => {
                Ok(self.nodes(queries.iter().map(|(_, query)| query), false)? & self.node(body, limited)?)
            }
            Node::Reference(_) => Ok(true),
            // Whether later parts see the rows of the change is not followed.
            Node::Change(_) => Ok(false),
            Node::Measured(measured) => self.node(&measured.node, limited),
            // These look for rows by the values of other rows.
            Node::NestedLoop(_) | Node::Materialise(..) | Node::Recursive(_) => Ok(false),
        }
    }

    /// Adds the accesses of all of these nodes, also of those that follow a node whose accesses are not all known.
    fn nodes<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>, limited: bool) -> Result<bool, SqlError> {
        nodes.into_iter().try_fold(true, |all, node| Ok(self.node(node, limited)? & all))
    }

    fn path(&mut self, access: &Access, intent: Intent, limited: bool) -> Result<bool, SqlError> {
        let table = &access.table;
        let scan = match &access.path {
            Path::Key(values) => {
                if !values.iter().all(|value| self.knows(value)) {
                    return Ok(false);
                }
                if let Some(key) = scan::key(&table.key, values, &self.env)? {
                    self.row(table, key, intent);
                }
                return Ok(true);
            }
            Path::Ranges(ranges) => {
                if limited || !access.path.exprs().into_iter().all(|value| self.knows(value)) {
                    return Ok(false);
                }
                for way in scan::ways(table, ranges, &self.env)? {
                    match way {
                        scan::Way::Key(key) => self.row(table, key, intent),
                        scan::Way::Range(scan) => self.range(scan, intent),
                    }
                }
                return Ok(true);
            }
            Path::Full | Path::Range(_) if self.wants_only_rows() => return Ok(false),
            Path::Full if limited => return Ok(false),
            Path::Full => Some(Scan::all(table.id, IndexRef::Primary)),
            Path::Range(range) => {
                let known = access.path.exprs().into_iter().all(|value| self.knows(value));
                if !known || (limited && !has_one_row(table, range)) {
                    return Ok(false);
                }
                scan::range_scan(table, range, &self.env)?
            }
        };
        if let Some(scan) = scan {
            self.range(scan, intent);
        }
        Ok(true)
    }

    /// Whether the set has more rows than the caller wants.
    fn has_enough(&self) -> bool {
        self.only_rows.is_some_and(|most| self.accesses.rows().len() > most)
    }

    fn row(&mut self, table: &Table, key: Key, intent: Intent) {
        if !self.has_enough() {
            self.accesses.push(table.id, key, intent);
        }
    }

    fn range(&mut self, Scan { table, index, lower, upper, .. }: Scan, intent: Intent) {
        if !self.wants_only_rows() {
            self.accesses.push_range(RangeAccess { table, index, lower, upper, intent });
        }
    }

    fn delete(&mut self, delete: &Delete) -> Result<bool, SqlError> {
        let table = &delete.access.table;
        if self.wants_only_rows() && delete.source.is_none() {
            return self.path(&delete.access, Intent::Write, false);
        }
        let (Path::Key(values), None) = (&delete.access.path, &delete.source) else { return Ok(false) };
        // The keys of the entries in the other indexes come from columns that have not been read yet.
        if !table.schema.indexes.is_empty()
            || delete.consequences.is_some()
            || !values.iter().all(|value| self.knows(value))
        {
            return Ok(false);
        }
        if let Some(key) = scan::key(&table.key, values, &self.env)? {
            self.accesses.push_entry(table.id, IndexRef::Primary, key.clone(), key.clone());
            self.row(table, key, Intent::Write);
        }
        Ok(true)
    }

    fn insert(&mut self, insert: &Insert) -> Result<bool, SqlError> {
        let fires = insert.consequences.as_ref().is_some_and(|graph| graph.has_triggers());
        let Source::Rows(rows) = &insert.source else { return Ok(false) };
        if fires || insert.rules.ask() || insert.defaults.iter().flatten().any(Expr::has_subquery) {
            return Ok(false);
        }
        let mut row = Row::new(&insert.table.layout);
        for exprs in rows {
            if self.has_enough() {
                return Ok(false);
            }
            if !self.new_row(insert, exprs, &mut row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a row that will be inserted, and its index entries. Accesses that depend on a volatile function, such as a
    /// random key, are left out: the function returns another value when the statement runs, and no other transaction
    /// can know that value. The set is then as complete as it can be, and the result is `true`.
    fn new_row(&mut self, insert: &Insert, exprs: &[Option<Expr>], row: &mut Row) -> Result<bool, SqlError> {
        let table = &*insert.table;
        let value_of = |column: usize| {
            let given = insert.targets.iter().position(|&target| target == column).and_then(|at| exprs[at].as_ref());
            given.or_else(|| insert.defaults.get(column).and_then(Option::as_ref))
        };
        let graphs = insert.consequences.iter().filter(|_| self.only_rows.is_none());
        let references: Vec<_> = graphs.flat_map(|graph| &graph.nodes[0].references).collect();
        let of_indexes = table.indexes().flat_map(|index| table.index_columns(index)).copied();
        let of_keys = references.iter().flat_map(|reference| &reference.key.columns).copied();
        let (mut volatile, rules) = (Vec::new(), &insert.rules);
        let wanted = with_sources(table, of_indexes.chain(of_keys));
        for &column in &wanted {
            if table.rules.computation(column).is_some() {
                continue;
            }
            let value = value_of(column).unwrap_or(&Expr::NULL);
            if self.waits_for(value) {
                return Ok(false);
            }
            if value.is_row_independent() {
                let value = value.eval(&self.env, &Input::NONE)?;
                row.change(|row| row.set(column, &value));
            } else {
                volatile.push(column);
            }
        }
        let computed = rules.generated.iter().chain(&rules.hidden);
        for (column, expr) in computed.filter(|(column, _)| wanted.contains(column)) {
            if expr.any(&mut |part| matches!(part, Expr::Column(read) if volatile.contains(read))) {
                volatile.push(*column);
            } else {
                let value = expr.eval(&self.env, &Input::Row(row.as_ref()))?.into_owned();
                row.change(|row| row.set(*column, &value));
            }
        }
        // If only rows are wanted, referenced rows are left out: only their keys are held, so that others may change
        // the rows.
        for reference in references {
            let known = reference.key.columns.iter().filter(|column| !volatile.contains(column));
            let values: Vec<_> = known.map(|&column| row.as_ref().value(column).into_owned()).collect();
            let is_known = values.len() == reference.key.columns.len() && ForeignKey::refers(&values);
            let env = Env { params: &values, frames: None, ..self.env };
            let mut of_reference = Foresight { env, unknown: &[], accesses: &mut *self.accesses, ..*self };
            if is_known && !of_reference.path(&reference.lookup, Intent::Read, false)? {
                return Ok(false);
            }
        }
        if table.is_key_hidden() {
            // The hidden number of the row will be greater than those of all rows that are there.
            row.change(|row| row.set_int8(table.stored(), i64::MAX));
        }
        let row = row.as_ref();
        let is_known = |columns: &[usize]| !columns.iter().any(|column| volatile.contains(column));
        if !is_known(&table.schema.key) || table.schema.key.iter().any(|&column| row.is_null(column)) {
            return Ok(true);
        }
        let key = table.key_of(row);
        let only_rows = self.wants_only_rows();
        let indexes = table.indexes().filter(|_| !only_rows);
        for index in indexes.filter(|&index| is_known(table.index_columns(index))) {
            self.new_entry(insert, index, &key, row);
        }
        if !table.is_key_hidden() {
            self.row(table, key, Intent::Write);
        } else if table.schema.partitioned && !self.wants_only_rows() {
            // No other transaction knows the number of the row. This key, which no row has, says which partition it
            // will be in.
            self.row(table, key, Intent::Read);
        }
        Ok(true)
    }

    fn new_entry(&mut self, insert: &Insert, index: IndexRef, key: &Key, row: RowRef<'_>) {
        let table = &*insert.table;
        if index == IndexRef::Primary {
            if !table.is_key_hidden() {
                self.accesses.push_entry(table.id, index, key.clone(), key.clone());
            }
            return;
        }
        let columns = key_of(table.index_key(index), row);
        let watched = match &insert.on_conflict {
            OnConflict::Skip(Some(watched)) | OnConflict::Update(watched, _) => *watched == index,
            OnConflict::Skip(None) | OnConflict::Fail => false,
        };
        if watched && !table.index_columns(index).iter().any(|&column| row.is_null(column)) {
            // The insert looks for a row that already has these values.
            let (lower, upper) = (Bound::Included(columns.clone()), Bound::Included(columns.clone()));
            self.accesses.push_range(RangeAccess { table: table.id, index, lower, upper, intent: Intent::Write });
        }
        self.accesses.push_entry(table.id, index, columns, key.clone());
    }
}

/// Whether a range can hold at most one row, because it fixes all columns of a unique index.
fn has_one_row(table: &Table, range: &Range) -> bool {
    let unique = match range.index {
        IndexRef::Primary => true,
        IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
    };
    unique && range.equal.len() == table.index_columns(range.index).len()
}

/// Returns these columns of a table, together with all columns from which the computed ones among them are computed,
/// directly or through other computed columns.
fn with_sources(table: &Table, columns: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all: Vec<usize> = columns.collect();
    let mut at = 0;
    while at < all.len() {
        let sources = table.rules.computation(all[at]).map_or(&[][..], |value| &value.columns);
        let new: Vec<_> = sources.iter().copied().filter(|source| !all.contains(source)).collect();
        all.extend(new);
        at += 1;
    }
    all
}

/// Whether an UPDATE may move entries of an index to other keys.
fn moves_entries(update: &Update) -> bool {
    let indexed =
        |column: &usize| update.access.table.schema.indexes.iter().any(|index| index.columns.contains(column));
    update.moves || update.changed().any(|column| indexed(&column))
}

fn key_of(spec: &KeySpec, row: RowRef<'_>) -> Key {
    spec.key(spec.parts().iter().map(|part| row.value(part.column)))
}
