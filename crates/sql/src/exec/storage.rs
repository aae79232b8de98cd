//! Checks what definitions say about storage: `TABLESPACE`, `WITH (…)`, operator classes. The options have no effect;
//! those that PostgreSQL would refuse are refused.

use super::ddl::shown;
use crate::parse::names::{fold, object_name};
use crate::system::has_operator_class;
use crate::{SqlError, state};
use hotrow_storage::{IndexKind, Type};
use sqlparser::ast::{self, BinaryOperator, CreateTableOptions, Expr, SqlOption};
use std::fmt::Display;

/// The values that a storage parameter may have.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Int(i64, i64),
    Real(f64, f64),
    Word(&'static [&'static str]),
}

const MOST: i64 = i32::MAX as i64;

/// The storage parameters of tables.
const OF_TABLES: [(&str, Kind); 22] = [
    ("autovacuum_analyze_scale_factor", Kind::Real(0.0, 100.0)),
    ("autovacuum_analyze_threshold", Kind::Int(0, MOST)),
    ("autovacuum_enabled", Kind::Bool),
    ("autovacuum_freeze_max_age", Kind::Int(100_000, 2_000_000_000)),
    ("autovacuum_freeze_min_age", Kind::Int(0, 1_000_000_000)),
    ("autovacuum_freeze_table_age", Kind::Int(0, 2_000_000_000)),
    ("autovacuum_multixact_freeze_max_age", Kind::Int(10_000, 2_000_000_000)),
    ("autovacuum_multixact_freeze_min_age", Kind::Int(0, 1_000_000_000)),
    ("autovacuum_multixact_freeze_table_age", Kind::Int(0, 2_000_000_000)),
    ("autovacuum_vacuum_cost_delay", Kind::Real(0.0, 100.0)),
    ("autovacuum_vacuum_cost_limit", Kind::Int(1, 10_000)),
    ("autovacuum_vacuum_insert_scale_factor", Kind::Real(0.0, 100.0)),
    ("autovacuum_vacuum_insert_threshold", Kind::Int(-1, MOST)),
    ("autovacuum_vacuum_scale_factor", Kind::Real(0.0, 100.0)),
    ("autovacuum_vacuum_threshold", Kind::Int(0, MOST)),
    ("fillfactor", Kind::Int(10, 100)),
    ("log_autovacuum_min_duration", Kind::Int(-1, MOST)),
    ("parallel_workers", Kind::Int(0, 1024)),
    ("toast_tuple_target", Kind::Int(128, 8160)),
    ("user_catalog_table", Kind::Bool),
    ("vacuum_index_cleanup", Kind::Word(&["auto", "on", "off", "true", "false", "yes", "no", "1", "0"])),
    ("vacuum_truncate", Kind::Bool),
];

/// The storage parameters of ordered indexes. Hash indexes have only the first.
const OF_INDEXES: [(&str, Kind); 3] = [
    ("fillfactor", Kind::Int(10, 100)),
    ("deduplicate_items", Kind::Bool),
    ("vacuum_cleanup_index_scale_factor", Kind::Real(0.0, 1e10)),
];

/// Checks the options of CREATE TABLE.
///
/// # Errors
/// Those of PostgreSQL: 42704 for a tablespace, 22023 for parameters.
pub(super) fn check_table(options: &CreateTableOptions) -> Result<(), SqlError> {
    match options {
        CreateTableOptions::None => Ok(()),
        CreateTableOptions::With(options) => check_parameters(options),
        CreateTableOptions::Plain(options)
        | CreateTableOptions::Options(options)
        | CreateTableOptions::TableProperties(options) => options.iter().try_for_each(|option| match option {
            SqlOption::TableSpace(space) => check_tablespace(&space.name.to_lowercase()),
            other => Err(syntax(other)?),
        }),
    }
}

/// Checks the parameters of a table.
///
/// # Errors
/// 22023, or 0A000 for `oids`.
pub(super) fn check_parameters(options: &[SqlOption]) -> Result<(), SqlError> {
    let named = options.iter().map(|option| match option {
        SqlOption::KeyValue { key, value } => Ok((fold(key), written(value)?)),
        SqlOption::Ident(key) => Ok((fold(key), "true".to_owned())),
        other => Err(syntax(other)?),
    });
    let mut named = named.collect::<Result<Vec<_>, _>>()?;
    // PostgreSQL had OIDs once, and still accepts that a table has none.
    if let Some(at) = named.iter().position(|(name, _)| name == "oids") {
        let (name, value) = named.remove(at);
        if boolean(&name, &value)? {
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "tables declared WITH OIDS are not supported"));
        }
    }
    check_values(&named, &OF_TABLES)
}

/// Checks the parameters of an index.
///
/// # Errors
/// 22023
pub(super) fn check_index(kind: IndexKind, options: &[Expr]) -> Result<(), SqlError> {
    let named = options.iter().map(|option| match option {
        Expr::Identifier(name) => Ok((fold(name), "true".to_owned())),
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match &**left {
            Expr::Identifier(name) => Ok((fold(name), written(right)?)),
            other => Err(syntax(other)?),
        },
        other => Err(syntax(other)?),
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    check_values(&named, if kind == IndexKind::Hash { &OF_INDEXES[..1] } else { &OF_INDEXES })
}

/// Checks that an operator class exists and accepts the type of the index's column. Each type has one order and one
/// hash, so that the class has no other effect.
///
/// # Errors
/// 42704 if there is no such class, 42804 if it is another type's.
pub(super) fn check_operator_class(name: &ast::ObjectName, kind: IndexKind, ty: Type) -> Result<(), SqlError> {
    let name = object_name(name)?.name;
    let method = if kind == IndexKind::Hash { "hash" } else { "btree" };
    match has_operator_class(&name, ty) {
        Some(true) => Ok(()),
        Some(false) => {
            let message = format!("operator class \"{name}\" does not accept data type {ty}");
            Err(SqlError::new(state::DATATYPE_MISMATCH, message))
        }
        None => {
            let message = format!("operator class \"{name}\" does not exist for access method \"{method}\"");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    }
}

fn check_tablespace(name: &str) -> Result<(), SqlError> {
    match name {
        "pg_default" => Ok(()),
        "pg_global" => Err(wrong("only shared relations can be placed in pg_global tablespace".to_owned())),
        _ => Err(SqlError::new(state::UNDEFINED_OBJECT, format!("tablespace \"{name}\" does not exist"))),
    }
}

fn check_values(named: &[(String, String)], known: &[(&str, Kind)]) -> Result<(), SqlError> {
    for (at, (name, value)) in named.iter().enumerate() {
        let Some((_, kind)) = known.iter().find(|(known, _)| known == name) else {
            return Err(wrong(format!("unrecognized parameter \"{name}\"")));
        };
        if named[..at].iter().any(|(before, _)| before == name) {
            return Err(wrong(format!("parameter \"{name}\" specified more than once")));
        }
        let outside = |least: String, most: String| {
            wrong(format!("value {value} out of bounds for option \"{name}\""))
                .detail(format!("Valid values are between \"{least}\" and \"{most}\"."))
        };
        let number = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match *kind {
            Kind::Bool => drop(boolean(name, value)?),
            Kind::Int(least, most) => {
                let number =
                    number.ok_or_else(|| wrong(format!("invalid value for integer option \"{name}\": {value}")))?;
                if !(least..=most).contains(&(number.round_ties_even() as i64)) {
                    return Err(outside(least.to_string(), most.to_string()));
                }
            }
            Kind::Real(least, most) => {
                let invalid = || wrong(format!("invalid value for floating point option \"{name}\": {value}"));
                if !(least..=most).contains(&number.ok_or_else(invalid)?) {
                    return Err(outside(format!("{least:.6}"), format!("{most:.6}")));
                }
            }
            Kind::Word(words) => {
                if !words.iter().any(|word| word.eq_ignore_ascii_case(value)) {
                    return Err(wrong(format!("invalid value for enum option \"{name}\": {value}"))
                        .detail("Valid values are \"on\", \"off\", and \"auto\"."));
                }
            }
        }
    }
    Ok(())
}

/// Reads the Boolean value of a parameter: a word, or the beginning of a word if it is not that of another one, too.
fn boolean(name: &str, value: &str) -> Result<bool, SqlError> {
    let lower = value.to_lowercase();
    let begins = |word: &str, least: usize| lower.len() >= least && word.starts_with(&lower);
    if begins("true", 1) || begins("yes", 1) || lower == "on" || lower == "1" {
        return Ok(true);
    }
    if begins("false", 1) || begins("no", 1) || begins("off", 2) || lower == "0" {
        return Ok(false);
    }
    Err(wrong(format!("invalid value for boolean option \"{name}\": {value}")))
}

/// Returns the value of a parameter as it is written, without quotes.
fn written(value: &Expr) -> Result<String, SqlError> {
    Ok(match value {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.clone(),
            other => shown(other)?,
        },
        Expr::Identifier(word) => fold(word),
        other => shown(other)?,
    })
}

fn wrong(message: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

fn syntax(near: &impl Display) -> Result<SqlError, SqlError> {
    let near = shown(near)?;
    let word = near.split_whitespace().next().unwrap_or_default();
    Ok(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{word}\"")))
}
