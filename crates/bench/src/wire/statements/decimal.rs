//! Decimals, for which the driver has no type of its own.

use bytes::BytesMut;
use hotrow_sql::types::{decode_binary, encode_binary};
use hotrow_storage::{Numeric, Type as ColumnType, Value};
use std::error::Error;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// A decimal with `SCALE` digits after the point, as a whole number of its least units: cents if `SCALE` is two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed<const SCALE: u32>(pub i64);

/// An amount of money, in cents.
pub(super) type Cents = Fixed<2>;

impl<const SCALE: u32> ToSql for Fixed<SCALE> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        encode_binary(&Value::Numeric(Numeric::new(self.0, SCALE)), ColumnType::Numeric(None), out);
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl<'a, const SCALE: u32> FromSql<'a> for Fixed<SCALE> {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let Value::Numeric(sent) = decode_binary(ColumnType::Numeric(None), bytes)? else {
            return Err("it is no decimal".into());
        };
        let units = sent.to_decimal().and_then(|mut decimal| {
            decimal.rescale(SCALE);
            i64::try_from(decimal.mantissa()).ok()
        });
        match units {
            Some(units) if Numeric::new(units, SCALE) == sent => Ok(Self(units)),
            _ => Err(format!("{sent} is not a decimal with {SCALE} digits after the point").into()),
        }
    }

    accepts!(NUMERIC);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_and_nothing_is_rounded() {
        for cents in [0, 1, -1, 99, 100, 12_345, 1_000_000, -123_456_789, 9_999_999_999] {
            let mut bytes = BytesMut::new();
            assert!(matches!(Fixed::<2>(cents).to_sql(&Type::NUMERIC, &mut bytes), Ok(IsNull::No)));
            assert_eq!(Fixed::<2>::from_sql(&Type::NUMERIC, &bytes).ok(), Some(Fixed(cents)), "{cents}");
            assert_eq!(Fixed::<4>::from_sql(&Type::NUMERIC, &bytes).ok(), Some(Fixed(cents * 100)), "{cents}");
            let whole = Fixed::<0>::from_sql(&Type::NUMERIC, &bytes);
            assert_eq!(whole.ok(), (cents % 100 == 0).then_some(Fixed(cents / 100)), "{cents}");
        }
        assert!(Fixed::<2>::from_sql(&Type::NUMERIC, &[1, 2]).is_err());
    }
}
