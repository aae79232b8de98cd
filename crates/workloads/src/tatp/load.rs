//! The population: how many rows each subscriber has in the other tables, and what they hold (TATP, *Database
//! population rules*).

use super::schema::{FIELDS, Number, Tables, access_info, call_forwarding, special_facility, subscriber};
use crate::load::{insert_row, load_items};
use crate::{LoadError, Progress};
use fastrand::Rng;
use hotrow_storage::{Row, mix};
use hotrow_txn::Engine;

/// The greatest type of an access info or a special facility. The least type is 1.
pub(super) const TYPES: i16 = 4;

/// The hours at which call forwarding may begin.
pub(super) const START_TIMES: [i16; 3] = [0, 8, 16];

/// The percentage of special facilities that are active.
pub(super) const ACTIVE_PERCENT: u8 = 85;

/// The number of rows of each table, once loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// The number of rows of `subscriber`.
    pub subscribers: u64,
    /// The number of rows of `access_info`: one to four for each subscriber.
    pub access_infos: u64,
    /// The number of rows of `special_facility`: one to four for each subscriber.
    pub facilities: u64,
    /// The number of rows of `call_forwarding`: none to three for each special facility.
    pub forwardings: u64,
}

impl Population {
    /// Counts the rows of a database with `subscribers` subscribers. For one number of subscribers the result is always
    /// the same.
    pub fn new(subscribers: u32) -> Self {
        let mut population = Self { subscribers: u64::from(subscribers), ..Self::default() };
        for subscriber in 1..=u64::from(subscribers) {
            let shape = Shape::of(subscriber);
            population.access_infos += u64::from(shape.access_infos());
            population.facilities += u64::from(shape.facilities());
            population.forwardings += (0..shape.facilities()).map(|nth| u64::from(shape.forwardings(nth))).sum::<u64>();
        }
        population
    }

    /// Returns the number of rows of each table, in the order of the specification.
    pub fn rows_of_tables(&self) -> Vec<u64> {
        vec![self.subscribers, self.access_infos, self.facilities, self.forwardings]
    }
}

/// The random bits that decide how many rows a subscriber has in the other tables, two bits for each number. They are
/// always the same for the same subscriber.
#[derive(Clone, Copy)]
struct Shape(u64);

impl Shape {
    fn of(subscriber: u64) -> Self {
        Self(mix(subscriber ^ 0x7A79_0C0D_E5EE_D001))
    }

    fn two_bits(self, nth: u32) -> u32 {
        (self.0 >> (2 * nth) & 3) as u32
    }

    fn access_infos(self) -> u32 {
        1 + self.two_bits(0)
    }

    fn facilities(self) -> u32 {
        1 + self.two_bits(1)
    }

    /// Returns the number of call forwardings of the subscriber's special facility number `nth`.
    fn forwardings(self, nth: u32) -> u32 {
        self.two_bits(2 + nth)
    }
}

pub(super) fn load(
    subscribers: u32,
    engine: &dyn Engine,
    tables: Tables,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), LoadError> {
    let buffers = || Buffers {
        engine,
        tables,
        subscriber: engine.new_row(tables.subscriber),
        access_info: engine.new_row(tables.access_info),
        facility: engine.new_row(tables.special_facility),
        forwarding: engine.new_row(tables.call_forwarding),
    };
    load_items(u64::from(subscribers), threads, progress, buffers, |buffers, number| buffers.load(number + 1))
}

/// The rows that a loading thread fills.
struct Buffers<'a> {
    engine: &'a dyn Engine,
    tables: Tables,
    subscriber: Row,
    access_info: Row,
    facility: Row,
    forwarding: Row,
}

impl Buffers<'_> {
    /// Inserts all rows of a subscriber. Returns how many there are.
    fn load(&mut self, id: u64) -> Result<u64, LoadError> {
        let shape = Shape::of(id);
        let rng = &mut Rng::with_seed(mix(id));
        fill_subscriber(&mut self.subscriber, id, rng);
        insert_row(self.engine, self.tables.subscriber, &self.subscriber, id)?;
        let mut rows = 1;

        let mut types = [1, 2, 3, 4];
        for &kind in some(&mut types, shape.access_infos(), rng) {
            fill_access_info(&mut self.access_info, id, kind, rng);
            insert_row(self.engine, self.tables.access_info, &self.access_info, id)?;
            rows += 1;
        }
        for (nth, &kind) in some(&mut types, shape.facilities(), rng).iter().enumerate() {
            fill_facility(&mut self.facility, id, kind, rng);
            insert_row(self.engine, self.tables.special_facility, &self.facility, id)?;
            rows += 1;
            for &start_time in some(&mut START_TIMES.clone(), shape.forwardings(nth as u32), rng) {
                let end_time = start_time + rng.i16(1..=8);
                fill_forwarding(&mut self.forwarding, kind, start_time, end_time, random_number(rng));
                self.forwarding.change(|row| row.set_int4(call_forwarding::SUBSCRIBER, id as i32));
                insert_row(self.engine, self.tables.call_forwarding, &self.forwarding, id)?;
                rows += 1;
            }
        }
        Ok(rows)
    }
}

/// Draws `count` different elements of `all`; each subset is equally likely.
fn some<'a>(all: &'a mut [i16], count: u32, rng: &mut Rng) -> &'a [i16] {
    rng.shuffle(all);
    &all[..count as usize]
}

fn fill_subscriber(row: &mut Row, id: u64, rng: &mut Rng) {
    row.change(|row| {
        row.set_int4(subscriber::ID, id as i32);
        row.set_bytes(subscriber::NUMBER, Number::new(id).as_bytes());
        for field in 0..FIELDS {
            row.set_int2(subscriber::BIT + field, rng.i16(0..=1));
            row.set_int2(subscriber::HEX + field, rng.i16(0..=15));
            row.set_int2(subscriber::BYTE + field, rng.i16(0..=255));
        }
        row.set_int4(subscriber::MSC_LOCATION, random_location(rng));
        row.set_int4(subscriber::VLR_LOCATION, random_location(rng));
    });
}

fn fill_access_info(row: &mut Row, id: u64, kind: i16, rng: &mut Rng) {
    row.change(|row| {
        row.set_int4(access_info::SUBSCRIBER, id as i32);
        row.set_int2(access_info::TYPE, kind);
        row.set_int2(access_info::DATA1, rng.i16(0..=255));
        row.set_int2(access_info::DATA2, rng.i16(0..=255));
        row.set_bytes(access_info::DATA3, &random_letters::<3>(rng));
        row.set_bytes(access_info::DATA4, &random_letters::<5>(rng));
    });
}

fn fill_facility(row: &mut Row, id: u64, kind: i16, rng: &mut Rng) {
    row.change(|row| {
        row.set_int4(special_facility::SUBSCRIBER, id as i32);
        row.set_int2(special_facility::TYPE, kind);
        row.set_int2(special_facility::IS_ACTIVE, i16::from(rng.u8(..100) < ACTIVE_PERCENT));
        row.set_int2(special_facility::ERROR_CONTROL, rng.i16(0..=255));
        row.set_int2(special_facility::DATA_A, rng.i16(0..=255));
        row.set_bytes(special_facility::DATA_B, &random_letters::<5>(rng));
    });
}

/// Sets all columns of a call forwarding except the subscriber.
pub(super) fn fill_forwarding(row: &mut Row, facility: i16, start_time: i16, end_time: i16, number: Number) {
    row.change(|row| {
        row.set_int2(call_forwarding::FACILITY, facility);
        row.set_int2(call_forwarding::START_TIME, start_time);
        row.set_int2(call_forwarding::END_TIME, end_time);
        row.set_bytes(call_forwarding::NUMBER, number.as_bytes());
    });
}

/// Draws the number of a switching centre or a location register: TATP's 32 bits without the sign bit, since `integer`
/// is signed.
pub(super) fn random_location(rng: &mut Rng) -> i32 {
    rng.i32(0..=i32::MAX)
}

/// Draws a number to forward calls to.
pub(super) fn random_number(rng: &mut Rng) -> Number {
    Number::new(rng.u64(..))
}

fn random_letters<const N: usize>(rng: &mut Rng) -> [u8; N] {
    std::array::from_fn(|_| rng.u8(b'A'..=b'Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_population_has_the_specified_means_and_is_always_the_same() {
        const SUBSCRIBERS: u32 = 200_000;
        let population = Population::new(SUBSCRIBERS);
        let near = |count: u64, mean: f64| (count as f64 / f64::from(SUBSCRIBERS) / mean - 1.0).abs() < 0.01;
        assert!(near(population.access_infos, 2.5), "{population:?}");
        assert!(near(population.facilities, 2.5), "{population:?}");
        assert!(near(population.forwardings, 2.5 * 1.5), "{population:?}");
        assert_eq!(population, Population::new(SUBSCRIBERS));
    }

    #[test]
    fn each_number_of_rows_is_as_likely_as_the_others() {
        const SUBSCRIBERS: u64 = 40_000;
        let mut counts = [[0_u32; 4]; 3];
        for shape in (1..=SUBSCRIBERS).map(Shape::of) {
            counts[0][shape.access_infos() as usize - 1] += 1;
            counts[1][shape.facilities() as usize - 1] += 1;
            counts[2][shape.forwardings(0) as usize] += 1;
        }
        assert!(counts.iter().flatten().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
    }
}
