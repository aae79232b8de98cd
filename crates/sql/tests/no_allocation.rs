//! A prepared point statement reaches its record without asking the allocator for anything.

mod common;

use hotrow_sql::{Client, Notice, OutputColumn, SqlError};
use hotrow_storage::Value;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what this thread asks for.
struct Counting;

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
    static TOTAL: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator with the same arguments; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTED.get() {
            TOTAL.set(TOTAL.get() + 1);
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Adds up what it gets.
#[derive(Default)]
struct Sum {
    rows: u64,
    total: i64,
}

impl Client for Sum {
    fn columns(&mut self, _columns: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.rows += 1;
        self.total += values.iter().filter_map(Value::as_int).sum::<i64>();
        Ok(())
    }

    fn complete(&mut self, _tag: &str) -> Result<(), SqlError> {
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _notice: Notice) {}

    fn parameter(&mut self, _name: &str, _value: &str) {}
}

fn allocations(engine: &str, sql: &str) -> u64 {
    let database = common::database(engine);
    let mut session = common::session(&database);
    common::run(&mut session, "create table t (id int primary key, n int, name varchar(20))");
    for id in 0..1000 {
        common::run(&mut session, &format!("insert into t values ({id}, 1, 'a name of no use')"));
    }
    let statement = session.parse("point", sql, &[]).expect("a statement");
    let mut sum = Sum::default();
    let mut round = |sum: &mut Sum| {
        for id in 0..1000 {
            let fill = &mut |params: &mut Vec<Value<'static>>| {
                params.push(Value::Int4(id));
                Ok(())
            };
            session.bind("", &statement, fill).expect("bound");
            session.announce_sync();
            session.execute("", 0, sum).expect("executed");
            session.sync().expect("committed");
        }
    };
    // The first round grows what is kept from one statement to the next.
    round(&mut sum);
    COUNTED.set(true);
    let before = TOTAL.get();
    round(&mut sum);
    let after = TOTAL.get();
    COUNTED.set(false);
    assert!(sum.rows == 2000 || !sql.starts_with("select"), "{sql}: {} rows", sum.rows);
    after - before
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
