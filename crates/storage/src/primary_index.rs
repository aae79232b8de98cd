//! A table's hash index on the primary key: one index, or one for each partition of the keys.
//!
//! A partitioned table puts the rows whose partition key is `v` into part `v mod parts`: a worker that stays with one
//! partition has that part of the index in its caches. A table that is not partitioned pays one branch, which always
//! goes the same way.

use crate::epoch::{Collector, Guard};
use crate::hash_index::HashIndex;
use crate::{Key, KeySpec, Type};
use hotrow_sync::Arc;
use std::ops::ControlFlow;

/// Returns the number of the partition of a partition key, out of `partitions`: the key modulo their number.
#[inline]
pub fn partition_number(partition_key: i64, partitions: usize) -> usize {
    // A division takes as long as a look-up in the cache, and every look-up begins here.
    let partitions = partitions as i64;
    match partitions & (partitions - 1) {
        0 => (partition_key & (partitions - 1)) as usize,
        _ => partition_key.rem_euclid(partitions) as usize,
    }
}

/// The primary hash index of a table. The parts are numbered from zero, and the first always exists.
pub(crate) struct PrimaryIndex {
    first: HashIndex,
    others: Box<[HashIndex]>,
    /// The number of bytes that the partition key takes at the beginning of a byte-string key.
    key_bytes: usize,
}

/// Returns how many bytes the first column takes in a byte-string key; `None` if the column is not an integer, or may
/// be NULL.
fn key_bytes(spec: &KeySpec) -> Option<usize> {
    let part = spec.parts().first().filter(|part| !part.nullable)?;
    match part.ty {
        Type::Int2 => Some(2),
        Type::Int4 => Some(4),
        Type::Int8 => Some(8),
        _ => None,
    }
}

impl PrimaryIndex {
    /// Makes an empty index of `parts` parts, at least one.
    ///
    /// # Panics
    /// If there are several parts, and the first column of the key is not an integer.
    pub(crate) fn new(collector: &Arc<Collector>, spec: &KeySpec, parts: usize) -> Self {
        let bytes = key_bytes(spec);
        assert!(parts <= 1 || bytes.is_some(), "a partition key is an integer, the first column of the primary key");
        let others = (1..parts).map(|_| HashIndex::new(collector, 0)).collect();
        Self { first: HashIndex::new(collector, 0), others, key_bytes: bytes.unwrap_or_default() }
    }

    /// Returns the part of the index to which a primary key belongs.
    #[inline]
    pub(crate) fn of(&self, key: &Key) -> &HashIndex {
        if self.others.is_empty() { &self.first } else { self.part(key) }
    }

    fn part(&self, key: &Key) -> &HashIndex {
        match self.number_of(key) {
            0 => &self.first,
            part => &self.others[part - 1],
        }
    }

    /// Returns the number of the part to which a primary key belongs.
    #[inline]
    pub(crate) fn number_of(&self, key: &Key) -> usize {
        partition_number(self.partition_key_of(key), self.others.len() + 1)
    }

    /// Returns the partition key with which a primary key begins.
    #[inline]
    pub(crate) fn partition_key_of(&self, key: &Key) -> i64 {
        match key {
            Key::Int(int) => *int,
            other => self.partition_key(other.bytes().unwrap_or_default()),
        }
    }

    /// Whether two keys, or prefixes of keys, have the same partition key.
    pub(crate) fn has_same_partition_key(&self, one: &Key, other: &Key) -> bool {
        match (one, other) {
            (Key::Int(one), Key::Int(other)) => one == other,
            (one, other) => {
                let begin = |key| Key::bytes(key).and_then(|bytes| bytes.get(..self.key_bytes));
                self.key_bytes > 0 && begin(one).is_some() && begin(one) == begin(other)
            }
        }
    }

    /// Returns the integer that a byte-string key begins with: big-endian, its sign bit flipped. If the key is too
    /// short, which no row's key is, the result is zero.
    fn partition_key(&self, key: &[u8]) -> i64 {
        let Some(bytes) = key.get(..self.key_bytes) else { return 0 };
        let value = bytes.iter().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        let sign = 1_u64 << (8 * self.key_bytes - 1);
        value.wrapping_sub(sign) as i64
    }

    /// Returns the number of entries of all parts, now or a moment ago.
    pub(crate) fn len(&self) -> usize {
        self.parts().map(HashIndex::len).sum()
    }

    /// Returns the number of entries of each part, now or a moment ago.
    pub(crate) fn part_lens(&self) -> Vec<usize> {
        self.parts().map(HashIndex::len).collect()
    }

    /// Returns the bytes of all parts.
    pub(crate) fn bytes(&self) -> usize {
        self.parts().map(HashIndex::bytes).sum()
    }

    /// Visits all entries, in no order, until `visit` breaks. Entries that are in the index during the whole call are
    /// visited at least once.
    pub(crate) fn entries(&self, guard: Guard<'_>, mut visit: impl FnMut(usize) -> ControlFlow<()>) {
        let mut flow = ControlFlow::Continue(());
        for part in self.parts() {
            part.entries(guard, |address| {
                flow = visit(address);
                flow
            });
            if flow.is_break() {
                return;
            }
        }
    }

    fn parts(&self) -> impl Iterator<Item = &HashIndex> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Value};

    /// Puts keys of one integer column, alone or before another column, into parts, and compares the part with the
    /// remainder.
    fn check(count: usize, ty: Type, beside: bool, value: impl Fn(i64) -> Value<'static>) {
        let columns = [Column::new("a", ty), Column::new("b", Type::Int8)];
        let spec = KeySpec::new(&columns, if beside { &[0, 1] } else { &[0] });
        let index = PrimaryIndex::new(&Collector::new(), &spec, count);
        let parts: Vec<_> = index.parts().collect();
        for number in [-32_768, -32_767, -4, -3, -1, 0, 1, 2, 3, 100, 32_766, 32_767] {
            let values = [value(number), Value::Int8(number * 7)];
            let key = spec.key(values.into_iter().take(spec.parts().len()));
            let expected = parts[number.rem_euclid(count as i64) as usize];
            assert!(
                std::ptr::eq(index.of(&key), expected),
                "{ty:?} {number} of {count} parts, beside another column: {beside}"
            );
        }
    }

    #[test]
    fn two_keys_have_one_partition_key_if_they_begin_alike() {
        let columns = [Column::new("a", Type::Int4), Column::new("b", Type::Int4)];
        let spec = KeySpec::new(&columns, &[0, 1]);
        let index = PrimaryIndex::new(&Collector::new(), &spec, 2);
        let key = |values: &[i32]| spec.key(values.iter().map(|&value| Value::Int4(value)));
        let cases: &[(&[i32], &[i32], bool)] =
            &[(&[1, 2], &[1, 9], true), (&[1], &[1, 9], true), (&[1, 2], &[3, 2], false), (&[], &[], false)];
        for &(one, other, expected) in cases {
            assert_eq!(index.has_same_partition_key(&key(one), &key(other)), expected, "{one:?} {other:?}");
        }
        assert!(index.has_same_partition_key(&Key::Int(7), &Key::Int(7)));
        assert!(!index.has_same_partition_key(&Key::Int(7), &Key::Int(9)), "in one partition, and not one key");
    }

    #[test]
    fn a_key_belongs_to_the_part_of_its_first_column() {
        for (count, beside) in [(3, false), (3, true), (4, false), (4, true), (7, false), (1, true)] {
            check(count, Type::Int2, beside, |number| Value::Int2(number as i16));
            check(count, Type::Int4, beside, |number| Value::Int4(number as i32));
            check(count, Type::Int8, beside, Value::Int8);
        }
    }
}
