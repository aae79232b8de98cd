//! The frames of a log in the order of their positions, and the description of damaged bytes.

use crate::record::Record;
use std::fmt;

/// The bytes of a record and its place in the log.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The number of bytes of the log before this frame.
    pub position: u64,
    /// The number of bytes of the log up to the end of this frame, from which the log is read on.
    pub end: u64,
    /// The bytes of the record.
    pub record: &'a [u8],
}

/// The frames of a log from some position on.
pub trait Frames {
    /// Returns the next frame, or `None` at the end of the log.
    ///
    /// # Errors
    /// If there is a frame that cannot be read although the log goes on after it, or if a file cannot be read.
    fn next(&mut self) -> Result<Option<Frame<'_>>, Damage>;
}

/// The point of a log at which reading ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The end of the log.
    End,
    /// A position. Frames that end after it are not read.
    Position(u64),
    /// A time of day, in microseconds since 2000-01-01 UTC. Frames are read until the log has a later time. A log has
    /// the time about every second, so some frames of the second after this time may be read as well.
    Time(i64),
}

/// The frames of a log up to some point. If the point is a position, the frame after it is not looked at, so it may be
/// damaged.
pub(crate) struct FramesUntil<'f> {
    pub(crate) frames: &'f mut dyn Frames,
    pub(crate) until: Until,
    /// The end of the last frame.
    pub(crate) end: u64,
}

impl Frames for FramesUntil<'_> {
    fn next(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        if matches!(self.until, Until::Position(until) if self.end >= until) {
            return Ok(None);
        }
        let whole = self.end;
        let describe = |damage: Damage| {
            let what = format!("{}; the log is whole up to position {whole}", damage.what);
            Damage { what, ..damage }
        };
        let Some(frame) = self.frames.next().map_err(describe)? else { return Ok(None) };
        let is_within = match self.until {
            Until::End => true,
            Until::Position(until) => frame.end <= until,
            Until::Time(until) => !matches!(Record::read(frame.record), Ok(Record::Clock(time)) if time > until),
        };
        if !is_within {
            self.until = Until::Position(self.end);
            return Ok(None);
        }
        self.end = frame.end;
        Ok(Some(frame))
    }
}

/// A log that can be read from any position that it still has. Any thread may call any method.
pub trait Source: Send + Sync {
    /// Returns the frames from a position on, which must be zero or the end of a frame. They go at least up to the last
    /// frame that was durable when the call was made.
    ///
    /// # Errors
    /// If the log does not begin at this position or before, or if a file cannot be read.
    fn frames(&self, from: u64) -> Result<Box<dyn Frames + '_>, Damage>;

    /// Returns about how many bytes of frames come after a position, to show progress.
    fn bytes_behind(&self, from: u64) -> u64;
}

/// A log that is being written.
pub trait LiveSource: Source {
    /// Returns the end of the last durable frame, or of the last frame that was written if the log does not make frames
    /// durable.
    fn durable(&self) -> u64;

    /// Allows the log to forget the frames before a position, because a durable checkpoint holds them.
    fn discard_before(&self, position: u64);
}

/// A part of a data directory that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The name of the file within the data directory.
    pub file: String,
    /// The place in the file, in bytes from its start.
    pub offset: u64,
    /// The damage, in words for people.
    pub what: String,
}

impl Damage {
    /// Makes the description of damage in a file at an offset.
    pub fn new(file: impl Into<String>, offset: u64, what: impl Into<String>) -> Self {
        Self { file: file.into(), offset, what: what.into() }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at byte {}: {}", self.file, self.offset, self.what)
    }
}

impl std::error::Error for Damage {}
