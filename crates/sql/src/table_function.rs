//! Functions whose results are rows.

use crate::expr::Expr;

/// A function whose result is rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsOf {
    /// The function.
    pub function: TableFunction,
    /// Its arguments. In FROM they look at no column of a row beside it but through a frame.
    pub arguments: Vec<Expr>,
    /// WITH ORDINALITY: each row's number, from one, after the other columns.
    pub numbered: bool,
}

impl RowsOf {
    /// How many columns its rows have.
    pub fn width(&self) -> usize {
        let own = match self.function {
            TableFunction::Unnest => self.arguments.len(),
            TableFunction::Series | TableFunction::Subscripts | TableFunction::Ancestors => 1,
            TableFunction::ExpandArray => 2,
            TableFunction::Keywords => 5,
        };
        own + usize::from(self.numbered)
    }
}

/// The functions whose results are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFunction {
    /// The elements of each array, beside each other; NULLs after the end of a shorter one.
    Unnest,
    /// Numbers from the first to the second, by steps of the third or of one.
    Series,
    /// The numbers of an array's elements, backwards if the third argument is true.
    Subscripts,
    /// The elements of an array, each with its number, counted from one.
    ExpandArray,
    /// The tables that a table is a partition of: no table is one, so there are no rows.
    Ancestors,
    /// PostgreSQL's words, which tools quote.
    Keywords,
}

impl TableFunction {
    /// The function that a name means, which may say the schema; none if there is no such.
    pub fn named(parts: &[String]) -> Option<Self> {
        let (schema, name) = match parts {
            [name] => ("pg_catalog", name.as_str()),
            [schema, name] => (schema.as_str(), name.as_str()),
            _ => return None,
        };
        Some(match (schema, name) {
            ("pg_catalog", "unnest") => TableFunction::Unnest,
            ("pg_catalog", "generate_series") => TableFunction::Series,
            ("pg_catalog", "generate_subscripts") => TableFunction::Subscripts,
            ("pg_catalog", "pg_partition_ancestors") => TableFunction::Ancestors,
            ("pg_catalog", "pg_get_keywords") => TableFunction::Keywords,
            ("information_schema", "_pg_expandarray") => TableFunction::ExpandArray,
            _ => return None,
        })
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            TableFunction::Unnest => "unnest",
            TableFunction::Series => "generate_series",
            TableFunction::Subscripts => "generate_subscripts",
            TableFunction::ExpandArray => "_pg_expandarray",
            TableFunction::Ancestors => "pg_partition_ancestors",
            TableFunction::Keywords => "pg_get_keywords",
        }
    }
}
