//! The ids of transactions: a slot, and how many transactions ran in that slot before.

/// The number of bits of an id that hold the slot's number.
pub(super) const SLOT_BITS: u32 = if cfg!(any(loom, shuttle)) { 4 } else { 16 };

/// The bound below which the numbers of a slot's transactions stay. So no id has all bits set: in an End word that
/// value stands for no transaction.
pub(super) const SEQUENCES: u64 = (1 << (TxnId::BITS - SLOT_BITS)) - 1;

/// A transaction's id: its slot, and its number in that slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TxnId(pub u64);

impl TxnId {
    /// The number of bits of an id.
    pub const BITS: u32 = 54;

    pub const NONE: TxnId = TxnId(0);

    pub fn slot(self) -> SlotNumber {
        SlotNumber((self.0 & ((1 << SLOT_BITS) - 1)) as u32)
    }

    pub fn sequence(self) -> u64 {
        self.0 >> SLOT_BITS
    }

    /// Returns the id of the next transaction in the same slot, or `None` if the slot is used up.
    pub fn next(self) -> Option<Self> {
        (self.sequence() + 1 < SEQUENCES).then_some(TxnId(self.0 + (1 << SLOT_BITS)))
    }
}

/// A slot's place in the table of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotNumber(pub u32);

impl SlotNumber {
    pub const FIRST: SlotNumber = SlotNumber(0);
}
