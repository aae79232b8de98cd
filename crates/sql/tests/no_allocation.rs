//! A prepared point statement reaches its record without asking the allocator for anything.

mod allocator;
mod common;

use common::EachRow;
use hotrow_storage::Value;

fn allocations(engine: &str, sql: &str) -> u64 {
    let database = common::database(engine);
    let mut session = common::session(&database);
    common::run(&mut session, "create table t (id int primary key, n int, name varchar(20))");
    for id in 0..1000 {
        common::run(&mut session, &format!("insert into t values ({id}, 1, 'a name of no use')"));
    }
    let statement = session.parse("point", sql, &[]).expect("a statement");
    let mut rows = 0;
    let mut client = EachRow(|_: &[Value<'_>]| rows += 1);
    let mut round = || {
        for id in 0..1000 {
            let fill = &mut |params: &mut Vec<Value<'static>>| {
                params.push(Value::Int4(id));
                Ok(())
            };
            session.bind("", &statement, fill).expect("bound");
            session.announce_sync();
            session.execute("", 0, &mut client).expect("executed");
            session.sync().expect("committed");
        }
    };
    // The first round grows what is kept from one statement to the next.
    round();
    let calls = allocator::calls(round);
    assert!(rows == 2000 || !sql.starts_with("select"), "{sql}: {rows} rows");
    calls
}

#[test]
fn a_point_select_allocates_nothing() {
    for engine in ["serial", "2pl-timeout", "1v", "2pl-ordered"] {
        assert_eq!(allocations(engine, "select id, n, name from t where id = $1"), 0, "{engine}");
        assert_eq!(allocations(engine, "select n + 1 from t where id = $1 and n = 1"), 0, "{engine}");
    }
}

#[test]
fn a_point_update_of_numbers_allocates_nothing_in_sql() {
    assert_eq!(allocations("serial", "update t set n = n + 1 where id = $1"), 0);
}
