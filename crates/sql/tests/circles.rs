//! Bodies that call each other in circles: each is bound once, however many ways lead to it.

mod common;

use common::{ENGINES, database, outcome, session};

/// The number of tables: far more ways lead through them all than could be gone.
const TABLES: usize = 14;

#[test]
fn triggers_write_each_others_tables() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        for table in 0..TABLES {
            outcome(&mut session, &format!("create table t{table} (n int); insert into t{table} values (0)"));
        }
        for table in 0..TABLES {
            let others = (0..TABLES).filter(|other| *other != table);
            let writes: String =
                others.map(|other| format!("update t{other} set n = new.n where n < new.n; ")).collect();
            let made = format!(
                "create function spread{table}() returns trigger language plpgsql as
                 $$ begin {writes} return null; end $$;
                 create trigger spread after update on t{table} for each row execute function spread{table}()"
            );
            outcome(&mut session, &made);
        }
        let sum = (0..TABLES).map(|table| format!("(select n from t{table})")).collect::<Vec<_>>().join(" + ");
        let sum = format!("select {sum}");
        // Whichever is bound first, the others lead back to it.
        for (step, table) in [0, 5, TABLES - 1].into_iter().enumerate() {
            let n = step + 1;
            assert_eq!(outcome(&mut session, &format!("update t{table} set n = {n}")), "UPDATE 1", "{engine}");
            assert_eq!(outcome(&mut session, &sum), (n * TABLES).to_string(), "{engine}");
        }
        // Another function for one of them holds for all.
        let other = "create or replace function spread5() returns trigger language plpgsql as
                     $$ begin update t6 set n = 100 where n < 100; return null; end $$";
        outcome(&mut session, other);
        assert_eq!(outcome(&mut session, "update t0 set n = 4"), "UPDATE 1", "{engine}");
        assert_eq!(outcome(&mut session, "select n from t6"), "100", "{engine}");
        outcome(&mut session, "drop table t6");
        assert_eq!(outcome(&mut session, "update t0 set n = 200"), "42P01", "{engine}");
        assert_eq!(outcome(&mut session, "select n from t0"), "100", "{engine}");
    }
}

#[test]
fn functions_that_a_transaction_has_made_call_each_other_twice() {
    let database = database("ilock");
    let mut session = session(&database);
    outcome(&mut session, "begin; create function f0(n int) returns int language plpgsql as $$ begin return n; end $$");
    for number in 1..30 {
        let inner = number - 1;
        let made = format!(
            "create function f{number}(n int) returns int language plpgsql as
             $$ begin if n > {number} then return f{inner}(n) + f{inner}(n - 1); end if; return f{inner}(n); end $$"
        );
        assert_eq!(outcome(&mut session, &made), "CREATE FUNCTION");
    }
    assert_eq!(outcome(&mut session, "select f29(1)"), "1");
    assert_eq!(outcome(&mut session, "commit; select f29(1)"), "1");
}
