//! Rows copied all at once: what a transaction that only reads needs no locks for.
//!
//! If at one moment no transaction may be writing any of its rows, each row is as it was committed last, and all are of
//! that moment: the transaction is serialized there, and holds nothing from then on. That is worth it for a few small
//! rows.

use super::plan::Plan;
use super::scene::Scene;
use crate::shared::record;
use hotrow_storage::{Key, RecordHeader, RecordPtr, Row, RowRef, Table, TableId};
use hotrow_txn::{Accesses, Intent};

/// More rows, or bytes of them, than this are locked rather than copied: others are kept waiting meanwhile.
const MOST_ROWS: usize = 16;
const MOST_BYTES: usize = 1024;

/// Copies of a plan's rows, in its order. The memory is used again by the next transaction.
#[derive(Default)]
pub struct Copies {
    rows: Vec<Copy>,
}

struct Copy {
    table: TableId,
    key: Key,
    row: Row,
    is_present: bool,
}

impl Copies {
    /// Makes room for the rows of a plan that was made of `accesses`. `false` if they should be locked: there are many,
    /// they are large, they will be written, or the plan has more or less than these rows.
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

    /// Whether the copy at a position of the plan is that of the row with this key. Two keys may have one name, and
    /// copies are of rows.
    pub(super) fn is_of(&self, position: usize, id: TableId, key: &Key) -> bool {
        let copy = &self.rows[position];
        copy.table == id && copy.key == *key
    }

    /// The row at a position of the plan, if it was there.
    pub(super) fn row(&self, position: usize) -> Option<RowRef<'_>> {
        let copy = &self.rows[position];
        copy.is_present.then(|| copy.row.as_ref())
    }
}
