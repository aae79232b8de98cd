//! What a database takes of the memory, table by table.

use crate::table::{Summary, grouped};
use hotrow_storage::{TableId, TableMemory};
use hotrow_txn::Engine;
use serde::Serialize;
use std::io::{self, Write};

/// A database's memory before a run, when it is loaded, and after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Footprints {
    pub loaded: Vec<Footprint>,
    pub after: Vec<Footprint>,
    /// The versions of rows, of an engine that has several of one row.
    pub versions: Option<Versions>,
}

/// How many versions there are before and after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Versions {
    pub loaded: VersionCounts,
    pub after: VersionCounts,
}

/// Versions that an index leads to, and those of them that have ended and wait to be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct VersionCounts {
    pub alive: u64,
    pub garbage: u64,
}

/// A look at a database.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    tables: Vec<Footprint>,
    versions: Option<VersionCounts>,
}

/// Bytes of one table, by what they are for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Footprint {
    pub table: String,
    pub rows: u64,
    /// The rows' columns.
    pub payload: u64,
    /// Records or versions with all that they carry, payload included.
    pub records: u64,
    pub indexes: u64,
    /// Locks that are kept inside the indexes.
    pub locks: u64,
    /// Bytes of one row that are not payload.
    pub overhead_of_row: f64,
}

/// Looks at the tables of a database, which are the first ones that were made in it. Nobody runs transactions on them.
pub(crate) fn look(engine: &dyn Engine, tables: usize) -> Look {
    let numbers = (0..tables as u32).map(TableId);
    Look {
        tables: numbers.map(|table| Footprint::new(&engine.schema(table).name, engine.memory(table))).collect(),
        versions: engine.versions().map(|versions| VersionCounts { alive: versions.alive, garbage: versions.garbage }),
    }
}

impl Footprints {
    /// What was seen before and after a run.
    pub(crate) fn new(loaded: Look, after: Look) -> Self {
        let versions = loaded.versions.zip(after.versions).map(|(loaded, after)| Versions { loaded, after });
        Self { loaded: loaded.tables, after: after.tables, versions }
    }
}

impl Footprint {
    fn new(table: &str, memory: TableMemory) -> Self {
        let TableMemory { rows, payload, records, indexes, locks } = memory;
        let (table, overhead_of_row) = (table.to_owned(), memory.overhead_of_row());
        Self { table, rows, payload, records, indexes, locks, overhead_of_row }
    }

    /// What the table's line shows, in bytes of one row.
    fn cells(&self) -> [String; 6] {
        let of_row = |bytes: u64| format!("{:.1}", bytes as f64 / self.rows.max(1) as f64);
        let bytes = [self.payload, self.records, self.indexes, self.locks].map(of_row);
        let [payload, records, indexes, locks] = bytes;
        [grouped(self.rows as f64), payload, records, indexes, locks, format!("{:.1}", self.overhead_of_row)]
    }
}

/// Prints a line for each table of each engine, when it was loaded and after the run.
pub(crate) fn print(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    const HEADS: [&str; 6] = ["rows", "payload", "records", "indexes", "locks", "overhead"];
    let looked = engines.iter().filter_map(|engine| Some((engine.engine, engine.median.memory.as_ref()?)));
    let lines: Vec<(String, [String; 6])> = looked
        .flat_map(|(engine, memory)| {
            let line =
                move |footprint: &Footprint, when| (format!("{engine} {} {when}", footprint.table), footprint.cells());
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
    for Summary { engine, median, .. } in engines {
        let Some(Versions { loaded, after }) = median.memory.as_ref().and_then(|memory| memory.versions) else {
            continue;
        };
        let told = |counts: VersionCounts| {
            format!("{} versions, {} of them garbage", grouped(counts.alive as f64), grouped(counts.garbage as f64))
        };
        writeln!(out, "{engine}: {} when loaded; {} after", told(loaded), told(after))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use crate::table::summarize;

    #[test]
    fn each_table_has_a_line_before_and_after() {
        let memory =
            |rows, indexes| TableMemory { rows, payload: 24 * rows, records: 64 * rows, indexes, locks: rows / 2 };
        let before = Footprint::new("accounts", memory(1_000, 16_000));
        let after = Footprint::new("accounts", memory(2_000, 16_000));
        let mut with = report("mvo", 1.0, "ok");
        let look = |footprint, alive, garbage| Look {
            tables: vec![footprint],
            versions: Some(VersionCounts { alive, garbage }),
        };
        with.memory = Some(Footprints::new(look(before, 1_000, 0), look(after, 2_345, 345)));
        let mut text = Vec::new();
        let turns = [vec![report("2pl-waitdie", 1.0, "ok"), with]];
        print(&mut text, &summarize(&turns)).expect("a vector takes everything");
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
        print(&mut text, &summarize(&[vec![report("mvo", 1.0, "ok")]])).expect("a vector takes everything");
        assert!(text.is_empty());
    }
}
