//! CREATE SEQUENCE and ALTER SEQUENCE, and the clauses with which an identity column describes its sequence. The
//! clauses come in any order.

use super::cursor::Cursor;
use crate::schema::RelationName;
use crate::{SqlError, state};
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

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
    /// SEQUENCE NAME of an identity column
    Name(RelationName),
    /// OWNED BY: the table and the column; `None` is NONE.
    OwnedBy(Option<(RelationName, String)>),
}

/// A CREATE SEQUENCE statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSequence {
    /// The name of the sequence.
    pub name: RelationName,
    /// TEMPORARY
    pub temporary: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The clauses of the statement.
    pub options: Vec<SequenceOption>,
}

/// An ALTER SEQUENCE statement.
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

/// Whether a statement is CREATE SEQUENCE, with or without TEMPORARY.
pub(super) fn is_created(cursor: &Cursor<'_>) -> bool {
    let is_temporary = cursor.follows(1, "temporary") || cursor.follows(1, "temp");
    cursor.follows(if is_temporary { 2 } else { 1 }, "sequence")
}

/// Reads CREATE SEQUENCE, with or without TEMPORARY.
pub(super) fn create(cursor: &mut Cursor<'_>) -> Result<CreateSequence, SqlError> {
    cursor.expect("create")?;
    let temporary = cursor.take("temporary") || cursor.take("temp");
    cursor.expect("sequence")?;
    let if_not_exists = cursor.take("if");
    if if_not_exists {
        cursor.expect("not")?;
        cursor.expect("exists")?;
    }
    Ok(CreateSequence { name: cursor.qualified_name()?, temporary, if_not_exists, options: options(cursor)? })
}

/// Reads ALTER SEQUENCE after these two words. The forms SET SCHEMA and OWNER TO have been read as definitions before.
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

/// The beginning of the placeholder that carries the name of an identity column's sequence. No placeholder of a client
/// begins so.
const CARRIER: &str = "sequence name ";

/// The clauses of an identity column's sequence, in the order in which the parser takes them. The last is unknown to
/// it.
const CLAUSES: [&str; 7] = ["increment", "minvalue", "maxvalue", "start", "cache", "cycle", "sequence"];
const CACHE: usize = 4;
const SEQUENCE: usize = 6;

/// Puts the clauses of identity columns into the order in which the parser takes them. SEQUENCE NAME, which it does not
/// know, goes into the place of CACHE, which has no effect.
pub(super) fn sort_identity_clauses(tokens: &mut Vec<TokenWithSpan>) {
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
        let clauses = open + 1..open + 1 + length;
        let sorted = sorted_clauses(&tokens[clauses.clone()]);
        tokens.splice(clauses, sorted);
    }
}

/// Returns a token's text in lower case if it is a word without quotes, or `None` for any other token.
fn word(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

fn sorted_clauses(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut clauses: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut negated = false;
    for token in tokens {
        let word = word(token);
        let rank = word.as_deref().and_then(|word| CLAUSES.iter().position(|known| *known == word));
        match (rank, clauses.last_mut()) {
            (Some(rank), Some((own, clause))) if std::mem::take(&mut negated) => {
                *own = rank;
                clause.push(token.clone());
            }
            (Some(rank), _) => clauses.push((rank, vec![token.clone()])),
            (None, _) if word.as_deref() == Some("no") => {
                negated = true;
                clauses.push((CLAUSES.len(), vec![token.clone()]));
            }
            (None, Some((_, clause))) => clause.push(token.clone()),
            // Blanks before the first clause, or a token that belongs to no clause, for which the parser returns the
            // error.
            (None, None) => clauses.push((0, vec![token.clone()])),
        }
    }
    let named = clauses.iter().find(|(rank, _)| *rank == SEQUENCE).and_then(|(_, clause)| carried(clause));
    if let Some(cache) = named {
        clauses.retain(|(rank, _)| ![SEQUENCE, CACHE].contains(rank));
        clauses.push((CACHE, cache));
    }
    clauses.sort_by_key(|(rank, _)| *rank);
    clauses.into_iter().flat_map(|(_, clause)| clause).collect()
}

/// Returns a clause CACHE that carries the name in SEQUENCE NAME, or `None` if the clause has another form.
fn carried(clause: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let mut tokens = clause.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let first = tokens.next()?;
    tokens.next().filter(|token| word(token).as_deref() == Some("name"))?;
    let rest: Vec<_> = tokens.collect();
    let is_name = rest.iter().enumerate().all(|(at, token)| match &token.token {
        Token::Word(_) => at % 2 == 0,
        Token::Period => at % 2 == 1,
        _ => false,
    });
    if !is_name || rest.len() % 2 == 0 {
        return None;
    }
    let name: String = rest.iter().map(|token| token.token.to_string()).collect();
    let token = |token| TokenWithSpan::new(token, first.span);
    let blank = || token(Token::Whitespace(Whitespace::Space));
    let name = token(Token::Placeholder(format!("{CARRIER}{name}")));
    Some(vec![token(Token::make_keyword("CACHE")), blank(), name, blank()])
}

/// Returns the name of an identity column's sequence that a clause CACHE carries, as it was written. Returns `None` if
/// the client has written the clause itself.
pub fn carried_name(cache: &ast::Expr) -> Option<&str> {
    match cache {
        ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Placeholder(text), .. }) => text.strip_prefix(CARRIER),
        _ => None,
    }
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
