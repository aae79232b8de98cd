//! Ten thousand clients at a time, or as many as the system lets one process have both ends of.

mod common;

use common::Running;
use hotrow_server::{ServerConfig, raise_descriptor_limit};
use std::net::TcpStream;

const CLIENTS: usize = 10_000;

#[test]
fn ten_thousand_clients_are_served_and_one_more_is_refused() {
    let config = ServerConfig::default();
    // Two of each connection, and two of those that come when all are there.
    let limit = raise_descriptor_limit(config.threads).map_or(usize::MAX, |clients| clients as usize);
    let clients = CLIENTS.min(limit / 2 - 10);
    let server = Running::with("ilock", ServerConfig { max_connections: clients, ..config });
    let mut all: Vec<_> = (0..clients).map(|_| server.client()).collect();
    all[0].run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL); INSERT INTO t VALUES (1, 0)");
    let refused = common::Client::<TcpStream>::open(server.address).begin("postgres").err().expect("there are enough");
    assert_eq!(refused.code, "53300");
    for client in &mut all {
        client.send_query("UPDATE t SET n = n + 1");
    }
    for client in &mut all {
        assert_eq!(client.answer().tags, ["UPDATE 1"]);
    }
    assert_eq!(all[clients - 1].column("SELECT n FROM t"), [clients.to_string()]);
}
