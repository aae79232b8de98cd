//! Decodes a key back into the values that it was made of.

use super::{Key, KeySpec, number};
use crate::{ArrayBuilder, Interval, Type, Value};
use hotrow_numeric::{Numeric, Significant};

impl KeySpec {
    /// Returns the values of a key that this rule made, for people. The key may be a prefix: then these are the values
    /// of its leading columns. Bytes after the last column are ignored. Trailing blanks of `char` and zeros of
    /// `numeric` are lost, since keys are equal without them. Returns `None` if the key does not have the shape of this
    /// rule.
    pub fn values(&self, key: &Key) -> Option<Vec<Value<'static>>> {
        let Some(bytes) = key.bytes() else {
            let Key::Int(int) = key else { return None };
            return Some(vec![integer(self.parts.first()?.ty, *int)?]);
        };
        let mut rest = Bytes(bytes);
        let mut values = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            if rest.0.is_empty() {
                break;
            }
            let is_null = part.nullable && rest.take::<1>()? == [1];
            values.push(if is_null { Value::Null } else { rest.value(part.ty)? });
        }
        Some(values)
    }
}

/// The bytes of a key that are still to be read.
struct Bytes<'k>(&'k [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn value(&mut self, ty: Type) -> Option<Value<'static>> {
        Some(match ty {
            Type::Bool => Value::Bool(self.take::<1>()? == [1]),
            Type::Int2 => Value::Int2((u16::from_be_bytes(self.take()?) ^ 1 << 15) as i16),
            Type::Int4 | Type::Oid | Type::Reg(_) | Type::Enum(_) => Value::Int4(self.int4()?),
            Type::Int8 => Value::Int8(self.int8()?),
            Type::Float4 => Value::Float4(self.float()? as f32),
            Type::Float8 => Value::Float8(self.float()?),
            Type::Numeric(_) => Value::Numeric(self.numeric()?),
            Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name => {
                Value::Text(String::from_utf8(self.string()?).ok()?.into())
            }
            Type::Json => Value::Json(String::from_utf8(self.string()?).ok()?.into()),
            Type::Jsonb => Value::Jsonb(String::from_utf8(self.string()?).ok()?.into()),
            Type::Bytea => Value::Bytea(self.string()?.into()),
            Type::Date => Value::Date(self.int4()?),
            Type::Timestamp(_) => Value::Timestamp(self.int8()?),
            Type::TimestampTz(_) => Value::TimestampTz(self.int8()?),
            Type::Time(_) => Value::Time(self.int8()?),
            Type::Interval(_) => Value::Interval(Interval::from_ordered(self.take()?)?),
            Type::Uuid => Value::Uuid(self.take()?),
            Type::Array(element) => {
                let mut elements = ArrayBuilder::new(element);
                loop {
                    elements.push(&match self.take()? {
                        [0] => return Some(Value::Array(elements.finish())),
                        [1] => self.value(element.ty())?,
                        _ => Value::Null,
                    });
                }
            }
        })
    }

    fn int4(&mut self) -> Option<i32> {
        Some((u32::from_be_bytes(self.take()?) ^ 1 << 31) as i32)
    }

    fn int8(&mut self) -> Option<i64> {
        Some((u64::from_be_bytes(self.take()?) ^ 1 << 63) as i64)
    }

    fn float(&mut self) -> Option<f64> {
        let ordered = u64::from_be_bytes(self.take()?);
        Some(f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered }))
    }

    fn numeric(&mut self) -> Option<Numeric> {
        let [kind] = self.take()?;
        let negative = match kind {
            number::NEGATIVE_INFINITY => return Some(Numeric::NEGATIVE_INFINITY),
            number::ZERO => return Some(Numeric::ZERO),
            number::INFINITY => return Some(Numeric::INFINITY),
            number::NAN => return Some(Numeric::NAN),
            kind => kind == number::NEGATIVE,
        };
        let flip = if negative { 0xFF } else { 0 };
        let [short] = self.take()?;
        let exponent = match short ^ flip {
            number::ABOVE | number::BELOW => {
                (u32::from_be_bytes(self.take::<4>()?.map(|byte| byte ^ flip)) ^ 1 << 31) as i32
            }
            short => i32::from(short) - number::SHORT_ZERO,
        };
        let end = self.0.iter().position(|&byte| byte == flip)?;
        let (digits, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        let digits = digits.iter().map(|&byte| char::from((byte ^ flip).wrapping_sub(1).wrapping_add(b'0'))).collect();
        Numeric::from_significant(&Significant { negative, digits, exponent }).ok()
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        let mut string = Vec::new();
        loop {
            let zero = self.0.iter().position(|&byte| byte == 0)?;
            string.extend_from_slice(&self.0[..zero]);
            self.0 = &self.0[zero + 1..];
            match self.take()? {
                [0] => return Some(string),
                _ => string.push(0),
            }
        }
    }
}

fn integer(ty: Type, int: i64) -> Option<Value<'static>> {
    Some(match ty {
        Type::Int2 => Value::Int2(i16::try_from(int).ok()?),
        Type::Int4 => Value::Int4(i32::try_from(int).ok()?),
        _ => Value::Int8(int),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array, Column, Element};

    #[test]
    fn values_come_back_from_their_keys() {
        let decimal = |text: &str| Value::Numeric(text.parse().expect("a decimal"));
        let cases = [
            (Type::Bool, vec![Value::Bool(false), Value::Bool(true)]),
            (Type::Int2, [i16::MIN, -1, 0, i16::MAX].map(Value::Int2).to_vec()),
            (Type::Int4, [i32::MIN, -1, 0, i32::MAX].map(Value::Int4).to_vec()),
            (Type::Oid, [0, i32::MAX].map(Value::Int4).to_vec()),
            (Type::Name, ["", "a"].map(Value::text).to_vec()),
            (Type::Int8, [i64::MIN, -1, 0, i64::MAX].map(Value::Int8).to_vec()),
            (Type::Float4, [-1.5, 0.0, 3.25, f32::INFINITY].map(Value::Float4).to_vec()),
            (Type::Float8, [-1e300, -0.1, 0.0, 1e-300].map(Value::Float8).to_vec()),
            (
                Type::Numeric(None),
                ["-Infinity", "-1e-300", "-100.5", "-20", "-0.05", "0", "0.001", "9", "10", "12345.678", "1e99", "NaN"]
                    .map(decimal)
                    .to_vec(),
            ),
            (Type::Text, ["", "a", "a\0b\0", "ü", "long enough to leave the inline bytes"].map(Value::text).to_vec()),
            (Type::Bytea, vec![Value::Bytea(vec![0, 0xFF, 0, 0].into())]),
            (Type::Date, vec![Value::Date(-1), Value::Date(8000)]),
            (Type::TIMESTAMP, vec![Value::Timestamp(-5)]),
            (Type::TIMESTAMP_TZ, vec![Value::TimestampTz(5)]),
            (Type::TIME, vec![Value::Time(86_400_000_000)]),
            (Type::INTERVAL, vec![Value::Interval(Interval { months: -14, days: -3, micros: -5 })]),
            (Type::Uuid, vec![Value::Uuid([7; 16])]),
            (
                Type::Array(Element::Int4),
                vec![
                    Value::Array(Array::new(Element::Int4, [])),
                    Value::Array(Array::new(Element::Int4, [Value::Int4(-1)])),
                    Value::Array(Array::new(Element::Int4, [Value::Int4(-1), Value::Int4(0)])),
                    Value::Array(Array::new(Element::Int4, [Value::Int4(-1), Value::Null])),
                ],
            ),
        ];
        for (ty, values) in cases {
            for spec in [Column::new("c", ty), Column::nullable("c", ty)].map(|column| KeySpec::new(&[column], &[0])) {
                for value in &values {
                    assert_eq!(spec.values(&spec.key([value.clone()])), Some(vec![value.clone()]), "{ty:?}");
                }
            }
        }
    }

    #[test]
    fn of_several_columns_those_come_back_that_are_there() {
        let columns = [Column::nullable("a", Type::Int4), Column::new("b", Type::Text)];
        let spec = KeySpec::bytes(&columns, &[0, 1]);
        let both = [Value::Null, Value::text("x")];
        let mut longer = crate::KeyBuilder::default();
        longer.push_key(&spec.key(both.clone()));
        longer.push_key(&Key::Int(3));
        assert_eq!(spec.values(&longer.finish()), Some(both.to_vec()), "whatever follows");
        assert_eq!(spec.values(&spec.key([Value::Int4(4)])), Some(vec![Value::Int4(4)]));
        assert_eq!(spec.values(&Key::from_bytes(&[0, 1])), None, "not a key of these columns");
    }
}
