//! The kinds of transactions of a workload that has several.

use super::side_by_side::print_side_by_side;
use crate::numbers::grouped;
use crate::report::{EngineSummary, KindReport};
use std::io::{self, Write};

/// Prints the transactions of each kind per second. If some did not find the rows that they asked for, prints the share
/// of those that did. Kinds without a committed transaction, such as those that are not in the mix, are left out.
pub(super) fn print_kinds(out: &mut dyn Write, engines: &[EngineSummary<'_>], width: usize) -> io::Result<()> {
    let names = engines.first().map_or(&[][..], |engine| &engine.median.transactions.kinds);
    let committed = |kind: &usize| engines.iter().any(|engine| engine.median.transactions.kinds[*kind].committed > 0);
    let kinds: Vec<_> = (0..names.len()).filter(committed).map(|kind| (names[kind].kind, kind)).collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let in_vain = |kind: &KindReport| kind.committed > 0 && kind.success < 1.0;
    let some_in_vain = engines.iter().flat_map(|engine| &engine.median.transactions.kinds).any(in_vain);
    print_side_by_side(out, engines, &kinds, width, |engine, &kind| {
        let KindReport { committed, throughput, success, .. } = engine.median.transactions.kinds[kind];
        match committed {
            0 => "-".to_owned(),
            _ if some_in_vain => format!("{}/s{:>5.0} %", grouped(throughput), success * 100.0),
            _ => format!("{}/s", grouped(throughput)),
        }
    })?;
    if some_in_vain {
        writeln!(out, "per cent: that found what they were looking for")?;
    }
    Ok(())
}
