//! DECLARE, FETCH, MOVE and CLOSE.

use super::cursor::Cursor;
use super::utility::Utility;
use crate::error::unsupported;
use crate::{SqlError, state};

/// A DECLARE … CURSOR statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclareCursor {
    /// The cursor's name.
    pub name: String,
    /// SCROLL is `true`, NO SCROLL is `false`, and neither is `None`.
    pub scroll: Option<bool>,
    /// WITH HOLD: whether the cursor stays open after its transaction has committed.
    pub hold: bool,
    /// The text of the query.
    pub query: String,
}

/// The rows that FETCH returns, counted from the cursor's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// This number of the next rows, or of the previous rows if it is negative. Zero is the current row.
    Forward(i64),
    /// All rows after the current one.
    ForwardAll,
    /// All rows before the current one.
    BackwardAll,
    /// The row with this number, counted from the end if negative.
    Absolute(i64),
    /// The row that is this number of rows after the current one, or before it if the number is negative.
    Relative(i64),
}

/// A FETCH or MOVE statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor's name.
    pub name: String,
    /// The rows to fetch.
    pub direction: Direction,
    /// Whether the statement is MOVE, which moves the cursor but does not return the rows.
    pub silent: bool,
}

/// Reads DECLARE.
pub(super) fn declare(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    let name = cursor.name()?;
    let mut scroll = None;
    while !cursor.take("cursor") {
        if cursor.take("no") {
            cursor.expect("scroll")?;
            check_agreed(scroll.replace(false) != Some(true))?;
        } else if cursor.take("scroll") {
            check_agreed(scroll.replace(true) != Some(false))?;
        } else if !cursor.take("asensitive") && !cursor.take("insensitive") {
            // BINARY makes a difference in the simple protocol only, where no client asks for it.
            if cursor.peek_word().as_deref() == Some("binary") {
                return Err(unsupported("a binary cursor").hint("Ask for binary results when you bind FETCH."));
            }
            return Err(cursor.unexpected());
        }
    }
    let hold = if cursor.take("with") {
        cursor.expect("hold")?;
        true
    } else {
        if cursor.take("without") {
            cursor.expect("hold")?;
        }
        false
    };
    cursor.expect("for")?;
    if !["select", "values", "with", "table"].iter().any(|word| cursor.follows(0, word))
        && !cursor.follows_symbol(0, b"(")
    {
        return Err(cursor.unexpected());
    }
    Ok(Utility::DeclareCursor(DeclareCursor { name, scroll, hold, query: cursor.rest() }))
}

fn check_agreed(agreed: bool) -> Result<(), SqlError> {
    if agreed {
        return Ok(());
    }
    Err(SqlError::new(state::INVALID_CURSOR_DEFINITION, "cannot specify both SCROLL and NO SCROLL"))
}

/// Reads FETCH or MOVE.
pub(super) fn fetch(cursor: &mut Cursor<'_>, silent: bool) -> Result<Utility, SqlError> {
    cursor.advance();
    let direction = direction(cursor)?;
    if !cursor.take("from") {
        cursor.take("in");
    }
    Ok(Utility::Fetch(Fetch { name: cursor.name()?, direction, silent }))
}

fn direction(cursor: &mut Cursor<'_>) -> Result<Direction, SqlError> {
    // A cursor may have a name that is also a direction. If it is the last word, it is the name.
    if cursor.is_last() {
        return Ok(Direction::Forward(1));
    }
    if at_number(cursor) {
        return number(cursor).map(Direction::Forward);
    }
    let word = cursor.peek_word().unwrap_or_default();
    let direction = match word.as_str() {
        "next" => Direction::Forward(1),
        "prior" => Direction::Forward(-1),
        "first" => Direction::Absolute(1),
        "last" => Direction::Absolute(-1),
        "all" => Direction::ForwardAll,
        "absolute" | "relative" | "forward" | "backward" => {
            cursor.advance();
            return Ok(match word.as_str() {
                "absolute" => Direction::Absolute(number(cursor)?),
                "relative" => Direction::Relative(number(cursor)?),
                forward => {
                    let forward = forward == "forward";
                    if cursor.take("all") {
                        if forward { Direction::ForwardAll } else { Direction::BackwardAll }
                    } else {
                        let count = if at_number(cursor) { number(cursor)? } else { 1 };
                        Direction::Forward(if forward { count } else { count.saturating_neg() })
                    }
                }
            });
        }
        _ => return Ok(Direction::Forward(1)),
    };
    cursor.advance();
    Ok(direction)
}

fn at_number(cursor: &Cursor<'_>) -> bool {
    cursor.is_at_number() || cursor.follows_symbol(0, b"-+")
}

fn number(cursor: &mut Cursor<'_>) -> Result<i64, SqlError> {
    let negative = cursor.take_symbol(b'-');
    if !negative {
        cursor.take_symbol(b'+');
    }
    if !cursor.is_at_number() {
        return Err(cursor.unexpected());
    }
    let wrong = cursor.unexpected();
    let token = cursor.any()?;
    let value: i64 = cursor.text(&token).parse().map_err(|_| wrong)?;
    Ok(if negative { -value } else { value })
}

/// Reads CLOSE.
pub(super) fn close(cursor: &mut Cursor<'_>) -> Result<Utility, SqlError> {
    cursor.advance();
    let all = cursor.take("all");
    Ok(Utility::CloseCursor(if all { None } else { Some(cursor.name()?) }))
}
