//! Waiting for the lock of a record, and what the frame of record locks asks of it.

use super::lock::{ILock, RequestOutcome};
use super::owner::Owner;
use super::wait_map::LockRequest;
use crate::shared::record_locks::{Ended, RecordLock, Watch};
use crate::shared::time_outs::Patience;
use hotrow_storage::RecordHeader;
use hotrow_sync::Wake;

/// Withdraws a request if its wait unwinds: a suspended coroutine is dropped, or a scheduler panics.
struct Unwinding<'l> {
    lock: &'l ILock,
    owner: &'l Owner,
    wanted: LockRequest,
    watch: &'l mut dyn Watch,
}

impl Unwinding<'_> {
    /// Takes the request back. Returns `false` if it was granted.
    fn withdraw(&mut self) -> bool {
        self.watch.ends();
        let withdrawn = self.lock.withdraw(self.owner);
        self.owner.parked().reset();
        withdrawn
    }
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        // A granted upgrade is released with what was held before.
        if !self.withdraw() && self.wanted != LockRequest::Upgrade {
            self.lock.release(self.owner);
        }
    }
}

impl RecordHeader for ILock {
    type Index = ();
}

fn wanted(upgrades: bool, exclusive: bool) -> LockRequest {
    match (exclusive, upgrades) {
        (false, _) => LockRequest::Read,
        (true, false) => LockRequest::Write,
        (true, true) => LockRequest::Upgrade,
    }
}

impl RecordLock for ILock {
    type Owner = Owner;

    #[inline]
    fn take_free(&self, owner: &Owner, exclusive: bool) -> bool {
        if exclusive { self.take(LockRequest::Write, owner.tid()) } else { self.take_free_to_read() }
    }

    #[inline]
    fn take(&self, owner: &Owner, upgrades: bool, exclusive: bool) -> bool {
        self.take(wanted(upgrades, exclusive), owner.tid())
    }

    fn is_free(&self) -> bool {
        self.is_free()
    }

    #[inline]
    fn is_owned_by(&self, owner: &Owner) -> bool {
        self.is_owned_by(owner.tid())
    }

    fn take_made(&self, owner: &Owner) {
        self.set_owner(owner.tid());
    }

    /// Waits for the lock: lines 3 to 14 of Fig. 6, 4 to 13 of Fig. 7. The transaction that hands the lock over makes
    /// this one its owner, so nothing is left to do when this one is resumed.
    fn wait(
        &self,
        owner: &Owner,
        upgrades: bool,
        exclusive: bool,
        mut patience: Patience,
        watch: &mut dyn Watch,
    ) -> Ended {
        let wanted = wanted(upgrades, exclusive);
        match self.ask(wanted, owner) {
            RequestOutcome::Taken => return Ended::Granted,
            RequestOutcome::Deadlock => return Ended::Deadlock,
            RequestOutcome::Waits => {}
        }
        let mut unwinding = Unwinding { lock: self, owner, wanted, watch };
        let mut is_deadlock = unwinding.watch.begins();
        let (waiter, mut known) = (owner.parked().waiter(), self.state());
        let ended = loop {
            if is_deadlock {
                break Wake::TimedOut;
            }
            match waiter.wait_until(patience.until(), || owner.parked().is_called()) {
                Wake::Ready if !owner.parked().is_granted() => is_deadlock = unwinding.watch.is_victim(),
                // Transactions that come and go change the state.
                Wake::TimedOut if patience.is_left() && known != self.state() => {
                    known = self.state();
                    patience.renew(waiter.now());
                }
                ended => break ended,
            }
        };
        let granted = !unwinding.withdraw();
        std::mem::forget(unwinding);
        if is_deadlock && !granted { Ended::Deadlock } else { Ended::of(ended, granted) }
    }

    fn upgrading(&self, owner: &Owner) -> Option<u32> {
        self.upgrading(owner.maps())
    }

    #[inline]
    fn release(&self, owner: &Owner) {
        self.release(owner);
    }
}
