//! Tests of a folder of the file system as a data directory.

use hotrow_log::disk::Disk;
use hotrow_log::disk::real::RealDisk;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("hotrow-disk-{}-{name}", std::process::id()));
        fs::create_dir(&folder).expect("a folder can be made");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clear.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_made_written_read_renamed_and_removed() {
    let folder = Folder::new("files");
    let disk = RealDisk::create(&folder.0.join("deep/data")).expect("folders can be made");
    disk.create_folder("log").expect("it is new");
    disk.create_folder("log").expect("it exists");
    let file = disk.create("log/a").expect("it is new");
    assert_eq!(disk.create("log/a").expect_err("it exists").kind(), ErrorKind::AlreadyExists);
    file.write_durably_at(b"hello", 3).expect("room");
    file.write_at(b"abc", 0).expect("room");
    file.sync().expect("no fault");
    disk.sync_folder("log").expect("no fault");
    disk.sync_folder("").expect("no fault");
    disk.rename("log/a", "log/b").expect("it is there");
    assert_eq!(disk.list("log").expect("it is there"), ["b"]);
    assert_eq!(disk.list("").expect("it is there"), ["log"]);
    let file = disk.open("log/b", false).expect("it is there");
    let mut bytes = [0; 8];
    file.read_at(&mut bytes, 0).expect("it is long enough");
    assert_eq!((&bytes, file.len().expect("open")), (b"abchello", 8));
    assert_eq!(file.read_at(&mut bytes, 1).expect_err("too short").kind(), ErrorKind::UnexpectedEof);
    file.write_at(b"x", 0).expect_err("opened for reading");
    file.write_durably_at(b"x", 0).expect_err("opened for reading");
    assert!(disk.free_bytes().expect("a file system") > 0);
    disk.remove("log/b").expect("it is there");
    assert_eq!(disk.open("log/b", true).expect_err("removed").kind(), ErrorKind::NotFound);
    assert!(RealDisk::open(&folder.0.join("none")).is_err());
}

#[test]
fn a_directory_belongs_to_one_process_at_a_time() {
    let folder = Folder::new("lock");
    let disk = RealDisk::open(&folder.0).expect("it is there");
    let lock = disk.lock().expect("nobody has it");
    let error = RealDisk::open(&folder.0).expect("it is there").lock().expect_err("it is taken");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(error.to_string().contains("another process uses the data directory"), "{error}");
    drop(lock);
    disk.lock().expect("it was given back");
}
