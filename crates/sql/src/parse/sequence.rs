//! CREATE SEQUENCE and ALTER SEQUENCE, and the clauses with which an identity column describes its sequence. The
//! clauses come in any order.

use super::cursor::Cursor;
use crate::schema::RelationName;
use crate::{SqlError, state};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A clause of CREATE and ALTER SEQUENCE, or of an identity column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceOption {
    /// AS
    Type(String),
    /// INCREMENT BY
    Increment(i64),
    /// MINVALUE; `None` is NO MINVALUE.
    Min(Option<i64>),
    /// MAXVALUE; `None` is NO MAXVALUE.
    Max(Option<i64>),
    /// START WITH
    Start(i64),
    /// RESTART WITH; `None` restarts at the start.
    Restart(Option<i64>),
    /// CACHE, which is accepted and ignored.
    Cache(i64),
    /// CYCLE, NO CYCLE
    Cycle(bool),
    /// OWNED BY: the table and the column; `None` is NONE.
    OwnedBy(Option<(RelationName, String)>),
}

/// CREATE SEQUENCE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSequence {
    /// The name of the sequence.
    pub name: RelationName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The clauses of the statement.
    pub options: Vec<SequenceOption>,
}

/// ALTER SEQUENCE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// The name of the sequence.
    pub name: RelationName,
    /// IF EXISTS
    pub if_exists: bool,
    /// RENAME TO
    pub rename: Option<String>,
    /// The clauses of the statement.
    pub options: Vec<SequenceOption>,
}

/// Reads CREATE SEQUENCE after these two words.
pub(super) fn create(cursor: &mut Cursor<'_>) -> Result<CreateSequence, SqlError> {
    let if_not_exists = cursor.take("if");
    if if_not_exists {
        cursor.expect("not")?;
        cursor.expect("exists")?;
    }
    Ok(CreateSequence { name: cursor.qualified_name()?, if_not_exists, options: options(cursor)? })
}

/// Reads ALTER SEQUENCE after these two words.
pub(super) fn alter(cursor: &mut Cursor<'_>) -> Result<AlterSequence, SqlError> {
    let if_exists = cursor.take("if");
    if if_exists {
        cursor.expect("exists")?;
    }
    let name = cursor.qualified_name()?;
    if cursor.take("rename") {
        cursor.expect("to")?;
        return Ok(AlterSequence { name, if_exists, rename: Some(cursor.name()?), options: Vec::new() });
    }
    if cursor.take("owner") {
        cursor.expect("to")?;
        cursor.name()?;
        return Ok(AlterSequence { name, if_exists, rename: None, options: Vec::new() });
    }
    let options = options(cursor)?;
    if options.is_empty() {
        Err(cursor.unexpected())
    } else {
        Ok(AlterSequence { name, if_exists, rename: None, options })
    }
}

fn options(cursor: &mut Cursor<'_>) -> Result<Vec<SequenceOption>, SqlError> {
    let mut options = Vec::new();
    while !cursor.is_at_end() {
        options.push(option(cursor)?);
    }
    Ok(options)
}

fn option(cursor: &mut Cursor<'_>) -> Result<SequenceOption, SqlError> {
    Ok(if cursor.take("as") {
        SequenceOption::Type(cursor.word()?)
    } else if cursor.take("increment") {
        cursor.take("by");
        SequenceOption::Increment(number(cursor)?)
    } else if cursor.take("minvalue") {
        SequenceOption::Min(Some(number(cursor)?))
    } else if cursor.take("maxvalue") {
        SequenceOption::Max(Some(number(cursor)?))
    } else if cursor.take("start") {
        cursor.take("with");
        SequenceOption::Start(number(cursor)?)
    } else if cursor.take("restart") {
        let given = cursor.take("with") || cursor.is_at_number();
        SequenceOption::Restart(if given { Some(number(cursor)?) } else { None })
    } else if cursor.take("cache") {
        SequenceOption::Cache(number(cursor)?)
    } else if cursor.take("cycle") {
        SequenceOption::Cycle(true)
    } else if cursor.take("owned") {
        cursor.expect("by")?;
        SequenceOption::OwnedBy(owner(cursor)?)
    } else {
        cursor.expect("no")?;
        if cursor.take("minvalue") {
            SequenceOption::Min(None)
        } else if cursor.take("maxvalue") {
            SequenceOption::Max(None)
        } else {
            cursor.expect("cycle")?;
            SequenceOption::Cycle(false)
        }
    })
}

/// Puts the clauses of identity columns into the order in which the parser takes them.
pub(super) fn sort_identity_clauses(tokens: &mut [TokenWithSpan]) {
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    };
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let mut from = 0;
    while let Some(found) = tokens[from..].iter().position(|token| word(token).as_deref() == Some("identity")) {
        from += found + 1;
        let mut before = tokens[..from - 1].iter().rev().filter(|token| !is_blank(token)).map(word);
        let before = [before.next().flatten(), before.next().flatten()];
        if !matches!(before.each_ref().map(Option::as_deref), [Some("as"), Some("always" | "default")]) {
            continue;
        }
        let open = from + tokens[from..].iter().take_while(|token| is_blank(token)).count();
        if tokens.get(open).map(|token| &token.token) != Some(&Token::LParen) {
            continue;
        }
        let length = tokens[open + 1..].iter().take_while(|token| token.token != Token::RParen).count();
        sort_clauses(&mut tokens[open + 1..open + 1 + length], word);
    }
}

fn sort_clauses(tokens: &mut [TokenWithSpan], word: impl Fn(&TokenWithSpan) -> Option<String>) {
    const ORDER: [&str; 6] = ["increment", "minvalue", "maxvalue", "start", "cache", "cycle"];
    let mut clauses: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut negated = false;
    for token in tokens.iter() {
        let word = word(token);
        let rank = word.as_deref().and_then(|word| ORDER.iter().position(|known| *known == word));
        match (rank, clauses.last_mut()) {
            (Some(rank), Some((own, clause))) if std::mem::take(&mut negated) => {
                *own = rank;
                clause.push(token.clone());
            }
            (Some(rank), _) => clauses.push((rank, vec![token.clone()])),
            (None, _) if word.as_deref() == Some("no") => {
                negated = true;
                clauses.push((ORDER.len(), vec![token.clone()]));
            }
            (None, Some((_, clause))) => clause.push(token.clone()),
            // Blanks before the first clause, or a token that belongs to no clause, for which the parser returns the
            // error.
            (None, None) => clauses.push((0, vec![token.clone()])),
        }
    }
    clauses.sort_by_key(|(rank, _)| *rank);
    let sorted = clauses.into_iter().flat_map(|(_, clause)| clause);
    tokens.iter_mut().zip(sorted).for_each(|(token, sorted)| *token = sorted);
}

/// Reads `table.column`, or NONE, for which it returns `None`.
fn owner(cursor: &mut Cursor<'_>) -> Result<Option<(RelationName, String)>, SqlError> {
    if cursor.take("none") {
        return Ok(None);
    }
    let mut parts = vec![cursor.name()?];
    while cursor.take_symbol(b'.') {
        parts.push(cursor.name()?);
    }
    let column = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        return Err(SqlError::new(state::SYNTAX_ERROR, "invalid OWNED BY option")
            .hint("Specify OWNED BY table.column or OWNED BY NONE."));
    }
    Ok(Some((crate::parse::names::relation_name(&parts)?, column)))
}

fn number(cursor: &mut Cursor<'_>) -> Result<i64, SqlError> {
    if !cursor.is_at_number() {
        return Err(cursor.unexpected());
    }
    let text = cursor.scalar()?;
    text.parse().map_err(|_| {
        let message = format!("value \"{text}\" is out of range for type bigint");
        SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}
