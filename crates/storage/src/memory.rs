//! The memory of a table, by purpose.

/// The bytes of one table, by purpose. The figures are approximate while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// The number of rows (not bytes).
    pub rows: u64,
    /// The bytes of the columns of these rows, as they lie in memory, without headers, keys or links. They are a part
    /// of `records`.
    pub payload: u64,
    /// The bytes of records or versions, with all that belongs to them: headers, keys, links, and free slots.
    pub records: u64,
    /// The bytes of indexes, except for the parts of indexes that lie in the records.
    pub indexes: u64,
    /// The bytes of the locks and other data that the protocol keeps in the indexes.
    pub locks: u64,
}

impl TableMemory {
    /// Returns the bytes of the whole table: records, indexes and locks.
    pub fn bytes(&self) -> u64 {
        self.records + self.indexes + self.locks
    }

    /// Returns the average number of bytes that a row takes beyond its columns.
    pub fn overhead_of_row(&self) -> f64 {
        self.bytes().saturating_sub(self.payload) as f64 / self.rows.max(1) as f64
    }
}

/// The data that a protocol keeps in each index of a table.
pub trait IndexData: Default + Send + Sync + 'static {
    /// Returns the number of bytes that the data takes.
    fn bytes(&self) -> usize;
}

impl IndexData for () {
    fn bytes(&self) -> usize {
        0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{
        Collector, Column, Duplicate, Guard, IndexKind, IndexSchema, Row, StoredTable, Table, TableId, TableSchema,
        Type, Value, VersionHeader, VersionTable,
    };

    /// Stands for a protocol with two words before each version.
    struct Words(#[expect(dead_code, reason = "only its size counts")] [u64; 2]);

    #[derive(Default)]
    struct Locks;

    impl IndexData for Locks {
        fn bytes(&self) -> usize {
            7
        }
    }

    impl VersionHeader for Words {
        type Index = Locks;

        fn loaded() -> Self {
            Self([0; 2])
        }
    }

    const ROWS: u64 = 5_000;

    /// The memory of a table when it is empty, and after rows with `text` bytes in their third column were loaded.
    fn memory<T: StoredTable>(text: Option<usize>) -> (TableMemory, TableMemory) {
        let columns = match text {
            None => vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)],
            Some(_) => {
                vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8), Column::new("text", Type::Text)]
            }
        };
        let mut schema = TableSchema::new("rows", columns, &[0]);
        schema.ordered = true;
        let last = usize::from(text.is_some()) + 1;
        for kind in [IndexKind::Hash, IndexKind::Ordered] {
            schema.indexes.push(IndexSchema { name: format!("{kind:?}"), columns: vec![last], kind, unique: false });
        }
        let collector = Collector::new();
        let table = T::new(TableId(0), schema, &collector, 1);
        let mut participant = collector.participant();
        participant.enter();
        let guard = participant.guard();
        let empty = table.memory(guard);
        (0..ROWS as i64).for_each(|id| load(&table, guard, id, text).expect("ids are told apart"));
        (empty, table.memory(guard))
    }

    fn load<T: StoredTable>(table: &T, guard: Guard<'_>, id: i64, text: Option<usize>) -> Result<(), Duplicate> {
        let mut values = vec![Value::Int8(id), Value::Int8(id)];
        let text = text.map(|bytes| format!("{id:0>bytes$}"));
        values.extend(text.as_deref().map(Value::text));
        table.load(guard, Row::from_values(table.layout(), &values).as_ref())
    }

    fn check<T: StoredTable>(name: &str, locks: u64) {
        let (empty, short) = memory::<T>(None);
        let (_, long) = memory::<T>(Some(1_000));
        assert_eq!((empty.rows, empty.payload, empty.records, empty.locks), (0, 0, 0, locks), "{name}");
        assert_eq!((short.rows, long.rows, short.locks), (ROWS, ROWS, locks), "{name}");
        assert_eq!(short.payload % ROWS, 0, "{name}: all rows are equally long");
        let text = long.payload - short.payload;
        assert!((1_000 * ROWS..1_100 * ROWS).contains(&text), "{name}: {text} bytes of text");
        assert!(short.records >= short.payload && long.records >= long.payload, "{name}: {short:?}, {long:?}");
        // The ordered index on the text has a copy of it, at least.
        assert!(long.indexes - short.indexes >= 1_000 * ROWS, "{name}: {short:?}, {long:?}");
        assert!(short.overhead_of_row() > 16.0 && short.overhead_of_row() < 500.0, "{name}: {short:?}");
    }

    #[test]
    fn a_table_says_what_its_rows_and_all_beside_them_take() {
        check::<Table<()>>("records", 0);
        check::<VersionTable<Words>>("versions", 4 * 7);
    }
}
