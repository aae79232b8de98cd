//! Tests of data with the rows that PostgreSQL reads from it, whole and in pieces, and of round trips.

use super::options::SIGNATURE;
use super::*;
use hotrow_storage::{Type, Value};
use proptest::prelude::*;

type Fields = Vec<Option<Vec<u8>>>;

/// Reads `data` in pieces of `piece` bytes as a table `t` with columns `a`, `b`, …
fn read(options: &CopyOptions, columns: usize, data: &[u8], piece: usize) -> Result<Vec<Fields>, crate::SqlError> {
    let names = ('a'..='z').take(columns).map(String::from).collect();
    let mut reader = CopyReader::new(options.clone(), "t", names);
    let mut rows = Vec::new();
    for piece in data.chunks(piece.max(1)) {
        reader.feed(piece);
        drain(&mut reader, &mut rows)?;
    }
    reader.finish();
    drain(&mut reader, &mut rows)?;
    Ok(rows)
}

fn drain(reader: &mut CopyReader, rows: &mut Vec<Fields>) -> Result<(), crate::SqlError> {
    while let Some(row) = reader.next_row()? {
        let mut fields = Vec::new();
        for column in 0..row.len() {
            row.text(column).or_else(|error| if row.bytes(column).is_some() { Err(error) } else { Ok(None) })?;
            fields.push(row.bytes(column).map(<[u8]>::to_vec));
        }
        rows.push(fields);
    }
    Ok(())
}

fn text() -> CopyOptions {
    CopyOptions::new(CopyFormat::Text)
}

fn csv() -> CopyOptions {
    CopyOptions::new(CopyFormat::Csv)
}

/// Checks that `data` has the rows `expected`, however it is cut into pieces. In `expected`, `|` is between fields and
/// `∅` is NULL.
fn check(options: &CopyOptions, data: &str, expected: &[&str]) {
    let columns = expected.first().map_or(2, |row| row.split('|').count());
    for piece in [1, 2, 3, 7, data.len()] {
        let rows = read(options, columns, data.as_bytes(), piece).unwrap_or_else(|error| panic!("{data:?}: {error}"));
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let fields = row.iter().map(|field| field.as_deref().map_or("∅".into(), String::from_utf8_lossy));
                fields.collect::<Vec<_>>().join("|")
            })
            .collect();
        assert_eq!(shown, expected, "{data:?} in pieces of {piece}");
    }
}

fn check_error(options: &CopyOptions, data: &[u8], state: &str, message: &str, context: &str) {
    for piece in [1, 5, data.len()] {
        let error = read(options, 2, data, piece).expect_err("wrong data");
        let found = (error.state.as_str(), error.message.as_str(), error.context.as_deref().unwrap_or_default());
        assert_eq!(found, (state, message, context), "{:?}", String::from_utf8_lossy(data));
    }
}

#[test]
fn text_is_read_as_by_postgresql() {
    check(&text(), "", &[]);
    check(&text(), "1\tone\n2\ttwo\n", &["1|one", "2|two"]);
    check(&text(), "1\tone\n2\ttwo", &["1|one", "2|two"]);
    check(&text(), "1\tone\r\n2\ttwo\r\n", &["1|one", "2|two"]);
    check(&text(), "\\N\t\n\\\\N\tx\n", &["∅|", "\\N|x"]);
    check(&text(), "a\\tb\\n\tc\\\\\n", &["a\tb\n|c\\"]);
    check(&text(), "a\\\tb\tc\\\nd\n", &["a\tb|c\nd"]);
    check(&text(), "\\x41\\x4g\t\\101\\7\n", &["A\u{4}g|A\u{7}"]);
    check(&text(), "1\t2\n\\.\nnot\tread\tat all\n", &["1|2"]);
    let options = CopyOptions { delimiter: b'|', null: "null".into(), header: true, ..text() };
    check(&options, "a|b\nnull|x\n", &["∅|x"]);
}

#[test]
fn csv_is_read_as_by_postgresql() {
    check(&csv(), "1,one\n2,\"two, \"\"or\"\" so\"\n", &["1|one", "2|two, \"or\" so"]);
    check(&csv(), ",\"\"\r\nx,y\r\n", &["∅|", "x|y"]);
    check(&csv(), "\"a\nb\",c\n", &["a\nb|c"]);
    check(&csv(), "a\" b\"c,d", &["a bc|d"]);
    check(&csv(), "\\.\n1,2", &[]);
    let options = CopyOptions { escape: b'\\', header: true, null: "NULL".into(), ..csv() };
    check(&options, "a,b\n\"x\\\"y\\\\\",NULL\n\"NULL\",\"\\z\"\n", &["x\"y\\|∅", "NULL|\\z"]);
}

#[test]
fn wrong_data_is_refused_with_its_place() {
    let format = "22P04";
    let line = "COPY t, line 2: \"1\"";
    check_error(&text(), b"1\t2\n1\n", format, "missing data for column \"b\"", line);
    check_error(&csv(), b"1,2\n1\n", format, "missing data for column \"b\"", line);
    let extra = "extra data after last expected column";
    check_error(&text(), b"1\t2\t3\t4\n", format, extra, "COPY t, line 1: \"1\t2\t3\t4\"");
    check_error(&csv(), b"\"1\",\"2\",\"3\"\n", format, extra, "COPY t, line 1: \"\"1\",\"2\",\"3\"\"");
    let unterminated = "unterminated CSV quoted field";
    check_error(&csv(), b"1,2\n1,\"x\n", format, unterminated, "COPY t, line 3: \"1,\"x\n\"");
    check_error(
        &text(),
        b"1\ta\xffb\n",
        "22021",
        "invalid byte sequence for encoding \"UTF8\": 0xff",
        "COPY t, line 1, column b: \"a\u{fffd}b\"",
    );
    check_error(
        &text(),
        b"1\t\\xc3\n",
        "22021",
        "invalid byte sequence for encoding \"UTF8\": 0xc3",
        "COPY t, line 1, column b: \"\u{fffd}\"",
    );
    check_error(
        &text(),
        b"1\t2\n1\ra\t2\n",
        format,
        "literal carriage return found in data",
        "COPY t, line 2: \"1\ra\t2\"",
    );
    check_error(&text(), b"1\t2\r\n1\t2\n", format, "literal newline found in data", "COPY t, line 2: \"1\t2\"");
}

#[test]
fn binary_data_may_lack_its_trailer() {
    let options = CopyOptions::new(CopyFormat::Binary);
    let header = [&SIGNATURE[..], &[0; 8]].concat();
    let row = [0, 1, 0, 0, 0, 2, b'a', b'b'];
    for (data, rows) in [(header.clone(), 0), ([&header[..], &row, &row].concat(), 2)] {
        for piece in [1, data.len()] {
            assert_eq!(read(&options, 1, &data, piece).map(|rows| rows.len()), Ok(rows), "{data:?}");
        }
    }
}

#[test]
fn wrong_binary_data_is_refused() {
    let options = CopyOptions::new(CopyFormat::Binary);
    let mut header = SIGNATURE.to_vec();
    header.extend([0; 8]);
    let with = |tail: &[u8]| [&header[..], tail].concat();
    let cases: &[(Vec<u8>, &str)] = &[
        (b"1\t2\n".to_vec(), "COPY file signature not recognized"),
        (SIGNATURE[..5].to_vec(), "COPY file signature not recognized"),
        (header[..13].to_vec(), "unexpected EOF in COPY data"),
        (with(&[0]), "unexpected EOF in COPY data"),
        ([&SIGNATURE[..], &[0, 1, 0, 0, 0, 0, 0, 0]].concat(), "unrecognized critical flags in COPY file header"),
        ([&SIGNATURE[..], &[0, 0, 0, 0, 0xff, 0, 0, 0]].concat(), "invalid COPY file header (wrong length)"),
        (with(&[0, 3]), "row field count is 3, expected 2"),
        (with(&[0, 2, 0, 0, 0, 4, 1, 2]), "unexpected EOF in COPY data"),
        (with(&[0, 2, 0xff, 0xff, 0xff, 0xfe]), "invalid field size"),
    ];
    for (data, message) in cases {
        for piece in [1, data.len()] {
            let error = read(&options, 2, data, piece).expect_err("wrong data");
            assert_eq!((error.state.as_str(), error.message.as_str()), ("22P04", *message), "{data:?}");
        }
    }
}

#[test]
fn unfinished_rows_do_not_grow_without_bound() {
    let binary = CopyOptions::new(CopyFormat::Binary);
    let header = [&SIGNATURE[..], &[0; 8], &[0, 1, 0, 0, 4, 0]].concat();
    let cases = [(text(), &b"x\n"[..]), (csv(), b"x\n\""), (binary, &header)];
    for (options, begin) in cases {
        let mut reader = CopyReader::new(options.clone(), "t", vec!["a".into()]);
        reader.limit_rows(100);
        let mut rows = Vec::new();
        reader.feed(begin);
        let mut fed = 0;
        let error = loop {
            match drain(&mut reader, &mut rows) {
                Ok(()) => reader.feed(b"0123456789"),
                Err(error) => break error,
            }
            fed += 10;
            assert!(fed <= 110, "{:?} goes on", options.format);
        };
        assert_eq!(error.state, crate::state::PROGRAM_LIMIT_EXCEEDED, "{:?}", options.format);
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    assert_eq!(text().validate(), Ok(()));
    assert_eq!(csv().validate(), Ok(()));
    let wrong = [
        CopyOptions { delimiter: b'\n', ..text() },
        CopyOptions { delimiter: b'a', ..text() },
        CopyOptions { delimiter: 0xe4, ..text() },
        CopyOptions { delimiter: b'N', ..text() },
        CopyOptions { null: "\n".into(), ..text() },
        CopyOptions { delimiter: b'"', ..csv() },
        CopyOptions { null: "\"".into(), ..csv() },
        CopyOptions { header: true, ..CopyOptions::new(CopyFormat::Binary) },
    ];
    for options in wrong {
        assert_eq!(options.validate().expect_err("they do not fit").state, crate::state::INVALID_PARAMETER_VALUE);
    }
}

fn any_options() -> impl Strategy<Value = CopyOptions> {
    prop_oneof![
        Just(text()),
        Just(CopyOptions { delimiter: b'|', null: "nil".into(), header: true, ..text() }),
        Just(csv()),
        Just(CopyOptions { escape: b'\\', quote: b'\'', delimiter: b';', header: true, ..csv() }),
        Just(CopyOptions::new(CopyFormat::Binary)),
    ]
}

proptest! {
    #[test]
    fn rows_come_back_as_they_were_written(
        options in any_options(),
        rows in prop::collection::vec(prop::array::uniform2(prop::option::of("[a-c,;'\"\\\\\n\r\t|.Nnil]{0,6}")), 0..5),
        piece in 1..20_usize,
    ) {
        // In the text format a value that equals the text for NULL is read as NULL, as in PostgreSQL.
        let is_word = |field: &String| options.format == CopyFormat::Text && *field == options.null;
        prop_assume!(options.null == "\\N" || !rows.iter().flatten().flatten().any(is_word));
        let mut writer = CopyWriter::new(options.clone(), vec![Type::Text; 2], crate::types::Styles::default());
        let mut data = writer.header(["a", "b"]).unwrap_or_default().to_vec();
        for row in &rows {
            let values = row.each_ref().map(|field| field.as_deref().map_or(Value::Null, Value::text));
            data.extend_from_slice(writer.row(&values));
        }
        data.extend_from_slice(writer.trailer().unwrap_or_default());
        let expected: Vec<Fields> =
            rows.iter().map(|row| row.iter().map(|field| field.clone().map(String::into_bytes)).collect()).collect();
        prop_assert_eq!(read(&options, 2, &data, piece), Ok(expected), "{:?}", String::from_utf8_lossy(&data));
    }

    #[test]
    fn no_data_panics(options in any_options(), data: Vec<u8>, columns in 0..3_usize, piece in 1..20_usize) {
        let _ = read(&options, columns, &data, piece);
    }
}
