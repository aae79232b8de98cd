//! Parsing and formatting of the values of settings: styles of dates, sizes, durations.

use std::time::Duration;

/// Returns the value of `DateStyle` in its normal form, such as `ISO, MDY`. If `value` names only a style or only an
/// order, the other part is that of `present`. The style `German` implies the order `DMY`.
///
/// # Errors
/// Returns the detail of the error message if `value` is no valid style.
pub(crate) fn date_style(value: &str, present: &str) -> Result<String, String> {
    const CONFLICT: &str = "Conflicting \"datestyle\" specifications.";
    let (mut style, mut order) = (None, None);
    let mut is_german = false;
    for word in value.split(',').map(str::trim) {
        let lower = word.to_lowercase();
        let starts = |start: &str| lower.starts_with(start);
        let (found, is_style) = match lower.as_str() {
            "" => return Err("List syntax is invalid.".to_owned()),
            "iso" => ("ISO", true),
            "sql" => ("SQL", true),
            "german" => ("German", true),
            "ymd" => ("YMD", false),
            "dmy" => ("DMY", false),
            "mdy" | "us" => ("MDY", false),
            _ if starts("postgres") => ("Postgres", true),
            _ if starts("euro") => ("DMY", false),
            _ if starts("noneuro") => ("MDY", false),
            _ => return Err(format!("Unrecognized key word: \"{word}\".")),
        };
        let said = if is_style { &mut style } else { &mut order };
        if said.is_some_and(|said| said != found) {
            return Err(CONFLICT.to_owned());
        }
        *said = Some(found);
        is_german |= found == "German";
    }
    let (old_style, old_order) = present.split_once(", ").unwrap_or((present, "MDY"));
    let order = order.unwrap_or(if is_german { "DMY" } else { old_order });
    Ok(format!("{}, {order}", style.unwrap_or(old_style)))
}

/// Parses a size with an optional unit (`B`, `kB`, `MB`, `GB`, `TB`) and returns it in kilobytes. Returns `None` if the
/// text is no size, or if the size is 2^31 kB or more.
pub(crate) fn parse_memory(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let kilobytes = match text[digits..].trim() {
        "B" => Some(number / 1024),
        "" | "kB" => Some(number),
        "MB" => number.checked_mul(1 << 10),
        "GB" => number.checked_mul(1 << 20),
        "TB" => number.checked_mul(1 << 30),
        _ => None,
    };
    kilobytes.filter(|kilobytes| *kilobytes <= i32::MAX as u64)
}

/// Formats a size, given in kilobytes, in the largest unit of which it is a multiple.
pub(crate) fn show_memory(kilobytes: u64) -> String {
    let units = [(1 << 30, "TB"), (1 << 20, "GB"), (1 << 10, "MB")];
    let unit = units.iter().find(|(size, _)| kilobytes.is_multiple_of(*size));
    unit.map_or_else(|| format!("{kilobytes}kB"), |(size, name)| format!("{}{name}", kilobytes / size))
}

pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let micros = match text[digits..].trim() {
        "us" => 1,
        "" | "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    Some(Duration::from_micros(number.checked_mul(micros)?))
}
