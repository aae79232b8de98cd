//! The status word of a transaction: how far it has come (§2.4).

use super::clock::Timestamp;
use super::wait_for::WaitFor;

/// How far another transaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It reads and writes. Its end timestamp will be later than any that was drawn.
    Active,
    /// It has its end timestamp, and may abort yet.
    Preparing(Timestamp),
    /// It has committed; its timestamp is on the way to its versions.
    Committed(Timestamp),
    /// It has aborted; its versions are on the way out.
    Aborted,
    /// It is over, and whatever it left says so without it.
    Gone,
}

/// A status word: what is in its highest three bits, and a timestamp or a number below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Over,
    /// With what it waits for before it wants an end timestamp, so that it is one exchange to want one when that is
    /// nothing.
    Active(WaitFor),
    /// It wants an end timestamp; with the number of the transaction, so that a transaction that is late does not give
    /// one to the next.
    Precommit(u64),
    Preparing(Timestamp),
    Committed(Timestamp),
    Aborted,
}

const STATUS_SHIFT: u32 = 61;

impl Status {
    pub const fn encode(self) -> u64 {
        let (tag, payload) = match self {
            Status::Over => (0, 0),
            Status::Active(wait_for) => (1, wait_for.encode()),
            Status::Precommit(sequence) => (2, sequence),
            Status::Preparing(time) => (3, time.0),
            Status::Committed(time) => (4, time.0),
            Status::Aborted => (5, 0),
        };
        tag << STATUS_SHIFT | payload
    }

    pub const fn decode(word: u64) -> Self {
        let payload = word & ((1 << STATUS_SHIFT) - 1);
        match word >> STATUS_SHIFT {
            0 => Status::Over,
            1 => Status::Active(WaitFor::decode(payload)),
            2 => Status::Precommit(payload),
            3 => Status::Preparing(Timestamp(payload)),
            4 => Status::Committed(Timestamp(payload)),
            _ => Status::Aborted,
        }
    }
}
