//! Backups of a directory in use, and data directories made of backups.

use crate::checkpoint::{Checkpoints, Options};
use crate::disk::Disk;
use crate::failure::Failure;
use crate::format;
use crate::frame_file;
use crate::manifest::{self, Manifest};
use crate::source::{Frames, FramesUntil, Source, Until};
use crate::table_file::{self, FOLDER, TableFile};
use hotrow_sync::Arc;

pub use crate::frame_file::BackupLog;

/// The greatest number of bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// The contents of a backup, or of a directory that was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The position of the log up to which the files of tables hold everything: those of the backup, or those of the
    /// source from which the directory was restored.
    pub checkpoint: u64,
    /// The end of the last record of the log that was copied or applied. Everything before it is there.
    pub end: u64,
    /// The last time of day that the log had before `end`, in microseconds since 2000-01-01 UTC. It is `None` for a
    /// backup, or if the log had no time.
    pub time: Option<i64>,
}

/// Copies a data directory into an empty one, even while it is in use: the files of the present checkpoint, and the log
/// from there up to `end()`. `end` is called once the files are copied. `progress` gets the number of bytes of files
/// that were copied, and about how many there are in all. It returns whether to go on.
///
/// No transaction and no checkpoint waits for a backup. Until the backup is over, the files that it copies and the log
/// after their checkpoint are kept, even if newer checkpoints are made.
///
/// # Errors
/// If the destination is not empty, if a file is damaged or cannot be read or written, or if `progress` returns false.
/// The destination is no whole backup then, and is not taken for one.
pub fn backup(
    checkpoints: &Arc<Checkpoints>,
    log: &dyn Source,
    end: &dyn Fn() -> u64,
    dest: &dyn Disk,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Contents, Failure> {
    check_empty(dest)?;
    let pin = checkpoints.pin();
    let position = pin.position();
    let copied = copy_tables(pin.disk(), pin.manifest(), dest, progress)?;
    let mut frames = log.frames(position)?;
    let mut frames = FramesUntil { frames: &mut *frames, until: Until::Position(end()), end: position };
    let end = frame_file::write(dest, position, &mut frames)?;
    pin.manifest().write(dest)?;
    Manifest::publish(dest)?;
    // The last file, by which a backup that was interrupted differs from a whole one.
    if !progress(copied, copied) {
        return Err(Failure::Stopped);
    }
    format::create(dest)?;
    Ok(Contents { checkpoint: position, end, time: None })
}

/// Makes a data directory from a backup or from another data directory, with everything that was there at the point
/// `until` of its log. `dest` must be empty. `log` is the log of the source: [`BackupLog`] for a backup. All rows of
/// the new directory are in its checkpoint. Its log is empty and begins at [`Contents::end`].
///
/// # Errors
/// If the source is neither a data directory nor a whole backup, or if the destination is not empty. If `until` is
/// before the checkpoint of the source, or is a position at which no record of its log ends. If a file is damaged or
/// cannot be read or written, or if `progress` returns false. The source is never changed. The destination is no data
/// directory then.
pub fn restore(
    source: &dyn Disk,
    log: &dyn Source,
    dest: &Arc<dyn Disk>,
    until: Until,
    options: Options,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Contents, Failure> {
    if !format::check(source)? {
        return Err(Failure::Refused("the source is no data directory of Hotrow, and no complete backup".to_owned()));
    }
    check_empty(&**dest)?;
    let manifest = Manifest::read(source)?;
    check_point(&manifest, until)?;
    check_record_ends(log, &manifest, until)?;
    copy_tables(source, &manifest, &**dest, progress)?;
    manifest.write(&**dest)?;
    Manifest::publish(&**dest)?;
    let checkpoints = Checkpoints::open(dest.clone(), options)?;
    let mut frames = log.frames(manifest.position)?;
    let mut frames = FramesUntil { frames: &mut *frames, until, end: manifest.position };
    while checkpoints.advance(&mut frames, &|| false)? {
        while checkpoints.merge(&|| false)? {}
    }
    format::create(&**dest)?;
    Ok(Contents { checkpoint: manifest.position, end: checkpoints.position(), time: checkpoints.time() })
}

/// Checks that a record of the log ends at `until`, if that is a position. The log is read up to there, so that a wrong
/// position is refused before anything is copied.
fn check_record_ends(log: &dyn Source, manifest: &Manifest, until: Until) -> Result<(), Failure> {
    let Until::Position(position) = until else { return Ok(()) };
    let mut frames = log.frames(manifest.position)?;
    let mut frames = FramesUntil { frames: &mut *frames, until, end: manifest.position };
    while frames.next()?.is_some() {}
    if frames.end == position {
        return Ok(());
    }
    let end = frames.end;
    Err(Failure::Refused(format!(
        "no record of the log ends at position {position}; the last one before ends at {end}"
    )))
}

/// Checks that `until` is not before the checkpoint of the source, whose files hold no earlier state.
fn check_point(manifest: &Manifest, until: Until) -> Result<(), Failure> {
    let is_before = match until {
        Until::End => false,
        Until::Position(position) => position < manifest.position,
        Until::Time(time) => time < manifest.clock,
    };
    let text = format!("the files hold everything up to position {}, which is later", manifest.position);
    if is_before { Err(Failure::Refused(text)) } else { Ok(()) }
}

/// Checks that a directory is empty but for the file of the lock.
fn check_empty(disk: &dyn Disk) -> Result<(), Failure> {
    let names = disk.list("").map_err(Failure::on(""))?;
    let ours = names.iter().find(|name| !name.eq_ignore_ascii_case("LOCK"));
    match ours {
        Some(name) => Err(Failure::Refused(format!("the destination is not empty: there is {name}"))),
        None => Ok(()),
    }
}

/// Copies the files of a checkpoint, makes them durable, and checks the copies. Returns the number of bytes copied.
fn copy_tables(
    source: &dyn Disk,
    manifest: &Manifest,
    dest: &dyn Disk,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<u64, Failure> {
    dest.create_folder(FOLDER).map_err(Failure::on(FOLDER))?;
    let parts = manifest.tables.values().flat_map(|table| table.parts());
    let (total, mut copied) = (parts.map(|part| part.bytes).sum(), 0);
    for number in manifest.files() {
        let name = table_file::name(number);
        let from = source.open(&name, false).map_err(Failure::on(&name))?;
        let to = dest.create(&name).map_err(Failure::on(&name))?;
        let length = from.len().map_err(Failure::on(&name))?;
        let (mut buffer, mut offset) = (Vec::new(), 0);
        while offset < length {
            buffer.resize((length - offset).min(COPY_BYTES as u64) as usize, 0);
            from.read_at(&mut buffer, offset).map_err(Failure::on(&name))?;
            to.write_at(&buffer, offset).map_err(Failure::on(&name))?;
            offset += buffer.len() as u64;
            copied += buffer.len() as u64;
            if !progress(copied, copied.max(total)) {
                return Err(Failure::Stopped);
            }
        }
        to.sync().map_err(Failure::on(&name))?;
        TableFile::open(dest, number)?.verify(&mut |_| Ok(()))?;
    }
    dest.sync_folder(FOLDER).map_err(Failure::on(FOLDER))?;
    dest.sync_folder("").map_err(Failure::on(manifest::NAME))?;
    Ok(copied)
}
