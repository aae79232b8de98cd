//! The tables of `pg_catalog`.

use super::describe::{self, Constraint};
use super::objects::{self, Kind, OWNER, Object, PG_CATALOG, TYPES};
use super::other_types::OTHERS;
use super::relation::{Maker, Rows, oid, text};
use super::{depend, operator_classes, other_types};
use crate::catalog::foreign_key::ReferentialAction;
use crate::context::SessionContext;
use crate::types::{oid as type_oid, type_len, typmod};
use hotrow_storage::{Array, Column, Element, IndexRef, Type, Value};

/// Returns the function that makes the rows of the relation of this name, or `None` if no function here does.
pub(super) fn maker(name: &str) -> Option<Maker> {
    Some(match name {
        "pg_namespace" => namespaces,
        "pg_class" => classes,
        "pg_attribute" => attributes,
        "pg_attrdef" => defaults,
        "pg_type" => types,
        "pg_index" => indexes,
        "pg_constraint" => constraints,
        "pg_sequence" => sequences,
        "pg_depend" => depend::rows,
        "pg_description" => super::comments::descriptions,
        "pg_am" => access_methods,
        "pg_collation" => collations,
        "pg_database" => databases,
        "pg_authid" => roles,
        "pg_tablespace" => tablespaces,
        "pg_opclass" => operator_classes::rows,
        _ => return None,
    })
}

fn namespaces(context: &SessionContext, rows: &mut Rows<'_>) {
    for (number, name) in objects::schemas(context) {
        rows.push(vec![("oid", oid(number)), ("nspname", text(name)), ("nspowner", oid(OWNER))]);
    }
}

fn classes(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let mut row = vec![
            ("oid", oid(object.number)),
            ("relname", text(&object.name)),
            ("relnamespace", oid(object.schema)),
            ("relowner", oid(OWNER)),
            ("relpersistence", text("p")),
            ("relkind", text(object.letter())),
            ("relnatts", Value::Int2(columns(&object).len() as i16)),
            ("relispopulated", Value::Bool(true)),
            ("relreplident", text("n")),
        ];
        match &object.kind {
            Kind::Table(table) => {
                let count = context.shared().engine().row_count(table.id);
                row.extend([
                    ("relam", oid(2)),
                    ("reltuples", Value::Float4(count as f32)),
                    ("relhasindex", Value::Bool(objects::indexes(table).next().is_some())),
                    ("relchecks", Value::Int2(table.rules.checks.len() as i16)),
                    ("relhastriggers", Value::Bool(describe::has_triggers(table))),
                    ("relreplident", text("d")),
                ]);
            }
            Kind::Index(table, index) => row
                .extend([("relam", oid(method_number(describe::method(table, *index)))), ("relpages", Value::Int4(1))]),
            Kind::View(_) => row.push(("relhasrules", Value::Bool(true))),
            Kind::Sequence | Kind::System(_) => {}
        }
        rows.push(row);
    }
}

fn method_number(name: &str) -> u32 {
    if name == "btree" { operator_classes::BTREE } else { operator_classes::HASH }
}

/// A relation's columns: name, type, whether NULL may stand there.
pub(super) fn columns(object: &Object) -> Vec<(String, Type, bool)> {
    let of_table = |column: &Column| (column.name.clone(), column.ty, column.nullable);
    match &object.kind {
        Kind::Table(table) => table.schema.columns[..table.visible()].iter().map(of_table).collect(),
        Kind::Index(table, index) => {
            table.index_columns(*index).iter().map(|&at| of_table(&table.schema.columns[at])).collect()
        }
        Kind::View(view) => view.columns.iter().map(|column| (column.name.clone(), column.ty, true)).collect(),
        Kind::System(relation) => relation.columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty, true)).collect(),
        Kind::Sequence => [("last_value", Type::Int8), ("log_cnt", Type::Int8), ("is_called", Type::Bool)]
            .map(|(name, ty)| (name.to_owned(), ty, false))
            .to_vec(),
    }
}

/// `a` or `d` if a column is an identity column, and nothing if it is none.
pub(super) fn identity(object: &Object, column: usize) -> &'static str {
    let Kind::Table(table) = &object.kind else { return "" };
    match table.rules.identities.iter().find(|(known, _)| *known == column) {
        Some((_, true)) => "a",
        Some((_, false)) => "d",
        None => "",
    }
}

/// How PostgreSQL stores values that are long: as they are, apart but not compressed, or in any way.
fn storage(ty: Type) -> &'static str {
    match ty {
        Type::Numeric(_) => "m",
        _ if type_len(ty) > 0 => "p",
        _ => "x",
    }
}

/// The number of a type's collation.
fn collation(ty: Type) -> u32 {
    if ty.is_text() { 100 } else { 0 }
}

fn attributes(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        for (at, (name, ty, nullable)) in columns(&object).into_iter().enumerate() {
            let identity = identity(&object, at);
            let has_default = match &object.kind {
                Kind::Table(table) => identity.is_empty() && describe::default(context, table, at).is_some(),
                _ => false,
            };
            let len = type_len(ty);
            rows.push(vec![
                ("attrelid", oid(object.number)),
                ("attname", text(name)),
                ("atttypid", oid(type_oid(ty))),
                ("attstattarget", Value::Int4(-1)),
                ("attlen", Value::Int2(len)),
                ("attnum", Value::Int2(at as i16 + 1)),
                ("attcacheoff", Value::Int4(-1)),
                ("atttypmod", Value::Int4(typmod(ty))),
                ("attbyval", Value::Bool((1..=8).contains(&len))),
                ("attalign", text("i")),
                ("attstorage", text(storage(ty))),
                ("attcompression", text("")),
                ("attnotnull", Value::Bool(!nullable)),
                ("atthasdef", Value::Bool(has_default)),
                ("attidentity", text(identity)),
                ("attgenerated", text("")),
                ("attislocal", Value::Bool(true)),
                ("attcollation", oid(collation(ty))),
            ]);
        }
    }
}

fn defaults(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let Kind::Table(table) = &object.kind else { continue };
        for column in 0..table.visible() {
            let Some(default) = describe::default(context, table, column) else { continue };
            if identity(&object, column).is_empty() {
                rows.push(vec![
                    ("oid", oid(objects::number_of_default(context, table, column))),
                    ("adrelid", oid(object.number)),
                    ("adnum", Value::Int2(column as i16 + 1)),
                    ("adbin", text(default)),
                ]);
            }
        }
    }
}

fn types(_: &SessionContext, rows: &mut Rows<'_>) {
    for known in TYPES.iter().chain(&OTHERS) {
        let is_vector = known.category == "A";
        let own = vec![
            ("oid", oid(known.number)),
            ("typname", text(known.name)),
            ("typlen", Value::Int2(known.bytes)),
            ("typbyval", Value::Bool(matches!(known.bytes, 1 | 2 | 4 | 8))),
            ("typcategory", text(known.category)),
            ("typispreferred", Value::Bool(matches!(known.name, "bool" | "text" | "float8" | "timestamptz" | "oid"))),
            ("typarray", oid(known.array)),
            ("typelem", oid(other_types::element(known.name))),
            ("typcollation", oid(other_types::collation(known))),
            ("typalign", text(other_types::alignment(known))),
            ("typstorage", text(other_types::storage(known))),
            ("typsubscript", text(if is_vector { "array_subscript_handler" } else { "-" })),
        ];
        let of_array = vec![
            ("oid", oid(known.array)),
            ("typname", text(format!("_{}", known.name))),
            ("typlen", Value::Int2(-1)),
            ("typcategory", text("A")),
            ("typelem", oid(known.number)),
            ("typcollation", oid(other_types::collation(known))),
            ("typalign", text(if other_types::alignment(known) == "d" { "d" } else { "i" })),
            ("typstorage", text("x")),
            ("typsubscript", text("array_subscript_handler")),
        ];
        for (special, functions) in [(own, known.name), (of_array, "array_")] {
            let [input, output, receive, send] = other_types::functions(functions);
            let mut row = vec![
                ("typnamespace", oid(PG_CATALOG)),
                ("typowner", oid(OWNER)),
                ("typtype", text("b")),
                ("typisdefined", Value::Bool(true)),
                ("typdelim", text(",")),
                ("typtypmod", Value::Int4(-1)),
                ("typinput", text(input)),
                ("typoutput", text(output)),
                ("typreceive", text(receive)),
                ("typsend", text(send)),
                ("typmodin", text("-")),
                ("typmodout", text("-")),
                ("typanalyze", text("-")),
            ];
            row.extend(special);
            rows.push(row);
        }
    }
}

/// Numbers of columns, or bits about them.
fn vector(numbers: impl IntoIterator<Item = usize>) -> Value<'static> {
    Value::Array(Array::new(Element::Int2Vector, numbers.into_iter().map(|number| Value::Int2(number as i16))))
}

/// Objects' numbers.
fn oid_vector(numbers: impl IntoIterator<Item = u32>) -> Value<'static> {
    Value::Array(Array::new(Element::OidVector, numbers.into_iter().map(oid)))
}

fn indexes(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let Kind::Index(table, index) = &object.kind else { continue };
        let columns = table.index_columns(*index);
        let count = Value::Int2(columns.len() as i16);
        let method = method_number(describe::method(table, *index));
        rows.push(vec![
            ("indexrelid", oid(object.number)),
            ("indrelid", oid(context.shared().catalog.number(table.name()))),
            ("indnatts", count.clone()),
            ("indnkeyatts", count),
            ("indisunique", Value::Bool(describe::is_unique(table, *index))),
            ("indisprimary", Value::Bool(*index == IndexRef::Primary)),
            ("indimmediate", Value::Bool(true)),
            ("indisvalid", Value::Bool(true)),
            ("indisready", Value::Bool(true)),
            ("indislive", Value::Bool(true)),
            ("indkey", vector(columns.iter().map(|at| at + 1))),
            ("indcollation", oid_vector(columns.iter().map(|&at| collation(table.schema.columns[at].ty)))),
            (
                "indclass",
                oid_vector(columns.iter().map(|&at| operator_classes::of(method, table.schema.columns[at].ty))),
            ),
            ("indoption", vector(columns.iter().map(|_| 0))),
        ]);
    }
}

fn action_letter(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

fn constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    let (view, catalog) = (context.view(), &context.shared().catalog);
    for table in view.tables() {
        for (name, constraint) in describe::constraints(&table) {
            let mut row = vec![
                ("oid", oid(objects::number_of_constraint(context, &table, name))),
                ("conname", text(name)),
                ("connamespace", oid(objects::number_of_schema(context, table.schema_name()))),
                ("convalidated", Value::Bool(true)),
                ("conrelid", oid(catalog.number(table.name()))),
                ("confupdtype", text(" ")),
                ("confdeltype", text(" ")),
                ("confmatchtype", text(" ")),
                ("conislocal", Value::Bool(true)),
                ("connoinherit", Value::Bool(true)),
            ];
            match &constraint {
                Constraint::Key(index) => row.extend([
                    ("contype", text(if *index == IndexRef::Primary { "p" } else { "u" })),
                    ("conindid", oid(catalog.number(&table.name_beside(name)))),
                    ("conkey", super::relation::columns(table.index_columns(*index).iter().copied())),
                ]),
                Constraint::Check(condition) => {
                    let said = describe::of_constraint(view, &table, &constraint);
                    row.extend([
                        ("contype", text("c")),
                        ("connoinherit", Value::Bool(false)),
                        ("conbin", text(said)),
                        ("conkey", super::relation::columns(condition.positions())),
                    ]);
                }
                Constraint::Foreign(key) => {
                    let referenced = view.table(&key.table);
                    let index = describe::referenced_index(context, key);
                    let index = index.zip(referenced.as_ref()).map(|(name, table)| table.name_beside(&name));
                    let places = key.referenced.iter().filter_map(|name| referenced.as_ref()?.schema.column(name));
                    row.extend([
                        ("contype", text("f")),
                        ("condeferrable", Value::Bool(key.deferrable)),
                        ("condeferred", Value::Bool(key.deferred)),
                        ("convalidated", Value::Bool(key.validated)),
                        ("conindid", oid(index.map_or(0, |name| catalog.number(&name)))),
                        ("confrelid", oid(catalog.number(&key.table))),
                        ("confupdtype", text(action_letter(key.on_update))),
                        ("confdeltype", text(action_letter(key.on_delete))),
                        ("confmatchtype", text(if key.full { "f" } else { "s" })),
                        ("conkey", super::relation::columns(key.columns.iter().copied())),
                        ("confkey", super::relation::columns(places)),
                    ]);
                }
            }
            rows.push(row);
        }
    }
}

fn sequences(context: &SessionContext, rows: &mut Rows<'_>) {
    for sequence in context.view().sequences() {
        rows.push(vec![
            ("seqrelid", oid(context.shared().catalog.number(&sequence.name))),
            ("seqtypid", oid(type_oid(sequence.ty))),
            ("seqstart", Value::Int8(sequence.start)),
            ("seqincrement", Value::Int8(sequence.increment)),
            ("seqmax", Value::Int8(sequence.max)),
            ("seqmin", Value::Int8(sequence.min)),
            ("seqcache", Value::Int8(1)),
            ("seqcycle", Value::Bool(sequence.cycle)),
        ]);
    }
}

fn access_methods(_: &SessionContext, rows: &mut Rows<'_>) {
    for (number, name, kind) in [(2, "heap", "t"), (403, "btree", "i"), (405, "hash", "i")] {
        rows.push(vec![("oid", oid(number)), ("amname", text(name)), ("amtype", text(kind))]);
    }
}

fn collations(_: &SessionContext, rows: &mut Rows<'_>) {
    for (number, name, provider) in [(100, "default", "d"), (950, "C", "c")] {
        rows.push(vec![
            ("oid", oid(number)),
            ("collname", text(name)),
            ("collnamespace", oid(PG_CATALOG)),
            ("collowner", oid(OWNER)),
            ("collprovider", text(provider)),
            ("collisdeterministic", Value::Bool(true)),
            ("collencoding", Value::Int4(-1)),
        ]);
    }
}

fn databases(_: &SessionContext, rows: &mut Rows<'_>) {
    rows.push(vec![
        ("oid", oid(objects::POSTGRES)),
        ("datname", text("postgres")),
        ("datdba", oid(OWNER)),
        ("encoding", Value::Int4(6)),
        ("datlocprovider", text("c")),
        ("datallowconn", Value::Bool(true)),
        ("datconnlimit", Value::Int4(-1)),
        ("dattablespace", oid(1663)),
        ("datcollate", text("C")),
        ("datctype", text("C")),
    ]);
}

fn roles(_: &SessionContext, rows: &mut Rows<'_>) {
    let can =
        ["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication", "rolbypassrls"];
    let mut row = vec![("oid", oid(OWNER)), ("rolname", text("postgres")), ("rolconnlimit", Value::Int4(-1))];
    row.extend(can.map(|what| (what, Value::Bool(true))));
    rows.push(row);
}

fn tablespaces(_: &SessionContext, rows: &mut Rows<'_>) {
    for (number, name) in [(1663, "pg_default"), (1664, "pg_global")] {
        rows.push(vec![("oid", oid(number)), ("spcname", text(name)), ("spcowner", oid(OWNER))]);
    }
}
