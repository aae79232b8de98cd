//! Words of messages for people.

use std::fmt::Display;

/// Formats a number with its noun, which is given in the singular and takes an s in the plural: `1 thread`, `2
/// threads`.
pub fn number_of<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0_u64, 1, 2].map(|rows| number_of(rows, "row")), ["0 rows", "1 row", "2 rows"]);
        assert_eq!([-1, 1].map(|rows: i64| number_of(rows, "row")), ["-1 rows", "1 row"]);
    }
}
