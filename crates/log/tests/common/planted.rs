//! Disks that break a promise on which checkpoints rely, each in one way. A test that has them found shows that it
//! would find a checkpoint that does not wait for the promise.

use super::disk::MemoryDisk;
use hotrow_log::disk::{Disk, File};
use hotrow_sync::{Arc, Mutex};
use std::io;

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing is broken.
    None,
    /// The manifest gets its name before its bytes are durable.
    ManifestNotSynced,
    /// The manifest gets its name before the bytes of the files that it names are durable.
    FilesNotSynced,
    /// The manifest gets its name before the names of the files that it names are durable.
    FolderNotSynced,
    /// Files that the old manifest needs are removed before the new one has its name.
    RemovalBeforeManifest,
}

#[derive(Debug)]
pub struct FlawedDisk {
    inner: Arc<MemoryDisk>,
    flaw: Flaw,
    /// The rename that is put off until files were removed.
    put_off: Mutex<Option<(String, String)>>,
}

impl FlawedDisk {
    pub fn over(inner: Arc<MemoryDisk>, flaw: Flaw) -> Arc<dyn Disk> {
        Arc::new(Self { inner, flaw, put_off: Mutex::default() })
    }

    fn catch_up(&self) -> io::Result<()> {
        match self.put_off.lock().expect("no panic under the latch").take() {
            Some((from, to)) => {
                self.inner.rename(&from, &to)?;
                self.inner.sync_folder("")
            }
            None => Ok(()),
        }
    }
}

impl Disk for FlawedDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.catch_up()?;
        let file = self.inner.create(name)?;
        let skips = match self.flaw {
            Flaw::ManifestNotSynced => name == "checkpoint.new",
            Flaw::FilesNotSynced => name.starts_with("tables/"),
            _ => false,
        };
        Ok(if skips { Arc::new(Unsynced(file)) } else { file })
    }

    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>> {
        self.catch_up()?;
        self.inner.open(name, writes)
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.create_folder(folder)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.catch_up()?;
        self.inner.list(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if self.flaw == Flaw::RemovalBeforeManifest {
            *self.put_off.lock().expect("no panic under the latch") = Some((from.to_owned(), to.to_owned()));
            return Ok(());
        }
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        match self.flaw {
            Flaw::FolderNotSynced if folder == "tables" => Ok(()),
            Flaw::RemovalBeforeManifest if folder.is_empty() => Ok(()),
            _ => self.inner.sync_folder(folder),
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }
}

/// A file whose sync does nothing.
#[derive(Debug)]
struct Unsynced(Arc<dyn File>);

impl File for Unsynced {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
