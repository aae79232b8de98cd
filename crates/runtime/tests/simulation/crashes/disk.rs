//! A disk whose work is interleaved with the simulated transactions, and which may break a promise.

use hotrow_log::disk::{Disk, File};
use hotrow_runtime::simulation::Task;
use hotrow_sync::{Arc, Mutex};
use std::io;

/// A promise that the disk breaks, as code would that does not ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No promise is broken.
    None,
    /// Nothing is made durable before the operating system does it by itself.
    NothingSynced,
    /// Syncs of folders do nothing.
    NoFolderSynced,
    /// Syncs of the files of checkpoints do nothing.
    NoCheckpointSynced,
}

/// A disk over another one. If it has a task, the task makes a step before each operation that changes something, so
/// that other tasks run in the middle of what is done to the disk.
#[derive(Debug)]
pub struct SteppingDisk {
    inner: Arc<dyn Disk>,
    flaw: Flaw,
    stepper: Arc<Stepper>,
}

#[derive(Debug, Default)]
struct Stepper(Mutex<Option<Task>>);

impl Stepper {
    fn step(&self, operation: &str, name: &str) {
        let task = self.0.lock().unwrap_or_else(|poison| poison.into_inner()).clone();
        if let Some(task) = task {
            task.step(format!("disk: {operation} {name}"));
        }
    }
}

impl SteppingDisk {
    pub fn over(inner: Arc<dyn Disk>, flaw: Flaw) -> Arc<Self> {
        Arc::new(Self { inner, flaw, stepper: Arc::default() })
    }

    /// Sets the task that does the work of the disk.
    pub fn set_task(&self, task: Option<Task>) {
        *self.stepper.0.lock().unwrap_or_else(|poison| poison.into_inner()) = task;
    }

    fn file(&self, name: &str, inner: Arc<dyn File>) -> Arc<dyn File> {
        let skips_syncs = match self.flaw {
            Flaw::None | Flaw::NoFolderSynced => false,
            Flaw::NothingSynced => true,
            Flaw::NoCheckpointSynced => name.starts_with("tables/"),
        };
        Arc::new(SteppingFile { inner, name: name.to_owned(), skips_syncs, stepper: self.stepper.clone() })
    }
}

impl Disk for SteppingDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.stepper.step("create", name);
        Ok(self.file(name, self.inner.create(name)?))
    }

    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>> {
        Ok(self.file(name, self.inner.open(name, writes)?))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.stepper.step("create", folder);
        self.inner.create_folder(folder)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.stepper.step("rename", from);
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.stepper.step("remove", name);
        self.inner.remove(name)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.stepper.step("sync folder", folder);
        match self.flaw {
            Flaw::NothingSynced | Flaw::NoFolderSynced => Ok(()),
            Flaw::None | Flaw::NoCheckpointSynced => self.inner.sync_folder(folder),
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }
}

#[derive(Debug)]
struct SteppingFile {
    inner: Arc<dyn File>,
    name: String,
    skips_syncs: bool,
    stepper: Arc<Stepper>,
}

impl File for SteppingFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.stepper.step("write", &self.name);
        self.inner.write_at(bytes, offset)
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.stepper.step("write durably", &self.name);
        if self.skips_syncs { self.inner.write_at(bytes, offset) } else { self.inner.write_durably_at(bytes, offset) }
    }

    fn sync(&self) -> io::Result<()> {
        self.stepper.step("sync", &self.name);
        if self.skips_syncs { Ok(()) } else { self.inner.sync() }
    }
}
