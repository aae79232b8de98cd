//! A folder of the machine's file system as a disk.

use hotrow_log::disk::{Disk, File};
use hotrow_sync::Arc;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A folder that is removed in the end.
#[derive(Debug)]
pub struct RealDisk(PathBuf);

impl RealDisk {
    /// Makes an empty folder for a test.
    pub fn new(name: &str) -> Arc<Self> {
        let folder = std::env::temp_dir().join(format!("hotrow-log-{}-{name}", std::process::id()));
        fs::create_dir(&folder).expect("a folder can be made");
        Arc::new(Self(folder))
    }
}

impl Drop for RealDisk {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clear.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Disk for RealDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let options = fs::OpenOptions::new().read(true).write(true).create_new(true).open(self.0.join(name))?;
        Ok(Arc::new(RealFile(options)))
    }

    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new().read(true).write(writes).open(self.0.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        match fs::create_dir(self.0.join(folder)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.0.join(folder))?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        fs::File::open(self.0.join(folder))?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}

#[derive(Debug)]
struct RealFile(fs::File);

impl File for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)?;
        self.0.sync_data()
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
