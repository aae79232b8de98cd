//! The functions in FROM that make rows of JSON objects: `json_to_record` and its like, whose columns the alias lists,
//! and `json_populate_record` and its like, whose columns are those of a relation.

use super::binder::{Binder, span_of};
use super::errors::no_function;
use super::query::From;
use super::row_types::{columns_of, relation_of};
use super::scope::{Relation, Scope};
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{Expr, Strictness};
use crate::parse::names::{fold, name_parts, object_name};
use crate::plan::Node;
use crate::plan::table_function::{JsonRecords, RowSource, RowsOf};
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr};

/// The columns of the rows that a function makes: the name, the type, and the value for an object without this key.
type Columns = Vec<(String, Type, Expr)>;

impl Binder<'_> {
    /// Binds a call in FROM of a function that makes rows of JSON objects. Its arguments may refer to the items in
    /// `visible`. Returns `None` if the name means another function.
    pub(super) fn json_records(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[FunctionArg],
        (numbered, alias): (bool, Option<&ast::TableAlias>),
        visible: &Scope,
    ) -> Result<Option<From>, SqlError> {
        let parts = name_parts(name)?;
        let ([name_text] | [_, name_text]) = &parts[..] else { return Ok(None) };
        let Some(function) = JsonRecords::named(name_text) else { return Ok(None) };
        if parts.len() == 2 && parts[0] != "pg_catalog" {
            return Ok(None);
        }
        let span = span_of(name);
        let bind = |binder: &mut Self| binder.json_record_arguments(&function, arguments, alias);
        let bound = self.without_aggregates("functions in FROM", |binder| binder.looking_at(visible.clone(), bind));
        let ((object, columns), shown) = bound.map_err(|error| self.locate(error, span))?;
        let mut list = vec![object];
        let mut fields = Vec::with_capacity(columns.len());
        let mut output = Vec::with_capacity(columns.len());
        for (name, ty, base) in columns {
            list.push(base);
            output.push(OutputColumn::new(name.clone(), ty));
            fields.push((name.as_str().into(), ty));
        }
        if numbered {
            output.push(OutputColumn::new("ordinality", Type::Int8));
        }
        let function = RowSource::Records(JsonRecords { columns: fields, ..function });
        let node = Node::Function(Box::new(RowsOf { function, arguments: list, numbered }));
        let mut item = self.rows_item(node, shown, output, Some(name_text.clone()), alias)?;
        item.scope.relations_mut().iter_mut().for_each(Relation::mean_value);
        Ok(Some(item))
    }

    fn json_record_arguments(
        &mut self,
        function: &JsonRecords,
        arguments: &[FunctionArg],
        alias: Option<&ast::TableAlias>,
    ) -> Result<(Expr, Columns), SqlError> {
        let plain = |argument: &FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr.clone()),
            _ => Err(unsupported("this kind of argument")),
        };
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>, SqlError>>()?;
        let listed = alias.map(|alias| &alias.columns[..]).unwrap_or_default();
        let (columns, object) = match &arguments[..] {
            [object] if !function.has_base => (self.listed_columns(listed)?, object),
            [base, object] if function.has_base => (self.base_columns(base, function.name())?, object),
            _ => {
                let types = arguments.iter().map(|argument| Ok(self.expr(argument, &Scope::default())?.ty));
                return Err(no_function(function.name(), &types.collect::<Result<Vec<_>, SqlError>>()?));
            }
        };
        let object = self.expr(object, &Scope::default())?;
        let wanted = if function.binary { Type::Jsonb } else { Type::Json };
        if object.ty.is_some_and(|ty| ty != wanted) {
            return Err(no_function(function.name(), &[object.ty]));
        }
        Ok((self.coerce(object, wanted, Strictness::Implicit)?, columns))
    }

    /// Returns the columns that the alias of a call lists.
    ///
    /// # Errors
    /// 42601 if the alias lists no columns, or some without types; 42701 if two have the same name.
    fn listed_columns(&mut self, listed: &[ast::TableAliasColumnDef]) -> Result<Columns, SqlError> {
        if listed.is_empty() || listed.iter().any(|column| column.data_type.is_none()) {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        let mut columns: Columns = Vec::with_capacity(listed.len());
        for column in listed {
            let (name, Some(ty)) = (fold(&column.name), &column.data_type) else { continue };
            if columns.iter().any(|(known, ..)| *known == name) {
                let message = format!("column name \"{name}\" specified more than once");
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
            }
            columns.push((name, self.view.data_type(ty)?, Expr::NULL));
        }
        Ok(columns)
    }

    /// Returns the columns of the function's first argument, which is NULL cast to the type of a relation's rows, or a
    /// variable with a row. Its values take the place of missing keys.
    ///
    /// # Errors
    /// 0A000 for any other argument.
    fn base_columns(&mut self, base: &A, function: &str) -> Result<Columns, SqlError> {
        if let A::Cast { expr, data_type, .. } = base
            && matches!(&**expr, A::Value(value) if value.value == ast::Value::Null)
            && let ast::DataType::Custom(name, _) = data_type
            && relation_of(data_type, self.view)?.is_some()
        {
            let relation = self.found(&object_name(name)?)?;
            let columns = columns_of(self.view, &relation, &mut self.depends.used)?;
            return Ok(columns.into_iter().map(|(name, declared)| (name, declared.ty, Expr::NULL)).collect());
        }
        if let A::Cast { data_type, .. } = base {
            self.view.data_type(data_type)?;
        }
        match self.row_variable(base)? {
            Some(fields) => {
                let column = |(name, typed): (String, Typed)| Ok((name, typed.ty.unwrap_or(Type::Text), typed.expr));
                fields.into_iter().map(column).collect()
            }
            None => {
                Err(unsupported(&format!("this row in {function}")).hint("Give NULL::table, or a variable with a row."))
            }
        }
    }
}
