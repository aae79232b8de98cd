//! Sessions that end because they are idle for too long, or because another session ends them.

mod common;

use common::client::Client;
use common::{Running, model, models};

const TABLE: &str = "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)";

#[test]
fn a_session_that_is_idle_for_too_long_is_told_so_and_ended() {
    for config in models().map(model) {
        let server = Running::with("ilock", config);
        let mut other = server.client();
        other.run(TABLE);
        for begin in ["begin; update t set n = 1 where id = 1", "begin; update t set n = 1 / n where id = 1"] {
            let mut idle = server.client();
            idle.run("set idle_in_transaction_session_timeout = 30");
            idle.query(begin);
            assert_eq!(idle.last_words().expect("it is told why").code, "25P03", "{begin}");
            other.run("update t set n = 0 where id = 1");
        }
        let mut idle = server.client();
        idle.run("set idle_session_timeout = 30");
        assert_eq!(idle.last_words().expect("it is told why").code, "57P05");
    }
}

#[test]
fn a_block_that_has_the_database_is_not_idle_for_long_while_others_wait() {
    for engine in ["vll-sca", "serial"] {
        for config in models().map(model) {
            let server = Running::with(engine, config);
            let (mut idle, mut other) = (server.client(), server.client());
            idle.run(TABLE);
            idle.run("set hotrow.exclusive_idle_timeout = 30");
            idle.run("begin; select * from t");
            other.run("set lock_timeout = '1d'");
            other.run("update t set n = 5 where id = 1");
            assert_eq!(idle.fails("commit").0, "40001", "{engine}");
            assert_eq!(idle.column("select n from t where id = 1"), ["5"], "{engine}");
        }
    }
}

fn pid(client: &mut Client) -> String {
    client.column("select pg_backend_pid()").remove(0)
}

/// Returns when a session waits for a lock.
fn until_waiting(client: &mut Client, pid: &str) {
    let waits = format!("select 1 from pg_stat_activity where pid = {pid} and wait_event_type = 'Lock'");
    while client.column(&waits).is_empty() {}
}

#[test]
fn a_session_cancels_statements_of_others_and_ends_them() {
    for config in models().map(model) {
        let server = Running::with("ilock", config);
        let (mut holder, mut client) = (server.client(), server.client());
        holder.run(TABLE);
        holder.run("begin; update t set n = 1 where id = 1");
        let mut victim = server.client();
        let number = pid(&mut victim);
        let wait = |victim: &mut Client, client: &mut Client| {
            victim.run("set lock_timeout = '1d'");
            victim.send_query("update t set n = 2 where id = 1");
            until_waiting(client, &number);
        };
        wait(&mut victim, &mut client);
        assert_eq!(client.column(&format!("select pg_cancel_backend({number})")), ["t"]);
        assert_eq!(victim.answer().failure.expect("it was cancelled").code, "57014");
        wait(&mut victim, &mut client);
        assert_eq!(client.column(&format!("select pg_terminate_backend({number}, 60000)")), ["t"]);
        let failure = victim.last_words().expect("it is told why");
        assert_eq!((failure.code.as_str(), failure.severity.as_str()), ("57P01", "FATAL"));
        // One that is idle in a block loses what it has.
        let idle = pid(&mut holder);
        assert_eq!(client.column(&format!("select pg_terminate_backend({idle}, 60000)")), ["t"]);
        assert_eq!(holder.last_words().expect("it is told why").code, "57P01");
        client.run("update t set n = 3 where id = 1");
        assert_eq!(client.column(&format!("select pg_terminate_backend({idle})")), ["f"]);
        assert_eq!(client.fails("select pg_cancel_backend(pg_backend_pid())").0, "57014");
        client.send_query("select pg_terminate_backend(pg_backend_pid())");
        assert_eq!(client.last_words().expect("it is told why").code, "57P01");
    }
}
