//! The commands `hotrow backup` and `hotrow restore`.

use super::Failure;
use super::data::{Bytes, EPOCH_2000, Source, failed, size, time};
use hotrow_bench::Url;
use hotrow_log::backup::{self, Contents};
use hotrow_log::checkpoint;
use hotrow_log::directory::Directory;
use hotrow_log::disk::Disk;
use hotrow_log::disk::real::RealDisk;
use hotrow_log::source::Until;
use hotrow_sync::Arc;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The options of `hotrow backup`.
#[derive(clap::Args)]
pub struct BackupOptions {
    /// Server whose database is copied, while clients use it: postgres://USER:PASSWORD@HOST:PORT/DATABASE. The user is
    /// the server's administrator, and DEST a folder of the server's machine
    #[arg(long, value_name = "postgres://…", required_unless_present = "data", conflicts_with = "data")]
    url: Option<Url>,

    /// Data directory of a server that does not run
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Folder that gets the backup: empty, or made if it does not exist
    #[arg(value_name = "DEST")]
    dest: PathBuf,
}

/// The options of `hotrow restore`.
#[derive(clap::Args)]
pub struct RestoreOptions {
    /// Backup, or data directory of a server that does not run. It is not changed
    #[arg(value_name = "SRC")]
    source: PathBuf,

    /// Data directory to make: an empty folder, or one that does not exist
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// Point at which the database is to be: a time such as "2026-11-27 14:05:00", in UTC unless it says otherwise, or
    /// a position of the log [default: the end]
    #[arg(long, value_name = "TIME|POSITION", value_parser = parse_until)]
    until: Option<Until>,
}

fn parse_until(text: &str) -> Result<Until, String> {
    if let Ok(position) = text.parse() {
        return Ok(Until::Position(position));
    }
    let zoned = text.parse::<Timestamp>();
    let timestamp = zoned.or_else(|_| text.parse::<DateTime>()?.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp()));
    match timestamp {
        Ok(timestamp) => Ok(Until::Time(timestamp.as_microsecond() - EPOCH_2000)),
        Err(_) => {
            Err("expected a time such as 2026-11-27 14:05:00 or 2026-11-27T14:05:00+01:00, or a position".to_owned())
        }
    }
}

/// Runs `hotrow backup`.
///
/// # Errors
/// [`Failure::Usage`] if there is no such data directory, or the destination's name is not Unicode; [`Failure::Failed`]
/// if the backup cannot be made. The destination has no complete backup then.
pub fn back_up(options: &BackupOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let dest = std::path::absolute(&options.dest).map_err(|error| failed(&options.dest, &error))?;
    if let Some(url) = &options.url {
        let folder = dest.to_str().ok_or_else(|| Failure::Usage("expected a DEST in Unicode".to_owned()))?;
        let statement = format!("BACKUP TO '{}'", folder.replace('\'', "''"));
        hotrow_bench::execute(url, &statement).map_err(|why| Failure::Failed(format!("{}: {why}", url.name)))?;
    } else if let Some(data) = &options.data {
        // The destination is not made if there is no source.
        if !data.is_dir() {
            return Err(Failure::Usage(format!("{}: expected a data directory", data.display())));
        }
        let directory = Directory::open(data).map_err(|failure| failed(data, &failure))?;
        let disk = RealDisk::create(&dest).map_err(|error| failed(&dest, &error))?;
        let mut bytes = Bytes::new();
        let made = directory.backup(&*disk, &mut |done, total| bytes.show(done, total));
        made.map_err(|failure| failed(data, &failure))?;
    }
    writeln!(out, "backup in {}", dest.display()).map_err(Failure::Output)
}

/// Runs `hotrow restore`.
///
/// # Errors
/// [`Failure::Usage`] if there is no such source; [`Failure::Failed`] if the directory cannot be made. The folder is
/// not a data directory then.
pub fn restore(options: &RestoreOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::open(&options.source)?;
    let dest = RealDisk::create(&options.data).map_err(|error| failed(&options.data, &error))?;
    let _lock = dest.lock().map_err(|error| failed(&options.data, &error))?;
    let dest: Arc<dyn Disk> = dest;
    let until = options.until.unwrap_or(Until::End);
    let mut bytes = Bytes::new();
    let mut progress = |done, total| bytes.show(done, total);
    let sizes = checkpoint::Options::default();
    let made = backup::restore(&*source.disk, &*source.log, &dest, until, sizes, &mut progress);
    let contents = made.map_err(|failure| failed(&options.source, &failure))?;
    print_restored(out, &options.data, &contents).map_err(Failure::Output)
}

fn print_restored(out: &mut dyn Write, data: &Path, contents: &Contents) -> io::Result<()> {
    let until = contents.time.map_or(String::new(), |micros| format!(", {}", time(micros)));
    let behind = size(contents.end - contents.checkpoint);
    writeln!(out, "restored {} up to position {}{until}; {behind} of log were applied", data.display(), contents.end)?;
    writeln!(out, "  hotrow serve --data {}", data.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_times_or_positions() {
        let day = 86_400_000_000;
        for (text, expected) in [
            ("0", Until::Position(0)),
            ("123456", Until::Position(123_456)),
            ("2000-01-02", Until::Time(day)),
            ("2000-01-01 00:00:01.5", Until::Time(1_500_000)),
            ("2000-01-01T01:00:00+01:00", Until::Time(0)),
            ("2000-01-01 00:00:00Z", Until::Time(0)),
        ] {
            assert_eq!(parse_until(text), Ok(expected), "{text}");
        }
        for text in ["", "-1", "yesterday", "2026-13-01", "12:00"] {
            assert!(parse_until(text).is_err(), "{text}");
        }
    }
}
