//! Advisory locks.

mod common;

use common::{database, error, outcome, run, session, waiting};

#[test]
fn locks_are_held_as_often_as_they_are_taken() {
    for engine in common::ENGINES {
        let database = database(engine);
        let mut sessions = [session(&database), session(&database)];
        let cases = [
            (0, "select pg_advisory_lock(1), pg_advisory_lock(1)", "|"),
            (1, "select pg_try_advisory_lock(1)", "f"),
            (1, "select pg_try_advisory_lock_shared(1)", "f"),
            (1, "select pg_try_advisory_lock(0, 1)", "t"),
            (0, "select pg_advisory_unlock(1)", "t"),
            (1, "select pg_try_advisory_lock(1)", "f"),
            (0, "select pg_advisory_unlock_shared(1)", "f"),
            (0, "select pg_advisory_unlock(1)", "t"),
            (0, "select pg_advisory_unlock(1)", "f"),
            (1, "select pg_try_advisory_lock_shared(1)", "t"),
            (0, "select pg_try_advisory_lock_shared(1)", "t"),
            (1, "select pg_try_advisory_lock(1)", "f"),
            (0, "select pg_advisory_unlock_all()", ""),
            (1, "select pg_try_advisory_lock(1)", "t"),
            (0, "begin; select pg_advisory_xact_lock(2), pg_advisory_xact_lock(3, 4)", "|"),
            (1, "select pg_try_advisory_xact_lock(2), pg_try_advisory_xact_lock(3, 4)", "f|f"),
            (0, "select pg_advisory_unlock(2)", "f"),
            (0, "commit", "COMMIT"),
            (1, "select pg_try_advisory_xact_lock(2), pg_try_advisory_xact_lock_shared(3, 4)", "t|t"),
            (0, "select pg_try_advisory_lock(2), pg_try_advisory_lock(3, 4)", "t|t"),
            (0, "select pg_advisory_lock(null)", "NULL"),
            (0, "select pg_advisory_unlock_all(); begin; select pg_advisory_xact_lock(7)", " "),
        ];
        for (who, sql, expected) in cases {
            assert_eq!(outcome(&mut sessions[who], sql), expected, "{engine}: {sql}");
        }
        let [mut one, mut two] = sessions;
        // A failed transaction has none any more, a session keeps its own.
        error(&mut one, "select pg_advisory_lock(8), 1 / (pg_backend_pid() - pg_backend_pid())");
        let tried = "select pg_try_advisory_lock(7), pg_try_advisory_lock(8)";
        assert_eq!(outcome(&mut two, tried), "t|f", "{engine}");
        let locks = "select pid, classid, objid, objsubid, mode, granted from pg_locks where locktype = 'advisory' and objid in (1, 8)
            order by objid, objsubid";
        let (mine, yours) = (one.id(), two.id());
        let expected =
            format!("{yours}|0|1|1|ExclusiveLock|t {yours}|0|1|2|ExclusiveLock|t {mine}|0|8|1|ExclusiveLock|t");
        assert_eq!(outcome(&mut two, locks), expected, "{engine}");
        // Nothing is left of who goes.
        drop(one);
        assert_eq!(outcome(&mut two, tried), "t|t", "{engine}");
    }
}

#[test]
fn who_waits_is_served_in_order_and_may_give_up() {
    let database = database("2pl-timeout");
    let (mut holder, mut watcher) = (session(&database), session(&database));
    run(&mut holder, "select pg_advisory_lock(5)");
    let (_, first) = waiting(&database, session(&database), "select pg_advisory_lock(5)");
    let (cancelled, second) = waiting(&database, session(&database), "select pg_advisory_lock_shared(5)");
    let (_, third) = waiting(&database, session(&database), "select pg_advisory_xact_lock_shared(5)");
    let waits =
        "select waits_for, mode, count(*), count(holds) from hotrow_blocking group by waits_for, mode order by mode";
    assert_eq!(outcome(&mut watcher, waits), "advisory lock 5|exclusive|1|1 advisory lock 5|shared|4|2");
    cancelled.cancel();
    assert_eq!(second.join().expect("no panic").1, "57014");
    assert_eq!(outcome(&mut holder, "select pg_advisory_unlock(5)"), "t");
    let (mut granted, tag) = first.join().expect("no panic");
    assert_eq!(tag, "");
    let mut late = session(&database);
    assert_eq!(outcome(&mut late, "set lock_timeout = 20; select pg_advisory_lock(5)"), "55P03");
    run(&mut granted, "select pg_advisory_unlock(5)");
    assert_eq!(third.join().expect("no panic").1, "");
    assert_eq!(outcome(&mut late, "select pg_advisory_lock(5)"), "");
    assert_eq!(
        outcome(&mut watcher, "create table t (id int); insert into t values (5); select pg_advisory_lock(id) from t"),
        "0A000"
    );
}

#[test]
fn a_circle_of_waits_has_one_victim() {
    let database = database("2pl-timeout");
    let (mut one, mut two) = (session(&database), session(&database));
    run(&mut one, "set deadlock_timeout = '1d'; begin; select pg_advisory_xact_lock(1)");
    run(&mut two, "set deadlock_timeout = 10; begin; select pg_advisory_xact_lock(2)");
    let (_, waits) = waiting(&database, one, "select pg_advisory_xact_lock(2)");
    assert_eq!(error(&mut two, "select pg_advisory_xact_lock(1)").state.as_str(), "40P01");
    let (mut one, outcome_of_one) = waits.join().expect("no panic");
    assert_eq!(outcome_of_one, "");
    // A table's lock is part of a circle, too.
    for sql in ["rollback", "create table t (id int primary key)", "begin; lock table t"] {
        run(&mut two, sql);
    }
    run(&mut two, "set deadlock_timeout = 10");
    run(&mut one, "set lock_timeout = '1d'");
    let (_, waits) = waiting(&database, one, "select * from t");
    assert_eq!(error(&mut two, "select pg_advisory_lock(2)").state.as_str(), "40P01");
    assert_eq!(waits.join().expect("no panic").1, "");
}
