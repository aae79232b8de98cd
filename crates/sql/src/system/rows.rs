//! The dispatch from a system relation to the function that builds its rows.

use super::relation::{Maker, Rows, SystemRelation, oid};
use super::{contention, domain_rows, information_schema, pg_catalog, pg_views, sessions};
use crate::context::SessionContext;
use hotrow_storage::Value;

impl SystemRelation {
    /// Builds the relation's rows, as the session sees them at this moment, with all columns.
    pub fn rows(&self, context: &SessionContext) -> Vec<Vec<Value<'static>>> {
        let mut rows = Rows { relation: self, rows: Vec::new() };
        // A relation for which no file makes rows is empty.
        if let Some(make) = self.maker() {
            make(context, &mut rows);
        }
        rows.rows.iter_mut().for_each(|row| row.push(oid(self.number)));
        rows.rows
    }

    fn maker(&self) -> Option<Maker> {
        if let Some(maker) = domain_rows::maker(self.schema, self.name) {
            return Some(maker);
        }
        if self.schema != "pg_catalog" {
            return information_schema::maker(self.name);
        }
        let of_postgres = pg_catalog::maker(self.name).or_else(|| pg_views::maker(self.name));
        of_postgres.or_else(|| sessions::maker(self.name)).or_else(|| contention::maker(self.name))
    }
}
