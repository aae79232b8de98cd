//! A client's connection, with the statements of its workload prepared.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, NoTls, Row, Statement};

/// A statement's parameter.
pub(crate) type Param<'a> = &'a (dyn ToSql + Sync);

/// All of a statement's parameters.
pub(crate) type Params<'a> = &'a [Param<'a>];

/// Sends one statement after the other and waits for each answer: a request and a reply on the network for every one of
/// them, those that begin and end transactions too.
pub(crate) struct Session {
    client: Client,
    statements: Vec<Statement>,
    begin: Statement,
    commit: Statement,
    rollback: Statement,
    sent: u64,
    in_block: bool,
}

/// Connects. The connection lives in a task of the calling runtime until the client is dropped.
pub(super) async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    // Its error is what the client's next statement ends with.
    tokio::spawn(connection);
    Ok(client)
}

impl Session {
    /// Connects, makes `settings` and prepares `statements`, which are called by their positions.
    pub(super) async fn open(config: &Config, settings: &[String], statements: &[String]) -> Result<Self, Error> {
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
        Ok(Self { client, statements: prepared, begin, commit, rollback, sent: 0, in_block: false })
    }

    /// Begins a transaction block.
    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        self.sent += 1;
        self.in_block = true;
        self.client.execute(&self.begin, &[]).await.map(drop)
    }

    /// Commits it.
    pub(crate) async fn commit(&mut self) -> Result<(), Error> {
        self.sent += 1;
        self.client.execute(&self.commit, &[]).await?;
        self.in_block = false;
        Ok(())
    }

    /// Takes it back, if there is one: after an error of a statement, too.
    pub(crate) async fn rollback(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.in_block) {
            self.sent += 1;
            self.client.execute(&self.rollback, &[]).await?;
        }
        Ok(())
    }

    /// Runs a statement: how many rows it changed.
    pub(crate) async fn execute(&mut self, statement: usize, params: Params<'_>) -> Result<u64, Error> {
        self.sent += 1;
        self.client.execute(&self.statements[statement], params).await
    }

    /// Runs a statement: its rows.
    pub(crate) async fn query(&mut self, statement: usize, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.sent += 1;
        self.client.query(&self.statements[statement], params).await
    }

    /// How many statements were sent since this was asked last.
    pub(super) fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}
