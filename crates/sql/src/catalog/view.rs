//! Views: queries with names, which are bound anew wherever they are mentioned.

use crate::OutputColumn;
use crate::catalog::Comments;
use crate::depth::Syntax;
use crate::schema::RelationName;
use crate::types::Styles;
use sqlparser::ast;

/// A view's definition.
#[derive(Clone, Debug)]
pub struct StoredView {
    /// Its [full name](crate::schema).
    pub name: String,
    /// Its columns. The query has as many, of these types, and may call them otherwise.
    pub columns: Vec<OutputColumn>,
    /// In which styles the query's literals are read: those of the session that made it.
    pub styles: Styles,
    /// The query, with its own `*` written out: columns that its tables get later are not the view's.
    pub query: Syntax<ast::Query>,
    /// The tables and views that the query mentions, and those that these views do.
    pub relations: Vec<String>,
    /// What names of relations in the query meant when it was made.
    pub names: Vec<(RelationName, String)>,
    /// COMMENT ON it and its columns.
    pub comments: Comments,
}
