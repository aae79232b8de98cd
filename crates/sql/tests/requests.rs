//! Tests of engines without waits: a statement that meets a conflict is undone and tried again, and the rest of its
//! transaction stays.

mod common;

use common::{database, outcome, run, session};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};

/// The action that runs during a pause.
type Happens = Box<dyn FnOnce() + Send>;

/// A scheduler whose pauses are over at once. During the pause of the number `left`, the action runs.
struct Pauses {
    now: AtomicU64,
    left: AtomicU64,
    happens: Mutex<Option<Happens>>,
}

impl Scheduler for Pauses {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.now.fetch_max(deadline.expect("a pause has an end").0, Ordering::AcqRel);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(happens) = self.happens.lock().expect("no panic").take()
        {
            happens();
        }
    }

    fn resume(&self) {}
}

/// Runs statements of which the last one conflicts with a transaction that has changed row 1, deleted row 2 and
/// inserted row 4. That transaction ends with `ends` during the third pause. Checks the outcome of the last statement,
/// and the rows of the table after a commit.
fn check(ends: &'static str, statements: &[&str], expected: &str, rows: &str) {
    let retrying = hotrow_protocols::ENGINES.iter().filter(|info| info.capabilities.retries_requests);
    for engine in retrying.map(|info| info.name) {
        let database = database(engine);
        let mut other = session(&database);
        run(
            &mut other,
            "create table t (id int primary key, n int not null); insert into t values (1, 0), (2, 0), (3, 0)",
        );
        run(
            &mut other,
            "begin; update t set n = 10 where id = 1; delete from t where id = 2; insert into t values (4, 40)",
        );
        let happens: Happens = Box::new(move || run(&mut other, ends));
        let pauses =
            Arc::new(Pauses { now: AtomicU64::new(1), left: AtomicU64::new(3), happens: Mutex::new(Some(happens)) });
        let mut retrying = database.session("bob", Waiter::new(pauses.clone()));
        let (last, before) = statements.split_last().expect("there are some");
        before.iter().for_each(|sql| run(&mut retrying, sql));
        assert!(pauses.happens.lock().expect("no panic").is_some(), "{engine}: nothing was in the way yet");
        assert_eq!(outcome(&mut retrying, last), expected, "{engine}: {statements:?}");
        assert!(pauses.happens.lock().expect("no panic").is_none(), "{engine}: {last} has met the other one");
        run(&mut retrying, "commit");
        assert_eq!(outcome(&mut retrying, "select * from t order by id"), rows, "{engine}: {statements:?}");
    }
}

#[test]
fn a_statement_of_its_own_is_tried_again() {
    check("commit", &["update t set n = n + 1 where id = 1"], "UPDATE 1", "1|11 3|0 4|40");
    check("rollback", &["update t set n = n + 1 where id = 1"], "UPDATE 1", "1|1 2|0 3|0");
    check("commit", &["select n from t where id = 2"], "", "1|10 3|0 4|40");
    check("rollback", &["insert into t values (4, 4)"], "INSERT 0 1", "1|0 2|0 3|0 4|4");
    check("commit", &["insert into t values (4, 4)"], "23505", "1|10 3|0 4|40");
}

#[test]
fn in_a_block_what_was_done_before_stays_and_is_done_once() {
    let first = "begin; update t set n = n + 1 where id = 3";
    check("commit", &[first, "update t set n = n + 1"], "UPDATE 3", "1|11 3|2 4|41");
    check("rollback", &[first, "update t set n = n + 1"], "UPDATE 3", "1|1 2|1 3|2");
    check("commit", &["begin", "update t set n = n + 1"], "UPDATE 3", "1|11 3|1 4|41");
    check("commit", &["begin; savepoint a", "update t set n = n + 1; rollback to a"], "ROLLBACK", "1|10 3|0 4|40");
    let serializable = "begin isolation level serializable; update t set n = 5 where id = 3";
    check("commit", &[serializable, "select * from t order by id desc"], "4|40 3|5 1|10", "1|10 3|5 4|40");
    check("rollback", &[first, "delete from t where n = 0"], "DELETE 2", "3|1");
}
