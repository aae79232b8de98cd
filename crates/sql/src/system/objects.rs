//! The objects of a database with the OIDs by which the catalogs refer to them: relations, constraints, schemas and
//! types.
//!
//! A user's relation gets an OID when it is first shown in a catalog, and has the same OID as long as it has the same
//! name. Types have PostgreSQL's OIDs.

use super::all;
use super::other_types::{OTHERS, functions};
use super::relation::SystemRelation;
use crate::OutputColumn;
use crate::catalog::view::StoredView;
use crate::catalog::{Declared, NamedType, Table};
use crate::context::SessionContext;
use crate::parse::written_name;
use crate::schema::{self, RelationName};
use crate::types::{from_oid, oid as type_oid};
use hotrow_storage::{IndexRef, Registry, Type, Value};
use hotrow_sync::Arc;

/// The OIDs of the schemas `pg_catalog`, `public` and `information_schema`.
pub(super) const PG_CATALOG: u32 = 11;
pub(super) const PUBLIC: u32 = 2200;
pub(super) const INFORMATION_SCHEMA: u32 = 13_000;

/// The OID of the catalog `pg_class`.
pub(super) const PG_CLASS: u32 = 1259;

/// The OID of the role `postgres`, which owns all objects.
pub(super) const OWNER: u32 = 10;

/// The kind of a relation, with its definition.
#[derive(Debug)]
pub(super) enum Kind {
    Table(Arc<Table>),
    Index(Arc<Table>, IndexRef),
    Sequence,
    View(Arc<StoredView>),
    System(&'static SystemRelation),
}

/// A relation with its OID.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) number: u32,
    pub(super) name: String,
    /// The relation's [full name](schema), if it is a user's relation.
    pub(super) full: String,
    pub(super) schema: u32,
    pub(super) schema_name: String,
    pub(super) kind: Kind,
}

impl Object {
    /// Returns PostgreSQL's letter for the kind of the relation (`relkind`).
    pub(super) fn letter(&self) -> &'static str {
        match &self.kind {
            Kind::Table(table) if table.rules.materialized.is_some() => "m",
            Kind::Table(_) => "r",
            Kind::Index(..) => "i",
            Kind::Sequence => "S",
            Kind::View(_) => "v",
            Kind::System(relation) => {
                if relation.is_view {
                    "v"
                } else {
                    "r"
                }
            }
        }
    }
}

/// Returns all relations: those of users, ordered by name, and then the system relations.
pub(super) fn objects(context: &SessionContext) -> Vec<Object> {
    let (view, catalog) = (context.view(), context.shared().catalog());
    let of_user = |full: &str, kind| {
        let (schema, name) = schema::split(full);
        Object {
            number: catalog.number(full),
            name: name.to_owned(),
            full: full.to_owned(),
            schema: number_of_schema(context, schema),
            schema_name: schema.to_owned(),
            kind,
        }
    };
    let mut all = Vec::new();
    for table in view.tables() {
        all.extend(
            indexes(&table)
                .map(|index| of_user(&table.name_beside(table.index_name(index)), Kind::Index(table.clone(), index))),
        );
        all.push(of_user(table.name(), Kind::Table(table.clone())));
    }
    all.extend(view.sequences().iter().map(|sequence| of_user(&sequence.name, Kind::Sequence)));
    all.extend(view.views().into_iter().map(|view| of_user(&view.name.clone(), Kind::View(view))));
    all.sort_by(|one, other| one.full.cmp(&other.full));
    all.extend(all::all().list.iter().map(system_object));
    all
}

fn system_object(relation: &'static SystemRelation) -> Object {
    let schema = if relation.schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA };
    Object {
        number: relation.number,
        name: relation.name.to_owned(),
        full: String::new(),
        schema,
        schema_name: relation.schema.to_owned(),
        kind: Kind::System(relation),
    }
}

/// Returns the OID of the system relation `name`, which is at position `at` of the list. It is PostgreSQL's own OID if
/// clients or other catalogs refer to it.
pub(super) fn number_of_system(at: usize, name: &str) -> u32 {
    match name {
        "pg_type" => 1247,
        "pg_attribute" => 1249,
        "pg_proc" => 1255,
        "pg_class" => PG_CLASS,
        "pg_namespace" => 2615,
        "pg_constraint" => 2606,
        "pg_index" => 2610,
        "pg_attrdef" => 2604,
        _ => 12_000 + at as u32,
    }
}

/// Returns the OID of a system relation.
pub(crate) fn number_of_system_relation(relation: &'static SystemRelation) -> u32 {
    relation.number
}

/// Returns the indexes of a table that users can see: without the primary index if its key is hidden.
pub(super) fn indexes(table: &Table) -> impl Iterator<Item = IndexRef> {
    let hidden = table.is_key_hidden();
    table.indexes().filter(move |index| !hidden || *index != IndexRef::Primary)
}

/// Returns the OID of a constraint.
pub(super) fn number_of_constraint(context: &SessionContext, table: &Table, constraint: &str) -> u32 {
    context.shared().catalog().number(&table.numbered_constraint(constraint))
}

/// Returns the OID of a column's default.
pub(super) fn number_of_default(context: &SessionContext, table: &Table, column: usize) -> u32 {
    context.shared().catalog().number(&table.numbered_default(column))
}

/// Returns the OID of the relation that a text names, such as `t`, `public.t` or `pg_class`, or `None` if there is
/// none.
pub(crate) fn number_of_relation(context: &SessionContext, name: &str) -> Option<u32> {
    let written = written_name(name).ok()?;
    context.view().check_database(&written).ok()?;
    let plain = &written.name;
    let system = || {
        let schema = written.schema.as_deref().unwrap_or("pg_catalog");
        all::relation(&[schema.to_owned(), plain.clone()]).map(|relation| relation.number)
    };
    let full = context.view().find(&written);
    let of_user = context.view().has_relation(&full).then(|| context.shared().catalog().number(&full));
    of_user.or_else(system)
}

/// Returns the name of the relation with this OID, with its schema if the search path does not find it. Returns `None`
/// if there is no such relation.
fn relation_of_number(context: &SessionContext, number: u32) -> Option<String> {
    objects(context).into_iter().find(|object| object.number == number).map(|object| match object.schema {
        INFORMATION_SCHEMA => format!("information_schema.{}", object.name),
        PG_CATALOG => crate::schema::quoted(&object.name),
        _ => context.view().written(&object.full),
    })
}

/// Returns the name of the schema with this OID, or `None` if there is no such schema.
fn schema_of_number(context: &SessionContext, number: u32) -> Option<String> {
    schemas(context).into_iter().find(|(known, _)| *known == number).map(|(_, name)| name)
}

/// Returns the OID of a user's schema, or of `public`.
pub(super) fn number_of_schema(context: &SessionContext, name: &str) -> u32 {
    if name == schema::PUBLIC { PUBLIC } else { context.shared().catalog().number(&crate::schema::numbered(name)) }
}

/// Returns the OID of the schema with this name, or `None` if there is no such schema.
pub(crate) fn number_of_schema_name(context: &SessionContext, name: &str) -> Option<u32> {
    schemas(context).into_iter().find(|(_, known)| known == name).map(|(number, _)| number)
}

/// Returns the OIDs and names of all schemas.
pub(super) fn schemas(context: &SessionContext) -> Vec<(u32, String)> {
    let mut all = vec![(PG_CATALOG, "pg_catalog".to_owned()), (INFORMATION_SCHEMA, "information_schema".to_owned())];
    let of_user = context.view().schemas().into_keys();
    all.extend(of_user.map(|name| (number_of_schema(context, &name), name)));
    all
}

/// Returns the size in bytes of the table with this OID, including its indexes. The size of any other relation is zero.
/// Returns `None` if there is no relation with this OID.
pub(crate) fn size(context: &SessionContext, number: u32) -> Option<u64> {
    let found = objects(context).into_iter().find(|object| object.number == number)?;
    Some(match &found.kind {
        Kind::Table(table) => context.shared().engine().memory(table.id).bytes(),
        _ => 0,
    })
}

/// Whether the relation with this OID is found by its name without a schema. Returns `None` if there is no such
/// relation.
pub(crate) fn is_visible(context: &SessionContext, number: u32) -> Option<bool> {
    let found = objects(context).into_iter().find(|object| object.number == number);
    found.map(|object| match object.kind {
        Kind::System(_) => object.schema == PG_CATALOG,
        _ => context.view().is_visible(&object.full),
    })
}

/// A type as the catalogs show it: its OID, its name, its name in SQL, its size in bytes (-1 if it varies), its
/// category, and the OID of its array type.
pub(super) struct KnownType {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    pub(super) bytes: i16,
    pub(super) category: &'static str,
    pub(super) array: u32,
}

pub(super) const fn known(
    number: u32,
    name: &'static str,
    sql: &'static str,
    bytes: i16,
    category: &'static str,
    array: u32,
) -> KnownType {
    KnownType { number, name, sql, bytes, category, array }
}

/// The types that columns of tables and results can have.
pub(super) const TYPES: [KnownType; 19] = [
    known(16, "bool", "boolean", 1, "B", 1000),
    known(17, "bytea", "bytea", -1, "U", 1001),
    known(20, "int8", "bigint", 8, "N", 1016),
    known(21, "int2", "smallint", 2, "N", 1005),
    known(23, "int4", "integer", 4, "N", 1007),
    known(25, "text", "text", -1, "S", 1009),
    known(114, "json", "json", -1, "U", 199),
    known(3802, "jsonb", "jsonb", -1, "U", 3807),
    known(700, "float4", "real", 4, "N", 1021),
    known(701, "float8", "double precision", 8, "N", 1022),
    known(1042, "bpchar", "character", -1, "S", 1014),
    known(1043, "varchar", "character varying", -1, "S", 1015),
    known(1082, "date", "date", 4, "D", 1182),
    known(1083, "time", "time without time zone", 8, "D", 1183),
    known(1114, "timestamp", "timestamp without time zone", 8, "D", 1115),
    known(1184, "timestamptz", "timestamp with time zone", 8, "D", 1185),
    known(1186, "interval", "interval", 16, "T", 1187),
    known(1700, "numeric", "numeric", -1, "N", 1231),
    known(2950, "uuid", "uuid", 16, "U", 2951),
];

/// Returns the OID of the type that a text names, by its name in the catalogs or in SQL, or `None` if there is none.
pub(crate) fn number_of_type(context: &SessionContext, name: &str) -> Option<u32> {
    let (is_qualified, plain) = match written_name(name) {
        Ok(RelationName { schema: Some(schema), name, .. }) if schema == "pg_catalog" => (true, name),
        Ok(RelationName { schema: Some(schema), name, .. }) => {
            return made_type(context, &[schema, name]);
        }
        Ok(written) => (false, written.name),
        Err(_) => (false, String::new()),
    };
    // Without quotes and a schema, `char` is another type: SQL's.
    let is_it =
        |known: &&KnownType| known.sql == name || (known.name == plain && (is_qualified || known.name != "char"));
    let all = || TYPES.iter().chain(&OTHERS);
    let by_name = all().find(is_it).map(|known| known.number);
    let array = || {
        let element = plain.strip_prefix('_')?;
        all().find(|known| known.name == element).map(|known| known.array)
    };
    let made = || made_type(context, std::slice::from_ref(&plain));
    by_name.or_else(array).or_else(made).or_else(|| {
        let declared = crate::parse::parse_type(name).and_then(|ty| context.view().declared_type(&ty)).ok()?;
        Some(number_of(declared))
    })
}

/// Returns the OID of a declared type: that of its domain, if it has one.
pub(super) fn number_of(declared: Declared) -> u32 {
    declared.domain.map_or_else(|| type_oid(declared.ty), |domain| domain.0)
}

/// Returns the OID of the user's type with this name, which is given in parts. A name with `_` in front means the
/// array type. Returns `None` if there is no such type.
fn made_type(context: &SessionContext, parts: &[String]) -> Option<u32> {
    let view = context.view();
    let array = || {
        let (name, schema) = parts.split_last()?;
        let element = [schema, &[name.strip_prefix('_')?.to_owned()]].concat();
        view.named_type(&element).map(|made| made.oids()[1])
    };
    view.named_type(parts).map(|made| made.oids()[0]).or_else(array)
}

/// Returns the name of the type with this OID in SQL, or `None` if there is no such type. The name of a user's type
/// contains its schema if the search path does not find the type.
pub(super) fn type_of_number(context: &SessionContext, number: u32) -> Option<String> {
    let made = || {
        let made = made_by_number(context, number)?;
        let (within, name) = schema::split(made.name());
        let name = schema::quoted(name);
        let name = if is_found(context, &made) { name } else { format!("{}.{name}", schema::quoted(within)) };
        Some(if made.oids()[1] == number { format!("{name}[]") } else { name })
    };
    let known = TYPES.iter().chain(&OTHERS).find_map(|known| match number {
        _ if known.number == number => Some(known.sql.to_owned()),
        _ if known.array == number => Some(format!("{}[]", known.sql)),
        _ => None,
    });
    known.or_else(made)
}

/// Returns the type of a user with this OID, or whose array type has it.
fn made_by_number(context: &SessionContext, number: u32) -> Option<NamedType> {
    context.view().named_types().into_iter().find(|made| made.oids().contains(&number))
}

/// Whether the search path finds a type.
fn is_found(context: &SessionContext, made: &NamedType) -> bool {
    let found = context.view().named_type(&[schema::plain(made.name()).to_owned()]);
    found.is_some_and(|found| found.oids() == made.oids())
}

/// Whether the type with this OID is visible by its name alone. Returns `None` if there is no such type.
pub(crate) fn is_visible_type(context: &SessionContext, number: u32) -> Option<bool> {
    let is_known = TYPES.iter().chain(&OTHERS).any(|known| known.number == number || known.array == number);
    if is_known { Some(true) } else { made_by_number(context, number).map(|made| is_found(context, &made)) }
}

/// Returns the name of the object with this OID, or its number if there is no such object.
pub(crate) fn name_of_object(context: &SessionContext, registry: Registry, number: u32) -> String {
    let name = match registry {
        Registry::Class => relation_of_number(context, number),
        Registry::Type => type_of_number(context, number),
        Registry::Namespace => schema_of_number(context, number),
    };
    name.unwrap_or_else(|| number_or_none(number))
}

/// Whether a result has a column of a type such as `regclass`, whose values are shown as names.
pub(crate) fn has_objects(columns: &[OutputColumn]) -> bool {
    columns.iter().any(|column| matches!(column.ty, Type::Reg(_)))
}

/// Returns the values of a row, with the names of objects in place of their OIDs in columns of types such as
/// `regclass`.
pub(crate) fn named_values<'v>(
    context: &SessionContext,
    columns: &[OutputColumn],
    values: &[Value<'v>],
) -> Vec<Value<'v>> {
    let name = |(column, value): (&OutputColumn, &Value<'v>)| match (column.ty, value) {
        (Type::Reg(registry), Value::Int4(number)) => {
            Value::Text(name_of_object(context, registry, number.cast_unsigned()).into())
        }
        (_, value) => value.clone(),
    };
    columns.iter().zip(values).map(name).collect()
}

/// Formats the OID of an object that has no name. Zero becomes `-`.
pub(crate) fn number_or_none(number: u32) -> String {
    if number == 0 { "-".to_owned() } else { number.to_string() }
}

/// Whether a function of this name parses or formats the values of a type, such as `int4in`.
pub(crate) fn is_type_function(name: &str) -> bool {
    let own = |known: &KnownType| functions(known.name).iter().any(|function| function == name);
    let is_of = |prefix| functions(prefix).iter().any(|function| function == name);
    TYPES.iter().chain(&OTHERS).any(own) || is_of("array_") || is_of("enum_")
}

/// Returns the name of a type in the catalogs, such as `int4` or `_int4`.
pub(super) fn short_name(context: &SessionContext, ty: Type) -> String {
    if let Type::Array(element) = ty
        && !element.is_vector()
    {
        return format!("_{}", short_name(context, element.ty()));
    }
    if let Type::Enum(id) = ty {
        return context.view().enumeration_of(id).map_or_else(String::new, |made| schema::plain(&made.name).to_owned());
    }
    let number = type_oid(ty);
    TYPES.iter().chain(&OTHERS).find(|known| known.number == number).map_or("text", |known| known.name).to_owned()
}

/// Returns the type with this OID and modifier as a column's declaration writes it, such as `numeric(4,2)`, or `None`
/// if there is no such type.
pub(super) fn declared(number: u32, modifier: i32) -> Option<String> {
    match number {
        // Without a length, the type is shown as `bpchar`, since a `character` column always has a length.
        1042 if modifier < 0 => Some("bpchar".to_owned()),
        _ => from_oid(number, modifier).filter(|ty| type_oid(*ty) == number).map(|ty| ty.to_string()),
    }
}
