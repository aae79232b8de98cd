//! The common parts of the ORTHRUS paper's figures on TPC-C: its tables, its transactions, and its systems.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, PAPER_CORES, threads_of_both_roles};
use crate::reproduce::plan::Series;
use crate::reproduce::scale::Scale;

/// The name of the series of 2PL, whose deadlocks Dreadlocks find.
pub(super) const TWO_PHASE: &str = "2PL (Dreadlocks)";

/// The systems with their engines.
pub(super) const SYSTEMS: [(&str, &str); 3] =
    [(ORTHRUS, "orthrus"), (DEADLOCK_FREE, "2pl-ordered"), (TWO_PHASE, "2pl-dreadlocks")];

/// Returns the series of the systems.
pub(super) fn systems() -> Vec<Series> {
    SYSTEMS.map(|(name, engine)| Series::throughput(name, engine)).to_vec()
}

/// Returns the command for TPC-C's tables. To fit into memory, they have a tenth of the specification's rows.
pub(super) fn tpcc(scale: &Scale, warehouses: u64) -> String {
    let (items, customers) = scale.pick((10_000, 300), (1000, 30), (100, 10));
    format!("tpcc --warehouses {warehouses} --items {items} --customers {customers}")
}

/// Returns the options of the paper's transactions: New-Order and Payment, half and half. A tenth of the one and 15 of
/// 100 of the other are remote, and 60 of 100 payments know the customer by name, as in the specification.
pub(super) fn neworder_payment(threads: u64) -> String {
    format!("--mix neworder-payment {}", threads_of_both_roles(threads))
}

/// Returns the number of warehouses at which so many threads meet as often as the paper's 80 threads at `there`
/// warehouses.
pub(super) fn warehouses(threads: u64, there: u64) -> u64 {
    ((there * threads + PAPER_CORES / 2) / PAPER_CORES).max(1)
}

/// The paper's numbers of warehouses at high and at low contention.
pub(super) const FEW: u64 = 16;
pub(super) const MANY: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_as_many_warehouses_as_in_the_paper() {
        for (threads, few, many) in [(80, 16, 128), (40, 8, 64), (8, 2, 13), (2, 1, 3), (1, 1, 2)] {
            assert_eq!([FEW, MANY].map(|there| warehouses(threads, there)), [few, many], "{threads} threads");
        }
    }
}
