//! The syntax with which tools query the system catalogs: casts between names and numbers, and operators with a schema.

use super::binder::Binder;
use super::scope::Scope;
use super::typed::Typed;
use crate::SqlError;
use crate::depth::with_room;
use crate::error::unsupported;
use crate::expr::{ArrayFunction, Expr, Function, Strictness};
use crate::parse::names::name_parts;
use crate::types::decode_text;
use hotrow_storage::{Element, Registry, Type, Value};
use sqlparser::ast::{ArrayElemTypeDef, BinaryOperator as B, DataType, Expr as A};

/// A type whose values name objects of the catalogs, as a cast may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registered {
    /// `regclass`, `regtype`, `regnamespace`
    One(Registry),
    /// `regproc`, whose values are texts here
    Procedure,
    /// `regprocedure`, whose values are texts here: the names of functions without their arguments
    Signature,
    /// An array of `regclass`, `regtype` or `regnamespace`
    Array(Registry),
}

impl Registered {
    /// Returns the name of the type. For an array, this is the name of the element type.
    pub(super) fn name(self) -> &'static str {
        match self {
            Registered::One(registry) | Registered::Array(registry) => function_of(registry).trim_start(),
            Registered::Procedure => "regproc",
            Registered::Signature => "regprocedure",
        }
    }
}

/// Returns the name of the internal function that converts the name of an object to its number, and the number to the
/// name. The blank at its beginning sets the name apart from those of SQL's functions.
pub(super) fn function_of(registry: Registry) -> &'static str {
    match registry {
        Registry::Class => " regclass",
        Registry::Type => " regtype",
        Registry::Namespace => " regnamespace",
    }
}

/// Returns the type of objects of the catalogs that a type's name means, or `None` for any other type.
///
/// # Errors
/// 0A000 for those of PostgreSQL's types of this kind that are not supported, such as `regrole`.
pub(super) fn registry(ty: &DataType) -> Result<Option<Registered>, SqlError> {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = ty {
        return with_room(|| match registry(element)? {
            Some(Registered::One(registry)) => Ok(Some(Registered::Array(registry))),
            Some(_) => Err(unsupported(&format!("type {ty}"))),
            None => Ok(None),
        });
    }
    let DataType::Custom(name, _) = ty else {
        return Ok(matches!(ty, DataType::Regclass).then_some(Registered::One(Registry::Class)));
    };
    let parts = name_parts(name)?;
    let known = match parts.as_slice() {
        [name] => name.as_str(),
        [schema, name] if schema == "pg_catalog" => name.as_str(),
        _ => return Ok(None),
    };
    match known {
        "regclass" => Ok(Some(Registered::One(Registry::Class))),
        "regtype" => Ok(Some(Registered::One(Registry::Type))),
        "regnamespace" => Ok(Some(Registered::One(Registry::Namespace))),
        "regproc" => Ok(Some(Registered::Procedure)),
        "regprocedure" => Ok(Some(Registered::Signature)),
        "regoper" | "regoperator" | "regrole" | "regconfig" | "regdictionary" | "regcollation" => {
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

    /// Binds a cast to one of the types of the catalogs' objects, such as `regclass`.
    pub(super) fn registered(&mut self, to: Registered, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        let typed = self.expr(expr, scope)?;
        match to {
            Registered::One(registry) => {
                let ty = Type::Reg(registry);
                Ok(Typed::new(self.coerce(typed, ty, Strictness::Explicit)?, ty))
            }
            // The system relations' columns of type `regproc` are texts already.
            Registered::Procedure if typed.ty == Some(Type::Text) => Ok(typed),
            Registered::Procedure => self.resolve(" regproc", vec![typed]),
            Registered::Signature => self.resolve(" regprocedure", vec![typed]),
            Registered::Array(registry) => self.registered_array(registry, typed),
        }
    }

    /// Binds an array of names, which must be a string literal, as an array of the numbers of the objects.
    ///
    /// # Errors
    /// 0A000 if the array is no string literal, and the error of reading the literal if it is no array.
    fn registered_array(&mut self, registry: Registry, typed: Typed) -> Result<Typed, SqlError> {
        let Expr::Const(Value::Text(text)) = &typed.expr else {
            return Err(unsupported(&format!("an array of {} that is no string", Type::Reg(registry))));
        };
        let names = decode_text(Type::Array(Element::Text), text, self.view.styles)?;
        let Value::Array(names) = names else { return Ok(typed) };
        let number =
            |name: Value<'_>| self.resolve(function_of(registry), vec![Typed::unknown(Expr::Const(name.into_owned()))]);
        let numbers: Vec<_> =
            names.iter().map(number).map(|number| Ok(number?.expr)).collect::<Result<_, SqlError>>()?;
        let make = Function::Array(ArrayFunction::Make(Element::Oid));
        Ok(Typed::new(Expr::Call(make, numbers), Type::Array(Element::Oid)))
    }

    /// Casts between the number of an object and its name, or from one type of numbers of objects to another. Returns
    /// `None` for any other cast, which the caller then binds as an ordinary one.
    pub(super) fn named_object(
        &mut self,
        typed: &Typed,
        to: Type,
        strictness: Strictness,
    ) -> Result<Option<Expr>, SqlError> {
        match (typed.ty, to) {
            (Some(Type::Reg(registry)), to) if to.is_text() => {
                let number = Typed::new(typed.expr.clone(), Type::Oid);
                let name = self.resolve(function_of(registry), vec![number])?;
                self.coerce(name, to, strictness).map(Some)
            }
            (Some(Type::Oid | Type::Reg(_)), Type::Oid | Type::Reg(_)) => Ok(Some(typed.expr.clone())),
            (from, Type::Reg(registry)) if from.is_none_or(Type::is_text) && typed.expr != Expr::NULL => {
                let text = self.coerce(typed.clone(), Type::Text, Strictness::Implicit)?;
                self.resolve(function_of(registry), vec![Typed::new(text, Type::Text)]).map(|number| Some(number.expr))
            }
            _ => Ok(None),
        }
    }

    /// Casts a value to the form in which it is shown: the number of an object to the object's name, and the number of
    /// an enumerated type's label to the label. Any other value stays as it is.
    pub(super) fn with_name(&mut self, typed: Typed) -> Result<Typed, SqlError> {
        match typed.ty {
            Some(Type::Reg(_)) => Ok(Typed::new(self.coerce(typed, Type::Text, Strictness::Assignment)?, Type::Text)),
            Some(ty @ (Type::Enum(_) | Type::Array(Element::Enum(_)))) => {
                let text = if let Type::Enum(_) = ty { Type::Text } else { Type::Array(Element::Text) };
                Ok(Typed::new(self.coerce(typed, text, Strictness::Assignment)?, text))
            }
            _ => Ok(typed),
        }
    }
}
