//! Engines side by side, a line for each thing that is compared.

use crate::report::EngineSummary;
use std::io::{self, Write};

/// Prints a column for each engine and a line for each of `rows`, with as many engines in one block as fit into
/// `width`.
pub(super) fn print_side_by_side<R>(
    out: &mut dyn Write,
    engines: &[EngineSummary<'_>],
    rows: &[(&str, R)],
    width: usize,
    cell: impl Fn(&EngineSummary<'_>, &R) -> String,
) -> io::Result<()> {
    const CELL_WIDTH: usize = 19;
    let heads = rows.iter().map(|(head, _)| head.len()).fold(0, usize::max);
    let in_a_block = (width.saturating_sub(heads) / CELL_WIDTH).max(1);
    for engines in engines.chunks(in_a_block) {
        let names: String = engines.iter().map(|engine| format!("{:>CELL_WIDTH$}", engine.engine)).collect();
        writeln!(out, "\n{:heads$}{names}", "")?;
        for (head, row) in rows {
            let cells: String = engines.iter().map(|engine| format!("{:>CELL_WIDTH$}", cell(engine, row))).collect();
            writeln!(out, "{head:heads$}{cells}")?;
        }
    }
    Ok(())
}
