//! The decision which runs to merge.
//!
//! **Bytes written.** Take a byte of a changed row as the unit, and an interval of the log whose changes fit into one
//! batch or more. With the default growth *g* = 2:
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
//! - If a table has more than [`most_runs`](Options::most_runs) deltas in own files, the adjacent half of them that is
//!   smallest is merged into one, which writes each of their bytes once more. With the default options and rows of 100
//!   bytes, a batch makes a delta of some 85 MB, so a table gets there if its base has more than 2.7 GB. From then on
//!   the sums are 4.8 for inserts in random order, and 3.8 for updates. A second time is due beyond 87 GB.
//! - If there are more than `most_runs` shared files, the adjacent half of them with the fewest bytes is merged into
//!   one. Sections that were merged into bases since are not written again.
//!
//! **Space.** Files hold at most base + deltas ≤ (1 + g) · base for each table, the files of a merge that is under way,
//! and in the shared files what is obsolete: `most_runs` batches at most. A merge that does not fit on the disk is put
//! off; the checkpoint still advances, so that the log can be forgotten.

use super::Options;
use crate::manifest::{Manifest, Run, Table, bytes_of};
use hotrow_storage::TableId;
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
            Due::Deltas(id, range) => manifest.tables[id].deltas[range.clone()].iter().map(|run| bytes_of(run)).sum(),
            Due::Shared(files) => {
                let parts = manifest.tables.values().flat_map(|table| table.parts());
                parts.filter(|part| files.contains(&part.file)).map(|part| part.bytes).sum()
            }
        }
    }
}

/// Returns the merge that is most urgent, or `None` if none is due.
pub(super) fn due(manifest: &Manifest, options: &Options) -> Option<Due> {
    bases(manifest, options).or_else(|| deltas(manifest, options)).or_else(|| shared(manifest, options))
}

/// Whether the deltas of a table are so large that they are merged into its base.
fn is_grown(table: &Table, options: &Options) -> bool {
    let deltas = table.delta_bytes();
    deltas > 0 && deltas >= options.own_file_bytes && deltas >= options.growth.saturating_mul(bytes_of(&table.base))
}

/// Returns the tables whose deltas have grown, as many as have a batch of bytes together, so that many small tables
/// take one manifest.
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

/// Returns how many runs are merged into one.
fn window(options: &Options) -> usize {
    options.most_runs / 2 + 1
}

/// Returns the range of `length` adjacent elements whose sum is the least.
fn smallest(bytes: &[u64], length: usize) -> Range<usize> {
    let length = length.clamp(1, bytes.len());
    let sums = bytes.windows(length).map(|some| some.iter().sum::<u64>());
    let start = sums.enumerate().min_by_key(|(_, sum)| *sum).map_or(0, |(start, _)| start);
    start..start + length
}
