//! Functions in FROM, whose results are rows.

use super::from::From;
use super::types::{common_number, type_name};
use super::{Aggregates, Binder, Scope, Typed, fold};
use crate::error::unsupported;
use crate::expr::Strictness;
use crate::plan::{Node, RowsOf, TableFunction};
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use sqlparser::ast::{self, Expr as A};

/// A function in FROM as it is written.
pub(super) struct Written<'a> {
    pub(super) function: TableFunction,
    pub(super) arguments: Vec<&'a A>,
    /// WITH ORDINALITY
    pub(super) numbered: bool,
    pub(super) alias: Option<&'a ast::TableAlias>,
}

impl<'a> Written<'a> {
    /// The function of a name with these arguments; none if there is no such.
    pub(super) fn named(
        name: &ast::ObjectName,
        arguments: &'a [ast::FunctionArg],
        numbered: bool,
        alias: Option<&'a ast::TableAlias>,
    ) -> Option<Self> {
        let parts = super::name_parts(name).ok()?;
        let function = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["unnest"] | ["pg_catalog", "unnest"] => TableFunction::Unnest,
            ["pg_partition_ancestors"] | ["pg_catalog", "pg_partition_ancestors"] => TableFunction::Ancestors,
            ["generate_series"] | ["pg_catalog", "generate_series"] => TableFunction::Series,
            _ => return None,
        };
        let plain = |argument: &'a ast::FunctionArg| match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        };
        let arguments = arguments.iter().map(plain).collect::<Option<_>>()?;
        Some(Self { function, arguments, numbered, alias })
    }
}

impl Binder<'_> {
    /// A function in FROM. `visible` are the items that its arguments may look at.
    pub(super) fn table_function(&mut self, written: &Written<'_>, visible: Scope) -> Result<From, SqlError> {
        let function = written.function;
        let aggregates = std::mem::replace(&mut self.aggregates, Aggregates::Refused("functions in FROM"));
        let bound = self.looking_at(visible, |binder| {
            written.arguments.iter().map(|argument| binder.expr(argument, &Scope::default())).collect()
        });
        self.aggregates = aggregates;
        let (arguments, shown): (Vec<Typed>, _) = bound?;
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let wrong = || super::calls::no_function(function.name(), &types);
        let (wanted, results): (Vec<Type>, Vec<Type>) = match function {
            TableFunction::Unnest => {
                let mut pairs = Vec::with_capacity(types.len());
                for ty in &types {
                    match ty {
                        Some(array @ Type::Array(element)) => pairs.push((*array, element.ty())),
                        None => {
                            let message = format!("function {}({}) is not unique", function.name(), type_name(None));
                            let error = SqlError::new(state::AMBIGUOUS_FUNCTION, message);
                            let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
                            return Err(error.hint(hint));
                        }
                        Some(_) => return Err(wrong()),
                    }
                }
                if pairs.is_empty() {
                    return Err(wrong());
                }
                pairs.into_iter().unzip()
            }
            TableFunction::Ancestors => match types.as_slice() {
                [_] => (vec![Type::Int4], vec![Type::Int4]),
                _ => return Err(wrong()),
            },
            TableFunction::Series => {
                if !(2..=3).contains(&types.len()) {
                    return Err(wrong());
                }
                let ty = match common_number(&types) {
                    Some(Type::Int2 | Type::Int4) => Type::Int4,
                    Some(Type::Int8) => Type::Int8,
                    Some(Type::Numeric(_)) => Type::Numeric(None),
                    None if types.iter().flatten().any(|ty| matches!(ty, Type::Timestamp | Type::TimestampTz)) => {
                        return Err(unsupported("generate_series of times"));
                    }
                    _ => return Err(wrong()),
                };
                (vec![ty; types.len()], vec![ty])
            }
        };
        let mut list = Vec::with_capacity(arguments.len());
        for (argument, ty) in arguments.into_iter().zip(wanted) {
            list.push(self.coerce(argument, ty, Strictness::Implicit)?);
        }
        // The only column of a function is called as the function's rows are.
        let alias = written.alias.map(|alias| fold(&alias.name));
        let name = match results.len() {
            1 => alias.unwrap_or_else(|| function.name().to_owned()),
            _ => function.name().to_owned(),
        };
        let mut columns: Vec<_> = results.into_iter().map(|ty| OutputColumn { name: name.clone(), ty }).collect();
        if written.numbered {
            columns.push(OutputColumn { name: "ordinality".to_owned(), ty: Type::Int8 });
        }
        let node = Node::Function(Box::new(RowsOf { function, arguments: list, numbered: written.numbered }));
        self.rows_item(node, shown, columns, Some(function.name().to_owned()), written.alias)
    }
}
