//! The names of isolation levels in SQL.
//!
//! PostgreSQL's names mean here what they mean there: its REPEATABLE READ reads as of one point in time, which is
//! snapshot isolation. The repeatable read of the locking papers, under which rows stay as they were read and others
//! may join them, is READ STABILITY.

use hotrow_txn::Isolation;

/// Returns the name of an isolation level as clients see it.
pub fn name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "read stability",
        Isolation::Snapshot => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// The names of all isolation levels, for the error about an unknown name.
pub const NAMES: &str = "serializable, repeatable read, snapshot, read stability, read committed, read uncommitted";

/// Returns the isolation level of a name. The name may be in any case, and its words may be separated by blanks,
/// hyphens or underscores.
///
/// # Errors
/// There is no level of this name; the text lists the names of all levels.
pub fn parse(text: &str) -> Result<Isolation, String> {
    let words: Vec<_> = text.split([' ', '-', '_']).filter(|word| !word.is_empty()).collect();
    match words.join(" ").to_ascii_lowercase().as_str() {
        "read uncommitted" | "read committed" => Ok(Isolation::ReadCommitted),
        "read stability" => Ok(Isolation::RepeatableRead),
        "repeatable read" | "snapshot" => Ok(Isolation::Snapshot),
        "serializable" => Ok(Isolation::Serializable),
        _ => Err(format!("unknown isolation level {text:?}: expected one of {NAMES}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_by_the_name_that_is_shown() {
        for level in Isolation::ALL {
            assert_eq!(parse(name(level)), Ok(level));
            assert_eq!(parse(&name(level).to_uppercase().replace(' ', "-")), Ok(level));
        }
        assert_eq!(parse("Snapshot"), Ok(Isolation::Snapshot));
        assert_eq!(parse(" read  uncommitted "), Ok(Isolation::ReadCommitted));
        assert!(parse("serialisable").expect_err("not a name").ends_with(NAMES));
    }
}
