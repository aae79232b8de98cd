//! The relations of `information_schema`.

use super::describe::{self, Constraint};
use super::objects::{self, Kind, Object};
use super::pg_catalog::{columns, domain, identity};
use super::relation::{Maker, Rows, text};
use crate::catalog::domain::Domain;
use crate::catalog::view::CheckOption;
use crate::catalog::{Table, is_temporary, updatable};
use crate::context::SessionContext;
use crate::parse::trigger::TriggerEvent;
use crate::schema;
use crate::types::{enumeration, type_name};
use hotrow_storage::{IndexRef, Type, Value};

/// Returns the function that builds the rows of this relation, or `None` if the relation is always empty.
pub(super) fn maker(name: &str) -> Option<Maker> {
    Some(match name {
        "information_schema_catalog_name" => catalog_name,
        "schemata" => schemata,
        "tables" => tables,
        "columns" => all_columns,
        "views" => views,
        "sequences" => sequences,
        "table_constraints" => table_constraints,
        "key_column_usage" => key_column_usage,
        "constraint_column_usage" => constraint_column_usage,
        "referential_constraints" => referential_constraints,
        "routines" => super::routines::routines,
        "triggers" => super::routines::shown_triggers,
        _ => return None,
    })
}

pub(super) fn yes(is: bool) -> Value<'static> {
    text(if is { "YES" } else { "NO" })
}

/// Returns the database, the schema and the name of an object, under the column names of `prefix`.
pub(super) fn place<'n>(
    context: &SessionContext,
    prefix: &'n [&'n str; 3],
    schema: &str,
    name: &str,
) -> Vec<(&'n str, Value<'static>)> {
    vec![(prefix[0], text(context.shared().name())), (prefix[1], text(schema)), (prefix[2], text(name))]
}

pub(super) const TABLE: [&str; 3] = ["table_catalog", "table_schema", "table_name"];
pub(super) const DOMAIN: [&str; 3] = ["domain_catalog", "domain_schema", "domain_name"];
pub(super) const CONSTRAINT: [&str; 3] = ["constraint_catalog", "constraint_schema", "constraint_name"];

fn catalog_name(context: &SessionContext, rows: &mut Rows<'_>) {
    rows.push(vec![("catalog_name", text(context.shared().name()))]);
}

fn schemata(context: &SessionContext, rows: &mut Rows<'_>) {
    for (_, name) in objects::schemas(context) {
        let place = place(context, &["catalog_name", "schema_name", "schema_owner"], &name, "postgres");
        rows.push(place);
    }
}

/// Returns the user's tables and views, and the system relations.
fn shown(context: &SessionContext) -> impl Iterator<Item = Object> {
    objects::objects(context).into_iter().filter(|object| matches!(object.letter(), "r" | "v"))
}

fn tables(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in shown(context) {
        let is_table = object.letter() == "r";
        let mut row = place(context, &TABLE, &object.schema_name, &object.name);
        let table_type = match is_table {
            _ if is_temporary(&object.full) => "LOCAL TEMPORARY",
            true => "BASE TABLE",
            false => "VIEW",
        };
        let takes = match &object.kind {
            Kind::View(_) => updatable::takes(&object.full, TriggerEvent::Insert, context.view()),
            _ => is_table,
        };
        row.extend([("table_type", text(table_type)), ("is_insertable_into", yes(takes)), ("is_typed", yes(false))]);
        rows.push(row);
    }
}

fn all_columns(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in shown(context) {
        for (at, (name, ty, nullable)) in columns(&object).into_iter().enumerate() {
            let mut row = place(context, &TABLE, &object.schema_name, &object.name);
            let generation = match &object.kind {
                Kind::Table(table) => describe::generation(table, at),
                _ => None,
            };
            let is_updatable = match &object.kind {
                Kind::Table(_) => true,
                Kind::View(_) => updatable::is_column_updatable(&object.full, at, false, context.view()),
                _ => false,
            };
            row.extend([
                ("column_name", text(name)),
                ("ordinal_position", Value::Int4(at as i32 + 1)),
                ("is_nullable", yes(nullable)),
                ("dtd_identifier", text((at + 1).to_string())),
                ("is_self_referencing", yes(false)),
                ("is_identity", yes(!identity(&object, at).is_empty())),
                ("identity_cycle", yes(false)),
                ("is_generated", text(if generation.is_some() { "ALWAYS" } else { "NEVER" })),
                ("is_updatable", yes(is_updatable)),
            ]);
            row.extend(generation.map(|expression| ("generation_expression", text(expression))));
            let domain = domain(&object, at).and_then(|id| context.view().domain_of(id));
            if let Some(domain) = &domain {
                row.extend(place(context, &DOMAIN, schema::split(&domain.name).0, schema::plain(&domain.name)));
            }
            row.extend(of_base(context, domain.as_deref(), ty));
            match identity(&object, at) {
                "" => {
                    let default = match &object.kind {
                        Kind::Table(table) => describe::default(context, table, at),
                        Kind::View(view) if view.default(at).is_some() => {
                            describe::default(context, &describe::shape(context, view), at)
                        }
                        _ => None,
                    };
                    row.extend(default.map(|default| ("column_default", text(default))));
                }
                letter => {
                    row.push(("identity_generation", text(if letter == "a" { "ALWAYS" } else { "BY DEFAULT" })));
                    row.extend(of_identity(context, &object, at));
                }
            }
            rows.push(row);
        }
    }
}

/// Returns the values of the columns that describe the sequence of an identity column.
fn of_identity(context: &SessionContext, object: &Object, column: usize) -> Vec<(&'static str, Value<'static>)> {
    let Kind::Table(table) = &object.kind else { return Vec::new() };
    let default = table.rules.defaults.get(column).and_then(Option::as_ref);
    let sequence = default.and_then(|default| context.view().sequence_by_id(*default.sequences().first()?));
    let Some(sequence) = sequence else { return Vec::new() };
    vec![
        ("identity_start", text(sequence.start.to_string())),
        ("identity_increment", text(sequence.increment.to_string())),
        ("identity_maximum", text(sequence.max.to_string())),
        ("identity_minimum", text(sequence.min.to_string())),
        ("identity_cycle", yes(sequence.cycle)),
    ]
}

/// Returns the columns of `information_schema` that describe the type of a value, which is the base type of `domain`
/// if there is one. For a domain over another one, that is the other domain.
pub(super) fn of_base(
    context: &SessionContext,
    domain: Option<&Domain>,
    ty: Type,
) -> Vec<(&'static str, Value<'static>)> {
    let base = domain.and_then(|domain| context.view().domain_of(domain.over?));
    let made = enumeration(ty).and_then(|id| context.view().enumeration_of(id));
    let (of_type, data_type) = match ty {
        _ if base.is_some() => (Vec::new(), "USER-DEFINED".to_owned()),
        Type::Array(_) => (of_type(ty), "ARRAY".to_owned()),
        Type::Enum(_) => (of_type(ty), "USER-DEFINED".to_owned()),
        ty => (of_type(ty), type_name(Some(ty))),
    };
    let (schema, name) = match &base {
        Some(base) => (schema::split(&base.name).0, schema::plain(&base.name).to_owned()),
        None => {
            let schema = made.as_ref().map_or("pg_catalog", |made| schema::split(&made.name).0);
            (schema, objects::short_name(context, ty))
        }
    };
    let mut row = place(context, &["udt_catalog", "udt_schema", "udt_name"], schema, &name);
    row.push(("data_type", text(data_type)));
    row.extend(of_type);
    row
}

/// Returns the columns that describe the length or the precision of a type.
pub(super) fn of_type(ty: Type) -> Vec<(&'static str, Value<'static>)> {
    let number = |bits: i32, radix: i32, scale: Option<i32>| {
        let mut row = vec![("numeric_precision", Value::Int4(bits)), ("numeric_precision_radix", Value::Int4(radix))];
        row.extend(scale.map(|scale| ("numeric_scale", Value::Int4(scale))));
        row
    };
    /// The greatest size of a character, in bytes.
    const CHARACTER: i32 = 4;
    match ty {
        Type::Int2 => number(16, 2, Some(0)),
        Type::Int4 => number(32, 2, Some(0)),
        Type::Int8 => number(64, 2, Some(0)),
        Type::Float4 => number(24, 2, None),
        Type::Float8 => number(53, 2, None),
        Type::Numeric(Some(precision)) => number(i32::from(precision.precision), 10, Some(i32::from(precision.scale))),
        Type::Numeric(None) => vec![("numeric_precision_radix", Value::Int4(10))],
        Type::Char(length) | Type::Varchar(Some(length)) => {
            let length = i32::try_from(length).unwrap_or(i32::MAX);
            vec![
                ("character_maximum_length", Value::Int4(length)),
                ("character_octet_length", Value::Int4(length.saturating_mul(CHARACTER))),
            ]
        }
        Type::Text | Type::Varchar(None) => vec![("character_octet_length", Value::Int4(1 << 30))],
        Type::Date => vec![("datetime_precision", Value::Int4(0))],
        Type::Timestamp(digits) | Type::TimestampTz(digits) | Type::Time(digits) | Type::Interval(digits) => {
            let digits = digits.map_or(6, |digits| i32::from(digits.count()));
            vec![("datetime_precision", Value::Int4(digits))]
        }
        Type::Name
        | Type::Oid
        | Type::Reg(_)
        | Type::Enum(_)
        | Type::Bool
        | Type::Json
        | Type::Jsonb
        | Type::Bytea
        | Type::Uuid
        | Type::Array(_) => Vec::new(),
    }
}

fn views(context: &SessionContext, rows: &mut Rows<'_>) {
    for view in context.view().views() {
        let mut row = place(context, &TABLE, schema::split(&view.name).0, schema::plain(&view.name));
        let check_option = match view.check_option() {
            None => "NONE",
            Some(CheckOption::Local) => "LOCAL",
            Some(CheckOption::Cascaded) => "CASCADED",
        };
        let takes = |event| updatable::takes(&view.name, event, context.view());
        row.extend([
            ("view_definition", text(describe::of_view(context, &view))),
            ("check_option", text(check_option)),
            ("is_updatable", yes(takes(TriggerEvent::Update) && takes(TriggerEvent::Delete))),
            ("is_insertable_into", yes(takes(TriggerEvent::Insert))),
            ("is_trigger_updatable", yes(view.is_triggered(TriggerEvent::Update))),
            ("is_trigger_deletable", yes(view.is_triggered(TriggerEvent::Delete))),
            ("is_trigger_insertable_into", yes(view.is_triggered(TriggerEvent::Insert))),
        ]);
        rows.push(row);
    }
}

fn sequences(context: &SessionContext, rows: &mut Rows<'_>) {
    for sequence in context.view().sequences() {
        let (schema, name) = schema::split(&sequence.name);
        let mut row = place(context, &["sequence_catalog", "sequence_schema", "sequence_name"], schema, name);
        row.extend([
            ("data_type", text(sequence.ty.to_string())),
            ("start_value", text(sequence.start.to_string())),
            ("minimum_value", text(sequence.min.to_string())),
            ("maximum_value", text(sequence.max.to_string())),
            ("increment", text(sequence.increment.to_string())),
            ("cycle_option", yes(sequence.cycle)),
        ]);
        row.extend(of_type(sequence.ty));
        rows.push(row);
    }
}

/// Calls `each` for all constraints of all tables.
fn each_constraint(context: &SessionContext, mut each: impl FnMut(&Table, &str, &Constraint<'_>)) {
    for table in context.view().tables() {
        for (name, constraint) in describe::constraints(&table) {
            each(&table, name, &constraint);
        }
    }
}

fn table_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    each_constraint(context, |table, name, constraint| {
        let (kind, deferrable, deferred) = match constraint {
            Constraint::Key(IndexRef::Primary) => ("PRIMARY KEY", false, false),
            Constraint::Key(_) => ("UNIQUE", false, false),
            Constraint::Check(_) => ("CHECK", false, false),
            Constraint::Foreign(key) => ("FOREIGN KEY", key.deferrable, key.deferred),
        };
        let mut row = [
            place(context, &CONSTRAINT, table.schema_name(), name),
            place(context, &TABLE, table.schema_name(), table.plain_name()),
        ]
        .concat();
        row.extend([
            ("constraint_type", text(kind)),
            ("is_deferrable", yes(deferrable)),
            ("initially_deferred", yes(deferred)),
            ("enforced", yes(true)),
        ]);
        rows.push(row);
    });
}

fn key_column_usage(context: &SessionContext, rows: &mut Rows<'_>) {
    each_constraint(context, |table, name, constraint| {
        let (columns, is_foreign) = match constraint {
            Constraint::Key(index) => (table.index_columns(*index), false),
            Constraint::Foreign(key) => (&key.columns[..], true),
            Constraint::Check(_) => return,
        };
        for (at, &column) in columns.iter().enumerate() {
            let mut row = [
                place(context, &CONSTRAINT, table.schema_name(), name),
                place(context, &TABLE, table.schema_name(), table.plain_name()),
            ]
            .concat();
            row.extend([
                ("column_name", text(&table.schema.columns[column].name)),
                ("ordinal_position", Value::Int4(at as i32 + 1)),
            ]);
            if is_foreign {
                row.push(("position_in_unique_constraint", Value::Int4(at as i32 + 1)));
            }
            rows.push(row);
        }
    });
}

/// Makes the rows of `constraint_column_usage`: the columns of keys, those to which foreign keys lead, and those that
/// CHECKs use.
fn constraint_column_usage(context: &SessionContext, rows: &mut Rows<'_>) {
    each_constraint(context, |table, name, constraint| {
        let (of, columns): (&str, Vec<String>) = match constraint {
            Constraint::Key(index) => {
                let names = table.index_columns(*index).iter().map(|&at| table.schema.columns[at].name.clone());
                (table.name(), names.collect())
            }
            Constraint::Foreign(key) => (&key.table, key.referenced.clone()),
            Constraint::Check(condition) => {
                let names = condition.positions().into_iter().map(|at| table.schema.columns[at].name.clone());
                (table.name(), names.collect())
            }
        };
        for column in columns {
            let (schema, of) = schema::split(of);
            let mut row =
                [place(context, &TABLE, schema, of), place(context, &CONSTRAINT, table.schema_name(), name)].concat();
            row.push(("column_name", text(column)));
            rows.push(row);
        }
    });
}

fn referential_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    each_constraint(context, |table, name, constraint| {
        let Constraint::Foreign(key) = constraint else { return };
        let mut row = place(context, &CONSTRAINT, table.schema_name(), name);
        let unique = describe::referenced_index(context, key);
        if let Some(unique) = unique {
            row.extend(place(
                context,
                &["unique_constraint_catalog", "unique_constraint_schema", "unique_constraint_name"],
                schema::split(&key.table).0,
                &unique,
            ));
        }
        row.extend([
            ("match_option", text(if key.full { "FULL" } else { "NONE" })),
            ("update_rule", text(describe::action_name(key.on_update))),
            ("delete_rule", text(describe::action_name(key.on_delete))),
        ]);
        rows.push(row);
    });
}

/// Makes the rows of `check_constraints` for the constraints of tables.
pub(super) fn check_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    each_constraint(context, |table, name, constraint| {
        if let Constraint::Check(condition) = constraint {
            let mut row = place(context, &CONSTRAINT, table.schema_name(), name);
            row.push(("check_clause", text(crate::expr::shown(&condition.over_table(), Some(table)))));
            rows.push(row);
        }
    });
}
