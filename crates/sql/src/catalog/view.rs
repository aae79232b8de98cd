//! Views: named queries, which are bound anew in each statement that mentions them.

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
    /// The columns of the view. The query has as many columns of the same types, but their names may be others.
    pub columns: Vec<OutputColumn>,
    /// The styles in which the query's literals are read: those of the session that made the view.
    pub styles: Styles,
    /// The query, with each of its own `*` written out: a column that is added to a table later does not join the view.
    pub query: Syntax<ast::Query>,
    /// The tables and views that the query mentions, and the tables and views that these views mention.
    pub relations: Vec<String>,
    /// The relations that the query's names meant when the view was made: each name, and the full name of its relation.
    pub names: Vec<(RelationName, String)>,
    /// The comments on the view and its columns.
    pub comments: Comments,
}
