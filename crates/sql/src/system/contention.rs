//! `hotrow_contention`: the rows and ranges for which sessions have waited, or at which they met conflicts.

use super::relation::{Maker, Rows};
use crate::catalog::{Table, View};
use crate::contention::AtSpot;
use crate::context::SessionContext;
use crate::locks::deadlock;
use crate::schema;
use crate::watched::Spot;
use hotrow_storage::{IndexRef, Value};
use hotrow_sync::Arc;

/// Returns the function that builds the rows of this relation, or `None` if this module does not build them.
pub(super) fn maker(name: &str) -> Option<Maker> {
    (name == "hotrow_contention").then_some(make)
}

fn make(context: &SessionContext, rows: &mut Rows<'_>) {
    let (view, spots) = (context.view(), context.shared().contention.spots());
    rows.rows.extend(spots.iter().filter_map(|(spot, at)| Some([place(spot, view)?, numbers(at)].concat())));
}

/// Returns the kind, the table, the index and the key of a spot, or `None` if its table does not exist any more.
fn place(spot: &Spot, view: View<'_>) -> Option<Vec<Value<'static>>> {
    let tables = view.tables();
    let find = |id| tables.iter().find(|table: &&Arc<Table>| table.id == id);
    let text = |text: &str| Value::text(text).into_owned();
    Some(match spot {
        Spot::Row(id, key) => {
            let table = find(*id)?;
            let key = (!table.is_key_hidden()).then(|| deadlock::columns(table, IndexRef::Primary, key));
            vec![
                text("row"),
                text(&schema::shown(table.name())),
                Value::Null,
                key.map_or(Value::Null, |key| text(&key)),
            ]
        }
        Spot::Range(id, index, first) => {
            let table = find(*id)?;
            let hidden = *index == IndexRef::Primary && table.is_key_hidden();
            let first = first.as_ref().filter(|_| !hidden).map(|key| deadlock::columns(table, *index, key));
            let index = if hidden { Value::Null } else { text(table.index_name(*index)) };
            vec![text("range"), text(&schema::shown(table.name())), index, first.map_or(Value::Null, |key| text(&key))]
        }
        Spot::Begin => vec![text("begin"), Value::Null, Value::Null, Value::Null],
        Spot::Commit => vec![text("commit"), Value::Null, Value::Null, Value::Null],
    })
}

fn numbers(at: &AtSpot) -> Vec<Value<'static>> {
    let (count, ms) = (|count: u64| Value::Int8(count as i64), |ns: u64| Value::Float8(ns as f64 / 1e6));
    let mut statements = at.statements.clone();
    statements.sort_by(|(one, often), (other, oftener)| oftener.cmp(often).then_with(|| one.cmp(other)));
    let statements: Vec<_> = statements.iter().map(|(text, count)| format!("{count} times {text}")).collect();
    vec![
        count(at.contended.waits),
        ms(at.contended.wait_ns),
        ms(at.contended.longest_ns),
        count(at.contended.conflicts),
        count(at.inherited),
        Value::text(&statements.join("\n")).into_owned(),
    ]
}
