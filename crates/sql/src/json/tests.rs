//! Tests of texts with their normal forms, and of texts that are no JSON.

use super::*;
use crate::state;
use std::cmp::Ordering;

#[test]
fn normal_forms_are_those_of_postgresql() {
    let deep = format!("{}{}", "[".repeat(MAX_NESTING), "]".repeat(MAX_NESTING));
    let cases = [
        (r#" {"b":1,"a":[ 1 ,2.50,{ }] } "#, r#"{"a": [1, 2.50, {}], "b": 1}"#),
        (r#"{"aa":1,"b":2,"aa":3}"#, r#"{"b": 2, "aa": 3}"#),
        (r#"{"k":{"z":1,"a":null,"z":[]},"j":2}"#, r#"{"j": 2, "k": {"a": null, "z": []}}"#),
        (r#""aA\u00e9\ud83d\ude00\n\u0001\/""#, "\"aAé😀\\n\\u0001/\""),
        ("1e5", "100000"),
        ("1.5e-3", "0.0015"),
        ("-0.00", "0.00"),
        ("-12.50E1", "-125.0"),
        (
            "12345678901234567890123456789012345678901234567890.0",
            "12345678901234567890123456789012345678901234567890.0",
        ),
        ("[]", "[]"),
        (" true ", "true"),
        (&deep, &deep),
    ];
    for (text, expected) in cases {
        assert_eq!(normalise(text).as_deref(), Ok(expected), "{text}");
        assert_eq!(normalise(expected).as_deref(), Ok(expected), "a normal form is its own");
        assert_eq!(validate(text), Ok(()));
    }
}

#[test]
fn what_is_wrong_is_said_as_postgresql_says_it() {
    let cases = [
        ("", "The input string ended unexpectedly.", "JSON data, line 1: "),
        ("{x", "Token \"x\" is invalid.", "JSON data, line 1: {x"),
        ("[1,]", "Expected JSON value, but found \"]\".", "JSON data, line 1: [1,]"),
        ("[1 2]", "Expected \",\" or \"]\", but found \"2\".", "JSON data, line 1: [1 2..."),
        ("{1", "Expected string or \"}\", but found \"1\".", "JSON data, line 1: {1"),
        ("{\"a\" 1", "Expected \":\", but found \"1\".", "JSON data, line 1: {\"a\" 1"),
        ("{\"a\":1,}", "Expected string, but found \"}\".", "JSON data, line 1: {\"a\":1,}"),
        ("{\"a\":\n1\n]", "Expected \",\" or \"}\", but found \"]\".", "JSON data, line 3: ]"),
        ("1 2", "Expected end of input, but found \"2\".", "JSON data, line 1: 1 2"),
        ("01", "Token \"01\" is invalid.", "JSON data, line 1: 01"),
        ("-", "Token \"-\" is invalid.", "JSON data, line 1: -"),
        ("1.e1", "Token \"1.e1\" is invalid.", "JSON data, line 1: 1.e1"),
        ("\"a", "Token \"\"a\" is invalid.", "JSON data, line 1: \"a"),
        ("\"\\x\"", "Escape sequence \"\\x\" is invalid.", "JSON data, line 1: \"\\x..."),
        ("\"\\u00g0\"", "\"\\u\" must be followed by four hexadecimal digits.", "JSON data, line 1: \"\\u00g..."),
        ("\"a\tb\"", "Character with value 0x09 must be escaped.", "JSON data, line 1: \"a..."),
        ("nul", "Token \"nul\" is invalid.", "JSON data, line 1: nul"),
    ];
    for (text, detail, context) in cases {
        for error in [validate(text).expect_err(text), normalise(text).expect_err(text)] {
            assert_eq!(error.state, state::INVALID_TEXT_REPRESENTATION, "{text}");
            assert_eq!(error.message, "invalid input syntax for type json", "{text}");
            assert_eq!(error.detail.as_deref(), Some(detail), "{text}");
            assert_eq!(error.context.as_deref(), Some(context), "{text}");
        }
    }
    let states = [
        ("\"\\u0000\"", state::UNTRANSLATABLE_CHARACTER),
        ("\"\\ud800x\"", state::INVALID_TEXT_REPRESENTATION),
        ("\"\\udc00\"", state::INVALID_TEXT_REPRESENTATION),
        ("1e401", state::NUMERIC_VALUE_OUT_OF_RANGE),
    ];
    for (text, state) in states {
        assert_eq!(normalise(text).expect_err(text).state, state, "{text}");
        assert_eq!(validate(text), Ok(()), "{text}");
    }
    let deep = "[".repeat(MAX_NESTING + 1);
    assert_eq!(validate(&deep).expect_err("too deep").state, state::STATEMENT_TOO_COMPLEX);
}

#[test]
fn values_have_the_order_of_postgresql() {
    let ordered = [
        "[]",
        "null",
        "\"\"",
        "\"B\"",
        "\"a\"",
        "-10",
        "-1.5",
        "0",
        "1",
        "1.25",
        "1.3",
        "10",
        "false",
        "true",
        "[null]",
        "[1]",
        "[2]",
        "[1, 1]",
        "[1, [0]]",
        "{}",
        "{\"a\": 1}",
        "{\"a\": 2}",
        "{\"b\": 1}",
        "{\"a\": 1, \"b\": 1}",
    ];
    for (at, left) in ordered.iter().enumerate() {
        for (other, right) in ordered.iter().enumerate() {
            assert_eq!(compare(left, right), at.cmp(&other), "{left} and {right}");
        }
    }
    for (left, right) in [("[1.0, \"1.0\"]", "[1.00, \"1.0\"]"), ("0", "0.00"), ("{\"a.\": 1.50}", "{\"a.\": 1.5}")] {
        assert_eq!(compare(left, right), Ordering::Equal);
        assert_eq!(canonical(left), canonical(right));
    }
    assert_ne!(canonical("\"1.0\""), canonical("\"1.00\""));
}

#[test]
fn parts_are_found() {
    let text = " { \"a\" : [1, \"x]\\\"\", {\"b\":null}] , \"\\u0062\":{}, \"a\": [true , 2] } ";
    assert_eq!(field(text, "a"), Some("[true , 2]"));
    assert_eq!(field(text, "b"), Some("{}"));
    assert_eq!(field(text, "c"), None);
    let first = members(text).next().map(|(_, value)| value).unwrap_or_default();
    assert_eq!(element(first, 1), Some("\"x]\\\"\""));
    assert_eq!(element(first, -1), Some("{\"b\":null}"));
    assert_eq!((element(first, 3), element(first, -4)), (None, None));
    assert_eq!(as_text("\"x]\\\"\"").expect("a text").as_deref(), Some("x]\""));
    assert_eq!(as_text("null").expect("a text"), None);
    assert_eq!(members("{}").count() + elements("[]").count() + elements("[ ]").count(), 0);
}

#[test]
fn containment_is_that_of_postgresql() {
    let cases = [
        ("{\"a\": 1, \"b\": [1, {\"c\": 2}]}", "{\"b\": [{\"c\": 2}]}", true),
        ("{\"a\": 1}", "{}", true),
        ("{\"a\": 1}", "{\"a\": 1.0}", true),
        ("{\"a\": 1}", "{\"a\": [1]}", false),
        ("[1, 2]", "2", true),
        ("2", "[2]", false),
        ("[1, [2]]", "[[2], 1, 1]", true),
        ("[[1, 2]]", "[1]", false),
        ("{}", "[]", false),
        ("\"a\"", "\"a\"", true),
    ];
    for (whole, part, expected) in cases {
        assert_eq!(contains(whole, part), Ok(expected), "{whole} @> {part}");
    }
}

#[test]
fn torn_texts_end() {
    let text = "{\"a\": [1, \"x\\\"\", {\"b\": null}], \"c\": -1.50}";
    for end in 0..text.len() {
        for start in 0..end {
            let torn = &text[start..end];
            let parts = members(torn).count() + elements(torn).count();
            assert!(parts <= text.len(), "{torn}");
            assert!(canonical(torn).len() <= torn.len());
            let _ = (compare(torn, text), contains(torn, text), field(torn, "c"), as_text(torn));
        }
    }
}
