//! A lock manager inside each partition: `2pl-st`.

use super::locks::{Exhausted, LockState};
use super::piece::Wanted;
use super::queue::Ticket;
use crate::shared::planned::{Needs, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use crate::shared::request_queues::{Modes, OwnerId, RequestQueues};
use hotrow_storage::RecordRef;
use std::collections::BTreeMap;

/// Request queues without a latch: each lock is inherited by who is next in its queue.
#[derive(Debug, Default)]
pub struct Queues(RequestQueues<Ticket>);

fn of_row(row: &PlannedRow<()>) -> (u64, Modes) {
    (row.name, row.intent.into())
}

fn of_prefix(counted: &Counted) -> (u64, Modes) {
    (counted.name(), counted.claim().into())
}

impl LockState for Queues {
    type Header = ();
    type Owner = OwnerId;

    const NEEDS: Needs = Needs { records: false, partitions: true };
    /// The queues know of it: who stands first waits for nobody.
    const FRONT_IS_FREE: bool = false;

    #[inline]
    fn request(
        &mut self,
        _scene: Scene<'_, ()>,
        ticket: Ticket,
        _behind_nobody: bool,
        wanted: Wanted<'_, ()>,
    ) -> Result<(OwnerId, bool), Exhausted> {
        let owner = self.0.join(ticket);
        let requests = wanted.rows.iter().map(of_row).chain(wanted.prefixes.iter().map(of_prefix));
        requests.for_each(|(name, modes)| self.0.request(owner, name, modes));
        Ok((owner, self.0.is_granted(owner)))
    }

    #[inline]
    fn release(
        &mut self,
        _scene: Scene<'_, ()>,
        owner: OwnerId,
        _wanted: Wanted<'_, ()>,
        granted: &mut Vec<Ticket>,
    ) {
        self.0.release_all(owner, &mut |&ticket| granted.push(ticket));
        self.0.part(owner);
    }

    fn add_row(&mut self, _scene: Scene<'_, ()>, owner: OwnerId, row: &mut PlannedRow<()>) -> bool {
        let (name, modes) = of_row(row);
        let free = self.0.is_free(owner, name, modes);
        if free {
            self.0.add(owner, name, modes);
        }
        free
    }

    fn add_prefixes(&mut self, owner: OwnerId, _held: &[Counted], wanted: &[Counted]) -> bool {
        let mut requests = wanted.iter().map(of_prefix);
        let free = requests.clone().all(|(name, modes)| self.0.is_free(owner, name, modes));
        if free {
            requests.for_each(|(name, modes)| self.0.add(owner, name, modes));
        }
        free
    }

    fn is_quiet(&self, queue_is_empty: bool, _record: RecordRef<'_, ()>) -> bool {
        queue_is_empty
    }

    fn audit(&self, _scene: Scene<'_, ()>, wanted: &[Wanted<'_, ()>]) -> Result<(), String> {
        self.0.audit()?;
        let mut kept: Vec<_> = self.0.requests().collect();
        let mut asked = Vec::new();
        for wanted in wanted {
            // One request of a name, in all modes.
            let mut names = BTreeMap::new();
            let requests = wanted.rows.iter().map(of_row).chain(wanted.prefixes.iter().map(of_prefix));
            for (name, modes) in requests {
                names.entry(name).and_modify(|all| *all = *all | modes).or_insert(modes);
            }
            asked.extend(names);
        }
        kept.sort_unstable();
        asked.sort_unstable();
        if kept == asked { Ok(()) } else { Err(format!("requests {kept:?} are kept of {asked:?}")) }
    }
}
