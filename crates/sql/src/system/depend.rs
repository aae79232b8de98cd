//! `pg_depend`: the objects that are dropped with another object, or that prevent its drop.

use super::describe::{self, Constraint};
use super::domains;
use super::objects::{self, PG_CLASS};
use super::relation::{Rows, oid, text};
use super::routines;
use crate::catalog::procedure::Returns;
use crate::catalog::{DefaultValue, Table};
use crate::context::SessionContext;
use crate::schema;
use crate::types::enumeration;
use hotrow_storage::{IndexRef, Value};

/// The numbers of the catalogs whose objects depend on others.
const PG_CONSTRAINT: u32 = 2606;
const PG_ATTRDEF: u32 = 2604;
const PG_PROC: u32 = 1255;
const PG_TYPE: u32 = 1247;
const PG_NAMESPACE: u32 = 2615;

/// An object: the number of its catalog, its own number, and its column, which is zero for the object itself.
type Address = (u32, u32, usize);

fn push(rows: &mut Rows<'_>, object: Address, on: Address, kind: &'static str) {
    rows.push(vec![
        ("classid", oid(object.0)),
        ("objid", oid(object.1)),
        ("objsubid", Value::Int4(object.2 as i32)),
        ("refclassid", oid(on.0)),
        ("refobjid", oid(on.1)),
        ("refobjsubid", Value::Int4(on.2 as i32)),
        ("deptype", text(kind)),
    ]);
}

/// Builds the rows of `pg_depend`: for views, sequences, functions, defaults, indexes and constraints, the relations,
/// columns and indexes on which they depend.
pub(super) fn rows(context: &SessionContext, rows: &mut Rows<'_>) {
    for table in context.view().tables() {
        of_table(context, &table, rows);
    }
    // PostgreSQL's view depends through its rule, which a view here does not have.
    for view in context.view().stored_queries() {
        let number = |name: &str| context.shared().catalog().number(name);
        let object = (PG_CLASS, number(&view.name), 0);
        view.relations.iter().for_each(|relation| push(rows, object, (PG_CLASS, number(relation), 0), "n"));
        if !view.defaults.is_empty() {
            of_defaults(context, &describe::shape(context, &view), rows);
        }
    }
    // PostgreSQL's function depends on the type of the relation's rows.
    for procedure in context.view().procedures() {
        if let Some(Returns::RowOf(name)) = procedure.function.as_ref().map(|function| &function.returns) {
            let object = (PG_PROC, routines::number_of(context, &procedure.key), 0);
            push(rows, object, (PG_CLASS, context.shared().catalog().number(name), 0), "n");
        }
    }
    for (object, on, kind) in of_domains(context) {
        push(rows, object, on, kind);
    }
    for sequence in context.view().sequences() {
        let number = context.shared().catalog().number(&sequence.name);
        let Some((table, column)) = &sequence.owner else { continue };
        let Some(table) = context.view().table(table) else { continue };
        let Some(at) = table.schema.column(column) else { continue };
        let is_identity = table.rules.identities.iter().any(|(known, _)| *known == at);
        let owner = (PG_CLASS, context.shared().catalog().number(table.name()), at + 1);
        push(rows, (PG_CLASS, number, 0), owner, if is_identity { "i" } else { "a" });
    }
}

/// Returns the dependencies of domains and of the columns that have them: the object, the one on which it depends, and
/// the kind.
fn of_domains(context: &SessionContext) -> Vec<(Address, Address, &'static str)> {
    let (mut all, view) = (Vec::new(), context.view());
    for domain in view.domains() {
        let [number, array] = domain.oids;
        let own = (PG_TYPE, number, 0);
        let namespace = objects::number_of_schema(context, schema::split(&domain.name).0);
        all.push((own, (PG_NAMESPACE, namespace, 0), "n"));
        all.push(((PG_TYPE, array, 0), own, "i"));
        if domain.over.is_some() || enumeration(domain.ty).is_some() {
            all.push((own, (PG_TYPE, domains::number_of_base(&domain), 0), "n"));
        }
        for check in &domain.checks {
            all.push(((PG_CONSTRAINT, domains::number_of_constraint(context, &domain, &check.name), 0), own, "a"));
        }
    }
    for table in view.tables() {
        let relation = context.shared().catalog().number(table.name());
        let domains = (0..table.visible()).filter_map(|at| Some((at, table.domain(at)?)));
        all.extend(domains.map(|(at, domain)| ((PG_CLASS, relation, at + 1), (PG_TYPE, domain.0, 0), "n")));
    }
    all
}

/// Adds the rows for the defaults of a table or of the shape of a view.
fn of_defaults(context: &SessionContext, table: &Table, rows: &mut Rows<'_>) {
    let catalog = context.shared().catalog();
    let number = catalog.number(table.name());
    let column = |at: usize| (PG_CLASS, number, at + 1);
    for at in 0..table.visible() {
        if describe::default(context, table, at).is_some()
            && !table.rules.identities.iter().any(|(known, _)| *known == at)
        {
            let default = (PG_ATTRDEF, objects::number_of_default(context, table, at), 0);
            push(rows, default, column(at), "a");
            let sequences = table.rules.defaults[at].iter().flat_map(DefaultValue::sequences);
            for sequence in sequences.filter_map(|id| context.view().sequence_by_id(id)) {
                push(rows, default, (PG_CLASS, catalog.number(&sequence.name), 0), "n");
            }
        }
    }
}

fn of_table(context: &SessionContext, table: &Table, rows: &mut Rows<'_>) {
    of_defaults(context, table, rows);
    let catalog = context.shared().catalog();
    let number = catalog.number(table.name());
    let column = |at: usize| (PG_CLASS, number, at + 1);
    for computed in table.rules.computed.iter().filter(|computed| computed.column < table.visible()) {
        let default = (PG_ATTRDEF, objects::number_of_default(context, table, computed.column), 0);
        push(rows, default, column(computed.column), "i");
        computed.value.positions().into_iter().for_each(|at| push(rows, default, column(at), "a"));
    }
    let mut of_constraints = Vec::new();
    for (name, constraint) in describe::constraints(table) {
        let object = (PG_CONSTRAINT, objects::number_of_constraint(context, table, name), 0);
        match constraint {
            Constraint::Key(index) => {
                table.index_columns(index).iter().for_each(|&at| push(rows, object, column(at), "a"));
                push(rows, (PG_CLASS, catalog.number(&table.name_beside(name)), 0), object, "i");
                of_constraints.push(index);
            }
            Constraint::Check(condition) => {
                condition.positions().into_iter().for_each(|at| push(rows, object, column(at), "a"));
            }
            Constraint::Foreign(key) => {
                key.columns.iter().for_each(|&at| push(rows, object, column(at), "a"));
                let Some(referenced) = context.view().table(&key.table) else { continue };
                let other = catalog.number(&key.table);
                for at in key.referenced.iter().filter_map(|name| referenced.schema.column(name)) {
                    push(rows, object, (PG_CLASS, other, at + 1), "n");
                }
                if let Some(index) = describe::referenced_index(context, key) {
                    push(rows, object, (PG_CLASS, catalog.number(&referenced.name_beside(&index)), 0), "n");
                }
            }
        }
    }
    let others = objects::indexes(table).filter(|index| !of_constraints.contains(index));
    for index in others.collect::<Vec<IndexRef>>() {
        let object = (PG_CLASS, catalog.number(&table.name_beside(table.index_name(index))), 0);
        let mut on = Vec::new();
        for &at in table.index_columns(index).iter().chain(&describe::indexed_columns(table, index)) {
            match table.rules.computation(at).filter(|_| table.is_hidden(at)) {
                Some(value) => on.extend(value.positions()),
                None => on.push(at),
            }
        }
        on.sort_unstable();
        on.dedup();
        on.into_iter().for_each(|at| push(rows, object, column(at), "a"));
    }
}
