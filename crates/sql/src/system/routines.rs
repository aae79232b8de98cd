//! Procedures, functions and triggers: rows of `pg_proc`, `pg_trigger`, `pg_language` and `information_schema`, and
//! definitions as SQL.

use super::describe::{constant, of_value, shape};
use super::objects::{OWNER, number_of as number_of_type, number_of_schema, type_of_number};
use super::relation::{Rows, oid, text};
use crate::catalog::procedure::{Argument, Procedure, Returns, numbered};
use crate::catalog::trigger::Trigger;
use crate::catalog::{Declared, Table};
use crate::context::SessionContext;
use crate::expr::{Candidate, Expr, overloads};
use crate::parse::procedure::{ArgumentMode, Language, Volatility};
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::schema::{SEARCH_PATH, parse_path, quoted};
use crate::types::{DomainId, type_name};
use hotrow_storage::{Array, Element, Type, Value};
use hotrow_sync::Arc;

/// The languages, with the OIDs that they have in PostgreSQL.
const LANGUAGES: [(u32, &str); 4] = [(12, "internal"), (13, "c"), (SQL, "sql"), (PLPGSQL, "plpgsql")];
const SQL: u32 = 14;
const PLPGSQL: u32 = 13_563;

/// The OIDs of the pseudo-types, which only results of functions have.
const RECORD: u32 = 2249;
const VOID: u32 = 2278;
const TRIGGER: u32 = 2279;

/// The bits of `tgtype`.
const FOR_ROWS: i16 = 1;
const BEFORE: i16 = 2;
const INSERT: i16 = 4;
const DELETE: i16 = 8;
const UPDATE: i16 = 16;
const INSTEAD_OF: i16 = 64;

/// Returns the OID of the procedure or function with this key.
pub(super) fn number_of(context: &SessionContext, key: &str) -> u32 {
    context.shared().catalog().number(&numbered(key))
}

fn find(context: &SessionContext, number: u32) -> Option<Arc<Procedure>> {
    context.view().procedures().into_iter().find(|known| number_of(context, &known.key) == number)
}

/// Whether a call by name alone finds the procedure or function with this OID: its schema is in the search path, and no
/// built-in function with the same types of arguments hides it. Returns `None` if there is no such procedure or
/// function.
pub(crate) fn is_visible_routine(context: &SessionContext, number: u32) -> Option<bool> {
    let known = find(context, number)?;
    let inputs: Vec<_> = known.inputs().map(|argument| argument.ty).collect();
    let hides = overloads(known.plain_name()).iter().any(|overload| overload.arguments() == inputs);
    Some(!hides && context.view().is_visible_routine(&known))
}

/// Returns all procedures and functions, ordered by their keys.
fn all(context: &SessionContext) -> Vec<Arc<Procedure>> {
    let mut all = context.view().procedures();
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all
}

/// Builds the rows of `pg_language`.
pub(super) fn languages(_: &SessionContext, rows: &mut Rows<'_>) {
    for (number, name) in LANGUAGES {
        let is_procedural = Value::Bool(number == PLPGSQL);
        let is_trusted = Value::Bool(number >= SQL);
        rows.push(vec![
            ("oid", oid(number)),
            ("lanname", text(name)),
            ("lanowner", oid(OWNER)),
            ("lanispl", is_procedural),
            ("lanpltrusted", is_trusted),
        ]);
    }
}

/// Builds the rows of `pg_proc`.
pub(super) fn procedures(context: &SessionContext, rows: &mut Rows<'_>) {
    for procedure in all(context) {
        let function = procedure.function.as_ref();
        let texts = |list: Vec<Value<'static>>| Value::Array(Array::new(Element::Text, list));
        let has_outputs = procedure.outputs().next().is_some();
        let has_names = procedure.arguments.iter().any(|argument| argument.name.is_some());
        let defaults = procedure.arguments.iter().filter(|argument| argument.default.is_some()).count();
        let volatility = match function.map(|function| function.volatility) {
            Some(Volatility::Immutable) => "i",
            Some(Volatility::Stable) => "s",
            Some(Volatility::Volatile) | None => "v",
        };
        let result = match function.map(|function| &function.returns) {
            Some(Returns::Value(ty)) => {
                number_of_type(Declared { ty: *ty, domain: function.and_then(|function| function.domain) })
            }
            Some(Returns::Trigger) => TRIGGER,
            Some(Returns::Outputs | Returns::RowOf(_)) => RECORD,
            None if has_outputs => RECORD,
            Some(Returns::Nothing) | None => VOID,
        };
        let is_set = function.is_some_and(|function| function.is_set);
        let type_of = |argument: &Argument| number_of_type(Declared { ty: argument.ty, domain: argument.domain });
        let inputs = procedure.inputs().map(|argument| oid(type_of(argument)));
        let mut row = vec![
            ("oid", oid(number_of(context, &procedure.key))),
            ("proname", text(procedure.plain_name())),
            ("pronamespace", oid(number_of_schema(context, procedure.schema_name()))),
            ("proowner", oid(OWNER)),
            ("prolang", oid(if procedure.language == Language::Sql { SQL } else { PLPGSQL })),
            ("procost", Value::Float4(100.0)),
            ("prorows", Value::Float4(if is_set { 1000.0 } else { 0.0 })),
            ("proretset", Value::Bool(is_set)),
            ("prosupport", text("-")),
            ("prokind", text(if function.is_some() { "f" } else { "p" })),
            ("proisstrict", Value::Bool(function.is_some_and(|function| function.strict))),
            ("provolatile", text(volatility)),
            ("proparallel", text("u")),
            ("pronargs", Value::Int2(procedure.inputs().count() as i16)),
            ("pronargdefaults", Value::Int2(defaults as i16)),
            ("prorettype", oid(result)),
            ("proargtypes", Value::Array(Array::new(Element::OidVector, inputs))),
            ("prosrc", text(if procedure.syntax.is_quoted { &procedure.syntax.text } else { "" })),
        ];
        if has_outputs {
            let types = procedure.arguments.iter().map(|argument| oid(type_of(argument)));
            row.push(("proallargtypes", Value::Array(Array::new(Element::Oid, types))));
            row.push(("proargmodes", texts(procedure.arguments.iter().map(|one| text(letter(one.mode))).collect())));
        }
        if has_names {
            let name = |argument: &Argument| text(argument.name.as_deref().unwrap_or_default());
            row.push(("proargnames", texts(procedure.arguments.iter().map(name).collect())));
        }
        if let Some(path) = &procedure.path {
            row.push(("proconfig", texts(vec![text(format!("{SEARCH_PATH}={path}"))])));
        }
        row.extend(procedure.syntax.sql().map(|body| ("prosqlbody", text(body))));
        rows.push(row);
    }
}

fn letter(mode: ArgumentMode) -> &'static str {
    match mode {
        ArgumentMode::In => "i",
        ArgumentMode::Out => "o",
        ArgumentMode::InOut => "b",
        ArgumentMode::Table => "t",
    }
}

/// Returns all triggers with their tables or the shapes of their views, ordered by the names of both.
fn triggers(context: &SessionContext) -> Vec<(Arc<Table>, Arc<Trigger>)> {
    let mut all = Vec::new();
    for table in context.view().tables() {
        all.extend(table.rules.triggers.iter().map(|trigger| (table.clone(), trigger.clone())));
    }
    for view in context.view().views().into_iter().filter(|view| !view.triggers.is_empty()) {
        let shape = shape(context, &view);
        all.extend(view.triggers.iter().map(|trigger| (shape.clone(), trigger.clone())));
    }
    all.sort_by(|(one, _), (other, _)| one.name().cmp(other.name()));
    all
}

fn number_of_trigger(context: &SessionContext, table: &Table, trigger: &Trigger) -> u32 {
    context.shared().catalog().number(&table.numbered_trigger(&trigger.name))
}

/// Builds the rows of `pg_trigger`.
pub(super) fn all_triggers(context: &SessionContext, rows: &mut Rows<'_>) {
    for (table, trigger) in triggers(context) {
        let definition = &trigger.definition;
        let bits = [
            (definition.for_rows, FOR_ROWS),
            (definition.time == TriggerTime::Before, BEFORE),
            (definition.time == TriggerTime::InsteadOf, INSTEAD_OF),
            (definition.events.insert, INSERT),
            (definition.events.delete, DELETE),
            (definition.events.update, UPDATE),
        ];
        let kind = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
        let columns = definition.events.columns.iter().filter_map(|name| table.schema.column(name));
        let columns = columns.map(|at| Value::Int2(at as i16 + 1));
        let arguments: Vec<u8> =
            definition.arguments.iter().flat_map(|argument| argument.bytes().chain(std::iter::once(0))).collect();
        let mut row = vec![
            ("oid", oid(number_of_trigger(context, &table, &trigger))),
            ("tgrelid", oid(context.shared().catalog().number(table.name()))),
            ("tgname", text(&trigger.name)),
            ("tgfoid", oid(number_of(context, &trigger.function_key()))),
            ("tgtype", Value::Int2(kind)),
            ("tgenabled", text(if trigger.is_enabled { "O" } else { "D" })),
            ("tgnargs", Value::Int2(definition.arguments.len() as i16)),
            ("tgattr", Value::Array(Array::new(Element::Int2Vector, columns))),
            ("tgargs", Value::Bytea(arguments.into())),
        ];
        row.extend(definition.when.as_ref().map(|when| ("tgqual", text(&when.text.text))));
        rows.push(row);
    }
}

/// Returns the CREATE statement of the procedure or function with this OID, as `pg_get_functiondef` does.
pub(crate) fn routine_definition(context: &SessionContext, number: u32) -> Option<String> {
    let procedure = find(context, number)?;
    let word = procedure.word();
    let mut lines = vec![format!(
        "CREATE OR REPLACE {} {}.{}({})",
        word.to_uppercase(),
        quoted(procedure.schema_name()),
        quoted(procedure.plain_name()),
        arguments(context, &procedure, true),
    )];
    lines.extend(result(context, &procedure).map(|result| format!(" RETURNS {result}")));
    lines.push(format!(" LANGUAGE {}", if procedure.language == Language::Sql { "sql" } else { "plpgsql" }));
    if let Some(function) = &procedure.function {
        let volatility = match function.volatility {
            Volatility::Immutable => " IMMUTABLE",
            Volatility::Stable => " STABLE",
            Volatility::Volatile => "",
        };
        let strict = if function.strict { " STRICT" } else { "" };
        if !volatility.is_empty() || !strict.is_empty() {
            lines.push(format!("{volatility}{strict}"));
        }
    }
    if let Some(schemas) = procedure.path.as_deref().and_then(parse_path) {
        let schemas: Vec<_> = schemas.iter().map(|schema| format!("'{}'", schema.replace('\'', "''"))).collect();
        lines.push(format!(" SET {SEARCH_PATH} TO {}", schemas.join(", ")));
    }
    lines.push(match procedure.syntax.sql() {
        Some(body) => body,
        None => {
            let mut tag = format!("${word}$");
            while procedure.syntax.text.contains(&tag) {
                tag.insert(tag.len() - 1, 'x');
            }
            format!("AS {tag}{}{tag}", procedure.syntax.text)
        }
    });
    Some(lines.join("\n") + "\n")
}

/// Returns the body of a procedure or function as SQL. Returns `None` if the definition gives the body as a string.
pub(crate) fn routine_body(context: &SessionContext, number: u32) -> Option<String> {
    find(context, number)?.syntax.sql()
}

/// Returns the arguments of a procedure or function as its definition writes them, without the columns of RETURNS
/// TABLE. The defaults are included if `complete` is set.
pub(crate) fn routine_arguments(context: &SessionContext, number: u32, complete: bool) -> Option<String> {
    find(context, number).map(|procedure| arguments(context, &procedure, complete))
}

fn arguments(context: &SessionContext, procedure: &Procedure, complete: bool) -> String {
    let show = |argument: &Argument| {
        let mode = match argument.mode {
            // PostgreSQL names the mode IN for procedures only.
            ArgumentMode::In => procedure.function.is_none().then_some("IN"),
            ArgumentMode::Out => Some("OUT"),
            ArgumentMode::InOut => Some("INOUT"),
            ArgumentMode::Table => None,
        };
        let name = argument.name.as_deref().map(quoted);
        let ty = name_of_type(context, argument.ty, argument.domain);
        let default = argument.default.as_ref().filter(|_| complete).map(|default| {
            let value = match default.value() {
                Expr::NULL => "NULL".to_owned(),
                Expr::Const(value) => constant(&value, argument.ty, context),
                value => of_value(value, argument.ty, context),
            };
            format!("DEFAULT {value}")
        });
        let parts = [mode.map(str::to_owned), name, Some(ty), default];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let listed = procedure.arguments.iter().filter(|argument| argument.mode != ArgumentMode::Table);
    listed.map(show).collect::<Vec<_>>().join(", ")
}

/// Returns the result type of a function as its definition writes it. Returns `None` for a procedure, and if there is
/// no such function.
pub(crate) fn routine_result(context: &SessionContext, number: u32) -> Option<String> {
    result(context, &*find(context, number)?)
}

fn result(context: &SessionContext, procedure: &Procedure) -> Option<String> {
    let function = procedure.function.as_ref()?;
    if procedure.arguments.iter().any(|argument| argument.mode == ArgumentMode::Table) {
        let column = |(_, column): (usize, &Argument)| {
            let ty = name_of_type(context, column.ty, column.domain);
            format!("{} {ty}", quoted(column.name.as_deref().unwrap_or_default()))
        };
        return Some(format!("TABLE({})", procedure.outputs().map(column).collect::<Vec<_>>().join(", ")));
    }
    let row = match &function.returns {
        Returns::Value(ty) => name_of_type(context, *ty, function.domain),
        Returns::Nothing => "void".to_owned(),
        Returns::Trigger => "trigger".to_owned(),
        Returns::Outputs => "record".to_owned(),
        Returns::RowOf(name) => context.view().written(name),
    };
    Some(if function.is_set { format!("SETOF {row}") } else { row })
}

/// Returns the name of a type, or of its domain if there is one, in SQL. The name has its schema if the search path
/// does not find it.
fn name_of_type(context: &SessionContext, ty: Type, domain: Option<DomainId>) -> String {
    type_of_number(context, number_of_type(Declared { ty, domain })).unwrap_or_else(|| type_name(Some(ty)))
}

/// Returns the CREATE TRIGGER statement of the trigger with this OID. If `pretty` is set, the name of the table is
/// written without its schema where that suffices.
pub(crate) fn trigger_definition(context: &SessionContext, number: u32, pretty: bool) -> Option<String> {
    let known = |(table, trigger): &(Arc<Table>, Arc<Trigger>)| number_of_trigger(context, table, trigger) == number;
    let (table, trigger) = triggers(context).into_iter().find(known)?;
    let name = if pretty { context.view().written(table.name()) } else { super::describe::full_name(&table) };
    Some(trigger.definition.written(&trigger.name, &name, &function_of(context, &trigger)))
}

/// Returns the name of a trigger's function, with its schema if the search path does not find the function.
fn function_of(context: &SessionContext, trigger: &Trigger) -> String {
    match context.view().procedure(&trigger.function_key()) {
        Some(function) => context.view().written_routine(&function),
        None => trigger.definition.function.quoted(),
    }
}

/// Builds the rows of `information_schema.routines`.
pub(super) fn routines(context: &SessionContext, rows: &mut Rows<'_>) {
    for procedure in all(context) {
        let number = number_of(context, &procedure.key);
        let specific = format!("{}_{number}", procedure.plain_name());
        let ty = match procedure.function.as_ref().map(|function| &function.returns) {
            Some(Returns::Value(Type::Array(_))) => text("ARRAY"),
            Some(Returns::Value(ty)) => text(type_name(Some(*ty))),
            Some(Returns::Outputs) => text("record"),
            Some(Returns::RowOf(_)) => text("USER-DEFINED"),
            Some(Returns::Nothing | Returns::Trigger) => result(context, &procedure).map_or(Value::Null, text),
            None => Value::Null,
        };
        rows.push(vec![
            ("specific_catalog", text(context.shared().name())),
            ("specific_schema", text(procedure.schema_name())),
            ("specific_name", text(specific)),
            ("routine_catalog", text(context.shared().name())),
            ("routine_schema", text(procedure.schema_name())),
            ("routine_name", text(procedure.plain_name())),
            ("routine_type", text(procedure.word().to_uppercase())),
            ("data_type", ty),
            ("routine_body", text(if procedure.language == Language::Sql { "SQL" } else { "EXTERNAL" })),
            ("routine_definition", text(&procedure.syntax.text)),
            ("external_language", text(if procedure.language == Language::Sql { "SQL" } else { "PLPGSQL" })),
        ]);
    }
}

/// Builds the rows of `information_schema.triggers`: one for each kind of event (INSERT, UPDATE, DELETE) at which a
/// trigger fires.
pub(super) fn shown_triggers(context: &SessionContext, rows: &mut Rows<'_>) {
    for (table, trigger) in triggers(context) {
        let definition = &trigger.definition;
        for event in [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete] {
            if !definition.events.has(event) {
                continue;
            }
            let alike = |other: &&Arc<Trigger>| {
                let Trigger { definition: other, .. } = &***other;
                other.time == definition.time && other.for_rows == definition.for_rows && other.events.has(event)
            };
            let before = table.rules.triggers.iter().filter(alike).take_while(|known| known.name != trigger.name);
            let order = before.count() as i32 + 1;
            let arguments: Vec<_> = definition.arguments.iter().map(|argument| format!("'{argument}'")).collect();
            let action = format!("EXECUTE FUNCTION {}({})", function_of(context, &trigger), arguments.join(", "));
            let mut row = vec![
                ("trigger_catalog", text(context.shared().name())),
                ("trigger_schema", text(table.schema_name())),
                ("trigger_name", text(&trigger.name)),
                ("event_manipulation", text(event.name())),
                ("event_object_catalog", text(context.shared().name())),
                ("event_object_schema", text(table.schema_name())),
                ("event_object_table", text(table.plain_name())),
                ("action_order", Value::Int4(order)),
                ("action_statement", text(action)),
                ("action_orientation", text(if definition.for_rows { "ROW" } else { "STATEMENT" })),
                ("action_timing", text(definition.time.name())),
            ];
            row.extend(definition.when.as_ref().map(|when| ("action_condition", text(&when.text.text))));
            rows.push(row);
        }
    }
}
