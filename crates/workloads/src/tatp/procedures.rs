//! The seven transactions, statement for statement as in the TATP specification.
//!
//! Many of them look for rows that do not exist, which is part of the benchmark. Such a transaction commits without an
//! effect, and its result says so.

use super::schema::{BY_NUMBER, Number, Tables, access_info, call_forwarding, key, special_facility, subscriber};
use crate::checksum::sum;
use hotrow_storage::{IndexRef, Key, Row};
use hotrow_txn::{Abort, Accesses, Intent, LockFor, Procedure, RangeAccess, Scan, Transaction, Write};
use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

/// GET_SUBSCRIBER_DATA: reads all columns of a subscriber. Returns a checksum of them, or `None` if there is no such
/// subscriber.
#[derive(Clone, Copy, Debug)]
pub struct GetSubscriberData {
    pub(super) tables: Tables,
    pub(super) subscriber: i32,
}

impl Procedure for GetSubscriberData {
    type Output = Option<u64>;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(self.tables.subscriber, Key::Int(i64::from(self.subscriber)), Intent::Read);
    }

    fn read_only(&self) -> bool {
        true
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Option<u64>, Abort> {
        let row = txn.read(self.tables.subscriber, &Key::Int(i64::from(self.subscriber)))?;
        Ok(row.map(|row| {
            let small: u64 = (subscriber::BIT..subscriber::MSC_LOCATION).map(|field| row.int2(field) as u64).sum();
            let locations = row.int4(subscriber::MSC_LOCATION) ^ row.int4(subscriber::VLR_LOCATION);
            small.wrapping_add(locations as u64).wrapping_add(sum(row.bytes(subscriber::NUMBER)))
        }))
    }
}

/// GET_NEW_DESTINATION: reads the numbers to which calls to a subscriber's special facility are forwarded at some time,
/// if the facility is active. Returns a checksum of the numbers, or `None` if there are none.
#[derive(Clone, Copy, Debug)]
pub struct GetNewDestination {
    pub(super) tables: Tables,
    pub(super) subscriber: i32,
    pub(super) facility: i16,
    /// The time at which or before which the forwarding begins.
    pub(super) start_time: i16,
    /// The time after which the forwarding ends.
    pub(super) end_time: i16,
}

impl GetNewDestination {
    fn forwardings(&self) -> (Bound<Key>, Bound<Key>) {
        let facility = key(self.subscriber, &[self.facility]);
        let last = key(self.subscriber, &[self.facility, self.start_time]);
        (Bound::Included(facility), Bound::Included(last))
    }
}

impl Procedure for GetNewDestination {
    type Output = Option<u64>;

    fn accesses(&self, accesses: &mut Accesses) {
        let facility = key(self.subscriber, &[self.facility]);
        accesses.push(self.tables.special_facility, facility, Intent::Read);
        let (lower, upper) = self.forwardings();
        let (table, index) = (self.tables.call_forwarding, IndexRef::Primary);
        accesses.push_range(RangeAccess { table, index, lower, upper, intent: Intent::Read });
    }

    fn read_only(&self) -> bool {
        true
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Option<u64>, Abort> {
        let facility = txn.read(self.tables.special_facility, &key(self.subscriber, &[self.facility]))?;
        if facility.is_none_or(|row| row.int2(special_facility::IS_ACTIVE) != 1) {
            return Ok(None);
        }
        let (lower, upper) = self.forwardings();
        let all = Scan::all(self.tables.call_forwarding, IndexRef::Primary);
        let mut found: Option<u64> = None;
        txn.scan(&Scan { lower, upper, ..all }, &mut |row| {
            if row.int2(call_forwarding::END_TIME) > self.end_time {
                found = Some(found.unwrap_or(0).wrapping_add(sum(row.bytes(call_forwarding::NUMBER))));
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

/// GET_ACCESS_DATA: reads one access info of a subscriber. Returns a checksum of it, or `None` if it does not exist.
#[derive(Clone, Copy, Debug)]
pub struct GetAccessData {
    pub(super) tables: Tables,
    pub(super) subscriber: i32,
    pub(super) kind: i16,
}

impl Procedure for GetAccessData {
    type Output = Option<u64>;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(self.tables.access_info, key(self.subscriber, &[self.kind]), Intent::Read);
    }

    fn read_only(&self) -> bool {
        true
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Option<u64>, Abort> {
        let row = txn.read(self.tables.access_info, &key(self.subscriber, &[self.kind]))?;
        Ok(row.map(|row| {
            let numbers = row.int2(access_info::DATA1) ^ row.int2(access_info::DATA2);
            (numbers as u64)
                .wrapping_add(sum(row.bytes(access_info::DATA3)))
                .wrapping_add(sum(row.bytes(access_info::DATA4)))
        }))
    }
}

/// UPDATE_SUBSCRIBER_DATA: sets a subscriber's first bit, and a datum of one of its special facilities. Returns whether
/// the subscriber has that facility; if not, nothing is changed.
#[derive(Clone, Copy, Debug)]
pub struct UpdateSubscriberData {
    pub(super) tables: Tables,
    pub(super) subscriber: i32,
    pub(super) bit: i16,
    pub(super) facility: i16,
    pub(super) data: i16,
}

impl Procedure for UpdateSubscriberData {
    type Output = bool;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(self.tables.subscriber, Key::Int(i64::from(self.subscriber)), Intent::Write);
        accesses.push(self.tables.special_facility, key(self.subscriber, &[self.facility]), Intent::Write);
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<bool, Abort> {
        let before = txn.savepoint();
        let subscriber = Key::Int(i64::from(self.subscriber));
        expect(txn.update(self.tables.subscriber, &subscriber, &mut |row| {
            row.set_int2(subscriber::BIT, self.bit);
            Ok(())
        })?)?;
        let facility = key(self.subscriber, &[self.facility]);
        let updated = txn.update(self.tables.special_facility, &facility, &mut |row| {
            row.set_int2(special_facility::DATA_A, self.data);
            Ok(())
        })?;
        if updated == Write::Absent {
            txn.rollback_to(before);
        }
        Ok(updated == Write::Done)
    }
}

/// UPDATE_LOCATION: sets the location of the subscriber with a given number.
#[derive(Clone, Copy, Debug)]
pub struct UpdateLocation {
    pub(super) tables: Tables,
    pub(super) number: Number,
    pub(super) location: i32,
}

impl Procedure for UpdateLocation {
    type Output = ();

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push_range(by_number(self.tables, self.number, Intent::Write));
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<(), Abort> {
        let id = find_subscriber(txn, self.tables, self.number, LockFor::Update)?;
        expect(txn.update(self.tables.subscriber, &Key::Int(i64::from(id)), &mut |row| {
            row.set_int4(subscriber::VLR_LOCATION, self.location);
            Ok(())
        })?)
    }
}

/// INSERT_CALL_FORWARDING: adds a call forwarding to a special facility of the subscriber with a given number. Returns
/// whether the subscriber has that facility and had no forwarding with that start time.
#[derive(Debug)]
pub struct InsertCallForwarding<'a> {
    pub(super) tables: Tables,
    pub(super) number: Number,
    pub(super) facility: i16,
    /// The new row; the subscriber's id is set once it is known.
    pub(super) row: &'a RefCell<Row>,
}

impl Procedure for InsertCallForwarding<'_> {
    type Output = bool;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push_range(by_number(self.tables, self.number, Intent::Read));
        accesses.set_partial();
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<bool, Abort> {
        let id = find_subscriber(txn, self.tables, self.number, LockFor::Read)?;
        let facilities = Scan::prefix(self.tables.special_facility, IndexRef::Primary, key(id, &[]));
        let mut has_facility = false;
        txn.scan(&facilities, &mut |row| {
            has_facility |= row.int2(special_facility::TYPE) == self.facility;
            ControlFlow::Continue(())
        })?;
        if !has_facility {
            return Ok(false);
        }
        let mut row = self.row.borrow_mut();
        row.change(|row| row.set_int4(call_forwarding::SUBSCRIBER, id));
        Ok(txn.insert(self.tables.call_forwarding, row.as_ref())? == Write::Done)
    }
}

/// DELETE_CALL_FORWARDING: deletes a call forwarding of the subscriber with a given number. Returns whether it existed.
#[derive(Clone, Copy, Debug)]
pub struct DeleteCallForwarding {
    pub(super) tables: Tables,
    pub(super) number: Number,
    pub(super) facility: i16,
    pub(super) start_time: i16,
}

impl Procedure for DeleteCallForwarding {
    type Output = bool;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push_range(by_number(self.tables, self.number, Intent::Read));
        accesses.set_partial();
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<bool, Abort> {
        let id = find_subscriber(txn, self.tables, self.number, LockFor::Read)?;
        let forwarding = key(id, &[self.facility, self.start_time]);
        Ok(txn.delete(self.tables.call_forwarding, &forwarding)? == Write::Done)
    }
}

/// Returns the range that a look-up of a subscriber by number scans.
fn by_number(tables: Tables, number: Number, intent: Intent) -> RangeAccess {
    let (lower, upper) = (Bound::Included(number.key()), Bound::Included(number.key()));
    RangeAccess { table: tables.subscriber, index: BY_NUMBER, lower, upper, intent }
}

/// Finds the id of the subscriber with a number. No transaction deletes subscribers, so a missing one was lost.
fn find_subscriber<T: Transaction + ?Sized>(
    txn: &mut T,
    tables: Tables,
    number: Number,
    lock: LockFor,
) -> Result<i32, Abort> {
    let mut id = None;
    let scan = Scan { lock, ..Scan::prefix(tables.subscriber, BY_NUMBER, number.key()) };
    txn.scan(&scan, &mut |row| {
        id = Some(row.int4(subscriber::ID));
        ControlFlow::Break(())
    })?;
    id.ok_or(Abort::User)
}

/// Checks the write of a row that no transaction deletes: if it is not done, the row was lost.
fn expect(write: Write) -> Result<(), Abort> {
    if write == Write::Done { Ok(()) } else { Err(Abort::User) }
}
