//! COPY, with the option syntax of all PostgreSQL's versions.

use super::cursor::Cursor;
use super::utility::Copy;
use crate::copy::{CopyFormat, CopyOptions};
use crate::error::unsupported;
use crate::schema::RelationName;
use crate::{SqlError, state};

/// The options as they were written, before the format's defaults are known.
#[derive(Default)]
struct Written {
    format: Option<CopyFormat>,
    delimiter: Option<String>,
    null: Option<String>,
    header: bool,
    quote: Option<String>,
    escape: Option<String>,
}

/// Reads a COPY statement.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Copy, SqlError> {
    cursor.advance();
    let mut written = Written::default();
    if cursor.take("binary") {
        written.format = Some(CopyFormat::Binary);
    }
    let position = cursor.position();
    let (mut table, mut columns, mut query) = (RelationName::default(), Vec::new(), None);
    if cursor.take_symbol(b'(') {
        query = Some(cursor.parenthesised()?);
    } else {
        table = cursor.qualified_name()?;
        if cursor.take_symbol(b'(') {
            loop {
                columns.push(cursor.name()?);
                if !cursor.take_symbol(b',') {
                    break;
                }
            }
            cursor.expect_symbol(b')')?;
        }
    }
    let from = cursor.take("from");
    if !from {
        cursor.expect("to")?;
    } else if query.is_some() {
        return Err(cursor.unexpected());
    }
    let (wanted, other) = if from { ("stdin", "stdout") } else { ("stdout", "stdin") };
    if !cursor.take(wanted) && !cursor.take(other) {
        return Err(unsupported("COPY from or to a file or program").hint("Use psql's \\copy, or STDIN and STDOUT."));
    }
    options(cursor, &mut written)?;
    if from && cursor.take("where") {
        return Err(unsupported("COPY FROM ... WHERE"));
    }
    Ok(Copy { table, position, columns, query, from, options: written.into_options()? })
}

fn options(cursor: &mut Cursor<'_>, written: &mut Written) -> Result<(), SqlError> {
    cursor.take("with");
    if cursor.take_symbol(b'(') {
        loop {
            option(cursor, written)?;
            if !cursor.take_symbol(b',') {
                break;
            }
        }
        return cursor.expect_symbol(b')');
    }
    while !cursor.is_at_end() && !cursor.follows(0, "where") {
        old_option(cursor, written)?;
    }
    Ok(())
}

/// Reads an option of the list in parentheses.
fn option(cursor: &mut Cursor<'_>, written: &mut Written) -> Result<(), SqlError> {
    let name = cursor.word()?;
    match name.as_str() {
        "format" => {
            let format = cursor.scalar()?;
            written.format = Some(match format.to_lowercase().as_str() {
                "text" => CopyFormat::Text,
                "csv" => CopyFormat::Csv,
                "binary" => CopyFormat::Binary,
                _ => {
                    let message = format!("COPY format \"{format}\" not recognized");
                    return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
                }
            });
        }
        "delimiter" => written.delimiter = Some(cursor.string()?),
        "null" => written.null = Some(cursor.string()?),
        "quote" => written.quote = Some(cursor.string()?),
        "escape" => written.escape = Some(cursor.string()?),
        "header" => written.header = boolean(cursor)?,
        "freeze" => {
            boolean(cursor)?;
        }
        "encoding" => check_encoding(&cursor.scalar()?)?,
        "force_quote" | "force_not_null" | "force_null" => return Err(unsupported(&format!("COPY option {name}"))),
        _ => {
            let message = format!("option \"{name}\" not recognized");
            return Err(SqlError::new(state::SYNTAX_ERROR, message).at(cursor.position()));
        }
    }
    Ok(())
}

/// Reads an option in the syntax from before PostgreSQL 9.0.
fn old_option(cursor: &mut Cursor<'_>, written: &mut Written) -> Result<(), SqlError> {
    let name = cursor.word()?;
    match name.as_str() {
        "binary" => written.format = Some(CopyFormat::Binary),
        "csv" => written.format = Some(CopyFormat::Csv),
        "header" => written.header = true,
        "freeze" => {}
        "delimiter" | "delimiters" | "null" | "quote" | "escape" => {
            cursor.take("as");
            let value = Some(cursor.string()?);
            match name.as_str() {
                "null" => written.null = value,
                "quote" => written.quote = value,
                "escape" => written.escape = value,
                _ => written.delimiter = value,
            }
        }
        "encoding" => check_encoding(&cursor.scalar()?)?,
        _ => {
            let message = format!("syntax error at or near \"{name}\"");
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}

fn boolean(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let mut next = cursor.clone();
    if next.is_at_end() || next.take_symbol(b',') || next.take_symbol(b')') {
        return Ok(true);
    }
    let value = cursor.scalar()?;
    match value.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(SqlError::new(state::SYNTAX_ERROR, "COPY option requires a Boolean value")),
    }
}

fn check_encoding(name: &str) -> Result<(), SqlError> {
    match name.to_lowercase().replace('-', "").as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(unsupported(&format!("encoding {name}")).hint("Only UTF8 is supported.")),
    }
}

impl Written {
    fn into_options(self) -> Result<CopyOptions, SqlError> {
        let mut options = CopyOptions::new(self.format.unwrap_or_default());
        if options.format == CopyFormat::Binary && (self.delimiter.is_some() || self.null.is_some()) {
            let what = if self.delimiter.is_some() { "DELIMITER" } else { "NULL" };
            return Err(SqlError::new(state::SYNTAX_ERROR, format!("cannot specify {what} in BINARY mode")));
        }
        if options.format != CopyFormat::Csv && (self.quote.is_some() || self.escape.is_some()) {
            let what = if self.quote.is_some() { "quote" } else { "escape" };
            let message = format!("COPY {what} available only in CSV mode");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        if let Some(delimiter) = self.delimiter {
            options.delimiter = single_byte(&delimiter, "delimiter")?;
        }
        if let Some(quote) = self.quote {
            options.quote = single_byte(&quote, "quote")?;
            options.escape = options.quote;
        }
        if let Some(escape) = self.escape {
            options.escape = single_byte(&escape, "escape")?;
        }
        options.null = self.null.unwrap_or(options.null);
        options.header = self.header;
        options.validate()?;
        Ok(options)
    }
}

fn single_byte(text: &str, what: &str) -> Result<u8, SqlError> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => {
            let message = format!("COPY {what} must be a single one-byte character");
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
        }
    }
}
