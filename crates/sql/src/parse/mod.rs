//! The parser: it splits the text of a client into statements, and makes a syntax tree of each.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `lex` | tokens, for splitting and normalising |
//! | `definition`, `enumeration`, `domain` | CREATE SCHEMA, TYPE and DOMAIN, COMMENT, OWNER TO, GRANT and the like, read by hand |
//! | `body` | the bodies of procedures and of DO |
//! | `normalise` | texts with parameters in place of literals, for the keys of the plan cache |
//! | `utility`, `copy`, `explain`, `cursors`, `notifications` | statements that are read by hand |
//! | `procedure`, `trigger`, `sequence`, `database` | more statements that are read by hand |
//! | `materialized` | CREATE and REFRESH MATERIALIZED VIEW |
//! | `cursor` | a place in a statement's tokens, for reading by hand |
//! | `string` | strings with escapes or between dollars |
//! | `names`, `types` | the names of relations and procedures, and the types, that syntax trees mean |
//! | `size` | the memory that reading a text takes |
//! | `named_columns` | the columns of CREATE TABLE AS, which sqlparser knows only with types |
//! | `like` | the element LIKE of CREATE TABLE, which sqlparser knows only alone |
//! | `conflict` | expressions and conditions in ON CONFLICT, which sqlparser does not know |
//! | `grouping` | GROUP BY with GROUPING SETS, ROLLUP and CUBE, of which sqlparser knows some forms only |
//! | `only`, `signs`, `trim` | FROM ONLY, `a>-1` and `trim(both from …)`, which sqlparser does not know |
//! | `intervals`, `isnull` | `interval(p) '…'` and ISNULL, which sqlparser misreads |
//! | `row_locks` | FOR NO KEY UPDATE and FOR KEY SHARE, which sqlparser does not know |
//! | `view_options` | the options of views, of which sqlparser knows some forms only |
//! | `window` | the EXCLUDE clause of windows, which sqlparser does not know |
//! | `syntax` | all other statements, which crate sqlparser reads |
//! | this file | the split of a text into statements |

pub mod body;
pub mod conflict;
mod copy;
mod cursor;
pub mod cursors;
pub mod database;
pub mod definition;
pub mod domain;
pub mod enumeration;
mod explain;
pub mod grouping;
mod intervals;
mod isnull;
pub mod lex;
pub mod like;
pub mod materialized;
pub mod named_columns;
pub mod names;
pub mod normalise;
mod notifications;
mod only;
pub mod procedure;
mod row_locks;
pub mod sequence;
mod signs;
mod size;
mod string;
mod syntax;
pub mod trigger;
mod trim;
mod types;
pub mod utility;
pub mod view_options;
pub mod window;

pub use explain::ExplainOptions;
pub use size::reading_bytes;
pub use syntax::{overrides_identities, parse_arguments, parse_expr, parse_query, parse_type, position};
pub use types::{data_type, data_type_among};

use crate::depth::{Syntax, with_room};
use crate::schema::RelationName;
use crate::{SqlError, state};
use cursor::Cursor;
use lex::{Token, character_position};
use sqlparser::ast;
use std::ops::Range;
use syntax::{check_depth, parse_ast};
use utility::Utility;

/// A parsed statement.
#[derive(Debug)]
pub enum Parsed {
    /// A text that consists of blanks and comments.
    Empty,
    /// A statement that this crate reads by hand.
    Utility(Utility),
    /// A statement that sqlparser reads.
    Ast(Syntax<ast::Statement>),
}

/// Splits a query string into statements. Returns the ranges of their tokens, without empty statements.
pub fn split(sql: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let mut statements = Vec::new();
    let mut start = 0;
    while start < tokens.len() {
        let rest = &tokens[start..];
        let length = if procedure::creates_procedure(&Cursor::new(sql, rest)) {
            procedure::length(sql, rest)
        } else {
            rest.iter().position(|token| token.is_symbol(b';')).unwrap_or(rest.len())
        };
        if length > 0 {
            statements.push(start..start + length);
        }
        start += length + 1;
    }
    statements
}

/// Parses one statement, given by its tokens. Positions in errors are positions in `sql`.
pub fn parse(sql: &str, tokens: &[Token]) -> Result<Parsed, SqlError> {
    with_room(|| parse_in_place(sql, tokens))
}

fn parse_in_place(sql: &str, tokens: &[Token]) -> Result<Parsed, SqlError> {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Ok(Parsed::Empty) };
    check_depth(sql, tokens)?;
    if let Some(utility) = utility::parse(&mut Cursor::new(sql, tokens))? {
        return Ok(Parsed::Utility(utility));
    }
    let text = &sql[first.start..last.end];
    let shift = |error: SqlError| match error.position {
        Some(position) => {
            let offset = character_position(sql, first.start) - 1;
            error.at(position + offset)
        }
        None => error,
    };
    parse_ast(text).map(Parsed::Ast).map_err(shift)
}

/// Parses the name of a relation in a string: `t`, `"T"`, `public.t`.
///
/// # Errors
/// 42602 if the string is no name.
pub fn written_name(text: &str) -> Result<RelationName, SqlError> {
    let mut tokens = Vec::new();
    let read = |tokens: &mut Vec<Token>| {
        lex::tokenize(text, tokens)?;
        let mut cursor = Cursor::new(text, tokens);
        let parts = cursor.dotted_name()?;
        cursor.expect_end().map(|()| parts)
    };
    let parts = read(&mut tokens).map_err(|error| match error.state {
        state::SYNTAX_ERROR => SqlError::new(state::INVALID_NAME, "invalid name syntax"),
        _ => SqlError { position: None, ..error },
    })?;
    names::relation_name(&parts)
}
