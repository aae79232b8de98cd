//! A folder of the machine's file system as a data directory, and the lock that keeps it to one process.

use super::{Disk, File};
use hotrow_sync::Arc;
use rustix::fs::{FlockOperation, flock, statvfs};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::fs;
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name of the file that a process locks as long as it uses the directory.
const LOCK: &str = "LOCK";

/// The permissions of new files: only their owner reads and writes them.
const FILE_MODE: u32 = 0o600;

/// A folder of the file system. Other processes may use it, too, unless the caller takes the [lock](Self::lock).
#[derive(Debug)]
pub struct RealDisk {
    folder: PathBuf,
}

/// The exclusive right to use a data directory. Dropping it, or the end of the process, gives the right back.
#[derive(Debug)]
pub struct DirectoryLock {
    /// The open file, whose descriptor holds the lock.
    _file: fs::File,
}

impl RealDisk {
    /// Opens a folder, which must exist.
    ///
    /// # Errors
    /// If there is no such folder, or if it cannot be read.
    pub fn open(folder: &Path) -> io::Result<Arc<Self>> {
        if !fs::metadata(folder)?.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, format!("{} is no folder", folder.display())));
        }
        Ok(Arc::new(Self { folder: folder.to_owned() }))
    }

    /// Makes a folder, and the folders that it is in, unless they exist, and opens it. The names of the new folders are
    /// durable when the call returns.
    ///
    /// # Errors
    /// If a folder cannot be made.
    pub fn create(folder: &Path) -> io::Result<Arc<Self>> {
        if !folder.exists() {
            let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !parent.exists() {
                Self::create(parent)?;
            }
            match fs::create_dir(folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            fs::File::open(parent)?.sync_all()?;
        }
        Self::open(folder)
    }

    /// Takes the exclusive right to use the directory, in this process and among others.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if the directory is locked already; another kind if the file of the lock
    /// cannot be opened, as in a directory without write permission.
    pub fn lock(&self) -> io::Result<DirectoryLock> {
        let path = self.folder.join(LOCK);
        let file =
            fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(&path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DirectoryLock { _file: file }),
            Err(Errno::WOULDBLOCK) => {
                let text = format!("another process uses the data directory {}", self.folder.display());
                Err(io::Error::new(ErrorKind::WouldBlock, text))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.clone() } else { self.folder.join(name) }
    }
}

impl Disk for RealDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(FILE_MODE);
        Ok(Arc::new(RealFile(options.open(self.path(name))?)))
    }

    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new().read(true).write(writes).open(self.path(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        match fs::create_dir(self.path(folder)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && self.path(folder).is_dir() => Ok(()),
            created => created,
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.path(folder))?;
        // A name that is not Unicode is none of ours.
        let names = entries.filter_map(|entry| match entry {
            Ok(entry) => entry.file_name().into_string().ok().map(Ok),
            Err(error) => Some(Err(error)),
        });
        names.collect()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        fs::File::open(self.path(folder))?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let free = statvfs(&self.folder)?;
        Ok(free.f_bavail.saturating_mul(free.f_frsize))
    }
}

#[derive(Debug)]
struct RealFile(fs::File);

impl RealFile {
    /// Writes the bytes with system calls that return only when the bytes are durable. Returns false if the file system
    /// has no such call.
    fn write_with_dsync(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<bool> {
        while !bytes.is_empty() {
            match pwritev2(&self.0, &[IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

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
        if self.write_with_dsync(bytes, offset)? {
            return Ok(());
        }
        self.0.write_all_at(bytes, offset)?;
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        loop {
            match self.0.sync_data() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                synced => return synced,
            }
        }
    }
}
