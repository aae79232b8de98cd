//! Inputs with what PostgreSQL makes of them, and round trips.

use super::*;
use bytes::BytesMut;
use hotrow_storage::{Numeric, Precision, Type, Value};
use proptest::prelude::*;

fn text(value: &Value<'_>, ty: Type) -> String {
    let mut out = BytesMut::new();
    encode_text(value, ty, Styles::default(), &mut out);
    String::from_utf8(out.to_vec()).expect("text is UTF-8")
}

fn binary(value: &Value<'_>, ty: Type) -> Vec<u8> {
    let mut out = BytesMut::new();
    encode_binary(value, ty, &mut out);
    out.to_vec()
}

/// Checks that `input` is read as `ty` and written as `output`, in text and through the binary format.
fn check(ty: Type, input: &str, output: &str) {
    let value = decode_text(ty, input, Styles::default()).unwrap_or_else(|error| panic!("{ty} {input:?}: {error}"));
    assert_eq!(text(&value, ty), output, "{ty} {input:?}");
    let bytes = binary(&value, ty);
    let back = decode_binary(ty, &bytes).unwrap_or_else(|error| panic!("{ty} {input:?} {bytes:?}: {error}"));
    assert_eq!(text(&back, ty), output, "{ty} {input:?} through binary");
}

fn check_error(ty: Type, input: &str, state: &str, message: &str) {
    let error = decode_text(ty, input, Styles::default()).expect_err(input);
    assert_eq!((error.state.as_str(), error.message.as_str()), (state, message), "{ty} {input:?}");
}

const MONEY: Type = Type::Numeric(Some(Precision { precision: 6, scale: 2 }));

#[test]
fn values_are_read_and_written_as_by_postgresql() {
    let cases: &[(Type, &str, &str)] = &[
        (Type::Bool, "t", "t"),
        (Type::Bool, " YES ", "t"),
        (Type::Bool, "on", "t"),
        (Type::Bool, "fal", "f"),
        (Type::Bool, "of", "f"),
        (Type::Bool, "0", "f"),
        (Type::Int2, "-32768", "-32768"),
        (Type::Int4, " +42 ", "42"),
        (Type::Int8, "9223372036854775807", "9223372036854775807"),
        (Type::Float8, "1e20", "1e+20"),
        (Type::Float8, "1e15", "1e+15"),
        (Type::Float8, "1e14", "100000000000000"),
        (Type::Float8, "0.0001", "0.0001"),
        (Type::Float8, "0.00001234", "1.234e-05"),
        (Type::Float8, "-0", "-0"),
        (Type::Float8, "123.456", "123.456"),
        (Type::Float8, "12345678901234567890", "1.2345678901234567e+19"),
        (Type::Float8, "1.5e300", "1.5e+300"),
        (Type::Float8, "-inf", "-Infinity"),
        (Type::Float8, "nan", "NaN"),
        (Type::Float4, "1234567", "1.234567e+06"),
        (Type::Float4, "0.1", "0.1"),
        (Type::Float4, "100000", "100000"),
        (Type::Numeric(None), "1.10", "1.10"),
        (Type::Numeric(None), "-0.001", "-0.001"),
        (Type::Numeric(None), "1.5e3", "1500"),
        (Type::Numeric(None), "15e-3", "0.015"),
        (Type::Numeric(None), ".5", "0.5"),
        (Type::Numeric(None), "100000000", "100000000"),
        (Type::Numeric(None), "12345678.000012", "12345678.000012"),
        (Type::Numeric(None), "9999999999999999999999999999", "9999999999999999999999999999"),
        (MONEY, "1.005", "1.01"),
        (MONEY, "-9999.994", "-9999.99"),
        (MONEY, "7", "7.00"),
        (Type::Text, " as it is ", " as it is "),
        (Type::Varchar(Some(3)), "äöü   ", "äöü"),
        (Type::Char(4), "ä", "ä   "),
        (Type::Bytea, "\\xDE ad", "\\xdead"),
        (Type::Bytea, "a\\\\b\\001", "\\x615c6201"),
        (Type::Date, "2026-01-02", "2026-01-02"),
        (Type::Date, "20260102", "2026-01-02"),
        (Type::Date, "2026-01-02 +00", "2026-01-02"),
        (Type::Date, "2026-01-02 -05:30", "2026-01-02"),
        (Type::TIMESTAMP, "2026-01-02 CET", "2026-01-02 00:00:00"),
        (Type::TIMESTAMP_TZ, "2026-01-02 +02", "2026-01-01 22:00:00+00"),
        (Type::Date, "1/8/1999", "1999-01-08"),
        (Type::Date, "January 8, 1999", "1999-01-08"),
        (Type::Date, "8-Jan-99", "1999-01-08"),
        (Type::Date, "1999-Jan-08", "1999-01-08"),
        (Type::Date, "0044-03-15 BC", "0044-03-15 BC"),
        (Type::Date, "4714-11-24 BC", "4714-11-24 BC"),
        (Type::Date, "9999-12-31", "9999-12-31"),
        (Type::Date, "2024-02-29 23:00", "2024-02-29"),
        (Type::Date, "-infinity", "-infinity"),
        (Type::Date, "epoch", "1970-01-01"),
        (Type::TIMESTAMP, "2026-01-02 03:04:05.600", "2026-01-02 03:04:05.6"),
        (Type::TIMESTAMP, "2026-01-02T03:04:05Z", "2026-01-02 03:04:05"),
        (Type::TIMESTAMP, "2026-01-02", "2026-01-02 00:00:00"),
        (Type::TIMESTAMP, "2026-01-02 24:00", "2026-01-03 00:00:00"),
        (Type::TIMESTAMP, "1969-12-31 11:59:59.999999 PM", "1969-12-31 23:59:59.999999"),
        (Type::TIMESTAMP, "Fri Jan 02 03:04:05 2026", "2026-01-02 03:04:05"),
        (Type::TIMESTAMP, "infinity", "infinity"),
        (Type::TIMESTAMP_TZ, "2026-01-02 03:04:05+02", "2026-01-02 01:04:05+00"),
        (Type::TIMESTAMP_TZ, "2026-01-02 03:04:05 -05:30", "2026-01-02 08:34:05+00"),
        (Type::TIMESTAMP_TZ, "2026-01-02 03:04:05.000001", "2026-01-02 03:04:05.000001+00"),
        (Type::TIMESTAMP_TZ, "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00+00 BC"),
        (Type::Uuid, "{A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (Type::Uuid, "a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (Type::Uuid, "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ];
    for &(ty, input, output) in cases {
        check(ty, input, output);
    }
}

#[test]
fn wrong_input_is_refused_in_postgresqls_words() {
    let cases: &[(Type, &str, &str, &str)] = &[
        (Type::Bool, "o", "22P02", "invalid input syntax for type boolean: \"o\""),
        (Type::Int4, "abc", "22P02", "invalid input syntax for type integer: \"abc\""),
        (Type::Int4, "", "22P02", "invalid input syntax for type integer: \"\""),
        (Type::Int4, "1.5", "22P02", "invalid input syntax for type integer: \"1.5\""),
        (Type::Int4, "2147483648", "22003", "value \"2147483648\" is out of range for type integer"),
        (Type::Int2, "-40000", "22003", "value \"-40000\" is out of range for type smallint"),
        (Type::Float8, "1e400", "22003", "\"1e400\" is out of range for type double precision"),
        (Type::Float8, "1e-400", "22003", "\"1e-400\" is out of range for type double precision"),
        (Type::Float4, "1e39", "22003", "\"1e39\" is out of range for type real"),
        (Type::Float8, "1x", "22P02", "invalid input syntax for type double precision: \"1x\""),
        (Type::Numeric(None), "1_000", "22P02", "invalid input syntax for type numeric: \"1_000\""),
        (Type::Numeric(None), "-", "22P02", "invalid input syntax for type numeric: \"-\""),
        (Type::Numeric(None), "1e", "22P02", "invalid input syntax for type numeric: \"1e\""),
        (Type::Numeric(None), "1e131072", "22003", "value overflows numeric format"),
        (Type::Numeric(None), "Nan!", "22P02", "invalid input syntax for type numeric: \"Nan!\""),
        (MONEY, "inf", "22003", "numeric field overflow"),
        (MONEY, "9999.995", "22003", "numeric field overflow"),
        (Type::Varchar(Some(3)), "abcd", "22001", "value too long for type character varying(3)"),
        (Type::Char(2), "abc", "22001", "value too long for type character(2)"),
        (Type::Text, "a\0b", "22021", "invalid byte sequence for encoding \"UTF8\": 0x00"),
        (Type::Bytea, "\\x1", "22023", "invalid hexadecimal data: odd number of digits"),
        (Type::Bytea, "\\xzz", "22023", "invalid hexadecimal digit: \"z\""),
        (Type::Bytea, "a\\9", "22P02", "invalid input syntax for type bytea"),
        (Type::Date, "tomorrowish", "22007", "invalid input syntax for type date: \"tomorrowish\""),
        (Type::Date, "2026-13-01", "22008", "date/time field value out of range: \"2026-13-01\""),
        (Type::Date, "2025-02-29", "22008", "date/time field value out of range: \"2025-02-29\""),
        (Type::Date, "10000-01-01", "22008", "date/time field value out of range: \"10000-01-01\""),
        (Type::Date, "", "22007", "invalid input syntax for type date: \"\""),
        (Type::TIMESTAMP, "12:00", "22007", "invalid input syntax for type timestamp: \"12:00\""),
        (Type::TIMESTAMP, "2026-01-02 25:00", "22008", "date/time field value out of range: \"2026-01-02 25:00\""),
        (
            Type::TIMESTAMP_TZ,
            "2026-01-02 03:04 Atlantis",
            "22007",
            "invalid input syntax for type timestamp with time zone: \"2026-01-02 03:04 Atlantis\"",
        ),
        (Type::Uuid, "a0eebc99", "22P02", "invalid input syntax for type uuid: \"a0eebc99\""),
        (
            Type::Uuid,
            "urn:uuid:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "22P02",
            "invalid input syntax for type uuid: \"urn:uuid:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
        ),
    ];
    for &(ty, input, state, message) in cases {
        check_error(ty, input, state, message);
    }
}

#[test]
fn binary_numerics_have_postgresqls_digits() {
    let cases: &[(&str, &[u16])] = &[
        ("0", &[0, 0, 0, 0]),
        ("0.00", &[0, 0, 0, 2]),
        ("1", &[1, 0, 0, 0, 1]),
        ("-1.5", &[2, 0, 0x4000, 1, 1, 5000]),
        ("10000", &[1, 1, 0, 0, 1]),
        ("0.0001", &[1, 0xffff, 0, 4, 1]),
        ("12345678.9", &[3, 1, 0, 1, 1234, 5678, 9000]),
    ];
    for (input, words) in cases {
        let value = decode_text(Type::Numeric(None), input, Styles::default()).expect("a numeric");
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(binary(&value, Type::Numeric(None)), expected, "{input}");
    }
}

#[test]
fn wrong_binary_values_are_refused() {
    let numeric = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let cases: &[(Type, Vec<u8>, &str)] = &[
        (Type::Int4, vec![0; 3], "22P03"),
        (Type::Bool, vec![2], "22P03"),
        (Type::Text, vec![b'a', 0xff], "22021"),
        (Type::Text, vec![0], "22021"),
        (Type::Varchar(Some(1)), vec![b'a', b'b'], "22001"),
        (Type::Uuid, vec![0; 15], "22P03"),
        (Type::Date, 3_000_000_i32.to_be_bytes().to_vec(), "22008"),
        (Type::TIMESTAMP, (i64::MAX - 1).to_be_bytes().to_vec(), "22008"),
        (Type::Numeric(None), vec![0; 7], "22P03"),
        (Type::Numeric(None), numeric(&[2, 0, 0, 0, 1]), "22P03"),
        (Type::Numeric(None), numeric(&[1, 0, 0, 0, 10_000]), "22P03"),
        (Type::Numeric(None), numeric(&[1, 0, 1, 0, 1]), "22P03"),
        (Type::Numeric(None), numeric(&[0, 0, 0xC001, 0]), "22P03"),
        (Type::Numeric(None), numeric(&[1, 0, 0, 0x4000, 1]), "22P03"),
        (MONEY, numeric(&[0, 0, 0xD000, 0x20]), "22003"),
    ];
    for (ty, bytes, state) in cases {
        let error = decode_binary(*ty, bytes).expect_err("wrong bytes");
        assert_eq!(error.state.as_str(), *state, "{ty} {bytes:?}: {error}");
    }
}

#[test]
fn the_ranges_are_those_of_the_calendar() {
    assert_eq!(days_from_parts(-4713, 11, 24), Some(*DATE_RANGE.start()));
    assert_eq!(days_from_parts(9999, 12, 31), Some(*DATE_RANGE.end()));
    assert_eq!(days_from_parts(-4713, 11, 23), None);
    assert_eq!(date_parts(*DATE_RANGE.start()), Some((-4713, 11, 24)));
    assert!(check_date(i32::MAX).is_ok() && check_date(*DATE_RANGE.end() + 1).is_err());
}

#[test]
fn types_have_numbers_and_modifiers() {
    for ty in all_types() {
        let expected = if ty == Type::Char(0) { Type::Varchar(None) } else { ty };
        assert_eq!(from_oid(oid(ty), typmod(ty)), Some(expected));
    }
    assert_eq!(from_oid(oid::UNKNOWN, -1), None);
    assert_eq!(from_oid(142, -1), None);
}

fn all_types() -> [Type; 19] {
    [
        Type::Bool,
        Type::Int2,
        Type::Int4,
        Type::Int8,
        Type::Float4,
        Type::Float8,
        Type::Numeric(None),
        MONEY,
        Type::Char(7),
        Type::Varchar(None),
        Type::Varchar(Some(9)),
        Type::Text,
        Type::Json,
        Type::Jsonb,
        Type::Bytea,
        Type::Date,
        Type::TIMESTAMP,
        Type::TIMESTAMP_TZ,
        Type::Uuid,
    ]
}

fn any_value() -> impl Strategy<Value = (Type, Value<'static>)> {
    prop_oneof![
        any::<bool>().prop_map(|v| (Type::Bool, Value::Bool(v))),
        any::<i16>().prop_map(|v| (Type::Int2, Value::Int2(v))),
        any::<i32>().prop_map(|v| (Type::Int4, Value::Int4(v))),
        any::<i64>().prop_map(|v| (Type::Int8, Value::Int8(v))),
        any::<f32>().prop_filter("equal to itself", |v| !v.is_nan()).prop_map(|v| (Type::Float4, Value::Float4(v))),
        any::<f64>().prop_filter("equal to itself", |v| !v.is_nan()).prop_map(|v| (Type::Float8, Value::Float8(v))),
        (any::<i128>(), 0..=60_u32)
            .prop_map(|(mantissa, scale)| { (Type::Numeric(None), Value::Numeric(Numeric::new(mantissa, scale))) }),
        prop_oneof![Just("NaN"), Just("Infinity"), Just("-Infinity"), Just("1e1000"), Just("-1.50e-1000")]
            .prop_map(|text| (Type::Numeric(None), Value::Numeric(text.parse().expect("a number")))),
        "[^\0]*".prop_map(|v| (Type::Text, Value::Text(v.into()))),
        any::<Vec<u8>>().prop_map(|v| (Type::Bytea, Value::Bytea(v.into()))),
        DATE_RANGE.prop_map(|v| (Type::Date, Value::Date(v))),
        TIMESTAMP_RANGE.prop_map(|v| (Type::TIMESTAMP, Value::Timestamp(v))),
        TIMESTAMP_RANGE.prop_map(|v| (Type::TIMESTAMP_TZ, Value::TimestampTz(v))),
        any::<[u8; 16]>().prop_map(|v| (Type::Uuid, Value::Uuid(v))),
    ]
}

#[test]
fn what_is_written_in_a_style_is_read_in_it_again() {
    use DateOrder::{Dmy, Mdy, Ymd};
    let dates = [
        (DateStyle::Iso, Mdy),
        (DateStyle::Iso, Ymd),
        (DateStyle::Sql, Mdy),
        (DateStyle::Sql, Dmy),
        (DateStyle::Postgres, Mdy),
        (DateStyle::Postgres, Dmy),
        (DateStyle::German, Dmy),
    ];
    let intervals =
        [IntervalStyle::Postgres, IntervalStyle::PostgresVerbose, IntervalStyle::SqlStandard, IntervalStyle::Iso8601];
    let again = |value: &Value<'static>, ty, styles| {
        let mut out = BytesMut::new();
        encode_text(value, ty, styles, &mut out);
        let text = String::from_utf8_lossy(&out).into_owned();
        assert_eq!(decode_text(ty, &text, styles), Ok(value.clone()), "{text} in {styles:?}");
    };
    for (dates, order) in dates {
        let styles = Styles { dates, order, ..Styles::default() };
        for days in [0, 1, -1, 8_000, -750_000, -2_451_545, i32::MAX] {
            again(&Value::Date(days), Type::Date, styles);
        }
        for micros in [0, 1, -1, 86_399_999_999, 700_000_000_000_000, -70_000_000_000_000_000, i64::MIN] {
            again(&Value::Timestamp(micros), Type::TIMESTAMP, styles);
            again(&Value::TimestampTz(micros), Type::TIMESTAMP_TZ, styles);
        }
    }
    for intervals in intervals {
        let styles = Styles { intervals, ..Styles::default() };
        for (months, days, micros) in [
            (0, 0, 0),
            (14, -3, 14_706_700_000),
            (-14, -3, -14_706_700_000),
            (14, 0, 0),
            (0, -3, -14_706_000_000),
            (0, 0, -1),
            (-1, 2, 0),
            (0, 1, 0),
        ] {
            again(&Value::Interval(hotrow_storage::Interval { months, days, micros }), Type::INTERVAL, styles);
        }
    }
    let escaped = Styles { escapes_bytes: true, ..Styles::default() };
    again(&Value::Bytea(vec![0, 97, 92, 255].into()), Type::Bytea, escaped);
}

#[test]
fn floats_have_as_many_digits_as_the_session_wants() {
    for (value, fewer, expected) in [
        (0.1 + 0.2, None, "0.30000000000000004"),
        (0.1 + 0.2, Some(0), "0.3"),
        (1e300 / 3.0, Some(0), "3.33333333333333e+299"),
        (12345.678, Some(12), "1.23e+04"),
        (12345.678, Some(15), "1e+04"),
        (0.0, Some(0), "0"),
        (123456.0, Some(9), "123456"),
    ] {
        let mut out = BytesMut::new();
        let styles = Styles { fewer_digits: fewer, ..Styles::default() };
        encode_text(&Value::Float8(value), Type::Float8, styles, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "{fewer:?}");
    }
}

proptest! {
    #[test]
    fn values_come_back_through_both_formats((ty, value) in any_value()) {
        let written = text(&value, ty);
        prop_assert_eq!(decode_text(ty, &written, Styles::default()), Ok(value.clone()), "{}", written);
        prop_assert_eq!(decode_binary(ty, &binary(&value, ty)), Ok(value));
    }

    #[test]
    fn no_input_panics(input in "\\PC*|[-+0-9:./TZ a-z\\\\]*", bytes: Vec<u8>) {
        for ty in all_types() {
            if let Ok(value) = decode_text(ty, &input, Styles::default()) {
                text(&value, ty);
                binary(&value, ty);
            }
            if let Ok(value) = decode_binary(ty, &bytes) {
                text(&value, ty);
            }
        }
    }
}
