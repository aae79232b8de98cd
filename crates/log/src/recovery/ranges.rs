//! Cuts the rows of a table into parts, which threads load beside each other.

use crate::failure::Failure;
use crate::files::Files;
use crate::manifest::{Table, bytes_of};
use crate::merge::Bounds;
use hotrow_storage::{Key, TableId};

/// The number of runs of a table above which its ranges are larger, so that few blocks are read for two ranges.
const FEW_RUNS: u64 = 32;

/// The number of parts for each thread into which a table without files is cut.
const PARTS_PER_THREAD: usize = 16;

/// The parts into which the keys of a table are cut.
#[derive(Debug)]
pub(super) enum Ranges {
    /// Ranges of keys that begin at these keys; one more range is before the first.
    Keys {
        cuts: Vec<Key>,
        /// The bytes of the table in all files.
        bytes: u64,
        /// The entries of the table in all files.
        entries: u64,
    },
    /// The number of parts by the hash of the key, for a table that has no files.
    Hashed(usize),
}

impl Ranges {
    /// Returns the parts of a table without files.
    pub(super) fn hashed(threads: usize) -> Self {
        Ranges::Hashed(if threads > 1 { threads * PARTS_PER_THREAD } else { 1 })
    }

    /// Returns the ranges of a table, each of about `range_bytes` bytes, or `None` if it has no files.
    pub(super) fn of_table(
        files: &Files<'_>,
        id: TableId,
        table: &Table,
        range_bytes: u64,
    ) -> Result<Option<Self>, Failure> {
        let bytes: u64 = table.parts().map(|part| part.bytes).sum();
        let entries: u64 = table.parts().map(|part| part.rows + part.absences).sum();
        let Some(largest) = table.runs().max_by_key(|run| bytes_of(run)) else { return Ok(None) };
        let mut cuts = Vec::new();
        let range_bytes = range_bytes * (table.runs().count() as u64).div_ceil(FEW_RUNS);
        if bytes > range_bytes {
            // The cuts are at first keys of blocks of the largest run.
            let step = bytes_of(largest) / bytes.div_ceil(range_bytes);
            let mut since = 0;
            for part in largest {
                let file = files.open(part.file)?;
                for block in &file.section(id)?.blocks {
                    if since >= step {
                        cuts.push(block.first.clone());
                        since = 0;
                    }
                    since += block.bytes;
                }
            }
        }
        Ok(Some(Ranges::Keys { cuts, bytes, entries }))
    }

    /// Returns the number of parts.
    pub(super) fn len(&self) -> usize {
        match self {
            Ranges::Keys { cuts, .. } => cuts.len() + 1,
            Ranges::Hashed(parts) => *parts,
        }
    }

    /// Returns the part to which a key belongs.
    pub(super) fn of(&self, key: &Key) -> usize {
        match self {
            Ranges::Keys { cuts, .. } => cuts.partition_point(|cut| cut <= key),
            Ranges::Hashed(parts) => (key.hash64() % *parts as u64) as usize,
        }
    }

    /// Returns the bounds of the keys of a range, or `None` if the table has no files.
    pub(super) fn bounds(&self, range: usize) -> Option<Bounds> {
        let Ranges::Keys { cuts, .. } = self else { return None };
        let from = range.checked_sub(1).and_then(|before| cuts.get(before));
        Some((from.cloned(), cuts.get(range).cloned()))
    }

    /// Returns about how many bytes and entries a range has in all files. The number of entries is at least one.
    pub(super) fn size(&self) -> (u64, u64) {
        match self {
            Ranges::Keys { bytes, entries, .. } => (bytes / self.len() as u64, (entries / self.len() as u64).max(1)),
            Ranges::Hashed(_) => (0, 1),
        }
    }
}
