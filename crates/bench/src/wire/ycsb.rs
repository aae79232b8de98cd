//! YCSB's transactions as statements: a read is a SELECT of the whole row, a read-modify-write an UPDATE that returns it.

use super::{AttemptError, Caller, Look, OverWire, Session, one};
use hotrow_storage::TableId;
use hotrow_txn::Intent;
use hotrow_workloads::ycsb::{Client, Ycsb};
use hotrow_workloads::{Seat, Violation, Workload};

const READ: usize = 0;
/// The first of the statements that each replace one value.
const WRITE: usize = 1;

/// A client on the network.
pub(crate) struct YcsbCaller {
    client: Client,
    checksum: u64,
}

impl OverWire for Ycsb {
    type Caller = YcsbCaller;

    fn tables(&self) -> TableId {
        TableId(0)
    }

    fn statements(&self) -> Vec<String> {
        let read = "SELECT * FROM usertable WHERE ycsb_key = $1".to_owned();
        let write = |field| {
            format!("UPDATE usertable SET counter = counter + 1, field{field} = $2 WHERE ycsb_key = $1 RETURNING *")
        };
        std::iter::once(read).chain((0..self.options().fields).map(write)).collect()
    }

    fn caller(&self, seat: Seat) -> YcsbCaller {
        YcsbCaller { client: self.client(self.tables(), seat), checksum: 0 }
    }

    fn judge(&self, tables: &Look<'_>, callers: &[YcsbCaller]) -> Result<(), Violation> {
        let increments = callers.iter().map(|caller| caller.client.increments()).sum();
        tables.counters("usertable", "counter", self.options().records, increments)
    }
}

impl Caller for YcsbCaller {
    fn draw(&mut self) {
        self.client.generate();
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        let operations = self.client.next();
        let in_block = operations.list().len() > 1;
        self.checksum = 0;
        if in_block {
            session.begin().await?;
        }
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
            self.checksum = self.checksum.wrapping_add(counter as u64);
        }
        if in_block {
            session.commit().await?;
        }
        Ok(())
    }

    fn committed(&mut self) -> Option<(usize, bool)> {
        self.client.committed(self.checksum);
        None
    }
}
