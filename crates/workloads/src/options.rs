//! Parsers for the options of several workloads.

/// Parses a share, from 0 to 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    parse_within(text, 1.0)
}

/// Parses a number from 0 to `most`.
pub(crate) fn parse_within(text: &str, most: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("expected a number from 0 to {most}"))?;
    if (0.0..=most).contains(&number) { Ok(number) } else { Err(format!("{number} is not within 0 and {most}")) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command<O: clap::Args> {
        #[command(flatten)]
        options: O,
    }

    /// Parses the options of a command line; the error says what is wrong with it.
    pub(crate) fn parse<O: clap::Args>(line: &str) -> Result<O, String> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Command::try_parse_from(words).map(|command| command.options).map_err(|error| error.to_string())
    }

    #[test]
    fn shares_are_between_none_and_all() {
        for (text, share) in [("0", Ok(0.0)), ("1", Ok(1.0)), ("0.15", Ok(0.15))] {
            assert_eq!(parse_share(text), share, "{text}");
        }
        for text in ["-0.1", "1.01", "NaN", "half", ""] {
            assert!(parse_share(text).is_err(), "{text}");
        }
    }
}
