//! Set-returning functions: functions whose results are rows.

use crate::expr::Expr;
use crate::opaque::Opaque;
use hotrow_storage::Type;
use hotrow_sync::Arc;

/// A call of a set-returning function.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsOf {
    /// The function that is called.
    pub function: RowSource,
    /// The arguments. If the function is a FROM item, they refer to columns of other items through a frame.
    pub arguments: Vec<Expr>,
    /// WITH ORDINALITY: whether the last column is the number of each row, counted from one.
    pub numbered: bool,
}

impl RowsOf {
    /// Returns the number of columns of the function's rows.
    pub fn width(&self) -> usize {
        let own = match &self.function {
            RowSource::BuiltIn(TableFunction::Unnest) => self.arguments.len(),
            RowSource::BuiltIn(TableFunction::Series | TableFunction::Subscripts | TableFunction::Ancestors) => 1,
            RowSource::BuiltIn(TableFunction::Matches | TableFunction::Channels | TableFunction::PathQuery { .. }) => 1,
            RowSource::BuiltIn(TableFunction::ExpandArray | TableFunction::Options) => 2,
            RowSource::BuiltIn(TableFunction::Json(function)) => function.columns().len(),
            RowSource::BuiltIn(TableFunction::Keywords) => 5,
            RowSource::Records(function) => function.columns.len(),
            RowSource::User(function) => function.width,
        };
        own + usize::from(self.numbered)
    }

    /// Whether the call needs the transaction, because it runs a user's function, or an argument does so or has a
    /// subquery.
    pub fn has_subquery(&self) -> bool {
        matches!(self.function, RowSource::User(_)) || self.arguments.iter().any(Expr::has_subquery)
    }
}

/// A function whose result is rows: a built-in one, or a user's.
#[derive(Clone, Debug, PartialEq)]
pub enum RowSource {
    /// A built-in function.
    BuiltIn(TableFunction),
    /// A built-in function that makes rows of JSON objects. Its arguments are the JSON value, and for each column the
    /// value that it has if an object lacks the key.
    Records(JsonRecords),
    /// A user's function.
    User(UserRows),
}

impl RowSource {
    /// Returns the function's name in SQL, without a schema.
    pub fn name(&self) -> &str {
        match self {
            RowSource::BuiltIn(function) => function.name(),
            RowSource::Records(function) => function.name(),
            RowSource::User(function) => &function.name,
        }
    }
}

/// A user's function whose result is rows.
#[derive(Clone, Debug)]
pub struct UserRows {
    /// The name of the function without its schema, for messages. Functions with other types of arguments may have it,
    /// too.
    pub name: Arc<str>,
    /// The function with its body, a [`Callee`](super::Callee).
    pub callee: Opaque,
    /// The number of columns of the function's rows.
    pub width: usize,
}

impl PartialEq for UserRows {
    fn eq(&self, other: &Self) -> bool {
        self.callee.is_same(&other.callee)
    }
}

/// The set-returning functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFunction {
    /// `unnest`: the elements of each array in a column of its own. A shorter array has NULLs after its end.
    Unnest,
    /// `generate_series`: the values from the first argument to the second, in steps of the third argument, which is
    /// one by default.
    Series,
    /// `generate_subscripts`: the subscripts of an array, in reverse order if the third argument is true.
    Subscripts,
    /// `_pg_expandarray`: the elements of an array, each with its number, counted from one.
    ExpandArray,
    /// `pg_partition_ancestors`: the tables of which a table is a partition. There are no partitions, so the result is
    /// empty.
    Ancestors,
    /// `pg_get_keywords`: PostgreSQL's keywords, which tools put in quotes.
    Keywords,
    /// `pg_options_to_table`: the names and the values of options, which are given as texts such as `name=value`.
    Options,
    /// `regexp_matches`: the matches of a pattern in a text, each as an array of its parts in parentheses. Without the
    /// option `g` in the third argument, there is at most one.
    Matches,
    /// `pg_listening_channels`: the channels on which the session listens.
    Channels,
    /// A function of the parts of a JSON value.
    Json(JsonRows),
    /// `jsonb_path_query`: the items that a path finds in a JSON value.
    PathQuery {
        /// Whether the function is `jsonb_path_query_tz`, which may depend on the session's time zone.
        zoned: bool,
    },
}

/// A function that returns the parts of a JSON value as rows, such as `json_each`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRows {
    /// The parts that the function returns.
    pub parts: Parts,
    /// Whether the argument is a `jsonb`, not a `json`.
    pub binary: bool,
    /// Whether values are returned as texts, not as JSON.
    pub as_text: bool,
}

/// The parts of a JSON value that become the rows of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The elements of an array.
    Elements,
    /// The keys of an object, with their values.
    Members,
    /// The keys of an object.
    Keys,
}

/// Splits the name of a JSON function into its prefix and the rest. Returns true for the prefix `jsonb_` and false for
/// `json_`, with the rest of the name; `None` for any other name.
fn of_json(name: &str) -> Option<(bool, &str)> {
    match name.strip_prefix("jsonb_") {
        Some(rest) => Some((true, rest)),
        None => Some((false, name.strip_prefix("json_")?)),
    }
}

impl JsonRows {
    fn named(name: &str) -> Option<Self> {
        let (binary, rest) = of_json(name)?;
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

    /// Returns the function's name in SQL, without a schema.
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

    /// Returns the type of the function's argument.
    pub fn argument(self) -> Type {
        if self.binary { Type::Jsonb } else { Type::Json }
    }

    /// Returns the columns of the function's rows: their types, and their names if they have any.
    pub fn columns(self) -> Vec<(Option<&'static str>, Type)> {
        let value = (Some("value"), if self.as_text { Type::Text } else { self.argument() });
        match self.parts {
            Parts::Elements => vec![value],
            Parts::Members => vec![(Some("key"), Type::Text), value],
            Parts::Keys => vec![(None, Type::Text)],
        }
    }
}

/// A function that makes rows of JSON objects, such as `json_to_record`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRecords {
    /// Whether the argument is an array of objects, each of which makes a row, not a single object.
    pub is_set: bool,
    /// Whether the argument is a `jsonb`, not a `json`.
    pub binary: bool,
    /// Whether the first argument is a row that gives the columns. Otherwise the alias of the call lists them.
    pub has_base: bool,
    /// The columns of the rows, with their types. Each is named after the key of the objects from which its values
    /// come.
    pub columns: Vec<(Arc<str>, Type)>,
}

impl JsonRecords {
    /// Returns the function of this name, whose columns are still to be set. Returns `None` for any other name.
    pub fn named(name: &str) -> Option<Self> {
        let (binary, rest) = of_json(name)?;
        let (has_base, is_set) = match rest {
            "to_record" => (false, false),
            "to_recordset" => (false, true),
            "populate_record" => (true, false),
            "populate_recordset" => (true, true),
            _ => return None,
        };
        Some(Self { is_set, binary, has_base, columns: Vec::new() })
    }

    /// Returns the function's name in SQL, without a schema.
    pub fn name(&self) -> &'static str {
        match (self.has_base, self.is_set, self.binary) {
            (false, false, false) => "json_to_record",
            (false, false, true) => "jsonb_to_record",
            (false, true, false) => "json_to_recordset",
            (false, true, true) => "jsonb_to_recordset",
            (true, false, false) => "json_populate_record",
            (true, false, true) => "jsonb_populate_record",
            (true, true, false) => "json_populate_recordset",
            (true, true, true) => "jsonb_populate_recordset",
        }
    }
}

impl TableFunction {
    /// Returns the function that a name, with or without a schema, stands for. Returns `None` if no such function
    /// returns rows. Without a schema, the name is looked up in `pg_catalog`.
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
            ("pg_catalog", "pg_options_to_table") => TableFunction::Options,
            ("pg_catalog", "pg_get_keywords") => TableFunction::Keywords,
            ("pg_catalog", "regexp_matches") => TableFunction::Matches,
            ("pg_catalog", "pg_listening_channels") => TableFunction::Channels,
            ("pg_catalog", "jsonb_path_query") => TableFunction::PathQuery { zoned: false },
            ("pg_catalog", "jsonb_path_query_tz") => TableFunction::PathQuery { zoned: true },
            ("information_schema", "_pg_expandarray") => TableFunction::ExpandArray,
            ("pg_catalog", name) => TableFunction::Json(JsonRows::named(name)?),
            _ => return None,
        })
    }

    /// Returns the function's name in SQL, without a schema.
    pub fn name(self) -> &'static str {
        match self {
            TableFunction::Unnest => "unnest",
            TableFunction::Series => "generate_series",
            TableFunction::Subscripts => "generate_subscripts",
            TableFunction::ExpandArray => "_pg_expandarray",
            TableFunction::Options => "pg_options_to_table",
            TableFunction::Ancestors => "pg_partition_ancestors",
            TableFunction::Keywords => "pg_get_keywords",
            TableFunction::Matches => "regexp_matches",
            TableFunction::Channels => "pg_listening_channels",
            TableFunction::PathQuery { zoned: false } => "jsonb_path_query",
            TableFunction::PathQuery { zoned: true } => "jsonb_path_query_tz",
            TableFunction::Json(function) => function.name(),
        }
    }
}
