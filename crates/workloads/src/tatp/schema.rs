//! The four tables, column for column as the usual clients make them on PostgreSQL, and their keys.

use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeyBuilder, TableId, TableSchema, Type, Value,
};
use std::fmt;

/// The tables' numbers in one database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The number of the table `subscriber`.
    pub subscriber: TableId,
    /// The number of the table `access_info`.
    pub access_info: TableId,
    /// The number of the table `special_facility`.
    pub special_facility: TableId,
    /// The number of the table `call_forwarding`.
    pub call_forwarding: TableId,
}

/// The unique secondary index of the table `subscriber` on the telephone number, `sub_nbr`.
pub const BY_NUMBER: IndexRef = IndexRef::Secondary(IndexId(0));

/// The number of columns of each kind in `subscriber`. There are three kinds: bits, half bytes and bytes.
pub(super) const FIELDS: usize = 10;

/// Positions of the columns of `subscriber`.
pub(super) mod subscriber {
    use super::FIELDS;

    pub const ID: usize = 0;
    pub const NUMBER: usize = 1;
    pub const BIT: usize = 2;
    pub const HEX: usize = BIT + FIELDS;
    pub const BYTE: usize = HEX + FIELDS;
    pub const MSC_LOCATION: usize = BYTE + FIELDS;
    pub const VLR_LOCATION: usize = MSC_LOCATION + 1;
}

/// Positions of the columns of `access_info`.
pub(super) mod access_info {
    pub const SUBSCRIBER: usize = 0;
    pub const TYPE: usize = 1;
    pub const DATA1: usize = 2;
    pub const DATA2: usize = 3;
    pub const DATA3: usize = 4;
    pub const DATA4: usize = 5;
}

/// Positions of the columns of `special_facility`.
pub(super) mod special_facility {
    pub const SUBSCRIBER: usize = 0;
    pub const TYPE: usize = 1;
    pub const IS_ACTIVE: usize = 2;
    pub const ERROR_CONTROL: usize = 3;
    pub const DATA_A: usize = 4;
    pub const DATA_B: usize = 5;
}

/// Positions of the columns of `call_forwarding`.
pub(super) mod call_forwarding {
    pub const SUBSCRIBER: usize = 0;
    pub const FACILITY: usize = 1;
    pub const START_TIME: usize = 2;
    pub const END_TIME: usize = 3;
    pub const NUMBER: usize = 4;
}

/// A telephone number of fifteen digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Number([u8; Number::DIGITS]);

impl Number {
    /// The number of digits of a telephone number.
    pub const DIGITS: usize = 15;

    /// Makes the telephone number that ends in the digits of `last`, after zeros. A subscriber's number is made of its
    /// id in this way. Digits beyond the fifteenth from the end are dropped.
    pub fn new(mut last: u64) -> Self {
        let mut digits = [b'0'; Self::DIGITS];
        for digit in digits.iter_mut().rev() {
            *digit += (last % 10) as u8;
            last /= 10;
        }
        Self(digits)
    }

    /// Returns the digits, as bytes of text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the digits, as a string.
    pub fn as_text(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }

    /// Returns the key of the number in the index [`BY_NUMBER`].
    pub fn key(&self) -> Key {
        let mut key = KeyBuilder::default();
        key.push(NUMBER_TYPE, false, &Value::text(self.as_text()));
        key.finish()
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

const NUMBER_TYPE: Type = Type::Varchar(Some(Number::DIGITS as u32));

/// Makes the key of a subscriber's id and these small numbers: the type for `access_info` and `special_facility`, the
/// facility's type and the start time for `call_forwarding`. Fewer numbers make a prefix.
pub(super) fn key(subscriber: i32, rest: &[i16]) -> Key {
    let mut key = KeyBuilder::default();
    key.push(Type::Int4, false, &Value::Int4(subscriber));
    for &number in rest {
        key.push(Type::Int2, false, &Value::Int2(number));
    }
    key.finish()
}

/// Defines a table whose primary key begins with the subscriber, which is the partition key.
fn of_subscriber(name: &str, columns: Vec<Column>, key: &[usize]) -> TableSchema {
    TableSchema { partitioned: true, ..TableSchema::new(name, columns, key) }
}

/// Defines the table `subscriber`. No transaction scans ranges of ids or numbers, so both indexes are hash indexes.
pub fn subscriber() -> TableSchema {
    let mut columns = vec![Column::new("s_id", Type::Int4), Column::new("sub_nbr", NUMBER_TYPE)];
    for kind in ["bit", "hex", "byte2"] {
        columns.extend((1..=FIELDS).map(|field| Column::nullable(&format!("{kind}_{field}"), Type::Int2)));
    }
    columns.push(Column::nullable("msc_location", Type::Int4));
    columns.push(Column::nullable("vlr_location", Type::Int4));
    let mut schema = of_subscriber("subscriber", columns, &[subscriber::ID]);
    schema.ordered = false;
    schema.indexes.push(IndexSchema {
        name: "subscriber_sub_nbr_key".to_owned(),
        columns: vec![subscriber::NUMBER],
        kind: IndexKind::Hash,
        unique: true,
    });
    schema
}

/// Defines the table `access_info`. No transaction scans ranges of its key, so the key has no ordered index.
pub fn access_info() -> TableSchema {
    let columns = vec![
        Column::new("s_id", Type::Int4),
        Column::new("ai_type", Type::Int2),
        Column::nullable("data1", Type::Int2),
        Column::nullable("data2", Type::Int2),
        Column::nullable("data3", Type::Varchar(Some(3))),
        Column::nullable("data4", Type::Varchar(Some(5))),
    ];
    let mut schema = of_subscriber("access_info", columns, &[access_info::SUBSCRIBER, access_info::TYPE]);
    schema.ordered = false;
    schema
}

/// Defines the table `special_facility`.
pub fn special_facility() -> TableSchema {
    let columns = vec![
        Column::new("s_id", Type::Int4),
        Column::new("sf_type", Type::Int2),
        Column::new("is_active", Type::Int2),
        Column::nullable("error_cntrl", Type::Int2),
        Column::nullable("data_a", Type::Int2),
        Column::nullable("data_b", Type::Varchar(Some(5))),
    ];
    of_subscriber("special_facility", columns, &[special_facility::SUBSCRIBER, special_facility::TYPE])
}

/// Defines the table `call_forwarding`. As in the usual clients, it has an index on `s_id`, although that is a prefix
/// of the primary key. A hash index costs least.
pub fn call_forwarding() -> TableSchema {
    use call_forwarding::{FACILITY, START_TIME, SUBSCRIBER};
    let columns = vec![
        Column::new("s_id", Type::Int4),
        Column::new("sf_type", Type::Int2),
        Column::new("start_time", Type::Int2),
        Column::nullable("end_time", Type::Int2),
        Column::nullable("numberx", NUMBER_TYPE),
    ];
    let mut schema = of_subscriber("call_forwarding", columns, &[SUBSCRIBER, FACILITY, START_TIME]);
    schema.indexes.push(IndexSchema {
        name: "idx_cf".to_owned(),
        columns: vec![SUBSCRIBER],
        kind: IndexKind::Hash,
        unique: false,
    });
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::{KeySpec, Row, RowLayout};
    use hotrow_sync::Arc;

    #[test]
    fn keys_are_those_that_the_tables_make_of_their_rows() {
        let schema = call_forwarding();
        let mut row = Row::new(&Arc::new(RowLayout::new(&schema.columns)));
        row.change(|row| {
            row.set_int4(0, 7);
            row.set(1, &Value::Int2(3));
            row.set(2, &Value::Int2(16));
        });
        let spec = KeySpec::new(&schema.columns, &schema.key);
        let made = spec.key(schema.key.iter().map(|&column| row.as_ref().value(column)));
        assert_eq!(key(7, &[3, 16]), made);
        assert!(made.starts_with(&key(7, &[3])) && !made.starts_with(&key(7, &[4])));
    }

    #[test]
    fn numbers_are_ids_with_zeros_before() {
        assert_eq!(format!("{:?}", Number::new(1_234_567)), "000000001234567");
        assert_eq!(Number::new(5_000_000_000_000_007).as_bytes(), b"000000000000007");
        let schema = subscriber();
        let spec = KeySpec::bytes(&schema.columns, &schema.indexes[0].columns);
        assert_eq!(Number::new(42).key(), spec.key([Value::text("000000000000042")]));
    }
}
