//! Tests of `lock_timeout` and `statement_timeout`, with clocks that advance when they are read.

mod common;

use common::{database, error, outcome, run, session};
use hotrow_sql::{Config, Database, Session};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};
use hotrow_txn::Settings;
use std::time::Duration;

/// Engines under which a transaction that meets a lock waits, regardless of its age, or its statement is retried in
/// place of a wait.
const ENGINES: [&str; 14] = [
    "hier",
    "sli",
    "serial",
    "2pl-timeout",
    "lock-table",
    "1v",
    "ilock",
    "row-nowait",
    "2pl-waitfor",
    "2pl-dreadlocks",
    "2pl-ordered",
    "2pl-atomic",
    "orthrus",
    "vll",
];

const TABLE: &str = "
    create table t (id int primary key, n int not null);
    create procedure add(amount int) language sql as $$
        update t set n = n + amount where id = 2;
        update t set n = n + amount where id = 1 $$";

/// A clock that advances by a microsecond whenever it is read. A wait ends at once, with the clock at its deadline.
#[derive(Default)]
struct Clock(AtomicU64);

impl Scheduler for Clock {
    fn now(&self) -> Time {
        Time(self.0.fetch_add(1_000, Ordering::AcqRel))
    }

    fn suspend(&self, deadline: Option<Time>) {
        let Time(deadline) = deadline.expect("the wait has an end");
        self.0.fetch_max(deadline, Ordering::AcqRel);
    }

    fn resume(&self) {}
}

#[test]
fn a_wait_that_is_too_long_is_over_when_the_client_says_and_not_tried_again() {
    const SECOND: Duration = Duration::from_secs(1);
    let cases = [("lock_timeout", "55P03"), ("statement_timeout", "57014")];
    let statements = [
        "update t set n = 5 where id = 1",
        "call add(5)",
        "update t set n = 5 where id = 2; update t set n = 5 where id = 1",
        "begin; update t set n = 5 where id = 1",
    ];
    for engine in ENGINES {
        let database = database(engine);
        let clock = Arc::new(Clock::default());
        let (mut holder, mut waiting) = (session(&database), database.session("ada", Waiter::new(clock.clone())));
        run(&mut holder, &format!("{TABLE}; insert into t values (1, 0), (2, 0)"));
        run(&mut holder, "begin; update t set n = 1 where id = 1");
        for (setting, expected) in cases {
            run(&mut waiting, &format!("set {setting} = '1s'"));
            for sql in statements {
                let start = clock.now();
                assert_eq!(outcome(&mut waiting, sql), expected, "{engine}, {setting}: {sql}");
                let passed = clock.now().since(start);
                assert!((SECOND..2 * SECOND).contains(&passed), "{engine}, {setting}: {sql}: {passed:?}");
                run(&mut waiting, "rollback");
            }
            run(&mut waiting, &format!("set {setting} = 0"));
        }
        run(&mut holder, "commit");
        assert_eq!(outcome(&mut waiting, "select n from t order by id"), "1 0", "{engine}");
    }
}

/// The engines of the papers that end deadlocks by time-out, if that is asked for: after a second, or what
/// `deadlock_timeout` says. The value at the start of the wait applies, no matter when the transaction began.
#[test]
fn a_deadlock_is_over_after_a_second_or_when_the_client_says() {
    let settings = Settings { deadlock_time_outs: true, ..Settings::default() };
    for engine in ["ilock", "row-nowait", "lock-table", "2pl-timeout", "1v"] {
        let opened = hotrow_protocols::open_with(engine, &settings).expect("an engine of this name");
        let database = Database::new(opened, Config::default());
        let clock = Arc::new(Clock::default());
        let (mut holder, mut waiting) = (session(&database), database.session("ada", Waiter::new(clock.clone())));
        run(&mut holder, &format!("{TABLE}; insert into t values (1, 0), (2, 0)"));
        run(&mut holder, "begin; update t set n = 1 where id = 1");
        for (setting, least) in [("1s", 1_000), ("300ms", 300)] {
            run(&mut waiting, "begin; update t set n = 2 where id = 2");
            if setting != "1s" {
                run(&mut waiting, &format!("set deadlock_timeout = '{setting}'"));
            }
            let start = clock.now();
            assert_eq!(outcome(&mut waiting, "update t set n = 2 where id = 1"), "40001", "{engine}, {setting}");
            let (passed, least) = (clock.now().since(start), Duration::from_millis(least));
            assert!((least..2 * least).contains(&passed), "{engine}, {setting}: {passed:?}");
            run(&mut waiting, "rollback");
        }
        run(&mut holder, "commit");
        assert_eq!(outcome(&mut waiting, "select n from t order by id"), "1 0", "{engine}");
    }
}

/// A clock that advances by a minute whenever it is read. The first wait without a deadline lets the holder commit.
#[derive(Default)]
struct Patient {
    clock: Clock,
    holder: Mutex<Option<Session>>,
}

impl Scheduler for Patient {
    fn now(&self) -> Time {
        self.clock.0.fetch_add(60_000_000_000, Ordering::AcqRel);
        self.clock.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        assert_eq!(deadline, None, "nobody has set a limit");
        run(&mut self.holder.lock().expect("no panic").take().expect("one wait"), "commit");
    }

    fn resume(&self) {}
}

#[test]
fn a_holder_that_only_thinks_makes_no_waiter_fail() {
    for engine in ["2pl-timeout", "lock-table", "1v", "ilock"] {
        let database = database(engine);
        let patient = Arc::new(Patient::default());
        let (mut holder, mut waiting) = (session(&database), database.session("ada", Waiter::new(patient.clone())));
        run(&mut holder, &format!("{TABLE}; insert into t values (1, 0), (2, 0)"));
        run(&mut holder, "begin; update t set n = 1 where id = 1");
        *patient.holder.lock().expect("no panic") = Some(holder);
        run(&mut waiting, "set deadlock_timeout = 1; begin; update t set n = 2 where id = 2");
        assert_eq!(outcome(&mut waiting, "update t set n = n + 1 where id = 1"), "UPDATE 1", "{engine}");
        assert_eq!(outcome(&mut waiting, "commit; select n from t order by id"), "2 2", "{engine}");
    }
}

/// The statements with which a transaction of an engine meets another one after it has begun.
struct Late {
    /// The statements of the first transaction before the conflict.
    first: &'static str,
    /// The statements with which the other transaction then takes its locks.
    other: &'static str,
    /// The statements of the first transaction that then wait.
    waits: &'static str,
}

/// Every engine that a server takes. Where a transaction has the whole database once it has begun, nothing can get into
/// its way later.
#[test]
fn a_limit_that_is_set_in_the_middle_of_a_transaction_holds_for_its_next_wait() {
    const LIMIT: Duration = Duration::from_secs(1);
    let update = "begin; update t set n = 1 where id = 1";
    let locking =
        Late { first: "begin; select n from t where id = 2", other: update, waits: "update t set n = 5 where id = 1" };
    let planned = Late {
        first: "begin read only; select n from t where id = 2",
        other: update,
        waits: "select n from t where id = 1",
    };
    let versions = Late {
        first: "set hotrow.concurrency = pessimistic; begin isolation level serializable; update t set n = 5 where id = 1",
        other: "set hotrow.concurrency = pessimistic; begin isolation level serializable; select n from t where id = 2",
        waits: "update t set n = 6 where id = 2; commit",
    };
    let alone = Late { first: "begin", other: update, waits: "update t set n = 5 where id = 1" };
    let mut seen = 0;
    for info in hotrow_protocols::ENGINES.iter().filter(|info| info.isolates) {
        let late = match info.name {
            "serial" | "2pl-ordered" | "2pl-ordered-split" => &alone,
            _ if info.concurrency.is_some() => &versions,
            _ if info.capabilities.needs_accesses => &planned,
            _ => &locking,
        };
        for (setting, ends) in [("set lock_timeout", "rollback"), ("set local lock_timeout", "rollback")] {
            let database = database(info.name);
            let clock = Arc::new(Clock::default());
            let (mut other, mut first) = (session(&database), database.session("ada", Waiter::new(clock.clone())));
            run(&mut other, "create table t (id int primary key, n int not null) partition by hash (id)");
            run(&mut other, "insert into t values (1, 0), (2, 0)");
            run(&mut first, late.first);
            run(&mut other, late.other);
            run(&mut first, &format!("{setting} = '1s'"));
            let start = clock.now();
            assert_eq!(outcome(&mut first, late.waits), "55P03", "{}: {setting}", info.name);
            let passed = clock.now().since(start);
            assert!((LIMIT..2 * LIMIT).contains(&passed), "{}: {setting}: {passed:?}", info.name);
            run(&mut first, ends);
            run(&mut other, "commit");
        }
        seen += 1;
    }
    assert_eq!(seen, 27, "all but `none`");
}

#[test]
fn a_statement_that_goes_over_too_many_rows_is_cancelled_and_leaves_nothing_behind() {
    let statements = [
        "select count(*) from t",
        "update t set n = 1",
        "insert into t select id + 500, n from t",
        "select max(s) from (select sum(n) over (order by id rows between 400 preceding and current row) as s from t) x",
    ];
    for engine in ENGINES {
        let database = database(engine);
        let mut session = database.session("ada", Waiter::new(Arc::new(Clock::default())));
        run(&mut session, TABLE);
        let rows: Vec<_> = (1..=500).map(|id| format!("({id}, 0)")).collect();
        run(&mut session, &format!("insert into t values {}", rows.join(", ")));
        run(&mut session, "set statement_timeout = '200us'");
        for sql in statements {
            let error = error(&mut session, sql);
            assert_eq!(
                (error.state.as_str(), error.message.as_str()),
                ("57014", "canceling statement due to statement timeout"),
                "{engine}: {sql}"
            );
        }
        // Each statement has a time of its own, and a cancelled one is not said to be late.
        for id in 1..=20 {
            assert_eq!(outcome(&mut session, &format!("update t set n = n where id = {id}")), "UPDATE 1", "{engine}");
        }
        session.waiter().cancel();
        assert_eq!(error(&mut session, "select 1").message, "canceling statement due to user request");
        session.waiter().clear_cancel();
        run(&mut session, "set statement_timeout = 0");
        assert_eq!(outcome(&mut session, "select count(*), sum(n) from t"), "500|0", "{engine}");
    }
}
