//! Reads the log of a data directory: which segments it has, which bytes of them are the log, and where it ends.
//!
//! Each opening of the log for writing begins a new segment, with a salt of its own, at the position at which the log
//! ended then. The segments of one salt are a *run*. Their bytes lie one after the other, and a frame may go on in the
//! next segment. The bytes of a run after the start of a later run were no part of the log when the later run began:
//! they are dead.
//!
//! **Where the log ends.** All runs but the last are known to be whole up to the start of the next one. In the last
//! run, the first frame that does not pass is the end of the log if nothing after it was durable: the power failed
//! while it was written. If a later frame of the run passes and says that something after this place was durable when
//! it was made, the frame that does not pass is damaged. In the other runs, each frame that does not pass is damaged.
//!
//! A crash may leave frames after the end that pass, because the device wrote sectors in another order. So a later
//! frame that passes is no proof of damage by itself. The proof is what the frame says of the durable bytes.

mod frames;
mod scan;

pub(crate) use frames::LogFrames;

use crate::disk::Disk;
use crate::failure::Failure;
use crate::segment::{FOLDER, Named, PAGE, Segment, name};
use crate::source::{Damage, Frames, Source};
use hotrow_sync::{Arc, OnceLock};
use std::io::ErrorKind;

/// The bytes that are read or written at once.
pub(crate) const CHUNK: usize = 1 << 20;

/// The log of a data directory that no process writes.
#[derive(Debug)]
pub struct LogFiles {
    pub(crate) pieces: Arc<Pieces>,
    /// The numbers of segments without any byte of the log.
    pub(crate) dead: Vec<u64>,
    /// The numbers of spare files.
    pub(crate) spares: Vec<u64>,
    /// Whether a file was being filled.
    pub(crate) has_filling: bool,
}

/// The parts of segments that make up a log, in the order of their positions.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pub(crate) list: Vec<Piece>,
    /// The end of the log, once a reader has found it.
    end: OnceLock<u64>,
    /// An estimate of where the log ends, once it was asked for.
    estimate: OnceLock<u64>,
}

/// A segment, and the position up to which its bytes may be part of the log.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) segment: Segment,
    pub(crate) until: u64,
}

/// Pieces of one run that follow each other without a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// The place of the first piece in the list.
    pub(crate) first: usize,
    /// The place in the list after the last piece.
    pub(crate) behind: usize,
    pub(crate) salt: u64,
    pub(crate) end: u64,
}

impl LogFiles {
    /// Opens the log of a data directory for reading. A directory without segments has an empty log.
    ///
    /// # Errors
    /// If the header of a segment is damaged or has another format, or if the disk refuses an operation.
    pub fn open(disk: &dyn Disk) -> Result<Self, Failure> {
        Self::open_for(disk, false)
    }

    pub(crate) fn open_for(disk: &dyn Disk, writes: bool) -> Result<Self, Failure> {
        let names = match disk.list(FOLDER) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            listed => listed.map_err(Failure::on(FOLDER))?,
        };
        let (mut numbers, mut spares, mut has_filling) = (Vec::new(), Vec::new(), false);
        for name in names {
            match Named::read(&name) {
                Named::Segment(number) => numbers.push(number),
                Named::Spare(number) => spares.push(number),
                Named::Filling => has_filling = true,
                Named::Other => {}
            }
        }
        numbers.sort_unstable();
        let segments: Result<Vec<_>, _> =
            numbers.into_iter().map(|number| Segment::open(disk, number, writes)).collect();
        let (list, dead) = arrange(segments?);
        let pieces = Arc::new(Pieces { list, ..Pieces::default() });
        Ok(Self { pieces, dead, spares, has_filling })
    }

    /// Returns the position of the first byte of the log that the directory still has, or `None` if it has no segment.
    pub fn start(&self) -> Option<u64> {
        self.pieces.list.first().map(|piece| piece.segment.header.start)
    }
}

/// Separates the parts of segments that are the log from dead segments. Returns the parts and the numbers of the dead
/// segments. The segments come in the order of their numbers.
fn arrange(segments: Vec<Segment>) -> (Vec<Piece>, Vec<u64>) {
    let (mut list, mut dead) = (Vec::new(), Vec::new());
    // The start of the run that is looked at, and the least start of the runs after it.
    let (mut run_start, mut bound, mut salt) = (u64::MAX, u64::MAX, None);
    for segment in segments.into_iter().rev() {
        let header = segment.header;
        if salt != Some(header.salt) {
            salt = Some(header.salt);
            bound = bound.min(run_start);
        }
        run_start = header.start;
        if header.start >= bound {
            dead.push(header.number);
        } else {
            list.push(Piece { until: header.end().min(bound), segment });
        }
    }
    list.reverse();
    (list, dead)
}

impl Pieces {
    /// Makes the pieces of a log that is being written.
    pub(crate) fn new(list: Vec<Piece>) -> Arc<Self> {
        Arc::new(Self { list, ..Self::default() })
    }

    /// Returns the stretch that begins with a piece.
    pub(crate) fn stretch(&self, first: usize) -> Stretch {
        let salt = self.list[first].segment.header.salt;
        let (mut behind, mut end) = (first + 1, self.list[first].until);
        while let Some(next) = self.list.get(behind)
            && (next.segment.header.salt, next.segment.header.start) == (salt, end)
        {
            end = next.until;
            behind += 1;
        }
        Stretch { first, behind, salt, end }
    }

    /// Returns the place in the list of the piece that has a position, or `None` if the log is empty.
    ///
    /// # Errors
    /// If the log lacks this position.
    pub(crate) fn find(&self, position: u64) -> Result<Option<usize>, Damage> {
        let Some(first) = self.list.first() else { return Ok(None) };
        let first = first.segment.header.start;
        if position < first {
            let what = format!("the log begins at position {first}, and is needed from {position} on");
            return Err(Damage::new("log", position, what));
        }
        let at = self.list.partition_point(|piece| piece.segment.header.start <= position) - 1;
        let piece = &self.list[at];
        if position < piece.until || (position == piece.until && at + 1 == self.list.len()) {
            return Ok(Some(at));
        }
        Err(self.missing(at, position))
    }

    /// Describes the damage that the segment after a piece is missing. The log lacks the bytes from `position` on.
    pub(crate) fn missing(&self, at: usize, position: u64) -> Damage {
        let number = self.list[at].segment.header.number + 1;
        let what = format!("the log goes on at position {position}, and the segment is missing");
        Damage::new(name(number), 0, what)
    }

    /// Describes damage at a position.
    pub(crate) fn damage(&self, at: usize, position: u64, what: &str) -> Damage {
        let segment = &self.list[at].segment;
        Damage::new(segment.name(), segment.offset(position), format!("{what} (position {position} of the log)"))
    }

    /// Reads the bytes of a stretch from a position on, up to `length` of them or to the end of the stretch, and
    /// appends them to a vector.
    pub(crate) fn read(
        &self,
        stretch: &Stretch,
        mut position: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let end = position.saturating_add(length as u64).min(stretch.end);
        for piece in &self.list[stretch.first..stretch.behind] {
            if position < end && position < piece.until {
                let part = (end.min(piece.until) - position) as usize;
                let before = into.len();
                into.resize(before + part, 0);
                piece.segment.read(&mut into[before..], position)?;
                position += part as u64;
            }
        }
        Ok(())
    }

    /// Makes sure that the log up to its end is on the device. A process that ended may have written bytes that are
    /// only in the memory of the operating system, and if a sync of that process failed, another sync would not write
    /// them. So the bytes that are not known to be durable are written again.
    ///
    /// # Errors
    /// If the disk refuses an operation.
    pub(crate) fn secure(&self, end: u64) -> Result<(), Failure> {
        let Some(last) = self.list.iter().rposition(|piece| piece.segment.header.start < end) else { return Ok(()) };
        let salt = self.list[last].segment.header.salt;
        let is_open = |piece: &Piece| piece.segment.header.salt == salt;
        if self.list[last + 1..].iter().any(|piece| !is_open(piece)) || end > self.list[last].until {
            // A later run began where this one ended, after it was secured; or the log was lost up to the position.
            return Ok(());
        }
        let first = self.list.iter().position(is_open).unwrap_or(last);
        let durable = self.known_durable(first, end)?;
        let mut bytes = Vec::new();
        for at in first..=last {
            let Piece { segment, until } = &self.list[at];
            let (start, end) = (segment.header.start, end.min(*until));
            let mut position = durable.max(start);
            position -= (position - start) % PAGE;
            while position < end {
                let length = (end - position).min(CHUNK as u64) as usize;
                bytes.resize(length, 0);
                segment.read(&mut bytes, position)?;
                let written = segment.file.write_durably_at(&bytes, segment.offset(position));
                written.map_err(Failure::on(&segment.name()))?;
                position += length as u64;
            }
        }
        Ok(())
    }
}

impl Source for LogFiles {
    fn frames(&self, from: u64) -> Result<Box<dyn Frames + '_>, Damage> {
        Ok(Box::new(LogFrames::new(self.pieces.clone(), from, None)?))
    }

    fn bytes_behind(&self, from: u64) -> u64 {
        self.pieces.estimated_end().saturating_sub(from)
    }
}

/// Describes a failure to read the log as damage.
pub(crate) fn to_damage(failure: Failure) -> Damage {
    match failure {
        Failure::Damage(damage) => damage,
        Failure::Disk { name, error } => Damage::new(name, 0, format!("the file cannot be read: {error}")),
        other => Damage::new("log", 0, other.to_string()),
    }
}
