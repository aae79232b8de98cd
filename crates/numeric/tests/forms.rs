//! Every form of a number leads back to it, and numbers are ordered as their values.

use hotrow_numeric::{Numeric, NumericError};
use std::cmp::Ordering;

/// Finite numbers in ascending order. Numbers in one entry are equal.
const ASCENDING: &[&[&str]] = &[
    &["-1e131071"],
    &["-99999999999999999999999999999999999.5"],
    &["-79228162514264337593543950336"],
    &["-79228162514264337593543950335", "-79228162514264337593543950335.000"],
    &["-12345.6789"],
    &["-10000"],
    &["-9999", "-9999.00000000000000000000000000000000"],
    &["-1"],
    &["-0.00000000000000000000000000000000000001"],
    &["-1e-16383"],
    &["0", "0.00", "-0", "0e1000", "0.000000000000000000000000000000000000"],
    &["1e-16383"],
    &["1e-28"],
    &["0.0001"],
    &["0.01", "0.010"],
    &["0.5"],
    &["1", "1.0"],
    &["1.0000000000000000000000000000000000000000000001"],
    &["9999.9999"],
    &["10000"],
    &["7922816251426433759354395033.5"],
    &["1e40", "10000000000000000000000000000000000000000.0"],
    &["1e40000"],
];

fn number(text: &str) -> Numeric {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn all() -> impl Iterator<Item = (&'static str, Numeric)> {
    let special = ["NaN", "Infinity", "-Infinity"];
    ASCENDING.iter().copied().flatten().copied().chain(special).map(|text| (text, number(text)))
}

#[test]
fn bytes_lead_back() {
    for (text, number) in all() {
        let mut bytes = Vec::new();
        number.write_bytes(&mut bytes);
        assert_eq!(Numeric::from_bytes(&bytes).to_string(), number.to_string(), "{text}");
        if let Some(fixed) = number.to_fixed() {
            assert_eq!(bytes, fixed, "{text}");
            assert_eq!(Numeric::from_fixed(fixed).to_string(), number.to_string(), "{text}");
        }
    }
    assert_eq!(Numeric::from_bytes(&[]), Numeric::ZERO, "a column that was never set");
}

#[test]
fn digits_lead_back() {
    for (text, number) in all() {
        assert_eq!(number.significant().is_some(), number.is_finite(), "{text}");
        let (Some(significant), Some(groups)) = (number.significant(), number.groups()) else { continue };
        assert_eq!(Numeric::from_significant(&significant), Ok(number.clone()), "{text}");
        assert_eq!(Numeric::from_groups(&groups).map(|found| found.to_string()), Ok(number.to_string()), "{text}");
    }
}

#[test]
fn text_leads_back_with_its_zeros() {
    for (text, found) in all() {
        assert_eq!(number(&found.to_string()).to_string(), found.to_string(), "{text}");
    }
    for text in ["1.50", "-0.000", "+7", "1.", ".25", "1E3", "1e-3", "inF", "-INFINITY", "nan"] {
        let expected = ["1.50", "0.000", "7", "1", "0.25", "1000", "0.001", "Infinity", "-Infinity", "NaN"];
        let shown = number(text).to_string();
        assert!(expected.contains(&shown.as_str()), "{text} is shown as {shown}");
    }
}

#[test]
fn numbers_are_ordered_by_their_values() {
    for (left_at, lefts) in ASCENDING.iter().enumerate() {
        for (right_at, rights) in ASCENDING.iter().enumerate() {
            for (left, right) in lefts.iter().flat_map(|left| rights.iter().map(move |right| (left, right))) {
                assert_eq!(number(left).cmp(&number(right)), left_at.cmp(&right_at), "{left} and {right}");
            }
        }
        let middle = number(lefts[0]);
        assert!(Numeric::NEGATIVE_INFINITY < middle && middle < Numeric::INFINITY && middle < Numeric::NAN);
    }
    assert_eq!(Numeric::NAN.cmp(&Numeric::NAN), Ordering::Equal);
    assert!(Numeric::NAN > Numeric::INFINITY);
}

#[test]
fn what_is_no_number_is_refused() {
    for text in ["", " ", "1 ", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1_000", "infinit", "--1", "+-1", "1e5.5"]
    {
        assert_eq!(text.parse::<Numeric>(), Err(NumericError::Syntax), "{text:?}");
    }
    for text in ["1e131072", "-1e131072", "1e-16384", "1e1073741823", "1e99999999999999999999", "12e131071"] {
        assert_eq!(text.parse::<Numeric>(), Err(NumericError::Overflow), "{text:?}");
    }
}

#[test]
fn results_of_too_many_digits_are_refused() {
    let large = number("1e131071");
    assert_eq!(large.multiply(&large), Err(NumericError::Overflow));
    assert_eq!(large.multiply(&number("10")), Err(NumericError::Overflow));
    assert_eq!(number("5e131071").add(&number("5e131071")), Err(NumericError::Overflow));
    assert_eq!(number("1e-16383").multiply(&number("0.1")).map(|product| product.to_string().len()), Ok(16_385));
    assert_eq!(number("10").power(&number("200000")), Err(NumericError::Overflow));
    assert_eq!(number("10").power(&number("1e30")), Err(NumericError::Overflow));
    assert_eq!(number("6001").exp(), Err(NumericError::Overflow));
    assert_eq!(Numeric::factorial(32_178), Err(NumericError::Overflow));
}
