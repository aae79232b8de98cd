//! Keys as machine words, so that a reader can read them while a writer moves them.
//!
//! | keys of the tree | words |
//! | --- | --- |
//! | integers | one: the value with its sign bit flipped |
//! | *short* keys | one or two: the bytes as big-endian words, padded with zeros |
//! | other byte strings | three: the first 24 bytes, in the same way; then one that is a length or an address |
//!
//! Short keys are byte strings that all have the same length of L bytes, up to 8 for one word and up to 16 for two.
//!
//! **Integers and short keys** compare as their words do. Two byte strings of the same length that differ have the same
//! order as their first different bytes, and so have their words: the first word that differs holds that byte, and the
//! bytes of a big-endian word are ordered from the most significant one. The padding is equal in all keys of a tree.
//! The tree knows L, so the words give the key back.
//!
//! **Other byte strings.** The last word holds the key's length if it is at most 24 bytes long. Otherwise it holds the
//! address of the whole key on the heap. Words compare as the keys do, except for two long keys with the same first 24
//! bytes. In the last word a length is less than an address, which is right: if two keys agree in 24 padded bytes, the
//! shorter one is a prefix of the other.
//!
//! **Seeks among short keys.** A scan may begin at a byte string s of any length, such as a prefix of keys. Let n be s
//! if s has L bytes, s padded with zeros to L bytes if s is shorter, and the first L bytes of s if s is longer. Then
//! every key k ≠ n of the tree compares to s as to n:
//!
//! - *s is shorter.* Let i be the first position at which k and n differ. If i is within s, then k and s differ there
//!   first, and in the same way. Otherwise n has a zero at i, so k > n; and k begins with s and is longer, so k > s.
//! - *s is longer.* The first difference of k and n is also the first difference of k and s.
//!
//! The key n itself is greater than a shorter s, which is a prefix of n, and less than a longer s, of which n is a
//! prefix. So the keys above s are the keys above n, and n too if s is shorter. The keys below s are the keys below n,
//! and n too if s is longer. If s does not have L bytes, no key equals s, so an inclusive bound and an exclusive one
//! mean the same.

use crate::key::InlineKey;
use crate::{Key, KeyShape};
use std::cmp::Ordering;

/// The number of words of an integer, or of a short key of up to 8 bytes.
pub(super) const ONE: usize = 1;

/// The number of words of a short key of up to 16 bytes.
pub(super) const TWO: usize = 2;

/// The number of words of any other byte-string key.
pub(super) const BYTES: usize = 4;

/// The number of bytes of a word.
pub(super) const WORD_BYTES: usize = size_of::<u64>();

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

    /// Whether the words are the whole key, so that two keys compare as their words do.
    pub const WHOLE: bool = W != BYTES;

    /// Returns the words of `key`, a key of the tree's shape, which are valid as long as `key` is. Returns `None` if
    /// all keys of the tree have one length, and `key` has another.
    ///
    /// # Panics
    ///
    /// If one of the tree's keys and `key` is an integer and the other is a byte string.
    #[inline]
    pub fn of(key: &Key, shape: KeyShape) -> Option<Self> {
        match Self::nearest(key, shape) {
            (words, Ordering::Equal) => Some(words),
            _ => None,
        }
    }

    /// Returns the words of the key of the tree's length that is nearest to `key`, and how `key` compares to that key.
    /// All other keys of the tree compare to both in the same way: see *Seeks among short keys* above. The words are
    /// valid as long as `key` is.
    ///
    /// # Panics
    ///
    /// As [`of`](Self::of).
    #[inline]
    pub fn nearest(key: &Key, shape: KeyShape) -> (Self, Ordering) {
        match (key, shape) {
            (Key::Int(int), KeyShape::Int) if W == ONE => (Self([*int as u64 ^ SIGN; W]), Ordering::Equal),
            (Key::Bytes(inline), KeyShape::Fixed(len)) if Self::WHOLE && inline.len() <= len => {
                (Self::packed(inline), inline.len().cmp(&len))
            }
            (Key::Bytes(_) | Key::Long(_), KeyShape::Fixed(len)) if Self::WHOLE => {
                let bytes = key.bytes().unwrap_or_default();
                let begin = &bytes[..bytes.len().min(len)];
                (Self::packed(&InlineKey::new(begin)), bytes.len().cmp(&len))
            }
            (Key::Bytes(inline), KeyShape::Bytes) if W == BYTES => {
                let mut words = Self::packed(inline);
                words.0[LAST] = inline.len() as u64;
                (words, Ordering::Equal)
            }
            (Key::Long(bytes), KeyShape::Bytes) if W == BYTES => {
                let mut words = Self::packed(&InlineKey::new(&bytes[..bytes.len().min(Key::INLINE)]));
                words.0[LAST] = match bytes.len() {
                    len @ 0..=Key::INLINE => len as u64,
                    _ => std::ptr::from_ref::<Long>(bytes).expose_provenance() as u64,
                };
                (words, Ordering::Equal)
            }
            _ => panic!("integers and byte strings as keys of one index"),
        }
    }

    /// Returns the first words of a byte string, padded with zeros. The word of a length or an address is zero.
    #[inline]
    fn packed(inline: &InlineKey) -> Self {
        let words = inline.words();
        Self(std::array::from_fn(|word| words.get(word).copied().unwrap_or_default()))
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

    /// Returns the key that these words stand for in a tree whose keys have this shape.
    ///
    /// # Safety
    ///
    /// A long key's bytes must be alive.
    pub unsafe fn key(self, shape: KeyShape) -> Key {
        let len = match shape {
            KeyShape::Int => return Key::Int((self.0[0] ^ SIGN) as i64),
            KeyShape::Fixed(len) => len,
            KeyShape::Bytes => self.0[LAST] as usize,
        };
        if let Some(long) = self.long() {
            // SAFETY: `long` is the address of a `Long`, which the caller keeps alive.
            return Key::Long(unsafe { (*long).clone() });
        }
        let words = std::array::from_fn(|word| self.0.get(word).copied().unwrap_or_default());
        Key::Bytes(InlineKey::from_words(words, len))
    }

    /// Whether this key comes before `other`, or is equal to it and `or_equal` is true. The words must be the
    /// [whole](Self::WHOLE) keys. The comparison has no branches.
    #[inline]
    pub fn precedes(&self, other: &Self, or_equal: bool) -> bool {
        debug_assert!(Self::WHOLE);
        let number = |words: &[u64; W]| match words[..] {
            [only] => u128::from(only),
            [high, low, ..] => u128::from(high) << 64 | u128::from(low),
            [] => 0,
        };
        let (own, other) = (number(&self.0), number(&other.0));
        (own < other) | (or_equal & (own == other))
    }

    /// Compares two keys by their words alone. Returns `None` if the order depends on the bytes of both.
    #[inline]
    pub fn compare_words(&self, other: &Self) -> Option<Ordering> {
        match self.0.cmp(&other.0) {
            order if Self::WHOLE => Some(order),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_ordered_as_their_keys_and_give_them_back() {
        let ints = [i64::MIN, -2, -1, 0, 1, 1 << 40, i64::MAX].map(Key::Int);
        check::<ONE>(&ints, KeyShape::Int);
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
        check::<BYTES>(&strings.map(Key::from_bytes), KeyShape::Bytes);
        let ints = [i32::MIN, i32::MIN + 1, -1, 0, 1, 255, 256, i32::MAX];
        let pairs: Vec<Key> = ints.iter().flat_map(|&a| ints.map(|b| Key::int4s([a, b]))).collect();
        check::<ONE>(&pairs, KeyShape::Fixed(8));
        let triples: Vec<Key> = ints.iter().flat_map(|&a| ints.map(|b| Key::int4s([a, 7, b]))).collect();
        check::<TWO>(&triples, KeyShape::Fixed(12));
        let fours: Vec<Key> = ints.iter().flat_map(|&a| ints.map(|b| Key::int4s([a, i32::MIN, b, b]))).collect();
        check::<TWO>(&fours, KeyShape::Fixed(16));
        check::<BYTES>(&fours, KeyShape::Bytes);
        let threes = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF]];
        check::<ONE>(&threes.map(|bytes| Key::from_bytes(&bytes)), KeyShape::Fixed(3));
    }

    /// All byte strings over a few bytes, as seeks of each length and as keys of one length.
    #[test]
    fn keys_compare_to_a_seek_as_to_the_key_nearest_to_it() {
        let mut all = vec![vec![]];
        for from in 0.. {
            if all[from].len() == 4 {
                break;
            }
            let longer = [0, 1, 0xFF].map(|byte| [&all[from][..], &[byte]].concat());
            all.extend(longer);
        }
        for (len, before) in [(1, 0), (2, 0), (3, 0), (2, 7), (3, 13)] {
            // Bytes before the others move these across the border between words.
            let key = |bytes: &Vec<u8>| Key::from_bytes(&[&vec![5; before][..], bytes].concat());
            let shape = KeyShape::Fixed(before + len);
            for seek in all.iter().map(key) {
                for stored in all.iter().filter(|bytes| bytes.len() == len).map(key) {
                    if before + len > WORD_BYTES {
                        check_nearest::<TWO>(&seek, &stored, shape);
                    } else {
                        check_nearest::<ONE>(&seek, &stored, shape);
                    }
                }
            }
        }
    }

    fn check_nearest<const W: usize>(seek: &Key, stored: &Key, shape: KeyShape) {
        let (nearest, order) = Words::<W>::nearest(seek, shape);
        let words = Words::of(stored, shape).expect("a key of the tree");
        // SAFETY: no key is long.
        let to_nearest = unsafe { words.compare(&nearest) };
        assert_eq!(to_nearest.then(order.reverse()), stored.cmp(seek), "{stored:?} and {seek:?} in {shape:?}");
        assert_eq!(Words::<W>::of(seek, shape).is_some(), order.is_eq(), "{seek:?} in {shape:?}");
    }

    fn check<const W: usize>(ascending: &[Key], shape: KeyShape) {
        let of = |key: &Key| Words::<W>::of(key, shape).expect("a key of the shape");
        for (i, a) in ascending.iter().enumerate() {
            // SAFETY: the keys are alive, and each copy that owns its bytes gives them up once.
            unsafe {
                assert_eq!(of(a).key(shape), *a);
                let owned = of(a).with_own_bytes();
                assert_eq!(owned.key(shape), *a);
                drop(owned.into_heap());
            }
            for (j, b) in ascending.iter().enumerate() {
                // SAFETY: as above.
                let order = unsafe { of(a).compare(&of(b)) };
                assert_eq!(order, i.cmp(&j), "{a:?} and {b:?}");
                if Words::<W>::WHOLE {
                    assert_eq!([false, true].map(|or_equal| of(a).precedes(&of(b), or_equal)), [i < j, i <= j]);
                }
                if i < j {
                    // SAFETY: as above, and a < b.
                    unsafe {
                        let separator = of(b).separator(&of(a));
                        let key = separator.key(shape);
                        assert!(*a < key && key <= *b, "{separator:?} between {a:?} and {b:?}");
                        drop(separator.into_heap());
                    }
                }
            }
        }
    }
}
