//! What the options of several workloads are read with.

/// A share, from 0 to 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    parse_within(text, 1.0)
}

/// A number from 0 to `most`.
pub(crate) fn parse_within(text: &str, most: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("expected a number from 0 to {most}"))?;
    if (0.0..=most).contains(&number) { Ok(number) } else { Err(format!("{number} is not within 0 and {most}")) }
}
