//! The whole partition as one lock: `hstore`.

use super::id::Ticket;
use super::locks::{Book, Exhausted, LockState};
use super::piece::PieceRef;
use crate::shared::planned::{Needs, Partitions, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use hotrow_storage::RecordRef;

/// The lock of a whole partition: the first transaction in the queue has the partition, and all others wait.
#[derive(Debug, Default)]
pub struct Whole;

impl LockState for Whole {
    type Header = ();
    type Owner = ();

    const NEEDS: Needs = Needs { records: false, partitions: Partitions::Parts };
    const FRONT_IS_FREE: bool = true;
    const IS_WHOLE: bool = true;

    #[inline]
    fn request(
        &mut self,
        _scene: Scene<'_, ()>,
        _ticket: Ticket,
        behind_nobody: bool,
        _wanted: PieceRef<'_, ()>,
    ) -> Result<((), bool), Exhausted> {
        Ok(((), behind_nobody))
    }

    #[inline]
    fn release(&mut self, _scene: Scene<'_, ()>, _owner: (), _wanted: PieceRef<'_, ()>, _granted: &mut Vec<Ticket>) {}

    fn join(&mut self, _ticket: Ticket, behind_nobody: bool) -> Option<()> {
        behind_nobody.then_some(())
    }

    fn part(&mut self, _owner: ()) {}

    fn add_row(&mut self, _scene: Scene<'_, ()>, _owner: (), _row: &mut PlannedRow<()>) -> bool {
        true
    }

    fn add_prefixes(&mut self, _owner: (), _held: &[Counted], _wanted: &[Counted]) -> bool {
        true
    }

    fn is_quiet(&self, queue_is_empty: bool, _name: u64, _record: RecordRef<'_, ()>) -> bool {
        queue_is_empty
    }

    fn audit(&self, books: &[Book]) -> Result<(), String> {
        match books.iter().filter(|book| book.runs).count() {
            0 | 1 => Ok(()),
            several => Err(format!("{several} transactions run at once")),
        }
    }
}
