//! The choice between optimistic and pessimistic concurrency control.

use std::fmt;
use std::str::FromStr;

/// The way in which a transaction protects the rows that it has read from changes, under an engine that offers both
/// ways side by side in one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// The transaction reads without locks, and checks at its end that the rows that it has read are unchanged.
    Optimistic,
    /// The transaction locks the rows that it reads. Another transaction that is to change such a row waits.
    Pessimistic,
}

impl Concurrency {
    /// All ways, in the order of the declaration.
    pub const ALL: [Concurrency; 2] = [Concurrency::Optimistic, Concurrency::Pessimistic];

    /// Returns the name of the choice in SQL and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Concurrency::Optimistic => "optimistic",
            Concurrency::Pessimistic => "pessimistic",
        }
    }
}

impl fmt::Display for Concurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Concurrency {
    type Err = String;

    /// Parses the name of the choice, in upper or lower case.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = text.trim().to_ascii_lowercase();
        Concurrency::ALL.into_iter().find(|way| way.name() == wanted).ok_or_else(|| {
            let names = Concurrency::ALL.map(Concurrency::name).join(", ");
            format!("unknown concurrency {text:?}: expected one of {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for way in Concurrency::ALL {
            assert_eq!(way.to_string().to_uppercase().parse(), Ok(way));
        }
        let error = "mixed".parse::<Concurrency>().expect_err("a transaction has one way");
        assert_eq!(error, "unknown concurrency \"mixed\": expected one of optimistic, pessimistic");
    }
}
