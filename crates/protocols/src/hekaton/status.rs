//! The status word of a transaction: how far it has come (§2.4).

use super::clock::Timestamp;
use super::wait_for::WaitFor;

/// The state of a transaction, as other transactions see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The transaction reads and writes. Its end timestamp will be later than any that was drawn.
    Active,
    /// The transaction has its end timestamp, but may still abort.
    Preparing(Timestamp),
    /// The transaction has committed and is writing its end timestamp into its versions.
    Committed(Timestamp),
    /// The transaction has aborted and is unlinking its versions.
    Aborted,
    /// The transaction is over. The words of its versions do not name it any more.
    Gone,
}

/// A decoded status word: its highest three bits tell the variant, and the lower bits are a timestamp or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Over,
    /// The transaction is active. The word has the counter of transactions that it waits for, so that one exchange
    /// starts the precommit if that counter is zero.
    Active(WaitFor),
    /// The transaction is about to draw its end timestamp. The word has the transaction's number, so that a late
    /// transaction cannot give a timestamp to the next transaction of the slot.
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
