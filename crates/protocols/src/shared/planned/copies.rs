//! Copies of all rows that a transaction reads: a transaction that only reads needs no locks for them.
//!
//! If at one moment no transaction may be writing any of its rows, each row is as it was committed last, and all are of
//! that moment: the transaction is serialized there, and holds nothing from then on. That is worth it for a few small
//! rows.

use super::plan::Plan;
use super::scene::Scene;
use crate::shared::record;
use hotrow_storage::{Key, RecordHeader, RecordPtr, Row, RowRef, Table, TableId};
use hotrow_txn::{Accesses, Intent};

/// The most rows of a plan that are copied. Plans with more rows, or more bytes than the next constant, are locked,
/// since other transactions are kept waiting while rows are copied.
const MOST_ROWS: usize = 16;
const MOST_BYTES: usize = 1024;

/// The copies of the rows of a transaction that locks none, or locks them one at a time. The next transaction uses the
/// memory again.
#[derive(Default)]
pub struct Copies {
    /// The copies of a plan's rows, in the plan's order, if all were copied when the transaction began.
    rows: Vec<Copy>,
    /// The row that was read last, where rows are copied one at a time.
    pub(super) glanced: Option<(TableId, Row)>,
}

struct Copy {
    table: TableId,
    key: Key,
    row: Row,
    is_present: bool,
}

impl Copies {
    /// Makes room for the rows of a plan that was made of `accesses`. Returns `false` if they should be locked: there
    /// are many, they are large, they will be written, or the plan has more or less than these rows.
    pub(super) fn prepare<H: RecordHeader>(
        &mut self,
        scene: Scene<'_, H>,
        accesses: &Accesses,
        plan: &Plan<H>,
    ) -> bool {
        let are_rows = plan.rows.len() <= MOST_ROWS && plan.rows.len() == accesses.rows().len();
        if !are_rows || !plan.prefixes.is_empty() || plan.has_ranges() {
            return false;
        }
        let mut bytes = 0;
        for (position, (row, access)) in plan.rows.iter().zip(accesses.rows()).enumerate() {
            let Some(table) = scene.table(row.table) else { return false };
            bytes += table.layout().fixed_size();
            if row.intent == Intent::Write || table.layout().has_variable() || bytes > MOST_BYTES {
                return false;
            }
            let key = access.key.clone();
            match self.rows.get_mut(position).filter(|copy| copy.table == row.table) {
                Some(copy) => (copy.key, copy.is_present) = (key, false),
                None => {
                    self.rows.truncate(position);
                    let copy = Row::new(table.layout());
                    self.rows.push(Copy { table: row.table, key, row: copy, is_present: false });
                }
            }
        }
        true
    }

    /// Copies the row at a position of the plan, if there is one. The caller keeps writers away from it.
    #[inline]
    pub(crate) fn take<H: RecordHeader>(
        &mut self,
        position: usize,
        scene: Scene<'_, H>,
        table: &Table<H>,
        record: RecordPtr<H>,
    ) {
        let record = scene.deref(table, record);
        let copy = &mut self.rows[position];
        copy.is_present = record.is_present();
        if copy.is_present {
            copy.row.copy_from(record::row(record));
        }
    }

    /// Whether the copy at a position of the plan is that of the row with this key. Two keys may share a name, but a
    /// copy is of one row.
    pub(super) fn is_of(&self, position: usize, id: TableId, key: &Key) -> bool {
        let copy = &self.rows[position];
        copy.table == id && copy.key == *key
    }

    /// Returns the copy of the row at a position of the plan, or `None` if the row was absent.
    pub(super) fn row(&self, position: usize) -> Option<RowRef<'_>> {
        let copy = &self.rows[position];
        copy.is_present.then(|| copy.row.as_ref())
    }
}
