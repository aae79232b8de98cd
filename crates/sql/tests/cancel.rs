//! A statement that is cancelled while it goes from row to row stops there, and leaves nothing behind.

mod common;

use common::{ENGINES, EachRow, database, outcome, run, session, waiting};
use hotrow_storage::Value;

#[test]
fn a_running_statement_is_cancelled_at_its_next_row() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (id int primary key, n int)");
        let rows: Vec<_> = (0..50).map(|id| format!("({id}, 0)")).collect();
        run(&mut session, &format!("insert into t values {}", rows.join(", ")));
        let statements = [
            "select id from t",
            "select id from t order by n, id desc",
            "select id, sum(n) over (order by id rows between 3 preceding and current row) from t",
            "select id, row_number() over (order by n), rank() over (partition by n order by id) from t",
            "update t set n = 1 returning id",
            "delete from t where n = 0 returning id",
            "insert into t select id + 100, n from t returning id",
        ];
        for sql in statements {
            // A client that wants no more after the first row.
            let (waiter, mut rows) = (session.waiter().clone(), 0);
            let mut client = EachRow(|_: &[Value<'_>]| {
                rows += 1;
                waiter.cancel();
            });
            let error = session.simple_query(sql, &mut client).expect_err(sql);
            assert_eq!((error.state.as_str(), rows), ("57014", 1), "{engine}: {sql}");
            session.waiter().clear_cancel();
            assert_eq!(outcome(&mut session, "select count(*), sum(n) from t"), "50|0", "{engine}: after {sql}");
        }
    }
}

#[test]
fn a_wait_for_a_table_that_is_cancelled_ends_its_transaction() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut ada, mut bob) = (session(&database), session(&database));
        run(&mut ada, "create table t (id int primary key)");
        run(&mut ada, "begin");
        run(&mut ada, "alter table t add n int");
        run(&mut bob, "begin");
        let (waiter, waits) = waiting(&database, bob, "select id from t");
        waiter.cancel();
        let (mut bob, outcome_of_wait) = waits.join().expect("no panic");
        assert!(outcome_of_wait.starts_with("57014"), "{engine}: {outcome_of_wait}");
        let cancelled = database.totals().aborts().find(|(name, _)| *name == "cancelled");
        assert_eq!(cancelled, Some(("cancelled", 1)), "{engine}: the engine has given the transaction up");
        waiter.clear_cancel();
        run(&mut bob, "rollback");
        run(&mut ada, "commit");
        assert_eq!(outcome(&mut bob, "select count(n) from t"), "0", "{engine}");
    }
}
