//! The rows of system relations about domains, beside those that other files make for the same relations.

use super::domains::{condition, default, number_of_base, number_of_constraint};
use super::information_schema::{self, CONSTRAINT, DOMAIN, TABLE, of_base, place, yes};
use super::objects::{self, TYPES};
use super::other_types::{self, OTHERS};
use super::pg_catalog::{self, array_type, collation, common_of_type, storage};
use super::relation::{Maker, Rows, oid, text};
use crate::catalog::domain::Domain;
use crate::context::SessionContext;
use crate::schema;
use crate::types::{enumeration, oid as type_oid, type_len, type_name, typmod, without_modifier};
use hotrow_storage::{Type, Value};

/// Returns the function that builds the rows of this relation, or `None` if no row of the relation is about a domain.
pub(super) fn maker(schema: &str, name: &str) -> Option<Maker> {
    Some(match (schema, name) {
        ("pg_catalog", "pg_type") => types,
        ("pg_catalog", "pg_constraint") => constraints,
        ("information_schema", "check_constraints") => check_constraints,
        ("information_schema", "domains") => domains,
        ("information_schema", "domain_constraints") => domain_constraints,
        ("information_schema", "column_domain_usage") => column_domain_usage,
        ("information_schema", "domain_udt_usage") => domain_udt_usage,
        _ => return None,
    })
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

/// Makes the rows of `pg_type`.
fn types(context: &SessionContext, rows: &mut Rows<'_>) {
    pg_catalog::types(context, rows);
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

/// Makes the rows of `pg_constraint`.
fn constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    pg_catalog::constraints(context, rows);
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

/// Returns the columns that name a domain.
fn named(context: &SessionContext, domain: &Domain) -> Vec<(&'static str, Value<'static>)> {
    place(context, &DOMAIN, schema::split(&domain.name).0, schema::plain(&domain.name))
}

/// Makes the rows of `information_schema.domains`.
fn domains(context: &SessionContext, rows: &mut Rows<'_>) {
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
fn domain_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    for domain in context.view().domains() {
        for check in &domain.checks {
            let constraint = place(context, &CONSTRAINT, schema::split(&domain.name).0, &check.name);
            let mut row = [constraint, named(context, &domain)].concat();
            row.extend([("is_deferrable", yes(false)), ("initially_deferred", yes(false))]);
            rows.push(row);
        }
    }
}

/// Makes the rows of `information_schema.check_constraints`.
fn check_constraints(context: &SessionContext, rows: &mut Rows<'_>) {
    information_schema::check_constraints(context, rows);
    for domain in context.view().domains() {
        for check in &domain.checks {
            let mut row = place(context, &CONSTRAINT, schema::split(&domain.name).0, &check.name);
            row.push(("check_clause", text(condition(&domain, check))));
            rows.push(row);
        }
    }
}

/// Makes the rows of `information_schema.column_domain_usage`: the columns of tables and views that have domains.
fn column_domain_usage(context: &SessionContext, rows: &mut Rows<'_>) {
    for object in objects::objects(context) {
        for (at, (name, ..)) in pg_catalog::columns(&object).into_iter().enumerate() {
            let domain = pg_catalog::domain(&object, at).and_then(|id| context.view().domain_of(id));
            let Some(domain) = domain.filter(|_| matches!(object.letter(), "r" | "v")) else { continue };
            let table = place(context, &TABLE, &object.schema_name, &object.name);
            let mut row = [named(context, &domain), table].concat();
            row.push(("column_name", text(name)));
            rows.push(row);
        }
    }
}

/// Makes the rows of `information_schema.domain_udt_usage`: the types that domains are over.
fn domain_udt_usage(context: &SessionContext, rows: &mut Rows<'_>) {
    let udt = ["udt_catalog", "udt_schema", "udt_name"];
    for domain in context.view().domains() {
        let base = of_base(context, Some(&domain), domain.ty).into_iter().filter(|(name, _)| udt.contains(name));
        rows.push([named(context, &domain), base.collect()].concat());
    }
}
