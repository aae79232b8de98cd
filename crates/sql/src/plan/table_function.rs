//! Functions whose results are rows.

use crate::expr::Expr;
use hotrow_storage::Type;

/// A function whose result is rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsOf {
    /// The function.
    pub function: TableFunction,
    /// The arguments. In FROM they refer to columns of another item's row only through a frame.
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
            TableFunction::Json(function) => function.columns().len(),
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
    /// The parts of a JSON.
    Json(JsonRows),
}

/// A function whose rows are the parts of a JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRows {
    /// The parts that become rows.
    pub parts: Parts,
    /// Of a `jsonb`.
    pub binary: bool,
    /// Values are texts.
    pub as_text: bool,
}

/// The parts of a JSON that a function makes rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// An array's elements.
    Elements,
    /// An object's keys with their values.
    Members,
    /// An object's keys.
    Keys,
}

impl JsonRows {
    fn named(name: &str) -> Option<Self> {
        let (binary, rest) = match name.strip_prefix("jsonb_") {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("json_")?),
        };
        let (parts, as_text) = match rest {
            "array_elements" => (Parts::Elements, false),
            "array_elements_text" => (Parts::Elements, true),
            "each" => (Parts::Members, false),
            "each_text" => (Parts::Members, true),
            "object_keys" => (Parts::Keys, false),
            _ => return None,
        };
        Some(Self { parts, binary, as_text })
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match (self.parts, self.binary, self.as_text) {
            (Parts::Elements, false, false) => "json_array_elements",
            (Parts::Elements, false, true) => "json_array_elements_text",
            (Parts::Elements, true, false) => "jsonb_array_elements",
            (Parts::Elements, true, true) => "jsonb_array_elements_text",
            (Parts::Members, false, false) => "json_each",
            (Parts::Members, false, true) => "json_each_text",
            (Parts::Members, true, false) => "jsonb_each",
            (Parts::Members, true, true) => "jsonb_each_text",
            (Parts::Keys, false, _) => "json_object_keys",
            (Parts::Keys, true, _) => "jsonb_object_keys",
        }
    }

    /// The type that it takes.
    pub fn argument(self) -> Type {
        if self.binary { Type::Jsonb } else { Type::Json }
    }

    /// The columns of its rows: names, if they have some, and types.
    pub fn columns(self) -> Vec<(Option<&'static str>, Type)> {
        let value = (Some("value"), if self.as_text { Type::Text } else { self.argument() });
        match self.parts {
            Parts::Elements => vec![value],
            Parts::Members => vec![(Some("key"), Type::Text), value],
            Parts::Keys => vec![(None, Type::Text)],
        }
    }
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
            ("pg_catalog", name) => TableFunction::Json(JsonRows::named(name)?),
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
            TableFunction::Json(function) => function.name(),
        }
    }
}
