//! The driver tokio-postgres: it speaks the extended protocol with binary formats, and pipelines.

mod common;

use common::{Running, on_each_engine};
use futures_util::{SinkExt, StreamExt, pin_mut};
use std::future::Future;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// Runs a test with a connected client on each engine.
fn with_client<F: Future<Output = ()>>(test: impl Fn(Client, u16) -> F) {
    on_each_engine(|server| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = connect(server.address.port()).await;
            test(client, server.address.port()).await;
        });
    });
}

async fn connect(port: u16) -> Client {
    let config = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres application_name=test");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[test]
fn values_of_all_kinds_go_there_and_back_in_binary() {
    with_client(|client, _| async move {
        let table = "CREATE TABLE t (id int8 PRIMARY KEY, a bool, b int2, c int4, d float4, e float8, f text, g varchar(9), h bytea)";
        client.batch_execute(table).await.unwrap();
        let insert = client.prepare("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)").await.unwrap();
        let count = client
            .execute(
                &insert,
                &[&7_i64, &true, &-2_i16, &3_i32, &1.5_f32, &-2.5_f64, &"täxt", &"short", &&b"\0\xff"[..]],
            )
            .await
            .unwrap();
        assert_eq!(count, 1);
        let nulls = (None::<bool>, None::<i16>, None::<i32>, None::<f32>, None::<f64>, None::<&str>, None::<&[u8]>);
        client
            .execute(&insert, &[&8_i64, &nulls.0, &nulls.1, &nulls.2, &nulls.3, &nulls.4, &nulls.5, &nulls.5, &nulls.6])
            .await
            .unwrap();
        let row = client.query_one("SELECT * FROM t WHERE id = $1", &[&7_i64]).await.unwrap();
        assert_eq!(
            (
                row.get::<_, bool>(1),
                row.get::<_, i16>(2),
                row.get::<_, i32>(3),
                row.get::<_, f32>(4),
                row.get::<_, f64>(5)
            ),
            (true, -2, 3, 1.5, -2.5)
        );
        assert_eq!(
            (row.get::<_, &str>(6), row.get::<_, &str>("g"), row.get::<_, &[u8]>(8)),
            ("täxt", "short", &b"\0\xff"[..])
        );
        let row = client.query_one("SELECT * FROM t WHERE id = $1", &[&8_i64]).await.unwrap();
        assert_eq!(row.get::<_, Option<&str>>(6), None);
        let messages = client.simple_query("SELECT id FROM t ORDER BY id DESC").await.unwrap();
        let ids: Vec<_> = messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            })
            .collect();
        assert_eq!(ids, ["8", "7"]);
    });
}

#[test]
fn transactions_commit_and_roll_back() {
    with_client(|mut client, _| async move {
        client
            .batch_execute("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL); INSERT INTO t VALUES (1, 0)")
            .await
            .unwrap();
        for (commit, expected) in [(false, 0), (true, 10)] {
            let transaction = client.transaction().await.unwrap();
            transaction.execute("UPDATE t SET v = v + $1 WHERE id = $2", &[&10, &1]).await.unwrap();
            if commit {
                transaction.commit().await.unwrap();
            } else {
                transaction.rollback().await.unwrap();
            }
            let row = client.query_one("SELECT v FROM t WHERE id = 1", &[]).await.unwrap();
            assert_eq!(row.get::<_, i32>(0), expected);
        }
        let error = client.execute("INSERT INTO t VALUES ($1, $2)", &[&1, &1]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23505");
        client.query_one("SELECT 1", &[]).await.unwrap();
    });
}

#[test]
fn portals_pipelines_and_copies_work() {
    with_client(|mut client, _| async move {
        client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text)").await.unwrap();
        let sink = client.copy_in("COPY t FROM STDIN").await.unwrap();
        pin_mut!(sink);
        for id in 0..1000 {
            sink.send(bytes::Bytes::from(format!("{id}\tvalue {id}\n"))).await.unwrap();
        }
        assert_eq!(sink.finish().await.unwrap(), 1000);
        let out = client.copy_out("COPY t TO STDOUT (FORMAT binary)").await.unwrap();
        let pieces: Vec<_> = out.map(|piece| piece.unwrap()).collect().await;
        let data = pieces.concat();
        assert!(data.starts_with(b"PGCOPY\n\xff\r\n\0") && data.ends_with(b"value 999\xff\xff"), "{data:?}");
        let find = client.prepare("SELECT v FROM t WHERE id = $1").await.unwrap();
        let (a, b) = tokio::join!(client.query_one(&find, &[&1]), client.query_one(&find, &[&999]));
        assert_eq!((a.unwrap().get::<_, &str>(0), b.unwrap().get::<_, &str>(0)), ("value 1", "value 999"));
        let transaction = client.transaction().await.unwrap();
        let portal = transaction.bind("SELECT id FROM t ORDER BY id", &[]).await.unwrap();
        for (count, first) in [(600, 0), (600, 600)] {
            let rows = transaction.query_portal(&portal, count).await.unwrap();
            assert_eq!((rows.len() as i32, rows[0].get::<_, i32>(0)), (count.min(1000 - first), first));
        }
    });
}

#[test]
fn a_statement_is_cancelled() {
    with_client(|client, port| async move {
        client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)").await.unwrap();
        client.batch_execute("BEGIN; UPDATE t SET v = 1").await.unwrap();
        let waiting = connect(port).await;
        let token = waiting.cancel_token();
        let update = waiting.execute("UPDATE t SET v = 2 WHERE id = $1", &[&1]);
        pin_mut!(update);
        // A request that comes before the statement has begun hits nothing, so there are more.
        let result = loop {
            tokio::select! {
                biased;
                result = &mut update => break result,
                cancelled = token.cancel_query(NoTls) => cancelled.unwrap(),
            }
        };
        assert_eq!(result.unwrap_err().code().unwrap().code(), "57014");
    });
}

#[test]
fn sessions_end_when_the_server_does() {
    let mut server = Running::new("serial");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(connect(server.address.port()));
    server.stop();
    assert!(runtime.block_on(client.query_one("SELECT 1", &[])).is_err());
}

#[test]
fn errors_name_the_table_and_the_column_or_constraint() {
    with_client(|client, _| async move {
        let table = "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL CHECK (a > 0), b int CONSTRAINT only UNIQUE); \
                     INSERT INTO t VALUES (1, 1, 1); CREATE TABLE u (a int); INSERT INTO u VALUES (0), (0); \
                     CREATE TABLE v (a int); INSERT INTO v VALUES (NULL)";
        client.batch_execute(table).await.unwrap();
        let cases = [
            ("INSERT INTO t VALUES (1, 2, 2)", "t", None, Some("t_pkey")),
            ("UPDATE t SET a = NULL", "t", Some("a"), None),
            ("UPDATE t SET a = 0", "t", None, Some("t_a_check")),
            ("INSERT INTO t VALUES (2, 2, 1)", "t", None, Some("only")),
            ("ALTER TABLE v ADD PRIMARY KEY (a)", "v", Some("a"), None),
            ("ALTER TABLE u ADD CONSTRAINT positive CHECK (a > 0)", "u", None, Some("positive")),
            ("CREATE UNIQUE INDEX one ON u (a)", "u", None, Some("one")),
        ];
        for (sql, table, column, constraint) in cases {
            let error = client.batch_execute(sql).await.expect_err(sql);
            let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error}"));
            let subject = (error.schema(), error.table(), error.column(), error.constraint());
            assert_eq!(subject, (Some("public"), Some(table), column, constraint), "{sql}: {error}");
        }
        let error = client.batch_execute("SELECT 1/0").await.expect_err("a division by zero");
        assert_eq!(error.as_db_error().and_then(|error| error.schema()), None);
    });
}
