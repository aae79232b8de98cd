//! Numbers and lengths of time as people read them, in a few characters.

use std::time::Duration;

/// Formats a whole number with its thousands apart: `1,234,567`.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with two decimals below 10, with one below 100, and as a whole number from there on.
pub(crate) fn brief(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => grouped(number),
    }
}

/// Formats a ratio with two decimals. A ratio without a meaning, such as that of a division by zero, is a dash.
pub(crate) fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "-".to_owned() }
}

/// Formats a share that the caller gives in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{share:.1} %")
}

/// Formats a length of time: `45 s`, `12 min`, `1 h 30 min`.
pub(crate) fn length(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("{seconds} s"),
        seconds @ ..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, expected) in [(0.0, "0"), (999.4, "999"), (1000.0, "1,000"), (1_234_567.0, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
        for (number, expected) in [(0.123, "0.12"), (12.34, "12.3"), (99.0, "99.0"), (12_345.6, "12,346")] {
            assert_eq!(brief(number), expected);
        }
        assert_eq!(ratio(f64::NAN), "-");
    }

    #[test]
    fn lengths_are_for_people() {
        for (seconds, expected) in
            [(0, "0 s"), (89, "89 s"), (90, "2 min"), (300, "5 min"), (5400, "1 h 30 min"), (9000, "2 h 30 min")]
        {
            assert_eq!(length(Duration::from_secs(seconds)), expected);
        }
    }
}
