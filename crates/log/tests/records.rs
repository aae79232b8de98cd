//! Records come back from their bytes as they were, and no bytes are read that are no record.

use hotrow_log::record::{self, Record, StoredChange};
use hotrow_storage::{
    Change, Column, Digits, Element, IndexKind, IndexSchema, Key, KeySpec, Precision, Row, RowLayout, TableId,
    TableSchema, Type, Value,
};
use hotrow_sync::Arc;
use proptest::prelude::*;

fn digits() -> impl Strategy<Value = Option<Digits>> {
    proptest::option::of((0..=6_u8).prop_map(|count| Digits::new(count).expect("at most six")))
}

fn scalar() -> impl Strategy<Value = Type> {
    let precision = (1..=1_000_u16, -1_000..=1_000_i16)
        .prop_map(|(precision, scale)| Type::Numeric(Some(Precision { precision, scale })));
    prop_oneof![
        Just(Type::Bool),
        Just(Type::Int2),
        Just(Type::Int4),
        Just(Type::Int8),
        Just(Type::Float4),
        Just(Type::Float8),
        Just(Type::Numeric(None)),
        precision,
        (1..300_u32).prop_map(Type::Char),
        proptest::option::of(1..300_u32).prop_map(Type::Varchar),
        Just(Type::Text),
        Just(Type::Name),
        Just(Type::Oid),
        Just(Type::Json),
        Just(Type::Jsonb),
        Just(Type::Bytea),
        Just(Type::Date),
        digits().prop_map(Type::Timestamp),
        digits().prop_map(Type::TimestampTz),
        digits().prop_map(Type::Time),
        digits().prop_map(Type::Interval),
        Just(Type::Uuid),
    ]
}

fn ty() -> impl Strategy<Value = Type> {
    prop_oneof![
        4 => scalar(),
        1 => scalar().prop_map(|ty| Type::Array(Element::of(ty).expect("no array"))),
        1 => prop_oneof![Just(Element::Int2Vector), Just(Element::OidVector)].prop_map(Type::Array),
    ]
}

fn schema() -> impl Strategy<Value = TableSchema> {
    let column = ("[a-zä]{0,9}", ty(), any::<bool>()).prop_map(|(name, ty, nullable)| Column { name, ty, nullable });
    let columns = proptest::collection::vec(column, 0..9);
    columns.prop_flat_map(|mut columns| {
        columns.push(Column::new("id", Type::Int4));
        let count = columns.len();
        let positions = proptest::collection::vec(0..count, 1..4);
        let index = (".{0,5}", positions, any::<bool>(), any::<bool>()).prop_map(|(name, columns, hash, unique)| {
            let kind = if hash { IndexKind::Hash } else { IndexKind::Ordered };
            IndexSchema { name, columns, kind, unique }
        });
        let indexes = proptest::collection::vec(index, 0..4);
        (Just(columns), indexes, any::<[bool; 3]>()).prop_map(|(columns, indexes, flags)| {
            let (key, [ordered, partitioned, constant]) = ([columns.len() - 1], flags);
            TableSchema { ordered, partitioned, constant, indexes, ..TableSchema::new("täble", columns, &key) }
        })
    })
}

fn key() -> impl Strategy<Value = Key> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..60);
    prop_oneof![any::<i64>().prop_map(Key::Int), bytes.prop_map(|bytes| Key::from_bytes(&bytes))]
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn definitions_come_back(schema in schema(), table in any::<u32>()) {
        let bytes = encoded(|bytes| record::created(TableId(table), &schema, bytes));
        match Record::read(&bytes) {
            Ok(Record::Created { table: read, schema: definition }) => {
                prop_assert_eq!(read, TableId(table));
                prop_assert_eq!(definition, schema);
            }
            other => prop_assert!(false, "{other:?}"),
        }
        for end in 0..bytes.len() {
            prop_assert!(Record::read(&bytes[..end]).is_err(), "without its end");
        }
        let longer = [&bytes[..], &[0]].concat();
        prop_assert!(Record::read(&longer).is_err(), "with more behind it");
    }

    #[test]
    fn changes_come_back(rows in proptest::collection::vec((any::<u32>(), any::<i64>(), ".{0,40}", key()), 0..9)) {
        let columns = [Column::new("id", Type::Int8), Column::new("text", Type::Varchar(Some(20)))];
        let layout = Arc::new(RowLayout::new(&columns));
        let row = |id: i64, text: &str| Row::from_values(&layout, &[Value::Int8(id), Value::text(text)]);
        let rows: Vec<_> = rows.into_iter().map(|(table, id, text, key)| (TableId(table), row(id, &text), key)).collect();
        let mut changes = rows.iter().flat_map(|(table, row, key)| {
            let put = Change::Put { table: *table, row: row.as_ref() };
            [put, Change::Delete { table: *table, key: key.clone() }]
        });
        let bytes = encoded(|bytes| record::transaction(&mut changes, bytes));
        let Ok(Record::Transaction(mut changes)) = Record::read(&bytes) else { panic!("a transaction") };
        let spec = KeySpec::new(&columns, &[0]);
        for (table, row, key) in &rows {
            match changes.next() {
                Some(Ok(StoredChange::Put { table: read, row: stored })) => {
                    prop_assert_eq!(read, *table);
                    prop_assert_eq!(stored.with_layout(&layout), Some(row.as_ref()));
                    prop_assert_eq!(stored.key(&layout, &spec), Some(Key::Int(row.as_ref().int8(0))));
                }
                other => prop_assert!(false, "{other:?}"),
            }
            match changes.next() {
                Some(Ok(StoredChange::Delete { table: read, key: stored })) => {
                    prop_assert_eq!((read, stored), (*table, key.clone()));
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert!(changes.next().is_none());
    }

    #[test]
    fn garbage_is_refused_or_read_but_never_more(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for kind in 0..8 {
            let bytes = [&[kind], &bytes[..]].concat();
            if let Ok(Record::Transaction(changes)) = Record::read(&bytes) {
                prop_assert!(changes.count() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_definition_with_a_wrong_byte_is_refused_or_can_be_made(schema in schema(), at in any::<usize>(), to: u8) {
        let mut bytes = encoded(|bytes| record::created(TableId(1), &schema, bytes));
        let at = at % bytes.len();
        bytes[at] = to;
        if let Ok(Record::Created { schema, .. }) = Record::read(&bytes) {
            RowLayout::new(&schema.columns);
            KeySpec::new(&schema.columns, &schema.key);
        }
    }
}

#[test]
fn the_other_records_come_back() {
    let layout = Arc::new(RowLayout::new(&[Column::new("a", Type::Numeric(None)), Column::new("b", Type::Text)]));
    let row = Row::from_values(&layout, &[Value::Numeric("-1.50".parse().expect("a number")), Value::text("x")]);
    let bytes = encoded(|bytes| record::loaded(TableId(300), row.as_ref(), bytes));
    match Record::read(&bytes) {
        Ok(Record::Loaded { table: TableId(300), row: read }) => {
            assert_eq!(read.with_layout(&layout), Some(row.as_ref()));
        }
        other => panic!("{other:?}"),
    }
    let bytes = encoded(|bytes| record::dropped(TableId(u32::MAX), bytes));
    assert!(matches!(Record::read(&bytes), Ok(Record::Dropped { table: TableId(u32::MAX) })));
    for time in [0, -1, i64::MAX, i64::MIN] {
        let bytes = encoded(|bytes| record::clock(time, bytes));
        assert!(matches!(Record::read(&bytes), Ok(Record::Clock(read)) if read == time));
    }
    assert!(Record::read(&[]).is_err());
    assert!(Record::read(&[9]).is_err());
}
