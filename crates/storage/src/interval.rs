//! Spans of time as SQL has them: months, days and microseconds. On the calendar, none of these units is a fixed number
//! of another.

/// A value of type `interval`, 16 bytes.
///
/// Two intervals that are equal as Rust values (`==`) have the same three fields. SQL compares the
/// [length](Self::length), in which a month has 30 days and a day 24 hours. So intervals with different fields can be
/// equal to SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The number of months; a year has twelve.
    pub months: i32,
    /// The number of days, in addition to the months.
    pub days: i32,
    /// The number of microseconds, in addition to the months and days.
    pub micros: i64,
}

/// The number of microseconds of a day of 24 hours.
const DAY: i128 = 86_400_000_000;

/// The number that is added to a length in a key. It exceeds the magnitude of every length, so every sum is positive,
/// and the order of its bytes is the order of the lengths.
const SHIFT: i128 = 1 << 95;

impl Interval {
    /// The number of bytes that an interval takes in a key.
    pub(crate) const KEY_BYTES: usize = 12;

    /// Makes an interval of `micros` microseconds, without months and days.
    pub const fn of_micros(micros: i64) -> Self {
        Self { months: 0, days: 0, micros }
    }

    /// Returns the length in microseconds, where a month has 30 days and a day 24 hours. SQL compares intervals by it.
    pub fn length(&self) -> i128 {
        (i128::from(self.months) * 30 + i128::from(self.days)) * DAY + i128::from(self.micros)
    }

    /// Returns the bytes that a row holds for the interval: the three fields, little-endian.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.micros.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.days.to_le_bytes());
        bytes[12..].copy_from_slice(&self.months.to_le_bytes());
        bytes
    }

    /// Returns the interval that has [these bytes](Self::to_bytes).
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [micros @ .., d0, d1, d2, d3, m0, m1, m2, m3] = bytes;
        Self {
            months: i32::from_le_bytes([m0, m1, m2, m3]),
            days: i32::from_le_bytes([d0, d1, d2, d3]),
            micros: i64::from_le_bytes(micros),
        }
    }

    /// Returns the length as twelve bytes whose order is the order of the lengths.
    pub(crate) fn ordered(&self) -> [u8; Self::KEY_BYTES] {
        let [_, _, _, _, ordered @ ..] = (self.length() + SHIFT).to_be_bytes();
        ordered
    }

    /// Returns an interval, in days and microseconds, whose length has [these bytes](Self::ordered); `None` if no
    /// interval is that long.
    pub(crate) fn from_ordered(ordered: [u8; Self::KEY_BYTES]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes[4..].copy_from_slice(&ordered);
        let length = i128::from_be_bytes(bytes) - SHIFT;
        let (months, rest) = (length / (30 * DAY), length % (30 * DAY));
        Some(Self { months: months.try_into().ok()?, days: (rest / DAY) as i32, micros: (rest % DAY) as i64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_are_in_the_order_of_lengths() {
        let ends = [i32::MIN, -31, -1, 0, 1, 30, i32::MAX];
        let mut all = Vec::new();
        for months in ends {
            for days in ends {
                for micros in [i64::MIN, -86_400_000_000, -1, 0, 1, i64::MAX] {
                    all.push(Interval { months, days, micros });
                }
            }
        }
        for interval in &all {
            assert_eq!(Interval::from_bytes(interval.to_bytes()), *interval);
            if let Some(back) = Interval::from_ordered(interval.ordered()) {
                assert_eq!(back.length(), interval.length());
            }
        }
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            assert_eq!(one.length().cmp(&other.length()), one.ordered().cmp(&other.ordered()), "{one:?} {other:?}");
        }
        let month = Interval { months: 1, ..Interval::default() };
        assert_eq!(month.length(), Interval { days: 30, ..Interval::default() }.length());
        assert_eq!(Interval::from_ordered(month.ordered()), Some(month));
    }
}
