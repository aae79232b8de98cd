//! Definitions as SQL text: the results of `pg_get_indexdef` and similar functions.

use super::objects::{self, Kind, Object};
use crate::catalog::foreign_key::{ForeignKey, ReferentialAction};
use crate::catalog::view::StoredView;
use crate::catalog::{DefaultValue, RowExpression, Table, View, updatable};
use crate::context::SessionContext;
use crate::expr::{Expr, Function, SequenceFunction, Strictness, shown, shown_as};
use crate::schema::quoted;
use crate::types::{decode_text, encode_text, enumeration, oid as type_oid, type_name, without_modifier};
use bytes::BytesMut;
use hotrow_storage::{IndexRef, Type, Value};
use hotrow_sync::Arc;

/// A constraint of a table.
pub(super) enum Constraint<'t> {
    Key(IndexRef),
    Check(&'t RowExpression),
    Foreign(&'t ForeignKey),
}

/// Returns a table's constraints with their names: keys and unique constraints, CHECKs, foreign keys.
pub(super) fn constraints(table: &Table) -> Vec<(&str, Constraint<'_>)> {
    let of_index = |index: IndexRef| {
        let name = table.index_name(index);
        let is_one = index == IndexRef::Primary || table.rules.unique_constraints.iter().any(|known| known == name);
        is_one.then_some((name, Constraint::Key(index)))
    };
    let mut all: Vec<_> = objects::indexes(table).filter_map(of_index).collect();
    all.extend(table.rules.checks.iter().map(|check| (check.name.as_str(), Constraint::Check(&check.condition))));
    all.extend(table.rules.foreign_keys.iter().map(|key| (key.name.as_str(), Constraint::Foreign(key))));
    all
}

/// Whether the table has triggers in the sense of PostgreSQL, which implements foreign keys by triggers on both tables.
pub(super) fn has_triggers(table: &Table) -> bool {
    let rules = &table.rules;
    !rules.foreign_keys.is_empty() || !rules.referrers.is_empty() || !rules.triggers.is_empty()
}

/// Returns the names of columns, quoted where necessary and separated by commas.
pub(super) fn columns(table: &Table, positions: &[usize]) -> String {
    let names: Vec<_> = positions.iter().map(|&at| quoted(&table.schema.columns[at].name)).collect();
    names.join(", ")
}

/// Returns the [shape](StoredView::shape) of a view.
pub(super) fn shape(context: &SessionContext, view: &StoredView) -> Arc<Table> {
    view.shape(context.shared().catalog().lock(&view.name))
}

/// Returns the kinds of changes that the relation with this OID takes, as `pg_relation_is_updatable` numbers them.
pub(crate) fn changes_of(context: &SessionContext, number: u32, with_triggers: bool) -> i32 {
    find(context, number).map_or(0, |object| updatable::changes_of(&object.full, with_triggers, None, context.view()))
}

/// Whether statements may update a column of the relation with this OID, as `pg_column_is_updatable` says.
pub(crate) fn is_column_updatable(context: &SessionContext, number: u32, column: i64, with_triggers: bool) -> bool {
    let Some(column) = usize::try_from(column - 1).ok() else { return false };
    find(context, number)
        .is_some_and(|object| updatable::is_column_updatable(&object.full, column, with_triggers, context.view()))
}

/// Returns a column's DEFAULT as SQL, or `None` if it has none.
pub(super) fn default(context: &SessionContext, table: &Table, column: usize) -> Option<String> {
    of_default(context, table.rules.defaults.get(column)?.as_ref()?, table.schema.columns[column].ty)
}

/// Returns a DEFAULT of a type as SQL, or `None` if it is NULL.
pub(super) fn of_default(context: &SessionContext, default: &DefaultValue, ty: Type) -> Option<String> {
    if let Some((written, _)) = default.calling() {
        return Some(super::view_text::expression(written, context.view()));
    }
    let read = |(text, styles)| decode_text(without_modifier(ty), text, styles).ok();
    if let Some(value) = default.literal().and_then(read) {
        return Some(constant(&value, ty, context));
    }
    let value = default.value();
    let (expr, ty) = match &value {
        value if let Some(next) = next_value(value) => (next, ty),
        // The cast of an assignment to the column's type is not shown.
        Expr::Cast(inner, from, _, Strictness::Assignment) => (&**inner, *from),
        expr => (expr, ty),
    };
    match expr {
        // A column without a default has NULL as its default.
        Expr::Const(Value::Null) => None,
        Expr::Const(value) => Some(constant(value, ty, context)),
        expr => Some(of_value(expr.clone(), ty, context)),
    }
}

/// Returns the call of `nextval` that a DEFAULT is, without the casts to the types that the column has had. Returns
/// `None` for any other DEFAULT.
fn next_value(value: &Expr) -> Option<&Expr> {
    match value {
        Expr::Cast(inner, _, _, Strictness::Assignment) => next_value(inner),
        Expr::Call(Function::Sequence(SequenceFunction::NextValue), _) => Some(value),
        _ => None,
    }
}

/// Returns the value of a DEFAULT of this type as SQL. Sequences have the names that they have now.
pub(super) fn of_value(mut value: Expr, ty: Type, context: &SessionContext) -> String {
    name_sequences(&mut value, context.view());
    shown_as(&value, ty, None)
}

/// Replaces the numbers of sequences in a DEFAULT by their names.
fn name_sequences(expr: &mut Expr, view: View<'_>) {
    use SequenceFunction::{CurrentValue, NextValue, SetValue};
    if let Expr::Call(Function::Sequence(NextValue | CurrentValue | SetValue), arguments) = expr
        && let Some(argument) = arguments.first_mut()
        && let Expr::Const(Value::Int8(number)) = argument
        && let Some(sequence) = u32::try_from(*number).ok().and_then(|number| view.sequence_by_id(number))
    {
        *argument = Expr::Const(Value::Text(view.written(&sequence.name).into()));
    }
    expr.parts_mut().into_iter().for_each(|part| name_sequences(part, view));
}

/// Returns the expression of a generated column as SQL, or `None` if the column is not generated.
pub(super) fn generation(table: &Table, column: usize) -> Option<String> {
    // The cast of an assignment to the column's type is not shown.
    let (value, ty) = match table.rules.computation(column)?.over_table() {
        Expr::Cast(inner, from, _, Strictness::Assignment) => (*inner, from),
        value => (value, table.schema.columns[column].ty),
    };
    Some(shown_as(&value, ty, Some(table)))
}

/// Formats a constant of a definition as SQL. Quotes and the name of its type are left out if the text alone is read as
/// a value of the type.
pub(super) fn constant(value: &Value<'_>, ty: Type, context: &SessionContext) -> String {
    if let Value::Bool(value) = value {
        return value.to_string();
    }
    let mut text = BytesMut::new();
    encode_text(value, without_modifier(ty), context.styles(), &mut text);
    let text = String::from_utf8_lossy(&text).replace('\'', "''");
    let is_positive = text.starts_with(|first: char| first.is_ascii_digit());
    match value {
        Value::Int4(_) if is_positive && enumeration(ty).is_none() => text,
        Value::Numeric(_) if is_positive && text.contains(['.', 'e', 'E']) => text,
        _ if matches!(ty, Type::Char(_)) => format!("'{text}'::bpchar"),
        _ if enumeration(ty).is_some() => {
            let name = objects::type_of_number(context, type_oid(ty));
            name.map_or_else(|| format!("'{text}'"), |name| format!("'{text}'::{name}"))
        }
        _ => format!("'{text}'::{}", type_name(Some(ty))),
    }
}

/// Returns the name of the unique index in which a foreign key looks up the referenced rows.
pub(super) fn referenced_index(context: &SessionContext, key: &ForeignKey) -> Option<String> {
    let table = context.view().table(&key.table)?;
    let columns: Option<Vec<_>> = key.referenced.iter().map(|name| table.schema.column(name)).collect();
    let columns = columns?;
    let has_them = |index: &IndexRef| {
        let own = table.index_columns(*index);
        is_unique(&table, *index) && own.len() == columns.len() && own.iter().all(|column| columns.contains(column))
    };
    let found = objects::indexes(&table).find(has_them)?;
    Some(table.index_name(found).to_owned())
}

fn find(context: &SessionContext, number: u32) -> Option<Object> {
    objects::objects(context).into_iter().find(|object| object.number == number)
}

/// Returns the CREATE INDEX statement of the index with this OID. If `column` is not zero, returns the index's column
/// with this number instead. Returns `None` if there is no such index or column. If `pretty` is set, needless
/// parentheses are left out.
pub(crate) fn index_definition(context: &SessionContext, number: u32, column: usize, pretty: bool) -> Option<String> {
    let object = find(context, number)?;
    let Kind::Index(table, index) = &object.kind else { return None };
    if let Some(at) = column.checked_sub(1) {
        return indexed_columns(table, *index).get(at).map(|&column| key(table, column, pretty));
    }
    let on = if pretty { context.view().written(table.name()) } else { full_name(table) };
    Some(of_index(table, *index, &on, pretty))
}

/// Returns the columns of an index: first its key columns, and then those of INCLUDE.
pub(super) fn indexed_columns(table: &Table, index: IndexRef) -> Vec<usize> {
    let include = table.index_properties(index).map_or(&[][..], |properties| &properties.include);
    [table.key_columns(index), include].concat()
}

/// Returns a column of an index as SQL: its name, or its expression.
fn key(table: &Table, column: usize, pretty: bool) -> String {
    let label = table.column_label(column);
    match table.is_hidden(column) {
        false => quoted(label),
        true if !pretty && label.starts_with('(') => format!("({label})"),
        true => label.to_owned(),
    }
}

/// Returns the expressions of an index as SQL, separated by commas. Returns `None` if the index has none.
pub(super) fn expressions(table: &Table, index: IndexRef) -> Option<String> {
    let hidden = table.key_columns(index).iter().filter(|&&column| table.is_hidden(column));
    let list: Vec<_> = hidden.map(|&column| table.column_label(column)).collect();
    (!list.is_empty()).then(|| list.join(", "))
}

/// Returns the condition of a partial index as SQL, or `None` for any other index.
pub(super) fn predicate(table: &Table, index: IndexRef) -> Option<&str> {
    table.is_partial(index).then(|| table.column_label(table.index_columns(index)[0]))
}

/// Returns the name of a table with its schema, as SQL writes it.
pub(super) fn full_name(table: &Table) -> String {
    format!("{}.{}", quoted(table.schema_name()), quoted(table.plain_name()))
}

/// Returns the CREATE INDEX statement of an index, in which `on` is the name of the table. If `pretty` is set, needless
/// parentheses are left out.
pub(super) fn of_index(table: &Table, index: IndexRef, on: &str, pretty: bool) -> String {
    let unique = if is_unique(table, index) { "UNIQUE " } else { "" };
    let (name, method) = (quoted(table.index_name(index)), method(table, index));
    let properties = table.index_properties(index);
    let ordered = |(at, &column): (usize, &usize)| {
        let order = properties.and_then(|properties| properties.orders.get(at)).copied().unwrap_or_default();
        let order = match (order.descending, order.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        format!("{}{order}", key(table, column, pretty))
    };
    let keys: Vec<_> = table.key_columns(index).iter().enumerate().map(ordered).collect();
    let include = match properties.map_or(&[][..], |properties| &properties.include) {
        [] => String::new(),
        include => format!(" INCLUDE ({})", columns(table, include)),
    };
    let condition = match predicate(table, index) {
        Some(condition) if pretty => format!(" WHERE {}", without_parentheses(condition)),
        Some(condition) => format!(" WHERE {condition}"),
        None => String::new(),
    };
    format!("CREATE {unique}INDEX {name} ON {on} USING {method} ({}){include}{condition}", keys.join(", "))
}

/// Returns an expression without the parentheses around the whole of it, if there are any.
pub(crate) fn without_parentheses(expression: &str) -> &str {
    let Some(inner) = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return expression };
    let (mut depth, mut quote) = (0_usize, None);
    for character in inner.chars() {
        match (character, quote) {
            (_, Some(open)) if character == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(character),
            ('(', None) => depth += 1,
            (')', None) if depth == 0 => return expression,
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    inner
}

/// Whether an index is unique.
pub(super) fn is_unique(table: &Table, index: IndexRef) -> bool {
    match index {
        IndexRef::Primary => true,
        IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
    }
}

/// Returns the name of the index's access method.
pub(super) fn method(table: &Table, index: IndexRef) -> &'static str {
    if table.is_ordered(index) { "btree" } else { "hash" }
}

/// Returns the definition of the constraint with this OID as SQL, or `None` if there is no such constraint.
pub(super) fn constraint_definition(context: &SessionContext, number: u32) -> Option<String> {
    let tables = context.view().tables();
    tables.iter().find_map(|table| {
        let of_number =
            |(name, _): &(&str, Constraint<'_>)| objects::number_of_constraint(context, table, name) == number;
        constraints(table)
            .into_iter()
            .find(of_number)
            .map(|(_, constraint)| of_constraint(context.view(), table, &constraint))
    })
}

/// Returns the definition of a constraint as SQL.
pub(super) fn of_constraint(view: View<'_>, table: &Table, constraint: &Constraint<'_>) -> String {
    match constraint {
        Constraint::Key(index) => {
            let kind = if *index == IndexRef::Primary { "PRIMARY KEY" } else { "UNIQUE" };
            format!("{kind} ({})", columns(table, table.index_columns(*index)))
        }
        Constraint::Check(condition) => format!("CHECK ({})", shown(&condition.over_table(), Some(table))),
        Constraint::Foreign(key) => {
            let referenced: Vec<_> = key.referenced.iter().map(|name| quoted(name)).collect();
            let mut said = format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                columns(table, &key.columns),
                view.written(&key.table),
                referenced.join(", ")
            );
            if key.full {
                said.push_str(" MATCH FULL");
            }
            for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
                if action != ReferentialAction::NoAction {
                    said.push_str(&format!(" ON {event} {}", action_name(action)));
                }
            }
            if key.deferrable {
                said.push_str(" DEFERRABLE");
            }
            if key.deferred {
                said.push_str(" INITIALLY DEFERRED");
            }
            if !key.validated {
                said.push_str(" NOT VALID");
            }
            said
        }
    }
}

/// Returns the SQL name of a referential action.
pub(super) fn action_name(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// Returns the query of the view with this OID as SQL, or `None` if there is no such view.
pub(crate) fn view_definition(context: &SessionContext, number: u32) -> Option<String> {
    let view = match find(context, number)?.kind {
        Kind::View(view) => view,
        Kind::Table(table) => table.stored_query()?,
        Kind::Index(..) | Kind::Sequence | Kind::System(_) => return None,
    };
    Some(of_view(context, &view))
}

/// Returns the query of a view as SQL.
pub(super) fn of_view(context: &SessionContext, view: &StoredView) -> String {
    format!(" {};", super::view_text::query_of_view(view, context.view()))
}

/// Returns the SQL name of the type with this OID and modifier, as `format_type` does. Returns `-` for zero, and `???`
/// for an unknown OID.
pub(crate) fn format_type(context: &SessionContext, number: u32, modifier: i32) -> String {
    objects::declared(number, modifier)
        .or_else(|| objects::type_of_number(context, number))
        .unwrap_or_else(|| if number == 0 { "-".to_owned() } else { "???".to_owned() })
}
