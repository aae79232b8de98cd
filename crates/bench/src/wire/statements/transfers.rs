//! Transfers: the statements of a block, or one CALL of a procedure with the same statements.

use crate::options::By;
use crate::wire::failure::AttemptError;
use crate::wire::over_wire::{OverWire, WireClient, changed_one, one};
use crate::wire::procedure::ServerProcedure;
use crate::wire::session::Session;
use crate::wire::table_reader::TableReader;
use hotrow_storage::TableId;
use hotrow_workloads::transfers::{Client, Transfers};
use hotrow_workloads::{ClientIdentity, Violation, Workload};

const BALANCE: usize = 0;
const ADD: usize = 1;
/// The position of the CALL, which is the only prepared statement with `--by call`.
const CALL: usize = 0;

/// The procedure of a transfer. Like the template's, it locks both accounts in the order of their numbers, and changes
/// nothing if the two accounts are the same, the amount is not positive, or the balance does not suffice. `moved` says
/// whether the amount was moved; it is NULL if an account is missing.
const TRANSFER: ServerProcedure = ServerProcedure {
    name: "transfer",
    signature: "transfer(integer, integer, bigint)",
    create: "CREATE PROCEDURE transfer(source integer, target integer, amount bigint, OUT moved boolean)
LANGUAGE plpgsql AS $$
DECLARE
    source_balance bigint;
    target_balance bigint;
BEGIN
    moved := false;
    IF source = target OR amount <= 0 THEN
        RETURN;
    END IF;
    IF source < target THEN
        SELECT balance INTO source_balance FROM accounts WHERE id = source FOR UPDATE;
        SELECT balance INTO target_balance FROM accounts WHERE id = target FOR UPDATE;
    ELSE
        SELECT balance INTO target_balance FROM accounts WHERE id = target FOR UPDATE;
        SELECT balance INTO source_balance FROM accounts WHERE id = source FOR UPDATE;
    END IF;
    IF source_balance IS NULL OR target_balance IS NULL THEN
        moved := NULL;
    ELSIF source_balance >= amount THEN
        UPDATE accounts SET balance = balance - amount, transfers = transfers + 1 WHERE id = source;
        UPDATE accounts SET balance = balance + amount, transfers = transfers + 1 WHERE id = target;
        moved := true;
    END IF;
END $$",
    call: "CALL transfer($1, $2, $3, NULL)",
};

/// A client that sends transfers over the network.
pub(crate) struct TransfersWireClient {
    client: Client,
    /// Whether the last attempt moved its amount.
    moved: bool,
}

impl OverWire for Transfers {
    const PROCEDURE: Option<ServerProcedure> = Some(TRANSFER);

    type WireClient = TransfersWireClient;

    fn tables(&self) -> TableId {
        TableId(0)
    }

    fn statements(&self) -> Vec<String> {
        [
            "SELECT balance FROM accounts WHERE id = $1 FOR UPDATE",
            "UPDATE accounts SET balance = balance + $2, transfers = transfers + 1 WHERE id = $1",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn wire_client(&self, identity: ClientIdentity) -> TransfersWireClient {
        TransfersWireClient { client: self.client(self.tables(), identity), moved: false }
    }

    fn judge(&self, tables: &TableReader<'_>, clients: &[TransfersWireClient]) -> Result<(), Violation> {
        let changes = clients.iter().map(|client| client.client.changes()).sum();
        tables.counters("accounts", "transfers", self.rows(), changes)?;
        let [[_, sum], [overdrawn, least]] = tables.sums([
            "SELECT count(*), sum(balance)::bigint FROM accounts",
            "SELECT count(*), min(balance) FROM accounts WHERE balance < 0",
        ])?;
        let loaded = self.total();
        if sum != loaded {
            return Err(Violation::Anomaly(format!("the balances add up to {sum}, but {loaded} was loaded")));
        }
        if overdrawn > 0 {
            let what = format!("{overdrawn} of the accounts are overdrawn, the least balance is {least}");
            return Err(Violation::Anomaly(what));
        }
        Ok(())
    }
}

impl TransfersWireClient {
    /// Sends the statements of the transfer in a transaction block. Returns whether they moved the amount.
    async fn send(&self, session: &mut Session) -> Result<bool, AttemptError> {
        let transfer = self.client.next();
        let (source, target, amount) = (transfer.source(), transfer.target(), transfer.amount());
        session.begin().await?;
        let mut funds = 0_i64;
        for account in [source.min(target), source.max(target)] {
            let balance = one(&session.query(BALANCE, &[&account]).await?)?.try_get(0)?;
            if account == source {
                funds = balance;
            }
        }
        let moves = funds >= amount;
        if moves {
            changed_one(session.execute(ADD, &[&source, &-amount]).await?)?;
            changed_one(session.execute(ADD, &[&target, &amount]).await?)?;
        }
        session.commit().await?;
        Ok(moves)
    }

    /// Calls the procedure. Returns whether it moved the amount.
    async fn call(&self, session: &mut Session) -> Result<bool, AttemptError> {
        let transfer = self.client.next();
        let (source, target) = (transfer.source(), transfer.target());
        let rows = session.query(CALL, &[&source, &target, &transfer.amount()]).await?;
        let moved: Option<bool> = one(&rows)?.try_get(0)?;
        moved.ok_or_else(|| AttemptError::Unexpected(format!("account {source} or {target} is missing")))
    }
}

impl WireClient for TransfersWireClient {
    fn draw(&mut self) {
        self.client.generate();
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        self.moved = match session.by() {
            By::Statements => self.send(session).await?,
            By::Call => self.call(session).await?,
        };
        Ok(())
    }

    fn committed(&mut self) -> Option<(usize, bool)> {
        self.client.committed(self.moved);
        Some((0, self.moved))
    }
}
