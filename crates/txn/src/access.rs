//! What a procedure will touch.

use hotrow_storage::{Key, TableId, mix};

/// What a procedure will do to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Read it, present or absent.
    Read,
    /// Read it for update, update, insert or delete it.
    Write,
}

/// One key that a procedure will touch.
#[derive(Clone, Debug)]
pub struct Access {
    /// The table.
    pub table: TableId,
    /// The primary key.
    pub key: Key,
    /// [`Key::hash64`] of the key.
    pub hash: u64,
    /// Read or write.
    pub intent: Intent,
}

impl Access {
    /// A 64-bit name for the record, for lock tables: equal for equal table and key. Different records share a name
    /// with probability 2^-64, which a lock manager may treat as one record: coarser, never wrong.
    #[inline]
    pub fn lock_name(&self) -> u64 {
        Self::name(self.table, self.hash)
    }

    /// [`lock_name`](Self::lock_name) of the record in `table` whose key hashes to `hash`.
    #[inline]
    pub fn name(table: TableId, hash: u64) -> u64 {
        mix(hash ^ (u64::from(table.0) << 1 | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// The keys that a procedure will touch, in the order in which it will touch them.
///
/// Engines that need accesses lock them beforehand; the others take them as a hint and look the keys up together. The
/// list is reused from one procedure to the next, so that filling it allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    list: Vec<Access>,
}

impl Accesses {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the list for the next procedure.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Adds a key.
    #[inline]
    pub fn push(&mut self, table: TableId, key: Key, intent: Intent) {
        let hash = key.hash64();
        self.list.push(Access { table, key, hash, intent });
    }

    /// The keys, in access order.
    #[inline]
    pub fn list(&self) -> &[Access] {
        &self.list
    }
}
