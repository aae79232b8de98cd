//! Keys as machine words, so that a reader can read them while a writer moves them.
//!
//! | keys of the tree | words |
//! | --- | --- |
//! | integers | the value with its sign bit flipped |
//! | byte strings | three big-endian words of the first 24 bytes, padded with zeros; then a length or an address |
//!
//! The last word of a byte string holds the key's length if it is at most 24 bytes long. Otherwise it holds the address
//! of the whole key on the heap.
//!
//! Words compare as the keys do, except for two long keys with the same first 24 bytes. In the last word a length is
//! less than an address, which is right: if two keys agree in 24 padded bytes, the shorter one is a prefix of the
//! other.

use crate::Key;
use std::cmp::Ordering;

/// The number of words of an integer key.
pub(super) const INT: usize = 1;

/// The number of words of a byte-string key.
pub(super) const BYTES: usize = 4;

/// The position of the word of a byte string that holds a length or an address.
const LAST: usize = BYTES - 1;

const SIGN: u64 = 1 << 63;

/// A key, owned or borrowed: [`Words::of`] borrows a long key's bytes, while a tree owns the bytes of its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<const W: usize>(pub [u64; W]);

/// A long key on the heap. A key's word is a thin pointer to this fat one, so that a search can use a [`Key::Long`] in
/// place.
type Long = Box<[u8]>;

impl<const W: usize> Words<W> {
    /// Placeholder words, for an entry that needs no key.
    pub const NONE: Self = Self([0; W]);

    /// Returns the words of `key`, which are valid as long as `key` is.
    ///
    /// # Panics
    ///
    /// If the key is not of the shape of the tree.
    #[inline]
    pub fn of(key: &Key) -> Self {
        let mut words = [0; W];
        match key {
            Key::Int(int) if W == INT => words[0] = *int as u64 ^ SIGN,
            Key::Bytes(inline) if W == BYTES => {
                pack(inline.as_slice(), &mut words);
                words[LAST] = inline.as_slice().len() as u64;
            }
            Key::Long(bytes) if W == BYTES => {
                pack(&bytes[..bytes.len().min(Key::INLINE)], &mut words);
                words[LAST] = match bytes.len() {
                    len @ 0..=Key::INLINE => len as u64,
                    _ => std::ptr::from_ref::<Long>(bytes).expose_provenance() as u64,
                };
            }
            _ => panic!("integers and byte strings as keys of one index"),
        }
        Self(words)
    }

    /// Returns the key with its own copy of a long key's bytes, which the receiver must free. A short key is returned
    /// as it is.
    ///
    /// # Safety
    ///
    /// A long key's bytes must be alive.
    pub unsafe fn with_own_bytes(self) -> Self {
        let Some(long) = self.long() else { return self };
        // SAFETY: `long` is the address of a `Long`, which the caller keeps alive.
        let copy = Box::new(unsafe { (*long).clone() });
        let mut words = self.0;
        words[LAST] = Box::into_raw(copy).expose_provenance() as u64;
        Self(words)
    }

    /// Returns the heap bytes of a key that the caller owns and gives up; `None` if the key is short.
    ///
    /// # Safety
    ///
    /// The words came from [`with_own_bytes`](Self::with_own_bytes), and are not used after the box is dropped.
    pub unsafe fn into_heap(self) -> Option<Box<Long>> {
        // SAFETY: the box was made by `Box::into_raw` in `with_own_bytes`, and is given up once.
        self.long().map(|long| unsafe { Box::from_raw(long) })
    }

    /// Returns the number of bytes that a key has on the heap if it owns its bytes.
    ///
    /// # Safety
    ///
    /// A long key's bytes must be alive.
    pub unsafe fn heap_bytes(&self) -> usize {
        // SAFETY: `long` is the address of a `Long`, which the caller keeps alive.
        self.long().map_or(0, |long| size_of::<Long>() + unsafe { (&*long).len() })
    }

    /// Makes a key above `lower` and not above `self`, with its own bytes: the shortest such key that is easy to make.
    ///
    /// # Safety
    ///
    /// Both keys' bytes must be alive, and `lower` less than `self`.
    pub unsafe fn separator(self, lower: &Self) -> Self {
        if W == BYTES && self.long().is_some() && self.0[..LAST] != lower.0[..LAST] {
            let mut words = self.0;
            words[LAST] = Key::INLINE as u64;
            return Self(words);
        }
        // SAFETY: by this function's contract.
        unsafe { self.with_own_bytes() }
    }

    /// Returns the key that these words stand for.
    ///
    /// # Safety
    ///
    /// A long key's bytes must be alive.
    pub unsafe fn key(self) -> Key {
        if W == INT {
            return Key::Int((self.0[0] ^ SIGN) as i64);
        }
        if let Some(long) = self.long() {
            // SAFETY: `long` is the address of a `Long`, which the caller keeps alive.
            return Key::Long(unsafe { (*long).clone() });
        }
        let mut bytes = [0; Key::INLINE];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        Key::from_bytes(&bytes[..self.0[LAST] as usize])
    }

    /// Compares two keys by their words alone. Returns `None` if the order depends on the bytes of both.
    #[inline]
    pub fn compare_words(&self, other: &Self) -> Option<Ordering> {
        if W == INT {
            return Some(self.0[0].cmp(&other.0[0]));
        }
        match self.0.cmp(&other.0) {
            order if self.long().is_none() || other.long().is_none() => Some(order),
            order if self.0[..LAST] != other.0[..LAST] => Some(order),
            _ => None,
        }
    }

    /// Compares two keys.
    ///
    /// # Safety
    ///
    /// Long keys' bytes must be alive.
    #[cfg(test)]
    pub unsafe fn compare(&self, other: &Self) -> Ordering {
        // SAFETY: by this function's contract.
        self.compare_words(other).unwrap_or_else(|| unsafe { self.compare_bytes(other) })
    }

    /// Compares the bytes of two long keys.
    ///
    /// # Safety
    ///
    /// Both keys are long, and their bytes are alive.
    #[cold]
    pub unsafe fn compare_bytes(&self, other: &Self) -> Ordering {
        match (self.long(), other.long()) {
            // SAFETY: both are addresses of a `Long`, which the caller keeps alive.
            (Some(a), Some(b)) => unsafe { (*a).cmp(&*b) },
            _ => unreachable!("the bytes of a short key are in its words"),
        }
    }

    /// Returns the address of the bytes of a long key; `None` if the key is short.
    #[inline]
    fn long(&self) -> Option<*mut Long> {
        let long = W == BYTES && self.0[LAST] > Key::INLINE as u64;
        long.then(|| std::ptr::with_exposed_provenance_mut(self.0[LAST] as usize))
    }
}

/// Packs up to 24 bytes into three words.
#[inline]
fn pack(bytes: &[u8], words: &mut [u64]) {
    let mut padded = [0; Key::INLINE];
    padded[..bytes.len()].copy_from_slice(bytes);
    for (word, chunk) in words.iter_mut().zip(padded.chunks_exact(8)) {
        *word = u64::from_be_bytes(chunk.try_into().expect("chunks of eight bytes"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_ordered_as_their_keys_and_give_them_back() {
        let ints = [i64::MIN, -2, -1, 0, 1, 1 << 40, i64::MAX].map(Key::Int);
        check::<INT>(&ints);
        let long = |end: &[u8]| [&[b'q'; 24], end].concat();
        let strings: [&[u8]; 12] = [
            b"",
            b"\0",
            b"\0\0",
            b"\x01",
            b"abc",
            b"abc\0",
            b"abd",
            &[b'q'; 24],
            &long(b"\0"),
            &long(b"\0\x01"),
            &long(b"zzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
            &[b'r'; 25],
        ];
        check::<BYTES>(&strings.map(Key::from_bytes));
    }

    fn check<const W: usize>(ascending: &[Key]) {
        for (i, a) in ascending.iter().enumerate() {
            // SAFETY: the keys are alive, and each copy that owns its bytes gives them up once.
            unsafe {
                assert_eq!(Words::<W>::of(a).key(), *a);
                let owned = Words::<W>::of(a).with_own_bytes();
                assert_eq!(owned.key(), *a);
                drop(owned.into_heap());
            }
            for (j, b) in ascending.iter().enumerate() {
                // SAFETY: as above.
                let order = unsafe { Words::<W>::of(a).compare(&Words::of(b)) };
                assert_eq!(order, i.cmp(&j), "{a:?} and {b:?}");
                if i < j {
                    // SAFETY: as above, and a < b.
                    unsafe {
                        let separator = Words::<W>::of(b).separator(&Words::of(a));
                        assert!(*a < separator.key() && separator.key() <= *b, "{separator:?} between {a:?} and {b:?}");
                        drop(separator.into_heap());
                    }
                }
            }
        }
    }
}
