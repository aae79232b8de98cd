//! Compares our indexes with public ones: `cargo bench -p hotrow-storage --bench indexes`.
//!
//! Keys are random 64-bit integers, one record of a cache line each. Every look-up and every step of a scan ends by
//! reading the record, as a transaction would. `HOTROW_BENCH_KEYS=1000000,10000000` (the default) sets the numbers of
//! keys.
//!
//! Read the figures as time per operation: a `get` iteration makes one million look-ups, so its milliseconds are
//! nanoseconds per look-up; a `scan_100` iteration makes ten thousand scans. Divide the time of an `insert` iteration
//! by the number of keys. `Versions` and `OrderedVersions` are tables of versions with one index: their records are the
//! versions, which an insert must make, too.

use crossbeam_skiplist::SkipMap;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use hotrow_storage::{
    Collector, Column, HashIndex, IndexRef, Key, KeyShape, OrderedIndex, Participant, Row, StoredTable, TableId,
    TableSchema, Type, VersionHeader, VersionMemory, VersionTable, mix,
};
use hotrow_sync::{Arc, OnceLock, RwLock, prefetch_bytes};
use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Bound;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The operations of one iteration that looks up, and of one that scans.
const LOOK_UPS: usize = 1_000_000;
const SCANS: usize = 10_000;
const SCAN_LENGTH: usize = 100;

/// The operations of one transaction: the epoch is entered once for them, and they form one batch.
const BATCH: usize = 16;

fn main() {
    divan::main();
}

fn sizes() -> Vec<usize> {
    let text = std::env::var("HOTROW_BENCH_KEYS").unwrap_or_else(|_| "1000000,10000000".into());
    text.split(',').map(|size| size.trim().parse().expect("HOTROW_BENCH_KEYS is a list of numbers")).collect()
}

#[repr(align(64))]
struct Record {
    key: u64,
}

/// The records of the largest size; smaller sizes use the first of them.
fn records() -> &'static [Record] {
    static RECORDS: OnceLock<Vec<Record>> = OnceLock::new();
    let most = || sizes().into_iter().max().unwrap_or_default();
    RECORDS.get_or_init(|| (0..most()).map(|number| Record { key: mix(number as u64 + 1) }).collect())
}

fn address_of(record: &'static Record) -> usize {
    std::ptr::from_ref(record).addr()
}

fn record_at(address: usize) -> &'static Record {
    &records()[(address - records().as_ptr().addr()) / size_of::<Record>()]
}

fn random_keys(keys: usize, count: usize) -> Vec<u64> {
    (0..count).map(|turn| mix(mix(turn as u64 + 77) % keys as u64 + 1)).collect()
}

/// An index under test, from a record's key to its address.
trait Index: Default {
    fn insert(&mut self, record: &'static Record);

    /// Reads the record of a key.
    fn get(&self, key: u64) -> Option<u64>;

    /// Begins another transaction.
    fn begin(&mut self) {}

    /// Looks a whole transaction's keys up, and reads their records.
    fn get_all(&mut self, keys: &[u64]) -> u64 {
        self.begin();
        keys.iter().filter_map(|&key| self.get(key)).fold(0, u64::wrapping_add)
    }
}

fn key_at(address: usize) -> u64 {
    record_at(address).key
}

/// An index under test with an order.
trait Ordered: Index {
    /// Reads the records of up to [`SCAN_LENGTH`] keys from `key` on.
    fn scan(&mut self, key: u64) -> u64;
}

struct OwnHash {
    index: HashIndex,
    participant: Participant,
}

impl Default for OwnHash {
    fn default() -> Self {
        let collector = Collector::new();
        let mut participant = collector.participant();
        participant.enter();
        Self { index: HashIndex::new(&collector, 0), participant }
    }
}

impl Index for OwnHash {
    fn insert(&mut self, record: &'static Record) {
        let hash_of = |address| mix(record_at(address).key);
        let matches = |address| record_at(address).key == record.key;
        let guard = self.participant.guard();
        self.index
            .insert_unique(guard, mix(record.key), address_of(record), matches, hash_of)
            .expect("keys are different");
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.index.get(self.participant.guard(), mix(key), |address| key_at(address) == key).map(key_at)
    }

    fn begin(&mut self) {
        self.participant.leave();
        self.participant.enter();
    }
}

/// The hash index, with all look-ups of a transaction in one batch.
#[derive(Default)]
struct OwnHashBatched(OwnHash);

impl Index for OwnHashBatched {
    fn insert(&mut self, record: &'static Record) {
        self.0.insert(record);
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(key)
    }

    fn get_all(&mut self, keys: &[u64]) -> u64 {
        let guard = self.0.participant.guard();
        keys.iter().for_each(|&key| self.0.index.prefetch_slot(guard, mix(key)));
        for &key in keys {
            if let Some(record) = self.0.index.target(guard, mix(key)) {
                prefetch_bytes(std::ptr::without_provenance(record), size_of::<Record>());
            }
        }
        self.0.get_all(keys)
    }
}

struct OwnTree {
    index: OrderedIndex,
    participant: Participant,
    found: Vec<(Key, usize)>,
}

impl Default for OwnTree {
    fn default() -> Self {
        let collector = Collector::new();
        let mut participant = collector.participant();
        participant.enter();
        Self { index: OrderedIndex::new(&collector, KeyShape::Int), participant, found: Vec::new() }
    }
}

impl Index for OwnTree {
    fn insert(&mut self, record: &'static Record) {
        let key = Key::Int(record.key as i64);
        self.index.insert(self.participant.guard(), &key, address_of(record)).expect("keys are different");
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.index.get(self.participant.guard(), &Key::Int(key as i64)).map(key_at)
    }

    fn begin(&mut self) {
        self.participant.leave();
        self.participant.enter();
    }
}

impl Ordered for OwnTree {
    fn scan(&mut self, key: u64) -> u64 {
        self.begin();
        self.found.clear();
        let from = Key::Int(key as i64);
        let guard = self.participant.guard();
        self.index.collect(guard, Bound::Included(&from), false, SCAN_LENGTH, &mut self.found);
        self.found.iter().map(|&(_, address)| key_at(address)).fold(0, u64::wrapping_add)
    }
}

/// The words of a protocol.
struct Words([u64; 2]);

impl VersionHeader for Words {
    type Index = ();

    fn loaded() -> Self {
        Self([1, 2])
    }
}

/// A version of three columns and two words fills a cache line, with one index and with two.
struct VersionsOf<const ORDERED: bool> {
    table: VersionTable<Words>,
    memory: VersionMemory,
    participant: Participant,
    row: Row,
}

type Versions = VersionsOf<false>;
type OrderedVersions = VersionsOf<true>;

impl<const ORDERED: bool> Default for VersionsOf<ORDERED> {
    fn default() -> Self {
        let collector = Collector::new();
        let mut participant = collector.participant();
        participant.enter();
        let columns = ["a", "b", "c"].map(|name| Column::new(name, Type::Int8)).to_vec();
        let schema = TableSchema { ordered: ORDERED, ..TableSchema::new("t", columns, &[0]) };
        let table: VersionTable<Words> = VersionTable::new(TableId(0), schema, &collector, 1);
        let row = Row::new(table.layout());
        Self { table, memory: VersionMemory::default(), participant, row }
    }
}

impl<const ORDERED: bool> Index for VersionsOf<ORDERED> {
    fn insert(&mut self, record: &'static Record) {
        self.row.change(|row| row.set_int8(0, record.key as i64));
        let guard = self.participant.guard();
        let version = self.table.draft(&mut self.memory, Words::loaded(), self.row.as_ref()).publish(guard);
        (0..self.table.indexes().len()).for_each(|index| self.table.link(guard, index, version, None));
    }

    fn get(&self, key: u64) -> Option<u64> {
        let key = Key::Int(key as i64);
        let version = self.table.primary().equal(self.participant.guard(), &key, key.hash64()).next()?;
        // A protocol reads its words before it reads the row.
        Some((version.row().int8(0) as u64).wrapping_add(version.header().0[1]))
    }

    fn begin(&mut self) {
        self.participant.leave();
        self.participant.enter();
    }
}

impl Ordered for OrderedVersions {
    fn scan(&mut self, key: u64) -> u64 {
        self.begin();
        let (from, mut anchors) = (Key::Int(key as i64), Vec::new());
        let guard = self.participant.guard();
        let index = self.table.index_of(IndexRef::Primary);
        index.collect(guard, Bound::Included(&from), false, SCAN_LENGTH, &mut anchors);
        let keys = anchors.iter().filter_map(|anchor| anchor.first()).map(|version| version.row().int8(0) as u64);
        keys.fold(0, u64::wrapping_add)
    }
}

/// The index over versions, with all look-ups of a transaction in one batch.
#[derive(Default)]
struct VersionsBatched(Versions);

impl Index for VersionsBatched {
    fn insert(&mut self, record: &'static Record) {
        self.0.insert(record);
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(key)
    }

    fn get_all(&mut self, keys: &[u64]) -> u64 {
        self.0.begin();
        let (index, guard) = (self.0.table.primary(), self.0.participant.guard());
        let hash = |&key: &u64| Key::Int(key as i64).hash64();
        keys.iter().for_each(|key| index.prefetch_slot(hash(key)));
        keys.iter().for_each(|key| index.prefetch_target(guard, hash(key)));
        keys.iter().for_each(|key| index.prefetch_next(guard, hash(key)));
        keys.iter().filter_map(|&key| self.get(key)).fold(0, u64::wrapping_add)
    }
}

/// Hashes an integer as our own index does, so that hashing makes no difference between indexes.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are integers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(key);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Default)]
struct SccHashMap(scc::HashMap<u64, usize, BuildHasherDefault<Mix>>);

impl Index for SccHashMap {
    fn insert(&mut self, record: &'static Record) {
        self.0.insert_sync(record.key, address_of(record)).expect("keys are different");
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.read_sync(&key, |_, &address| address).map(key_at)
    }
}

#[derive(Default)]
struct SccHashIndex(scc::HashIndex<u64, usize, BuildHasherDefault<Mix>>);

impl Index for SccHashIndex {
    fn insert(&mut self, record: &'static Record) {
        self.0.insert_sync(record.key, address_of(record)).expect("keys are different");
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.peek_with(&key, |_, &address| address).map(key_at)
    }
}

#[derive(Default)]
struct SccTree(scc::TreeIndex<u64, usize>);

impl Index for SccTree {
    fn insert(&mut self, record: &'static Record) {
        self.0.insert_sync(record.key, address_of(record)).expect("keys are different");
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.peek_with(&key, |_, &address| address).map(key_at)
    }
}

impl Ordered for SccTree {
    fn scan(&mut self, key: u64) -> u64 {
        let guard = scc::Guard::new();
        let found = self.0.range(key.., &guard).take(SCAN_LENGTH);
        found.map(|(_, &address)| key_at(address)).fold(0, u64::wrapping_add)
    }
}

#[derive(Default)]
struct Locked(RwLock<BTreeMap<u64, usize>>);

impl Index for Locked {
    fn insert(&mut self, record: &'static Record) {
        self.0.write().expect("no panic").insert(record.key, address_of(record));
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.read().expect("no panic").get(&key).copied().map(key_at)
    }
}

impl Ordered for Locked {
    fn scan(&mut self, key: u64) -> u64 {
        let map = self.0.read().expect("no panic");
        let found = map.range(key..).take(SCAN_LENGTH);
        found.map(|(_, &address)| key_at(address)).fold(0, u64::wrapping_add)
    }
}

#[derive(Default)]
struct SkipList(Arc<SkipMap<u64, usize>>);

impl Index for SkipList {
    fn insert(&mut self, record: &'static Record) {
        self.0.insert(record.key, address_of(record));
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&key).map(|entry| key_at(*entry.value()))
    }
}

impl Ordered for SkipList {
    fn scan(&mut self, key: u64) -> u64 {
        let found = self.0.range(key..).take(SCAN_LENGTH);
        found.map(|entry| key_at(*entry.value())).fold(0, u64::wrapping_add)
    }
}

fn filled<I: Index>(keys: usize) -> I {
    let mut index = I::default();
    records()[..keys].iter().for_each(|record| index.insert(record));
    index
}

#[divan::bench(
    types = [OwnHash, OwnHashBatched, Versions, VersionsBatched, SccHashMap, SccHashIndex, OwnTree, SccTree, Locked, SkipList],
    args = sizes(),
    sample_count = 5,
    sample_size = 1
)]
fn get<I: Index>(bencher: Bencher<'_, '_>, keys: usize) {
    let mut index = filled::<I>(keys);
    let wanted = random_keys(keys, LOOK_UPS);
    bencher
        .counter(ItemsCount::new(LOOK_UPS))
        .bench_local(|| wanted.chunks(BATCH).map(|keys| index.get_all(black_box(keys))).fold(0, u64::wrapping_add));
}

#[divan::bench(
    types = [OwnHash, Versions, OrderedVersions, SccHashMap, SccHashIndex, OwnTree, SccTree, Locked, SkipList],
    args = sizes(),
    sample_count = 1,
    sample_size = 1
)]
fn insert<I: Index>(bencher: Bencher<'_, '_>, keys: usize) {
    records();
    bencher.counter(ItemsCount::new(keys)).bench_local(|| filled::<I>(keys));
}

#[divan::bench(types = [OwnTree, OrderedVersions, SccTree, Locked, SkipList], args = sizes(), sample_count = 5, sample_size = 1)]
fn scan_100<I: Ordered>(bencher: Bencher<'_, '_>, keys: usize) {
    let mut index = filled::<I>(keys);
    let from = random_keys(keys, SCANS);
    bencher
        .counter(ItemsCount::new(SCANS))
        .bench_local(|| from.iter().map(|&key| index.scan(black_box(key))).fold(0, u64::wrapping_add));
}
