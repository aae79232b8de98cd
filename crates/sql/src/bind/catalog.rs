//! The syntax with which tools query the system catalogs: casts between names and numbers, and operators with a schema.

use super::binder::Binder;
use super::scope::Scope;
use super::typed::Typed;
use crate::SqlError;
use crate::error::unsupported;
use crate::expr::Strictness;
use crate::parse::names::name_parts;
use hotrow_storage::Type;
use sqlparser::ast::{BinaryOperator as B, DataType, Expr as A};

/// Returns the function that a cast to `regclass`, `regtype` and the like calls, or `None` for any other type.
pub(super) fn registry(ty: &DataType) -> Result<Option<&'static str>, SqlError> {
    let DataType::Custom(name, _) = ty else {
        return Ok(matches!(ty, DataType::Regclass).then_some(" regclass"));
    };
    let parts = name_parts(name)?;
    let known = match parts.as_slice() {
        [name] => name.as_str(),
        [schema, name] if schema == "pg_catalog" => name.as_str(),
        _ => return Ok(None),
    };
    match known {
        "regclass" => Ok(Some(" regclass")),
        "regtype" => Ok(Some(" regtype")),
        "regnamespace" => Ok(Some(" regnamespace")),
        "regproc" => Ok(Some(" regproc")),
        "regprocedure" | "regoper" | "regoperator" | "regrole" | "regconfig" | "regdictionary" | "regcollation" => {
            Err(unsupported(&format!("type {known}")))
        }
        _ => Ok(None),
    }
}

/// Returns the operator that `OPERATOR(schema.symbol)` means.
fn plain_operator(parts: &[String]) -> Result<B, SqlError> {
    let symbol = match parts {
        [symbol] => symbol.as_str(),
        [schema, symbol] if schema == "pg_catalog" => symbol.as_str(),
        _ => "",
    };
    Ok(match symbol {
        "=" => B::Eq,
        "<>" => B::NotEq,
        "<" => B::Lt,
        "<=" => B::LtEq,
        ">" => B::Gt,
        ">=" => B::GtEq,
        "+" => B::Plus,
        "-" => B::Minus,
        "*" => B::Multiply,
        "/" => B::Divide,
        "%" => B::Modulo,
        "||" => B::StringConcat,
        "~" => B::PGRegexMatch,
        "~*" => B::PGRegexIMatch,
        "!~" => B::PGRegexNotMatch,
        "!~*" => B::PGRegexNotIMatch,
        "~~" => B::PGLikeMatch,
        "~~*" => B::PGILikeMatch,
        "!~~" => B::PGNotLikeMatch,
        "!~~*" => B::PGNotILikeMatch,
        _ => return Err(unsupported(&format!("operator {}", parts.join(".")))),
    })
}

impl Binder<'_> {
    /// Binds `left OPERATOR(schema.symbol) right`.
    pub(super) fn qualified_operator(
        &mut self,
        whole: &A,
        left: &A,
        parts: &[String],
        right: &A,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        self.binary(whole, left, &plain_operator(parts)?, right, scope)
    }

    /// Binds a cast to `regclass`, `regtype` and the like. It makes the object's number of a name, and the name of a
    /// number.
    pub(super) fn registered(&mut self, registry: &str, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        let mut typed = self.expr(expr, scope)?;
        // The system relations' columns of type `regproc` are texts already.
        if registry == " regproc" && typed.ty == Some(Type::Text) {
            return Ok(typed);
        }
        if typed.ty == Some(Type::Int8) {
            typed = Typed::new(self.coerce(typed, Type::Int4, Strictness::Explicit)?, Type::Int4);
        }
        self.resolve(registry, vec![typed])
    }

    /// Binds a cast to text of an expression that is itself a cast to `regclass`, `regtype` and the like: the result is
    /// the object's name. Returns `None` if `expr` is no such cast.
    pub(super) fn registered_name(&mut self, expr: &A, scope: &Scope) -> Result<Option<Typed>, SqlError> {
        let A::Cast { expr: inner, data_type, .. } = expr else { return Ok(None) };
        let Some(registry) = registry(data_type)? else { return Ok(None) };
        let typed = self.registered(registry, inner, scope)?;
        if typed.ty == Some(Type::Oid) { self.resolve(registry, vec![typed]).map(Some) } else { Ok(Some(typed)) }
    }
}
