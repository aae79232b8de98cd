//! Sessions over engines of the registry.

use hotrow_protocols::{ENGINES, open};
use hotrow_runtime::Session;
use hotrow_storage::{Column, Key, TableId, TableSchema, Type};
use hotrow_txn::{Abort, Accesses, Engine, Intent, Isolation, Procedure, Runner, Transaction, Write};

fn counters(engine: &dyn Engine) -> TableId {
    let columns = vec![Column::new("id", Type::Int8), Column::new("count", Type::Int8)];
    let schema = TableSchema { partitioned: true, ..TableSchema::new("counters", columns, &[0]) };
    let table = engine.create_table(schema);
    engine.load(table, engine.new_row(table).as_ref()).expect("an empty table");
    table
}

/// Adds to counter 0, and returns what it is then; gives up beyond a limit.
struct Add {
    table: TableId,
    amount: i64,
    limit: i64,
}

impl Procedure for Add {
    type Output = i64;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(self.table, Key::Int(0), Intent::Write);
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i64, Abort> {
        let mut count = 0;
        let write = txn.update(self.table, &Key::Int(0), &mut |row| {
            count = row.as_ref().int8(1) + self.amount;
            row.set_int8(1, count);
            Ok(())
        })?;
        assert_eq!(write, Write::Done);
        if count > self.limit { Err(Abort::User) } else { Ok(count) }
    }
}

#[test]
fn a_session_runs_transactions_and_procedures() {
    for info in ENGINES {
        let engine = open(info.name).expect("it is in the registry");
        let table = counters(&*engine);
        let mut session = Session::new(&*engine);
        let add = |amount| Add { table, amount, limit: 10 };
        assert_eq!(session.run(&add(1)), Ok(1), "{}", info.name);
        assert_eq!(session.run(&add(10)), Err(Abort::User), "{}", info.name);

        let mut txn = session.begin(Isolation::Serializable).expect("nobody else is there");
        assert_eq!(add(2).run(&mut *txn), Ok(3));
        txn.commit().expect("nobody else is there");
        for rollback in [true, false] {
            let mut txn = session.begin(Isolation::ReadCommitted).expect("nobody else is there");
            assert_eq!(add(4).run(&mut *txn), Ok(7));
            if rollback { txn.rollback() } else { drop(txn) }
        }
        session.set_isolation(Isolation::ReadCommitted);
        assert_eq!(session.run(&add(0)), Ok(3), "{}", info.name);
    }
}
