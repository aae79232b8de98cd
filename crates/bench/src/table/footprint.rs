//! The memory of the tables.

use crate::numbers::grouped;
use crate::report::{EngineSummary, Footprint, VersionCounts, Versions};
use std::io::{self, Write};

/// Prints a line for each table of each engine, when it was loaded and after the run.
pub(super) fn print_footprints(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    const HEADS: [&str; 6] = ["rows", "payload", "records", "indexes", "locks", "overhead"];
    let looked = engines.iter().filter_map(|engine| Some((engine.engine, engine.median.memory.as_ref()?)));
    let lines: Vec<(String, [String; 6])> = looked
        .flat_map(|(engine, memory)| {
            let line =
                move |footprint: &Footprint, when| (format!("{engine} {} {when}", footprint.table), cells(footprint));
            let pairs = memory.loaded.iter().zip(&memory.after);
            pairs.flat_map(move |(loaded, after)| [line(loaded, "loaded"), line(after, "after")])
        })
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nbytes of each row; overhead is all that is not payload:")?;
    let names = lines.iter().map(|(name, _)| name.len()).fold(0, usize::max);
    let width = |column: usize| {
        let cells = lines.iter().map(|(_, cells)| cells[column].len());
        cells.fold(HEADS[column].len(), usize::max) + 2
    };
    let heads: String = (0..HEADS.len()).map(|column| format!("{:>1$}", HEADS[column], width(column))).collect();
    writeln!(out, "{:names$}{heads}", "")?;
    for (name, cells) in &lines {
        let cells: String = (0..HEADS.len()).map(|column| format!("{:>1$}", cells[column], width(column))).collect();
        writeln!(out, "{name:names$}{cells}")?;
    }
    for EngineSummary { engine, median, .. } in engines {
        let Some(Versions { loaded, after }) = median.memory.as_ref().and_then(|memory| memory.versions) else {
            continue;
        };
        let counts = |VersionCounts { alive, garbage }| {
            format!("{} versions, {} of them garbage", grouped(alive as f64), grouped(garbage as f64))
        };
        writeln!(out, "{engine}: {} when loaded; {} after", counts(loaded), counts(after))?;
    }
    Ok(())
}

/// Returns the cells of a table's line, in bytes of one row.
fn cells(footprint: &Footprint) -> [String; 6] {
    let of_row = |bytes: u64| format!("{:.1}", bytes as f64 / footprint.rows.max(1) as f64);
    let Footprint { rows, payload, records, indexes, locks, overhead_of_row, .. } = footprint;
    let [payload, records, indexes, locks] = [payload, records, indexes, locks].map(|&bytes| of_row(bytes));
    [grouped(*rows as f64), payload, records, indexes, locks, format!("{overhead_of_row:.1}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use crate::report::{Footprints, MemorySnapshot, summarize};
    use hotrow_storage::TableMemory;

    #[test]
    fn each_table_has_a_line_before_and_after() {
        let memory =
            |rows, indexes| TableMemory { rows, payload: 24 * rows, records: 64 * rows, indexes, locks: rows / 2 };
        let before = Footprint::new("accounts", memory(1_000, 16_000));
        let after = Footprint::new("accounts", memory(2_000, 16_000));
        let mut with = report("mvo", 1.0, "ok");
        let look = |footprint, alive, garbage| MemorySnapshot {
            tables: vec![footprint],
            versions: Some(VersionCounts { alive, garbage }),
        };
        with.memory = Some(Footprints::new(look(before, 1_000, 0), look(after, 2_345, 345)));
        let mut text = Vec::new();
        let turns = [vec![report("2pl-waitdie", 1.0, "ok"), with]];
        print_footprints(&mut text, &summarize(&turns)).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        let words: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words.len(), 6, "{text}");
        assert_eq!(words[3], ["mvo", "accounts", "loaded", "1,000", "24.0", "64.0", "16.0", "0.5", "56.5"]);
        assert_eq!(words[4], ["mvo", "accounts", "after", "2,000", "24.0", "64.0", "8.0", "0.5", "48.5"]);
        let versions = "mvo: 1,000 versions, 0 of them garbage when loaded; 2,345 versions, 345 of them garbage after";
        assert_eq!(text.lines().last(), Some(versions));
    }

    #[test]
    fn nothing_is_said_where_nobody_looked() {
        let mut text = Vec::new();
        print_footprints(&mut text, &summarize(&[vec![report("mvo", 1.0, "ok")]])).expect("a vector takes everything");
        assert!(text.is_empty());
    }
}
