//! Integers and strings as bytes, in records and in the files of checkpoints.
//!
//! Integers are little-endian. A *varint* takes seven bits a byte, the lowest first; all its bytes but the last have
//! the highest bit set. A string has its length in bytes before it, as a varint.

/// Appends an integer as a varint: one byte below 128, ten bytes at most.
pub(crate) fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a signed integer as a varint that is short if the integer is near zero.
pub(crate) fn push_signed(bytes: &mut Vec<u8>, value: i64) {
    push_varint(bytes, (value << 1 ^ value >> 63) as u64);
}

/// Appends a string: its length in bytes as a varint, then its bytes.
pub(crate) fn push_string(bytes: &mut Vec<u8>, string: &[u8]) {
    push_varint(bytes, string.len() as u64);
    bytes.extend_from_slice(string);
}

/// Bytes that are still to be read. Each method that reads returns `None` if the bytes end too early or do not have the
/// form that it expects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    /// Whether all bytes have been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads one byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Reads `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a varint.
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a varint that fits into 32 bits.
    pub(crate) fn varint32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    /// Reads a varint that fits into `usize`: a length, a count or a place in memory.
    pub(crate) fn size(&mut self) -> Option<usize> {
        self.varint()?.try_into().ok()
    }

    /// Reads a signed integer.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a string of any bytes.
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.size()?;
        self.take(length)
    }

    /// Reads a string that is UTF-8.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.string()?).ok()
    }

    /// Reads an integer of eight bytes.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back_in_as_few_bytes_as_they_need() {
        for (value, length) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (1 << 63, 10), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            assert_eq!(bytes.len(), length, "{value}");
            let mut input = Input(&bytes);
            assert_eq!(input.varint(), Some(value));
            assert!(input.is_empty());
            assert_eq!(Input(&bytes[..length - 1]).varint(), None, "{value} without its end");
        }
        for value in [0, -1, 1, 63, -64, i64::MIN, i64::MAX] {
            let mut bytes = Vec::new();
            push_signed(&mut bytes, value);
            assert_eq!(Input(&bytes).signed(), Some(value));
        }
    }

    #[test]
    fn integers_that_are_too_great_are_refused() {
        assert_eq!(Input(&[0xFF; 12]).varint(), None);
        assert_eq!(Input(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]).varint(), None);
        let mut bytes = Vec::new();
        push_varint(&mut bytes, 1 << 32);
        assert_eq!(Input(&bytes).varint32(), None);
    }
}
