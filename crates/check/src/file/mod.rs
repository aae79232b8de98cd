//! Histories in files, with one JSON object on each line.
//!
//! The first line describes the file. Then come the initial rows, and then the transactions in the order in which they
//! ended. The last line counts both, so that a truncated file is noticed. `docs/checking.md` shows a file.

mod line;
mod valid;

use crate::history::History;
use hotrow_txn::number_of;
use line::{End, Header, Line};
use std::fmt;
use std::io::{self, BufRead, Write};
use valid::Validator;

/// The name of the format, which stands in the first line.
const FORMAT: &str = "hotrow-history";

/// The version of the format: the one that is written, and the only one that is read.
const VERSION: u32 = 1;

/// The origin of a history, which its file names for people. The check does not use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name of the engine that ran the transactions.
    pub engine: String,
    /// The command, with its seed, that ran the transactions.
    pub made_by: String,
}

/// The error with which a file cannot be read as a history.
#[derive(Debug)]
pub enum FileError {
    /// The file could not be read.
    Unreadable(io::Error),
    /// A line does not follow the format.
    Line {
        /// The line's number, from 1.
        number: u64,
        /// The mistake in the line, and what was expected.
        what: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Unreadable(error) => error.fmt(f),
            FileError::Line { number, what } => write!(f, "line {number}: {what}"),
        }
    }
}

impl std::error::Error for FileError {}

/// Writes a history to `out`, in the format that [`read_history`] reads: one JSON object on each line.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_history(out: &mut dyn Write, about: &About, history: &History) -> io::Result<()> {
    let mut put = |line: Line| {
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")
    };
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        engine: about.engine.clone(),
        made_by: about.made_by.clone(),
    };
    put(Line::History(header))?;
    for (item, version) in &history.initial {
        put(Line::row(item, version))?;
    }
    for record in &history.transactions {
        put(Line::transaction(record))?;
    }
    let (rows, transactions) = (history.initial.len() as u64, history.transactions.len() as u64);
    put(Line::End(End { rows, transactions }))
}

/// Reads a history that [`write_history`] has written, and checks that it is complete and consistent.
///
/// # Errors
/// [`FileError::Line`] for the first line that is wrong or missing, [`FileError::Unreadable`] if reading fails.
pub fn read_history(input: &mut dyn BufRead) -> Result<(About, History), FileError> {
    let (mut number, mut text) = (0, String::new());
    let mut next = || -> Result<Option<(u64, Line)>, FileError> {
        number += 1;
        text.clear();
        let size = input.read_line(&mut text).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => FileError::Line { number, what: "it is not UTF-8".to_owned() },
            _ => FileError::Unreadable(error),
        })?;
        if size == 0 {
            return Ok(None);
        }
        if !text.ends_with('\n') {
            return Err(FileError::Line { number, what: "the file ends in the middle of this line".to_owned() });
        }
        parse(&text, number == 1).map(|line| Some((number, line))).map_err(|what| FileError::Line { number, what })
    };
    let wrong = |number, what: &str| FileError::Line { number, what: what.to_owned() };
    let (about, mut history, mut validator) = match next()? {
        None => return Err(wrong(1, "the file is empty: expected a history's first line")),
        Some((_, Line::History(header))) => (header.about(), History::default(), Validator::default()),
        Some(_) => return Err(wrong(1, "expected a history's first line")),
    };
    let mut last = 1;
    while let Some((number, line)) = next()? {
        last = number;
        let taken = match line {
            Line::History(_) => Err("a history begins in the middle of another".to_owned()),
            Line::Row(row) => row.into_history(&mut history, &mut validator),
            Line::Transaction(transaction) => transaction.into_history(&mut history, &mut validator),
            Line::End(end) => {
                let counts = (history.initial.len() as u64, history.transactions.len() as u64);
                if (end.rows, end.transactions) != counts {
                    let what = format!(
                        "it counts {} and {}, not the {} and {} before it",
                        number_of(end.rows, "row"),
                        number_of(end.transactions, "transaction"),
                        counts.0,
                        counts.1
                    );
                    return Err(wrong(number, &what));
                }
                return match next()? {
                    None => Ok((about, history)),
                    Some((number, _)) => Err(wrong(number, "there is something after the last line")),
                };
            }
        };
        taken.map_err(|what| FileError::Line { number, what })?;
    }
    Err(wrong(last, "the file ends here, without the line that counts what was before it: it has been cut"))
}

/// Parses one line. The error says what is wrong with the line.
fn parse(text: &str, is_first: bool) -> Result<Line, String> {
    if is_first {
        // The lines of another version of the format may look unlike anything known here.
        let header: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| format!("this is no history: its first line is no JSON object ({error})"))?;
        let header = &header["history"];
        if header["format"] != FORMAT {
            return Err(format!("this is no history: expected {{\"history\":{{\"format\":\"{FORMAT}\",…}}}}"));
        }
        if header["version"] != VERSION {
            return Err(format!("the format's version is {}: expected {VERSION}", header["version"]));
        }
    }
    serde_json::from_str(text).map_err(|error| {
        format!("{error}; expected a row, a transaction or the end, as docs/checking.md describes them")
    })
}
