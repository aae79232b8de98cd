//! `pg_description`: the comments that COMMENT ON has set, by the OIDs of their objects.

use super::objects::{self, Kind, PG_CATALOG, PG_CLASS};
use super::pg_catalog;
use super::relation::{Rows, oid, text};
use super::routines;
use super::{describe, domains};
use crate::catalog::{Comments, Part, Table};
use crate::context::SessionContext;
use crate::schema::PUBLIC;
use hotrow_storage::Value;

/// The numbers of the catalogs whose objects have comments.
const PG_TYPE: u32 = 1247;
const PG_NAMESPACE: u32 = 2615;
const PG_CONSTRAINT: u32 = 2606;
const PG_PROC: u32 = 1255;
const PG_TRIGGER: u32 = 2620;

/// A comment on an object.
struct Comment {
    object: u32,
    /// The number of the catalog that has the object.
    catalog: u32,
    /// The column, counted from one; zero for a comment on the object itself.
    column: usize,
    text: String,
}

/// Returns all comments.
fn comments(context: &SessionContext) -> Vec<Comment> {
    let mut all = Vec::new();
    let catalog_comment = || "system catalog schema".to_owned();
    all.push(Comment { object: PG_CATALOG, catalog: PG_NAMESPACE, column: 0, text: catalog_comment() });
    let view = context.view();
    for (name, schema) in view.schemas() {
        let standard =
            || (name == PUBLIC && view.schema(PUBLIC).is_none()).then(|| "standard public schema".to_owned());
        let object = objects::number_of_schema(context, &name);
        let text = schema.comment.clone().or_else(standard);
        all.extend(text.map(|text| Comment { object, catalog: PG_NAMESPACE, column: 0, text }));
    }
    for made in view.enumerations() {
        let (object, text) = (made.definition.oids[0], made.comment.clone());
        all.extend(text.map(|text| Comment { object, catalog: PG_TYPE, column: 0, text }));
    }
    for made in view.domains() {
        let (object, text) = (made.oids[0], made.comment.clone());
        all.extend(text.map(|text| Comment { object, catalog: PG_TYPE, column: 0, text }));
        for check in &made.checks {
            let (object, text) = (domains::number_of_constraint(context, &made, &check.name), check.comment.clone());
            all.extend(text.map(|text| Comment { object, catalog: PG_CONSTRAINT, column: 0, text }));
        }
    }
    for procedure in view.procedures() {
        let (object, text) = (routines::number_of(context, &procedure.key), procedure.comment.clone());
        all.extend(text.map(|text| Comment { object, catalog: PG_PROC, column: 0, text }));
    }
    for object in objects::objects(context) {
        match &object.kind {
            Kind::Table(table) => of_parts(&object, &table.rules.comments, context, Some(table), &mut all),
            Kind::View(view) => {
                of_parts(&object, &view.comments, context, Some(&describe::shape(context, view)), &mut all);
            }
            Kind::Sequence => {
                let sequence = view.sequence(&object.full);
                let text = sequence.and_then(|sequence| sequence.comment.clone());
                all.extend(text.map(|text| Comment { object: object.number, catalog: PG_CLASS, column: 0, text }));
            }
            Kind::Index(..) | Kind::System(_) => {}
        }
    }
    all
}

fn of_parts(
    object: &objects::Object,
    comments: &Comments,
    context: &SessionContext,
    table: Option<&Table>,
    all: &mut Vec<Comment>,
) {
    if comments.is_empty() {
        return;
    }
    let columns = pg_catalog::columns(object);
    for (part, text) in comments {
        let about = match (part, table) {
            (Part::Whole, _) => Some((object.number, PG_CLASS, 0)),
            (Part::Column(name), _) => {
                let at = columns.iter().position(|(known, ..)| known == name);
                at.map(|at| (object.number, PG_CLASS, at + 1))
            }
            (Part::Index(name), Some(table)) => {
                Some((context.shared().catalog().number(&table.name_beside(name)), PG_CLASS, 0))
            }
            (Part::Constraint(name), Some(table)) => {
                Some((objects::number_of_constraint(context, table, name), PG_CONSTRAINT, 0))
            }
            (Part::Trigger(name), Some(table)) => {
                Some((context.shared().catalog().number(&table.numbered_trigger(name)), PG_TRIGGER, 0))
            }
            (Part::Index(_) | Part::Constraint(_) | Part::Trigger(_), None) => None,
        };
        let comment = |(object, catalog, column)| Comment { object, catalog, column, text: text.clone() };
        all.extend(about.map(comment));
    }
}

/// Makes the rows of `pg_description`.
pub(super) fn descriptions(context: &SessionContext, rows: &mut Rows<'_>) {
    for comment in comments(context) {
        rows.push(vec![
            ("objoid", oid(comment.object)),
            ("classoid", oid(comment.catalog)),
            ("objsubid", Value::Int4(comment.column as i32)),
            ("description", text(comment.text)),
        ]);
    }
}

/// Returns the comment on the object with this OID, or on its column with this number, if `column` is not zero. If
/// `catalog` is given, the object must be listed in that catalog, such as `pg_class`.
pub(crate) fn comment_on(
    context: &SessionContext,
    object: u32,
    catalog: Option<&str>,
    column: usize,
) -> Option<String> {
    let catalog = match catalog {
        None => None,
        Some("pg_class") => Some(PG_CLASS),
        Some("pg_namespace") => Some(PG_NAMESPACE),
        Some("pg_type") => Some(PG_TYPE),
        Some("pg_constraint") => Some(PG_CONSTRAINT),
        Some("pg_proc") => Some(PG_PROC),
        Some("pg_trigger") => Some(PG_TRIGGER),
        Some(_) => return None,
    };
    let is_it = |comment: &Comment| {
        comment.object == object && comment.column == column && catalog.is_none_or(|catalog| catalog == comment.catalog)
    };
    comments(context).into_iter().find(is_it).map(|comment| comment.text)
}
