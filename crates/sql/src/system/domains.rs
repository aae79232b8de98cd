//! Domains in the rows of system relations.

use super::depend::{Address, PG_CONSTRAINT};
use super::describe;
use super::information_schema::{CONSTRAINT, DOMAIN, TABLE, of_type, place, yes};
use super::objects::{self, PG_CLASS, TYPES};
use super::other_types::{self, OTHERS};
use super::pg_catalog::{array_type, collation, common_of_type, storage};
use super::relation::{Rows, oid, text};
use crate::catalog::Declared;
use crate::catalog::domain::{Domain, DomainCheck};
use crate::context::SessionContext;
use crate::expr::shown_of_value;
use crate::schema;
use crate::types::{enumeration, oid as type_oid, type_len, type_name, typmod, without_modifier};
use hotrow_storage::{Type, Value};

/// The number of the catalog of types.
const PG_TYPE: u32 = 1247;
/// The number of the catalog of schemas.
const PG_NAMESPACE: u32 = 2615;

/// Returns the OID of a domain's constraint.
pub(super) fn number_of_constraint(context: &SessionContext, domain: &Domain, check: &str) -> u32 {
    context.shared().catalog().number(&domain.numbered(check))
}

/// Returns the OID of the type that a domain is directly over.
fn number_of_base(domain: &Domain) -> u32 {
    objects::number_of(Declared { ty: domain.ty, domain: domain.over })
}

/// Returns the condition of a constraint as SQL.
fn condition(domain: &Domain, check: &DomainCheck) -> String {
    shown_of_value(check.bound(), domain.ty)
}

/// Returns a domain's default as SQL, or `None` if it has none.
fn default(context: &SessionContext, domain: &Domain) -> Option<String> {
    describe::of_default(context, domain.default.as_ref()?, domain.ty)
}

/// Returns the category and the alignment of a type in `pg_type`, and the name with which its functions begin.
fn base(ty: Type) -> (&'static str, &'static str, &'static str) {
    let number = type_oid(ty);
    match TYPES.iter().chain(&OTHERS).find(|known| known.number == number) {
        Some(known) => (known.category, other_types::alignment(known), known.name),
        None if enumeration(ty).is_some() && !matches!(ty, Type::Array(_)) => ("E", "i", "enum_"),
        None => ("A", "i", "array_"),
    }
}

/// Adds the rows of `pg_type`.
pub(super) fn types(context: &SessionContext, rows: &mut Rows<'_>) {
    for domain in context.view().domains() {
        let (within, name) = schema::split(&domain.name);
        let namespace = objects::number_of_schema(context, within);
        let [number, array] = domain.oids;
        let len = type_len(domain.ty);
        let is_array = matches!(domain.ty, Type::Array(_)) && domain.over.is_none();
        let (category, alignment, functions) = base(domain.ty);
        let mut own = vec![
            ("oid", oid(number)),
            ("typname", text(name)),
            ("typtype", text("d")),
            ("typlen", Value::Int2(len)),
            ("typbyval", Value::Bool(matches!(len, 1 | 2 | 4 | 8))),
            ("typcategory", text(category)),
            ("typarray", oid(array)),
            ("typalign", text(alignment)),
            ("typstorage", text(storage(domain.ty))),
            ("typsubscript", text("-")),
            ("typbasetype", oid(number_of_base(&domain))),
            ("typtypmod", Value::Int4(if domain.over.is_some() { -1 } else { typmod(domain.ty) })),
            ("typnotnull", Value::Bool(domain.not_null)),
            ("typndims", Value::Int4(i32::from(is_array))),
            ("typcollation", oid(collation(domain.ty))),
            ("typinput", text("domain_in")),
            ("typreceive", text("domain_recv")),
        ];
        if let Some(default) = default(context, &domain) {
            own.extend([("typdefaultbin", text(&default)), ("typdefault", text(default))]);
        }
        rows.push([common_of_type(namespace, functions), own].concat());
        let mut of_array = array_type(namespace, array, name, number);
        of_array.push(("typcollation", oid(collation(domain.ty))));
        rows.push(of_array);
    }
}

/// Adds the rows of `pg_constraint`.
pub(super) fn constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    for domain in context.view().domains() {
        for check in &domain.checks {
            rows.push(vec![
                ("oid", oid(number_of_constraint(context, &domain, &check.name))),
                ("conname", text(&check.name)),
                ("connamespace", oid(objects::number_of_schema(context, schema::split(&domain.name).0))),
                ("contype", text("c")),
                ("convalidated", Value::Bool(check.validated)),
                ("contypid", oid(domain.oids[0])),
                ("confupdtype", text(" ")),
                ("confdeltype", text(" ")),
                ("confmatchtype", text(" ")),
                ("conislocal", Value::Bool(true)),
                ("connoinherit", Value::Bool(false)),
                ("conbin", text(format!("CHECK ({})", condition(&domain, check)))),
            ]);
        }
    }
}

/// Returns the definition as SQL of the domain's constraint with this OID, or `None` if there is none.
pub(super) fn constraint_definition(context: &SessionContext, number: u32) -> Option<String> {
    context.view().domains().iter().find_map(|domain| {
        let is_it = |check: &&DomainCheck| number_of_constraint(context, domain, &check.name) == number;
        let check = domain.checks.iter().find(is_it)?;
        let validity = if check.validated { "" } else { " NOT VALID" };
        Some(format!("CHECK ({}){validity}", condition(domain, check)))
    })
}

/// Returns the dependencies of domains and of the columns that have them: the object, the one on which it depends, and
/// the kind.
pub(super) fn dependencies(context: &SessionContext) -> Vec<(Address, Address, &'static str)> {
    let (mut all, view) = (Vec::new(), context.view());
    for domain in view.domains() {
        let [number, array] = domain.oids;
        let own = (PG_TYPE, number, 0);
        let namespace = objects::number_of_schema(context, schema::split(&domain.name).0);
        all.push((own, (PG_NAMESPACE, namespace, 0), "n"));
        all.push(((PG_TYPE, array, 0), own, "i"));
        if domain.over.is_some() || enumeration(domain.ty).is_some() {
            all.push((own, (PG_TYPE, number_of_base(&domain), 0), "n"));
        }
        for check in &domain.checks {
            all.push(((PG_CONSTRAINT, number_of_constraint(context, &domain, &check.name), 0), own, "a"));
        }
    }
    for table in view.tables() {
        let relation = context.shared().catalog().number(table.name());
        let domains = (0..table.visible()).filter_map(|at| Some((at, table.domain(at)?)));
        all.extend(domains.map(|(at, domain)| ((PG_CLASS, relation, at + 1), (PG_TYPE, domain.0, 0), "n")));
    }
    all
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

/// Returns the columns that name a domain.
fn named(context: &SessionContext, domain: &Domain) -> Vec<(&'static str, Value<'static>)> {
    place(context, &DOMAIN, schema::split(&domain.name).0, schema::plain(&domain.name))
}

/// Makes the rows of `information_schema.domains`.
pub(super) fn domains(context: &SessionContext, rows: &mut Rows<'_>) {
    for domain in context.view().domains() {
        let mut row = [named(context, &domain), of_base(context, Some(&domain), domain.ty)].concat();
        if let (Type::Array(_), None) = (domain.ty, domain.over) {
            row.push(("data_type", text(type_name(Some(without_modifier(domain.ty))))));
        }
        row.push(("dtd_identifier", text("1")));
        row.extend(default(context, &domain).map(|default| ("domain_default", text(default))));
        rows.push(row);
    }
}

/// Makes the rows of `information_schema.domain_constraints`.
pub(super) fn domain_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    for domain in context.view().domains() {
        for check in &domain.checks {
            let constraint = place(context, &CONSTRAINT, schema::split(&domain.name).0, &check.name);
            let mut row = [constraint, named(context, &domain)].concat();
            row.extend([("is_deferrable", yes(false)), ("initially_deferred", yes(false))]);
            rows.push(row);
        }
    }
}

/// Adds the rows of `information_schema.check_constraints`.
pub(super) fn check_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    for domain in context.view().domains() {
        for check in &domain.checks {
            let mut row = place(context, &CONSTRAINT, schema::split(&domain.name).0, &check.name);
            row.push(("check_clause", text(condition(&domain, check))));
            rows.push(row);
        }
    }
}

/// Makes the rows of `information_schema.column_domain_usage`: the columns of tables and views that have domains.
pub(super) fn column_domain_usage(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        for (at, (name, ..)) in super::pg_catalog::columns(&object).into_iter().enumerate() {
            let domain = super::pg_catalog::domain(&object, at).and_then(|id| context.view().domain_of(id));
            let Some(domain) = domain.filter(|_| matches!(object.letter(), "r" | "v")) else { continue };
            let table = place(context, &TABLE, &object.schema_name, &object.name);
            let mut row = [named(context, &domain), table].concat();
            row.push(("column_name", text(name)));
            rows.push(row);
        }
    }
}

/// Makes the rows of `information_schema.domain_udt_usage`: the types that domains are over.
pub(super) fn domain_udt_usage(context: &SessionContext, rows: &mut Rows<'_>) {
    let udt = ["udt_catalog", "udt_schema", "udt_name"];
    for domain in context.view().domains() {
        let base = of_base(context, Some(&domain), domain.ty).into_iter().filter(|(name, _)| udt.contains(name));
        rows.push([named(context, &domain), base.collect()].concat());
    }
}
