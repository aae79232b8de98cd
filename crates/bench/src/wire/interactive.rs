//! The interactive paper's transactions as statements.

use super::{AttemptError, Caller, Look, OverWire, Session, one};
use hotrow_storage::TableId;
use hotrow_workloads::interactive::{Client, Interactive};
use hotrow_workloads::{Seat, Violation, Workload};

const READ: usize = 0;
const WRITE: usize = 1;

/// A client on the network.
pub(crate) struct InteractiveCaller {
    client: Client,
    checksum: u64,
}

impl OverWire for Interactive {
    type Caller = InteractiveCaller;

    fn tables(&self) -> TableId {
        TableId(0)
    }

    fn statements(&self) -> Vec<String> {
        vec!["SELECT value FROM kv WHERE key = $1".into(), "UPDATE kv SET value = value + 1 WHERE key = $1".into()]
    }

    fn caller(&self, seat: Seat) -> InteractiveCaller {
        InteractiveCaller { client: self.client(self.tables(), seat), checksum: 0 }
    }

    fn judge(&self, tables: &Look<'_>, callers: &[InteractiveCaller]) -> Result<(), Violation> {
        let written = callers.iter().map(|caller| caller.client.written()).sum();
        tables.counters("kv", "value", self.options().records, written)
    }
}

impl Caller for InteractiveCaller {
    fn draw(&mut self) {
        self.client.generate();
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        let operations = self.client.next();
        let in_block = operations.reads().len() + operations.writes().len() > 1;
        self.checksum = 0;
        if in_block {
            session.begin().await?;
        }
        for key in operations.reads() {
            let value: i64 = one(&session.query(READ, &[key]).await?)?.try_get(0)?;
            self.checksum = self.checksum.wrapping_add(value as u64);
        }
        for key in operations.writes() {
            super::changed_one(session.execute(WRITE, &[key]).await?)?;
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
