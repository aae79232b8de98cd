//! Frames: the records of the log, each with a head before it.
//!
//! ```text
//! CRC-32C of record, rest of the head and salt, 4 | lag, 4 | length of record, 7 | kind, 1 | position, 8 | record
//! ```
//!
//! Integers are little-endian. The *position* is the frame's own. The *salt* is a random number that each opening of
//! the log for writing draws; it is in the header of each segment and not in the frames. So neither bytes that an
//! earlier use of a segment left, nor bytes that were written at this position before a crash and never became part of
//! the log, pass as a frame.
//!
//! The *lag* is the number of bytes before the frame's position that were not known to be durable when the frame was
//! made. A whole frame ends where these bytes begin. So a frame is a witness: if the log has a valid frame, all frames
//! before `position − lag` were durable, and if one of them does not pass now, it is damaged. The greatest lag says
//! nothing.

/// The bytes of a frame before its record.
pub(crate) const HEAD_BYTES: usize = 24;

/// The lag of a frame that knows of nothing durable before it.
const UNKNOWN: u32 = u32::MAX;

/// The kind of a frame with a record of this crate. Logs with other frames will get other kinds.
const RECORD: u8 = 1;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) position: u64,
    /// The number of bytes of the record.
    pub(crate) length: u64,
    /// The position up to which everything was durable when the frame was made, or zero if that was not known.
    pub(crate) durable: u64,
    sum: u32,
}

/// Returns the CRC-32C of a record, from which the sum of its frame is computed.
pub(crate) fn record_sum(record: &[u8]) -> u32 {
    crc32c::crc32c(record)
}

fn frame_sum(record_sum: u32, head: &[u8], salt: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(record_sum, &head[4..HEAD_BYTES]), &salt.to_le_bytes())
}

/// Writes the head of a frame into the first bytes of `frame`, whose other bytes are the record. The record has this
/// [sum](record_sum). Everything before `durable` is durable.
pub(crate) fn seal(frame: &mut [u8], record_sum: u32, position: u64, durable: u64, salt: u64) {
    let length = (frame.len() - HEAD_BYTES) as u64;
    let lag = u32::try_from(position.saturating_sub(durable)).unwrap_or(UNKNOWN);
    frame[4..8].copy_from_slice(&lag.to_le_bytes());
    frame[8..16].copy_from_slice(&(length | u64::from(RECORD) << 56).to_le_bytes());
    frame[16..24].copy_from_slice(&position.to_le_bytes());
    let sum = frame_sum(record_sum, frame, salt);
    frame[..4].copy_from_slice(&sum.to_le_bytes());
}

/// Whether the bytes may be the head of a frame at this position: a quick check, before the sum.
pub(crate) fn may_begin(bytes: &[u8], position: u64) -> bool {
    bytes.len() >= HEAD_BYTES && bytes[16..24] == position.to_le_bytes() && bytes[15] == RECORD
}

impl Head {
    /// Reads the head of the frame at a position, or returns `None` if the bytes are no head of that position. The sum
    /// is not checked.
    pub(crate) fn read(bytes: &[u8], position: u64) -> Option<Self> {
        if !may_begin(bytes, position) {
            return None;
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let length = u64::from_le_bytes(bytes[8..16].try_into().ok()?) & (u64::MAX >> 8);
        let lag = word(4);
        let durable = if lag == UNKNOWN { 0 } else { position.saturating_sub(u64::from(lag)) };
        Some(Self { position, length, durable, sum: word(0) })
    }

    /// Returns the position after the frame, or `None` if it does not fit into 64 bits.
    pub(crate) fn end(&self) -> Option<u64> {
        self.position.checked_add(HEAD_BYTES as u64)?.checked_add(self.length)
    }

    /// Whether the sum of a whole frame, which begins with this head, is right.
    pub(crate) fn passes(&self, frame: &[u8], salt: u64) -> bool {
        frame_sum(record_sum(&frame[HEAD_BYTES..]), frame, salt) == self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(record: &[u8], position: u64, durable: u64, salt: u64) -> Vec<u8> {
        let mut frame = [&[0; HEAD_BYTES][..], record].concat();
        seal(&mut frame, record_sum(record), position, durable, salt);
        frame
    }

    fn passes(frame: &[u8], position: u64, salt: u64) -> bool {
        Head::read(frame, position)
            .is_some_and(|head| head.end() == Some(position + frame.len() as u64) && head.passes(frame, salt))
    }

    #[test]
    fn a_frame_passes_at_its_position_with_its_salt_and_nowhere_else() {
        for record in [&b""[..], b"x", b"a longer record"] {
            let frame = sealed(record, 1 << 40, 1 << 39, 77);
            assert!(passes(&frame, 1 << 40, 77));
            assert!(!passes(&frame, (1 << 40) + 1, 77));
            assert!(!passes(&frame, 1 << 40, 78));
            for bit in 0..frame.len() * 8 {
                let mut damaged = frame.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(!passes(&damaged, 1 << 40, 77), "bit {bit} of {record:?}");
            }
        }
        assert!(!passes(&[0; 100], 0, 0), "zeros are no frame");
    }

    #[test]
    fn a_frame_knows_what_was_durable_before_it() {
        for (position, durable, known) in [
            (500, 500, 500),
            (500, 40, 40),
            (500, 600, 500),
            (1 << 33, 1 << 32, 0),
            ((1 << 33) + 5, 1 << 33, 1 << 33),
            (u64::from(u32::MAX) + 9, 10, 10),
            (u64::from(u32::MAX) + 9, 9, 0),
        ] {
            let head = Head::read(&sealed(b"r", position, durable, 3), position).expect("a head");
            assert_eq!(head.durable, known, "{position} {durable}");
        }
    }
}
