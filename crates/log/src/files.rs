//! The files of checkpoints that are open for reading.

use crate::disk::Disk;
use crate::failure::Failure;
use crate::table_file::TableFile;
use hotrow_sync::{Arc, Mutex};
use std::collections::VecDeque;

/// The number of files whose footers are kept, so that a shared file is not opened again for each of its tables.
const KEPT: usize = 64;

/// Opens files of checkpoints for reading, and keeps some of them open. Many threads may use the object at once.
#[derive(Debug)]
pub(crate) struct Files<'d> {
    disk: &'d dyn Disk,
    /// The files that were opened last, each with its number, the latest at the end.
    kept: Mutex<VecDeque<(u64, Arc<TableFile>)>>,
}

impl<'d> Files<'d> {
    pub(crate) fn new(disk: &'d dyn Disk) -> Self {
        Self { disk, kept: Mutex::default() }
    }

    /// Returns the file with this number. If the file is not kept, its footer is read.
    pub(crate) fn open(&self, number: u64) -> Result<Arc<TableFile>, Failure> {
        let find = |kept: &VecDeque<(u64, Arc<TableFile>)>| {
            kept.iter().find(|(other, _)| *other == number).map(|(_, file)| file.clone())
        };
        let lock = || self.kept.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(file) = find(&lock()) {
            return Ok(file);
        }
        let file = Arc::new(TableFile::open(self.disk, number)?);
        let mut kept = lock();
        kept.push_back((number, file.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(file)
    }
}
