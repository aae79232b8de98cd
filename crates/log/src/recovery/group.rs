//! Rows of one table that are loaded at once.

use super::{Target, table_failure};
use crate::failure::Failure;
use crate::manifest::Shape;
use crate::table_file::TableFile;
use hotrow_storage::{RowRef, TableId};
use hotrow_sync::Arc;

/// The number of rows that are loaded at once. An engine fetches the memory for them together.
pub(super) const LOADED_TOGETHER: usize = 64;

/// Copies of rows that are not loaded yet.
#[derive(Debug, Default)]
pub(super) struct Group {
    bytes: Vec<u8>,
    /// The ends of the two parts of each row in `bytes`.
    ends: Vec<(usize, usize)>,
    /// The files that the rows come from, each with the number of the first row from it.
    files: Vec<(usize, Arc<TableFile>)>,
}

impl Group {
    /// Adds a row of a file. Returns whether the rows are to be [loaded](Self::load) now.
    pub(super) fn push(&mut self, row: RowRef<'_>, file: &Arc<TableFile>) -> bool {
        if self.files.last().is_none_or(|(_, last)| !Arc::ptr_eq(last, file)) {
            self.files.push((self.ends.len(), file.clone()));
        }
        self.bytes.extend_from_slice(row.fixed());
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(row.variable());
        self.ends.push((middle, self.bytes.len()));
        self.ends.len() >= LOADED_TOGETHER
    }

    /// Loads the rows, and forgets them. Returns their number.
    pub(super) fn load(&mut self, target: &dyn Target, id: TableId, shape: &Shape) -> Result<u64, Failure> {
        let mut start = 0;
        let row = |&(middle, end): &(usize, usize)| {
            let begin = std::mem::replace(&mut start, end);
            RowRef::new(&shape.layout, &self.bytes[begin..middle], &self.bytes[middle..end])
        };
        let rows: Vec<_> = self.ends.iter().map(row).collect();
        target.load(id, &rows).map_err(|(row, duplicate)| {
            let file = self.files.iter().rfind(|(first, _)| *first <= row);
            let file = file.map_or(String::new(), |(_, file)| file.name().to_owned());
            table_failure(id, shape, file, duplicate.to_string())
        })?;
        let count = rows.len() as u64;
        self.bytes.clear();
        self.ends.clear();
        self.files.clear();
        Ok(count)
    }
}
