//! Arrays: sequences of values of one type, as bytes in the form that a row holds.
//!
//! The bytes are a tag of the elements' type, the number of elements (four bytes, little-endian), and the elements: a
//! zero byte for NULL, otherwise a one and the value; a string has its length before it (four bytes). A `numeric` has
//! its form of 16 bytes, or 16 bytes that begin with `FF` and then its longer form as a string.

use crate::{Digits, EnumId, Interval, Precision, Type, Value};
use hotrow_numeric::{FIXED_BYTES, Numeric};
use std::borrow::Cow;

/// The first byte of the 16 bytes that stand before a number with a longer form.
const LONG_NUMBER: u8 = 0xFF;

/// The type of an array's elements: any type that is not an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`
    Numeric(Option<Precision>),
    /// `char(n)`
    Char(u32),
    /// `varchar(n)`
    Varchar(Option<u32>),
    /// `text`
    Text,
    /// `name`
    Name,
    /// `oid`
    Oid,
    /// An enumerated type
    Enum(EnumId),
    /// `json`
    Json,
    /// `jsonb`
    Jsonb,
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `timestamp`
    Timestamp(Option<Digits>),
    /// `timestamp with time zone`
    TimestampTz(Option<Digits>),
    /// `time`
    Time(Option<Digits>),
    /// `interval`
    Interval(Option<Digits>),
    /// `uuid`
    Uuid,
    /// `smallint`, in an `int2vector`: an array whose elements are counted from zero, and which no table column can
    /// have
    Int2Vector,
    /// `oid`, in an `oidvector`: like `int2vector`, but of object numbers
    OidVector,
}

impl Element {
    /// Returns the element type of arrays whose elements have the SQL type `ty`, or `None` if there are no such arrays:
    /// if `ty` is an array itself or a `reg…` type such as `regclass`.
    pub fn of(ty: Type) -> Option<Self> {
        Some(match ty {
            Type::Bool => Element::Bool,
            Type::Int2 => Element::Int2,
            Type::Int4 => Element::Int4,
            Type::Int8 => Element::Int8,
            Type::Float4 => Element::Float4,
            Type::Float8 => Element::Float8,
            Type::Numeric(precision) => Element::Numeric(precision),
            Type::Char(length) => Element::Char(length),
            Type::Varchar(length) => Element::Varchar(length),
            Type::Text => Element::Text,
            Type::Name => Element::Name,
            Type::Oid => Element::Oid,
            Type::Enum(id) => Element::Enum(id),
            Type::Json => Element::Json,
            Type::Jsonb => Element::Jsonb,
            Type::Bytea => Element::Bytea,
            Type::Date => Element::Date,
            Type::Timestamp(digits) => Element::Timestamp(digits),
            Type::TimestampTz(digits) => Element::TimestampTz(digits),
            Type::Time(digits) => Element::Time(digits),
            Type::Interval(digits) => Element::Interval(digits),
            Type::Uuid => Element::Uuid,
            Type::Reg(_) | Type::Array(_) => return None,
        })
    }

    /// Returns the SQL type of an element.
    pub fn ty(self) -> Type {
        match self {
            Element::Bool => Type::Bool,
            Element::Int2 => Type::Int2,
            Element::Int4 => Type::Int4,
            Element::Int8 => Type::Int8,
            Element::Float4 => Type::Float4,
            Element::Float8 => Type::Float8,
            Element::Numeric(precision) => Type::Numeric(precision),
            Element::Char(length) => Type::Char(length),
            Element::Varchar(length) => Type::Varchar(length),
            Element::Text => Type::Text,
            Element::Name => Type::Name,
            Element::Oid => Type::Oid,
            Element::Enum(id) => Type::Enum(id),
            Element::Json => Type::Json,
            Element::Jsonb => Type::Jsonb,
            Element::Bytea => Type::Bytea,
            Element::Date => Type::Date,
            Element::Timestamp(digits) => Type::Timestamp(digits),
            Element::TimestampTz(digits) => Type::TimestampTz(digits),
            Element::Time(digits) => Type::Time(digits),
            Element::Interval(digits) => Type::Interval(digits),
            Element::Uuid => Type::Uuid,
            Element::Int2Vector => Type::Int2,
            Element::OidVector => Type::Oid,
        }
    }

    /// Returns the subscript of the first element of an array with this element type: zero for `int2vector` and
    /// `oidvector`, one for every other array.
    pub fn first_index(self) -> i32 {
        i32::from(!self.is_vector())
    }

    /// Whether arrays with this element type are of the SQL type `int2vector` or `oidvector`.
    pub fn is_vector(self) -> bool {
        matches!(self, Element::Int2Vector | Element::OidVector)
    }

    fn tag(self) -> u8 {
        match self {
            Element::Char(_) | Element::Varchar(_) | Element::Text | Element::Name => 0,
            Element::Bool => 1,
            Element::Int2 => 2,
            // The bytes have numbers, which mean something only together with the type.
            Element::Int4 | Element::Enum(_) => 3,
            Element::Int8 => 4,
            Element::Float4 => 5,
            Element::Float8 => 6,
            Element::Numeric(_) => 7,
            Element::Bytea => 8,
            Element::Date => 9,
            Element::Timestamp(_) => 10,
            Element::TimestampTz(_) => 11,
            Element::Time(_) => 15,
            Element::Interval(_) => 16,
            Element::Uuid => 12,
            Element::Json => 20,
            Element::Jsonb => 21,
            Element::Oid => 22,
            Element::Int2Vector => 30,
            Element::OidVector => 31,
        }
    }

    fn tagged(tag: u8) -> Self {
        match tag {
            1 => Element::Bool,
            2 => Element::Int2,
            3 => Element::Int4,
            4 => Element::Int8,
            5 => Element::Float4,
            6 => Element::Float8,
            7 => Element::Numeric(None),
            8 => Element::Bytea,
            9 => Element::Date,
            10 => Element::Timestamp(None),
            11 => Element::TimestampTz(None),
            15 => Element::Time(None),
            16 => Element::Interval(None),
            12 => Element::Uuid,
            20 => Element::Json,
            21 => Element::Jsonb,
            22 => Element::Oid,
            30 => Element::Int2Vector,
            31 => Element::OidVector,
            _ => Element::Text,
        }
    }
}

/// A one-dimensional array, borrowed from a row or owned. Subscripts begin at one; in an `int2vector` or `oidvector`,
/// they begin at zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<'a>(Cow<'a, [u8]>);

/// The number of bytes before the elements: the tag, and the number of elements.
const HEAD: usize = 5;

impl<'a> Array<'a> {
    /// Returns the array that has these bytes, in the form that a row holds. An empty byte string is an empty array.
    pub fn from_bytes(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Makes an array of `values`. Each value is of the element type or NULL.
    pub fn new<'v>(element: Element, values: impl IntoIterator<Item = Value<'v>>) -> Array<'static> {
        let mut builder = ArrayBuilder::new(element);
        values.into_iter().for_each(|value| builder.push(&value));
        builder.finish()
    }

    /// Returns the bytes of the array, in the form that a row holds.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the type of the elements, without a length, precision or scale: `char` and `varchar` become `text`, and
    /// an enumerated type becomes `integer`.
    pub fn element(&self) -> Element {
        Element::tagged(self.0.first().copied().unwrap_or_default())
    }

    /// Returns the subscript of the first element: zero for `int2vector` and `oidvector`, one for every other array.
    pub fn first_index(&self) -> i32 {
        self.element().first_index()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.0.get(1..HEAD).map_or(0, |bytes| read_u32(bytes) as usize)
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the elements. Strings are borrowed from the array.
    pub fn iter(&self) -> Elements<'_> {
        let rest = self.0.get(HEAD..).unwrap_or_default();
        Elements { element: self.element(), left: self.len(), rest }
    }

    /// Returns this array as one that borrows nothing. Copies its bytes if they are borrowed.
    pub fn into_owned(self) -> Array<'static> {
        Array(Cow::Owned(self.0.into_owned()))
    }

    /// Returns an array that borrows the bytes of `self`.
    pub fn borrowed(&self) -> Array<'_> {
        Array(Cow::Borrowed(&self.0))
    }
}

impl<'a> IntoIterator for &'a Array<'_> {
    type Item = Value<'a>;
    type IntoIter = Elements<'a>;

    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// An iterator over the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    element: Element,
    left: usize,
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        let (string, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(string)
    }

    fn numeric(&mut self) -> Option<Numeric> {
        let head: [u8; FIXED_BYTES] = self.take()?;
        match head[0] {
            LONG_NUMBER => self.string().map(Numeric::from_bytes),
            _ => Some(Numeric::from_fixed(head)),
        }
    }

    fn value(&mut self) -> Option<Value<'a>> {
        if self.take()? == [0] {
            return Some(Value::Null);
        }
        Some(match self.element {
            Element::Bool => Value::Bool(self.take()? == [1]),
            Element::Int2 | Element::Int2Vector => Value::Int2(i16::from_le_bytes(self.take()?)),
            Element::Int4 | Element::Oid | Element::OidVector | Element::Enum(_) => {
                Value::Int4(i32::from_le_bytes(self.take()?))
            }
            Element::Int8 => Value::Int8(i64::from_le_bytes(self.take()?)),
            Element::Float4 => Value::Float4(f32::from_le_bytes(self.take()?)),
            Element::Float8 => Value::Float8(f64::from_le_bytes(self.take()?)),
            Element::Numeric(_) => Value::Numeric(self.numeric()?),
            Element::Char(_) | Element::Varchar(_) | Element::Text | Element::Name => {
                Value::text(std::str::from_utf8(self.string()?).unwrap_or_default())
            }
            Element::Json => Value::Json(std::str::from_utf8(self.string()?).unwrap_or_default().into()),
            Element::Jsonb => Value::Jsonb(std::str::from_utf8(self.string()?).unwrap_or_default().into()),
            Element::Bytea => Value::Bytea(Cow::Borrowed(self.string()?)),
            Element::Date => Value::Date(i32::from_le_bytes(self.take()?)),
            Element::Timestamp(_) => Value::Timestamp(i64::from_le_bytes(self.take()?)),
            Element::TimestampTz(_) => Value::TimestampTz(i64::from_le_bytes(self.take()?)),
            Element::Time(_) => Value::Time(i64::from_le_bytes(self.take()?)),
            Element::Interval(_) => Value::Interval(Interval::from_bytes(self.take()?)),
            Element::Uuid => Value::Uuid(self.take()?),
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        // An engine without isolation may show bytes that were never an array: the elements end where the bytes do.
        self.value()
    }
}

/// Builds an array, element by element.
#[derive(Clone, Debug)]
pub struct ArrayBuilder {
    bytes: Vec<u8>,
    count: u32,
}

impl ArrayBuilder {
    /// Makes a builder of arrays with this element type.
    pub fn new(element: Element) -> Self {
        Self { bytes: vec![element.tag(), 0, 0, 0, 0], count: 0 }
    }

    /// Returns the number of bytes of the array as built so far.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a value of the elements' type, or NULL.
    ///
    /// # Panics
    /// If the value is an array.
    pub fn push(&mut self, value: &Value<'_>) {
        self.count += 1;
        self.bytes.push(u8::from(!value.is_null()));
        match value {
            Value::Null => {}
            Value::Bool(value) => self.bytes.push(u8::from(*value)),
            Value::Int2(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            Value::Int4(value) | Value::Date(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            Value::Interval(value) => self.bytes.extend_from_slice(&value.to_bytes()),
            Value::Int8(value) | Value::Timestamp(value) | Value::TimestampTz(value) | Value::Time(value) => {
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
            Value::Float4(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            Value::Float8(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            Value::Numeric(value) => self.numeric(value),
            Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => self.string(text.as_bytes()),
            Value::Bytea(bytes) => self.string(bytes),
            Value::Uuid(bytes) => self.bytes.extend_from_slice(bytes),
            Value::Array(_) => panic!("an array has no arrays among its elements"),
        }
    }

    fn numeric(&mut self, value: &Numeric) {
        if let Some(fixed) = value.to_fixed() {
            return self.bytes.extend_from_slice(&fixed);
        }
        let mut head = [0; FIXED_BYTES];
        head[0] = LONG_NUMBER;
        self.bytes.extend_from_slice(&head);
        let mut long = Vec::new();
        value.write_bytes(&mut long);
        self.string(&long);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the array of the values that were pushed.
    pub fn finish(mut self) -> Array<'static> {
        self.bytes[1..HEAD].copy_from_slice(&self.count.to_le_bytes());
        Array(Cow::Owned(self.bytes))
    }
}

fn read_u32(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back() {
        let elements = [
            (Element::Int4, vec![Value::Int4(-1), Value::Null, Value::Int4(i32::MAX)]),
            (Element::Text, vec![Value::text(""), Value::text("å b"), Value::Null]),
            (
                Element::Numeric(None),
                vec![
                    Value::Numeric(Numeric::new(150, 2)),
                    Value::Numeric(Numeric::NAN),
                    Value::Numeric(Numeric::new(i128::MAX, 40)),
                ],
            ),
            (Element::Bytea, vec![Value::Bytea(vec![0, 255].into())]),
            (Element::Uuid, vec![Value::Uuid([7; 16])]),
            (Element::Json, vec![Value::Json("[1]".into()), Value::Null]),
            (Element::Jsonb, vec![Value::Jsonb("{}".into())]),
            (Element::Bool, vec![Value::Bool(true), Value::Bool(false)]),
            (Element::Float8, Vec::new()),
        ];
        for (element, values) in elements {
            let array = Array::new(element, values.clone());
            assert_eq!(array.len(), values.len());
            assert_eq!(array.element(), element);
            assert_eq!(array.iter().collect::<Vec<_>>(), values);
            assert_eq!(Array::from_bytes(array.bytes().to_vec()), array);
        }
    }

    #[test]
    fn torn_bytes_end_early() {
        let array = Array::new(Element::Text, [Value::text("one"), Value::text("two")]);
        for end in 0..array.bytes().len() {
            assert!(Array::from_bytes(&array.bytes()[..end]).iter().count() < 2);
        }
    }
}
