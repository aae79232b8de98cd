//! Functions in FROM, whose results are sets of rows, or one row with one value; and sequences in FROM.

use super::binder::Binder;
use super::named_arguments::positional;
use super::query::{From, computed};
use super::scope::{Relation, Scope};
use super::typed::Typed;
use crate::catalog::sequence::Sequence;
use crate::error::unsupported;
use crate::expr::{Expr, Function, SequenceFunction};
use crate::parse::names::{fold, name_parts};
use crate::plan::Node;
use crate::plan::table_function::{RowSource, RowsOf, TableFunction};
use crate::{OutputColumn, SqlError, schema};
use hotrow_storage::{Type, Value};
use sqlparser::ast::{self, Expr as A};

/// A call of a function in FROM, as the statement has it.
pub(super) struct Written<'a> {
    pub(super) function: TableFunction,
    pub(super) arguments: Vec<&'a A>,
    /// Whether the call has WITH ORDINALITY.
    pub(super) numbered: bool,
    pub(super) alias: Option<&'a ast::TableAlias>,
}

impl<'a> Written<'a> {
    /// Returns the call of the function of this name, or `None` if no such function returns rows or if an argument is
    /// no plain expression.
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
        let arguments = match positional(function.name(), arguments) {
            Some(arguments) => arguments,
            None => arguments.iter().map(plain).collect::<Option<_>>()?,
        };
        Some(Self { function, arguments, numbered, alias })
    }
}

impl Binder<'_> {
    /// Binds a call of a function in FROM. Its arguments may refer to the items in `visible`.
    pub(super) fn table_function(&mut self, written: &Written<'_>, visible: Scope) -> Result<From, SqlError> {
        let function = written.function;
        let arguments = |binder: &mut Self| {
            written.arguments.iter().map(|argument| binder.expr(argument, &Scope::default())).collect()
        };
        let bound = self.without_aggregates("functions in FROM", |binder| binder.looking_at(visible, arguments));
        let (arguments, shown): (Vec<Typed>, _) = bound?;
        let (list, results) = self.table_function_types(function, arguments)?;
        // If the function has a single column, an alias for its rows is also the name of the column.
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
        let (source, numbered) = (RowSource::BuiltIn(function), written.numbered);
        let node = Node::Function(Box::new(RowsOf { function: source, arguments: list, numbered }));
        let mut item = self.rows_item(node, shown, columns, Some(function.name().to_owned()), written.alias)?;
        item.scope.relations_mut().iter_mut().for_each(Relation::mean_value);
        Ok(item)
    }

    /// Binds a call in FROM of a function whose result is one value, which becomes a row. Its arguments may refer to
    /// the items in `visible`.
    pub(super) fn scalar_function(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[ast::FunctionArg],
        numbered: bool,
        alias: Option<&ast::TableAlias>,
        visible: Scope,
    ) -> Result<From, SqlError> {
        let call = A::Function(ast::Function {
            name: name.clone(),
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                duplicate_treatment: None,
                args: arguments.to_vec(),
                clauses: Vec::new(),
            }),
            filter: None,
            null_treatment: None,
            over: None,
            within_group: Vec::new(),
        });
        let bind = |binder: &mut Self| binder.expr(&call, &Scope::default());
        let bound = self.without_aggregates("functions in FROM", |binder| binder.looking_at(visible, bind));
        let (value, shown) = bound?;
        let (value, ty) = self.resolved(value)?;
        let own = name_parts(name)?.pop().unwrap_or_default();
        let column = alias.map_or_else(|| own.clone(), |alias| fold(&alias.name));
        let (mut row, mut columns) = (vec![value], vec![OutputColumn::new(&column, ty)]);
        if numbered {
            row.push(Expr::Const(Value::Int8(1)));
            columns.push(OutputColumn::new("ordinality", Type::Int8));
        }
        self.rows_item(computed(vec![row]), shown, columns, Some(own), alias)
    }

    /// Makes the FROM item of a sequence, whose only row has the sequence's last value.
    ///
    /// # Errors
    /// 0A000 in a view.
    pub(super) fn sequence_item(
        &mut self,
        sequence: &Sequence,
        alias: Option<&ast::TableAlias>,
    ) -> Result<From, SqlError> {
        if self.source.stars.is_some() {
            return Err(unsupported("a sequence in a view"));
        }
        self.depends.used.add_sequence(sequence, self.view);
        let of_sequence = |function| {
            let id = Expr::Const(Value::Int8(i64::from(sequence.id)));
            Expr::Call(Function::Sequence(function), vec![id])
        };
        let log_count = Expr::Const(Value::Int8(0));
        let row = vec![of_sequence(SequenceFunction::Stand), log_count, of_sequence(SequenceFunction::IsCalled)];
        let columns = [("last_value", Type::Int8), ("log_cnt", Type::Int8), ("is_called", Type::Bool)];
        let columns = columns.map(|(name, ty)| OutputColumn::new(name, ty)).to_vec();
        let name = schema::plain(&sequence.name).to_owned();
        self.rows_item(Node::Values(vec![row]), None, columns, Some(name), alias)
    }
}
