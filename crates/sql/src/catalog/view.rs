//! Views: named queries. A view's query is bound again for each statement that mentions the view.

use crate::OutputColumn;
use crate::catalog::Comments;
use crate::depth::Syntax;
use crate::schema::RelationName;
use crate::types::Styles;
use sqlparser::ast;

/// The definition of a view.
#[derive(Clone, Debug)]
pub struct StoredView {
    /// The [full name](crate::schema) of the view.
    pub name: String,
    /// The columns of the view. The query has the same number of columns with the same types, but may have other names.
    pub columns: Vec<OutputColumn>,
    /// The styles in which the query's literals are read: those of the session that created the view.
    pub styles: Styles,
    /// The query, with each `*` of its select lists expanded, so that columns that are added to a table later do not
    /// become columns of the view.
    pub query: Syntax<ast::Query>,
    /// The full names of the tables and views that the query mentions, directly or through other views.
    pub relations: Vec<String>,
    /// The meanings of the names in the query.
    pub names: Meanings,
    /// The comments on the view and its columns.
    pub comments: Comments,
}

/// The meanings of the names in the query of a view: those that they had when the view was created.
#[derive(Clone, Debug, Default)]
pub struct Meanings {
    /// The names of relations as they are written, each with the full name of its relation.
    pub relations: Vec<(RelationName, String)>,
    /// The names of functions as they are written, each with the [keys](crate::catalog::procedure::key) of the
    /// functions that the query calls by this name.
    pub functions: Vec<(RelationName, Vec<String>)>,
}

/// The query of a materialized view, whose rows are those of a table.
#[derive(Clone, Debug)]
pub struct Materialized {
    /// The query, with the meanings of its names. The view's own name, column names and comments in it may be out of
    /// date: the table's are the valid ones ([`Table::stored_query`](crate::catalog::Table::stored_query)).
    pub query: StoredView,
    /// Whether the table has been filled with the rows of the query. If it has not, statements that read it fail with
    /// 55000.
    pub is_populated: bool,
}

impl StoredView {
    /// Whether the query calls the function of this key.
    pub fn calls(&self, key: &str) -> bool {
        self.names.functions.iter().any(|(_, keys)| keys.iter().any(|known| known == key))
    }
}
