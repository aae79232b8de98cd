//! Rows for which nobody waits: FOR UPDATE with NOWAIT and SKIP LOCKED.

mod common;

use common::{database, error, outcome, query, run, session};

/// Engines whose transactions lock rows as they come to them.
const LOCKING: [&str; 12] = [
    "hier",
    "sli",
    "2pl-timeout",
    "2pl-waitdie",
    "2pl-waitfor",
    "2pl-dreadlocks",
    "lock-table",
    "1v",
    "ilock",
    "row-nowait",
    "mvo",
    "mvl",
];

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const JOBS: &str = "create table job (id int primary key, queue text, state text);
    create index job_state on job (state, id);
    insert into job select n, case when n % 2 = 0 then 'even' else 'odd' end, 'new' from generate_series(1, 6) n";

#[test]
fn workers_take_different_jobs_and_none_waits() {
    for engine in LOCKING {
        let database = database(engine);
        run(&mut session(&database), JOBS);
        for level in LEVELS {
            let mut workers: Vec<_> = (0..3).map(|_| session(&database)).collect();
            for (number, worker) in workers.iter_mut().enumerate() {
                run(worker, &format!("begin isolation level {level}"));
                let sql = "select id from job where state = 'new' order by id limit 1 for update skip locked";
                assert_eq!(outcome(worker, sql), (number + 1).to_string(), "{engine}, {level}");
            }
            let even = "select id from job where queue = 'even' order by id limit 2 for update skip locked";
            let mut last = session(&database);
            run(&mut last, &format!("begin isolation level {level}"));
            assert_eq!(outcome(&mut last, even), "4 6", "{engine}, {level}: others' queues are left alone");
            let odd = "select id from job where queue = 'odd' and id > 3 for share of job skip locked";
            assert_eq!(outcome(&mut workers[0], odd), "5", "{engine}, {level}");
            assert_eq!(outcome(&mut workers[0], "select id from job where id = 2 for update skip locked"), "");
            assert_eq!(outcome(&mut workers[0], "select id from job where id = 1 for update skip locked"), "1");
            for worker in workers.iter_mut().chain([&mut last]) {
                assert_eq!(outcome(worker, "rollback"), "ROLLBACK", "{engine}, {level}");
            }
        }
        let held = outcome(&mut session(&database), "show hotrow.locks");
        assert!(held == "none are counted" || held == "held 0, waiting 0", "{engine}: {held}");
    }
}

#[test]
fn a_job_is_taken_and_done_in_one_statement() {
    for engine in LOCKING {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, JOBS);
        let take = "update job set state = 'done'
            from (select id from job where state = 'new' order by id limit 1 for update skip locked) next
            where job.id = next.id returning job.id";
        run(&mut one, "begin");
        assert_eq!(outcome(&mut one, take), "1", "{engine}");
        assert_eq!(outcome(&mut other, take), "2", "{engine}");
        run(&mut one, "rollback");
        assert_eq!(outcome(&mut other, take), "1", "{engine}");
        assert_eq!(outcome(&mut other, "select id from job where state = 'done' order by 1"), "1 2", "{engine}");
    }
}

#[test]
fn a_job_is_taken_by_a_subquery_or_by_a_query_before_the_statement() {
    let next = "select id from job where state = 'new' order by id limit 1 for update skip locked";
    let forms = [
        format!("update job set state = 'done' where id = ({next}) returning id"),
        format!("update job set state = 'done' where id in ({next}) returning id"),
        format!(
            "with next as ({next}) update job set state = 'done' from next where job.id = next.id returning job.id"
        ),
        format!(
            "with next as materialized ({next}) update job set state = 'done' where id = (select id from next) returning id"
        ),
        format!("delete from job where id = any ({next}) returning id"),
        format!("with next as ({next}) delete from job using next where job.id = next.id returning job.id"),
    ];
    for engine in LOCKING {
        for take in &forms {
            let database = database(engine);
            let (mut one, mut other) = (session(&database), session(&database));
            run(&mut one, JOBS);
            run(&mut one, "begin");
            assert_eq!(outcome(&mut one, take), "1", "{engine}: {take}");
            assert_eq!(outcome(&mut other, take), "2", "{engine}: {take}");
            run(&mut one, "rollback");
            assert_eq!(outcome(&mut other, take), "1", "{engine}: {take}");
        }
    }
    for engine in ["serial", "2pl-ordered", "vll"] {
        for take in &forms {
            let database = database(engine);
            let mut session = session(&database);
            run(&mut session, JOBS);
            assert_eq!(outcome(&mut session, take), "1", "{engine}: {take}");
            assert_eq!(outcome(&mut session, &format!("begin; {take}; commit")), "2", "{engine}: {take}");
        }
    }
}

#[test]
fn who_does_not_wait_is_told_at_once() {
    for engine in LOCKING {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, JOBS);
        run(&mut one, "create view v as select id from job; create schema s; create table s.t (id int primary key)");
        run(&mut one, "insert into s.t values (1)");
        run(&mut one, "begin; update job set state = 'done' where id = 2; delete from s.t");
        for sql in [
            "select * from job where id = 2 for update nowait",
            "select * from job where id > 1 and id < 4 for update nowait",
            "select * from job j, job k where j.id = 2 and k.id = 1 for share of j nowait",
            "select * from v where id = 2 for update nowait",
            "select * from job where id = 2 for update skip locked for update nowait",
        ] {
            let error = error(&mut other, sql);
            let message = "could not obtain lock on row in relation \"job\"";
            assert_eq!((error.state.as_str(), &*error.message), ("55P03", message), "{engine}: {sql}");
        }
        let message = "could not obtain lock on row in relation \"t\"";
        assert_eq!(error(&mut other, "select * from s.t where id = 1 for update nowait").message, message, "{engine}");
        run(&mut other, "begin; savepoint a");
        assert_eq!(outcome(&mut other, "select id from job where id = 3 for update nowait"), "3", "{engine}");
        assert_eq!(outcome(&mut other, "select * from job where id = 2 for update nowait"), "55P03", "{engine}");
        assert_eq!(outcome(&mut other, "select 1"), "25P02", "{engine}");
        run(&mut other, "rollback to a; update job set state = 'more' where id = 4; commit");
        assert_eq!(outcome(&mut other, "select state from job where id = 4"), "more", "{engine}");
        run(&mut one, "commit");
        assert_eq!(outcome(&mut other, "select state from job where id = 2 for update nowait"), "done", "{engine}");
    }
}

#[test]
fn where_transactions_wait_for_their_turn_they_do_so_and_find_nothing_locked() {
    for engine in ["serial", "2pl-ordered", "2pl-atomic", "vll"] {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, JOBS);
        run(&mut other, "set lock_timeout = '20ms'");
        for how in ["nowait", "skip locked"] {
            let sql = format!("select id from job where state = 'new' order by id limit 1 for update {how}");
            run(&mut one, "begin");
            assert_eq!(outcome(&mut one, &sql), "1", "{engine}");
            let (_, result) = query(&mut other, &sql);
            let error = result.expect_err("its turn has not come");
            let message = "canceling statement due to lock timeout";
            assert_eq!((error.state.as_str(), &*error.message), ("55P03", message), "{engine}: {how}");
            run(&mut one, "commit");
            assert_eq!(outcome(&mut other, &sql), "1", "{engine}: {how}");
        }
    }
}

#[test]
fn what_cannot_be_locked_is_refused_as_ever() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, JOBS);
    for (sql, message) in [
        (
            "select (select id from job where id = 1 for update)",
            "FOR UPDATE in a subquery of an expression is not supported",
        ),
        ("select distinct id from job for update nowait", "FOR UPDATE is not allowed with DISTINCT clause"),
        (
            "select id from job for update of k skip locked",
            "relation \"k\" in FOR UPDATE clause not found in FROM clause",
        ),
    ] {
        assert_eq!(error(&mut session, sql).message, message, "{sql}");
    }
}
