//! The default names of result columns.

use super::binder::Binder;
use super::catalog::registry;
use crate::parse::data_type;
use crate::parse::names::{fold, name_parts};
use hotrow_storage::Type;
use sqlparser::ast::{self, Expr as A};

/// The name of a column for which there is no better one.
const UNNAMED: &str = "?column?";

/// The quality of a default name. A cast or a CASE takes the name of its operand only if that name is strong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    None,
    Weak,
    Strong,
}

impl Binder<'_> {
    /// Returns the name of a result column without an alias.
    pub(super) fn default_name(expr: &A) -> String {
        name(expr).0
    }
}

/// Returns the name of an index's column: the name of the indexed column or of the called function, or `expr` for any
/// other expression.
pub fn index_column_name(expr: &A) -> String {
    let (name, _) = name(expr);
    if name == UNNAMED { "expr".to_owned() } else { name }
}

fn name(expr: &A) -> (String, Strength) {
    let fixed = |name: &str| (name.to_owned(), Strength::Strong);
    match expr {
        A::Identifier(ident) => (fold(ident), Strength::Strong),
        A::CompoundIdentifier(parts) => (parts.last().map(fold).unwrap_or_default(), Strength::Strong),
        A::Nested(inner) | A::Collate { expr: inner, .. } => name(inner),
        A::Function(function) => {
            let parts = name_parts(&function.name).ok();
            (parts.and_then(|mut parts| parts.pop()).unwrap_or_default(), Strength::Strong)
        }
        A::Cast { expr, data_type, .. } => match name(expr) {
            strong @ (_, Strength::Strong) => strong,
            _ => (cast_name(data_type), Strength::Weak),
        },
        A::TypedString(typed) => (cast_name(&typed.data_type), Strength::Weak),
        A::Case { else_result, .. } => match else_result.as_deref().map(name) {
            Some(strong @ (_, Strength::Strong)) => strong,
            _ => ("case".to_owned(), Strength::Weak),
        },
        A::Ceil { .. } => fixed("ceil"),
        A::Floor { .. } => fixed("floor"),
        A::Substring { shorthand: true, .. } => fixed("substr"),
        A::Substring { .. } => fixed("substring"),
        A::Overlay { .. } => fixed("overlay"),
        A::Position { .. } => fixed("position"),
        A::Trim { trim_where, .. } => fixed(match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        A::Extract { .. } => fixed("extract"),
        A::Interval(_) => ("interval".to_owned(), Strength::Weak),
        A::AtTimeZone { .. } => fixed("timezone"),
        A::Exists { negated: false, .. } => fixed("exists"),
        A::Array(_) => fixed("array"),
        A::CompoundFieldAccess { root, access_chain } => {
            let mut dots = access_chain.iter().filter_map(|access| match access {
                ast::AccessExpr::Dot(name) => Some(name),
                ast::AccessExpr::Subscript(_) => None,
            });
            name(dots.next_back().unwrap_or(root))
        }
        A::Subquery(query) => match super::subquery::name_of(query) {
            Some(name) => (name, Strength::Strong),
            None => (UNNAMED.to_owned(), Strength::None),
        },
        _ => (UNNAMED.to_owned(), Strength::None),
    }
}

/// Returns the name of a type that is not built in, without its schema. For an array type, this is the name of the
/// element type. Returns `None` if the type has no name of this kind.
fn made_name(ty: &ast::DataType) -> Option<String> {
    match ty {
        ast::DataType::Custom(name, _) => name_parts(name).ok()?.pop(),
        ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => made_name(element),
        _ => None,
    }
}

/// Returns PostgreSQL's short name of a type, which is the default name of a column that is a cast.
fn cast_name(ty: &ast::DataType) -> String {
    if let Ok(Some(registered)) = registry(ty) {
        return registered.name().to_owned();
    }
    let known = match data_type(ty) {
        Ok(Type::Array(element)) => Ok(element.ty()),
        other => other,
    };
    let name = match known {
        Ok(Type::Bool) => "bool",
        Ok(Type::Int2) => "int2",
        Ok(Type::Int4) => "int4",
        Ok(Type::Int8) => "int8",
        Ok(Type::Float4) => "float4",
        Ok(Type::Float8) => "float8",
        Ok(Type::Numeric(_)) => "numeric",
        Ok(Type::Char(_)) => "bpchar",
        Ok(Type::Varchar(_)) => "varchar",
        Ok(Type::Text) => "text",
        Ok(Type::Name) => "name",
        Ok(Type::Oid | Type::Reg(_)) => "oid",
        Ok(Type::Json) => "json",
        Ok(Type::Jsonb) => "jsonb",
        Ok(Type::Bytea) => "bytea",
        Ok(Type::Date) => "date",
        Ok(Type::Timestamp(_)) => "timestamp",
        Ok(Type::TimestampTz(_)) => "timestamptz",
        Ok(Type::Time(_)) => "time",
        Ok(Type::Interval(_)) => "interval",
        Ok(Type::Uuid) => "uuid",
        Ok(Type::Array(_) | Type::Enum(_)) | Err(_) => return made_name(ty).unwrap_or_else(|| UNNAMED.to_owned()),
    };
    name.to_owned()
}
