//! The tables of the suite: one of each shape.

use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeySpec, Row, RowLayout, RowRef, TableSchema, Type, Value,
};
use hotrow_txn::Engine;
use std::sync::Arc;

/// A row's values.
pub type Values = Vec<Value<'static>>;

/// The shape of a test table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One integer key, ordered and partitioned; by `number`, ordered; by `name`, hash and unique; by `number` and
    /// `name`, ordered and unique.
    Indexed,
    /// A text key of more than 24 bytes, ordered.
    LongKeys,
    /// One integer key, not ordered, partitioned; by `number`, hash.
    Hashed,
    /// An integer and a text as key, ordered and partitioned.
    Composite,
}

impl Shape {
    pub const ALL: [Shape; 4] = [Shape::Indexed, Shape::LongKeys, Shape::Hashed, Shape::Composite];

    /// Returns the shapes of tables that an engine admits.
    pub fn admitted(engine: &dyn Engine) -> impl Iterator<Item = Shape> {
        Self::ALL.into_iter().filter(|shape| engine.admits(&shape.schema()).is_ok())
    }

    /// Columns: `id`, `part`, `number`, `name`, `note`, `price`.
    pub fn schema(self) -> TableSchema {
        let id = if self == Shape::LongKeys { Type::Text } else { Type::Int8 };
        let columns = vec![
            Column::new("id", id),
            Column::new("part", Type::Varchar(Some(8))),
            Column::new("number", Type::Int4),
            Column::nullable("name", Type::Text),
            Column::nullable("note", Type::Text),
            Column::new("price", Type::Numeric(None)),
        ];
        let index =
            |columns: &[usize], kind, unique| IndexSchema { name: "i".into(), columns: columns.to_vec(), kind, unique };
        let (key, ordered, indexes): (&[usize], bool, Vec<IndexSchema>) = match self {
            Shape::Indexed => {
                let by_number = index(&[2], IndexKind::Ordered, false);
                let by_name = index(&[3], IndexKind::Hash, true);
                (&[0], true, vec![by_number, by_name, index(&[2, 3], IndexKind::Ordered, true)])
            }
            Shape::LongKeys => (&[0], true, Vec::new()),
            Shape::Hashed => (&[0], false, vec![index(&[2], IndexKind::Hash, false)]),
            Shape::Composite => (&[0, 1], true, Vec::new()),
        };
        let partitioned = self != Shape::LongKeys;
        TableSchema { ordered, indexes, partitioned, ..TableSchema::new("t", columns, key) }
    }

    /// A row made of three small numbers: the key's, the number's and the strings'.
    pub fn values(self, key: u8, number: u8, text: u8) -> Values {
        let id = match self {
            Shape::LongKeys => Value::Text(format!("a key of more than 24 bytes, number {key}").into()),
            Shape::Composite => Value::Int8(i64::from(key / 3)),
            _ => Value::Int8(i64::from(key) - 2),
        };
        let part = Value::Text(if self == Shape::Composite { format!("p{}", key % 3) } else { String::new() }.into());
        vec![id, part, Value::Int4(i32::from(number) - 1), name(text), note(text), price(number, text)]
    }

    /// The primary key of rows made with `key`.
    pub fn key(self, key: u8) -> Key {
        self.index_key(IndexRef::Primary, &self.values(key, 0, 0))
    }

    /// The key of a row with these values in an index.
    pub fn index_key(self, index: IndexRef, values: &[Value<'static>]) -> Key {
        let spec = self.spec(index);
        spec.key(spec.parts().iter().map(|part| values[part.column].borrowed()))
    }

    /// The beginning of such a key: of its first column only, where it has several.
    pub fn index_prefix(self, index: IndexRef, values: &[Value<'static>]) -> Key {
        let spec = self.spec(index);
        spec.key(spec.parts().iter().take(1).map(|part| values[part.column].borrowed()))
    }

    fn spec(self, index: IndexRef) -> KeySpec {
        let schema = self.schema();
        match index {
            IndexRef::Primary => KeySpec::new(&schema.columns, &schema.key),
            IndexRef::Secondary(IndexId(index)) => {
                KeySpec::bytes(&schema.columns, &schema.indexes[usize::from(index)].columns)
            }
        }
    }

    /// The primary index and the secondary ones.
    pub fn indexes(self) -> Vec<IndexRef> {
        let secondary = (0..self.schema().indexes.len()).map(|index| IndexRef::Secondary(IndexId(index as u16)));
        std::iter::once(IndexRef::Primary).chain(secondary).collect()
    }

    /// Whether scans of an index have an order.
    pub fn is_ordered(self, index: IndexRef) -> bool {
        let schema = self.schema();
        match index {
            IndexRef::Primary => schema.ordered,
            IndexRef::Secondary(IndexId(index)) => schema.indexes[usize::from(index)].kind == IndexKind::Ordered,
        }
    }
}

/// NULL, short, or longer than an inline key.
fn name(text: u8) -> Value<'static> {
    match text % 4 {
        0 => Value::Null,
        1 => Value::text("n"),
        2 => Value::text("name"),
        _ => Value::text("a name that is longer than a key may be without an allocation"),
    }
}

/// Of many lengths, so that the variable part grows and shrinks.
fn note(text: u8) -> Value<'static> {
    match text % 5 {
        0 => Value::Null,
        length => Value::Text("note ".repeat(usize::from(length) * 7).into()),
    }
}

fn price(number: u8, text: u8) -> Value<'static> {
    Value::Numeric(hotrow_storage::Numeric::new(i64::from(number) * 100 + i64::from(text), 2))
}

pub fn row(layout: &Arc<RowLayout>, values: &[Value<'static>]) -> Row {
    Row::from_values(layout, values)
}

pub fn values_of(row: RowRef<'_>) -> Values {
    (0..row.layout().columns()).map(|column| row.value(column).into_owned()).collect()
}
