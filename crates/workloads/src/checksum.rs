//! Checksums, which make a transaction read every byte of its rows.

/// Returns the sum of the bytes, taken as words of eight. Every byte is read, which takes a fraction of a nanosecond
/// each.
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut total = 0_u64;
    for word in &mut words {
        total = total.wrapping_add(u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")));
    }
    words.remainder().iter().fold(total, |total, &byte| total.wrapping_add(u64::from(byte)))
}
