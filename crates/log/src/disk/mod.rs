//! The files of a data directory. Everything that this crate reads and writes goes through [`Disk`] and [`File`], so
//! that a simulated disk can lose, tear and damage what was not synced.
//!
//! Names are relative to the data directory, with `/` between a folder and its files. There is one level of folders.

pub mod real;
pub mod simulated;

use hotrow_sync::Arc;
use std::fmt::Debug;
use std::io;

/// A data directory: files by their names. Any thread may call any method.
///
/// A crash may undo the creation, renaming or removal of a file, until a [`sync_folder`](Disk::sync_folder) of its
/// folder has returned.
pub trait Disk: Debug + Send + Sync {
    /// Creates a file, and opens it for reading and writing.
    ///
    /// # Errors
    /// If there is a file of this name.
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Opens an existing file for reading and writing, or for reading only if `writes` is false.
    fn open(&self, name: &str, writes: bool) -> io::Result<Arc<dyn File>>;

    /// Creates a folder, unless it exists.
    fn create_folder(&self, folder: &str) -> io::Result<()>;

    /// Returns the names of the files in a folder, without the folder's name, in no order. The empty name stands for
    /// the data directory itself, whose folders are listed too.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Renames a file, and replaces the file that has the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names of all files in a folder durable. After a crash, files that were created or renamed are there,
    /// and files that were removed are gone. The empty name stands for the data directory itself.
    fn sync_folder(&self, folder: &str) -> io::Result<()>;

    /// Returns the number of bytes that can still be written.
    fn free_bytes(&self) -> io::Result<u64>;
}

/// An open file. Any thread may call any method.
#[allow(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait File: Debug + Send + Sync {
    /// Returns the length of the file in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Fills the buffer with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends before.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all the bytes from `offset` on. A later [`sync`](File::sync) makes them durable.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Writes all the bytes from `offset` on, and returns once they are durable. Bytes that were written before and not
    /// synced may still not be durable.
    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes everything durable that was written to the file. After an error nothing is known about the bytes that were
    /// not durable before, and another call says nothing about them.
    fn sync(&self) -> io::Result<()>;
}
