//! Indexes that begin with the partition key: a range with one value of it is in one partition, and so are equal
//! columns.

use super::attempts;
use crate::refusing;
use hotrow_protocols::{ENGINES, open_with};
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, Row, RowMut, TableId, TableSchema, Type, Value,
};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Begin, Engine, Intent, RangeAccess, Scan, Setting, Settings, Transaction, Write};
use std::ops::{Bound, ControlFlow};

const PARTS: usize = 4;
const BY_CLIENT: IndexRef = IndexRef::Secondary(IndexId(0));
const BY_CODE: IndexRef = IndexRef::Secondary(IndexId(1));

/// A table of orders: the shop, which is the partition key, and a number are the primary key. The other columns are the
/// client, with an index, and the code, which is unique in its shop. Each of three shops has orders 0, 2 and 4, whose
/// client and code are the same number.
struct Orders {
    engine: Arc<dyn Engine>,
    table: TableId,
}

/// A change of an order.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A row with these values comes.
    Insert([i32; 4]),
    /// The row with this key goes.
    Delete([i32; 2]),
    /// The row with this key gets this client.
    SetClient([i32; 2], i32),
}

impl Change {
    fn key(self) -> Key {
        match self {
            Change::Insert([shop, number, ..]) => Key::int4s([shop, number]),
            Change::Delete(key) | Change::SetClient(key, _) => Key::int4s(key),
        }
    }
}

impl Orders {
    fn new(name: &str, has_roles: bool) -> Self {
        let cc_threads = has_roles.then_some(PARTS);
        let settings = Settings { workers: 8, partitions: Some(PARTS), cc_threads, ..Settings::default() };
        let engine = open_with(name, &settings).expect("the settings are good");
        let columns = ["shop", "number", "client", "code"].map(|name| Column::new(name, Type::Int4)).to_vec();
        let index = |columns: &[usize], kind, unique| IndexSchema {
            name: "i".to_owned(),
            columns: columns.to_vec(),
            kind,
            unique,
        };
        let indexes = vec![index(&[0, 2], IndexKind::Ordered, false), index(&[0, 3], IndexKind::Hash, true)];
        let schema = TableSchema { partitioned: true, indexes, ..TableSchema::new("orders", columns, &[0, 1]) };
        let orders = Self { table: engine.create_table(schema), engine };
        for (shop, number) in [1, 2, 3].into_iter().flat_map(|shop| [0, 2, 4].map(|number| (shop, number))) {
            let loaded = orders.engine.load(orders.table, orders.row([shop, number, number, number]).as_ref());
            loaded.expect("the keys differ");
        }
        orders
    }

    fn name(&self) -> &'static str {
        self.engine.info().name
    }

    fn row(&self, values: [i32; 4]) -> Row {
        Row::from_values(&self.engine.layout(self.table), &values.map(Value::Int4))
    }

    /// Returns the range of the orders of shop 1 whose clients are 3 to 5.
    fn range(&self) -> RangeAccess {
        let (lower, upper) = (Bound::Included(Key::int4s([1, 3])), Bound::Included(Key::int4s([1, 5])));
        RangeAccess { table: self.table, index: BY_CLIENT, lower, upper, intent: Intent::Read }
    }

    /// Returns the numbers of the orders in [`range`](Self::range).
    fn scan(&self, txn: &mut dyn Transaction) -> Result<Vec<i32>, Abort> {
        let RangeAccess { table, index, lower, upper, .. } = self.range();
        let mut numbers = Vec::new();
        txn.scan(&Scan { lower, upper, ..Scan::all(table, index) }, &mut |row| {
            numbers.push(row.int4(1));
            ControlFlow::Continue(())
        })?;
        Ok(numbers)
    }

    /// Makes a change in a transaction that refuses to wait. The transaction is open, if the change could be made.
    fn change(&self, change: Change) -> (Box<dyn Transaction>, Result<Write, Abort>) {
        let mut accesses = Accesses::new();
        accesses.push(self.table, change.key(), Intent::Write);
        let mut txn = self.engine.transaction(refusing());
        let outcome = attempts(&mut *txn, &mut accesses, |txn| match change {
            Change::Insert(values) => txn.insert(self.table, self.row(values).as_ref()),
            Change::Delete(_) => txn.delete(self.table, &change.key()),
            Change::SetClient(_, client) => txn.update(self.table, &change.key(), &mut |row: &mut RowMut<'_>| {
                row.set(2, &Value::Int4(client));
                Ok(())
            }),
        });
        (txn, outcome)
    }
}

fn for_each_planned(check: impl Fn(&Orders)) {
    for info in ENGINES.iter().filter(|info| info.capabilities.needs_accesses) {
        let orders = Orders::new(info.name, info.settings.contains(&Setting::CcThreads));
        check(&orders);
        assert_eq!(orders.engine.audit(), Ok(()), "{}", info.name);
    }
}

#[test]
fn no_phantom_comes_into_a_range_of_one_partition() {
    for_each_planned(|orders| {
        for (change, meets) in [
            (Change::Insert([1, 9, 3, 9]), true),
            (Change::Delete([1, 4]), true),
            (Change::SetClient([1, 4], 9), true),
            (Change::SetClient([1, 0], 3), true),
            (Change::Insert([2, 9, 3, 9]), false),
            (Change::Delete([2, 4]), false),
            (Change::SetClient([3, 2], 3), false),
        ] {
            let what = format!("{}: {change:?}", orders.name());
            let mut accesses = Accesses::new();
            accesses.push_range(orders.range());
            let mut scanner = orders.engine.transaction(refusing());
            scanner.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
            assert_eq!(orders.scan(&mut *scanner), Ok(vec![4]), "{what}");
            let (mut other, outcome) = orders.change(change);
            let expected = if meets { Err(Abort::Cancelled) } else { Ok(Write::Done) };
            assert_eq!(outcome, expected, "{what}");
            assert_eq!(orders.scan(&mut *scanner), Ok(vec![4]), "{what}");
            scanner.commit().expect("it holds all that it needs");
            other.abort();
            // It goes on when the scanner is gone, and keeps the next scanner away.
            let (mut other, outcome) = orders.change(change);
            assert_eq!(outcome, Ok(Write::Done), "{what}");
            let begun = scanner.begin(&Begin { accesses: Some(&accesses), ..Begin::default() });
            assert_eq!(begun.is_err(), meets, "{what}: {begun:?}");
            scanner.abort();
            other.abort();
        }
    });
}

#[test]
fn equal_columns_of_a_unique_index_meet_in_the_partition_of_their_rows() {
    for_each_planned(|orders| {
        let (mut first, outcome) = orders.change(Change::Insert([1, 9, 9, 7]));
        assert_eq!(outcome, Ok(Write::Done), "{}", orders.name());
        let second = Change::Insert([1, 8, 8, 7]);
        let (_, outcome) = orders.change(second);
        assert_eq!(outcome, Err(Abort::Cancelled), "{}: the first may yet be rolled back", orders.name());
        let (mut elsewhere, outcome) = orders.change(Change::Insert([2, 8, 8, 7]));
        assert_eq!(outcome, Ok(Write::Done), "{}: it is of another shop", orders.name());
        first.commit().expect("it holds all that it needs");
        elsewhere.commit().expect("it holds all that it needs");
        let (mut again, outcome) = orders.change(second);
        assert_eq!(outcome, Ok(Write::Duplicate(BY_CODE)), "{}", orders.name());
        again.abort();
    });
}
