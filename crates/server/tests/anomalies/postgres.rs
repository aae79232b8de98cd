//! PostgreSQL for comparison: the same scripts on a PostgreSQL server, whose outcomes are well known.

use crate::common::Client;
use std::net::SocketAddr;

/// Looks at the sessions of a PostgreSQL server from beside.
pub struct Observer {
    client: Client,
    /// The sessions' process numbers.
    pids: Vec<i32>,
    /// For each of them, whether it waits for another one.
    question: String,
}

impl Observer {
    /// Looks at the sessions that have these process numbers.
    pub fn new(address: SocketAddr, pids: Vec<i32>) -> Self {
        let columns: Vec<_> = pids.iter().map(|pid| format!("cardinality(pg_blocking_pids({pid})) > 0")).collect();
        Self { client: Client::connect(address), question: format!("select {}", columns.join(", ")), pids }
    }

    /// Returns for each session whether it waits for another one.
    pub fn waiting(&mut self) -> Vec<bool> {
        let answer = self.client.run(&self.question);
        answer.rows[0].iter().map(|value| value.as_deref() == Some("t")).collect()
    }

    /// Ends the sessions, and drops what a play has left.
    pub fn end_all(&mut self) {
        for pid in &self.pids {
            self.client.run(&format!("select pg_terminate_backend({pid})"));
        }
        self.client.run("drop table if exists test");
    }
}
