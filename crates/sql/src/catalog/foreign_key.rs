//! Foreign keys in the catalog.
//!
//! The table that declares a key has its whole definition ([`ForeignKey`]). The referenced table has only the names of
//! the key and of the table that declares it ([`Referrer`]). So creating or dropping a key changes the definitions of
//! both tables, and every plan for either table is made again.

use crate::catalog::{Table, describe_as};
use crate::{SqlError, state};
use hotrow_storage::{RowRef, Value};

/// The action on the referencing rows when the row that they reference is deleted or its key is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    /// No action. It is an error if a row still references the old key when the statement is complete, or the
    /// transaction if the key is deferred, unless another row has the key by then.
    NoAction,
    /// No action. It is an error if a row still references the old key when the statement is complete, even if another
    /// row has the key by then. The check cannot be deferred.
    Restrict,
    /// The referencing rows are deleted, or get the new key.
    Cascade,
    /// The referencing columns become NULL.
    SetNull,
    /// The referencing columns get their defaults.
    SetDefault,
}

impl ReferentialAction {
    /// Whether the action changes the referencing rows.
    pub fn changes_rows(self) -> bool {
        !matches!(self, ReferentialAction::NoAction | ReferentialAction::Restrict)
    }
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The name of the constraint.
    pub name: String,
    /// The referencing columns, by their positions in the table that declares the key.
    pub columns: Vec<usize>,
    /// The full name of the referenced table.
    pub table: String,
    /// The names of the referenced columns, one for each of `columns`: a primary key, or the columns of a unique index.
    pub referenced: Vec<String>,
    /// ON DELETE: the action on the referencing rows when the referenced row is deleted.
    pub on_delete: ReferentialAction,
    /// ON UPDATE: the action on the referencing rows when the referenced columns change.
    pub on_update: ReferentialAction,
    /// MATCH FULL: a row is refused if some of its referencing columns are NULL and others are not.
    pub full: bool,
    /// DEFERRABLE: SET CONSTRAINTS may choose when the key is checked.
    pub deferrable: bool,
    /// INITIALLY DEFERRED: the key is checked when the transaction ends, unless SET CONSTRAINTS changes that.
    pub deferred: bool,
    /// Whether the rows that existed when the key was created have been checked.
    pub validated: bool,
}

/// The entry in the definition of a referenced table for a foreign key of another table, or of the same table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer {
    /// The full name of the table that declares the key.
    pub table: String,
    /// The name of the key.
    pub constraint: String,
}

impl ForeignKey {
    /// Whether a row with these values in the key's columns must have a referenced row: no value is NULL.
    pub fn refers(values: &[Value<'_>]) -> bool {
        !values.iter().any(Value::is_null)
    }

    /// Whether a row with these values in the key's columns needs no referenced row, because of NULLs.
    pub fn is_exempt(&self, values: &[Value<'_>]) -> bool {
        let nulls = values.iter().filter(|value| value.is_null()).count();
        if self.full { nulls == values.len() } else { nulls > 0 }
    }

    /// Returns error 23503 for a row of `child` with these values in the key's columns, which has no referenced row.
    /// The detail differs if MATCH FULL refuses the values because some of them are NULL.
    pub fn not_present(&self, child: &Table, values: &[Value<'_>]) -> SqlError {
        let message =
            format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", child.name(), self.name);
        let detail = if values.iter().any(Value::is_null) {
            "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned()
        } else {
            let columns = self.columns.iter().map(|&column| (child.column_label(column), column));
            let key = describe_key(columns, child, values);
            format!("{key} is not present in table \"{}\".", self.table)
        };
        SqlError::new(state::FOREIGN_KEY_VIOLATION, message).about_constraint(child.name(), &self.name).detail(detail)
    }

    /// Returns error 23503 for a deleted or changed row with these values in the referenced columns, which a row of
    /// `child` still references.
    pub fn still_referenced(&self, child: &Table, values: &[Value<'_>]) -> SqlError {
        // A column of the child has the type of the column that it references, if that is enumerated.
        let key =
            describe_key(self.referenced.iter().map(String::as_str).zip(self.columns.iter().copied()), child, values);
        let (parent, child) = (&self.table, child.name());
        let message = format!(
            "update or delete on table \"{parent}\" violates foreign key constraint \"{}\" on table \"{child}\"",
            self.name
        );
        SqlError::new(state::FOREIGN_KEY_VIOLATION, message)
            .about_constraint(child, &self.name)
            .detail(format!("{key} is still referenced from table \"{child}\"."))
    }
}

/// Formats the columns of a key and their values for a message: `Key (a, b)=(1, 2)`. An item of `columns` is the name
/// of a column, and the position of a column of `table` that has the type of the value.
pub fn describe_key<'n>(
    columns: impl Iterator<Item = (&'n str, usize)>,
    table: &Table,
    values: &[Value<'_>],
) -> String {
    let (columns, positions): (Vec<_>, Vec<_>) = columns.unzip();
    let described = positions.iter().zip(values).map(|(&at, value)| describe_as(value, table.schema.columns[at].ty));
    let values: Vec<_> = described.collect();
    format!("Key ({})=({})", columns.join(", "), values.join(", "))
}

/// Copies the values of a row's columns at these positions, in the order of the positions.
pub fn values_of(row: RowRef<'_>, columns: &[usize]) -> Vec<Value<'static>> {
    columns.iter().map(|&column| row.value(column).into_owned()).collect()
}

impl Table {
    /// Returns the table's foreign key of this name.
    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKey> {
        self.rules.foreign_keys.iter().find(|key| key.name == name)
    }

    /// Returns the unique index in which a foreign key to these columns looks up the referenced rows, or `None` if the
    /// table has no such index. The index may have the columns in another order.
    pub fn referenced_index(&self, columns: &[usize]) -> Option<hotrow_storage::IndexRef> {
        use hotrow_storage::IndexRef;
        let is_unique = |index: &IndexRef| match index {
            IndexRef::Primary => !self.is_key_hidden(),
            IndexRef::Secondary(id) => self.schema.indexes[usize::from(id.0)].unique,
        };
        self.indexes().filter(is_unique).find(|&index| {
            let of_index = self.index_columns(index);
            of_index.len() == columns.len() && of_index.iter().all(|column| columns.contains(column))
        })
    }

    /// Returns the positions of the columns of this table that a foreign key to this table references.
    pub fn referenced_columns(&self, key: &ForeignKey) -> Vec<usize> {
        key.referenced.iter().filter_map(|name| self.schema.column(name)).collect()
    }
}
