//! The interactive paper's transactions: each read a SELECT of the value, each write an UPDATE that adds one to it.

use super::counters::CounterTable;
use crate::wire::failure::AttemptError;
use crate::wire::over_wire::{changed_one, one};
use crate::wire::session::Session;
use hotrow_workloads::interactive::{Client, Interactive};

const READ: usize = 0;
const WRITE: usize = 1;

impl CounterTable for Interactive {
    const TABLE: &'static str = "kv";
    const COUNTER: &'static str = "value";

    fn statements(&self) -> Vec<String> {
        vec!["SELECT value FROM kv WHERE key = $1".into(), "UPDATE kv SET value = value + 1 WHERE key = $1".into()]
    }

    fn draw(client: &mut Client) {
        client.generate();
    }

    fn requests(client: &Client) -> usize {
        client.next().reads().len() + client.next().writes().len()
    }

    async fn send(client: &Client, session: &mut Session) -> Result<u64, AttemptError> {
        let operations = client.next();
        let mut values = 0_u64;
        for key in operations.reads() {
            let value: i64 = one(&session.query(READ, &[key]).await?)?.try_get(0)?;
            values = values.wrapping_add(value as u64);
        }
        for key in operations.writes() {
            changed_one(session.execute(WRITE, &[key]).await?)?;
        }
        Ok(values)
    }

    fn committed(client: &mut Client, counters: u64) {
        client.committed(counters);
    }

    fn updates(client: &Client) -> u64 {
        client.written()
    }
}
