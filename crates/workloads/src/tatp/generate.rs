//! The options, and the next transaction of a client.

use super::load::{START_TIMES, TYPES, fill_forwarding, random_location, random_number};
use super::procedures::{
    DeleteCallForwarding, GetAccessData, GetNewDestination, GetSubscriberData, InsertCallForwarding, UpdateLocation,
    UpdateSubscriberData,
};
use super::schema::{Number, Tables, call_forwarding};
use crate::assignment::draw_weighted;
use crate::{ClientIdentity, Hand};
use fastrand::Rng;
use hotrow_storage::{Row, RowLayout};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Runner};
use std::cell::RefCell;
use std::fmt;

/// The command-line options of TATP.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Subscribers; each has on average 2.5 access infos, 2.5 special facilities and 3.75 call forwardings
    #[arg(long, value_name = "N", default_value_t = 100_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub subscribers: u32,

    /// The mix of transactions: `standard`, `forward`, or one transaction alone
    #[arg(long, value_name = "MIX", value_enum, default_value_t = Mix::Standard)]
    pub mix: Mix,

    /// All subscribers are equally popular, in place of TATP's non-uniform distribution
    #[arg(long)]
    pub uniform: bool,
}

/// The mix of transactions. Besides TATP's own mix, there are the mixes of the SLI paper (*Improving OLTP Scalability
/// using Speculative Lock Inheritance*, §5.1). No mix has inserts or deletes alone: after a while none would succeed.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// As specified: 35, 10, 35, 2, 14, 2 and 2 per cent
    Standard,
    /// The three transactions that deal with call forwarding, 10 to 2 to 2
    Forward,
    /// GET_SUBSCRIBER_DATA alone
    GetSubscriberData,
    /// GET_NEW_DESTINATION alone
    GetNewDestination,
    /// GET_ACCESS_DATA alone
    GetAccessData,
    /// UPDATE_SUBSCRIBER_DATA alone
    UpdateSubscriberData,
    /// UPDATE_LOCATION alone
    UpdateLocation,
}

/// The names of the transactions, in the specification's order.
pub(super) const KINDS: [&str; 7] = [
    "get-subscriber-data",
    "get-new-destination",
    "get-access-data",
    "update-subscriber-data",
    "update-location",
    "insert-call-forwarding",
    "delete-call-forwarding",
];

/// The group of each transaction, by the table that it is about: subscribers, access infos, or call forwardings.
pub(super) const GROUPS: [usize; KINDS.len()] = [0, 2, 1, 0, 0, 2, 2];

/// The positions of transactions in [`KINDS`].
const GET_SUBSCRIBER_DATA: usize = 0;
const GET_NEW_DESTINATION: usize = 1;
const GET_ACCESS_DATA: usize = 2;
const UPDATE_SUBSCRIBER_DATA: usize = 3;
const UPDATE_LOCATION: usize = 4;
const INSERT_CALL_FORWARDING: usize = 5;
const DELETE_CALL_FORWARDING: usize = 6;

impl Mix {
    /// Returns the weight of each kind, relative to the others.
    ///
    /// The SLI paper gives the forward mix as 71.4, 28.5 and 28.5 per cent, which add up to more than 100: the first is
    /// 10 of 14, as in the standard mix, so the other two are 2 of 14 each.
    pub(super) fn weights(self) -> [u32; KINDS.len()] {
        match self {
            Mix::Standard => [35, 10, 35, 2, 14, 2, 2],
            Mix::Forward => [0, 10, 0, 0, 0, 2, 2],
            Mix::GetSubscriberData => [1, 0, 0, 0, 0, 0, 0],
            Mix::GetNewDestination => [0, 1, 0, 0, 0, 0, 0],
            Mix::GetAccessData => [0, 0, 1, 0, 0, 0, 0],
            Mix::UpdateSubscriberData => [0, 0, 0, 1, 0, 0, 0],
            Mix::UpdateLocation => [0, 0, 0, 0, 1, 0, 0],
        }
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mix = clap::ValueEnum::to_possible_value(&self.mix);
        let keys = if self.uniform { "uniform" } else { "non-uniform" };
        write!(f, "{} subscribers, {keys}, mix {}", self.subscribers, mix.as_ref().map_or("", |mix| mix.get_name()))
    }
}

/// The distribution by which subscribers' ids are drawn.
#[derive(Clone, Copy, Debug)]
enum Subscribers {
    /// All subscribers are equally popular.
    Uniform { subscribers: u32 },
    /// TATP's formula: the bitwise or of two uniform numbers, modulo the number of subscribers. Ids with more ones in
    /// the low bits are more popular.
    NonUniform { subscribers: u32, mask: u32 },
}

impl Subscribers {
    fn new(options: &Options) -> Self {
        let subscribers = options.subscribers;
        // TATP's A, which depends on the population.
        let mask = match subscribers {
            ..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        if options.uniform { Self::Uniform { subscribers } } else { Self::NonUniform { subscribers, mask } }
    }

    #[inline]
    fn draw(self, rng: &mut Rng) -> i32 {
        match self {
            Self::Uniform { subscribers } => rng.u32(1..=subscribers) as i32,
            Self::NonUniform { subscribers, mask } => {
                let bits = rng.u32(0..=mask) | rng.u32(1..=subscribers);
                (bits % subscribers + 1) as i32
            }
        }
    }
}

/// A transaction to run, with the parameters that were drawn for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the procedures")]
pub enum Request {
    /// The parameters of [`GetSubscriberData`].
    GetSubscriberData { subscriber: i32 },
    /// The parameters of [`GetNewDestination`].
    GetNewDestination { subscriber: i32, facility: i16, start_time: i16, end_time: i16 },
    /// The parameters of [`GetAccessData`].
    GetAccessData { subscriber: i32, kind: i16 },
    /// The parameters of [`UpdateSubscriberData`].
    UpdateSubscriberData { subscriber: i32, bit: i16, facility: i16, data: i16 },
    /// The parameters of [`UpdateLocation`].
    UpdateLocation { number: Number, location: i32 },
    /// The parameters of [`InsertCallForwarding`].
    InsertCallForwarding { number: Number, facility: i16, start_time: i16, end_time: i16, destination: Number },
    /// The parameters of [`DeleteCallForwarding`].
    DeleteCallForwarding { number: Number, facility: i16, start_time: i16 },
}

impl Request {
    /// Returns the kind of the transaction, as a position in the workload's list of kinds.
    pub fn kind(&self) -> usize {
        match self {
            Request::GetSubscriberData { .. } => GET_SUBSCRIBER_DATA,
            Request::GetNewDestination { .. } => GET_NEW_DESTINATION,
            Request::GetAccessData { .. } => GET_ACCESS_DATA,
            Request::UpdateSubscriberData { .. } => UPDATE_SUBSCRIBER_DATA,
            Request::UpdateLocation { .. } => UPDATE_LOCATION,
            Request::InsertCallForwarding { .. } => INSERT_CALL_FORWARDING,
            Request::DeleteCallForwarding { .. } => DELETE_CALL_FORWARDING,
        }
    }
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    tables: Tables,
    rng: Rng,
    subscribers: Subscribers,
    weights: [u32; KINDS.len()],
    /// The source of the transactions' types, or `None` if they are drawn by `weights`.
    hand: Option<Hand>,
    forwarding: RefCell<Row>,
    inserted: u64,
    deleted: u64,
    checksum: u64,
}

impl Client {
    pub(super) fn new(options: &Options, tables: Tables, identity: ClientIdentity) -> Self {
        let layout = Arc::new(RowLayout::new(&call_forwarding().columns));
        Self {
            tables,
            rng: identity.rng(),
            subscribers: Subscribers::new(options),
            weights: options.mix.weights(),
            hand: None,
            forwarding: RefCell::new(Row::new(&layout)),
            inserted: 0,
            deleted: 0,
            checksum: 0,
        }
    }

    /// Returns the number of call forwardings that the committed transactions have inserted.
    pub fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Returns the number of call forwardings that the committed transactions have deleted.
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    #[inline]
    fn draw_kind(&mut self) -> usize {
        match &mut self.hand {
            None => draw_weighted(&mut self.rng, &self.weights),
            Some(hand) => hand.draw(&mut self.rng),
        }
    }

    fn draw_type(&mut self) -> i16 {
        self.rng.i16(1..=TYPES)
    }

    fn draw_start_time(&mut self) -> i16 {
        START_TIMES[self.rng.usize(..START_TIMES.len())]
    }

    fn draw_end_time(&mut self) -> i16 {
        self.rng.i16(1..=24)
    }

    fn draw_subscriber(&mut self) -> i32 {
        self.subscribers.draw(&mut self.rng)
    }

    fn draw_number(&mut self) -> Number {
        Number::new(self.draw_subscriber() as u64)
    }

    /// Draws the next transaction.
    #[inline]
    pub fn draw(&mut self) -> Request {
        match self.draw_kind() {
            GET_SUBSCRIBER_DATA => Request::GetSubscriberData { subscriber: self.draw_subscriber() },
            GET_NEW_DESTINATION => Request::GetNewDestination {
                subscriber: self.draw_subscriber(),
                facility: self.draw_type(),
                start_time: self.draw_start_time(),
                end_time: self.draw_end_time(),
            },
            GET_ACCESS_DATA => Request::GetAccessData { subscriber: self.draw_subscriber(), kind: self.draw_type() },
            UPDATE_SUBSCRIBER_DATA => Request::UpdateSubscriberData {
                subscriber: self.draw_subscriber(),
                bit: self.rng.i16(0..=1),
                facility: self.draw_type(),
                data: self.rng.i16(0..=255),
            },
            UPDATE_LOCATION => {
                Request::UpdateLocation { number: self.draw_number(), location: random_location(&mut self.rng) }
            }
            INSERT_CALL_FORWARDING => Request::InsertCallForwarding {
                number: self.draw_number(),
                facility: self.draw_type(),
                start_time: self.draw_start_time(),
                end_time: self.draw_end_time(),
                destination: random_number(&mut self.rng),
            },
            DELETE_CALL_FORWARDING => Request::DeleteCallForwarding {
                number: self.draw_number(),
                facility: self.draw_type(),
                start_time: self.draw_start_time(),
            },
            _ => unreachable!("a kind is a position in the list of kinds"),
        }
    }

    /// Records that a transaction has committed. `succeeded` says whether the rows that it asked for exist.
    pub fn committed(&mut self, request: &Request, succeeded: bool) {
        match request {
            Request::InsertCallForwarding { .. } => self.inserted += u64::from(succeeded),
            Request::DeleteCallForwarding { .. } => self.deleted += u64::from(succeeded),
            _ => {}
        }
    }

    /// Runs a transaction. Returns whether it found what it was looking for.
    fn run<R: Runner>(&mut self, runner: &mut R, request: Request) -> Result<bool, Abort> {
        let tables = self.tables;
        match request {
            Request::GetSubscriberData { subscriber } => {
                let checksum = runner.run(&GetSubscriberData { tables, subscriber })?;
                Ok(self.found(checksum))
            }
            Request::GetNewDestination { subscriber, facility, start_time, end_time } => {
                let checksum = runner.run(&GetNewDestination { tables, subscriber, facility, start_time, end_time })?;
                Ok(self.found(checksum))
            }
            Request::GetAccessData { subscriber, kind } => {
                let checksum = runner.run(&GetAccessData { tables, subscriber, kind })?;
                Ok(self.found(checksum))
            }
            Request::UpdateSubscriberData { subscriber, bit, facility, data } => {
                runner.run(&UpdateSubscriberData { tables, subscriber, bit, facility, data })
            }
            Request::UpdateLocation { number, location } => {
                runner.run(&UpdateLocation { tables, number, location }).map(|()| true)
            }
            Request::InsertCallForwarding { number, facility, start_time, end_time, destination } => {
                fill_forwarding(self.forwarding.get_mut(), facility, start_time, end_time, destination);
                runner.run(&InsertCallForwarding { tables, number, facility, row: &self.forwarding })
            }
            Request::DeleteCallForwarding { number, facility, start_time } => {
                runner.run(&DeleteCallForwarding { tables, number, facility, start_time })
            }
        }
    }

    /// Adds the checksum of what a transaction has found, if it has found something. Returns whether it has.
    fn found(&mut self, checksum: Option<u64>) -> bool {
        self.checksum = self.checksum.wrapping_add(checksum.unwrap_or(0));
        checksum.is_some()
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let request = self.draw();
        let succeeded = self.run(runner, request)?;
        self.committed(&request, succeeded);
        runner.note(request.kind(), succeeded);
        Ok(())
    }

    fn deal(&mut self, hand: Hand) {
        self.hand = Some(hand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    fn options(line: &str) -> Result<Options, String> {
        parse(line)
    }

    #[test]
    fn wrong_options_are_refused_with_what_would_be_right() {
        for (line, expected) in [
            ("--subscribers 0", "0 is not in 1.."),
            ("--subscribers 2147483648", "is not in 1..=2147483647"),
            ("--mix delete-call-forwarding", "forward, get-subscriber-data"),
            ("--uniform 1", "unexpected argument"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
        assert_eq!(
            options("--mix forward").expect("good options").to_string(),
            "100000 subscribers, non-uniform, mix forward"
        );
    }

    /// Draws often and compares each subscriber's share with the share by the formula, in standard deviations.
    #[test]
    fn popularity_is_the_formulas() {
        const DRAWS: u32 = 400_000;
        for subscribers in [1, 7, 100] {
            let mut ways = vec![0_u64; subscribers as usize];
            for bits in 0..=65_535 {
                (1..=subscribers).for_each(|id| ways[((bits | id) % subscribers) as usize] += 1);
            }
            let draw = Subscribers::new(&options(&format!("--subscribers {subscribers}")).expect("good options"));
            let mut rng = Rng::with_seed(11);
            let mut counts = vec![0_u64; subscribers as usize];
            (0..DRAWS).for_each(|_| counts[draw.draw(&mut rng) as usize - 1] += 1);
            for (id, (&count, &ways)) in counts.iter().zip(&ways).enumerate() {
                let probability = ways as f64 / (65_536.0 * f64::from(subscribers));
                let expected = f64::from(DRAWS) * probability;
                let deviation = (expected * (1.0 - probability)).sqrt().max(1.0);
                let off = (count as f64 - expected).abs() / deviation;
                assert!(off < 6.0, "{subscribers} subscribers, {id}: {count} draws, {expected:.0} expected");
            }
        }
    }

    #[test]
    fn the_formula_widens_with_the_population() {
        for (subscribers, expected) in
            [(1_000_000, 65_535), (1_000_001, 1_048_575), (10_000_000, 1_048_575), (10_000_001, 2_097_151)]
        {
            let draw = Subscribers::new(&options(&format!("--subscribers {subscribers}")).expect("good options"));
            assert!(matches!(draw, Subscribers::NonUniform { mask, .. } if mask == expected), "{draw:?}");
        }
        let uniform = Subscribers::new(&options("--uniform").expect("good options"));
        let mut rng = Rng::with_seed(5);
        let mean = (0..10_000).map(|_| f64::from(uniform.draw(&mut rng))).sum::<f64>() / 10_000.0;
        assert!((mean - 50_000.0).abs() < 1_500.0, "{mean}");
    }
}
