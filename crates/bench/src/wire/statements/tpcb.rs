//! TPC-B's transaction, with the statements of pgbench.

use crate::wire::failure::AttemptError;
use crate::wire::over_wire::{OverWire, WireClient, changed_one, one};
use crate::wire::session::Session;
use crate::wire::table_reader::TableReader;
use hotrow_storage::TableId;
use hotrow_txn::number_of;
use hotrow_workloads::tpcb::{Client, Tables, Tpcb};
use hotrow_workloads::{ClientIdentity, Violation, Workload};

const ACCOUNT: usize = 0;
const BALANCE: usize = 1;
const TELLER: usize = 2;
const BRANCH: usize = 3;
const HISTORY: usize = 4;

/// A client that sends TPC-B's transactions over the network.
pub(crate) struct TpcbWireClient {
    client: Client,
}

impl OverWire for Tpcb {
    type WireClient = TpcbWireClient;

    fn tables(&self) -> Tables {
        let [branches, tellers, accounts, history] = [0, 1, 2, 3].map(TableId);
        Tables { branches, tellers, accounts, history }
    }

    fn statements(&self) -> Vec<String> {
        [
            "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
            "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
            "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
            "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn wire_client(&self, identity: ClientIdentity) -> TpcbWireClient {
        TpcbWireClient { client: self.client(self.tables(), identity) }
    }

    fn judge(&self, tables: &TableReader<'_>, clients: &[TpcbWireClient]) -> Result<(), Violation> {
        let sums = tables.sums([
            "SELECT count(*), sum(abalance)::bigint FROM pgbench_accounts",
            "SELECT count(*), sum(tbalance)::bigint FROM pgbench_tellers",
            "SELECT count(*), sum(bbalance)::bigint FROM pgbench_branches",
            "SELECT count(*), sum(delta)::bigint FROM pgbench_history",
        ])?;
        let entries = sums[3][0];
        let committed: u64 = clients.iter().map(|client| client.client.committed()).sum();
        if entries != committed as i64 {
            let (rows, transactions) = (number_of(entries as u64, "row"), number_of(committed, "transaction"));
            return Err(Violation::Corruption(format!("the history has {rows}, but {transactions} committed")));
        }
        let deposited: i64 = clients.iter().map(|client| client.client.deposited()).sum();
        let [accounts, tellers, branches, history] = sums.map(|[_, sum]| sum);
        match [accounts, tellers, branches, history].iter().all(|&sum| sum == deposited) {
            true => Ok(()),
            false => Err(Violation::Anomaly(format!(
                "{deposited} was deposited in total, but the sums are {accounts} of accounts, {tellers} of tellers, \
                 {branches} of branches, {history} of the history"
            ))),
        }
    }
}

impl WireClient for TpcbWireClient {
    fn draw(&mut self) {
        self.client.generate();
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        let deposit = self.client.next();
        let (account, teller, branch) = (deposit.account(), deposit.teller(), deposit.branch());
        let delta = deposit.delta();
        session.begin().await?;
        changed_one(session.execute(ACCOUNT, &[&delta, &account]).await?)?;
        one(&session.query(BALANCE, &[&account]).await?)?.try_get::<_, i32>(0)?;
        changed_one(session.execute(TELLER, &[&delta, &teller]).await?)?;
        changed_one(session.execute(BRANCH, &[&delta, &branch]).await?)?;
        changed_one(session.execute(HISTORY, &[&teller, &branch, &account, &delta]).await?)?;
        session.commit().await?;
        Ok(())
    }

    fn committed(&mut self) -> Option<(usize, bool)> {
        self.client.note_committed();
        None
    }
}
