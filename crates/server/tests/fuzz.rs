//! Messages that are almost right: whatever they say, the session answers and goes on.

mod common;

use common::client::{message, startup};
use common::{Client, ENGINE_OF_ALL_MODELS, Model, Running, model, models};
use std::io::{Read, Write};
use std::net::Shutdown;

/// Right messages, to be damaged. None ends the session or asks for COPY data.
const MESSAGES: &[(u8, &[u8])] = &[
    (b'Q', b"SELECT 1; SELECT id, name FROM t WHERE id = 2\0"),
    (b'Q', b"BEGIN; UPDATE t SET name = 'x' WHERE id = 1; ROLLBACK\0"),
    (b'P', b"s\0SELECT id FROM t WHERE id = $1 AND name < $2\0\0\x02\0\0\0\x17\0\0\0\x19"),
    (b'P', b"\0INSERT INTO t VALUES ($1, $2) RETURNING id\0\0\0"),
    (b'B', b"p\0s\0\0\x02\0\x01\0\0\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x03abc\0\x01\0\x01"),
    (b'B', b"\0\0\0\0\0\x02\0\0\0\x029\x39\xff\xff\xff\xff\0\0"),
    (b'D', b"Ss\0"),
    (b'D', b"Pp\0"),
    (b'E', b"p\0\0\0\0\x01"),
    (b'E', b"\0\0\0\0\0"),
    (b'C', b"Ss\0"),
    (b'C', b"Pp\0"),
    (b'S', b""),
    (b'H', b""),
    (b'd', b"1\tx\n"),
    (b'f', b"no\0"),
];

/// A message's content with up to three bytes changed, taken away or put in.
fn damaged(body: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut body = body.to_vec();
    for _ in 0..random.usize(0..=3) {
        let at = random.usize(0..=body.len());
        match random.u8(0..4) {
            0 if at < body.len() => body[at] = random.u8(..),
            1 if at < body.len() => body[at] ^= 1 << random.u8(0..8),
            2 => body.truncate(at),
            _ => body.insert(at, random.u8(..)),
        }
    }
    body
}

#[test]
fn damaged_messages_are_answered() {
    models().for_each(check_damaged);
}

fn check_damaged(of: Model) {
    let server = Running::with(ENGINE_OF_ALL_MODELS, model(of));
    let mut client = server.client();
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut batch = Vec::new();
        for _ in 0..random.usize(1..8) {
            let &(kind, body) = random.choice(MESSAGES).expect("there are some");
            batch.extend(message(kind, &damaged(body, &mut random)));
        }
        batch.extend(message(b'S', b""));
        batch.extend(message(b'Q', b"ROLLBACK\0"));
        let marker = format!("seed {seed}");
        batch.extend(message(b'Q', format!("SELECT '{marker}'\0").as_bytes()));
        client.send(&batch);
        loop {
            let answer = client.answer();
            if let Some(failure) = answer.failure {
                assert!(failure.severity == "ERROR" && failure.code != "XX000", "{marker}: {failure}");
            }
            if answer.rows == [[Some(marker.clone())]] {
                break;
            }
        }
    }
    assert_eq!(server.client().column("SELECT 1"), ["1"]);
}

/// Bytes that are no messages, at any time of a connection's life, and connections that are left half open.
#[test]
fn garbage_ends_its_connection_and_nothing_else() {
    for of in models() {
        let server = Running::with(ENGINE_OF_ALL_MODELS, model(of));
        let mut bystander = server.client();
        for seed in 0..60 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut client = Client::open(server.address);
            if random.bool() {
                client.send(&startup("postgres"));
                client.await_ready().expect("a session");
            }
            let garbage: Vec<_> = (0..random.usize(1..300)).map(|_| random.u8(..)).collect();
            // The server may have closed the connection before all of it is sent.
            let _ = client.stream.write_all(&garbage);
            let _ = client.stream.shutdown(Shutdown::Write);
            let mut rest = Vec::new();
            // It ends, in whatever way.
            let _ = client.stream.read_to_end(&mut rest);
            assert_eq!(bystander.column("SELECT 1"), ["1"], "{of:?} seed {seed}");
        }
        let parts: &[&[u8]] = &[b"", b"\0", b"\0\0\0\x08\x04\xd2\x16\x2f", &startup("postgres")[..20]];
        let half_open: Vec<_> = parts
            .iter()
            .flat_map(|part| [part; 5])
            .map(|part| {
                let mut client = Client::open(server.address);
                client.send(part);
                client
            })
            .collect();
        let in_a_message: Vec<_> = (0..10)
            .map(|_| {
                let mut client = server.client();
                client.send(b"Q\0\0\x10\0SELECT");
                client
            })
            .collect();
        assert_eq!(server.client().column("SELECT 1"), ["1"], "{of:?}");
        drop((half_open, in_a_message));
        assert_eq!(bystander.column("SELECT 1"), ["1"], "{of:?}");
    }
}
