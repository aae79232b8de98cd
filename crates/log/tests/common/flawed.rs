//! Disks that break a promise on which the log relies, each in one way. A test that has them found shows that it would
//! find a log that does not wait for the promise.

use hotrow_log::disk::simulated::SimulatedDisk;
use hotrow_log::disk::{Disk, File};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use std::io;

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing is broken.
    None,
    /// Writes are not durable although they say so, and syncs of files do nothing.
    NothingSynced,
    /// Syncs of folders do nothing.
    NoFolderSynced,
    /// Nothing is written durably before the first file has a new name: the end of the old log is trusted as it is.
    TailNotSecured,
}

#[derive(Debug)]
pub struct FlawedDisk {
    inner: Arc<SimulatedDisk>,
    flaw: Flaw,
    /// Whether a file was written under a name of its own, which an opening does after it has secured the old log.
    goes_on: Arc<AtomicBool>,
}

impl FlawedDisk {
    pub fn over(inner: Arc<SimulatedDisk>, flaw: Flaw) -> Arc<dyn Disk> {
        Arc::new(Self { inner, flaw, goes_on: Arc::default() })
    }

    fn wrap(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        match self.flaw {
            Flaw::NothingSynced | Flaw::TailNotSecured => {
                Arc::new(FlawedFile { inner: file, flaw: self.flaw, goes_on: self.goes_on.clone() })
            }
            _ => file,
        }
    }
}

impl Disk for FlawedDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.wrap(self.inner.create(name)?))
    }

    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>> {
        if name.starts_with("log/spare") {
            self.goes_on.store(true, Ordering::Release);
        }
        Ok(self.wrap(self.inner.open(name, writes)?))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.create_folder(folder)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        if self.flaw == Flaw::NoFolderSynced { Ok(()) } else { self.inner.sync_folder(folder) }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }
}

#[derive(Debug)]
struct FlawedFile {
    inner: Arc<dyn File>,
    flaw: Flaw,
    goes_on: Arc<AtomicBool>,
}

impl File for FlawedFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.flaw {
            Flaw::NothingSynced => self.inner.write_at(bytes, offset),
            Flaw::TailNotSecured if !self.goes_on.load(Ordering::Acquire) => Ok(()),
            _ => self.inner.write_durably_at(bytes, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        if self.flaw == Flaw::NothingSynced { Ok(()) } else { self.inner.sync() }
    }
}
