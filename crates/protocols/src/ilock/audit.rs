//! A check that waiter bits, wait-maps and lock-states agree, while no call is under way but calls that wait.

use super::lock::ILock;
use super::wait_map::{LockRequest, WaitMaps};
use crate::shared::hashed::HashMap;
use hotrow_storage::Database;
use std::ops::ControlFlow;

/// The requests for one lock that the wait-maps have.
#[derive(Default)]
struct Expected {
    write_waiter: u64,
    read_waiter: u64,
    wanted: Vec<LockRequest>,
}

/// Checks that the waiter bits of each record agree with the wait-maps, and that no transaction waits for a lock that
/// it could have.
///
/// # Errors
/// The text names a record, and says what is wrong there.
pub(super) fn audit(database: &Database<ILock>, maps: &WaitMaps) -> Result<(), String> {
    let mut awaited: HashMap<usize, Expected> = HashMap::default();
    maps.awaited(|worker, lock, wanted| {
        let expected = awaited.entry(lock).or_default();
        for &wanted in wanted {
            match wanted {
                LockRequest::Read => expected.read_waiter |= 1 << worker,
                LockRequest::Write => expected.write_waiter |= 1 << worker,
                LockRequest::Upgrade => {}
            }
            expected.wanted.push(wanted);
        }
    });
    let mut participant = database.participant();
    participant.enter();
    let guard = participant.guard();
    for table in database.tables(guard) {
        let mut wrong = None;
        table.records(guard, |record| {
            let lock = record.header();
            let expected = awaited.remove(&std::ptr::from_ref(lock).addr()).unwrap_or_default();
            wrong =
                check(lock, &expected).err().map(|what| format!("{} {:?} {what}", table.schema().name, record.key()));
            if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
    }
    Ok(())
}

fn check(lock: &ILock, expected: &Expected) -> Result<(), String> {
    let (write_waiter, read_waiter) = (lock.bits(LockRequest::Write), lock.bits(LockRequest::Read));
    if (write_waiter, read_waiter) != (expected.write_waiter, expected.read_waiter) {
        return Err(format!(
            "is {:?} and its waiters are {write_waiter:#x} and {read_waiter:#x}, in the wait-maps {:#x} and {:#x}",
            lock.state(),
            expected.write_waiter,
            expected.read_waiter
        ));
    }
    match expected.wanted.iter().find(|&&wanted| lock.keeps_in_vain(wanted)) {
        Some(wanted) => Err(format!("is {:?}, and {wanted:?} waits in vain", lock.state())),
        None => Ok(()),
    }
}
