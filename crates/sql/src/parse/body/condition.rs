//! Kinds of errors and their names, which handlers of errors and RAISE use.

use crate::error::SqlState;
use crate::{SqlError, state};

/// PostgreSQL's names of SQLSTATEs: a SQLSTATE and its name on each line. Several SQLSTATEs may have the same name.
const NAMES: &str = include_str!("conditions.txt");

/// A kind of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `others`: all errors except those of a cancelled statement and of a failed ASSERT.
    Others,
    /// The errors of one SQLSTATE. A SQLSTATE that ends with three zeros stands for its whole class.
    Sqlstate(SqlState),
}

impl Condition {
    /// Returns the conditions of this name: several if several SQLSTATEs have it.
    ///
    /// # Errors
    /// 42704 if there is no such name.
    pub fn named(name: &str) -> Result<Vec<Self>, SqlError> {
        if name == "others" {
            return Ok(vec![Condition::Others]);
        }
        let lines = NAMES.lines().filter_map(|line| line.split_once(' '));
        let codes = lines.filter(|(_, known)| *known == name).filter_map(|(code, _)| SqlState::of(code));
        let conditions: Vec<_> = codes.map(Condition::Sqlstate).collect();
        if conditions.is_empty() {
            let message = format!("unrecognized exception condition \"{name}\"");
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        }
        Ok(conditions)
    }

    /// Returns the condition of this SQLSTATE.
    ///
    /// # Errors
    /// 42601 if the text is no SQLSTATE.
    pub fn of_code(code: &str) -> Result<Self, SqlError> {
        let wrong = || SqlError::new(state::SYNTAX_ERROR, "invalid SQLSTATE code");
        SqlState::of(code).map(Condition::Sqlstate).ok_or_else(wrong)
    }

    /// Whether an error with the SQLSTATE `code` is of this kind.
    pub fn matches(self, code: SqlState) -> bool {
        match self {
            Condition::Others => code != state::QUERY_CANCELED && code != state::ASSERT_FAILURE,
            Condition::Sqlstate(known) => {
                known == code
                    || known.as_str().strip_suffix("000").is_some_and(|class| code.as_str().starts_with(class))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;
    use crate::{SqlState, state};

    #[test]
    fn a_name_stands_for_its_codes_and_a_class_for_all_of_its_codes() {
        let named = |name: &str| Condition::named(name).expect("a condition");
        assert_eq!(named("unique_violation"), [Condition::Sqlstate(state::UNIQUE_VIOLATION)]);
        let class = named("integrity_constraint_violation")[0];
        assert!(class.matches(state::UNIQUE_VIOLATION));
        assert!(!class.matches(state::UNDEFINED_TABLE));
        assert_eq!(named("raise_exception"), [Condition::Sqlstate(SqlState::of("P0001").expect("a code"))]);
        assert!(Condition::Others.matches(state::UNDEFINED_TABLE));
        assert!(!Condition::Others.matches(state::QUERY_CANCELED));
        assert_eq!(Condition::named("nonsense").expect_err("no such name").state, state::UNDEFINED_OBJECT);
        assert!(Condition::of_code("p0001").is_err());
    }
}
