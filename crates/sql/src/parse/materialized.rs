//! CREATE and REFRESH MATERIALIZED VIEW.

use super::cursor::Cursor;
use super::parse_query;
use crate::SqlError;
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::schema::RelationName;
use sqlparser::ast;

/// A CREATE MATERIALIZED VIEW statement.
#[derive(Clone, Debug)]
pub struct CreateMaterialized {
    /// The name of the view.
    pub name: RelationName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The names of the first columns. All other columns have the names of the query's columns.
    pub columns: Vec<String>,
    /// The query whose rows the view stores.
    pub query: Syntax<ast::Query>,
    /// Whether the view is filled at once. WITH NO DATA leaves that to a REFRESH.
    pub has_data: bool,
}

/// A statement that fills a materialized view.
#[derive(Clone, Debug)]
pub enum Materialize {
    /// CREATE MATERIALIZED VIEW
    Create(CreateMaterialized),
    /// REFRESH MATERIALIZED VIEW
    Refresh {
        /// The name of the view.
        name: RelationName,
        /// Whether the view gets the rows that its query has now. WITH NO DATA removes its rows, and the view cannot be
        /// read then.
        has_data: bool,
        /// CONCURRENTLY. The statement is checked as in PostgreSQL, but runs like any other REFRESH.
        concurrently: bool,
    },
}

impl Materialize {
    /// Returns the name of the statement, for errors and command tags.
    pub fn tag(&self) -> &'static str {
        match self {
            Materialize::Create(_) => "CREATE MATERIALIZED VIEW",
            Materialize::Refresh { .. } => "REFRESH MATERIALIZED VIEW",
        }
    }
}

/// Reads CREATE or REFRESH MATERIALIZED VIEW.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Materialize, SqlError> {
    let creates = cursor.follows(0, "create");
    cursor.advance();
    cursor.expect("materialized")?;
    cursor.expect("view")?;
    if creates { create(cursor) } else { refresh(cursor) }
}

fn create(cursor: &mut Cursor<'_>) -> Result<Materialize, SqlError> {
    let if_not_exists = cursor.follows(0, "if") && cursor.follows(1, "not");
    if if_not_exists {
        cursor.advance();
        cursor.advance();
        cursor.expect("exists")?;
    }
    let name = cursor.qualified_name()?;
    let mut columns = Vec::new();
    if cursor.take_symbol(b'(') {
        columns = cursor.names()?;
        cursor.expect_symbol(b')')?;
    }
    if cursor.take("using") && cursor.name()? != "heap" {
        return Err(unsupported("an access method other than heap"));
    }
    if cursor.follows(0, "with") && cursor.follows_symbol(1, b"(") {
        return Err(unsupported("a materialized view with storage parameters"));
    }
    if cursor.take("tablespace") {
        cursor.name()?;
    }
    cursor.expect("as")?;
    let mut text = cursor.rest();
    let has_data = match data_clause(&text)? {
        Some((has_data, end)) => {
            text.truncate(end);
            has_data
        }
        None => true,
    };
    let query = parse_query(&text)?;
    Ok(Materialize::Create(CreateMaterialized { name, if_not_exists, columns, query, has_data }))
}

/// Finds WITH DATA or WITH NO DATA at the end of a text. Returns whether the clause is WITH DATA, and the offset at
/// which it begins, or `None` if there is no such clause.
fn data_clause(text: &str) -> Result<Option<(bool, usize)>, SqlError> {
    let mut tokens = Vec::new();
    super::lex::tokenize(text, &mut tokens)?;
    let clauses: [(bool, &[&str]); 2] = [(true, &["with", "data"]), (false, &["with", "no", "data"])];
    let found = clauses.into_iter().find_map(|(has_data, words)| {
        let start = tokens.len().checked_sub(words.len())?;
        let cursor = Cursor::new(text, &tokens[start..]);
        let is_it = words.iter().enumerate().all(|(at, word)| cursor.follows(at, word));
        is_it.then(|| (has_data, tokens[start].start))
    });
    Ok(found)
}

fn refresh(cursor: &mut Cursor<'_>) -> Result<Materialize, SqlError> {
    let concurrently = cursor.take("concurrently");
    let name = cursor.qualified_name()?;
    let mut has_data = true;
    if cursor.take("with") {
        has_data = !cursor.take("no");
        cursor.expect("data")?;
    }
    Ok(Materialize::Refresh { name, has_data, concurrently })
}
