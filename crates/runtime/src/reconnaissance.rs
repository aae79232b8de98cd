//! A reconnaissance: a run without effects that finds out which rows, ranges and index entries a transaction will
//! access.

use hotrow_storage::{
    IndexId, IndexKind, IndexRef, Key, KeySpec, Row, RowLayout, RowMut, RowRef, TableId, TableSchema,
};
use hotrow_sync::Arc;
use hotrow_txn::{
    Abort, Accesses, Begin, Diagnostics, Direction, Holding, Intent, Isolation, LockFor, Planned, RangeAccess,
    Savepoint, Scan, Transaction, Write, Yielding, forward, standard,
};
use std::collections::HashMap;
use std::ops::{Bound, ControlFlow};

/// A cache of how to make the keys of each table's indexes, which reconnaissances fill and use. Its entries stay valid:
/// a table's definition never changes, and its number is never reused.
#[derive(Debug, Default)]
pub struct Shapes {
    tables: HashMap<TableId, Arc<Shape>>,
}

/// The number of tables at which all rules are forgotten, because tables are made and dropped.
const SHAPES_MAX: usize = 1024;

impl Shapes {
    fn of<T: Transaction + ?Sized>(&mut self, txn: &mut T, table: TableId) -> Result<Arc<Shape>, Abort> {
        if let Some(shape) = self.tables.get(&table) {
            return Ok(shape.clone());
        }
        let shape = Arc::new(Shape::new(&*txn.schema_of(table).ok_or(Abort::User)?));
        if self.tables.len() == SHAPES_MAX {
            self.tables.clear();
        }
        self.tables.insert(table, shape.clone());
        Ok(shape)
    }
}

/// The rules that make the keys of one table's indexes.
#[derive(Debug)]
struct Shape {
    layout: std::sync::Arc<RowLayout>,
    key: KeySpec,
    ordered: bool,
    indexes: Vec<(IndexRef, KeySpec, IndexKind)>,
}

impl Shape {
    fn new(schema: &TableSchema) -> Self {
        let index = |(position, index): (usize, &hotrow_storage::IndexSchema)| {
            let spec = KeySpec::bytes(&schema.columns, &index.columns);
            (IndexRef::Secondary(IndexId(position as u16)), spec, index.kind)
        };
        Self {
            layout: std::sync::Arc::new(RowLayout::new(&schema.columns)),
            key: KeySpec::new(&schema.columns, &schema.key),
            ordered: schema.ordered,
            indexes: schema.indexes.iter().enumerate().map(index).collect(),
        }
    }

    fn key_of(&self, row: RowRef<'_>) -> Key {
        key_of(&self.key, row)
    }

    /// Whether the entries of an index have an order, so that a scan can stop within a range.
    fn is_ordered(&self, index: IndexRef) -> bool {
        match index {
            IndexRef::Primary => self.ordered,
            IndexRef::Secondary(IndexId(index)) => {
                self.indexes.get(usize::from(index)).is_some_and(|(_, _, kind)| *kind == IndexKind::Ordered)
            }
        }
    }

    /// Returns the key under which a row stands in an ordered index.
    fn full_key(&self, index: IndexRef, row: RowRef<'_>) -> Key {
        let key = self.key_of(row);
        match index {
            IndexRef::Primary => key,
            IndexRef::Secondary(IndexId(index)) => {
                let (_, spec, _) = &self.indexes[usize::from(index)];
                let columns = key_of(spec, row);
                if spec.includes(&self.key) {
                    return columns;
                }
                let mut builder = hotrow_storage::KeyBuilder::default();
                builder.push_key(&columns);
                builder.push_key(&key);
                builder.finish()
            }
        }
    }
}

fn key_of(spec: &KeySpec, row: RowRef<'_>) -> Key {
    spec.key(spec.parts().iter().map(|part| row.value(part.column)))
}

/// A transaction object that finds out which data a procedure will access. It reads committed data, changes nothing,
/// and adds every access to an access set.
///
/// Writes return what they would return on the committed rows, but later reads do not see them. So the set may be wrong
/// for a procedure that depends on its own writes. The later, real run then aborts, and the set is corrected. Dropping
/// the value ends the reconnaissance.
#[derive(Debug)]
pub struct Reconnaissance<'a, T: Transaction + ?Sized> {
    txn: &'a mut T,
    shapes: &'a mut Shapes,
    accesses: &'a mut Accesses,
}

impl<'a, T: Transaction + ?Sized> Reconnaissance<'a, T> {
    /// Begins a reconnaissance on `txn`, on which no transaction may be running. All accesses are added to `accesses`.
    ///
    /// # Errors
    /// The abort, if the engine refuses to begin.
    pub fn begin(txn: &'a mut T, shapes: &'a mut Shapes, accesses: &'a mut Accesses) -> Result<Self, Abort> {
        let begin = Begin { reconnaissance: true, one_shot: true, ..Begin::at(Isolation::ReadCommitted) };
        if let Err(abort) = txn.begin(&begin) {
            txn.abort();
            return Err(abort);
        }
        Ok(Self { txn, shapes, accesses })
    }

    fn shape(&mut self, table: TableId) -> Result<Arc<Shape>, Abort> {
        self.shapes.of(self.txn, table)
    }

    /// Adds the entries of a row that is inserted or deleted, in the primary index and in all others.
    fn push_entries(&mut self, table: TableId, shape: &Shape, row: RowRef<'_>) {
        let key = shape.key_of(row);
        self.accesses.push_entry(table, IndexRef::Primary, key.clone(), key.clone());
        for (index, spec, _) in &shape.indexes {
            self.accesses.push_entry(table, *index, key_of(spec, row), key.clone());
        }
    }
}

impl<T: Transaction + ?Sized> Transaction for Reconnaissance<'_, T> {
    forward!(txn: capabilities, statistics);
    standard!(takes_residual);

    /// Fails, since the reconnaissance has begun already.
    fn begin(&mut self, _begin: &Begin<'_>) -> Result<(), Abort> {
        Err(Abort::User)
    }

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.accesses.push(table, key.clone(), Intent::Read);
        self.txn.read(table, key)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.accesses.push(table, key.clone(), Intent::Write);
        self.txn.read(table, key)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.accesses.push(table, key.clone(), Intent::Write);
        let shape = self.shape(table)?;
        let mut copy = Row::new(&shape.layout);
        match self.txn.read(table, key)? {
            None => return Ok(Write::Absent),
            Some(row) => copy.copy_from(row),
        }
        let columns = |row: RowRef<'_>| shape.indexes.iter().map(|(_, spec, _)| key_of(spec, row)).collect::<Vec<_>>();
        let before = columns(copy.as_ref());
        copy.change(change)?;
        let after = columns(copy.as_ref());
        for (((index, ..), before), after) in shape.indexes.iter().zip(before).zip(after) {
            if before != after {
                self.accesses.push_entry(table, *index, before, key.clone());
                self.accesses.push_entry(table, *index, after, key.clone());
            }
        }
        Ok(Write::Done)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        let shape = self.shape(table)?;
        let key = shape.key_of(row);
        self.accesses.push(table, key.clone(), Intent::Write);
        if self.txn.read(table, &key)?.is_some() {
            return Ok(Write::Duplicate(IndexRef::Primary));
        }
        self.push_entries(table, &shape, row);
        Ok(Write::Done)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        self.accesses.push(table, key.clone(), Intent::Write);
        let shape = self.shape(table)?;
        let mut copy = Row::new(&shape.layout);
        match self.txn.read(table, key)? {
            None => return Ok(Write::Absent),
            Some(row) => copy.copy_from(row),
        }
        self.push_entries(table, &shape, copy.as_ref());
        Ok(Write::Done)
    }

    /// Adds the range as far as the scan visited it. The range includes its rows.
    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        let shape = self.shape(scan.table)?;
        let intent = match scan.lock {
            LockFor::Read => Intent::Read,
            LockFor::Update | LockFor::UpdateFree | LockFor::UpdateNoWait => Intent::Write,
        };
        let (mut lower, mut upper) = (scan.lower.clone(), scan.upper.clone());
        let ordered = shape.is_ordered(scan.index);
        let read = Scan { lock: LockFor::Read, ..scan.clone() };
        let scanned = self.txn.scan(&read, &mut |row| {
            let flow = visit(row);
            if flow.is_break() && ordered {
                let last = Bound::Included(shape.full_key(scan.index, row));
                *(if scan.direction == Direction::Forward { &mut upper } else { &mut lower }) = last;
            }
            flow
        });
        self.accesses.push_range(RangeAccess { table: scan.table, index: scan.index, lower, upper, intent });
        scanned
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint(0)
    }

    fn rollback_to(&mut self, _savepoint: Savepoint) {}

    fn commit(&mut self) -> Result<(), Abort> {
        Ok(())
    }

    fn abort(&mut self) {}
}

impl<T: Transaction + ?Sized> Holding for Reconnaissance<'_, T> {
    forward!(txn: hold_reads, own_table);
    standard!(hold_row, check_owned_table);
}

/// Makes no room for others, since a reconnaissance writes nothing that others could have, and is not undone to wait
/// for them.
impl<T: Transaction + ?Sized> Yielding for Reconnaissance<'_, T> {
    forward!(txn: idle);
    standard!(give_way, retire_writes);
}

impl<T: Transaction + ?Sized> Planned for Reconnaissance<'_, T> {
    forward!(txn: schema_of, add_missing, announce);
}

impl<T: Transaction + ?Sized> Diagnostics for Reconnaissance<'_, T> {
    forward!(txn: deadlock, exclusion, prospect);
}

impl<T: Transaction + ?Sized> Drop for Reconnaissance<'_, T> {
    fn drop(&mut self) {
        self.txn.abort();
    }
}
