//! Files that a manifest does not name any more, and the readers that still need some of them.

use super::Checkpoints;
use crate::disk::Disk;
use crate::manifest::Manifest;
use crate::table_file;
use hotrow_sync::Arc;
use std::collections::{BTreeMap, BTreeSet};

/// The pins of a checkpoint, and the obsolete files that are not removed yet.
#[derive(Debug, Default)]
pub(super) struct Pins {
    pinned: BTreeMap<u64, Pinned>,
    next: u64,
    obsolete: BTreeSet<u64>,
}

/// A manifest whose files are kept.
#[derive(Debug)]
struct Pinned {
    manifest: Arc<Manifest>,
    /// Whether the log after the manifest's position is kept as well.
    keeps_log: bool,
}

impl Pins {
    /// Returns the least position from which on a pin keeps the log, or `None` if no pin keeps it.
    pub(super) fn least_position(&self) -> Option<u64> {
        self.pinned.values().filter(|pinned| pinned.keeps_log).map(|pinned| pinned.manifest.position).min()
    }

    pub(super) fn add_obsolete(&mut self, files: impl Iterator<Item = u64>) {
        self.obsolete.extend(files);
    }

    /// Removes the obsolete files that no pin needs. A file that cannot be removed now is tried again later.
    pub(super) fn sweep(&mut self, disk: &dyn Disk) {
        let needed: BTreeSet<u64> = self.pinned.values().flat_map(|pinned| pinned.manifest.files()).collect();
        self.obsolete.retain(|file| needed.contains(file) || disk.remove(&table_file::name(*file)).is_err());
    }

    /// Keeps the files of a manifest, and the log after its position if `keeps_log` is true. Returns the number of the
    /// pin.
    pub(super) fn add(&mut self, manifest: Arc<Manifest>, keeps_log: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        self.pinned.insert(number, Pinned { manifest, keeps_log });
        number
    }

    /// Ends a pin. The files that it kept stay until the next [`sweep`](Self::sweep).
    pub(super) fn remove(&mut self, pin: u64) {
        self.pinned.remove(&pin);
    }
}

/// A checkpoint whose files, and the log after it, are kept while newer checkpoints are made. Dropping the pin ends
/// that.
#[derive(Debug)]
pub struct Pin {
    checkpoints: Arc<Checkpoints>,
    number: u64,
    manifest: Arc<Manifest>,
}

impl Pin {
    pub(super) fn new(checkpoints: Arc<Checkpoints>) -> Self {
        let (number, manifest) = {
            let mut state = checkpoints.state();
            let manifest = state.manifest.clone();
            (state.pins.add(manifest.clone(), true), manifest)
        };
        Self { checkpoints, number, manifest }
    }

    /// Returns the position of the log up to which everything is in this checkpoint.
    pub fn position(&self) -> u64 {
        self.manifest.position
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.checkpoints.disk
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.checkpoints.state().unpin(self.number, &*self.checkpoints.disk);
    }
}
