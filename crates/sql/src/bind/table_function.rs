//! Functions in FROM, whose results are rows.

use super::binder::{Aggregates, Binder};
use super::query::From;
use super::scope::Scope;
use super::typed::Typed;
use crate::parse::names::{fold, name_parts};
use crate::plan::Node;
use crate::plan::table_function::{RowsOf, TableFunction};
use crate::{OutputColumn, SqlError};
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
        let function = TableFunction::named(&name_parts(name).ok()?)?;
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
        let (list, results) = self.table_function_types(function, arguments)?;
        // The only column of a function is called as the function's rows are.
        let alias = written.alias.map(|alias| fold(&alias.name));
        let name = match results.len() {
            1 => alias.unwrap_or_else(|| function.name().to_owned()),
            _ => function.name().to_owned(),
        };
        let column = |(own, ty): (Option<&str>, Type)| OutputColumn::new(own.unwrap_or(&name), ty);
        let mut columns: Vec<_> = results.into_iter().map(column).collect();
        if written.numbered {
            columns.push(OutputColumn::new("ordinality", Type::Int8));
        }
        let node = Node::Function(Box::new(RowsOf { function, arguments: list, numbered: written.numbered }));
        self.rows_item(node, shown, columns, Some(function.name().to_owned()), written.alias)
    }
}
