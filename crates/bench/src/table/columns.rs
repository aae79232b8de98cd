//! The table itself: a line for each engine, with as many columns as there is room for.

use crate::numbers::{brief, grouped, percent, ratio};
use crate::report::{EngineSummary, WireReport};
use std::io::{self, Write};

/// A column of the table.
struct Column {
    head: &'static str,
    /// The order in which columns are kept on a narrow terminal, from zero.
    rank: usize,
    cell: fn(&EngineSummary<'_>) -> String,
}

/// The columns of runs in this process.
const COLUMNS: [Column; 10] = [
    Column { head: "txn/s", rank: 0, cell: |engine| grouped(engine.median.throughput()) },
    Column { head: "ratio", rank: 4, cell: |engine| ratio(engine.ratio) },
    Column { head: "mean µs", rank: 8, cell: |engine| brief(engine.median.transactions.latency_us.mean) },
    Column { head: "p50 µs", rank: 3, cell: |engine| brief(engine.median.transactions.latency_us.p50) },
    Column { head: "p95 µs", rank: 9, cell: |engine| brief(engine.median.transactions.latency_us.p95) },
    Column { head: "p99 µs", rank: 5, cell: |engine| brief(engine.median.transactions.latency_us.p99) },
    Column { head: "max µs", rank: 7, cell: |engine| brief(engine.median.transactions.latency_us.max) },
    Column { head: "aborts", rank: 2, cell: |engine| percent(engine.median.abort_percent()) },
    Column { head: "cpu µs", rank: 6, cell: |engine| brief(engine.median.transactions.cpu_us_per_txn) },
    Column { head: "check", rank: 1, cell: |engine| word(engine.consistency).to_owned() },
];

/// The columns of runs over the network.
const WIRE_COLUMNS: [Column; 12] = [
    Column { head: "txn/s", rank: 0, cell: |engine| grouped(engine.median.throughput()) },
    Column { head: "ratio", rank: 3, cell: |engine| ratio(engine.ratio) },
    Column {
        head: "stmt/s",
        rank: 6,
        cell: |engine| of_wire(engine, |wire| Some(grouped(wire.statements_per_second))),
    },
    Column { head: "mean µs", rank: 11, cell: |engine| brief(engine.median.transactions.latency_us.mean) },
    Column { head: "p50 µs", rank: 7, cell: |engine| brief(engine.median.transactions.latency_us.p50) },
    Column { head: "p95 µs", rank: 10, cell: |engine| brief(engine.median.transactions.latency_us.p95) },
    Column { head: "p99 µs", rank: 8, cell: |engine| brief(engine.median.transactions.latency_us.p99) },
    Column { head: "max µs", rank: 9, cell: |engine| brief(engine.median.transactions.latency_us.max) },
    Column { head: "retried", rank: 2, cell: |engine| percent(engine.median.retried_percent()) },
    Column { head: "cpu/txn", rank: 4, cell: |engine| of_wire(engine, |wire| wire.server_cpu_us_per_txn.map(brief)) },
    Column {
        head: "/stmt",
        rank: 5,
        cell: |engine| of_wire(engine, |wire| wire.server_cpu_us_per_statement.map(brief)),
    },
    Column { head: "check", rank: 1, cell: |engine| word(engine.consistency).to_owned() },
];

/// Returns a cell of a run over the network, or a question mark if its value is unknown.
fn of_wire(engine: &EngineSummary<'_>, cell: impl Fn(&WireReport) -> Option<String>) -> String {
    engine.median.wire.as_ref().and_then(cell).unwrap_or_else(|| "?".to_owned())
}

/// Returns the columns for these runs, and the head of the column of names.
fn columns(engines: &[EngineSummary<'_>]) -> (&'static [Column], &'static str) {
    match engines.iter().any(|engine| engine.median.wire.is_some()) {
        true => (&WIRE_COLUMNS, "server"),
        false => (&COLUMNS, "engine"),
    }
}

/// Prints a line for each engine, with the columns that fit into `width`.
pub(super) fn print_engines(out: &mut dyn Write, engines: &[EngineSummary<'_>], width: usize) -> io::Result<()> {
    let names = name_width(engines);
    let (columns, head) = columns(engines);
    let cells: Vec<Vec<String>> = columns.iter().map(|column| engines.iter().map(column.cell).collect()).collect();
    let widths: Vec<usize> =
        columns.iter().zip(&cells).map(|(column, cells)| column_width(column.head, cells)).collect();
    let shown = columns_within(columns, width.saturating_sub(names), &widths);
    let mut line = format!("{head:names$}");
    for &column in &shown {
        line += &format!("{:>width$}", columns[column].head, width = widths[column]);
    }
    writeln!(out, "{line}")?;
    for (row, engine) in engines.iter().enumerate() {
        let mut line = format!("{:names$}", engine.engine);
        for &column in &shown {
            line += &format!("{:>width$}", cells[column][row], width = widths[column]);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Returns the width of the column of names.
pub(super) fn name_width(engines: &[EngineSummary<'_>]) -> usize {
    engines.iter().map(|engine| engine.engine.len()).fold("engine".len(), usize::max)
}

/// Returns the width of a column: that of its widest cell or its head, and of the gap before it.
fn column_width(head: &str, cells: &[String]) -> usize {
    let widest = cells.iter().map(|cell| cell.chars().count()).fold(head.chars().count(), usize::max);
    widest + 2
}

/// Returns the columns that fit into `room`, taken by rank and shown in their order. The first one is shown in any
/// case.
fn columns_within(columns: &[Column], room: usize, widths: &[usize]) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by_key(|&column| columns[column].rank);
    let mut taken = 0;
    let fits = |&column: &usize| {
        taken += widths[column];
        taken <= room || columns[column].rank == 0
    };
    let mut shown: Vec<usize> = ranked.into_iter().take_while(fits).collect();
    shown.sort_unstable();
    shown
}

/// Returns the outcome of the check in one word. The table prints the full text below.
fn word(consistency: &str) -> &str {
    match consistency {
        "ok" => "ok",
        text if text.starts_with("failed") => "FAILED",
        _ => "ok*",
    }
}
