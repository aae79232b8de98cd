//! Blocks that let others have hot rows while they wait for their clients.

mod common;

use common::{ENGINES, database, outcome, run, session};
use hotrow_sql::{Config, Database, Session};
use hotrow_sync::Arc;
use hotrow_txn::Settings;
use std::time::Duration;

/// A database with a row that is hot, and two sessions in blocks under early release, the first of which has changed
/// the row.
fn hot(level: &str) -> (Arc<Database>, Session, Session) {
    let database = database("ilock");
    let (mut first, mut second) = (session(&database), session(&database));
    run(&mut first, "create table t (id int primary key, n int, w int); create index on t (w)");
    run(&mut first, "insert into t values (1, 0, 0), (2, 0, 0)");
    run(&mut first, "begin; update t set n = n where id = 1");
    run(&mut second, "set lock_timeout = '5ms'");
    assert_eq!(outcome(&mut second, "update t set n = n where id = 1"), "55P03", "it waits, so the row is hot");
    run(&mut first, "commit");
    for session in [&mut first, &mut second] {
        run(session, "set hotrow.early_release = hot");
        run(session, &format!("begin isolation level {level}"));
    }
    run(&mut first, "update t set n = n + 1 where id = 1");
    (database, first, second)
}

const LEVELS: [&str; 2] = ["read committed", "serializable"];

#[test]
fn a_block_changes_what_another_one_has_changed_and_commits_after_it() {
    for level in LEVELS {
        let (_database, mut first, mut second) = hot(level);
        assert_eq!(outcome(&mut second, "update t set n = n + 10 where id = 1 returning n"), "11", "{level}");
        run(&mut first, "commit");
        assert_eq!(outcome(&mut second, "commit"), "COMMIT", "{level}");
        assert_eq!(outcome(&mut first, "select n from t where id = 1"), "11", "{level}");
    }
}

#[test]
fn a_commit_waits_for_the_blocks_before_it() {
    for level in LEVELS {
        let (_database, mut first, mut second) = hot(level);
        run(&mut second, "update t set n = n + 10 where id = 1");
        assert_eq!(outcome(&mut second, "commit"), "55P03", "as long as lock_timeout says: {level}");
        run(&mut first, "commit");
        assert_eq!(outcome(&mut first, "select n from t where id = 1"), "1", "{level}");
    }
}

#[test]
fn who_has_read_what_is_rolled_back_fails() {
    for level in LEVELS {
        for statement in ["update t set n = n + 10 where id = 1", "select n from t where id = 1"] {
            let (_database, mut first, mut second) = hot(level);
            run(&mut second, statement);
            run(&mut first, "rollback");
            assert_eq!(outcome(&mut second, "select 1 from t where id = 2"), "40001", "{level}: {statement}");
            run(&mut second, "rollback");
            assert_eq!(outcome(&mut second, "select n from t where id = 1"), "0", "{level}: {statement}");
        }
    }
}

#[test]
fn what_a_block_may_yet_take_back_or_an_index_has_stays_its_own() {
    let cases = [
        ("savepoint s; update t set n = n + 1 where id = 1", "under a savepoint"),
        ("update t set w = w + 1 where id = 1", "another entry of an index"),
        ("delete from t where id = 1", "a row that goes"),
        ("set local hotrow.early_release = off; update t set n = n + 1 where id = 1", "off"),
    ];
    for (statements, why) in cases {
        let (_database, mut first, mut second) = hot("serializable");
        run(&mut first, "commit");
        run(&mut first, "begin");
        run(&mut first, statements);
        assert_eq!(outcome(&mut second, "update t set n = n + 10 where id = 1"), "55P03", "{why}");
    }
}

#[test]
fn engines_without_it_refuse_it() {
    for engine in ENGINES.into_iter().filter(|&engine| engine != "ilock") {
        let database = database(engine);
        let mut session = session(&database);
        let cases = [
            ("set hotrow.early_release = hot", "0A000"),
            ("select set_config('hotrow.early_release', 'hot', false)", "0A000"),
            ("set hotrow.early_release = off", "SET"),
            ("set hotrow.early_release = cold", "22023"),
            ("show hotrow.early_release", "off"),
        ];
        for (statement, expected) in cases {
            assert_eq!(outcome(&mut session, statement), expected, "{engine}: {statement}");
        }
        let refused = session.set_parameter("hotrow.early_release", "hot").expect_err("the engine does not have it");
        assert_eq!(refused.state.as_str(), "0A000", "{engine}");
    }
}

#[test]
fn who_waits_for_nobody_takes_what_is_not_committed_for_locked() {
    let cases = [
        ("select n from t where id = 1 for update nowait", "55P03"),
        ("select n from t where id = 1 for update skip locked", ""),
    ];
    for (statement, expected) in cases {
        let (_database, mut first, mut second) = hot("read committed");
        assert_eq!(outcome(&mut second, statement), expected, "{statement}");
        run(&mut first, "rollback");
        assert_ne!(outcome(&mut second, "commit"), "40001", "it follows nobody: {statement}");
    }
}

#[test]
fn a_read_committed_block_sees_all_of_a_transaction_or_nothing() {
    let (_database, mut first, mut second) = hot("read committed");
    assert_eq!(outcome(&mut second, "select n from t where id = 1"), "1");
    assert_eq!(outcome(&mut second, "select n from t where id = 2"), "0");
    run(&mut first, "set lock_timeout = '5ms'");
    // Else the second one would have seen one of two changes.
    assert_eq!(outcome(&mut first, "update t set n = n + 1 where id = 2"), "55P03");
}

#[test]
fn a_statement_of_its_own_is_tried_again_when_what_it_followed_is_rolled_back() {
    let (_database, mut first, mut second) = hot("serializable");
    run(&mut second, "rollback; reset lock_timeout");
    let waiting = hotrow_sync::thread::spawn(move || {
        let told = outcome(&mut second, "update t set n = n + 10 where id = 1");
        (second, told)
    });
    // Whether it waits for its leader by then or not.
    hotrow_sync::thread::yield_now();
    run(&mut first, "rollback");
    let (mut second, told) = waiting.join().expect("no panic");
    assert_eq!(told, "UPDATE 1");
    assert_eq!(outcome(&mut second, "select n from t where id = 1"), "10");
}

#[test]
fn an_idle_block_that_can_only_fail_is_rolled_back_and_told_so() {
    // What its client says next, and what it hears.
    let cases = [("select 1 from t", "40001"), ("commit", "40001"), ("rollback", "ROLLBACK")];
    for (level, (next, expected)) in LEVELS.into_iter().flat_map(|level| cases.map(|case| (level, case))) {
        let (_database, mut first, mut second) = hot(level);
        assert_eq!(second.look_after_idle(Duration::ZERO), Ok(None), "it has seen nothing of others: {level}");
        // The second row stays locked, even where the two rows count as one for how hot they are.
        run(&mut second, "update t set n = n + 10 where id = 1; set local hotrow.early_release = off");
        run(&mut second, "update t set n = 5 where id = 2");
        let again = Duration::from_millis(5);
        assert_eq!(second.look_after_idle(Duration::ZERO), Ok(Some(again)), "{level}");
        assert_eq!(second.look_after_idle(again), Ok(Some(2 * again)), "{level}");
        assert_eq!(second.look_after_idle(80 * again), Ok(Some(90 * again)), "{level}");
        run(&mut first, "rollback; set lock_timeout = '5ms'");
        assert_eq!(outcome(&mut first, "update t set n = 7 where id = 2"), "55P03", "{level}");
        assert_eq!(second.look_after_idle(2 * again), Ok(None), "{level}");
        assert_eq!(outcome(&mut first, "update t set n = n + 7 where id = 2 returning n"), "7", "{level}");
        assert_eq!(outcome(&mut second, next), expected, "{level}: {next}");
        run(&mut second, "rollback");
        assert_eq!(outcome(&mut second, "select n from t order by id"), "0 7", "{level}: {next}");
    }
}

#[test]
fn what_is_released_early_is_counted() {
    let (database, mut first, mut second) = hot("serializable");
    let locks = |session: &mut Session| {
        let shown = outcome(session, "show hotrow.locks");
        shown.rsplit_once("; ").map(|(_, early)| early.to_owned())
    };
    assert_eq!(locks(&mut first).as_deref(), Some("released early 1, so far 1, followed 0"));
    run(&mut second, "update t set n = n + 10 where id = 1");
    assert_eq!(locks(&mut first).as_deref(), Some("released early 2, so far 2, followed 1"));
    run(&mut first, "commit");
    run(&mut second, "commit");
    assert_eq!(locks(&mut first).as_deref(), Some("released early 0, so far 2, followed 1"));
    let early = database.engine().early_release().expect("the engine has it");
    assert_eq!((early.hot, early.released_ever), (1, 2));
}

#[test]
fn with_time_outs_for_deadlocks_it_is_refused() {
    let settings = Settings { deadlock_time_outs: true, ..Settings::default() };
    let engine = hotrow_protocols::open_with("ilock", &settings).expect("an engine that has time-outs");
    let database = Database::new(engine, Config::default());
    let mut session = session(&database);
    assert_eq!(outcome(&mut session, "set hotrow.early_release = hot"), "0A000");
    assert_eq!(outcome(&mut session, "set hotrow.early_release = off"), "SET");
}
