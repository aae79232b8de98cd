//! The random transactions of a trial.

use super::table::{BY_CODE, BY_GROUP, CODE, GROUP, GROUPS, TrialTable};
use fastrand::Rng;
use hotrow_storage::{IndexRef, Key, Value};
use hotrow_txn::{
    Abort, Accesses, Direction, Intent, LockFor, Procedure, RangeAccess, Savepoint, Scan, Transaction, Write,
};
use std::ops::{Bound, ControlFlow};

/// The kinds of transactions that a trial runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TrialWorkload {
    /// Read and update rows that are there: dirty, lost and skewed reads and writes
    Registers,
    /// Scan ranges of the key and of an index, insert and delete in them, move rows from one to another: phantoms
    Predicate,
}

impl TrialWorkload {
    /// Returns the number of keys: few, so that transactions conflict.
    pub(super) fn keys(self) -> i64 {
        match self {
            TrialWorkload::Registers => 24,
            TrialWorkload::Predicate => 32,
        }
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TrialWorkload::Registers => "registers",
            TrialWorkload::Predicate => "predicate",
        }
    }
}

/// One call of a transaction.
#[derive(Clone, Debug)]
enum Step {
    Read(i64),
    ReadForUpdate(i64),
    /// Sets the group of a row.
    Update(i64, i32),
    /// Sets the unique code of a row.
    SetCode(i64, Option<i32>),
    /// Writes a row without changing any indexed column.
    Touch(i64),
    Insert(i64, i32, Option<i32>),
    Delete(i64),
    Scan(Scan),
    Savepoint,
    RollbackToSavepoint,
}

/// A transaction: its calls, and how it ends.
#[derive(Clone, Debug)]
pub struct RandomTransaction<'t> {
    table: &'t TrialTable,
    steps: Vec<Step>,
    /// Whether the user rolls the transaction back at its end.
    rolls_back: bool,
    /// Whether the transaction retires its writes at once, so that other transactions may take its rows before it has
    /// committed.
    retires: bool,
}

impl<'t> RandomTransaction<'t> {
    /// Returns a random transaction.
    pub fn random(random: &mut Rng, workload: TrialWorkload, table: &'t TrialTable) -> Self {
        let step = match workload {
            TrialWorkload::Registers => Step::of_registers,
            TrialWorkload::Predicate => Step::of_predicate,
        };
        let mut steps: Vec<_> = (0..random.usize(1..=4)).map(|_| step(random, table)).collect();
        // A repeated first call, which must find the same as before.
        if random.u8(..100) < 30 {
            steps.push(steps[0].clone());
        }
        // A part that is rolled back to a savepoint.
        if random.u8(..100) < 10 {
            let at = random.usize(..steps.len());
            steps.insert(at, Step::Savepoint);
            steps.push(Step::RollbackToSavepoint);
            steps.push(step(random, table));
        }
        let has_savepoint = steps.iter().any(|step| matches!(step, Step::Savepoint));
        Self { table, rolls_back: random.u8(..100) < 5, retires: !has_savepoint && random.bool(), steps }
    }
}

impl Procedure for RandomTransaction<'_> {
    type Output = ();

    fn accesses(&self, accesses: &mut Accesses) {
        for step in &self.steps {
            step.accesses(self.table, accesses);
        }
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<(), Abort> {
        let mut savepoint = txn.savepoint();
        for step in &self.steps {
            step.call(txn, self.table, &mut savepoint)?;
            if self.retires {
                txn.retire_writes();
            }
        }
        if self.rolls_back { Err(Abort::User) } else { Ok(()) }
    }
}

impl Step {
    fn of_registers(random: &mut Rng, table: &TrialTable) -> Self {
        // Only even keys have rows.
        let key = random.i64(0..table.keys / 2) * 2;
        match random.u8(..100) {
            0..50 => Step::Read(key),
            50..60 => Step::ReadForUpdate(key),
            60..80 => Step::Touch(key),
            _ => Step::Update(key, random.i32(0..GROUPS)),
        }
    }

    fn of_predicate(random: &mut Rng, table: &TrialTable) -> Self {
        let (key, group) = (random.i64(0..table.keys), random.i32(0..GROUPS));
        let code = |random: &mut Rng| random.bool().then(|| random.i32(0..8));
        match random.u8(..100) {
            0..35 => Step::scan(random, table),
            35..45 => Step::Read(key),
            45..60 => Step::Update(key, group),
            60..63 => Step::Touch(key),
            63..66 => {
                let code = code(random);
                Step::SetCode(key, code)
            }
            66..84 => {
                let code = code(random);
                Step::Insert(key, group, code)
            }
            _ => Step::Delete(key),
        }
    }

    /// Returns a scan of a few neighbouring keys, or of one or two groups, in either direction.
    fn scan(random: &mut Rng, table: &TrialTable) -> Self {
        let (index, lower, upper) = match random.bool() {
            true => {
                let from = random.i64(0..table.keys);
                (IndexRef::Primary, Key::Int(from), Key::Int(from + random.i64(0..6)))
            }
            false => {
                let from = random.i32(0..GROUPS);
                (BY_GROUP, table.group_key(from), table.group_key(from + random.i32(0..2)))
            }
        };
        let direction = if random.bool() { Direction::Forward } else { Direction::Backward };
        let lock = if random.u8(..100) < 15 { LockFor::Update } else { LockFor::Read };
        let (lower, upper) = (Bound::Included(lower), Bound::Included(upper));
        Step::Scan(Scan { lower, upper, direction, lock, ..Scan::all(table.id, index) })
    }

    fn accesses(&self, table: &TrialTable, accesses: &mut Accesses) {
        match self {
            Step::Read(key) => accesses.push(table.id, Key::Int(*key), Intent::Read),
            Step::ReadForUpdate(key) => accesses.push(table.id, Key::Int(*key), Intent::Write),
            Step::Update(key, _)
            | Step::SetCode(key, _)
            | Step::Touch(key)
            | Step::Insert(key, ..)
            | Step::Delete(key) => {
                accesses.push(table.id, Key::Int(*key), Intent::Write);
                // Which index entries the call inserts and deletes depends on the row.
                accesses.set_partial();
            }
            Step::Scan(scan) => {
                let intent = if scan.lock == LockFor::Update { Intent::Write } else { Intent::Read };
                let (lower, upper) = (scan.lower.clone(), scan.upper.clone());
                accesses.push_range(RangeAccess { table: table.id, index: scan.index, lower, upper, intent });
            }
            Step::Savepoint | Step::RollbackToSavepoint => {}
        }
    }

    fn call<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        table: &TrialTable,
        savepoint: &mut Savepoint,
    ) -> Result<(), Abort> {
        let write = match self {
            Step::Read(key) => return txn.read(table.id, &Key::Int(*key)).map(drop),
            Step::ReadForUpdate(key) => return txn.read_for_update(table.id, &Key::Int(*key)).map(drop),
            Step::Scan(scan) => return txn.scan(scan, &mut |_| ControlFlow::Continue(())),
            Step::Savepoint => {
                *savepoint = txn.savepoint();
                return Ok(());
            }
            Step::RollbackToSavepoint => {
                txn.rollback_to(*savepoint);
                return Ok(());
            }
            Step::Update(key, group) => txn.update(table.id, &Key::Int(*key), &mut |row| {
                row.set_int4(GROUP, *group);
                Ok(())
            })?,
            Step::SetCode(key, code) => txn.update(table.id, &Key::Int(*key), &mut |row| {
                row.set(CODE, &code.map_or(Value::Null, Value::Int4));
                Ok(())
            })?,
            Step::Touch(key) => txn.update(table.id, &Key::Int(*key), &mut |_| Ok(()))?,
            Step::Insert(key, group, code) => txn.insert(table.id, table.row(*key, *group, *code).as_ref())?,
            Step::Delete(key) => txn.delete(table.id, &Key::Int(*key))?,
        };
        debug_assert!(
            matches!(write, Write::Done | Write::Absent | Write::Duplicate(IndexRef::Primary | BY_CODE)),
            "{write:?}"
        );
        Ok(())
    }
}
