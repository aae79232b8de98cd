//! CREATE TABLE AS and SELECT INTO: a table of the columns and rows of a query.

use super::binder::Binder;
use crate::depth::Syntax;
use crate::parse::named_columns::is_open;
use crate::parse::names::fold;
use crate::plan::CreateAs;
use crate::{SqlError, state};
use hotrow_storage::{Column, Element, Type};
use sqlparser::ast::{self, Expr, ObjectName, SetExpr};

/// Returns the definition of the table and the query of a SELECT INTO, or `None` if the query has no INTO.
///
/// # Errors
/// 42601 if INTO does not name exactly one table.
pub(super) fn of_select_into(query: &ast::Query) -> Result<Option<(ast::CreateTable, ast::Query)>, SqlError> {
    let SetExpr::Select(select) = &*query.body else { return Ok(None) };
    let Some(into) = &select.into else { return Ok(None) };
    let name = match into.targets.as_slice() {
        [Expr::Identifier(name)] => ObjectName::from(vec![name.clone()]),
        [Expr::CompoundIdentifier(parts)] => ObjectName::from(parts.clone()),
        _ => return Err(SqlError::new(state::SYNTAX_ERROR, "SELECT INTO takes the name of one table")),
    };
    let create = ast::helpers::stmt_create_table::CreateTableBuilder::new(name).temporary(into.temporary).build();
    let select = ast::Select { into: None, ..(**select).clone() };
    let query = ast::Query { body: Box::new(SetExpr::Select(Box::new(select))), ..query.clone() };
    Ok(Some((create, query)))
}

impl Binder<'_> {
    /// Binds the query of CREATE TABLE AS or SELECT INTO. `name` is the name of the statement, for messages.
    ///
    /// # Errors
    /// 42701 if two columns have the same name. 42601 if the statement gives types or constraints, or more names of
    /// columns than the query has columns. Also the errors of the query.
    pub(super) fn create_as(
        &mut self,
        name: &'static str,
        create: ast::CreateTable,
        query: &ast::Query,
    ) -> Result<CreateAs, SqlError> {
        if !create.columns.iter().all(is_open) || !create.constraints.is_empty() {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "syntax error: CREATE TABLE AS takes names of columns alone",
            ));
        }
        let (query, mut output) = self.query(query)?;
        let names: Vec<_> = create.columns.iter().map(|column| fold(&column.name)).collect();
        if names.len() > output.len() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "too many column names were specified"));
        }
        output.iter_mut().zip(names).for_each(|(column, name)| column.name = name);
        let create = ast::CreateTable { columns: Vec::new(), ..create };
        let mut columns: Vec<Column> = Vec::with_capacity(output.len());
        let domains = output.iter().map(|column| column.domain).collect();
        for column in output {
            if columns.iter().any(|before| before.name == column.name) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
            }
            columns.push(Column::nullable(&column.name, stored_type(column.ty)));
        }
        Ok(CreateAs { create: Syntax::new(create), columns, domains, query, name })
    }
}

/// Returns the type of the stored column for values of a type. The vectors of the catalogs become arrays, and
/// `regclass` and the like become numbers. Any other type stays as it is.
pub(crate) fn stored_type(ty: Type) -> Type {
    match ty {
        Type::Array(Element::Int2Vector) => Type::Array(Element::Int2),
        Type::Array(Element::OidVector) => Type::Array(Element::Oid),
        Type::Reg(_) => Type::Oid,
        other => other,
    }
}
