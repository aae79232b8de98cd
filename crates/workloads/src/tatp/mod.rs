//! TATP, the telecommunication benchmark (formerly NDBB and TM1): a register of mobile subscribers, and seven short
//! transactions on it.
//!
//! The tables are those that the usual clients make on PostgreSQL, without the foreign keys, which the transactions
//! themselves respect. The rows follow TATP's population rules. As specified, many transactions look for rows that do
//! not exist. They commit without an effect, and reports show the share that found its row: 62.5 % of GET_ACCESS_DATA
//! and UPDATE_SUBSCRIBER_DATA, 31.25 % of inserts and deletes, 14.8 % of GET_NEW_DESTINATION, and all of the others.
//! TATP's text says 23.9 % for GET_NEW_DESTINATION, which is about the share that its rules give among the special
//! facilities that exist.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Mix, Options, Request};
pub use load::Population;
pub use procedures::{
    DeleteCallForwarding, GetAccessData, GetNewDestination, GetSubscriberData, InsertCallForwarding, UpdateLocation,
    UpdateSubscriberData,
};
pub use schema::{BY_NUMBER, Number, Tables, access_info, call_forwarding, special_facility, subscriber};

use crate::{ClientIdentity, LoadError, Progress, Types, Violation};
use hotrow_storage::TableSchema;
use hotrow_txn::Engine;

/// The benchmark TATP: seven short transactions on a register of mobile subscribers.
#[derive(Clone, Debug)]
pub struct Tatp {
    options: Options,
    population: Population,
}

impl crate::Workload for Tatp {
    const NAME: &'static str = "tatp";
    type Options = Options;
    type Tables = Tables;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        let population = Population::new(options.subscribers);
        Ok(Self { options, population })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        self.options.to_string()
    }

    fn kinds(&self) -> &'static [&'static str] {
        &generate::KINDS
    }

    fn types(&self) -> Option<Types> {
        Some(Types::new(&self.options.mix.weights(), &generate::GROUPS))
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![subscriber(), access_info(), special_facility(), call_forwarding()]
    }

    fn create(&self, engine: &dyn Engine) -> Tables {
        Tables {
            subscriber: engine.create_table(subscriber()),
            access_info: engine.create_table(access_info()),
            special_facility: engine.create_table(special_facility()),
            call_forwarding: engine.create_table(call_forwarding()),
        }
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        self.population.rows_of_tables()
    }

    fn load(
        &self,
        engine: &dyn Engine,
        tables: Tables,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError> {
        load::load(self.options.subscribers, engine, tables, threads, progress)
    }

    fn client(&self, tables: Tables, identity: ClientIdentity) -> Client {
        Client::new(&self.options, tables, identity)
    }

    fn check(&self, engine: &dyn Engine, tables: Tables, clients: &[Client]) -> Result<(), Violation> {
        consistency::check(&self.population, engine, tables, clients)
    }
}
