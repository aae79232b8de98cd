//! Records: a protocol's header, the record word, the key, and the row, in one allocation.
//!
//! ```text
//! | header (protocol's) | word: flags and address of the variable part | key | fixed part of the row |
//! ```
//!
//! The key never changes while the record lives. An integer takes 8 bytes, a byte string of a fixed length lies in
//! place, and any other key is behind a pointer. Any thread may read everything before the row at any time, so it is
//! atomic or immutable. The row's bytes are plain memory: the protocol decides which transaction may access them and
//! when, and each method that accesses them states what it requires of the protocol.

use crate::epoch::{Garbage, Guard};
use crate::segment::{self, Segments};
use crate::{IndexData, Key, KeyShape, KeySpec, RowLayout, RowMut, RowRef};
use hotrow_sync::atomic::Ordering;
use hotrow_sync::{Arc, PlainAtomicU32, PlainAtomicU64};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The data that a protocol keeps before each record. The default is the state at rest: unlocked, unused.
///
/// Its alignment is at most 8 bytes, and it needs no drop.
pub trait RecordHeader: Default + Send + Sync + 'static {
    /// The data that the protocol keeps in each index of a table.
    type Index: IndexData;

    /// The number of 32-bit numbers that the protocol keeps for each record outside the record, in arrays with one
    /// number for each record. They are zero at rest. [`RecordPtr::beside`] returns them.
    const BESIDE: usize = 0;
}

impl RecordHeader for () {
    type Index = ();
}

const PRESENT: u64 = 1 << 48;
const COMMITTED: u64 = 1 << 49;
const ADDRESS: u64 = PRESENT - 1;

/// The format of a table's records: the positions of their parts.
#[derive(Debug)]
pub struct RecordFormat {
    layout: Arc<RowLayout>,
    key: KeyPlace,
    word_at: usize,
    key_at: usize,
    row_at: usize,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPlace {
    Int,
    Inline { len: usize },
    Heap,
}

impl RecordFormat {
    /// Makes the format of records with a header of type `H`, whose rows have `layout` and whose primary keys `key`
    /// makes.
    pub fn new<H: RecordHeader>(layout: Arc<RowLayout>, key: &KeySpec) -> Self {
        const { assert!(align_of::<H>() <= 8 && !std::mem::needs_drop::<H>()) };
        let key = KeyPlace::of(key);
        let word_at = word_at::<H>();
        let key_at = word_at + 8;
        let row_at = key_at
            + match key {
                KeyPlace::Int | KeyPlace::Heap => 8,
                KeyPlace::Inline { len } => len.next_multiple_of(8),
            };
        let bytes = row_at + layout.fixed_size();
        Self { layout, key, word_at, key_at, row_at, bytes }
    }

    /// Returns the size of a record in bytes, without the memory on the heap that the record owns.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes of a record that do not belong to its row.
    pub fn overhead_bytes(&self) -> usize {
        self.row_at
    }

    /// Returns the layout of the rows.
    pub fn layout(&self) -> &Arc<RowLayout> {
        &self.layout
    }
}

/// Returns the offset of a record's word, which follows a header of type `H`.
const fn word_at<H>() -> usize {
    size_of::<H>().next_multiple_of(8)
}

impl KeyPlace {
    fn of(spec: &KeySpec) -> Self {
        match spec.shape() {
            KeyShape::Int => KeyPlace::Int,
            KeyShape::Fixed(len) if len <= Key::INLINE => KeyPlace::Inline { len },
            KeyShape::Fixed(_) | KeyShape::Bytes => KeyPlace::Heap,
        }
    }
}

/// The address of a record, for places that cannot hold a borrow.
pub struct RecordPtr<H>(NonNull<u8>, PhantomData<fn() -> H>);

impl<H> Clone for RecordPtr<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for RecordPtr<H> {}

impl<H> PartialEq for RecordPtr<H> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<H> Eq for RecordPtr<H> {}

impl<H> PartialOrd for RecordPtr<H> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<H> Ord for RecordPtr<H> {
    /// Orders records by address.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl<H> Hash for RecordPtr<H> {
    /// Hashes the address.
    fn hash<S: Hasher>(&self, state: &mut S) {
        state.write_usize(self.0.as_ptr().addr());
    }
}

// SAFETY: it is only an address; every use of it is `unsafe` and states its own requirements.
unsafe impl<H> Send for RecordPtr<H> {}
// SAFETY: as above.
unsafe impl<H> Sync for RecordPtr<H> {}

impl<H> fmt::Debug for RecordPtr<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordPtr({:p})", self.0)
    }
}

impl<H: RecordHeader> RecordPtr<H> {
    pub(crate) fn from_address(address: usize) -> Self {
        let pointer = NonNull::new(address as *mut u8).expect("indexes hold no zero address");
        Self(pointer, PhantomData)
    }

    pub(crate) fn pointer(self) -> NonNull<u8> {
        self.0
    }

    /// Returns the bare address, which identifies the record while it is allocated.
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// Returns the record at this address.
    ///
    /// # Safety
    /// The record belongs to the table with `format` and is not freed during `'g`: it was found, or not yet retired,
    /// after the guard's participant entered its epoch.
    #[inline]
    pub unsafe fn deref<'g>(self, _guard: Guard<'g>, format: &'g RecordFormat) -> RecordRef<'g, H> {
        RecordRef { start: self.0, format, marker: PhantomData }
    }

    /// Returns the header of the record at this address.
    ///
    /// # Safety
    /// The record is not freed during `'g`, as for [`deref`](Self::deref).
    #[inline]
    pub unsafe fn header<'g>(self, _guard: Guard<'g>) -> &'g H {
        // SAFETY: the header was written in `create`; by the caller it is allocated for `'g`; it is only ever shared.
        unsafe { self.0.cast::<H>().as_ref() }
    }

    /// Returns this record's number in the array numbered `vector`, out of the arrays [outside the
    /// records](RecordHeader::BESIDE). The number is found from the record's address, without fetching a cache line of
    /// the record.
    ///
    /// # Safety
    /// As for [`header`](Self::header).
    #[inline]
    pub unsafe fn beside<'g>(self, _guard: Guard<'g>, vector: usize) -> &'g PlainAtomicU32 {
        debug_assert!(vector < H::BESIDE, "a record has {} numbers beside it", H::BESIDE);
        // SAFETY: records are in slots of segments with `H::BESIDE` vectors, and by the caller this record is allocated
        // for `'g`.
        unsafe { segment::beside(self.0, vector) }
    }

    /// Whether the row of the record at this address exists, as [`RecordRef::is_present`] says.
    ///
    /// # Safety
    /// As for [`header`](Self::header).
    #[inline]
    pub unsafe fn is_present(self, _guard: Guard<'_>) -> bool {
        // SAFETY: the word follows the header; by the caller it is allocated; it is accessed as an atomic only.
        let word = unsafe { self.0.add(const { word_at::<H>() }).cast::<PlainAtomicU64>().as_ref() };
        word.load(Ordering::Acquire) & PRESENT != 0
    }
}

/// A record that stays allocated for `'g`.
pub struct RecordRef<'g, H> {
    start: NonNull<u8>,
    format: &'g RecordFormat,
    marker: PhantomData<&'g H>,
}

impl<H> Clone for RecordRef<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for RecordRef<'_, H> {}

impl<H: RecordHeader> fmt::Debug for RecordRef<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordRef").field("key", &self.key()).field("present", &self.is_present()).finish()
    }
}

impl<'g, H: RecordHeader> RecordRef<'g, H> {
    /// Makes a record in a fresh slot of `segments`: header at rest, not present, row copied from `row`.
    pub(crate) fn create(segments: &Segments, format: &'g RecordFormat, key: &Key, row: RowRef<'_>) -> Self {
        debug_assert!(segments.slot_bytes() >= format.bytes);
        let record = Self { start: segments.allocate(), format, marker: PhantomData };
        // SAFETY: the slot belongs to this call alone, is zeroed, has `format.bytes` bytes, and is aligned to 8; its
        // segments have `H::BESIDE` vectors.
        unsafe {
            record.start.cast::<H>().write(H::default());
            for vector in 0..H::BESIDE {
                // Relaxed: no other thread knows the record yet.
                segment::beside(record.start, vector).store(0, Ordering::Relaxed);
            }
            let key_at = record.at(format.key_at);
            match (format.key, key) {
                (KeyPlace::Int, Key::Int(int)) => key_at.cast::<i64>().write(*int),
                (KeyPlace::Inline { len }, Key::Bytes(bytes)) => {
                    assert_eq!(bytes.as_slice().len(), len, "a key of fixed-size columns has a fixed length");
                    key_at.copy_from_nonoverlapping(NonNull::from(bytes.as_slice()).cast(), len);
                }
                (KeyPlace::Heap, Key::Bytes(_) | Key::Long(_)) => {
                    key_at.cast::<*mut Key>().write(Box::into_raw(Box::new(key.clone())));
                }
                _ => panic!("key {key:?} is not of its table's shape"),
            }
            let fixed = NonNull::from(row.fixed()).cast();
            record.at(format.row_at).copy_from_nonoverlapping(fixed, format.layout.fixed_size());
        }
        let variable = Variable::new(row.variable());
        // Relaxed: no other thread knows the record yet.
        record.word().store(variable.into_address(), Ordering::Relaxed);
        record
    }

    /// Returns the record's address.
    #[inline]
    pub fn ptr(&self) -> RecordPtr<H> {
        RecordPtr(self.start, PhantomData)
    }

    /// Returns the header, which belongs to the protocol.
    #[inline]
    pub fn header(&self) -> &'g H {
        // SAFETY: the header was written in `create`, is allocated for `'g`, and is only ever shared.
        unsafe { self.start.cast::<H>().as_ref() }
    }

    /// Whether the row exists, as the last writer left it.
    #[inline]
    pub fn is_present(&self) -> bool {
        self.word().load(Ordering::Acquire) & PRESENT != 0
    }

    /// Sets whether the row exists.
    pub fn set_present(&self, present: bool) {
        self.set_flag(PRESENT, present);
    }

    /// Whether the transaction that made the record has committed.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.word().load(Ordering::Acquire) & COMMITTED != 0
    }

    /// Marks the transaction that made the record as committed.
    pub fn set_committed(&self) {
        self.set_flag(COMMITTED, true);
    }

    /// Returns the record's primary key.
    pub fn key(&self) -> Key {
        match self.format.key {
            // SAFETY: the key was written in `create` and is immutable since.
            KeyPlace::Int => Key::Int(unsafe { self.at(self.format.key_at).cast::<i64>().read() }),
            KeyPlace::Inline { len } => Key::from_bytes(self.inline_key(len)),
            KeyPlace::Heap => self.heap_key().clone(),
        }
    }

    /// Whether the primary key is `key`.
    #[inline]
    pub fn has_key(&self, key: &Key) -> bool {
        match (self.format.key, key) {
            (KeyPlace::Int, Key::Int(int)) => {
                // SAFETY: the key was written in `create` and is immutable since.
                unsafe { self.at(self.format.key_at).cast::<i64>().read() == *int }
            }
            (KeyPlace::Inline { len }, Key::Bytes(bytes)) => bytes.as_slice() == self.inline_key(len),
            (KeyPlace::Heap, key) => self.heap_key() == key,
            _ => false,
        }
    }

    /// Returns the record's row.
    ///
    /// # Safety
    /// No thread changes the row while the result lives: the caller's transaction holds a lock on it, or is alone.
    #[inline]
    pub unsafe fn row(&self) -> RowRef<'g> {
        // SAFETY: the fixed part is allocated for `'g`; by the caller it is not written meanwhile.
        let fixed = unsafe { std::slice::from_raw_parts(self.at(self.format.row_at).as_ptr(), self.fixed_size()) };
        RowRef::new(&self.format.layout, fixed, self.variable())
    }

    /// Changes the row in place by calling `change` on it. Returns the result of `change`, and the variable part that
    /// was replaced, if any.
    ///
    /// # Safety
    /// Only the caller's transaction may access the row now.
    #[inline]
    pub unsafe fn change<R>(&self, change: impl FnOnce(&mut RowMut<'_>) -> R) -> (R, Option<Variable>) {
        // SAFETY: the fixed part is allocated for `'g`; by the caller no other transaction accesses it.
        let fixed = unsafe { std::slice::from_raw_parts_mut(self.at(self.format.row_at).as_ptr(), self.fixed_size()) };
        let mut row = RowMut::new(&self.format.layout, fixed, self.variable());
        let result = change(&mut row);
        let old = row.into_variable().map(|bytes| self.swap_variable(Variable::new(&bytes)));
        (result, old)
    }

    /// Undoes changes: restores `fixed`, an earlier fixed part, and `variable`, the variable part that was replaced
    /// since then, if one was. Returns the variable part that this call replaces.
    ///
    /// # Safety
    /// As for [`change`](Self::change).
    pub unsafe fn restore(&self, fixed: &[u8], variable: Option<Variable>) -> Option<Variable> {
        assert_eq!(fixed.len(), self.fixed_size());
        // SAFETY: the fixed part has that size; by the caller no other transaction accesses it.
        unsafe {
            self.at(self.format.row_at).copy_from_nonoverlapping(NonNull::from(fixed).cast(), fixed.len());
        }
        variable.map(|variable| self.swap_variable(variable))
    }

    /// Replaces the whole row. Returns the variable part that was replaced.
    ///
    /// # Safety
    /// As for [`change`](Self::change).
    pub unsafe fn replace(&self, row: RowRef<'_>) -> Variable {
        // SAFETY: passed on to the caller.
        unsafe { self.restore(row.fixed(), None) };
        self.swap_variable(Variable::new(row.variable()))
    }

    /// Copies the row word by word, even while other threads write it. Each word is a value that was stored; their
    /// combination may never have existed. The method is for engines without isolation.
    pub fn copy_unisolated(&self, fixed: &mut [u8], variable: &mut Vec<u8>) {
        for (word, chunk) in self.words().zip(fixed.chunks_exact_mut(8)) {
            // Relaxed: no order between words is promised.
            chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        if self.format.layout.has_variable() {
            variable.clear();
            variable.extend_from_slice(self.variable());
        }
    }

    /// Writes the row word by word, even while other threads read or write it. Returns the variable part that was
    /// replaced.
    pub fn store_unisolated(&self, fixed: &[u8], variable: Option<&[u8]>) -> Option<Variable> {
        for (word, chunk) in self.words().zip(fixed.chunks_exact(8)) {
            // Relaxed: no order between words is promised.
            word.store(u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes")), Ordering::Relaxed);
        }
        variable.map(|bytes| self.swap_variable(Variable::new(bytes)))
    }

    /// Returns the bytes of the row's variable part, and the bytes of everything that the record has on the heap.
    pub(crate) fn heap_bytes(&self) -> (usize, usize) {
        let variable = self.variable().len();
        let part = if variable > 0 { size_of::<Box<[u8]>>() + variable } else { 0 };
        let key = match self.format.key {
            KeyPlace::Heap => size_of::<Key>() + self.heap_key().heap_bytes(),
            KeyPlace::Int | KeyPlace::Inline { .. } => 0,
        };
        (variable, part + key)
    }

    fn words(&self) -> impl Iterator<Item = &'g PlainAtomicU64> {
        let start = self.at(self.format.row_at).cast::<PlainAtomicU64>();
        // SAFETY: the fixed part is a multiple of 8 bytes, aligned to 8 and allocated for `'g`; an engine that calls
        // this uses these atomics for every access to it.
        (0..self.fixed_size() / 8).map(move |word| unsafe { start.add(word).as_ref() })
    }

    fn variable(&self) -> &'g [u8] {
        if !self.format.layout.has_variable() {
            return &[];
        }
        let address = self.word().load(Ordering::Acquire) & ADDRESS;
        // SAFETY: variable parts are immutable and, once replaced, retired through the epochs: this part stays for
        // `'g`.
        unsafe { Variable::slice(address) }
    }

    fn swap_variable(&self, new: Variable) -> Variable {
        let new = new.into_address();
        let replace = |word: u64| Some(word & !ADDRESS | new);
        let old = self.word().fetch_update(Ordering::AcqRel, Ordering::Acquire, replace);
        Variable(old.expect("the closure never declines") & ADDRESS)
    }

    fn set_flag(&self, flag: u64, on: bool) {
        if on {
            self.word().fetch_or(flag, Ordering::AcqRel);
        } else {
            self.word().fetch_and(!flag, Ordering::AcqRel);
        }
    }

    #[inline]
    fn word(&self) -> &'g PlainAtomicU64 {
        // SAFETY: within the record, aligned to 8, allocated for `'g`, and accessed as an atomic only.
        unsafe { self.at(self.format.word_at).cast::<PlainAtomicU64>().as_ref() }
    }

    fn inline_key(&self, len: usize) -> &'g [u8] {
        // SAFETY: the key was written in `create` and is immutable since.
        unsafe { std::slice::from_raw_parts(self.at(self.format.key_at).as_ptr(), len) }
    }

    fn heap_key(&self) -> &'g Key {
        // SAFETY: the pointer was written in `create`, from a box that is freed with the record.
        unsafe { &**self.at(self.format.key_at).cast::<*mut Key>().as_ptr() }
    }

    #[inline]
    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.format.bytes);
        // SAFETY: offsets of the format are within the record.
        unsafe { self.start.add(offset) }
    }

    #[inline]
    fn fixed_size(&self) -> usize {
        self.format.layout.fixed_size()
    }

    /// Turns the record into garbage. It must be unlinked from every index.
    pub(crate) fn into_garbage(self, table: &Arc<RecordMemory>) -> Garbage {
        unsafe fn free(start: *mut u8, memory: *const ()) {
            // SAFETY: `memory` is the reference that `into_garbage` gave away; `start` is a record of that memory,
            // which no thread can reach any more.
            unsafe {
                let memory = Arc::from_raw(memory.cast::<RecordMemory>());
                memory.free(NonNull::new_unchecked(start));
            }
        }
        let memory = Arc::into_raw(table.clone());
        // SAFETY: `free` takes back the reference and the slot, each once.
        unsafe { Garbage::raw(self.start.as_ptr(), memory.cast(), free) }
    }
}

/// The memory of a table's records, which lives until the last of its garbage is freed.
#[derive(Debug)]
pub(crate) struct RecordMemory {
    pub(crate) format: RecordFormat,
    pub(crate) segments: Segments,
}

impl RecordMemory {
    /// Whether records may own memory on the heap, beside their slots.
    pub(crate) fn has_contents(&self) -> bool {
        self.format.layout.has_variable() || self.format.key == KeyPlace::Heap
    }

    /// Frees a record and its memory on the heap.
    ///
    /// # Safety
    /// The record belongs to this memory, is not freed yet, and no thread can reach it.
    unsafe fn free(&self, start: NonNull<u8>) {
        // SAFETY: the caller keeps the contract; the slot belongs to these segments, and no thread looks at it any
        // more.
        unsafe {
            self.free_contents(start);
            self.segments.free(start);
        }
    }

    /// Frees the heap memory of a record, but not its slot.
    ///
    /// # Safety
    /// As for [`free`](Self::free).
    pub(crate) unsafe fn free_contents(&self, start: NonNull<u8>) {
        let record = RecordRef::<()> { start, format: &self.format, marker: PhantomData };
        // Relaxed: the epochs have ordered every access before this one.
        drop(Variable(record.word().load(Ordering::Relaxed) & ADDRESS));
        if self.format.key == KeyPlace::Heap {
            // SAFETY: the key's box belongs to the record.
            drop(unsafe { Box::from_raw(*record.at(self.format.key_at).cast::<*mut Key>().as_ptr()) });
        }
    }
}

/// The variable part of a row: immutable bytes on the heap, which are replaced as a whole. Dropping this value frees
/// the bytes, so a part that other threads may still look at must be retired instead.
#[derive(Debug)]
pub struct Variable(u64);

impl Variable {
    fn new(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self(0);
        }
        // A boxed box: the pointer of the inner box is two words wide, and the record has one word for it.
        let boxed: Box<Box<[u8]>> = Box::new(bytes.into());
        let address = Box::into_raw(boxed) as u64;
        assert_eq!(address & !ADDRESS, 0, "user-space addresses have 48 bits");
        Self(address)
    }

    fn into_address(self) -> u64 {
        let address = self.0;
        std::mem::forget(self);
        address
    }

    /// # Safety
    /// The address is zero, or that of a variable part that stays allocated for `'a`.
    unsafe fn slice<'a>(address: u64) -> &'a [u8] {
        if address == 0 {
            return &[];
        }
        // SAFETY: by the caller.
        unsafe { &*(address as *const Box<[u8]>) }
    }

    /// Whether the part has no bytes, so that there is nothing to free.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Returns the bytes of the part.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: this value owns the part at its address.
        unsafe { Self::slice(self.0) }
    }

    /// Turns the part into garbage, for the caller that has replaced it.
    pub fn into_garbage(self) -> Garbage {
        Garbage::boxed(Box::new(self))
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        if self.0 != 0 {
            // SAFETY: the address came from `Box::into_raw` in `new`, and this value is its only owner.
            drop(unsafe { Box::from_raw(self.0 as *mut Box<[u8]>) });
        }
    }
}
