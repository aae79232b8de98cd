//! Order-preserving keys.
//!
//! A key made of one integer NOT NULL column is that integer ([`Key::Int`]), which is the fast path. Every other key is
//! a byte string whose byte order is the order of the columns' values ([`Key::Bytes`] up to 24 bytes, [`Key::Long`]
//! beyond):
//!
//! | column | bytes |
//! | --- | --- |
//! | NULL (nullable columns only) | `01` after everything else: NULLS LAST, as PostgreSQL's default |
//! | not NULL (nullable columns only) | `00` before the value |
//! | boolean, integers, date, timestamp | big-endian, sign bit flipped |
//! | float | big-endian; all bits flipped if negative, the sign bit otherwise; −0 as 0, NaN greatest |
//! | numeric | kind (−∞, negative, zero, positive, ∞, NaN), decimal exponent, digits plus one, `00`; all after the kind inverted if negative |
//! | text, json, jsonb, bytea | bytes with `00` escaped as `00 FF`, closed by `00 00`; `char(n)` without end blanks |
//! | uuid | its 16 bytes |
//!
//! All keys of one index have one [shape](KeyShape), so that [`Key`]'s order is the index's order.

mod values;

use crate::{Column, Interval, RowRef, Type, Value};
use hotrow_numeric::{Numeric, Significant};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The bytes of numbers in keys.
mod number {
    // The first byte: what the number is. `NaN` is greater than everything else.
    pub(super) const NEGATIVE_INFINITY: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const ZERO: u8 = 2;
    pub(super) const POSITIVE: u8 = 3;
    pub(super) const INFINITY: u8 = 4;
    pub(super) const NAN: u8 = 5;

    /// The least exponent that takes one byte.
    pub(super) const SHORT_MIN: i32 = -100;
    /// The greatest exponent that takes one byte.
    pub(super) const SHORT_MAX: i32 = 100;
    /// The byte of the exponent 0.
    pub(super) const SHORT_ZERO: i32 = 128;
    /// The byte before an exponent of four bytes, which is less than those of one byte.
    pub(super) const BELOW: u8 = 0;
    /// The byte before an exponent of four bytes, which is greater than those of one byte.
    pub(super) const ABOVE: u8 = u8::MAX;
}

/// The key of a record or of an index entry. It takes 32 bytes, and no allocation up to 24 key bytes.
#[derive(Clone, Debug)]
pub enum Key {
    /// The value of a single integer NOT NULL column.
    Int(i64),
    /// Up to [`Key::INLINE`] bytes.
    Bytes(InlineKey),
    /// More than [`Key::INLINE`] bytes.
    Long(Box<[u8]>),
}

const _: () = assert!(size_of::<Key>() == 32);

/// A byte string of up to [`Key::INLINE`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct InlineKey {
    len: u8,
    /// The bytes of the key. All bytes behind the first `len` are zero.
    bytes: [u8; Key::INLINE],
}

impl InlineKey {
    /// Makes a byte string of at most [`Key::INLINE`] bytes.
    #[inline]
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut inline = Self { len: bytes.len() as u8, bytes: [0; Key::INLINE] };
        inline.bytes[..bytes.len()].copy_from_slice(bytes);
        inline
    }

    /// Returns the bytes of the key.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Returns the number of bytes of the key.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns the bytes of the key, padded with zeros, as big-endian words.
    #[inline]
    pub(crate) fn words(&self) -> [u64; Key::INLINE / 8] {
        let (chunks, _) = self.bytes.as_chunks::<8>();
        std::array::from_fn(|word| u64::from_be_bytes(chunks[word]))
    }

    /// Makes the key of the first `len` bytes of big-endian words, whose other bytes are zero.
    #[inline]
    pub(crate) fn from_words(words: [u64; Key::INLINE / 8], len: usize) -> Self {
        let mut bytes = [0; Key::INLINE];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        debug_assert!(bytes[len..].iter().all(|&byte| byte == 0), "{words:?} as a key of {len} bytes");
        Self { len: len as u8, bytes }
    }
}

/// The shape of keys: the kind and the length that all keys of one index share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyShape {
    /// All keys are integers, [`Key::Int`].
    Int,
    /// All keys are byte strings of this length in bytes.
    Fixed(usize),
    /// All keys are byte strings, of any lengths.
    Bytes,
}

impl KeyShape {
    /// Returns the shape of byte strings of which each is a key of this shape and, behind it, a key of the shape
    /// `suffix`: see [`KeyBuilder::push_key`].
    pub fn followed_by(self, suffix: KeyShape) -> KeyShape {
        match (self.fixed_len(), suffix.fixed_len()) {
            (Some(own), Some(suffix)) => KeyShape::Fixed(own + suffix),
            _ => KeyShape::Bytes,
        }
    }

    /// Returns the number of bytes that each key takes in a byte string; `None` if that depends on the key.
    fn fixed_len(self) -> Option<usize> {
        match self {
            KeyShape::Int => Some(size_of::<i64>()),
            KeyShape::Fixed(len) => Some(len),
            KeyShape::Bytes => None,
        }
    }
}

impl Key {
    /// The longest key that needs no allocation, in bytes.
    pub const INLINE: usize = 24;

    /// Returns the number of bytes that the key has on the heap.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Key::Long(bytes) => bytes.len(),
            Key::Int(_) | Key::Bytes(_) => 0,
        }
    }

    /// Makes a byte-string key of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.len() > Self::INLINE {
            return Key::Long(bytes.into());
        }
        Key::Bytes(InlineKey::new(bytes))
    }

    /// Makes the byte-string key of two to six `integer` NOT NULL columns, or of that many leading columns of a longer
    /// key.
    #[inline]
    pub fn int4s<const N: usize>(columns: [i32; N]) -> Self {
        const { assert!(N * 4 <= Self::INLINE) };
        let mut inline = InlineKey { len: N as u8 * 4, bytes: [0; Self::INLINE] };
        for (place, column) in inline.bytes.chunks_exact_mut(4).zip(columns) {
            place.copy_from_slice(&ordered_int4(column));
        }
        Key::Bytes(inline)
    }

    /// Returns the bytes of a byte-string key, or `None` for an integer key.
    #[inline]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Key::Int(_) => None,
            Key::Bytes(inline) => Some(inline.as_slice()),
            Key::Long(bytes) => Some(bytes),
        }
    }

    /// Returns a 64-bit hash of the key. Equal keys have equal hashes, and all bits of a hash are of good quality.
    #[inline]
    pub fn hash64(&self) -> u64 {
        match self {
            Key::Int(int) => mix(*int as u64 ^ 0x9E37_79B9_7F4A_7C15),
            Key::Bytes(inline) => hash_bytes(inline.as_slice()),
            Key::Long(bytes) => hash_bytes(bytes),
        }
    }

    /// Returns the least byte-string key that is greater than every key that begins with `self`: the exclusive upper
    /// bound of a prefix scan. Returns `None` if there is no such key (all bytes are FF), or if the key is an integer.
    pub fn prefix_end(&self) -> Option<Key> {
        let bytes = self.bytes()?;
        let last = bytes.iter().rposition(|&byte| byte != 0xFF)?;
        let mut end = bytes[..=last].to_vec();
        end[last] += 1;
        Some(Key::from_bytes(&end))
    }

    /// Whether the key begins with the bytes of `prefix`. An integer key begins with itself only.
    pub fn starts_with(&self, prefix: &Key) -> bool {
        match (self.bytes(), prefix.bytes()) {
            (Some(bytes), Some(prefix)) => bytes.starts_with(prefix),
            _ => self == prefix,
        }
    }
}

/// Mixes the bits of a word: a bijective finaliser in which every input bit affects every output bit (the 64-bit
/// variant of MurmurHash3's).
#[inline]
pub fn mix(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word ^= word >> 33;
    word = word.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ (word >> 33)
}

/// Returns the four bytes of an `integer` in a key. Their order is the order of the values.
#[inline]
fn ordered_int4(value: i32) -> [u8; 4] {
    ((value as u32) ^ 1 << 31).to_be_bytes()
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = mix(bytes.len() as u64 ^ 0x2545_F491_4F6C_DD1D);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = mix(hash ^ u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")));
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    hash
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Key::Int(a), Key::Int(b)) => a == b,
            _ => match (self.bytes(), other.bytes()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    /// Compares integers by value and byte strings by their bytes; integers come before byte strings.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Key::Int(a), Key::Int(b)) => a.cmp(b),
            _ => self.bytes().cmp(&other.bytes()),
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash64());
    }
}

impl From<i64> for Key {
    fn from(int: i64) -> Self {
        Key::Int(int)
    }
}

/// The rule by which an index's key is made from a row: from which columns, and in which shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpec {
    parts: Vec<KeyPart>,
    shape: KeyShape,
    /// Whether every column is an `integer` NOT NULL, and all of them fit into a key without an allocation.
    int4s: bool,
}

/// A column from which a [`KeySpec`] makes keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The column's position in its table.
    pub column: usize,
    /// The column's type.
    pub ty: Type,
    /// Whether the column may be NULL, so that a key must distinguish NULL from values.
    pub nullable: bool,
}

impl KeyPart {
    /// Returns the number of bytes that the column takes in every byte-string key; `None` if that depends on the value.
    fn fixed_len(&self) -> Option<usize> {
        match self.ty {
            _ if self.nullable => None,
            Type::Numeric(_) => None,
            Type::Interval(_) => Some(Interval::KEY_BYTES),
            // A key has the float8 of equal value.
            Type::Float4 => Some(size_of::<f64>()),
            ty => ty.fixed_size().map(|(size, _)| size),
        }
    }
}

impl KeySpec {
    /// Makes the rule for keys of the columns at `positions`, in that order.
    pub fn new(columns: &[Column], positions: &[usize]) -> Self {
        let part = |&column: &usize| KeyPart { column, ty: columns[column].ty, nullable: columns[column].nullable };
        let parts: Vec<_> = positions.iter().map(part).collect();
        let shape = match parts[..] {
            [KeyPart { ty, nullable: false, .. }] if ty.is_integer() => KeyShape::Int,
            _ => Self::shape_of_bytes(&parts),
        };
        let int4s = parts.len() * 4 <= Key::INLINE
            && parts.iter().all(|part| matches!(part, KeyPart { ty: Type::Int4, nullable: false, .. }));
        Self { parts, shape, int4s }
    }

    /// Makes a rule whose keys are always byte strings, even if the only column is an integer. An index that appends
    /// the primary key to its keys needs this.
    pub fn bytes(columns: &[Column], positions: &[usize]) -> Self {
        let spec = Self::new(columns, positions);
        Self { shape: Self::shape_of_bytes(&spec.parts), ..spec }
    }

    /// Returns the shape of the byte-string keys of these columns.
    fn shape_of_bytes(parts: &[KeyPart]) -> KeyShape {
        let len: Option<usize> = parts.iter().map(KeyPart::fixed_len).sum();
        len.map_or(KeyShape::Bytes, KeyShape::Fixed)
    }

    /// Returns the columns from which keys are made, in key order.
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Whether the keys that this rule makes are integers, [`Key::Int`].
    #[inline]
    pub fn is_int(&self) -> bool {
        self.shape == KeyShape::Int
    }

    /// Returns the shape of the keys that this rule makes of rows. Prefixes of keys are byte strings of other lengths.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// Whether all columns of `other` are among the columns of this rule. If `other` makes primary keys, a key of this
    /// rule then identifies a row by itself.
    pub fn includes(&self, other: &KeySpec) -> bool {
        other.parts.iter().all(|part| self.parts.iter().any(|own| own.column == part.column))
    }

    /// Makes the key of a row from its values in the columns of this rule.
    #[inline]
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        if self.is_int() {
            return Key::Int(self.int_of(row));
        }
        if self.int4s {
            let mut inline = InlineKey { len: self.parts.len() as u8 * 4, bytes: [0; Key::INLINE] };
            for (place, part) in inline.bytes.chunks_exact_mut(4).zip(&self.parts) {
                place.copy_from_slice(&ordered_int4(row.int4(part.column)));
            }
            return Key::Bytes(inline);
        }
        self.key(self.parts.iter().map(|part| row.value(part.column)))
    }

    /// Whether `key` is the key that this rule makes from the row.
    #[inline]
    pub fn matches(&self, row: RowRef<'_>, key: &Key) -> bool {
        match key {
            Key::Int(int) if self.is_int() => self.int_of(row) == *int,
            key => self.key_of(row) == *key,
        }
    }

    /// Returns the integer from which the key of a row is made, under a rule for integer keys.
    #[inline]
    fn int_of(&self, row: RowRef<'_>) -> i64 {
        let part = &self.parts[0];
        match part.ty {
            Type::Int8 => row.int8(part.column),
            Type::Int4 => i64::from(row.int4(part.column)),
            _ => i64::from(row.int2(part.column)),
        }
    }

    /// Makes the key whose leading columns have these values, in key order. If there are fewer values than columns, the
    /// key is a prefix. Each value must be of its column's type (any integer type for an integer column).
    ///
    /// # Panics
    /// If this rule makes integer keys, and there is no value, or it is not an integer.
    pub fn key<'v>(&self, values: impl IntoIterator<Item = Value<'v>>) -> Key {
        let mut values = values.into_iter();
        if self.is_int() {
            let value = values.next().expect("an integer key has one value");
            return Key::Int(value.as_int().expect("an integer key is made of an integer"));
        }
        let mut builder = KeyBuilder::default();
        for (part, value) in self.parts.iter().zip(values) {
            builder.push(part.ty, part.nullable, &value);
        }
        builder.finish()
    }
}

/// Builds a byte-string key value by value.
#[derive(Debug)]
pub struct KeyBuilder {
    inline: InlineKey,
    long: Vec<u8>,
}

impl Default for KeyBuilder {
    fn default() -> Self {
        Self { inline: InlineKey { len: 0, bytes: [0; Key::INLINE] }, long: Vec::new() }
    }
}

impl KeyBuilder {
    /// Appends a value of a column of type `ty`. `nullable` says whether the column may be NULL.
    ///
    /// 1.50 and 1.5 make the same key, since a key has the significant digits of a number, and so do intervals of the
    /// same length. An array is its elements, each after a 01, or 02 for NULL, and a final 00.
    pub fn push(&mut self, ty: Type, nullable: bool, value: &Value<'_>) {
        if nullable {
            self.extend(&[u8::from(value.is_null())]);
        }
        match value {
            Value::Null => debug_assert!(nullable, "NULL in a NOT NULL key column"),
            Value::Bool(value) => self.extend(&[u8::from(*value)]),
            Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => self.push_int(ty, value.as_int().unwrap_or_default()),
            Value::Date(value) => self.extend(&ordered_int4(*value)),
            Value::Timestamp(value) | Value::TimestampTz(value) | Value::Time(value) => self.push_i64(*value),
            Value::Interval(value) => self.extend(&value.ordered()),
            Value::Float4(value) => self.push_float(f64::from(*value)),
            Value::Float8(value) => self.push_float(*value),
            Value::Numeric(value) => self.push_numeric(value),
            Value::Text(text) if matches!(ty, Type::Char(_)) => self.push_string(text.trim_end_matches(' ').as_bytes()),
            Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => self.push_string(text.as_bytes()),
            Value::Bytea(bytes) => self.push_string(bytes),
            Value::Uuid(bytes) => self.extend(bytes),
            Value::Array(array) => {
                let element = array.element().ty();
                for value in array {
                    self.extend(&[if value.is_null() { 2 } else { 1 }]);
                    if !value.is_null() {
                        self.push(element, false, &value);
                    }
                }
                self.extend(&[0]);
            }
        }
    }

    /// Appends the bytes of a finished key, as a suffix that distinguishes entries with equal columns.
    pub fn push_key(&mut self, key: &Key) {
        match key {
            Key::Int(int) => self.push_i64(*int),
            Key::Bytes(inline) => self.extend(inline.as_slice()),
            Key::Long(bytes) => self.extend(bytes),
        }
    }

    /// Returns the key that was built.
    pub fn finish(self) -> Key {
        if self.long.is_empty() { Key::Bytes(self.inline) } else { Key::Long(self.long.into_boxed_slice()) }
    }

    /// Appends an integer in the width of the column's type `ty`, whatever the type of the value is.
    fn push_int(&mut self, ty: Type, value: i64) {
        match ty {
            Type::Int2 => self.extend(&((value as u16) ^ 1 << 15).to_be_bytes()),
            Type::Int4 | Type::Oid | Type::Reg(_) | Type::Enum(_) => self.extend(&ordered_int4(value as i32)),
            _ => self.push_i64(value),
        }
    }

    fn push_i64(&mut self, value: i64) {
        self.extend(&((value as u64) ^ 1 << 63).to_be_bytes());
    }

    fn push_float(&mut self, value: f64) {
        let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
        let bits = canonical.to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        self.extend(&ordered.to_be_bytes());
    }

    /// Appends a number: its kind, and for a number other than zero the power of ten before its first digit, and its
    /// digits. Those of a negative number are inverted, so that greater ones come first.
    fn push_numeric(&mut self, value: &Numeric) {
        let Some(Significant { negative, digits, exponent }) = value.significant() else {
            return self.extend(&[match value.sign() {
                0 => number::NAN,
                ..0 => number::NEGATIVE_INFINITY,
                _ => number::INFINITY,
            }]);
        };
        if digits.is_empty() {
            return self.extend(&[number::ZERO]);
        }
        let flip = if negative { 0xFF } else { 0 };
        self.extend(&[if negative { number::NEGATIVE } else { number::POSITIVE }]);
        match exponent {
            number::SHORT_MIN..=number::SHORT_MAX => self.extend(&[(exponent + number::SHORT_ZERO) as u8 ^ flip]),
            _ => {
                let beyond = if exponent > 0 { number::ABOVE } else { number::BELOW };
                self.extend(&[beyond ^ flip]);
                self.extend(&(exponent as u32 ^ 1 << 31).to_be_bytes().map(|byte| byte ^ flip));
            }
        }
        for digit in digits.bytes() {
            self.extend(&[(digit - b'0' + 1) ^ flip]);
        }
        self.extend(&[flip]);
    }

    fn push_string(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(zero) = rest.iter().position(|&byte| byte == 0) {
            self.extend(&rest[..zero]);
            self.extend(&[0, 0xFF]);
            rest = &rest[zero + 1..];
        }
        self.extend(rest);
        self.extend(&[0, 0]);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let len = usize::from(self.inline.len);
        if self.long.is_empty() && len + bytes.len() <= Key::INLINE {
            self.inline.bytes[len..len + bytes.len()].copy_from_slice(bytes);
            self.inline.len += bytes.len() as u8;
            return;
        }
        if self.long.is_empty() {
            self.long.extend_from_slice(self.inline.as_slice());
        }
        self.long.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, RowLayout};
    use std::sync::Arc;

    fn check_order(ty: Type, ascending: &[Value<'static>]) {
        let column = [Column::nullable("c", ty)];
        let spec = KeySpec::new(&column, &[0]);
        let keys: Vec<Key> = ascending.iter().map(|value| spec.key([value.clone()])).collect();
        for (position, pair) in keys.windows(2).enumerate() {
            assert!(pair[0] < pair[1], "{:?} must come before {:?}", ascending[position], ascending[position + 1]);
        }
    }

    #[test]
    fn keys_are_ordered_as_their_values() {
        let decimal = |text: &str| Value::Numeric(text.parse().expect("a decimal"));
        check_order(Type::Int2, &[Value::Int2(i16::MIN), Value::Int2(-1), Value::Int2(0), Value::Int2(7), Value::Null]);
        check_order(Type::Int4, &[Value::Int4(i32::MIN), Value::Int4(-1), Value::Int4(i32::MAX), Value::Null]);
        check_order(Type::Int8, &[Value::Int8(i64::MIN), Value::Int8(-256), Value::Int8(255), Value::Int8(i64::MAX)]);
        check_order(Type::Date, &[Value::Date(-1), Value::Date(0), Value::Date(1)]);
        let floats = [f64::NEG_INFINITY, -1.5, -1e-300, 0.0, 1e-300, 2.5, f64::INFINITY, f64::NAN];
        check_order(Type::Float8, &floats.map(Value::Float8));
        let texts = ["", "a", "a\0", "a\0b", "a\u{1}", "ab", "b", "long enough to leave the inline bytes"];
        check_order(Type::Text, &texts.map(Value::text));
        let decimals = [
            "-Infinity",
            "-1e1000",
            "-1e101",
            "-1e100",
            "-100.5",
            "-100.4",
            "-20",
            "-0.5",
            "-0.05",
            "-1e-101",
            "-2e-1000",
            "-1e-1000",
            "0",
            "1e-16000",
            "1e-102",
            "1e-101",
            "0.001",
            "0.01",
            "0.1",
            "0.11",
            "9",
            "10",
            "99.9",
            "1e100",
            "1e101",
            "1e102",
            "1e131071",
            "Infinity",
            "NaN",
        ];
        check_order(Type::Numeric(None), &decimals.map(decimal));
    }

    #[test]
    fn equal_values_make_equal_keys() {
        let spec = KeySpec::new(&[Column::new("c", Type::Numeric(None))], &[0]);
        let key = |text: &str| spec.key([Value::Numeric(text.parse().expect("a decimal"))]);
        assert_eq!(key("1.50"), key("1.5"));
        let spec = KeySpec::new(&[Column::new("w", Type::Int4), Column::new("d", Type::Int4)], &[0, 1]);
        let values = [Value::Int4(-7), Value::Int4(9)];
        let columns = [Column::new("w", Type::Int4), Column::new("d", Type::Int4)];
        let row = Row::from_values(&Arc::new(RowLayout::new(&columns)), &values);
        assert_eq!(spec.key_of(row.as_ref()), Key::int4s([-7, 9]));
        assert_eq!(spec.key(values), Key::int4s([-7, 9]));
        let spec = KeySpec::new(&[Column::new("c", Type::Char(4))], &[0]);
        assert_eq!(spec.key([Value::text("ab  ")]), spec.key([Value::text("ab")]));
        assert_eq!(spec.key([Value::text("ab  ")]).hash64(), spec.key([Value::text("ab")]).hash64());
    }

    #[test]
    fn keys_of_fixed_size_columns_have_one_length() {
        let interval = Value::Interval(Interval { months: 1, days: 2, micros: 3 });
        let values = [
            (Type::Bool, Value::Bool(true)),
            (Type::Int2, Value::Int2(-1)),
            (Type::Int4, Value::Int4(i32::MAX)),
            (Type::Oid, Value::Int4(7)),
            (Type::Int8, Value::Int8(i64::MIN)),
            (Type::Float4, Value::Float4(1.5)),
            (Type::Float8, Value::Float8(-1.5)),
            (Type::Date, Value::Date(1)),
            (Type::TIMESTAMP, Value::Timestamp(1)),
            (Type::TIMESTAMP_TZ, Value::TimestampTz(1)),
            (Type::TIME, Value::Time(1)),
            (Type::INTERVAL, interval),
            (Type::Uuid, Value::Uuid([9; 16])),
        ];
        for (ty, value) in &values {
            let columns = [Column::new("a", *ty), Column::new("b", *ty), Column::nullable("c", *ty)];
            for positions in [&[0][..], &[0, 1]] {
                let spec = KeySpec::bytes(&columns, positions);
                let key = spec.key(positions.iter().map(|_| value.clone()));
                assert_eq!(spec.shape(), KeyShape::Fixed(key.bytes().map_or(0, <[u8]>::len)), "{ty:?}");
            }
            assert_eq!(KeySpec::new(&columns, &[0]).shape() == KeyShape::Int, ty.is_integer(), "{ty:?}");
            assert_eq!(KeySpec::new(&columns, &[0, 2]).shape(), KeyShape::Bytes, "{ty:?}");
        }
        for ty in [Type::Numeric(None), Type::Text, Type::Char(2), Type::Bytea, Type::Name] {
            assert_eq!(KeySpec::new(&[Column::new("a", ty)], &[0]).shape(), KeyShape::Bytes, "{ty:?}");
        }
        assert_eq!(KeyShape::Fixed(5).followed_by(KeyShape::Int), KeyShape::Fixed(13));
        assert_eq!(KeyShape::Fixed(5).followed_by(KeyShape::Fixed(4)), KeyShape::Fixed(9));
        assert_eq!(KeyShape::Fixed(5).followed_by(KeyShape::Bytes), KeyShape::Bytes);
    }

    #[test]
    fn words_of_an_inline_key_give_it_back() {
        for bytes in [&b""[..], b"\0", b"ab\0", &[0xFF; 8], &[7; 9], &[0xFF; 24]] {
            let Key::Bytes(inline) = Key::from_bytes(bytes) else { panic!("up to {} bytes", Key::INLINE) };
            assert_eq!(InlineKey::from_words(inline.words(), inline.len()).as_slice(), bytes);
        }
    }

    #[test]
    fn a_prefix_ends_before_the_next_key_without_it() {
        let key = |bytes: &[u8]| Key::from_bytes(bytes);
        assert_eq!(key(&[1, 2]).prefix_end(), Some(key(&[1, 3])));
        assert_eq!(key(&[1, 0xFF]).prefix_end(), Some(key(&[2])));
        assert_eq!(key(&[0xFF, 0xFF]).prefix_end(), None);
        assert!(key(&[1, 2, 9]).starts_with(&key(&[1, 2])));
        assert!(!key(&[1, 3]).starts_with(&key(&[1, 2])));
    }
}
