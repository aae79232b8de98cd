//! Requests as drivers send them, in the extended protocol: types declared or left open, binary and text side by side,
//! statements that are used again.

mod common;

use common::client::{Answer, execute, extended, message, parse};
use common::{Client, on_each_engine};

/// A parameter: the number of its declared type (0 leaves it open), whether it is binary, and its bytes; `None` for
/// NULL.
type Parameter<'a> = (u32, bool, Option<&'a [u8]>);

/// Parse, Bind, Describe, Execute and Sync with these parameters, and results in these formats.
fn send(client: &mut Client, sql: &str, parameters: &[Parameter<'_>], binary_results: &[bool]) -> Answer {
    let count = (parameters.len() as u16).to_be_bytes();
    let mut prepare = format!("\0{sql}\0").into_bytes();
    prepare.extend(count);
    prepare.extend(parameters.iter().flat_map(|(oid, ..)| oid.to_be_bytes()));
    let mut bind = b"\0\0".to_vec();
    bind.extend(count);
    bind.extend(parameters.iter().flat_map(|(_, binary, _)| u16::from(*binary).to_be_bytes()));
    bind.extend(count);
    for (.., value) in parameters {
        match value {
            None => bind.extend((-1_i32).to_be_bytes()),
            Some(bytes) => {
                bind.extend((bytes.len() as u32).to_be_bytes());
                bind.extend(*bytes);
            }
        }
    }
    bind.extend((binary_results.len() as u16).to_be_bytes());
    bind.extend(binary_results.iter().flat_map(|binary| u16::from(*binary).to_be_bytes()));
    let messages = [message(b'P', &prepare), message(b'B', &bind), message(b'D', b"P\0"), message(b'E', b"\0\0\0\0\0")];
    client.send(&[messages.concat(), message(b'S', b"")].concat());
    client.answer()
}

fn tags(client: &mut Client, statements: &[&str]) -> Vec<String> {
    let mut tags = Vec::new();
    for sql in statements {
        client.send(&extended(sql, &[]));
        let answer = client.answer();
        tags.push(answer.failure.map_or_else(|| answer.tags.concat(), |failure| failure.code));
    }
    tags
}

#[test]
fn everything_goes_through_the_extended_protocol() {
    on_each_engine(|server| {
        let mut client = server.client();
        let cases = [
            ("CREATE TABLE t (id int PRIMARY KEY, name text)", "CREATE TABLE"),
            ("BEGIN", "BEGIN"),
            ("INSERT INTO t VALUES (1, 'a')", "INSERT 0 1"),
            ("SAVEPOINT s", "SAVEPOINT"),
            ("SELECT 1 / 0", "22012"),
            ("ROLLBACK TO SAVEPOINT s", "ROLLBACK"),
            ("COMMIT", "COMMIT"),
            ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "BEGIN"),
            ("SELECT name FROM t", "SELECT 1"),
            ("ROLLBACK", "ROLLBACK"),
            ("SET extra_float_digits = 3", "SET"),
            ("SHOW transaction_isolation", "SHOW"),
            ("CREATE INDEX ON t (name)", "CREATE INDEX"),
            ("TRUNCATE t", "TRUNCATE TABLE"),
            ("DROP TABLE t", "DROP TABLE"),
            ("", ""),
        ];
        let found = tags(&mut client, &cases.map(|(sql, _)| sql));
        assert_eq!(found, cases.map(|(_, tag)| tag));
    });
}

#[test]
fn a_transaction_and_its_level_come_in_one_message() {
    on_each_engine(|server| {
        let mut client = server.client();
        let answer = client.run("begin; set transaction isolation level serializable");
        assert_eq!((answer.tags, answer.status), (vec!["BEGIN".to_owned(), "SET".to_owned()], 'T'));
        assert_eq!(client.column("show transaction_isolation"), ["serializable"]);
        assert_eq!(client.run("commit").status, 'I');
    });
}

#[test]
fn parameters_are_binary_or_text_and_of_open_or_declared_types() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, s int2, l int8, d float8, n numeric(8, 2), day date, at timestamp, v varchar(3))");
        let insert = "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let numeric = [0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x0d, 0x48];
        let open: [Parameter<'_>; 8] = [
            (0, true, Some(&1_i32.to_be_bytes())),
            (0, true, Some(&2_i16.to_be_bytes())),
            (0, false, Some(b"3")),
            (0, true, Some(&1.5_f64.to_be_bytes())),
            (0, true, Some(&numeric)),
            (0, true, Some(&8_766_i32.to_be_bytes())),
            (0, false, Some(b"2024-01-02 03:04:05.6")),
            (0, false, Some(b"abc")),
        ];
        assert_eq!(send(&mut client, insert, &open, &[]).tags, ["INSERT 0 1"]);
        // int8 into int4 and int2, int4 into int8, float8 into numeric, timestamp into date, text into varchar.
        let declared: [Parameter<'_>; 8] = [
            (20, true, Some(&2_i64.to_be_bytes())),
            (20, true, Some(&(-2_i64).to_be_bytes())),
            (23, true, Some(&3_i32.to_be_bytes())),
            (1700, true, Some(&numeric)),
            (701, true, Some(&2.345_f64.to_be_bytes())),
            (1114, true, Some(&757_400_645_600_000_i64.to_be_bytes())),
            (1082, true, Some(&8_766_i32.to_be_bytes())),
            (25, false, None),
        ];
        assert_eq!(send(&mut client, insert, &declared, &[]).tags, ["INSERT 0 1"]);
        let rows = client.run("SELECT * FROM t ORDER BY id").rows;
        let shown = |row: &Vec<Option<String>>| {
            row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&rows[0]), "1 2 3 1.5 12.34 2024-01-01 2024-01-02 03:04:05.6 abc");
        assert_eq!(shown(&rows[1]), "2 -2 3 12.34 2.35 2024-01-01 2024-01-01 00:00:00 NULL");

        let fails = |client: &mut Client, sql: &str, parameter: Parameter<'_>| {
            send(client, sql, &[parameter], &[]).failure.map(|failure| (failure.code, failure.message))
        };
        let error = |code: &str, message: &str| Some((code.to_owned(), message.to_owned()));
        let wide = 1_i64 << 40;
        let found = fails(&mut client, "UPDATE t SET id = $1", (20, true, Some(&wide.to_be_bytes())));
        assert_eq!(found, error("22003", "integer out of range"));
        let found = fails(&mut client, "UPDATE t SET n = $1", (701, true, Some(&1e9_f64.to_be_bytes())));
        assert_eq!(found, error("22003", "numeric field overflow"));
        let found = fails(&mut client, "UPDATE t SET v = $1", (25, false, Some(b"long")));
        assert_eq!(found, error("22001", "value too long for type character varying(3)"));
        let found = fails(&mut client, "SELECT * FROM t WHERE id = $1", (0, false, Some(b"x")));
        assert_eq!(found, error("22P02", "invalid input syntax for type integer: \"x\""));
    });
}

#[test]
fn results_are_binary_and_text_in_one_row() {
    on_each_engine(|server| {
        let mut client = server.client();
        let one: [Parameter<'_>; 1] = [(23, true, Some(&258_i32.to_be_bytes()))];
        let answer = send(&mut client, "SELECT $1, $1, 'x'::text", &one, &[true, false, true]);
        let row: Vec<_> = answer.rows[0].iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
        assert_eq!(row, ["\0\0\u{1}\u{2}", "258", "x"]);
    });
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.described.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn cursors_take_parameters_and_are_described() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')");
        client.run("BEGIN");
        let declared = send(
            &mut client,
            "DECLARE c CURSOR FOR SELECT id, name FROM t WHERE id > $1 ORDER BY id",
            &[(0, true, Some(&1_i32.to_be_bytes()))],
            &[],
        );
        assert_eq!((declared.failure, declared.tags.concat()), (None, "DECLARE CURSOR".to_owned()));
        // A cursor is a portal: it can be described as one.
        client.send(&[message(b'D', b"Pc\0"), message(b'S', b"")].concat());
        assert_eq!(names(&client.answer()), ["id", "name"]);
        let fetched = send(&mut client, "FETCH FORWARD 5 FROM c", &[], &[true, false]);
        assert_eq!(names(&fetched), ["id", "name"]);
        let row = |id: &str, name: &str| vec![Some(id.to_owned()), Some(name.to_owned())];
        assert_eq!(fetched.rows, [row("\0\0\0\u{2}", "b"), row("\0\0\0\u{3}", "c")]);
        assert_eq!(fetched.tags, ["FETCH 2"]);
        // A statement that was prepared for another cursor of the name.
        client.send(&[parse("fetch", "FETCH c"), message(b'S', b"")].concat());
        assert_eq!(client.answer().failure, None);
        client.run("CLOSE c; DECLARE c CURSOR FOR SELECT name FROM t");
        client.send(&[execute("fetch", &[]), message(b'S', b"")].concat());
        assert_eq!(client.answer().failure.expect("it has other columns").code, "0A000");
        client.run("ROLLBACK");
    });
}

#[test]
fn a_named_statement_is_used_again_and_again() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, name text)");
        client.run("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, NULL)");
        client.send(&[parse("find", "SELECT name FROM t WHERE id = $1"), message(b'S', b"")].concat());
        assert_eq!(client.answer().failure, None);
        for turn in 0..12 {
            let id = (turn % 4 + 1).to_string();
            client.send(&[execute("find", &[&id]), message(b'S', b"")].concat());
            let expected = match turn % 4 {
                0 => vec![vec![Some("one".to_owned())]],
                1 => vec![vec![Some("two".to_owned())]],
                2 => vec![vec![None]],
                _ => Vec::new(),
            };
            assert_eq!(client.answer().rows, expected, "turn {turn}");
        }
        // The table changes under it; the result's type does not.
        client.run("CREATE INDEX ON t (name); INSERT INTO t VALUES (4, 'four')");
        client.send(&[execute("find", &["4"]), message(b'S', b"")].concat());
        assert_eq!(client.answer().rows, [[Some("four".to_owned())]]);
    });
}

#[test]
fn as_many_parameters_as_the_protocol_has() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, name text, n numeric)");
        let rows = 65_535 / 3;
        let places = (0..rows).map(|row| format!("(${}, ${}, ${})", row * 3 + 1, row * 3 + 2, row * 3 + 3));
        let sql = format!("INSERT INTO t VALUES {}", places.collect::<Vec<_>>().join(", "));
        let values = (0..rows).flat_map(|row| [row.to_string(), format!("name {row}"), format!("{row}.5")]);
        let values: Vec<_> = values.collect();
        let parameters: Vec<_> = values.iter().map(String::as_str).collect();
        client.send(&extended(&sql, &parameters));
        let answer = client.answer();
        assert_eq!((answer.failure, answer.tags), (None, vec![format!("INSERT 0 {rows}")]));
        assert_eq!(client.column("SELECT sum(n) FROM t"), ["238602012.5"]);
        client.send(&extended("SELECT $65536", &[]));
        let failure = client.answer().failure.expect("there is no such parameter");
        assert_eq!(failure.code, "42P02");
    });
}

#[test]
fn long_lists_and_long_chains_are_answered() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, name text)");
        client.run("INSERT INTO t VALUES (1, 'a'), (99999, 'b'), (200000, 'c')");
        let list = (0..100_000).map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
        assert_eq!(client.column(&format!("SELECT count(*) FROM t WHERE id IN ({list})")), ["2"]);
        assert_eq!(client.column(&format!("SELECT count(*) FROM t WHERE id NOT IN ({list})")), ["1"]);
        let rows = (0..20_000).map(|id| format!("({id}, 'a')")).collect::<Vec<_>>().join(", ");
        assert_eq!(client.column(&format!("SELECT count(*) FROM t WHERE (id, name) IN ({rows})")), ["1"]);
        let chain = (0..1000).map(|id| format!("id = {id}")).collect::<Vec<_>>().join(" OR ");
        assert_eq!(client.column(&format!("SELECT count(*) FROM t WHERE {chain}")), ["1"]);
        let sum = vec!["1"; 100_000].join(" + ");
        // Too deep, and the session goes on.
        assert_eq!(client.fails(&format!("SELECT {sum}")), ("54001".to_owned(), 'I'));
        assert_eq!(client.column("SELECT 1"), ["1"]);
    });
}

/// An array of integers in the binary format, from its first index on.
fn binary_array(lower: i32, elements: &[Option<i32>]) -> Vec<u8> {
    let head = [1, i32::from(elements.contains(&None)), 23, elements.len() as i32, lower];
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_be_bytes()).collect();
    for element in elements {
        match element {
            Some(value) => bytes.extend([4_i32.to_be_bytes(), value.to_be_bytes()].concat()),
            None => bytes.extend((-1_i32).to_be_bytes()),
        }
    }
    bytes
}

#[test]
fn arrays_are_parameters_and_results_in_both_formats() {
    on_each_engine(|server| {
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, tags text[]); INSERT INTO t VALUES (1, '{a}'), (2, '{b,NULL}'), (3, '{}')");
        let text = |answer: Answer| {
            let rows = answer.rows.concat().into_iter().map(|value| value.unwrap_or("NULL".to_owned()));
            answer.failure.map_or_else(|| rows.collect::<Vec<_>>().join("|"), |failure| failure.code)
        };
        // The array's type is the other side's, be it declared or left open.
        let wanted = binary_array(1, &[Some(1), None, Some(3)]);
        for oid in [0, 1007] {
            for (binary, bytes) in [(true, &wanted[..]), (false, b"{1,NULL,3}")] {
                let answer = send(
                    &mut client,
                    "SELECT id FROM t WHERE id = ANY($1) ORDER BY id",
                    &[(oid, binary, Some(bytes))],
                    &[],
                );
                assert_eq!(text(answer), "1|3");
            }
        }
        // What goes in comes out.
        let pair = binary_array(1, &[Some(1), Some(3)]);
        let answer = send(&mut client, "SELECT $1::int[], $1::int[] || 4", &[(0, true, Some(&pair))], &[true, false]);
        assert_eq!(answer.rows[0][0].as_deref().map(str::as_bytes), Some(&pair[..]));
        assert_eq!(answer.rows[0][1].as_deref(), Some("{1,3,4}"));
        assert_eq!(answer.described.iter().map(|column| column.oid).collect::<Vec<_>>(), [1007, 1007]);
        let tags = b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x01\0\0\0\x01\0\0\0\x03x,y";
        let answer =
            send(&mut client, "UPDATE t SET tags = $1 WHERE id = 1 RETURNING tags", &[(0, true, Some(tags))], &[]);
        assert_eq!(text(answer), "{\"x,y\"}");
        let empty = [0_i32, 0, 23].map(i32::to_be_bytes).concat();
        let rows = "SELECT x FROM unnest($1::int[]) x";
        assert_eq!(text(send(&mut client, rows, &[(0, true, Some(&wanted))], &[])), "1|NULL|3");
        assert_eq!(text(send(&mut client, rows, &[(0, true, Some(&empty))], &[])), "");
        // What is no array, or one of another shape or type.
        let refused = "SELECT $1::int[]";
        let other_type = [0_i32, 0, 25].map(i32::to_be_bytes).concat();
        let two_dimensions = [2_i32, 0, 23, 1, 1, 1, 1].map(i32::to_be_bytes).concat();
        let from_two = binary_array(2, &[Some(1)]);
        let huge = [1_i32, 0, 23, i32::MAX, 1].map(i32::to_be_bytes).concat();
        let negative = [1_i32, 0, 23, -1, 1].map(i32::to_be_bytes).concat();
        let cases = [
            (&wanted[..wanted.len() - 1], "22P03"),
            (&empty[..7], "22P03"),
            (&huge, "22P03"),
            (&negative, "22P03"),
            (&other_type, "42804"),
            (&two_dimensions, "0A000"),
            (&from_two, "0A000"),
        ];
        for (bytes, code) in cases {
            assert_eq!(text(send(&mut client, refused, &[(0, true, Some(bytes))], &[])), code, "{bytes:?}");
        }
        assert_eq!(text(send(&mut client, refused, &[(0, false, Some(b"1,2"))], &[])), "22P02");
    });
}
