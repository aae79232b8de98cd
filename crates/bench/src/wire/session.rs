//! A client's connection, with the statements of its workload prepared.

use crate::options::By;
use hotrow_sync::Arc;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, NoTls, Row, Statement};

/// A statement's parameter.
pub(crate) type Param<'a> = &'a (dyn ToSql + Sync);

/// All of a statement's parameters.
pub(crate) type Params<'a> = &'a [Param<'a>];

/// A client's session: it sends one statement after the other, and waits for each answer. Every statement is a request
/// and a reply on the network, also one that begins or ends a transaction. Several sessions may [share](Session::share)
/// a connection.
pub(crate) struct Session {
    client: Arc<Client>,
    by: By,
    statements: Vec<Statement>,
    begin: Statement,
    commit: Statement,
    rollback: Statement,
    /// The number of statements that were sent since [`take_sent`](Session::take_sent) was called last.
    sent: u64,
    /// Whether a transaction block is open, or its end is not known.
    in_block: bool,
}

/// Starts the runtime of one thread's connections.
pub(super) fn start_runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("the clients' runtime could not be started: {error}"))
}

/// Connects to a server. The connection lives in a task of the calling runtime until the client is dropped.
pub(super) async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    // An error of the connection ends the client's next statement, which reports it.
    tokio::spawn(connection);
    Ok(client)
}

impl Session {
    /// Connects, executes the SET statements in `settings`, and prepares `statements`. Later calls name a statement by
    /// its position in `statements`. `by` is the way in which transactions will be sent.
    pub(super) async fn open(
        config: &Config,
        settings: &[String],
        statements: &[String],
        by: By,
    ) -> Result<Self, Error> {
        let client = connect(config).await?;
        for sql in settings {
            client.batch_execute(sql).await?;
        }
        let mut prepared = Vec::with_capacity(statements.len());
        for sql in statements {
            prepared.push(client.prepare(sql).await?);
        }
        let (begin, commit) = (client.prepare("BEGIN").await?, client.prepare("COMMIT").await?);
        let rollback = client.prepare("ROLLBACK").await?;
        let client = Arc::new(client);
        Ok(Self { client, by, statements: prepared, begin, commit, rollback, sent: 0, in_block: false })
    }

    /// Returns another session on the same connection. It may send a statement while this one waits for an answer; the
    /// server answers in the order of the statements. Neither session may open a transaction block.
    pub(super) fn share(&self) -> Self {
        Self {
            client: Arc::clone(&self.client),
            by: self.by,
            statements: self.statements.clone(),
            begin: self.begin.clone(),
            commit: self.commit.clone(),
            rollback: self.rollback.clone(),
            sent: 0,
            in_block: false,
        }
    }

    /// Returns the way in which transactions are sent.
    pub(crate) fn by(&self) -> By {
        self.by
    }

    /// Begins a transaction block.
    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        self.sent += 1;
        self.in_block = true;
        self.client.execute(&self.begin, &[]).await.map(drop)
    }

    /// Commits the transaction block.
    pub(crate) async fn commit(&mut self) -> Result<(), Error> {
        self.sent += 1;
        self.client.execute(&self.commit, &[]).await?;
        self.in_block = false;
        Ok(())
    }

    /// Rolls the transaction block back, if one is open. That is also necessary after an error of a statement.
    pub(crate) async fn rollback(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.in_block) {
            self.sent += 1;
            self.client.execute(&self.rollback, &[]).await?;
        }
        Ok(())
    }

    /// Runs the statement at a position with these parameters. Returns the number of rows that it changed.
    pub(crate) async fn execute(&mut self, statement: usize, params: Params<'_>) -> Result<u64, Error> {
        self.sent += 1;
        self.client.execute(&self.statements[statement], params).await
    }

    /// Runs the statement at a position with these parameters. Returns its rows.
    pub(crate) async fn query(&mut self, statement: usize, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.sent += 1;
        self.client.query(&self.statements[statement], params).await
    }

    /// Returns how many statements were sent since the last call.
    pub(super) fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}
