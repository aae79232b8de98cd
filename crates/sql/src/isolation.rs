//! The names of isolation levels in SQL.
//!
//! A name means the same level here as in PostgreSQL: REPEATABLE READ is snapshot isolation, as in PostgreSQL. The
//! weaker repeatable read of the locking papers, which prevents changes of rows that were read but not phantoms, is
//! called READ STABILITY.

use hotrow_txn::Isolation;

/// Returns the name of an isolation level, as SHOW displays it.
pub fn name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "read stability",
        Isolation::Snapshot => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// The list of the names of all isolation levels, for the error about an unknown name.
pub const NAMES: &str = "serializable, repeatable read, snapshot, read stability, read committed, read uncommitted";

/// Returns the isolation level of this name. Case does not matter. The words of the name may be separated by blanks,
/// hyphens or underscores.
///
/// # Errors
/// If there is no level of this name, returns a message that lists the names of all levels.
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
