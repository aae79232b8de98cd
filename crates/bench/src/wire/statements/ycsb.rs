//! YCSB's transactions: a read is a SELECT of the whole row, a read-modify-write an UPDATE that returns it.

use super::counters::CounterTable;
use crate::wire::failure::AttemptError;
use crate::wire::over_wire::one;
use crate::wire::session::Session;
use hotrow_txn::Intent;
use hotrow_workloads::Workload;
use hotrow_workloads::ycsb::{Client, Ycsb};

const READ: usize = 0;
/// The position of the first of the statements that each replace one value.
const WRITE: usize = 1;

impl CounterTable for Ycsb {
    const TABLE: &'static str = "usertable";
    const COUNTER: &'static str = "counter";

    fn statements(&self) -> Vec<String> {
        let read = "SELECT * FROM usertable WHERE ycsb_key = $1".to_owned();
        let write = |field| {
            format!("UPDATE usertable SET counter = counter + 1, field{field} = $2 WHERE ycsb_key = $1 RETURNING *")
        };
        std::iter::once(read).chain((0..self.options().fields).map(write)).collect()
    }

    fn draw(client: &mut Client) {
        client.generate();
    }

    fn requests(client: &Client) -> usize {
        client.next().list().len()
    }

    async fn send(client: &Client, session: &mut Session) -> Result<u64, AttemptError> {
        let operations = client.next();
        let mut counters = 0_u64;
        for operation in operations.list() {
            let rows = match operation.intent {
                Intent::Read => session.query(READ, &[&operation.key]).await?,
                Intent::Write => {
                    let value = std::str::from_utf8(operations.value(operation.field))
                        .map_err(|error| AttemptError::Unexpected(format!("a value is no text: {error}")))?;
                    session.query(WRITE + usize::from(operation.field), &[&operation.key, &value]).await?
                }
            };
            let counter: i64 = one(&rows)?.try_get(1)?;
            counters = counters.wrapping_add(counter as u64);
        }
        Ok(counters)
    }

    fn committed(client: &mut Client, counters: u64) {
        client.committed(counters);
    }

    fn updates(client: &Client) -> u64 {
        client.increments()
    }
}
