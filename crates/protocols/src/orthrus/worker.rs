//! A worker in the role of an execution thread, of a concurrency-control thread, or of both.
//!
//! | paper (§3.1, §3.3) | here, in the order in which the pool's loop asks |
//! | --- | --- |
//! | a concurrency-control thread processes requests in a tight loop | [`Duties::receive`] |
//! | an execution thread looks whether older requests have been answered, and resumes their transactions | [`Duties::receive`]; the pool runs those that it has woken |
//! | if not, it begins a new transaction | [`Duties::has_room`]: a concurrency-control thread begins none |

use super::id::{PartId, PortId};
use super::parts::Parts;
use super::roles::{Role, Roles};
use super::table::LockTable;
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::Duties;

/// The number of times that a worker looks for messages before it looks at the clock, if roles are chosen by load.
const LOOKS: u32 = 64;

/// A worker of an engine of this family.
pub struct OrthrusWorker<T: LockTable> {
    parts: Arc<Parts<T>>,
    roles: Arc<Roles>,
    number: usize,
    /// The port of the worker, while its thread has it.
    port: Option<PortId>,
    /// The role in which the worker has settled on its parts.
    role: Role,
    /// The parts on which the worker's thread has settled.
    owned: Vec<PartId>,
    /// Whether the worker has yet to settle on some of its parts, because other threads have not left them.
    is_short: bool,
    /// The waiter of the worker's thread, while it has settled.
    waiter: Option<Waiter>,
    looks: u32,
}

impl<T: LockTable> OrthrusWorker<T> {
    pub(super) fn new(parts: &Arc<Parts<T>>, roles: &Arc<Roles>, number: usize) -> Self {
        Self {
            parts: parts.clone(),
            roles: roles.clone(),
            number,
            port: None,
            role: Role::Execution,
            owned: Vec::new(),
            is_short: false,
            waiter: None,
            looks: 0,
        }
    }

    /// Returns the number of the worker's port, whether its thread has the port or not.
    pub(super) fn port(&self) -> PortId {
        PortId(self.number as u16)
    }

    /// Takes a role. The worker leaves parts that do not belong to the role, and settles on those that do and that no
    /// other thread has.
    #[cold]
    fn take_role(&mut self, role: Role) {
        let Some(waiter) = self.waiter.clone() else { return };
        let (parts, count) = (&self.parts, self.parts.len());
        self.owned.retain(|&part| {
            let stays = role.parts(count).any(|own| own == part);
            if !stays {
                parts.leave(part);
            }
            stays
        });
        self.is_short = false;
        for part in role.parts(count) {
            if !self.owned.contains(&part) {
                match parts.settle(part, &waiter) {
                    true => self.owned.push(part),
                    false => self.is_short = true,
                }
            }
        }
        self.role = role;
    }

    /// Takes part in the choice of roles, if they are chosen by load.
    #[inline]
    fn look_at_the_clock(&mut self) {
        self.looks += 1;
        if self.looks >= LOOKS {
            self.looks = 0;
            if let Some(waiter) = &self.waiter {
                self.roles.choose(waiter.now());
            }
        }
    }
}

impl<T: LockTable> Duties for OrthrusWorker<T> {
    /// Returns true if there are more workers than cores. A message then takes a switch of threads, and the more
    /// transactions are under way, the more of them share a switch.
    fn ignores_waits(&self) -> bool {
        self.roles.workers() > hotrow_sync::cores()
    }

    fn settle(&mut self, waiter: &Waiter) {
        self.waiter = Some(waiter.clone());
        self.port = Some(self.port()).filter(|&port| self.parts.open_port(port, waiter));
        self.take_role(self.roles.role(self.number));
    }

    fn leave(&mut self) {
        self.owned.drain(..).for_each(|part| self.parts.leave(part));
        if let Some(port) = self.port.take() {
            self.parts.close_port(port);
        }
        self.waiter = None;
    }

    #[inline]
    fn receive(&mut self) -> bool {
        if self.roles.are_chosen() {
            self.look_at_the_clock();
        }
        let role = self.roles.role(self.number);
        if role != self.role || self.is_short {
            self.take_role(role);
        }
        let mut received = false;
        for &part in &self.owned {
            received |= self.parts.receive(part);
        }
        if let Some(port) = self.port {
            received |= self.parts.receive_grants(port);
        }
        received
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.role == Role::Execution
    }

    #[inline]
    fn count_step(&mut self) {
        if self.roles.are_chosen() {
            self.roles.count(self.number);
        }
    }

    fn runs_transactions(&self) -> bool {
        self.role == Role::Execution
    }

    fn doze(&mut self) -> bool {
        let mut has_mail = false;
        for &part in &self.owned {
            has_mail |= self.parts.doze(part);
        }
        if let Some(port) = self.port {
            has_mail |= self.parts.doze_at_port(port);
        }
        !has_mail
    }

    fn rouse(&mut self) {
        self.owned.iter().for_each(|&part| self.parts.rouse(part));
        if let Some(port) = self.port {
            self.parts.rouse_at_port(port);
        }
    }
}

impl<T: LockTable> Drop for OrthrusWorker<T> {
    fn drop(&mut self) {
        self.leave();
    }
}
