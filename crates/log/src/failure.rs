//! The ways in which work on the files of a data directory fails.

use crate::source::Damage;
use hotrow_storage::TableId;
use std::fmt;
use std::io;

/// The reason why work on a data directory did not come to its end.
#[derive(Debug)]
pub enum Failure {
    /// A file has other bytes than were written.
    Damage(Damage),
    /// The operating system refused an operation on a file or folder.
    Disk {
        /// The name of the file or folder within the data directory.
        name: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A file has a format that this version does not know. The text names the file and the version, for people.
    Format(String),
    /// A row of a table has the key of another one in a unique index, or the database refuses the table. The texts are
    /// for people.
    Table {
        /// The number of the table.
        table: TableId,
        /// The name of the table.
        name: String,
        /// The name of the file with the row, or `log` for a row of the log. Empty if the database refuses the table.
        file: String,
        /// The reason.
        what: String,
    },
    /// The directory or the options do not allow the work. The text says why not, for people. No data was changed.
    Refused(String),
    /// The caller asked to stop.
    Stopped,
}

impl Failure {
    /// Returns a function that turns an error of the operating system on the file or folder `name` into a failure.
    pub(crate) fn on(name: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Failure::Disk { name: name.to_owned(), error }
    }

    /// Makes the failure that a file has wrong bytes at an offset.
    pub(crate) fn damage(file: impl Into<String>, offset: u64, what: impl Into<String>) -> Self {
        Failure::Damage(Damage::new(file, offset, what))
    }
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Failure::Damage(damage)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Damage(damage) => damage.fmt(f),
            Failure::Disk { name, error } if name.is_empty() => write!(f, "the data directory: {error}"),
            Failure::Disk { name, error } => write!(f, "{name}: {error}"),
            Failure::Format(text) | Failure::Refused(text) => f.write_str(text),
            Failure::Table { table, name, file, what } if file.is_empty() => {
                write!(f, "table {name} (number {}): {what}", table.0)
            }
            Failure::Table { table, name, file, what } => {
                write!(f, "table {name} (number {}), {file}: {what}", table.0)
            }
            Failure::Stopped => f.write_str("stopped before the end"),
        }
    }
}

impl std::error::Error for Failure {}
