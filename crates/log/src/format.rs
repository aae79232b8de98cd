//! The version of a data directory, in its file `FORMAT`, which is looked at before everything else.

use crate::disk::Disk;
use crate::failure::Failure;
use std::io::ErrorKind;

/// The version of the data directories that this crate reads and writes.
pub const VERSION: u32 = 2;

/// The name of the file with the version.
const NAME: &str = "FORMAT";
/// The name under which the file is written before it is renamed.
const NEW_NAME: &str = "FORMAT.new";

/// The text before the number of the version.
const HEAD: &str = "hotrow data directory, format ";

/// Checks that a data directory has the version that this crate knows. Returns false if there is no such file, as in a
/// new directory. Nothing is changed.
///
/// # Errors
/// If the directory has another version, or is not one of Hotrow's.
pub fn check(disk: &dyn Disk) -> Result<bool, Failure> {
    let file = match disk.open(NAME, false) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Failure::on(NAME)(error)),
    };
    let length = file.len().map_err(Failure::on(NAME))?.min(100);
    let mut bytes = vec![0; length as usize];
    file.read_at(&mut bytes, 0).map_err(Failure::on(NAME))?;
    let version = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix(HEAD)?.strip_suffix('\n'));
    match version.and_then(|version| version.parse::<u32>().ok()) {
        Some(VERSION) => Ok(true),
        Some(version) => Err(Failure::Format(format!(
            "the data directory has format {version}, and this version of Hotrow knows only format {VERSION}; nothing \
             was changed"
        ))),
        None => Err(Failure::Format(format!("{NAME} is not that of a data directory of Hotrow; nothing was changed"))),
    }
}

/// Writes the file with the version that this crate knows into a new data directory. The file is durable when the call
/// returns. If the call is interrupted, there is either the whole file or none.
pub fn create(disk: &dyn Disk) -> Result<(), Failure> {
    write_whole(disk, NEW_NAME, format!("{HEAD}{VERSION}\n").as_bytes())?;
    disk.rename(NEW_NAME, NAME).map_err(Failure::on(NAME))?;
    disk.sync_folder("").map_err(Failure::on(""))
}

/// Whether a folder with a file of this name may still be taken for an empty one. The file is that of the lock, or an
/// interrupted [`create`] has left it.
pub(crate) fn is_of_new_directory(name: &str) -> bool {
    name == "LOCK" || name == NEW_NAME
}

/// Removes a file, if there is one of this name.
pub(crate) fn remove_if_there(disk: &dyn Disk, name: &str) -> Result<(), Failure> {
    match disk.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::on(name)(error)),
        _ => Ok(()),
    }
}

/// Writes a file with these bytes in place of one that may be left from an interrupted attempt, and makes its bytes
/// durable, though not its name.
pub(crate) fn write_whole(disk: &dyn Disk, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    remove_if_there(disk, name)?;
    let file = disk.create(name).map_err(Failure::on(name))?;
    file.write_at(bytes, 0).map_err(Failure::on(name))?;
    file.sync().map_err(Failure::on(name))
}
