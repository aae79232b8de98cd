//! EXPLAIN and its options.

use super::cursor::Cursor;
use super::utility::Utility;
use crate::error::unsupported;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;

/// The options of EXPLAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// ANALYZE: whether the statement is run.
    pub analyze: bool,
    /// TIMING: whether each operator reads the clock at each row.
    pub timing: bool,
    /// SUMMARY: whether the times of planning and execution are shown.
    pub summary: bool,
    /// FORMAT: whether the plan is shown as JSON, not as lines.
    pub json: bool,
}

impl ExplainOptions {
    /// Returns the column of EXPLAIN's result.
    pub(crate) fn column(self) -> OutputColumn {
        OutputColumn::new("QUERY PLAN", if self.json { Type::Json } else { Type::Text })
    }
}

/// Reads EXPLAIN from its first word on.
pub(super) fn explain(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    let mut options = Given::default();
    let queries = ["select", "values", "with", "table"];
    if cursor.follows_symbol(0, b"(")
        && !cursor.follows_symbol(1, b"(")
        && !queries.iter().any(|word| cursor.follows(1, word))
    {
        cursor.expect_symbol(b'(')?;
        loop {
            options.read(cursor)?;
            if !cursor.take_symbol(b',') {
                break;
            }
        }
        cursor.expect_symbol(b')')?;
    } else {
        options.analyze = cursor.take("analyze") || cursor.take("analyse");
        cursor.take("verbose");
    }
    Ok(Utility::Explain(options.finish()?, cursor.rest()))
}

/// The options that the statement gives; `None` for an option that it does not mention.
#[derive(Default)]
struct Given {
    analyze: bool,
    wal: bool,
    timing: Option<bool>,
    summary: Option<bool>,
    json: bool,
}

impl Given {
    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
        let name = cursor.name()?;
        let has_value = !cursor.follows_symbol(0, b",)");
        let value = if has_value { Some(cursor.scalar()?.to_lowercase()) } else { None };
        let is_on = || match value.as_deref() {
            None | Some("true" | "on" | "1") => Ok(true),
            Some("false" | "off" | "0") => Ok(false),
            Some(_) => Err(SqlError::new(state::SYNTAX_ERROR, format!("{name} requires a Boolean value"))),
        };
        match name.as_str() {
            "analyze" => self.analyze = is_on()?,
            "timing" => self.timing = Some(is_on()?),
            "summary" => self.summary = Some(is_on()?),
            "wal" => self.wal = is_on()?,
            // These options are accepted, but nothing can be added to the plan for them.
            "verbose" | "costs" | "settings" | "buffers" => drop(is_on()?),
            "format" => match value.as_deref() {
                Some(format @ ("text" | "json")) => self.json = format == "json",
                Some(format @ ("xml" | "yaml")) => {
                    let error = unsupported(&format!("EXPLAIN (FORMAT {})", format.to_uppercase()));
                    return Err(error.hint("The formats are TEXT and JSON."));
                }
                Some(other) => {
                    let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
                    return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
                }
                None => return Err(SqlError::new(state::SYNTAX_ERROR, "format requires a parameter")),
            },
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<ExplainOptions, SqlError> {
        let needs = |option: &str| {
            let message = format!("EXPLAIN option {option} requires ANALYZE");
            Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
        };
        if self.wal && !self.analyze {
            return needs("WAL");
        }
        if self.timing == Some(true) && !self.analyze {
            return needs("TIMING");
        }
        Ok(ExplainOptions {
            analyze: self.analyze,
            timing: self.timing.unwrap_or(true),
            summary: self.summary.unwrap_or(self.analyze),
            json: self.json,
        })
    }
}
