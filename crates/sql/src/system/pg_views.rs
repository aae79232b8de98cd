//! The views of `pg_catalog`.

use super::describe;
use super::objects::{self, Kind, OWNER};
use super::relation::{Maker, Rows, oid, text};
use crate::context::SessionContext;
use crate::schema;
use crate::settings::Known;
use crate::types::{named_zones, now};
use hotrow_storage::{Interval, Value};

/// Returns the function that builds the rows of this relation, or `None` if this module does not build them.
pub(super) fn maker(name: &str) -> Option<Maker> {
    Some(match name {
        "pg_tables" => tables,
        "pg_indexes" => indexes,
        "pg_views" => views,
        "pg_matviews" => materialized,
        "pg_sequences" => sequences,
        "pg_roles" => roles,
        "pg_user" | "pg_shadow" => users,
        "pg_settings" => settings,
        "pg_timezone_names" => time_zones,
        "pg_stat_user_tables" | "pg_stat_all_tables" => statistics,
        "pg_stat_user_indexes" | "pg_stat_all_indexes" => index_statistics,
        "pg_statio_user_tables" | "pg_statio_all_tables" => blocks,
        _ => return None,
    })
}

fn tables(context: &SessionContext, rows: &mut Rows<'_>) {
    for table in context.view().tables().iter().filter(|table| table.rules.materialized.is_none()) {
        rows.push(vec![
            ("schemaname", text(table.schema_name())),
            ("tablename", text(table.plain_name())),
            ("tableowner", text("postgres")),
            ("hasindexes", Value::Bool(objects::indexes(table).next().is_some())),
            ("hastriggers", Value::Bool(describe::has_triggers(table))),
        ]);
    }
}

fn indexes(context: &SessionContext, rows: &mut Rows<'_>) {
    for table in context.view().tables() {
        for index in objects::indexes(&table) {
            rows.push(vec![
                ("schemaname", text(table.schema_name())),
                ("tablename", text(table.plain_name())),
                ("indexname", text(table.index_name(index))),
                ("indexdef", text(describe::of_index(&table, index, &describe::full_name(&table), false))),
            ]);
        }
    }
}

fn views(context: &SessionContext, rows: &mut Rows<'_>) {
    for view in context.view().views() {
        rows.push(vec![
            ("schemaname", text(schema::split(&view.name).0)),
            ("viewname", text(schema::plain(&view.name))),
            ("viewowner", text("postgres")),
            ("definition", text(describe::of_view(context, &view))),
        ]);
    }
}

fn materialized(context: &SessionContext, rows: &mut Rows<'_>) {
    for table in context.view().tables() {
        let Some(query) = table.stored_query() else { continue };
        rows.push(vec![
            ("schemaname", text(table.schema_name())),
            ("matviewname", text(table.plain_name())),
            ("matviewowner", text("postgres")),
            ("hasindexes", Value::Bool(objects::indexes(&table).next().is_some())),
            ("ispopulated", Value::Bool(table.check_populated().is_ok())),
            ("definition", text(describe::of_view(context, &query))),
        ]);
    }
}

fn sequences(context: &SessionContext, rows: &mut Rows<'_>) {
    for sequence in context.view().sequences() {
        let at = sequence.place.at();
        context.note_append(sequence.place.position());
        rows.push(vec![
            ("schemaname", text(schema::split(&sequence.name).0)),
            ("sequencename", text(schema::plain(&sequence.name))),
            ("sequenceowner", text("postgres")),
            ("data_type", text(sequence.ty.to_string())),
            ("start_value", Value::Int8(sequence.start)),
            ("min_value", Value::Int8(sequence.min)),
            ("max_value", Value::Int8(sequence.max)),
            ("increment_by", Value::Int8(sequence.increment)),
            ("cycle", Value::Bool(sequence.cycle)),
            ("cache_size", Value::Int8(1)),
            ("last_value", if at.is_taken { Value::Int8(at.last) } else { Value::Null }),
        ]);
    }
}

/// Builds the rows of `pg_stat_all_indexes`. Scans of indexes are not counted here.
fn index_statistics(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let Kind::Index(table, _) = &object.kind else { continue };
        rows.push(vec![
            ("relid", oid(context.shared().catalog().number(table.name()))),
            ("indexrelid", oid(object.number)),
            ("schemaname", text(&object.schema_name)),
            ("relname", text(table.plain_name())),
            ("indexrelname", text(&object.name)),
        ]);
    }
}

/// Builds the rows of `pg_statio_all_tables`. All numbers are zero, because no table is read from a disk.
fn blocks(context: &SessionContext, rows: &mut Rows<'_>) {
    for table in context.view().tables() {
        rows.push(vec![
            ("relid", oid(context.shared().catalog().number(table.name()))),
            ("schemaname", text(table.schema_name())),
            ("relname", text(table.plain_name())),
            ("heap_blks_read", Value::Int8(0)),
            ("idx_blks_read", Value::Int8(0)),
        ]);
    }
}

fn roles(_: &SessionContext, rows: &mut Rows<'_>) {
    let can =
        ["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication", "rolbypassrls"];
    let mut row = vec![
        ("oid", oid(OWNER)),
        ("rolname", text("postgres")),
        ("rolconnlimit", Value::Int4(-1)),
        ("rolpassword", text("********")),
    ];
    row.extend(can.map(|what| (what, Value::Bool(true))));
    rows.push(row);
}

fn users(_: &SessionContext, rows: &mut Rows<'_>) {
    rows.push(vec![
        ("usename", text("postgres")),
        ("usesysid", oid(OWNER)),
        ("usecreatedb", Value::Bool(true)),
        ("usesuper", Value::Bool(true)),
        ("userepl", Value::Bool(true)),
        ("usebypassrls", Value::Bool(true)),
        ("passwd", text("********")),
    ]);
}

/// Makes the rows of `pg_settings`: the settings of SHOW ALL, and limits that drivers ask for.
fn settings(context: &SessionContext, rows: &mut Rows<'_>) {
    let limits = [("block_size", "8192"), ("max_function_args", "100"), ("max_index_keys", "32")];
    let limits = limits.map(|(name, value)| (name.to_owned(), value.to_owned(), None));
    let mut all: Vec<_> = limits.into_iter().chain(context.all_settings()).collect();
    all.sort_by_cached_key(|(name, ..)| name.to_lowercase());
    for (name, value, known) in all {
        let is_custom = known.is_none() && name.contains('.');
        let (vartype, unit) = known.map_or((if is_custom { "string" } else { "integer" }, None), Known::vartype);
        let context = known.map_or(if is_custom { "user" } else { "internal" }, Known::context);
        let default = known.map_or_else(|| value.clone(), |known| known.default().to_owned());
        let shown = |value: &str| known.map_or_else(|| value.to_owned(), |known| known.in_unit(value));
        let is_default = context == "internal" || (default == value && !is_custom);
        rows.push(vec![
            ("name", text(&name)),
            ("setting", text(shown(&value))),
            ("unit", unit.map_or(Value::Null, text)),
            ("category", text(if context == "internal" { "Preset Options" } else { "Customized Options" })),
            ("context", text(context)),
            ("vartype", text(vartype)),
            ("source", text(if is_default { "default" } else { "session" })),
            ("boot_val", text(shown(&default))),
            ("reset_val", text(shown(&default))),
        ]);
    }
}

fn time_zones(_: &SessionContext, rows: &mut Rows<'_>) {
    let now = now();
    for (name, zone) in named_zones() {
        let offset = Interval::of_micros(zone.offset(now) * 1_000_000);
        rows.push(vec![
            ("name", text(name)),
            ("abbrev", text(zone.abbreviation(now))),
            ("utc_offset", Value::Interval(offset)),
            ("is_dst", Value::Bool(zone.is_summer_time(now))),
        ]);
    }
}

fn statistics(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let Kind::Table(table) = &object.kind else { continue };
        rows.push(vec![
            ("relid", oid(object.number)),
            ("schemaname", text(&object.schema_name)),
            ("relname", text(&object.name)),
            ("n_live_tup", Value::Int8(context.shared().engine().row_count(table.id) as i64)),
        ]);
    }
}
