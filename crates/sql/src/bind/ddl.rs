//! Binds the expressions of table definitions (DEFAULT, CHECK, generated columns) and those that ALTER TABLE evaluates.

use super::binder::Binder;
use super::called::write_schemas;
use super::scope::Scope;
use super::surroundings::Surroundings;
use super::typed::Typed;
use crate::catalog::view::Meanings;
use crate::catalog::{
    Computed, Declared, DefaultSource, DefaultValue, Mentioned, RowExpression, Table, View, Written, visible_columns,
};
use crate::depth::{Syntax, with_room};
use crate::expr::{Expr, Function, SequenceFunction as S, Strictness, can_cast};
use crate::full_name::split;
use crate::opaque::Opaque;
use crate::parse::parse_expr;
use crate::schema::undefined_table;
use crate::types::{DomainId, Styles, now};
use crate::{SqlError, state};
use hotrow_storage::{Column, TableSchema, Type, Value};
use hotrow_sync::Arc;
use sqlparser::ast;

/// Binds a DEFAULT, as a value of its column or argument. The expression may refer to no column.
pub fn define_default(expr: &ast::Expr, column: &str, ty: Type, view: View<'_>) -> Result<DefaultValue, SqlError> {
    with_room(|| {
        let expression = written(expr, view)?;
        let mut binder = binder_of(&expression, view);
        binder.defines = true;
        let mut bound = binder.default_expression(&expression, column, ty)?;
        let mut syntax = (*expression.syntax).clone();
        let functions = write_schemas(&mut syntax, &binder.called, view);
        let mut sequences = Vec::new();
        fix_sequences(&mut bound, &mut |name| {
            let id = view.named_sequence(name)?.id;
            sequences.push((name.to_owned(), id));
            Ok(id)
        })?;
        let expression = match functions.is_empty() {
            true => {
                expression.keep(Opaque::new(bound));
                expression
            }
            false => Written::new(Syntax::new(syntax), expression.styles).calling(functions),
        };
        Ok(DefaultValue { source: DefaultSource::Written(expression, sequences), types: vec![ty] })
    })
}

/// Binds the DEFAULT of a stored definition again: when the database is opened, or when an enumerated type gets another
/// name. Its functions use the same sequences as before, even if the sequences have other names now. A DEFAULT that
/// calls users' functions stays unbound, since each statement binds it for itself.
///
/// # Errors
/// If the expression cannot be bound any more.
pub fn bind_stored_default(default: &DefaultValue, view: View<'_>) -> Result<(), SqlError> {
    let DefaultSource::Written(expression, sequences) = &default.source else { return Ok(()) };
    if default.calling().is_some() {
        return Ok(());
    }
    with_room(|| {
        let mut bound = binder_of(expression, view).default_expression(expression, "", default.types[0])?;
        fix_known(&mut bound, sequences)?;
        expression.keep(Opaque::new(bound));
        Ok(())
    })
}

/// Replaces the names of sequences in a default by the numbers of those that the default has always used.
fn fix_known(bound: &mut Expr, sequences: &[(String, u32)]) -> Result<(), SqlError> {
    fix_sequences(bound, &mut |name| {
        let known = sequences.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        known.ok_or_else(|| undefined_table(name))
    })
}

impl Binder<'_> {
    /// Returns the bound default of each column for which `is_needed` is true, because a statement may supply no value
    /// for it. The entry of any other column, and of a column without a default, is `None`.
    pub(crate) fn defaults(
        &mut self,
        table: &Table,
        is_needed: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<Expr>>, SqlError> {
        let has_default = |column: usize| {
            (table.rules.defaults[column].is_some() || table.domain(column).is_some()) && is_needed(column)
        };
        let columns = 0..table.rules.defaults.len();
        columns.map(|column| has_default(column).then(|| self.default_of(table, column)).transpose()).collect()
    }

    /// Returns the value of a column for which a statement supplies none: its DEFAULT, or NULL.
    pub(crate) fn default_of(&mut self, table: &Table, column: usize) -> Result<Expr, SqlError> {
        let default = table.rules.defaults.get(column).and_then(Option::as_ref);
        self.value_without(default, table.domain(column))
    }

    /// Returns the value of a column with this default and this domain for which a statement supplies none.
    pub(crate) fn value_without(
        &mut self,
        default: Option<&DefaultValue>,
        domain: Option<DomainId>,
    ) -> Result<Expr, SqlError> {
        default.into_iter().for_each(|default| self.uses_default(default));
        let Some(id) = domain else { return default.map_or(Ok(Expr::NULL), |default| self.default_value(default)) };
        let of_domain = self.view.domain_of(id).and_then(|made| made.default.clone());
        let value = default.or(of_domain.as_ref()).map_or(Ok(Expr::NULL), |default| self.default_value(default))?;
        self.constrained(value, None, domain)
    }

    /// Adds the sequences of a default to those that the plan uses.
    pub(super) fn uses_default(&mut self, default: &DefaultValue) {
        let view = self.view;
        for sequence in default.sequences().iter().filter_map(|id| view.sequence_by_id(*id)) {
            self.depends.used.add_sequence(&sequence, view);
        }
    }

    /// Returns the bound expression of a default. A default that calls users' functions is bound anew, with the present
    /// definitions of these functions.
    pub(crate) fn default_value(&mut self, default: &DefaultValue) -> Result<Expr, SqlError> {
        let Some((expression, sequences)) = default.calling() else { return Ok(default.value()) };
        let fixed = Meanings { functions: expression.functions.clone(), ..Meanings::default() };
        let around = std::mem::replace(&mut self.around, Surroundings::of_view(fixed));
        let styles = std::mem::replace(&mut self.view.styles, expression.styles);
        let (source, variables) = (std::mem::take(&mut self.source), self.parameters.variables.take());
        let bound = with_room(|| self.default_expression(expression, "", default.types[0]));
        (self.around, self.view.styles) = (around, styles);
        (self.source, self.parameters.variables) = (source, variables);
        let mut bound = bound?;
        fix_known(&mut bound, sequences)?;
        Ok(default.types.windows(2).fold(bound, |value, types| value.cast_on_assignment(types[0], types[1])))
    }

    /// Binds the expression of a DEFAULT as a value of the type of its column or argument.
    fn default_expression(&mut self, expression: &Written, column: &str, ty: Type) -> Result<Expr, SqlError> {
        let typed = self.plain(&expression.syntax, &Scope::default(), "DEFAULT expressions");
        let typed = typed.map_err(|error| match error.state {
            state::UNDEFINED_COLUMN => {
                SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot use column reference in DEFAULT expression")
            }
            _ => error,
        })?;
        as_written(&typed, ty).map_or_else(|| self.assign(typed, column, ty.into()), Ok).map_err(default_mismatch)
    }
}

/// Binds the condition of a stored CHECK constraint again: when the database is opened, or when an enumerated type gets
/// another name.
///
/// # Errors
/// If the condition cannot be bound any more, or refers to other columns than before.
pub fn bind_stored_check(condition: &RowExpression, view: View<'_>) -> Result<(), SqlError> {
    with_room(|| {
        let (expression, mentioned) = (&condition.expression, &condition.mentioned);
        let (bound, columns) = bind_condition(expression, &Scope::mentioned(mentioned), view)?;
        if columns.len() != condition.columns.len() {
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, "the condition looks at other columns"));
        }
        expression.keep(Opaque::new(bound));
        Ok(())
    })
}

/// Makes the stored form of an expression that a new definition contains. The names of users' types get their
/// schemas, and the form keeps the session's styles and the present moment, for which `now` in a literal stands.
pub(super) fn written(expr: &ast::Expr, view: View<'_>) -> Result<Written, SqlError> {
    let qualified = if view.named_types().is_empty() { None } else { view.with_qualified_types(&expr.to_string())? };
    let syntax = qualified.map_or_else(|| Ok(Syntax::new(expr.clone())), |text| parse_expr(&text))?;
    Ok(Written::new(syntax, Styles { moment: Some(now()), ..view.styles }))
}

/// Makes a binder for an expression of a stored definition. There is no text in which an error could give a position.
pub(super) fn binder_of<'a>(expression: &Written, view: View<'a>) -> Binder<'a> {
    Binder::new("", 0, View { styles: expression.styles, ..view }, Vec::new())
}

/// Returns a literal of another type as a cast to the type of the default, so that the default is shown as it was
/// written and cast only when it is used. Returns `None` if the expression is no such literal.
fn as_written(typed: &Typed, to: Type) -> Option<Expr> {
    let from = typed.ty.filter(|from| *from != to && can_cast(*from, to, Strictness::Assignment))?;
    let literal = matches!(typed.expr, Expr::Const(_)).then(|| Box::new(typed.expr.clone()))?;
    Some(Expr::Cast(literal, from, to, Strictness::Assignment))
}

/// Replaces the names of sequences in a definition by their numbers, so that the definition keeps its sequences when
/// they are renamed. `number_of` returns the number of the sequence that a name means.
fn fix_sequences(expr: &mut Expr, number_of: &mut dyn FnMut(&str) -> Result<u32, SqlError>) -> Result<(), SqlError> {
    if let Expr::Call(Function::Sequence(S::NextValue | S::CurrentValue | S::SetValue), arguments) = expr
        && let Some(argument @ Expr::Const(Value::Text(_))) = arguments.first_mut()
        && let Expr::Const(Value::Text(name)) = argument
    {
        *argument = Expr::Const(Value::Int8(i64::from(number_of(name)?)));
    }
    expr.parts_mut().into_iter().try_for_each(|part| fix_sequences(part, number_of))
}

/// Binds the USING expression of ALTER COLUMN … TYPE over the table's old columns, with an assignment cast to the new
/// type.
pub fn bind_conversion(
    expr: &ast::Expr,
    table: &Table,
    column: &str,
    to: Declared,
    view: View<'_>,
) -> Result<Expr, SqlError> {
    with_room(|| {
        let mut binder = Binder::new("", 0, view, Vec::new());
        let typed = binder.plain(expr, &Scope::table(table, None), "transform expressions")?;
        binder.assign(typed, column, to)
    })
}

/// Binds the condition of a CHECK constraint over a table's columns.
pub fn define_check(expr: &ast::Expr, table: &Table, view: View<'_>) -> Result<RowExpression, SqlError> {
    with_room(|| {
        let expression = written(expr, view)?;
        let (bound, columns) = bind_condition(&expression, &Scope::table(table, None), view)?;
        expression.keep(Opaque::new(bound));
        Ok(RowExpression { expression, mentioned: Arc::new(mentioned(expr, &table.schema)), columns })
    })
}

/// Binds the value of the generated column at position `at` of a table. `generated` has the positions of all generated
/// columns of the table, to which the expression may not refer.
///
/// # Errors
/// Those of PostgreSQL: 42P17 if the expression refers to a generated column or is not immutable, 42P02 if it has a
/// parameter, 42804 if the value cannot be assigned to the column.
pub fn define_generated(
    expr: &ast::Expr,
    at: usize,
    schema: &TableSchema,
    generated: &[usize],
    view: View<'_>,
) -> Result<Computed, SqlError> {
    with_room(|| {
        let expression = written(expr, view)?;
        let visible = &schema.columns[..visible_columns(schema)];
        let all = visible.iter().map(|column| (column.name.clone(), column.ty)).collect();
        let scope = Scope::mentioned(&Mentioned { table: schema.name.clone(), columns: all });
        let column = &visible[at];
        let (bound, columns) = bind_generated(&expression, &scope, &column.name, column.ty, view)?;
        if let Some(other) = columns.iter().find(|column| generated.contains(column)) {
            let name = &visible[*other].name;
            let message = format!("cannot use generated column \"{name}\" in column generation expression");
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message)
                .detail("A generated column cannot reference another generated column."));
        }
        let mut parameter = None;
        bound.any(&mut |part| {
            if let Expr::Param(at) = part {
                parameter = Some(at + 1);
            }
            parameter.is_some()
        });
        if let Some(number) = parameter {
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, format!("there is no parameter ${number}")));
        }
        if !bound.is_immutable(&|column| visible[columns[column]].ty) {
            let message = "generation expression is not immutable";
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
        }
        expression.keep(Opaque::new(bound));
        let mentioned = Arc::new(mentioned(expr, schema));
        Ok(Computed { column: at, value: RowExpression { expression, mentioned, columns } })
    })
}

/// Binds the value of a stored computed column again, as a value of type `ty`.
///
/// # Errors
/// If the expression cannot be bound any more, or refers to other columns than before.
pub fn bind_stored_computed(value: &RowExpression, ty: Type, view: View<'_>) -> Result<(), SqlError> {
    with_room(|| {
        let scope = Scope::mentioned(&value.mentioned);
        let (bound, columns) = bind_generated(&value.expression, &scope, "", ty, view)?;
        if columns.len() != value.columns.len() {
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, "the expression looks at other columns"));
        }
        value.expression.keep(Opaque::new(bound));
        Ok(())
    })
}

/// Returns the names that an expression over the rows of a table may mention: those of the table and of each column
/// whose name occurs in the expression's text. If the text may mention the whole row, these are all columns.
pub(super) fn mentioned(expr: &ast::Expr, schema: &TableSchema) -> Mentioned {
    let text = expr.to_string().to_lowercase();
    let may_be_in = |name: &str| text.contains(&name.replace('"', "\"\"").to_lowercase());
    let table = split(&schema.name).1.replace('"', "\"\"").to_lowercase();
    let may_be_row = text.match_indices(&table).any(|(at, _)| {
        let rest = text[at + table.len()..].trim_start_matches('"');
        !rest.starts_with('.') || rest.starts_with(".*")
    });
    let is_in = |column: &&Column| may_be_row || may_be_in(&column.name);
    let columns = schema.columns[..visible_columns(schema)].iter().filter(is_in);
    let columns = columns.map(|column| (column.name.clone(), column.ty)).collect();
    Mentioned { table: schema.name.clone(), columns }
}

/// Binds the value of a generated column, and casts it to the type of the column. The columns of the bound expression
/// are numbered as in [`bind_condition`].
fn bind_generated(
    expression: &Written,
    scope: &Scope,
    column: &str,
    ty: Type,
    view: View<'_>,
) -> Result<(Expr, Vec<usize>), SqlError> {
    let mut binder = binder_of(expression, view);
    let typed = binder.plain(&expression.syntax, scope, "column generation expressions").map_err(system_column)?;
    let bound = binder.assign(typed, column, ty.into()).map_err(default_mismatch)?;
    Ok(with_own_numbers(bound))
}

/// Replaces the error for a column that does not exist by PostgreSQL's error, if the column is one of PostgreSQL's
/// system columns. Any other error stays as it is.
fn system_column(error: SqlError) -> SqlError {
    let named = ["xmin", "xmax", "cmin", "cmax", "ctid"].iter().find(|name| {
        error.state == state::UNDEFINED_COLUMN && error.message == format!("column \"{name}\" does not exist")
    });
    let Some(name) = named else { return error };
    let message = format!("cannot use system column \"{name}\" in column generation expression");
    SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
}

/// Changes the message of a type error (42804) to PostgreSQL's words for defaults and generated columns. Any other
/// error stays as it is.
fn default_mismatch(error: SqlError) -> SqlError {
    match error.state {
        state::DATATYPE_MISMATCH => {
            let message = error.message.replacen("expression is", "default expression is", 1);
            SqlError { message, ..error }
        }
        _ => error,
    }
}

/// Binds a condition. Returns it with the positions in the scope of the columns that it reads. The bound condition
/// refers to them by their places in this list, so that it stays the same if the table's columns move.
fn bind_condition(expression: &Written, scope: &Scope, view: View<'_>) -> Result<(Expr, Vec<usize>), SqlError> {
    bind_check(expression, scope, view).map(with_own_numbers)
}

/// Numbers the columns of an expression anew, in the order in which it mentions them. Returns it with the former
/// numbers, in the same order.
pub(super) fn with_own_numbers(mut bound: Expr) -> (Expr, Vec<usize>) {
    let columns = columns_of(&bound);
    let number_of = |column: usize| columns.iter().position(|known| *known == column).unwrap_or_default();
    bound.change_columns(&|column| *column = number_of(*column));
    (bound, columns)
}

fn bind_check(expression: &Written, scope: &Scope, view: View<'_>) -> Result<Expr, SqlError> {
    let mut binder = binder_of(expression, view);
    let typed = binder.plain(&expression.syntax, scope, "check constraints")?;
    binder.condition(typed, "CHECK")
}

/// Returns the columns to which a condition refers, in the order in which it mentions them.
fn columns_of(condition: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    condition.any(&mut |part| {
        if let Expr::Column(column) = part
            && !columns.contains(column)
        {
            columns.push(*column);
        }
        false
    });
    columns
}
