//! The tables of `pg_catalog`.

use super::describe::{self, Constraint};
use super::objects::{self, Kind, OWNER, Object, PG_CATALOG, TYPES};
use super::other_types::OTHERS;
use super::relation::{Maker, Rows, oid, text};
use super::{depend, operator_classes, other_types, routines};
use crate::catalog::foreign_key::ReferentialAction;
use crate::catalog::{Declared, is_temporary};
use crate::contents::Contents;
use crate::context::SessionContext;
use crate::schema;
use crate::types::{DomainId, oid as type_oid, type_len, typmod};
use hotrow_storage::{Array, Column, Element, IndexRef, Type, Value};

/// Returns the function that builds the rows of this relation, or `None` if this module does not build them.
pub(super) fn maker(name: &str) -> Option<Maker> {
    Some(match name {
        "pg_namespace" => namespaces,
        "pg_class" => classes,
        "pg_attribute" => attributes,
        "pg_attrdef" => defaults,
        "pg_enum" => labels,
        "pg_index" => indexes,
        "pg_sequence" => sequences,
        "pg_depend" => depend::rows,
        "pg_description" => super::comments::descriptions,
        "pg_am" => access_methods,
        "pg_collation" => collations,
        "pg_database" => databases,
        "pg_authid" => roles,
        "pg_tablespace" => tablespaces,
        "pg_opclass" => operator_classes::rows,
        "pg_proc" => routines::procedures,
        "pg_trigger" => routines::all_triggers,
        "pg_language" => routines::languages,
        "pg_extension" => extensions,
        "pg_available_extensions" => available_extensions,
        _ => return None,
    })
}

/// The extensions of PostgreSQL whose functions are built in, with their versions and descriptions. Only the first
/// counts as installed, as in a new database of PostgreSQL.
const EXTENSIONS: [(&str, &str, &str); 3] = [
    ("plpgsql", "1.0", "PL/pgSQL procedural language"),
    ("pgcrypto", "1.3", "cryptographic functions"),
    ("uuid-ossp", "1.1", "generate universally unique identifiers (UUIDs)"),
];

/// The OID of the first extension.
const INSTALLED: u32 = 13_561;

fn extensions(_: &SessionContext, rows: &mut Rows<'_>) {
    let (name, version, _) = EXTENSIONS[0];
    rows.push(vec![
        ("oid", oid(INSTALLED)),
        ("extname", text(name)),
        ("extowner", oid(OWNER)),
        ("extnamespace", oid(objects::PG_CATALOG)),
        ("extrelocatable", Value::Bool(false)),
        ("extversion", text(version)),
    ]);
}

fn available_extensions(_: &SessionContext, rows: &mut Rows<'_>) {
    for (at, (name, version, comment)) in EXTENSIONS.into_iter().enumerate() {
        let mut row = vec![("name", text(name)), ("default_version", text(version)), ("comment", text(comment))];
        if at == 0 {
            row.push(("installed_version", text(version)));
        }
        rows.push(row);
    }
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
            ("relpersistence", text(if is_temporary(&object.full) { "t" } else { "p" })),
            ("relkind", text(object.letter())),
            ("relnatts", Value::Int2(columns(&object).len() as i16)),
            ("relispopulated", Value::Bool(is_populated(&object))),
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
            Kind::View(view) => {
                row.extend([
                    ("relhasrules", Value::Bool(true)),
                    ("relhastriggers", Value::Bool(!view.triggers.is_empty())),
                ]);
                if !view.options.is_empty() {
                    let options = view.options.iter().map(|option| format!("{}={}", option.name, option.value));
                    let options = options.map(|option| Value::Text(option.into()));
                    row.push(("reloptions", Value::Array(Array::new(Element::Text, options))));
                }
            }
            Kind::Sequence | Kind::System(_) => {}
        }
        rows.push(row);
    }
}

fn method_number(name: &str) -> u32 {
    if name == "btree" { operator_classes::BTREE } else { operator_classes::HASH }
}

/// Whether queries may read a relation. Only a materialized view that has not been filled yet may not be read.
fn is_populated(object: &Object) -> bool {
    !matches!(&object.kind, Kind::Table(table) if table.check_populated().is_err())
}

/// Returns the domain of a relation's column, if it has one.
pub(super) fn domain(object: &Object, column: usize) -> Option<DomainId> {
    match &object.kind {
        Kind::Table(table) => table.domain(column),
        Kind::View(view) => view.columns.get(column)?.domain,
        Kind::Index(..) | Kind::System(_) | Kind::Sequence => None,
    }
}

/// Returns the columns of a relation: the name, the type, and whether the column may be NULL.
pub(super) fn columns(object: &Object) -> Vec<(String, Type, bool)> {
    let of_table = |column: &Column| (column.name.clone(), column.ty, column.nullable);
    match &object.kind {
        Kind::Table(table) => table.schema.columns[..table.visible()].iter().map(of_table).collect(),
        Kind::Index(table, index) => {
            let mut columns: Vec<(String, Type, bool)> = Vec::new();
            for at in describe::indexed_columns(table, *index) {
                let (name, Column { ty, nullable, .. }) = (table.key_name(at), table.schema.columns[at].clone());
                let is_taken = |name: &str| columns.iter().any(|(known, ..)| known == name);
                let numbered = (1..).map(|number| format!("{name}{number}"));
                let name = std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name));
                columns.push((name.unwrap_or_default(), ty, nullable));
            }
            columns
        }
        Kind::View(view) => view.columns.iter().map(|column| (column.name.clone(), column.ty, true)).collect(),
        Kind::System(relation) => relation.columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty, true)).collect(),
        Kind::Sequence => [("last_value", Type::Int8), ("log_cnt", Type::Int8), ("is_called", Type::Bool)]
            .map(|(name, ty)| (name.to_owned(), ty, false))
            .to_vec(),
    }
}

/// Returns the value of `attidentity` for a column: `a` for GENERATED ALWAYS, `d` for GENERATED BY DEFAULT, and an
/// empty text if it is no identity column.
pub(super) fn identity(object: &Object, column: usize) -> &'static str {
    let Kind::Table(table) = &object.kind else { return "" };
    match table.rules.identities.iter().find(|(known, _)| *known == column) {
        Some((_, true)) => "a",
        Some((_, false)) => "d",
        None => "",
    }
}

/// Returns the letter for PostgreSQL's storage of long values of a type: in place (`p`), in place if possible (`m`), or
/// in any way (`x`).
pub(super) fn storage(ty: Type) -> &'static str {
    match ty {
        Type::Numeric(_) => "m",
        _ if type_len(ty) > 0 => "p",
        _ => "x",
    }
}

/// Returns the number of a type's collation, or zero if it has none.
pub(super) fn collation(ty: Type) -> u32 {
    if ty.is_text() { 100 } else { 0 }
}

fn attributes(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        for (at, (name, ty, nullable)) in columns(&object).into_iter().enumerate() {
            let identity = identity(&object, at);
            let is_generated = matches!(&object.kind, Kind::Table(table) if table.is_generated(at));
            let has_default = match &object.kind {
                Kind::Table(table) => {
                    is_generated || identity.is_empty() && describe::default(context, table, at).is_some()
                }
                Kind::View(view) => view.default(at).is_some(),
                _ => false,
            };
            let (len, domain) = (type_len(ty), domain(&object, at));
            rows.push(vec![
                ("attrelid", oid(object.number)),
                ("attname", text(name)),
                ("atttypid", oid(objects::number_of(Declared { ty, domain }))),
                ("attstattarget", Value::Int4(-1)),
                ("attlen", Value::Int2(len)),
                ("attnum", Value::Int2(at as i16 + 1)),
                ("attcacheoff", Value::Int4(-1)),
                ("attndims", Value::Int4(i32::from(matches!(ty, Type::Array(_)) && domain.is_none()))),
                ("atttypmod", Value::Int4(if domain.is_some() { -1 } else { typmod(ty) })),
                ("attbyval", Value::Bool((1..=8).contains(&len))),
                ("attalign", text("i")),
                ("attstorage", text(storage(ty))),
                ("attcompression", text("")),
                ("attnotnull", Value::Bool(!nullable)),
                ("atthasdef", Value::Bool(has_default)),
                ("attidentity", text(identity)),
                ("attgenerated", text(if is_generated { "s" } else { "" })),
                ("attislocal", Value::Bool(true)),
                ("attcollation", oid(collation(ty))),
            ]);
        }
    }
}

fn defaults(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let table = match &object.kind {
            Kind::Table(table) => table,
            Kind::View(view) if !view.defaults.is_empty() => &describe::shape(context, view),
            _ => continue,
        };
        for column in 0..table.visible() {
            let default = describe::default(context, table, column).or_else(|| describe::generation(table, column));
            let Some(default) = default else { continue };
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

/// Makes the rows of `pg_type` for all types but domains.
pub(super) fn types(context: &SessionContext, rows: &mut Rows<'_>) {
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
        rows.push([common_of_type(PG_CATALOG, known.name), own].concat());
        let mut of_array = array_type(PG_CATALOG, known.array, known.name, known.number);
        of_array.extend([
            ("typcollation", oid(other_types::collation(known))),
            ("typalign", text(if other_types::alignment(known) == "d" { "d" } else { "i" })),
        ]);
        rows.push(of_array);
    }
    for made in context.view().enumerations() {
        let (within, name) = schema::split(&made.name);
        let namespace = objects::number_of_schema(context, within);
        let [number, array] = made.definition.oids;
        let own = vec![
            ("oid", oid(number)),
            ("typname", text(name)),
            ("typtype", text("e")),
            ("typlen", Value::Int2(4)),
            ("typbyval", Value::Bool(true)),
            ("typcategory", text("E")),
            ("typarray", oid(array)),
            ("typalign", text("i")),
            ("typstorage", text("p")),
            ("typsubscript", text("-")),
        ];
        rows.push([common_of_type(namespace, "enum_"), own].concat());
        rows.push(array_type(namespace, array, name, number));
    }
}

/// Returns the columns of `pg_type` that are the same for all types, and those with the names of the type's functions,
/// which begin with `functions`. If a caller appends one of these columns again, the appended value is used.
pub(super) fn common_of_type(namespace: u32, functions: &str) -> Vec<(&'static str, Value<'static>)> {
    let [input, output, receive, send] = other_types::functions(functions);
    vec![
        ("typnamespace", oid(namespace)),
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
    ]
}

/// Returns the row of `pg_type` for the array type with the OID `number`, whose elements have the type named `element`.
pub(super) fn array_type(
    namespace: u32,
    number: u32,
    element: &str,
    element_number: u32,
) -> Vec<(&'static str, Value<'static>)> {
    let mut row = common_of_type(namespace, "array_");
    row.extend([
        ("oid", oid(number)),
        ("typname", text(format!("_{element}"))),
        ("typlen", Value::Int2(-1)),
        ("typcategory", text("A")),
        ("typelem", oid(element_number)),
        ("typalign", text("i")),
        ("typstorage", text("x")),
        ("typsubscript", text("array_subscript_handler")),
    ]);
    row
}

fn labels(context: &SessionContext, rows: &mut Rows<'_>) {
    for made in context.view().enumerations() {
        let number = made.definition.oids[0];
        for (at, (label_number, label)) in made.definition.labels.iter().enumerate() {
            let name = format!("\0label\0{number}\0{label_number}");
            rows.push(vec![
                ("oid", oid(context.shared().catalog().number(&name))),
                ("enumtypid", oid(number)),
                ("enumsortorder", Value::Float4(at as f32 + 1.0)),
                ("enumlabel", text(label)),
            ]);
        }
    }
}

/// Makes an `int2vector` of numbers of columns, or of bits about columns.
fn vector(numbers: impl IntoIterator<Item = usize>) -> Value<'static> {
    Value::Array(Array::new(Element::Int2Vector, numbers.into_iter().map(|number| Value::Int2(number as i16))))
}

/// Makes an `oidvector` of objects' numbers.
fn oid_vector(numbers: impl IntoIterator<Item = u32>) -> Value<'static> {
    Value::Array(Array::new(Element::OidVector, numbers.into_iter().map(oid)))
}

fn indexes(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        let Kind::Index(table, index) = &object.kind else { continue };
        let (columns, all) = (table.key_columns(*index), describe::indexed_columns(table, *index));
        let orders = table.index_properties(*index).map_or(&[][..], |properties| &properties.orders);
        let option = |at: usize| {
            let order = orders.get(at).copied().unwrap_or_default();
            usize::from(order.descending) + 2 * usize::from(order.nulls_first)
        };
        let method = method_number(describe::method(table, *index));
        rows.push(vec![
            ("indexrelid", oid(object.number)),
            ("indrelid", oid(context.shared().catalog().number(table.name()))),
            ("indnatts", Value::Int2(all.len() as i16)),
            ("indnkeyatts", Value::Int2(columns.len() as i16)),
            ("indisunique", Value::Bool(describe::is_unique(table, *index))),
            ("indisprimary", Value::Bool(*index == IndexRef::Primary)),
            ("indimmediate", Value::Bool(true)),
            ("indisvalid", Value::Bool(true)),
            ("indisready", Value::Bool(true)),
            ("indislive", Value::Bool(true)),
            ("indkey", vector(all.iter().map(|&at| if table.is_hidden(at) { 0 } else { at + 1 }))),
            ("indcollation", oid_vector(columns.iter().map(|&at| collation(table.schema.columns[at].ty)))),
            (
                "indclass",
                oid_vector(columns.iter().map(|&at| operator_classes::of(method, table.schema.columns[at].ty))),
            ),
            ("indoption", vector((0..columns.len()).map(option))),
            ("indexprs", describe::expressions(table, *index).map_or(Value::Null, text)),
            ("indpred", describe::predicate(table, *index).map_or(Value::Null, text)),
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

/// Makes the rows of `pg_constraint` for the constraints of tables.
pub(super) fn constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    let (view, catalog) = (context.view(), context.shared().catalog());
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
            ("seqrelid", oid(context.shared().catalog().number(&sequence.name))),
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

fn databases(context: &SessionContext, rows: &mut Rows<'_>) {
    let row = |contents: &Contents| {
        vec![
            ("oid", oid(contents.number)),
            ("datname", text(&*contents.name)),
            ("datdba", oid(OWNER)),
            ("encoding", Value::Int4(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", Value::Bool(true)),
            ("datconnlimit", Value::Int4(-1)),
            ("dattablespace", oid(1663)),
            ("datcollate", text("C")),
            ("datctype", text("C")),
        ]
    };
    context.shared().databases().iter().for_each(|contents| rows.push(row(contents)));
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
