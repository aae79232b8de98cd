//! The properties of indexes that the engine does not know.
//!
//! The key of an index consists of columns. An index on an expression has a hidden column of the table in its place,
//! which is computed from the other columns of the row. A partial index has a hidden column before all others: TRUE in
//! the rows that satisfy its condition, and NULL in all other rows. So these rows conflict with none in a unique index,
//! and a search for TRUE misses them. An expression of a partial index is computed only in rows that satisfy the
//! condition. Each hidden column belongs to one index.

use super::table::{HIDDEN_PREFIX, Table};
use crate::SqlError;
use crate::depth::with_room;
use crate::parse::lex::{Token, TokenKind, tokenize};
use hotrow_storage::{IndexId, IndexRef};

/// The properties of an index that the engine does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexProperties {
    /// The name of the index.
    pub name: String,
    /// Whether the index has a condition, so that the first column of its key is hidden and says which rows satisfy it.
    pub partial: bool,
    /// The declared order of each column of the key, without the column of the condition. The index itself is in
    /// ascending order, with NULLs last.
    pub orders: Vec<KeyOrder>,
    /// The positions of the columns of INCLUDE.
    pub include: Vec<usize>,
}

/// The declared order of a column of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyOrder {
    /// Whether the order is descending.
    pub descending: bool,
    /// Whether NULLs come first.
    pub nulls_first: bool,
}

impl IndexProperties {
    /// Whether the index has no condition, no INCLUDE and only default orders. The table need not keep such properties.
    pub fn is_plain(&self) -> bool {
        !self.partial && self.include.is_empty() && self.orders.iter().all(|order| *order == KeyOrder::default())
    }
}

impl Table {
    /// Returns the properties of an index that the engine does not know, or `None` if they are
    /// [plain](IndexProperties::is_plain).
    pub fn index_properties(&self, index: IndexRef) -> Option<&IndexProperties> {
        let IndexRef::Secondary(IndexId(at)) = index else { return None };
        let name = &self.schema.indexes[usize::from(at)].name;
        self.rules.indexes.iter().find(|properties| properties.name == *name)
    }

    /// Whether an index has a condition.
    pub fn is_partial(&self, index: IndexRef) -> bool {
        self.index_properties(index).is_some_and(|properties| properties.partial)
    }

    /// Returns the positions of the columns on which an index is defined, in key order: without the hidden column of
    /// its condition.
    pub fn key_columns(&self, index: IndexRef) -> &[usize] {
        &self.index_columns(index)[usize::from(self.is_partial(index))..]
    }

    /// Returns the literals in the expressions and conditions of the table's indexes, as they are written in SQL.
    pub fn index_literals(&self) -> Vec<String> {
        let mut literals = Vec::new();
        for computed in self.rules.computed.iter().filter(|computed| self.is_hidden(computed.column)) {
            let text = with_room(|| Ok::<_, SqlError>(computed.value.expression.syntax.to_string()));
            let (text, mut tokens) = (text.unwrap_or_default(), Vec::new());
            if tokenize(&text, &mut tokens).is_ok() {
                let is_literal = |token: &&Token| matches!(token.kind, TokenKind::Number | TokenKind::String);
                literals.extend(tokens.iter().filter(is_literal).map(|token| token.text(&text).to_owned()));
            }
        }
        literals
    }

    /// Whether a column is a hidden one of an index.
    pub fn is_hidden(&self, column: usize) -> bool {
        (self.visible()..self.stored()).contains(&column)
    }

    /// Returns the name of a column of an index. For an expression this is the name of its function, or `expr`.
    pub fn key_name(&self, column: usize) -> String {
        let label = self.column_label(column);
        if !self.is_hidden(column) {
            return label.to_owned();
        }
        match label.split_once('(') {
            Some((function, _)) if !function.is_empty() => function.to_lowercase(),
            _ => "expr".to_owned(),
        }
    }

    /// Returns the name of a column for messages. The name of a hidden column is its expression.
    pub fn column_label(&self, column: usize) -> &str {
        let name = &self.schema.columns[column].name;
        name.strip_prefix(HIDDEN_PREFIX).unwrap_or(name)
    }
}
