//! The effects of the committed transactions, by district, which the rows must show after a run.

use super::procedures::DISTRICTS;
use std::ops::AddAssign;

/// The effects of the committed transactions of a district.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// The number of orders that were entered.
    pub orders: i64,
    /// The number of lines of these orders.
    pub lines: i64,
    /// The number of orders that were delivered.
    pub deliveries: i64,
    /// The number of payments that were entered.
    pub payments: i64,
    /// The sum of these payments, in cents.
    pub cents: i64,
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, other: &Tally) {
        self.orders += other.orders;
        self.lines += other.lines;
        self.deliveries += other.deliveries;
        self.payments += other.payments;
        self.cents += other.cents;
    }
}

/// The tallies of all districts.
#[derive(Clone, Debug)]
pub(super) struct Tallies(Vec<Tally>);

impl Tallies {
    pub(super) fn new(warehouses: u32) -> Self {
        Self(vec![Tally::default(); warehouses as usize * DISTRICTS as usize])
    }

    /// Returns a district's tally, for the caller to add to.
    #[inline]
    pub(super) fn of_mut(&mut self, warehouse: i32, district: i32) -> &mut Tally {
        &mut self.0[position(warehouse, district)]
    }

    /// Returns a district's tally.
    pub(super) fn of(&self, warehouse: i32, district: i32) -> &Tally {
        &self.0[position(warehouse, district)]
    }

    /// Adds another worker's tallies.
    pub(super) fn add(&mut self, other: &Tallies) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own += other);
    }
}

/// Returns a district's position among those of all warehouses.
#[inline]
pub(super) fn position(warehouse: i32, district: i32) -> usize {
    ((warehouse - 1) * DISTRICTS + district - 1) as usize
}
