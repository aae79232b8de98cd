//! Workloads of one table whose rows each count their updates. A transaction reads and updates rows by key.

use crate::wire::failure::AttemptError;
use crate::wire::over_wire::{OverWire, WireClient};
use crate::wire::session::Session;
use crate::wire::table_reader::TableReader;
use hotrow_storage::TableId;
use hotrow_workloads::{ClientIdentity, Violation, Workload};
use std::future::Future;

/// A workload of one table whose rows each count their updates.
pub(super) trait CounterTable: Workload<Tables = TableId, Client: 'static> {
    /// The name of the table.
    const TABLE: &'static str;

    /// The name of the column that counts the updates of its row.
    const COUNTER: &'static str;

    /// Returns the statements that each client prepares.
    fn statements(&self) -> Vec<String>;

    /// Draws the client's next transaction.
    fn draw(client: &mut Self::Client);

    /// Returns the number of requests of the transaction that was drawn last.
    fn requests(client: &Self::Client) -> usize;

    /// Sends the requests of the transaction that was drawn last. Returns the sum of the counters that it read.
    fn send(client: &Self::Client, session: &mut Session) -> impl Future<Output = Result<u64, AttemptError>>;

    /// Records that the transaction that was drawn last has committed. `counters` is the sum of the counters that it
    /// read.
    fn committed(client: &mut Self::Client, counters: u64);

    /// Returns the number of updates that the client knows to be committed.
    fn updates(client: &Self::Client) -> u64;
}

/// A client that sends the transactions of a [`CounterTable`] over the network. A transaction of several requests is
/// sent in a transaction block.
pub(crate) struct CounterClient<W: Workload> {
    client: W::Client,
    /// The sum of the counters that the last attempt read.
    counters: u64,
}

impl<W: CounterTable> OverWire for W {
    type WireClient = CounterClient<W>;

    fn tables(&self) -> TableId {
        TableId(0)
    }

    fn statements(&self) -> Vec<String> {
        CounterTable::statements(self)
    }

    fn wire_client(&self, identity: ClientIdentity) -> CounterClient<W> {
        CounterClient { client: self.client(self.tables(), identity), counters: 0 }
    }

    fn judge(&self, tables: &TableReader<'_>, clients: &[CounterClient<W>]) -> Result<(), Violation> {
        let updates = clients.iter().map(|client| W::updates(&client.client)).sum();
        tables.counters(W::TABLE, W::COUNTER, self.rows(), updates)
    }
}

impl<W: CounterTable> WireClient for CounterClient<W> {
    fn draw(&mut self) {
        W::draw(&mut self.client);
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        let in_block = W::requests(&self.client) > 1;
        self.counters = 0;
        if in_block {
            session.begin().await?;
        }
        self.counters = W::send(&self.client, session).await?;
        if in_block {
            session.commit().await?;
        }
        Ok(())
    }

    fn committed(&mut self) -> Option<(usize, bool)> {
        W::committed(&mut self.client, self.counters);
        None
    }
}
