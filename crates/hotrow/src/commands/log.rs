//! The command `hotrow log`, which looks at a data directory or a backup without changing it.

use super::Failure;
use super::data::{Source, failed, size, time};
use hotrow_log::inspect;
use std::io::{self, Write};
use std::path::PathBuf;

/// The actions of `hotrow log`.
#[derive(clap::Subcommand)]
pub enum LogCommand {
    /// Read everything, and list all damage; the exit code is 1 if there is any
    Check {
        /// Data directory of a server that does not run, or backup
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Show the records of the log behind the checkpoint, a line for each record and for each change
    Show {
        /// Data directory of a server that does not run, or backup
        #[arg(value_name = "DIR")]
        folder: PathBuf,

        /// Position from which on records are shown: the end of a record
        #[arg(long, value_name = "POSITION")]
        from: Option<u64>,
    },
}

/// Runs `hotrow log`.
///
/// # Errors
/// [`Failure::Usage`] if there is no such folder; [`Failure::Failed`] if there is damage, or if the folder cannot be
/// read.
pub fn run(command: &LogCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        LogCommand::Check { folder } => {
            let source = Source::open(folder)?;
            let checked = inspect::check(&*source.disk, &*source.log).map_err(|failure| failed(folder, &failure))?;
            print(out, &checked).map_err(Failure::Output)?;
            match checked.damage.len() {
                0 => Ok(()),
                1 => Err(Failure::Failed(format!("{} is damaged at one place", folder.display()))),
                places => Err(Failure::Failed(format!("{} is damaged at {places} places", folder.display()))),
            }
        }
        LogCommand::Show { folder, from } => {
            let source = Source::open(folder)?;
            let mut written = Ok(());
            let mut line = |text: &str| {
                written = writeln!(out, "{text}");
                written.is_ok()
            };
            let shown = inspect::show(&*source.disk, &*source.log, *from, &time, &mut line);
            written.map_err(Failure::Output)?;
            shown.map_err(|failure| failed(folder, &failure))
        }
    }
}

fn print(out: &mut dyn Write, checked: &inspect::Checked) -> io::Result<()> {
    for damage in &checked.damage {
        writeln!(out, "{damage}")?;
    }
    writeln!(
        out,
        "checkpoint at {}: {} tables in {} files, {} with {} rows and deletions",
        checked.checkpoint,
        checked.tables,
        checked.files,
        size(checked.bytes),
        checked.entries
    )?;
    let behind = checked.end.saturating_sub(checked.checkpoint);
    writeln!(out, "log up to {}: {} records behind the checkpoint, {}", checked.end, checked.records, size(behind))
}
