//! The protocol byte by byte: right, and wrong in many ways.

mod common;

use common::client::{Client, extended, message, packet, parse, startup};
use common::{ENGINE_OF_ALL_MODELS, Running, model, models, on_each_engine, settings};
use hotrow_server::ServerConfig;
use std::io::Read;
use std::net::Shutdown;
use std::time::Duration;

fn accounts(client: &mut Client) {
    client.run("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)");
    client.run("INSERT INTO accounts VALUES (1, 100), (2, 200), (3, 300)");
}

#[test]
fn a_session_begins_with_what_drivers_look_for() {
    let server = Running::new("serial");
    let mut client = Client::open(server.address);
    client.send(&packet(80_877_103, b""));
    let mut answer = [0];
    std::io::Read::read_exact(&mut client.stream, &mut answer).unwrap();
    assert_eq!(&answer, b"N", "TLS is not configured");
    let client = client.begin("somebody").unwrap();
    let value = |name: &str| client.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert!(value("server_version").unwrap().starts_with("15.0 (Hotrow "));
    assert_eq!(value("client_encoding"), Some("UTF8"));
    assert_eq!(value("integer_datetimes"), Some("on"));
    assert_eq!(value("standard_conforming_strings"), Some("on"));
    assert_eq!(value("session_authorization"), Some("somebody"));
    assert_ne!(client.key, (0, 0));
}

#[test]
fn a_session_begins_in_the_time_zone_that_the_client_names() {
    let server = Running::new("serial");
    let begin = |zone: &str| {
        let mut client = Client::open(server.address);
        client.send(&packet(196_608, format!("user\0ann\0database\0postgres\0TimeZone\0{zone}\0\0").as_bytes()));
        client.await_ready().map(|()| client)
    };
    let mut client = begin("europe/berlin").unwrap();
    let reported = client.parameters.iter().find(|(name, _)| name == "TimeZone");
    assert_eq!(reported.map(|(_, value)| value.as_str()), Some("Europe/Berlin"));
    assert_eq!(client.column("SELECT '2026-07-01 12:00+00'::timestamptz"), ["2026-07-01 14:00:00+02"]);
    let refused = begin("nowhere").err().expect("there is no such zone");
    assert_eq!((refused.code.as_str(), refused.severity.as_str()), ("22023", "FATAL"));
}

#[test]
fn a_query_string_is_answered_statement_by_statement() {
    on_each_engine(|server| {
        let mut client = server.client();
        accounts(&mut client);
        let answer = client.run("SELECT id, balance FROM accounts WHERE id = 2; UPDATE accounts SET balance = 0; ");
        assert_eq!(answer.rows, [[Some("2".to_owned()), Some("200".to_owned())]]);
        assert_eq!(answer.tags, ["SELECT 1", "UPDATE 3"]);
        assert_eq!(client.run("").tags, [""], "EmptyQueryResponse");
    });
}

#[test]
fn a_failed_transaction_takes_nothing_but_rollback() {
    on_each_engine(|server| {
        let mut client = server.client();
        accounts(&mut client);
        assert_eq!(client.run("BEGIN; UPDATE accounts SET balance = 1 WHERE id = 1").status, 'T');
        assert_eq!(client.fails("SELECT 1/0"), ("22012".into(), 'E'));
        assert_eq!(client.fails("SELECT 1"), ("25P02".into(), 'E'));
        client.send(&extended("SELECT 1", &[]));
        assert_eq!(client.answer().failure.unwrap().code, "25P02");
        assert_eq!(client.run("COMMIT").tags, ["ROLLBACK"]);
        assert_eq!(client.column("SELECT balance FROM accounts WHERE id = 1"), ["100"]);
        let answer = client.query("UPDATE accounts SET balance = 5; SELECT 1/0; UPDATE accounts SET balance = 6");
        assert_eq!(answer.failure.unwrap().code, "22012");
        assert_eq!(client.column("SELECT DISTINCT balance FROM accounts WHERE id = 1"), ["100"], "one transaction");
    });
}

#[test]
fn ten_thousand_statements_fit_in_one_message() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY)");
        let statements: Vec<_> = (0..10_000).map(|id| format!("INSERT INTO t VALUES ({id})")).collect();
        assert_eq!(client.run(&statements.join(";")).tags.len(), 10_000);
        assert_eq!(client.column("SELECT count(*) FROM t"), ["10000"]);
    });
}

#[test]
fn extended_messages_are_answered_in_order_and_skipped_after_an_error() {
    on_each_engine(|server| {
        let mut client = server.client();
        accounts(&mut client);
        let find = "SELECT balance FROM accounts WHERE id = $1";
        client.send(&[extended(find, &["1"]), extended(find, &["7"]), extended("DELETE FROM accounts", &[])].concat());
        assert_eq!(client.letters(), "12TDCZ");
        assert_eq!(client.letters(), "12TCZ");
        assert_eq!(client.letters(), "12nCZ");
        client.send(&[extended("SELECT", &["x"]), extended("nonsense", &[]), extended("SELECT 1", &[])].concat());
        for expected in ["EZ", "EZ", "12TDCZ"] {
            let letters = client.letters();
            assert!(letters.ends_with(expected), "{letters}");
        }
    });
}

#[test]
fn parameters_have_the_types_that_the_client_names() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, real4 float4, code char(4), price numeric(10, 2), big int8)");
        let types: [u32; 5] = [21, 701, 25, 1700, 0];
        let mut parse = b"\0INSERT INTO t VALUES ($1, $2, $3, $4, $5)\0\0\x05".to_vec();
        parse.extend(types.iter().flat_map(|oid| oid.to_be_bytes()));
        let values: [&[u8]; 5] = [b"7", b"1.5", b"ab", b"12.3", b"99"];
        let mut bind = b"\0\0\0\0\0\x05".to_vec();
        for value in values {
            bind.extend((value.len() as u32).to_be_bytes());
            bind.extend(value);
        }
        bind.extend(b"\0\0");
        let tail = [message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat();
        client.send(&[message(b'P', &parse), message(b'B', &bind), tail.clone()].concat());
        assert_eq!(client.answer().tags, ["INSERT 0 1"]);
        let mut parse = b"\0SELECT id, real4, code, price, big FROM t WHERE id = $1\0\0\x01".to_vec();
        parse.extend(21_u32.to_be_bytes());
        let bind = message(b'B', b"\0\0\0\x01\0\x01\0\x01\0\0\0\x02\0\x07\0\0");
        client.send(&[message(b'P', &parse), bind, tail].concat());
        let expected = ["7", "1.5", "ab  ", "12.30", "99"].map(|text| Some(text.to_owned()));
        assert_eq!(client.answer().rows, [expected]);
    });
}

#[test]
fn a_portal_gives_its_rows_in_parts() {
    on_each_engine(|server| {
        let mut client = server.client();
        accounts(&mut client);
        let parse = message(b'P', b"s\0SELECT id FROM accounts ORDER BY id\0\0\0");
        let bind = message(b'B', b"p\0s\0\0\0\0\0\0\x01\0\x01");
        let two = message(b'E', b"p\0\0\0\0\x02");
        let describe = message(b'D', b"Ss\0");
        let close = [message(b'C', b"Pp\0"), message(b'C', b"Ss\0")].concat();
        client.send(&[parse, bind, describe, two.clone(), two, close, message(b'S', b"")].concat());
        assert_eq!(client.letters(), "12tTDDsDC33Z");
        client.send(&[message(b'E', b"p\0\0\0\0\0"), message(b'S', b"")].concat());
        assert_eq!(client.answer().failure.unwrap().code, "34000");
    });
}

#[test]
fn malformed_messages_are_errors_and_the_session_goes_on() {
    let server = Running::new("serial");
    let mut client = server.client();
    client.send(&extended("SELECT $1::int", &["1"]));
    assert_eq!(client.letters(), "12TDCZ");
    let cases: &[(u8, &[u8], &str)] = &[
        (b'Q', b"SELECT 1", "08P01"),
        (b'Q', b"SELECT 1\0\0", "08P01"),
        (b'Q', b"SELECT '\xff'\0", "22021"),
        (b'P', b"", "08P01"),
        (b'P', b"\0SELECT 1\0\0\x05\0", "08P01"),
        (b'P', b"\0SELECT 1\0\xff\xff", "08P01"),
        (b'P', b"\0SELECT $1\0\0\x01\0\x0f\x42\x3f", "42704"),
        (b'P', b"\0\xc3\x28\0\0\0", "22021"),
        (b'B', b"\0", "08P01"),
        (b'B', b"\0\0\0\0\0\x01\0\0\0\x09\x31\0\0", "08P01"),
        (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\x00\0\0", "08P01"),
        (b'B', b"\0\0\0\0\xff\xff", "08P01"),
        (b'B', b"\0\0\0\0\0\0\0\0", "08P01"),
        (b'B', b"\0\0\0\x01\0\x07\0\x01\0\0\0\x011\0\0", "22023"),
        (b'B', b"\0\0\0\x01\0\x01\0\x01\0\0\0\x011\0\0", "22P03"),
        (b'B', b"\0\0\0\0\0\x01\0\0\0\x01x\0\0", "22P02"),
        (b'B', b"\0\0\0\0\0\x01\0\0\0\x011\0\x02\0\0\0\0", "08P01"),
        (b'B', b"\0unknown\0\0\0\0\0\0\0", "26000"),
        (b'D', b"X\0", "08P01"),
        (b'D', b"Sunknown\0", "26000"),
        (b'E', b"unknown\0\0\0\0\0", "34000"),
        (b'E', b"\0\0\0", "08P01"),
        (b'C', b"X\0", "08P01"),
        (b'F', b"", "0A000"),
    ];
    for (kind, body, code) in cases {
        // The statement before is there for each Bind.
        client.send(&[message(b'P', b"\0SELECT $1::int\0\0\0"), message(b'S', b"")].concat());
        assert_eq!(client.letters(), "1Z");
        client.send(&message(*kind, body));
        if !matches!(kind, b'Q' | b'F') {
            client.send(&message(b'S', b""));
        }
        let failure = client.answer().failure.unwrap_or_else(|| panic!("{} {body:?}: no error", *kind as char));
        assert_eq!(failure.code, *code, "{} {body:?}: {failure}", *kind as char);
        assert_eq!(failure.severity, "ERROR");
    }
    assert_eq!(client.column("SELECT 1"), ["1"]);
}

#[test]
fn what_cannot_be_understood_ends_the_connection() {
    let config = ServerConfig { max_message_bytes: 1000, ..ServerConfig::default() };
    let server = Running::with("serial", config);
    let cases: &[(&[u8], &str)] = &[
        (b"Q\0\0\0\x03", "invalid message length"),
        (b"Q\0\0\x03\xe9", "message of 1001 bytes is longer than the limit of 1000 bytes"),
        (b"Q\xff\xff\xff\xff", "message of 4294967295 bytes is longer than the limit of 1000 bytes"),
        (b"y\0\0\0\x04", "invalid frontend message type 121"),
        (b"p\0\0\0\x04", "invalid frontend message type 112"),
    ];
    for (bytes, words) in cases {
        let mut client = server.client();
        client.send(bytes);
        let failure = client.last_words().unwrap();
        assert_eq!(
            (failure.severity.as_str(), failure.code.as_str(), failure.message.as_str()),
            ("FATAL", "08P01", *words)
        );
    }
    assert_eq!(server.client().column("SELECT 1"), ["1"]);
}

#[test]
fn wrong_beginnings_are_told_what_is_wrong() {
    let server = Running::new("serial");
    let cases: &[(&[u8], &str)] = &[
        (b"GET / HTTP/1.1\r\n\r\n", "08P01"),
        (&packet(0x0002_0000, b""), "0A000"),
        (&packet(0x0003_0000, b"\0"), "28000"),
        (&packet(0x0003_0000, b"user\0"), "08P01"),
        (&packet(0x0003_0000, b"user\0me\0client_encoding\0LATIN1\0\0"), "22023"),
        (b"\0\0\0\x07abc", "08P01"),
        (b"\0\0\x27\x11abcd", "08P01"),
    ];
    for (bytes, code) in cases {
        let mut client = Client::open(server.address);
        client.send(bytes);
        let failure = client.last_words().unwrap_or_else(|| panic!("{bytes:?}: no error"));
        assert_eq!((failure.severity.as_str(), failure.code.as_str()), ("FATAL", *code), "{bytes:?}");
    }
    // A client may leave in the middle.
    for count in [1, 4, 7, 20] {
        let mut client = Client::open(server.address);
        client.send(&startup("postgres")[..count]);
    }
    assert_eq!(server.client().column("SELECT 1"), ["1"]);
}

#[test]
fn newer_protocol_versions_are_negotiated_down() {
    let server = Running::new("serial");
    let mut client = Client::open(server.address);
    client.send(&packet(0x0003_0002, b"user\0me\0database\0postgres\0_pq_.new\x001\0\0"));
    let (kind, body) = client.read();
    assert_eq!((kind, &body[..]), (b'v', &b"\0\0\0\0\0\0\0\x01_pq_.new\0"[..]));
    client.await_ready().unwrap();
}

#[test]
fn a_client_that_does_not_begin_is_sent_away() {
    let config = ServerConfig { startup_timeout: Duration::from_millis(20), ..ServerConfig::default() };
    let server = Running::with("serial", config);
    let mut client = Client::open(server.address);
    client.send(b"\0\0");
    assert_eq!(client.last_words().unwrap().severity, "FATAL");
}

#[test]
fn a_client_that_says_nothing_is_sent_away_before_one_that_is_slow() {
    for each in models() {
        let config = ServerConfig { silence_timeout: Duration::from_millis(300), ..model(each) };
        let server = Running::with(ENGINE_OF_ALL_MODELS, config);
        let mut slow = Client::open(server.address);
        let start = packet(0x0003_0000, b"user\0me\0database\0postgres\0\0");
        slow.send(&start[..3]);
        let mut silent = Client::open(server.address);
        assert_eq!(silent.last_words().unwrap().severity, "FATAL");
        slow.send(&start[3..]);
        slow.await_ready().unwrap();
    }
}

#[test]
fn silent_connections_make_way_for_the_next_ones() {
    for each in models() {
        let config = ServerConfig { max_connections: 4, starting_connections: 3, ..model(each) };
        let server = Running::with(ENGINE_OF_ALL_MODELS, config);
        let mut sessions: Vec<_> = (0..2).map(|_| server.client()).collect();
        let mut silent: Vec<_> = (0..20).map(|_| Client::open(server.address)).collect();
        sessions.push(server.client());
        for session in &mut sessions {
            assert_eq!(session.column("SELECT 1"), ["1"]);
        }
        // The first connections have been cut off, so there is room for a new one though no client has left.
        let mut end = [0];
        assert_eq!(silent[0].stream.read(&mut end).unwrap_or(0), 0);
        assert_eq!(server.client().column("SELECT 2"), ["2"]);
    }
}

#[test]
fn connections_that_have_begun_to_speak_are_not_cut_off() {
    let config = ServerConfig { starting_connections: 2, ..ServerConfig::default() };
    let server = Running::with("serial", config);
    let mut slow: Vec<_> = (0..2).map(|_| Client::open(server.address)).collect();
    for client in &mut slow {
        client.send(&packet(80_877_103, b""));
        let mut answer = [0];
        client.stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N", "TLS is not configured");
    }
    // Both have places, and neither is silent.
    let mut refused = Client::open(server.address);
    assert_eq!(refused.last_words().map(|failure| failure.code), Some("53300".to_owned()));
    for client in slow {
        client.begin("me").unwrap();
    }
    assert_eq!(server.client().column("SELECT 1"), ["1"]);
}

#[test]
fn the_last_places_are_for_the_administrator() {
    let config = ServerConfig {
        max_connections: 3,
        reserved_connections: Some(1),
        administrator: "boss".to_owned(),
        ..ServerConfig::default()
    };
    let server = Running::with("serial", config);
    let begin = |user| Client::open(server.address).begin(user).map_err(|failure| (failure.code, failure.message));
    let first = begin("me").unwrap();
    let _second = begin("me").unwrap();
    let message = "remaining connection slots are reserved for non-replication superuser connections";
    assert_eq!(begin("me").err(), Some(("53300".to_owned(), message.to_owned())));
    let mut boss = begin("boss").unwrap();
    assert_eq!(boss.column("SELECT 1"), ["1"]);
    let message = "sorry, too many clients already";
    assert_eq!(begin("boss").err(), Some(("53300".to_owned(), message.to_owned())));
    drop((first, boss));
    // The place is free as soon as the server has seen it go.
    while begin("me").is_err() {}
}

#[test]
fn one_client_too_many_is_told_so() {
    let config = ServerConfig { max_connections: 2, ..ServerConfig::default() };
    let server = Running::with("serial", config);
    let first = server.client();
    let second = server.client();
    let third = Client::open(server.address).begin("postgres");
    assert_eq!(third.err().map(|failure| failure.code), Some("53300".to_owned()));
    drop(first);
    // The place is free as soon as the server has seen it go.
    while Client::open(server.address).begin("postgres").is_err() {}
    drop(second);
}

#[test]
fn a_disconnect_in_the_middle_of_a_transaction_leaves_no_lock() {
    on_each_engine(|server| {
        let mut first = server.client();
        accounts(&mut first);
        let endings: [fn(Client); 3] = [
            drop,
            |client| client.stream.shutdown(Shutdown::Write).unwrap(),
            |mut client| client.send(&message(b'Q', b"SELECT balance")[..8]),
        ];
        for ending in endings {
            let mut client = server.client();
            client.run("BEGIN; UPDATE accounts SET balance = -1 WHERE id = 1");
            ending(client);
            first.run("UPDATE accounts SET balance = balance + 1 WHERE id = 1");
        }
        assert_eq!(first.column("SELECT balance FROM accounts WHERE id = 1"), ["103"]);
    });
}

#[test]
fn a_client_that_leaves_while_it_waits_for_a_lock_is_noticed() {
    for (engine, config) in settings() {
        let server = Running::with(engine, ServerConfig { max_connections: 2, ..config });
        let mut holder = server.client();
        accounts(&mut holder);
        let waits: [(&str, &str); 2] = [
            ("BEGIN; UPDATE accounts SET balance = 0 WHERE id = 1", "UPDATE accounts SET balance = 1 WHERE id = 1"),
            ("BEGIN; LOCK TABLE accounts", "TRUNCATE accounts"),
        ];
        let mut leaving = server.client();
        for (held, waiting) in waits {
            leaving.run("SET lock_timeout = '1d'");
            holder.run(held);
            leaving.send_query(waiting);
            drop(leaving);
            // Its place is free long before the holder ends, and before its time is up.
            leaving = loop {
                if let Ok(next) = Client::open(server.address).begin("postgres") {
                    break next;
                }
            };
            holder.run("COMMIT");
        }
        assert_eq!(holder.column("SELECT balance FROM accounts ORDER BY id"), ["0", "200", "300"], "{engine}");
    }
}

#[test]
fn a_cancel_request_hits_the_running_statement_and_nothing_else() {
    on_each_engine(|server| {
        let mut holder = server.client();
        accounts(&mut holder);
        let mut waiting = server.client();
        let (pid, secret) = waiting.key;
        let cancel = |pid: i32, secret: i32| {
            let mut client = Client::open(server.address);
            client.send(&packet(80_877_102, &[pid.to_be_bytes(), secret.to_be_bytes()].concat()));
            assert!(client.try_read().is_ok_and(|answer| answer.is_none()), "a cancel request has no answer");
        };
        cancel(pid, secret);
        assert_eq!(waiting.column("SELECT 1"), ["1"], "a cancel request between two statements is late");
        cancel(pid, secret.wrapping_add(1));
        cancel(pid.wrapping_add(1000), secret);
        holder.run("BEGIN; UPDATE accounts SET balance = 0 WHERE id = 1");
        waiting.send_query("UPDATE accounts SET balance = 1 WHERE id = 1");
        waiting.stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let mut first = [0];
        while waiting.stream.peek(&mut first).is_err() {
            cancel(pid, secret);
        }
        waiting.stream.set_read_timeout(None).unwrap();
        assert_eq!(waiting.answer().failure.unwrap().code, "57014");
        holder.run("COMMIT");
        waiting.run("UPDATE accounts SET balance = 1 WHERE id = 1");
    });
}

#[test]
fn copy_takes_and_gives_data() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
        client.send_query("COPY t FROM STDIN");
        assert_eq!(client.read(), (b'G', vec![0, 0, 2, 0, 0, 0, 0]));
        for piece in ["1\tone\n2", "\ttw", "o\n", "3\t\\N\n", "\\.\n"] {
            client.send(&message(b'd', piece.as_bytes()));
        }
        client.send(&message(b'c', b""));
        assert_eq!(client.answer().tags, ["COPY 3"]);
        client.send_query("COPY t TO STDOUT");
        let mut data = Vec::new();
        assert_eq!(client.read(), (b'H', vec![0, 0, 2, 0, 0, 0, 0]));
        while let (b'd', piece) = client.read() {
            data.extend(piece);
        }
        assert_eq!(String::from_utf8(data).unwrap(), "1\tone\n2\ttwo\n3\t\\N\n");
        assert_eq!(client.answer().tags, ["COPY 3"]);
    });
}

#[test]
fn copy_that_goes_wrong_changes_nothing() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
        let cases: &[(&[u8], u8, &str)] = &[
            (b"1\tone\n2\n", b'c', "22P04"),
            (b"1\tone\nx\ttwo\n", b'c', "22P02"),
            (b"1\tone\n1\ttwo\n", b'c', "23505"),
            (b"1\t\xff\n", b'c', "22021"),
            (b"1\tone\n", b'f', "57014"),
        ];
        for (data, end, code) in cases {
            client.send_query("COPY t FROM STDIN");
            assert_eq!(client.read().0, b'G');
            client.send(&message(b'd', data));
            client.send(&message(b'd', b"9\tmore\n"));
            client.send(&message(*end, if *end == b'f' { b"gave up\0" } else { b"" }));
            let failure = client.answer().failure.unwrap();
            assert_eq!(failure.code, *code, "{failure}");
        }
        client.send_query("COPY t FROM STDIN");
        client.read();
        client.send(&message(b'Q', b"SELECT 1\0"));
        assert_eq!(client.answer().failure.unwrap().code, "08P01");
        assert_eq!(client.column("SELECT count(*) FROM t"), ["0"]);
    });
}

#[test]
fn a_shutdown_ends_waits_and_says_good_bye() {
    for (engine, config) in settings() {
        let mut server = Running::with(engine, config);
        let mut idle = server.client();
        let mut holder = server.client();
        accounts(&mut holder);
        holder.run("BEGIN; UPDATE accounts SET balance = 0 WHERE id = 1");
        let mut waiting = server.client();
        waiting.send_query("UPDATE accounts SET balance = 1 WHERE id = 1");
        server.stop();
        for client in [&mut idle, &mut holder, &mut waiting] {
            assert_eq!(client.last_words().unwrap().code, "57P01");
        }
        assert!(std::net::TcpStream::connect(server.address).is_err(), "nobody listens");
    }
}

#[test]
fn the_limit_on_connections_is_shown() {
    let server = Running::with("serial", ServerConfig { max_connections: 17, ..ServerConfig::default() });
    let mut client = Client::connect(server.address);
    assert_eq!(client.column("show max_connections"), ["17"]);
    assert_eq!(client.column("select setting from pg_settings where name = 'max_connections'"), ["17"]);
}

#[test]
fn a_name_that_is_too_long_is_told_when_it_is_parsed() {
    let server = Running::new("serial");
    let mut client = Client::connect(server.address);
    let sql = format!("select 1 as {}", "n".repeat(64));
    let prepare = || [parse("", &sql), message(b'S', b"")].concat();
    client.send(&prepare());
    assert_eq!(client.letters(), "N1Z");
    for severity in ["warning", "error"] {
        client.run(&format!("set client_min_messages = {severity}"));
        client.send(&prepare());
        assert_eq!(client.letters(), "1Z", "{severity}");
    }
    // A function's warning.
    client.send_query("select pg_cancel_backend(2147483647)");
    assert_eq!(client.letters(), "TDCZ");
    client.run("set client_min_messages = warning");
    client.send_query("select pg_cancel_backend(2147483647)");
    assert_eq!(client.letters(), "TDNCZ");
}
