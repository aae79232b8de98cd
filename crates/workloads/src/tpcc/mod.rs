//! TPC-C, revision 5.11: a supplier's warehouses, districts, customers, orders and stocks.
//!
//! All five transactions run, in the specified mix or a part of it. There are no terminals and no think times: a worker
//! begins a transaction as soon as the previous one has ended, and a delivery is executed at once instead of being
//! queued. The warehouse of each transaction is drawn at random, as if the worker served all terminals, or is always
//! the same (`--home bound`).
//!
//! Tables, columns, types, keys and indexes are those that BenchBase makes in PostgreSQL, so that its SQL runs on what
//! is loaded here. There are two differences: foreign keys, which no transaction uses, are left out, and so is
//! `idx_order`, which has the same columns as the unique constraint of `oorder` and is useless beside it. BenchBase
//! declares `w_ytd` as `decimal(12,2)`: after four million payments in one warehouse it has more digits than SQL would
//! store.
//!
//! The setup of the ORTHRUS paper (§4.4) is `--mix neworder-payment`; the small mix of the SLI paper (§5) `--mix
//! small`.

mod columns;
mod consistency;
mod generate;
mod load;
mod options;
mod procedures;
mod random;
mod schema;
mod tally;

pub use columns::{customer, district, history, item, new_order, order, order_line, stock, warehouse};
pub use generate::{Client, Kind};
pub use options::{Home, Mix, Options};
pub use procedures::{
    Customer, Delivered, Delivery, Line, NewOrder, OrderState, OrderStatus, Ordered, Paid, Payment, StockLevel,
};
pub use schema::{
    Tables, customers, districts, histories, history_key, items, new_orders, order_lines, orders, stocks, warehouses,
};

use crate::{ClientIdentity, LoadError, Progress, Types, Violation};
use hotrow_storage::TableSchema;
use hotrow_txn::Engine;

/// The benchmark TPC-C: all five transactions, or some of them.
#[derive(Clone, Debug)]
pub struct Tpcc {
    options: Options,
}

impl crate::Workload for Tpcc {
    const NAME: &'static str = "tpcc";
    const CHECKS_LOAD: bool = true;
    type Options = Options;
    type Tables = Tables;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options: options.validate()? })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        self.options.summary()
    }

    fn kinds(&self) -> &'static [&'static str] {
        &generate::KINDS
    }

    fn types(&self) -> Option<Types> {
        Some(Types::new(&self.options.mix.weights(), &generate::GROUPS))
    }

    fn schemas(&self) -> Vec<TableSchema> {
        schema::all().into()
    }

    fn create(&self, engine: &dyn Engine) -> Tables {
        Tables {
            warehouse: engine.create_table(warehouses()),
            district: engine.create_table(districts()),
            customer: engine.create_table(customers()),
            history: engine.create_table(histories()),
            order: engine.create_table(orders()),
            new_order: engine.create_table(new_orders()),
            order_line: engine.create_table(order_lines()),
            stock: engine.create_table(stocks()),
            item: engine.create_table(items()),
        }
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        load::rows(&self.options).into()
    }

    fn load(
        &self,
        engine: &dyn Engine,
        tables: Tables,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError> {
        load::Load { options: &self.options, engine, tables, threads, progress }.run()
    }

    fn client(&self, tables: Tables, identity: ClientIdentity) -> Client {
        Client::new(&self.options, tables, identity)
    }

    fn check(&self, engine: &dyn Engine, tables: Tables, clients: &[Client]) -> Result<(), Violation> {
        self.check_after(engine, tables, clients.iter())
    }
}

impl Tpcc {
    /// [Checks](crate::Workload::check) the database after all transactions of `clients`, which may also have run as
    /// SQL statements over the network.
    pub fn check_after<'c>(
        &self,
        engine: &dyn Engine,
        tables: Tables,
        clients: impl Iterator<Item = &'c Client>,
    ) -> Result<(), Violation> {
        consistency::check(&self.options, engine, tables, clients)
    }
}
