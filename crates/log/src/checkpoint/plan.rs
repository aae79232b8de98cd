//! Decides which runs are merged.
//!
//! **Bytes written.** The unit is a byte of a changed row. The log between two checkpoints is assumed to fill at least
//! one batch. With the default growth *g* = 2:
//!
//! | written | inserts only | updates of rows that exist |
//! | --- | --- | --- |
//! | the log | 1 | 1 |
//! | the delta: at most each change once | 1 | 1 |
//! | the base: a merge writes base + deltas when deltas ≥ g · base | (1 + g) / g = 1.5 | 1 / g = 0.5 |
//! | together | 3.5 | 2.5 |
//!
//! For inserts, the base grows by the factor 1 + g with each merge, so the sum over all merges is a geometric series
//! that ends at (1 + g) / g times the last base. Rows that are inserted in the order of the key, as a load in key order
//! does, extend the base without a merge: they cost 2 altogether. For updates, a merge writes one base for g bases of
//! deltas. Rows of 100 bytes carry about 25 bytes beside them in the log and 2 in a file, so the sums become 3.8 and
//! 2.8. A change that is changed again within a batch is not written to a delta at all.
//!
//! Two more costs are small, and have bounds of their own:
//!
//! - If a table has more than [`most_runs`](Options::most_runs) deltas in own files, half of them are merged into one:
//!   the adjacent ones with the fewest bytes. Each of these bytes is written once more. With the default options and
//!   rows of 100 bytes, a batch makes a delta of some 85 MB, so a table gets there if its base has more than 2.7 GB.
//!   From then on the sums are 4.8 for inserts in random order, and 3.8 for updates. A second time is due beyond 87 GB.
//! - If there are more than `most_runs` shared files, half of them are merged into one: the adjacent ones with the
//!   fewest bytes. Sections that were merged into bases since are not written again.
//!
//! **Space.** For each table, files hold at most base + deltas ≤ (1 + g) · base. In addition, there are the files of a
//! merge that is under way, and the obsolete sections of the shared files: `most_runs` batches at most. A merge that
//! does not fit on the disk is put off; the checkpoint still advances, so that the log can be forgotten.

use super::Options;
use crate::manifest::{Manifest, Run, Table, bytes_of};
use hotrow_storage::TableId;
use hotrow_sync::Arc;
use std::collections::BTreeMap;
use std::ops::Range;

/// A merge that is due.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The bases of some tables with all their deltas become new bases.
    Bases(Vec<TableId>),
    /// Adjacent deltas of a table become one.
    Deltas(TableId, Range<usize>),
    /// The sections of some shared files become sections of one shared file.
    Shared(Vec<u64>),
}

impl Due {
    /// Returns about how many bytes the merge writes at most.
    pub(super) fn bytes(&self, manifest: &Manifest) -> u64 {
        let of_table =
            |id: &TableId| manifest.tables.get(id).map_or(0, |table| table.parts().map(|part| part.bytes).sum());
        match self {
            Due::Bases(tables) => tables.iter().map(of_table).sum(),
            Due::Deltas(id, range) => bytes_of_all(&manifest.tables[id].deltas[range.clone()]),
            Due::Shared(files) => {
                let merged =
                    |table: &Arc<Table>| span(table, files).map_or(0, |range| bytes_of_all(&table.deltas[range]));
                manifest.tables.values().map(merged).sum()
            }
        }
    }
}

/// Returns the number of bytes of all these runs.
fn bytes_of_all(runs: &[Run]) -> u64 {
    runs.iter().map(|run| bytes_of(run)).sum()
}

/// Returns the deltas of a table that a merge of these shared files makes one: from the first delta that is in one of
/// the files to the last one. Deltas in own files may lie between them. Returns `None` if the files have no delta of
/// the table.
pub(super) fn span(table: &Table, shared: &[u64]) -> Option<Range<usize>> {
    let is_in = |run: &Run| run.iter().any(|part| shared.contains(&part.file));
    let first = table.deltas.iter().position(is_in)?;
    let last = table.deltas.iter().rposition(is_in)?;
    Some(first..last + 1)
}

/// Returns the merge that is most urgent, or `None` if none is due.
pub(super) fn due(manifest: &Manifest, options: &Options) -> Option<Due> {
    bases(manifest, options).or_else(|| deltas(manifest, options)).or_else(|| shared(manifest, options))
}

/// Whether the deltas of a table are to be merged into its base: they have at least
/// [`own_file_bytes`](Options::own_file_bytes), and at least [`growth`](Options::growth) times the bytes of the base.
fn is_grown(table: &Table, options: &Options) -> bool {
    let deltas = table.delta_bytes();
    deltas > 0 && deltas >= options.own_file_bytes && deltas >= options.growth.saturating_mul(bytes_of(&table.base))
}

/// Returns the merge of tables whose deltas have [grown](is_grown), or `None` if there are none. Tables are added until
/// they have a batch of bytes together, so that many small tables share one manifest.
fn bases(manifest: &Manifest, options: &Options) -> Option<Due> {
    let mut bytes = 0;
    let grown = manifest.tables.iter().filter(|(_, table)| is_grown(table, options));
    let some = grown.take_while(|(_, table)| {
        let goes = bytes < options.batch_bytes as u64;
        bytes += table.delta_bytes() + bytes_of(&table.base);
        goes
    });
    let some: Vec<_> = some.map(|(id, _)| *id).collect();
    (!some.is_empty()).then_some(Due::Bases(some))
}

fn deltas(manifest: &Manifest, options: &Options) -> Option<Due> {
    let is_own = |run: &&Run| run.iter().any(|part| !part.shared);
    manifest.tables.iter().find_map(|(id, table)| {
        let own = table.deltas.iter().filter(is_own).count();
        (own > options.most_runs).then(|| {
            let bytes: Vec<_> = table.deltas.iter().map(|run| bytes_of(run)).collect();
            Due::Deltas(*id, smallest(&bytes, window(options)))
        })
    })
}

fn shared(manifest: &Manifest, options: &Options) -> Option<Due> {
    // By number, the position of the log that a file reaches and the bytes that still count.
    let mut files: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for part in manifest.tables.values().flat_map(|table| table.parts()).filter(|part| part.shared) {
        let (until, bytes) = files.entry(part.file).or_default();
        *until = (*until).max(part.until);
        *bytes += part.bytes;
    }
    (files.len() > options.most_runs).then(|| {
        let mut files: Vec<_> = files.into_iter().map(|(number, (until, bytes))| (until, number, bytes)).collect();
        files.sort_unstable();
        let bytes: Vec<_> = files.iter().map(|(.., bytes)| *bytes).collect();
        Due::Shared(files[smallest(&bytes, window(options))].iter().map(|(_, number, _)| *number).collect())
    })
}

/// Returns how many adjacent runs or shared files one merge takes.
fn window(options: &Options) -> usize {
    options.most_runs / 2 + 1
}

/// Returns the range of `length` adjacent elements whose sum is the least, or of all elements if there are fewer.
fn smallest(bytes: &[u64], length: usize) -> Range<usize> {
    let length = length.clamp(1, bytes.len());
    let sums = bytes.windows(length).map(|some| some.iter().sum::<u64>());
    let start = sums.enumerate().min_by_key(|(_, sum)| *sum).map_or(0, |(start, _)| start);
    start..start + length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Part, Shape};
    use hotrow_storage::{Column, Key, TableSchema, Type};

    /// Returns a table with these deltas. Each has the number of its file and its bytes; files below 10 are shared.
    fn table(deltas: &[(u64, u64)]) -> Arc<Table> {
        let shape = Shape::new(TableSchema::new("t", vec![Column::new("id", Type::Int8)], &[0]));
        let run = |&(file, bytes): &(u64, u64)| {
            let (first, last) = (Key::Int(1), Key::Int(2));
            vec![Part { file, shared: file < 10, until: file, bytes, rows: 1, absences: 0, first, last }]
        };
        Arc::new(Table { deltas: deltas.iter().map(run).collect(), ..Table::new(shape) })
    }

    #[test]
    fn a_merge_of_shared_files_also_writes_the_deltas_between_them() {
        let tables = [
            table(&[(1, 10), (11, 5000), (2, 20), (3, 40), (12, 7000)]),
            table(&[(13, 9000), (2, 100)]),
            table(&[(3, 200), (14, 9000)]),
        ];
        let tables = (0..).map(TableId).zip(tables).collect();
        let manifest = Manifest { tables, ..Manifest::empty() };
        let cases: [(&[u64], u64); 4] = [(&[1, 2], 5130), (&[2, 3], 360), (&[1, 2, 3], 5370), (&[1], 10)];
        for (files, bytes) in cases {
            assert_eq!(Due::Shared(files.to_vec()).bytes(&manifest), bytes, "{files:?}");
        }
    }
}
