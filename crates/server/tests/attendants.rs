//! Sessions whose locks are on threads of their own: the execution models, clients that vanish, time-outs, and the end
//! of the server.

mod common;

use common::client::Client;
use common::{Running, model, models};
use hotrow_sync::thread;
use hotrow_txn::Settings;

const TABLE: &str = "create table t (id int primary key, n int) partition by hash (id);
    insert into t values (1, 0), (2, 0);
    create procedure add(amount int) language sql as $$
        update t set n = n + amount where id = 2;
        update t set n = n + amount where id = 1 $$";

const ENGINES: [&str; 3] = ["orthrus", "orthrus-split", "orthrus-shared"];

/// Calls `test` with a server for each engine and execution model, with two threads that lock.
fn on_each(test: impl Fn(&Running)) {
    for engine in ENGINES {
        for config in models().map(model) {
            let settings = Settings { workers: 4, cc_threads: Some(2), ..Settings::default() };
            let engine = hotrow_protocols::open_with(engine, &settings).expect("it has this setting");
            let mut server = Running::over(engine, config);
            server.client().run(TABLE);
            test(&server);
            server.stop();
            assert_eq!(server.engine.audit(), Ok(()));
        }
    }
}

fn numbers(client: &mut Client) -> Vec<String> {
    client.column("select n from t order by id")
}

#[test]
fn statements_batches_and_calls_of_many_sessions_are_isolated() {
    const ROUNDS: usize = 10;
    on_each(|server| {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = server.client();
                    for _ in 0..ROUNDS {
                        client.run("update t set n = n + 1 where id in (2, 1)");
                        client.run("update t set n = n + 1 where id = 1; update t set n = n + 1 where id = 2");
                        client.run("call add(1)");
                    }
                });
            }
        });
        assert_eq!(numbers(&mut server.client()), ["120", "120"]);
    });
}

#[test]
fn a_session_that_waits_for_a_block_gives_up_in_time_and_a_vanished_one_keeps_nothing() {
    on_each(|server| {
        let (mut block, mut other) = (server.client(), server.client());
        block.run("begin; update t set n = 7 where id = 1");
        other.run("set lock_timeout = 10");
        assert_eq!(other.fails("update t set n = n + 1 where id in (1, 2)").0, "55P03");
        other.run("set lock_timeout = 0");
        other.send_query("update t set n = n + 1 where id in (1, 2)");
        drop(block);
        assert!(other.answer().failure.is_none(), "the block is rolled back");
        let mut vanishing = server.client();
        vanishing.send_query("call add(1)");
        drop(vanishing);
        other.run("call add(1)");
        let sums = numbers(&mut other);
        assert!(sums == ["2", "2"] || sums == ["3", "3"], "{sums:?}");
    });
}
